#include "../test.h"

#include "../../../src/schema/private.h"

/* Values of a type of pod_fields.txt and what is said of them: "PATH: TEXT" a line, by how it begins, in any order; NULL: nothing. */

#define SHORT "{name: r, image: i"
#define CONTAINER(more) SHORT ", " more "}"
#define POD(more) "{spec: {containers: [" SHORT "}], " more "}}"
#define ONE(more) "{spec: {containers: [" CONTAINER(more) "]}}"

static const struct {
    const char *type, *value, *found;
} cases[] = {
    {"Template", "{spec: {containers: [" SHORT "}]}}", NULL},
    {"Template", "{}", "x.spec: is missing"},
    {"Template", "{metadata: null, spec: {containers: [" SHORT ", resources: null}], volumes: null}}", NULL},
    {"Template", "{spec: {containers: []}}", "x.spec.containers: is empty"},
    {"Template", "{spec: {containers: [null]}}", "x.spec.containers[0].image: is missing\nx.spec.containers[0].name: is missing"},
    {"Template", "[]", "x: is an array: must be an object"},
    {"Config", "{apiVersion: v1, kind: Pod, metadata: {generateName: a-}, spec: {containers: [" SHORT "}]}}", NULL},
    /* unknown fields */
    {"Template", POD("nodeselector: {a: b}"),
     "x.spec.nodeselector: is no field here, and Kubernetes leaves it out: did you mean nodeSelector?"},
    {"Template", ONE("resource: {}"),
     "x.spec.containers[0].resource: is no field here, and Kubernetes leaves it out: did you mean resources?"},
    {"Template", ONE("nodeSelector: {}"),
     "x.spec.containers[0].nodeSelector: is no field here, and Kubernetes leaves it out: it belongs into the pod's spec"},
    {"Template", POD("livenessProbe: {}"),
     "x.spec.livenessProbe: is no field here, and Kubernetes leaves it out: it belongs into a container"},
    {"Template", POD("frobnication: 1"), "x.spec.frobnication: is no field here, and Kubernetes leaves it out: remove it"},
    {"Template", POD("ephemeralContainers: []"), "x.spec.ephemeralContainers: cannot be given to a new pod"},
    /* types */
    {"Template", POD("hostNetwork: 'true', terminationGracePeriodSeconds: '30', tolerations: {key: a}, imagePullSecrets: [r]"),
     "x.spec.hostNetwork: is a string: must be true or false\nx.spec.imagePullSecrets[0]: is a string: must be an object\n"
     "x.spec.terminationGracePeriodSeconds: is a string: must be a number without quotes\nx.spec.tolerations: is an object: must be an "
     "array"},
    {"Container", CONTAINER("imagePullPolicy: always"), "x.imagePullPolicy: is \"always\": must be one of Always,IfNotPresent,Never"},
    {"Container", CONTAINER("imagePullPolicy: ''"), NULL},
    {"Container", CONTAINER("imagePullPolicy: 1"), "x.imagePullPolicy: is a number: must be one of Always,"},
    {"Container", CONTAINER("command: run"), "x.command: is a string: must be an array"},
    {"Container", CONTAINER("args: [1]"), "x.args[0]: is a number: must be a string, put it in quotes"},
    {"Container", "{name: A_b, image: ' i'}",
     "x.image: is \" i\": must be without white space around it\nx.name: is \"A_b\": must be at most 63"},
    {"Container", "{name: '', image: i}", "x.name: is empty"},
    {"Pod", "{containers: [" SHORT "}], priority: 3000000000}", "x.priority: is 3000000000: must be from -2147483648 to 2147483647"},
    {"Pod", "{containers: [" SHORT "}], priority: 1.5}", "x.priority: is 1.5: must be a whole number"},
    {"Pod", "{containers: [" SHORT "}], activeDeadlineSeconds: 0}", "x.activeDeadlineSeconds: is 0: must be from 1 to 2147483647"},
    {"Pod", "{containers: [" SHORT "}], terminationGracePeriodSeconds: -1}", "x.terminationGracePeriodSeconds: is -1: must be from 0 to"},
    {"Pod", "{containers: [" SHORT "}], hostAliases: [{ip: 1.2.3, hostnames: [a_b]}, {ip: '::1'}]}",
     "x.hostAliases[0].hostnames[0]: is \"a_b\": must be lower\nx.hostAliases[0].ip: is \"1.2.3\": must be an IP address"},
    {"Probe", "{tcpSocket: {port: x--y}}", "x.tcpSocket.port: must be a number from 1 to 65535 or the name of a port"},
    {"Probe", "{tcpSocket: {port: metrics}}", NULL},
    {"Probe", "{httpGet: {port: 65536}}", "x.httpGet.port: must be a number from 1 to 65535"},
    {"Probe", "{grpc: {port: 0}, periodSeconds: -1}", "x.grpc.port: is 0: must be from 1\nx.periodSeconds: is -1: must be from 0"},
    {"Probe", "{exec: {command: [a]}, grpc: {port: 1}}", "x.grpc: and exec exclude each other"},
    {"Probe", "{periodSeconds: 3}", "x: must have one of exec, grpc, httpGet, tcpSocket"},
    {"Probe", "{exec: {command: []}}", "x.exec.command: is empty"},
    {"Probe", "{httpGet: {port: 1, httpHeaders: [{name: 'a b', value: ''}]}}",
     "x.httpGet.httpHeaders[0].name: is \"a b\": must be letters"},
    {"Port", "{containerPort: 1, name: a-very-long-name}", "x.name: is \"a-very-long-name\": must be at most 15"},
    {"Port", "{containerPort: 1, name: a-long-name-15c}", NULL},
    {"Port", "{containerPort: 1, name: '123'}", "x.name: is \"123\""},
    {"Port", "{containerPort: 65536, protocol: tcp}", "x.containerPort: is 65536\nx.protocol: is \"tcp\""},
    {"Mount", "{name: a, mountPath: /a, readOnly: 'true'}", "x.readOnly: is a string: must be true or false"},
    {"Mount", "{name: a, mountPath: /a, subPath: ../b}", "x.subPath: is \"../b\": must be a path without .."},
    {"Mount", "{name: a, mountPath: /a, subPath: b, subPathExpr: c}", "x.subPathExpr: and subPath exclude each other"},
    {"Mount", "{name: a, mountPath: /a, recursiveReadOnly: Enabled}", "x.recursiveReadOnly: is only for mounts with readOnly: true"},
    {"Env", "{name: a=b}", "x.name: is \"a=b\": must be printable characters without ="},
    {"Env", "{name: a, value: 1}", "x.value: is a number: must be a string, put it in quotes"},
    {"Env", "{name: a, value: b, valueFrom: {fieldRef: {fieldPath: metadata.name}}}", "x.valueFrom: and value exclude each other"},
    {"Env", "{name: a, valueFrom: {}}",
     "x.valueFrom: must have one of configMapKeyRef, fieldRef, fileKeyRef, resourceFieldRef, secretKeyRef"},
    {"Env", "{name: a, valueFrom: {fieldRef: {fieldPath: 'metadata.labels[''a'']'}}}", NULL},
    {"Env", "{name: a, valueFrom: {fieldRef: {fieldPath: status.phase}}}",
     "x.valueFrom.fieldRef.fieldPath: is \"status.phase\": must be a field"},
    {"Env", "{name: a, valueFrom: {secretKeyRef: {name: a, key: b/c}}}", "x.valueFrom.secretKeyRef.key: is \"b/c\": must be at most 253"},
    {"Volume", "{name: a}", NULL},
    {"Volume", "{name: a, emptyDir: {sizeLimit: lots}, nfs: {server: s, path: a}}",
     "x.emptyDir.sizeLimit: is no amount: \nx.nfs: and emptyDir exclude each other\nx.nfs.path: is \"a\": must be a path that begins with "
     "/"},
    {"Volume", "{name: a, secret: {name: s, defaultMode: 0777}}",
     "x.secret.name: is no field here, and Kubernetes leaves it out: remove it\nx.secret.secretName: is missing"},
    {"Volume", "{name: a, configMap: {name: s, defaultMode: 512}}", "x.configMap.defaultMode: is 512: must be from 0 to 511"},
    {"Volume", "{name: a, hostPath: {path: /a, type: Dir}}", "x.hostPath.type: is \"Dir\": must be one of"},
    {"Meta", "{name: a, namespace: My_NS, labels: {a b: c, d: 'e f', g: 1}, annotations: {'a b': x, c: 'd e'}}",
     "x.namespace: is \"My_NS\"\nx.labels[\"a b\"]: is no key\nx.labels.d: is \"e f\": must be\nx.labels.g: is a number: must "
     "be\n"
     "x.annotations[\"a b\"]: is no key"},
    {"Meta", "{labels: {A.b/c: d}, annotations: {A.b/c: d}}", "x.labels[\"A.b/c\"]: is no key"},
    {"Projected", "{sources: [{}]}", NULL},
    {"Template", POD("resources: {limits: {cpu: 1, a.b/c: 1}}"), "x.spec.resources.limits[\"a.b/c\"]: is not for a whole pod"},
    /* rules between fields */
    {"Template", POD("volumes: [{name: a}, {name: a}]"), "x.spec.volumes[1].name: is \"a\", as that of item 0: each must be another"},
    {"Template", ONE("volumeMounts: [{name: a, mountPath: /a}]"),
     "x.spec.containers[0].volumeMounts[0].name: is \"a\": no volume of the pod has this name"},
    {"Template", ONE("volumeMounts: [{name: shared-mem, mountPath: /a}]"), NULL},
    {"Template", ONE("volumeMounts: [{name: shared-mem, mountPath: /dev/shm}]"),
     "x.spec.containers[0].volumeMounts[0].name: is \"shared-mem\""},
    {"Container", CONTAINER("volumeMounts: [{name: a, mountPath: /a}, {name: b, mountPath: /a}]"),
     "x.volumeMounts[1].mountPath: is \"/a\", as that of item 0"},
    {"Container", CONTAINER("volumeMounts: [{name: a, mountPath: /a, mountPropagation: Bidirectional}]"),
     "x.volumeMounts[0].mountPropagation: is Bidirectional: only for privileged"},
    {"Container", CONTAINER("livenessProbe: {exec: {command: [a]}, successThreshold: 2}"),
     "x.livenessProbe.successThreshold: is 2: must be 1"},
    {"Template", POD("initContainers: [" CONTAINER("livenessProbe: {exec: {command: [a]}}") "]"),
     "x.spec.initContainers[0].livenessProbe: is not for an init container\nx.spec.initContainers[0].name: is that of a container, too"},
    {"Template", POD("initContainers: [{name: s, image: i, restartPolicy: Always, livenessProbe: {exec: {command: [a]}}}]"), NULL},
    {"Template", ONE("restartPolicy: Always"), "x.spec.containers[0].restartPolicy: is only for init containers"},
    {"Template", "{spec: {hostNetwork: true, containers: [" CONTAINER("ports: [{containerPort: 1, hostPort: 2}]") "]}}",
     "x.spec.containers[0].ports[0].hostPort: must be the containerPort"},
    {"Template", POD("dnsPolicy: None"), "x.spec.dnsConfig: must have nameservers"},
    {"Template", "{metadata: {finalizers: [a.b/c]}, spec: {containers: [" SHORT "}]}}",
     "warning: x.metadata.finalizers: keep every pod Terminating until somebody takes them off"},
    {"Resources", "{limits: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 1}, requests: {cpu: 500m, memory: 1024Mi}}", NULL},
    {"Resources", "{limits: {cpu: lots, gpu: 1}}", "x.limits.cpu: is no amount\nx.limits.gpu: is no resource: write cpu, memory"},
    {"Resources", "{limits: {cpu: -1}}", "x.limits.cpu: is no amount: quantity \"-1\" is negative"},
    {"Resources", "{limits: {cpu: 1}, requests: {cpu: 1001m}}", "x.requests.cpu: is above the limit"},
    {"Resources", "{requests: {nvidia.com/gpu: 1}}", "x.requests[\"nvidia.com/gpu\"]: has no limit"},
    {"Resources", "{limits: {nvidia.com/gpu: 2}, requests: {nvidia.com/gpu: 1}}", "x.requests[\"nvidia.com/gpu\"]: is not the limit"},
    {"Resources", "{limits: {nvidia.com/gpu: 500m}}", "x.limits[\"nvidia.com/gpu\"]: must be a whole number"},
    {"Toleration", "{operator: Exists}", NULL},
    {"Toleration", "{value: a}", "x.operator: must be Exists where there is no key"},
    {"Toleration", "{key: a, operator: Exists, value: b, tolerationSeconds: 3}",
     "x.tolerationSeconds: is only for effect NoExecute\nx.value: must not be here: operator is Exists"},
    {"Selector",
     "{matchExpressions: [{key: a, operator: In}, {key: a, operator: Exists, values: [b]}, {key: a, operator: Gt, values: ['1']}]}",
     "x.matchExpressions[0].values: is missing\nx.matchExpressions[1].values: must not be here\nx.matchExpressions[2].operator: is "
     "\"Gt\"\n"},
    {"NodeRequirement", "{key: a, operator: Gt, values: ['1', '2']}", "x.values: must have one value"},
    {"Profile", "{type: Localhost}", "x.localhostProfile: is missing"},
    {"Profile", "{type: RuntimeDefault, localhostProfile: a}", "x.localhostProfile: is only for type Localhost"},
    {"Security", "{privileged: true, allowPrivilegeEscalation: false}", "x.allowPrivilegeEscalation: is false, and privileged is true"},
    {"Security", "{runAsUser: -1, capabilities: {add: [CAP_SYS_ADMIN]}, allowPrivilegeEscalation: false}",
     "x.allowPrivilegeEscalation: is false, and CAP_SYS_ADMIN\nx.runAsUser: is -1: must be from 0"},
    {"Spread", "{maxSkew: 0, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, minDomains: 2}",
     "x.maxSkew: is 0: must be from 1\nx.minDomains: is only for whenUnsatisfiable DoNotSchedule"},
    {"Service", "{spec: {type: Nodeport, ports: [{port: 1, name: a, targetPort: x}]}}", "x.spec.type: is \"Nodeport\""},
};

