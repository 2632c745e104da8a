#include "build.h"

enum { HEALTHZ_SINCE = 2053 }; /* Ray 2.53 has one path that answers for the raylet and, on the head, for the GCS */

/* rayVersion decides, as in KubeRay. If the image's tag names an older Ray, the exec probe is taken, which every version answers. */
static bool has_healthz(const struct pod_build *b)
{
    int64_t of_image = ray_image_version(json_str(json_get(b->container, "image"), b->arena));
    return ray_version_number(b->cluster->ray_version) >= HEALTHZ_SINCE && (of_image == 0 || of_image >= HEALTHZ_SINCE);
}

static void write_http(struct jout *w, const struct pod_build *b)
{
    jout_form(w, "httpGet:{path:'/api/healthz',port:%d}", start_port(b->group, "dashboard-agent-listen-port", RAY_AGENT_PORT, b->arena));
}

/* wget's patience is 2 s a time, so that both calls end before the kubelet's ends. */
static void write_exec(struct jout *w, const struct pod_build *b)
{
    static const char call[] = "wget --tries 1 -T 2 -q -O- http://localhost:%d/api/%s | grep success";
    int agent = start_port(b->group, "dashboard-agent-listen-port", RAY_AGENT_PORT, b->arena);
    struct slice text = arena_printf(b->arena, call, agent, "local_raylet_healthz");
    if (b->group->head) {
        struct slice gcs = arena_printf(b->arena, call, (int)b->cluster->ports.dashboard, "gcs_healthz");
        text = arena_printf(b->arena, "%.*s && %.*s", SLICE_ARG(text), SLICE_ARG(gcs));
    }
    jout_form(w, "exec:{command:['bash','-c','%.*s']}", SLICE_ARG(text));
}

static void write_probe(struct jout *w, const struct pod_build *b, const char *name, int delay, int failures)
{
    if (value_given(json_child(b->container, name)))
        return;
    jout_kobject(w, name);
    if (has_healthz(b))
        write_http(w, b);
    else
        write_exec(w, b);
    jout_form(w, "initialDelaySeconds:%d,timeoutSeconds:%d,periodSeconds:5,successThreshold:1,failureThreshold:%d}", delay,
              b->group->head ? 5 : 2, failures);
}

/* A worker of a RayService is ready while its Serve proxy answers. The proxy runs only beside a working raylet, which needs no check of its
 * own. The proxy's port is the container port "serve", else 8000. */
static void write_serve_probe(struct jout *w, const struct pod_build *b)
{
    struct jval port = list_find(json_get(b->container, "ports"), "name", SLICE("serve"));
    if (value_given(json_child(b->container, "readinessProbe")))
        return;
    jout_form(w,
              "readinessProbe:{httpGet:{path:'/-/healthz',port:%d},initialDelaySeconds:10,timeoutSeconds:2,periodSeconds:5,"
              "successThreshold:1,failureThreshold:1}",
              (int)json_get_int(port, "containerPort", RAY_SERVE_PORT));
}

void write_probes(struct jout *w, const struct pod_build *b)
{
    if (b->cluster->kind == RAY_LEGACY)
        return; /* nothing is known of the image and its version; the container's end tells of Ray's */
    write_probe(w, b, "livenessProbe", 30, 120);
    if (b->cluster->serves && !b->group->head)
        write_serve_probe(w, b);
    else
        write_probe(w, b, "readinessProbe", 10, 10);
}
