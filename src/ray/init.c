/* The init container that holds a worker until the GCS answers: this binary's own wait-gcs, in Ray's image or in ours. */
#include "build.h"

/* Whether the user's template turns on Ray's TLS with certificates of its own: wait-gcs could not connect to such a GCS. */
bool uses_tls(struct jval container, struct arena *a)
{
    struct jval set = list_find(json_get(container, "env"), "name", SLICE("RAY_USE_TLS"));
    struct slice value = json_get_str(set, "value", a);
    return json_there(set) && !slice_is(value, "0") && !slice_eq_nocase(value, SLICE("false"));
}

bool waits_for_gcs(const struct pod_build *b)
{
    return !b->group->head && b->options->tools != RAY_TOOLS_NONE && !uses_tls(b->container, b->arena) &&
           !list_has(json_get(b->spec, "initContainers"), "name", SLICE(RAY_INIT_CONTAINER));
}

static void write_wait(struct jout *w, const struct pod_build *b)
{
    jout_object(w);
    jout_kstr(w, "name", SLICE(RAY_INIT_CONTAINER));
    tools_image(w, b->options, b->container);
    tools_command(w, b->options);
    jout_form(w, "'wait-gcs','--address','%.*s:%d']", SLICE_ARG(b->fqdn), (int)b->cluster->ports.gcs);
    tools_resources(w, b->options, b->cluster->annotations, b->container, b->arena);
    tools_security(w, b->container, NO_VALUE);
    if (has_tls(b->cluster)) {
        jout_karray(w, "env");
        write_tls_env(w, b->cluster);
        jout_end(w);
    }
    if (b->options->tools == RAY_TOOLS_CONFIGMAP || has_tls(b->cluster)) {
        jout_karray(w, "volumeMounts");
        write_tls_mount(w, b->cluster);
        if (b->options->tools == RAY_TOOLS_CONFIGMAP)
            tools_mount(w);
        jout_end(w);
    }
    jout_end(w);
}

/* Under KubeRay the users' own init containers are told where the head is, the head's own too; some wait for it by name. */
static void write_users(struct jout *w, const struct pod_build *b, struct jval list)
{
    static const char *const ours[] = {"env", NULL};
    struct jval k, v;
    if (b->cluster->kind == RAY_LEGACY) {
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
    struct jval given = json_get(b->spec, "initContainers");
    if (!json_len(given) && !waits_for_gcs(b) && !has_tls(b->cluster))
        return;
    jout_karray(w, "initContainers");
    write_tls_init(w, b);
    write_users(w, b, given);
    if (waits_for_gcs(b))
        write_wait(w, b);
    jout_end(w);
}
