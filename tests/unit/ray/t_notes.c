#include "../test.h"

#include <mobula/json.h>
#include <mobula/ray.h>
#include <mobula/yaml.h>

/* What is likely to be a mistake: "PATH: TEXT" a line, by how it begins; NULL: nothing. */

#define POD(image, more) "template: {spec: {containers: [{name: r, image: '" image "'" more "}]}}"
#define HEAD(more) "headGroupSpec: {" POD("r", "") ", " more "}"
#define PORTS POD("r", ", ports: [{containerPort: 8265}]")
#define GROUP(more) HEAD("") ", workerGroupSpecs: [{groupName: g, " POD("r", "") ", " more "}]"
#define NOTED_TEMPLATE(notes) "template: {metadata: {annotations: {" notes "}}, spec: {containers: [{name: r, image: r}]}}"
#define NOTED(notes) "headGroupSpec: {" NOTED_TEMPLATE(notes) "}"
#define NOTE(key, text) H "template.metadata.annotations[\"" key "\"]: " text
#define H "spec.headGroupSpec."
#define G "spec.workerGroupSpecs[0]."

static const struct {
    const char *id, *spec, *notes;
} cases[] = {
    {"nothing", GROUP("replicas: 1"), NULL},
    {"workersToDelete beside the operator's autoscaler", "enableInTreeAutoscaling: true, " GROUP("scaleStrategy: {workersToDelete: [a]}"),
     G "scaleStrategy.workersToDelete: has no effect while the operator's autoscaler chooses"},
    {"an empty workersToDelete", "enableInTreeAutoscaling: true, " GROUP("scaleStrategy: {workersToDelete: []}"), NULL},
    {"image of another version", "rayVersion: 2.53.0, headGroupSpec: {" POD("rayproject/ray:2.9.0-py310", "") "}",
     H "template.spec.containers[0].image: is Ray 2.9 by its tag, and rayVersion is 2.53.0"},
    {"image of the same version", "rayVersion: 2.53.0, headGroupSpec: {" POD("h:5000/rayproject/ray-ml:2.53.1-gpu", "") "}", NULL},
    {"image without a version", "rayVersion: 2.53.0, headGroupSpec: {" POD("rayproject/ray:nightly", "") "}", NULL},
    {"image without a tag", "rayVersion: 2.53.0, headGroupSpec: {" POD("rayproject/ray", "") "}", NULL},
    {"image of one's own", "rayVersion: 2.53.0, headGroupSpec: {" POD("h/train:1.2.3", "") "}", NULL},
    {"NodePort without the GCS", "headGroupSpec: {serviceType: NodePort, " PORTS "}",
     H "template.spec.containers[0].ports: lack 6379, by which workers reach the head"},
    {"own service without the GCS", "headGroupSpec: {headService: {spec: {type: LoadBalancer}}, " PORTS "}",
     H "template.spec.containers[0].ports: lack 6379"},
    {"own service with the GCS", "headGroupSpec: {headService: {spec: {ports: [{name: gcs, port: 6379}]}}, " PORTS "}", NULL},
    {"own headless service", "headGroupSpec: {headService: {spec: {clusterIP: None}}, " PORTS "}", NULL},
    {"NodePort with another GCS port",
     "headGroupSpec: {serviceType: NodePort, rayStartParams: {port: '7000'}, " POD("r", ", ports: [{containerPort: 6379}]") "}",
     H "template.spec.containers[0].ports: lack 7000"},
    {"NodePort with the GCS", "headGroupSpec: {serviceType: NodePort, " POD("r", ", ports: [{containerPort: 6379}]") "}", NULL},
    {"NodePort with the usual ports", "headGroupSpec: {serviceType: NodePort, " POD("r", "") "}", NULL},
    {"headless without the GCS", "headGroupSpec: {serviceType: ClusterIP, " PORTS "}", NULL},
    {"replicas above the maximum", GROUP("replicas: 9, maxReplicas: 4"), G "replicas: is 9, above maxReplicas: there will be 4"},
    {"replicas below the minimum", GROUP("replicas: 0, minReplicas: 1"), G "replicas: is 0, below minReplicas: there will be 1"},
    {"replicas within", GROUP("replicas: 4, minReplicas: 4, maxReplicas: 4"), NULL},
    {"a worker that is a head", GROUP("rayStartParams: {head: 'true', address: 'h:1'}"),
     G "rayStartParams.head: makes a head of each worker\n" G "rayStartParams.address: is given to workers anyway"},
    {"a parameter that Ray does not know", GROUP("rayStartParams: {num_cpus: '1', zzzzzzzz: '1'}"),
     G "rayStartParams.num_cpus: is no parameter of ray start in Ray 2.9 to 2.60, did you mean num-cpus?: ray start refuses\n" G
       "rayStartParams.zzzzzzzz: is no parameter of ray start in Ray 2.9 to 2.60: ray start refuses"},
    {"a port that is none", GROUP("rayStartParams: {node-manager-port: '70000'}"), G "rayStartParams.node-manager-port: is no port"},
    {"a parameter of a later Ray", "rayVersion: 2.44.1, headGroupSpec: {" POD("r", "") ", rayStartParams: {labels-file: /x, storage: /x}}",
     H "rayStartParams.labels-file: is known to ray start from Ray 2.45, and this is 2.44"},
    {"a parameter of an earlier Ray",
     "headGroupSpec: {" POD("rayproject/ray:2.48.0", "") ", rayStartParams: {labels-file: /x, storage: /x}}",
     H "rayStartParams.storage: is known to ray start up to Ray 2.47, and this is 2.48"},
    {"two kinds of GPU", "headGroupSpec: {" POD("r", ", resources: {limits: {nvidia.com/mig-1g.5gb: 1, nvidia.com/mig-2g.10gb: 1}}") "}",
     H "template.spec.containers[0].resources.limits: have more than one kind of GPU: Ray sees nvidia.com/mig-1g.5gb alone"},
    {"annotations that are read", NOTED("mobula.dev/zone-starting-timeout: 5m, anyscale.com/zone: 'a, b'"), NULL},
    {"more of them", NOTED("mobula.dev/allow-cross-zone: 'true', anyscale.com/market-type: SPOT"), NULL},
    {"an annotation that is not read: zone-starting-timeout", NOTED("mobula.dev/zone-starting-timeout: soon"),
     NOTE("mobula.dev/zone-starting-timeout", "is soon: write a time, such as 10m")},
    {"an annotation that is not read: workload-starting-timeout", NOTED("mobula.dev/workload-starting-timeout: '5'"),
     NOTE("mobula.dev/workload-starting-timeout", "is 5: write a time, such as 25m")},
    {"an annotation that is not read: allow-cross-zone", NOTED("mobula.dev/allow-cross-zone: 'yes'"),
     NOTE("mobula.dev/allow-cross-zone", "is yes: write true or false")},
    {"an annotation that is not read: follow-instance-type", NOTED("mobula.dev/follow-instance-type: 'True'"),
     NOTE("mobula.dev/follow-instance-type", "is True: write true or false")},
    {"an annotation that is not read: market", NOTED("anyscale.com/market-type: spot"),
     NOTE("anyscale.com/market-type", "is spot: write ON_DEMAND, SPOT or PREFER_SPOT")},
    {"an annotation that is not read: zones", NOTED("anyscale.com/zone: 'a,b c'"),
     NOTE("anyscale.com/zone", "is a,b c: write zones with commas between them")},
    {"an annotation of the head on a worker",
     HEAD("") ", workerGroupSpecs: [{groupName: g, " NOTED_TEMPLATE("mobula.dev/allow-cross-zone: 'true'") "}]",
     G "template.metadata.annotations[\"mobula.dev/allow-cross-zone\"]: has no effect here: it belongs in the head's template"},
    {"an image that is a URL", "headGroupSpec: {" POD("http://h/x:1", "") "}",
     H "template.spec.containers[0].image: is a URL: write it without the scheme in front: no node can pull it"},
    {"a variable twice", "headGroupSpec: {" POD("r", ", env: [{name: A, value: b}, {name: B}, {name: A, value: c}]") "}",
     H "template.spec.containers[0].env[2]: sets A a second time: this value counts"},
    {"a command in a parameter", HEAD("rayStartParams: {node-ip-address: '$(hostname -i)'}"),
     H "rayStartParams.node-ip-address: holds a command, which is not run"},
    {"… and a variable in its place", HEAD("rayStartParams: {node-ip-address: '$MY_IP.svc'}"), NULL},
    {"a dashboard for its pod alone", HEAD("rayStartParams: {dashboard-host: 127.0.0.1}"), H "rayStartParams.dashboard-host: is 127.0.0.1"},
    {"one kind of GPU", "headGroupSpec: {" POD("r", ", resources: {limits: {nvidia.com/gpu: 1, cpu: 1}}") "}", NULL},
};

static void notes(struct arena *a)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s", cases[i].id);
        struct yaml_docs docs;
        struct json doc;
        struct err e = {0};
        struct spec_errors *got = arena_new(a, struct spec_errors);
        struct slice text = arena_printf(a, "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}, spec: {%s}}", cases[i].spec);
        struct slice want = cases[i].notes ? slice_of(cases[i].notes) : SLICE_NONE;
        if (!CHECK(yaml_parse(guarded(text), a, &docs, &e)) || !CHECK(json_parse(&doc, docs.docs[0].json, a, &e)))
            continue;
        ray_notes(json_root(&doc), a, got);
        for (uint32_t n = 0; n < got->count; n++) {
            struct slice line = arena_printf(a, "%.*s: %.*s", SLICE_ARG(got->list[n].path), SLICE_ARG(got->list[n].text));
            struct slice head = slice_cut(&want, '\n');
            if (!CHECK(!slice_empty(head) && slice_starts(line, head)))
                printf("  %.*s\n", SLICE_ARG(line));
        }
        CHECK(slice_empty(want));
        arena_reset(a, MIB);
    }
}

int main(void)
{
    struct arena a = {0};
    notes(&a);
    arena_free(&a);
    return test_done();
}
