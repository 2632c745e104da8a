/* A service of a workload: a VersionedService whose versions each have a cluster of their own. Its route leads through the Gateway or the
 * class of Ingresses that the operator's administrator has named: a control plane cannot choose another. */
#include "render.h"

/* Serve's configuration, as JSON in YAML's place. */
static void put_applications(struct rendering *x, const struct place *list, struct jout *w)
{
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    struct jout inner;
    if (!read_array(&x->r, list, REQUIRED))
        return;
    jout_init(&inner, &text);
    jout_object(&inner);
    jout_kval(&inner, "applications", list->value);
    jout_end(&inner);
    jout_kstr(w, "serveConfigV2", buf_slice(&text));
}

static void put_version(struct rendering *x, const struct place *at, struct jout *w)
{
    static const char *const members[] = {"name", "weight", "applications", "computeConfig", "image", "imagePullSecret", "rayVersion",
                                          "env",  NULL};
    const struct place *name = place_key(at, "name"), *weight = place_key(at, "weight");
    struct slice text = SLICE(""), cluster;
    int64_t percent;
    if (!read_object(&x->r, at, REQUIRED))
        return;
    work_check_members(x, at, members);
    read_text(&x->r, name, REQUIRED, &text);
    jout_form(w, "{name:'%.*s'", SLICE_ARG(text));
    if (read_int(&x->r, weight, 0, 100, &percent))
        jout_kint(w, "weight", percent);
    jout_kobject(w, "rayServiceConfig");
    put_applications(x, place_key(at, "applications"), w);
    if (work_render_cluster(x, at, at, &cluster))
        jout_kraw(w, "rayClusterConfig", cluster);
    jout_form(w, "}}");
}

static void put_route(struct rendering *x, const struct place *service, struct jout *w)
{
    const struct place *hosts = place_key(service, "hostnames");
    const struct work_options *o = x->o;
    if (!slice_empty(o->gateway))
        jout_form(w, "gateway:{name:'%.*s',namespace?:'%.*s'}", SLICE_ARG(o->gateway), SLICE_ARG(o->gateway_ns));
    else if (!slice_empty(o->ingress_class))
        jout_kstr(w, "ingressClassName", o->ingress_class);
    else
        place_bad(&x->r, service, "needs a Gateway or a class of Ingresses: mobula operator --gateway-name or --ingress-class names it");
    if (!read_array(&x->r, hosts, REQUIRED))
        return;
    if (json_len(hosts->value) > LIMIT_WORK_HOSTS)
        place_bad(&x->r, hosts, "has %zu hosts: at most %d (LIMIT_WORK_HOSTS)", json_len(hosts->value), LIMIT_WORK_HOSTS);
    else if (read_text_list(&x->r, hosts))
        jout_kval(w, "hostnames", hosts->value);
}

void work_put_service(struct rendering *x, const struct place *service, struct jout *w)
{
    static const char *const rollout_members[] = {"maxSurgePercent", "stepPercent",       "intervalSeconds",
                                                  "timeoutMinutes",  "automaticRollback", NULL};
    const struct place *versions = place_key(service, "versions"), *auth = place_key(service, "auth"),
                       *rollout = place_key(service, "rollout");
    static const char *const code[] = {"workingDir", "pyModules", "requirements"};
    size_t count = json_len(versions->value);
    struct slice text;
    for (size_t i = 0; i < COUNT_OF(code); i++) {
        const struct place *at = place_key(x->spec, code[i]);
        if (place_given(at))
            place_bad(&x->r, at, "is of jobs alone: an application names its code in runtime_env");
    }
    jout_object(w);
    put_route(x, service, w);
    if (read_text(&x->r, auth, OPTIONAL, &text))
        jout_kstr(w, "auth", text);
    if (read_object(&x->r, rollout, OPTIONAL))
        jout_kval(w, "rollout", rollout->value);
    work_check_members(x, rollout, rollout_members);
    jout_karray(w, "versions");
    bool list = read_array(&x->r, versions, REQUIRED);
    if (list && (count < 1 || count > LIMIT_WORK_VERSIONS))
        place_bad(&x->r, versions, "has %zu versions: must be 1 to %d (LIMIT_WORK_VERSIONS)", count, LIMIT_WORK_VERSIONS);
    else
        for (size_t i = 0; list && i < count && !w->to->full; i++)
            put_version(x, place_element(versions, i, json_at(versions->value, i)), w);
    jout_form(w, "]}");
}