/* A line for each finding, without "F:N: ". */
static struct slice said(const char *type, const char *value, struct arena *a)
{
    struct yaml_docs docs;
    struct json json;
    struct err e = {0};
    struct buf out;
    struct findings *f = arena_new(a, struct findings);
    f->arena = a;
    if (!CHECK(yaml_parse(guarded(slice_of(value)), a, &docs, &e)) || !CHECK(json_parse(&json, docs.docs[0].json, a, &e))) {
        printf("  %s\n", e.text);
        return SLICE("");
    }
    struct spot at = {.out = f, .key = SLICE("x")};
    fields_check(&at, type, json_root(&json));
    buf_init(&out, MIB);
    findings_write(f, "F", &docs.docs[0], &out);
    struct slice text = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return text;
}

/* As many lines as wanted, one of which begins with each of them. */
static bool same(struct slice got, struct slice want)
{
    uint32_t lines = 0, wanted = 0;
    for (struct slice rest = got; !slice_empty(rest); lines++)
        slice_cut(&rest, '\n');
    for (; !slice_empty(want); wanted++) {
        struct slice head = slice_cut(&want, '\n'), rest = got;
        bool found = false;
        while (!found && !slice_empty(rest))
            found = slice_starts(slice_skip(slice_cut(&rest, '\n'), strlen("F:1: ")), head);
        if (!found)
            return false;
    }
    return lines == wanted;
}

static void values(struct arena *a)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s %s", cases[i].type, cases[i].value);
        struct slice got = said(cases[i].type, cases[i].value, a);
        if (!CHECK(same(got, cases[i].found ? slice_of(cases[i].found) : SLICE(""))))
            printf("%.*s", SLICE_ARG(got));
        arena_reset(a, MIB);
    }
}

/* Annotations of 256 KiB, and of one byte more. */
static void annotations(struct arena *a)
{
    for (unsigned more = 0; more < 2; more++) {
        test_case("%u bytes more of annotations than there may be", more);
        struct buf text;
        buf_init(&text, MIB);
        buf_put(&text, SLICE("{annotations: {a: '"));
        for (unsigned i = 1; i < 256 * KIB + more; i++)
            buf_putc(&text, 'x');
        buf_put(&text, SLICE("'}}"));
        buf_putc(&text, 0);
        struct slice got = said("Meta", text.ptr, a);
        CHECK_SLICE(got, more ? SLICE("F:1: x.annotations: have 262145 bytes: at most 262144 are taken\n") : SLICE(""));
        buf_free(&text);
    }
}

int main(void)
{
    struct arena a = {0};
    values(&a);
    annotations(&a);
    arena_free(&a);
    return test_done();
}
