/* Hashes of the templates of pods and services. Annotations of live objects keep them: a change here replaces the pods of every cluster
 * with upgradeStrategy Recreate or RAY_ANNOTATION_ROLL at the operator's next update, so tests pin the values. */
#include "build.h"

void ray_hash_format(uint64_t hash, char out[RAY_HASH_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = RAY_HASH_TEXT - 1; i >= 0; i--, hash >>= 4)
        out[i] = digits[hash & 15];
}

bool ray_hash_parse(struct slice text, uint64_t *hash)
{
    uint64_t n = 0;
    if (text.len != RAY_HASH_TEXT)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c >= '0' && c <= '9')
            n = n << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            n = n << 4 | (uint64_t)(c - 'a' + 10);
        else
            return false;
    }
    *hash = n;
    return true;
}

static uint64_t hash_text(struct slice text, struct arena *a)
{
    struct jval doc;
    struct buf canonical;
    uint64_t hash = 0;
    buf_init(&canonical, LIMIT_JSON_ITEM);
    if (json_read(&doc, text, a, NULL) && json_canonical(doc, &canonical))
        hash = hash64(buf_slice(&canonical), 0);
    buf_free(&canonical);
    return hash;
}

static void put_given(struct jout *w, const char *key, struct jval v)
{
    if (value_given(v))
        jout_kval(w, key, v);
}

/* Tolerations and scheduling gates are Kueue's to write, on clusters whose pods must not be replaced for it; KubeRay leaves them out too.
 */
static void put_template(struct jout *w, struct jval template, struct arena *a)
{
    static const char *const spec_only[] = {"spec", NULL}, *const schedulers[] = {"tolerations", "schedulingGates", NULL};
    jout_kobject(w, "template");
    splice_members(w, template, spec_only, a);
    jout_kobject(w, "spec");
    splice_members(w, json_get(template, "spec"), schedulers, a);
    jout_end(w);
    jout_end(w);
}

/* The parts of the spec that the container autoscaler is made of. Whether there is one may be the operator's setting, of which no hash can
 * know: a spec with options for it counts as one that has it. */
static void put_sidecar(struct jout *w, const struct ray_cluster *c, const struct ray_group *g)
{
    static const char *const members[] = {"image",        "imagePullPolicy", "resources", "env", "envFrom",
                                          "volumeMounts", "securityContext", "command",   "args"};
    struct jval options = json_get(c->spec, "autoscalerOptions");
    if (c->scale.scaler == RAY_SCALER_SIDECAR) {
        jout_kstr(w, "scaler", SLICE("sidecar"));
        put_given(w, "version", json_get(options, "version"));
    }
    for (size_t i = 0; i < COUNT_OF(members) && g->head; i++)
        put_given(w, members[i], json_child(options, members[i]));
}

/* The settings that a group's pods take from the rest of the spec. */
static void put_cluster(struct jout *w, const struct ray_cluster *c, const struct ray_group *g, struct arena *a)
{
    if (c->scale.on && c->scale.scaler != RAY_SCALER_OPERATOR)
        put_sidecar(w, c, g);
    if (g->head)
        jout_kbool(w, "autoscaling", c->scale.on);
    else
        jout_kstr(w, "service", ray_head_service_name(c, a));
    jout_kint(w, "port", c->ports.gcs);
    if (c->kind == RAY_V1) {
        jout_kstr(w, "rayVersion", c->ray_version);
        put_given(w, "overwrite", json_child(c->annotations, RAY_OVERWRITE_COMMAND));
        if (!slice_empty(c->auth.secret))
            jout_kstr(w, "auth", c->auth.secret);
        if (!slice_empty(c->auth.ca))
            jout_kstr(w, "ca", c->auth.ca);
        jout_kint(w, "hosts", g->hosts);
        return;
    }
    if (g->head)
        jout_kstr(w, "headPodType", g->name); /* a label of its pod; workers of another type are other pods anyway */
    const char *own = g->head ? "headSetupCommands" : "workerSetupCommands";
    put_given(w, "allSetup", json_get(c->spec, "SetupCommands"));
    put_given(w, "ownSetup", json_child(c->spec, own));
    put_given(w, "labels", c->labels); /* the documented way to force a restart is a new label */
}

uint64_t ray_group_hash(const struct ray_cluster *c, const struct ray_group *g, struct arena *a)
{
    struct buf b;
    struct jout w;
    buf_init(&b, LIMIT_JSON_ITEM);
    jout_init(&w, &b);
    jout_object(&w);
    put_template(&w, g->template, a);
    put_given(&w, "rayStartParams", g->start_params);
    put_given(&w, "resources", g->resources);
    put_given(&w, "nodeLabels", g->labels);
    put_given(&w, "setup", g->setup_commands);
    put_given(&w, "start", g->start_commands);
    put_cluster(&w, c, g, a);
    jout_end(&w);
    uint64_t hash = b.full ? 0 : hash_text(buf_slice(&b), a);
    buf_free(&b);
    return hash;
}

void hash_groups(struct ray_cluster *c, struct arena *a)
{
    c->head.hash = ray_group_hash(c, &c->head, a);
    for (uint32_t i = 0; i < c->group_count; i++)
        c->groups[i].hash = ray_group_hash(c, &c->groups[i], a);
}

/* ---- services ---- */

static void put_text(struct jout *w, const char *key, struct jval v, const char *otherwise)
{
    struct slice raw = json_raw(v);
    if (value_given(v))
        jout_kraw(w, key, raw);
    else if (otherwise)
        jout_kstr(w, key, slice_of(otherwise));
}

static void put_port(struct jout *w, struct jval port)
{
    struct jval number = json_get(port, "port"), target = json_get(port, "targetPort");
    jout_object(w);
    put_text(w, "name", json_get(port, "name"), "");
    put_text(w, "port", number, NULL);
    put_text(w, "protocol", json_get(port, "protocol"), "TCP");
    put_text(w, "appProtocol", json_get(port, "appProtocol"), NULL);
    put_text(w, "targetPort", value_given(target) ? target : number, NULL);
    jout_end(w);
}

uint64_t ray_service_hash(struct jval service)
{
    static const char *const labels[] = {RAY_LABEL_CLUSTER, RAY_LABEL_NODE_TYPE, RAY_LABEL_OWNER_UID};
    struct arena a = {0};
    struct buf b;
    struct jout w;
    struct jval spec = json_get(service, "spec"), ip = json_get(spec, "clusterIP"), k, v;
    buf_init(&b, LIMIT_JSON_ITEM);
    jout_init(&w, &b);
    jout_object(&w);
    for (size_t i = 0; i < COUNT_OF(labels); i++)
        put_text(&w, labels[i], json_child(json_get(service, "metadata.labels"), labels[i]), NULL);
    put_text(&w, "made-from", json_child(json_get(service, "metadata.annotations"), RAY_ANNOTATION_HASH), NULL);
    put_text(&w, "type", json_get(spec, "type"), "ClusterIP");
    jout_kbool(&w, "headless", json_is(ip, "None"));
    jout_kbool(&w, "notReady", json_get_bool(spec, "publishNotReadyAddresses", false));
    put_text(&w, "affinity", json_get(spec, "sessionAffinity"), "None");
    put_given(&w, "selector", json_get(spec, "selector"));
    jout_karray(&w, "ports");
    for (struct jiter it = json_iter(json_get(spec, "ports")); json_next(&it, &k, &v);)
        put_port(&w, v);
    jout_end(&w);
    jout_end(&w);
    uint64_t hash = b.full ? 0 : hash_text(buf_slice(&b), &a);
    buf_free(&b);
    arena_free(&a);
    return hash;
}
