/* The init container that holds a worker until the GCS answers: this binary's own wait-gcs, in Ray's image or in ours. */
#include "build.h"

/* A GCS that speaks TLS would not answer our question. */
static bool uses_tls(struct jval container, struct arena *a)
{
    struct jval k, v;
    for (struct jiter it = json_iter(json_key(container, SLICE("env"))); json_next(&it, &k, &v);) {
        struct slice value = json_get_str(v, "value", a);
        if (json_str_eq(json_key(v, SLICE("name")), SLICE("RAY_USE_TLS")))
            return !slice_eq(value, SLICE("0")) && !slice_eq_nocase(value, SLICE("false"));
    }
    return false;
}

bool waits_for_gcs(const struct pod_build *b)
{
    return !b->group->head && b->options->tools != RAY_TOOLS_NONE && !uses_tls(b->container, b->arena) &&
           !list_has(json_key(b->spec, SLICE("initContainers")), "name", SLICE(RAY_INIT_CONTAINER));
}

/* Passes where Pod Security "restricted" is enforced. Who runs it is the Ray container's business: an image may have only that user. */
static void write_security(struct jout *w, const struct pod_build *b)
{
    static const char *const inherited[] = {"runAsUser", "runAsGroup", "runAsNonRoot"};
    struct jval given = json_key(b->container, SLICE("securityContext"));
    jout_kobject(w, "securityContext");
    jout_kbool(w, "allowPrivilegeEscalation", false);
    jout_kobject(w, "capabilities");
    jout_karray(w, "drop");
    jout_str(w, SLICE("ALL"));
    jout_end(w);
    jout_end(w);
    jout_kbool(w, "readOnlyRootFilesystem", true);
    jout_kobject(w, "seccompProfile");
    jout_kstr(w, "type", SLICE("RuntimeDefault"));
    jout_end(w);
    for (size_t i = 0; i < COUNT_OF(inherited); i++) {
        struct jval v = json_key(given, slice_of(inherited[i]));
        if (value_given(v))
            jout_kraw(w, inherited[i], json_raw(v));
    }
    jout_end(w);
}

static void write_resources(struct jout *w)
{
    static const char *const sides[] = {"limits", "requests"};
    jout_kobject(w, "resources");
    for (size_t i = 0; i < COUNT_OF(sides); i++) {
        jout_kobject(w, sides[i]);
        jout_kstr(w, "cpu", SLICE("10m"));
        jout_kstr(w, "memory", SLICE("16Mi"));
        jout_end(w);
    }
    jout_end(w);
}

static void write_wait(struct jout *w, const struct pod_build *b)
{
    bool configmap = b->options->tools == RAY_TOOLS_CONFIGMAP;
    struct jval policy = json_key(b->container, SLICE("imagePullPolicy"));
    jout_object(w);
    jout_kstr(w, "name", SLICE(RAY_INIT_CONTAINER));
    if (configmap) {
        jout_kraw(w, "image", json_raw(json_key(b->container, SLICE("image"))));
        if (value_given(policy))
            jout_kraw(w, "imagePullPolicy", json_raw(policy));
    } else {
        jout_kstr(w, "image", b->options->tools_image);
    }
    jout_karray(w, "command");
    jout_str(w, configmap ? SLICE("/mobula/mobula") : SLICE("/mobula"));
    jout_str(w, SLICE("wait-gcs"));
    jout_str(w, SLICE("--address"));
    jout_str(w, arena_printf(b->arena, "%.*s:%d", SLICE_ARG(b->fqdn), (int)b->cluster->gcs_port));
    jout_end(w);
    write_resources(w);
    write_security(w, b);
    if (configmap) {
        jout_karray(w, "volumeMounts");
        jout_object(w);
        jout_kstr(w, "mountPath", SLICE("/mobula"));
        jout_kstr(w, "name", SLICE(RAY_TOOLS_VOLUME));
        jout_kbool(w, "readOnly", true);
        jout_end(w);
        jout_end(w);
    }
    jout_end(w);
}

/* Under KubeRay a worker's own init containers are told where the head is; some wait for it by name. */
static void write_users(struct jout *w, const struct pod_build *b, struct jval list)
{
    static const char *const ours[] = {"env", NULL};
    struct jval k, v;
    if (b->group->head || b->cluster->kind == RAY_LEGACY) {
        splice_elements(w, list);
        return;
    }
    for (struct jiter it = json_iter(list); json_next(&it, &k, &v);) {
        jout_object(w);
        splice_members(w, v, ours, b->arena);
        write_init_env(w, b, v);
        jout_end(w);
    }
}

void write_init_containers(struct jout *w, const struct pod_build *b)
{
    struct jval given = json_key(b->spec, SLICE("initContainers"));
    if (!json_len(given) && !waits_for_gcs(b))
        return;
    jout_karray(w, "initContainers");
    write_users(w, b, given);
    if (waits_for_gcs(b))
        write_wait(w, b);
    jout_end(w);
}
