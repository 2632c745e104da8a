#include "build.h"

static bool mounts(struct jval container, const char *path)
{
    return list_has(json_get(container, "volumeMounts"), "mountPath", slice_of(path));
}

/* Ray keeps its object store in /dev/shm, which is 64 MiB in a container unless a volume is there. The old kind leaves that to its user. */
static bool wants_shared_memory(const struct pod_build *b)
{
    return b->cluster->kind == RAY_V1 && !json_there(json_get(b->group->start_params, "plasma-directory")) &&
           !mounts(b->container, "/dev/shm");
}

static void write_shared_memory(struct jout *w, const struct pod_build *b)
{
    struct jval size = json_get(b->container, "resources.limits.memory");
    if (!value_given(size))
        size = json_get(b->container, "resources.requests.memory");
    struct slice limit = value_given(size) ? json_raw(size) : SLICE_NONE;
    jout_form(w, "{name:'" RAY_SHARED_MEMORY_VOLUME "',emptyDir:{medium:'Memory',sizeLimit:%.*s}}", SLICE_ARG(limit));
}

void write_volumes(struct jout *w, const struct pod_build *b)
{
    struct jval given = json_get(b->spec, "volumes");
    bool shm = wants_shared_memory(b) && !list_has(given, "name", SLICE(RAY_SHARED_MEMORY_VOLUME));
    bool tls = has_tls(b->cluster),
         tools = (waits_for_gcs(b) || tls) && b->options->tools == RAY_TOOLS_CONFIGMAP && !list_has(given, "name", SLICE(RAY_TOOLS_VOLUME));
    if (!json_len(given) && !shm && !tools && !tls && !has_sidecar(b))
        return;
    jout_karray(w, "volumes");
    splice_elements(w, given);
    if (shm)
        write_shared_memory(w, b);
    write_logs_volume(w, b);
    write_tls_volumes(w, b);
    if (tools)
        tools_volume(w);
    jout_end(w);
}

void write_volume_mounts(struct jout *w, const struct pod_build *b)
{
    struct jval given = json_get(b->container, "volumeMounts");
    bool shm = wants_shared_memory(b), logs = sidecar_logs(b);
    if (!json_len(given) && !shm && !logs && !has_tls(b->cluster))
        return;
    jout_karray(w, "volumeMounts");
    splice_elements(w, given);
    if (shm)
        jout_form(w, "{mountPath:'/dev/shm',name:'" RAY_SHARED_MEMORY_VOLUME "'}");
    if (logs)
        write_logs_mount(w);
    write_tls_mount(w, b->cluster);
    jout_end(w);
}
