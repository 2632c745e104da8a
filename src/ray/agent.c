/* The container mobula-agent: `mobula agent`, which reports from a head how Ray is, and stores the log files of every pod of Ray in a
 * bucket. It is part of the template that a pod is made from, so instance types count it and patches find it; the template's hash does not
 * know it, so no pod that runs is replaced for it. */
#include "build.h"

#include <mobula/remote.h>

#define VOLUME "mobula-agent"
#define SECRET_VOLUME "mobula-bucket"
#define ANNOTATION_CA "mobula.dev/control-plane-ca"
#define ANNOTATION_BUCKET_CA "mobula.dev/bucket-ca"
#define RAY_FOLDER "/tmp/ray"

struct agent_build {
    const struct ray_cluster *cluster;
    const struct ray_options *options;
    const struct ray_ship *ship; /* NULL: no logs are stored */
    bool reports;
    struct arena *arena;
    struct jval spec, container; /* of the template; Ray's in it */
    struct jval mount;           /* Ray's mount at RAY_FOLDER; absent: ours */
};

static bool by_configmap(const struct agent_build *b)
{
    return b->options->tools == RAY_TOOLS_CONFIGMAP;
}

static bool has_volume(const struct agent_build *b)
{
    return b->reports || !slice_empty(b->ship->ca);
}

static void write_words(struct jout *w, const struct slice *words)
{
    for (; words->ptr; words++)
        jout_str(w, *words);
}

static void write_agent_command(struct jout *w, const struct agent_build *b)
{
    const struct ray_cluster *c = b->cluster;
    tools_command(w, b->options);
    jout_str(w, SLICE("agent"));
    if (b->reports) {
        jout_str(w, SLICE("--token-file=" RAY_AGENT_FOLDER "/token"));
        jout_str(w, arena_printf(b->arena, "--gcs-addr=127.0.0.1:%d", (int)c->ports.gcs));
        jout_str(w, arena_printf(b->arena, "--dashboard-addr=127.0.0.1:%d", (int)c->ports.dashboard));
        write_words(w, b->options->agent);
    }
    if (b->ship) {
        write_words(w, b->ship->args);
        jout_str(w, arena_printf(b->arena, "--logs-name=%.*s/%.*s/$(POD_NAME).$(POD_UID)", SLICE_ARG(c->ns), SLICE_ARG(c->name)));
        if (!slice_empty(b->ship->secret))
            jout_str(w, SLICE("--credentials-dir=" RAY_SHIP_FOLDER));
        if (!slice_empty(b->ship->ca))
            jout_str(w, SLICE("--storage-ca=" RAY_SHIP_CA));
    }
    jout_end(w);
}

static void write_env_of(struct jout *w, const struct agent_build *b)
{
    bool token = b->reports && !slice_empty(b->cluster->auth.secret);
    bool tls = b->reports && has_tls(b->cluster);
    if (!token && !tls && !b->ship)
        return;
    jout_karray(w, "env");
    if (b->ship)
        jout_form(w, "{name:'POD_NAME',valueFrom:{fieldRef:{fieldPath:'metadata.name'}}}"
                     "{name:'POD_UID',valueFrom:{fieldRef:{fieldPath:'metadata.uid'}}}");
    if (token)
        write_auth_env(w, b->cluster->auth.secret);
    if (tls)
        write_tls_env(w, b->cluster);
    jout_end(w);
}

/* Where Ray's container mounts a volume at its folder, the agent mounts the same one. */
static void write_ray_mount(struct jout *w, const struct agent_build *b)
{
    static const char *const same[] = {"subPath", "subPathExpr"};
    jout_form(w, "{mountPath:'" RAY_FOLDER "',readOnly:true");
    jout_kstr(w, "name", json_there(b->mount) ? json_get_str(b->mount, "name", b->arena) : SLICE(RAY_LOGS_VOLUME));
    for (size_t i = 0; i < COUNT_OF(same); i++)
        if (value_given(json_child(b->mount, same[i])))
            jout_kval(w, same[i], json_child(b->mount, same[i]));
    jout_end(w);
}

/* Logs are compressed: with 10m a container would be slower than the Ray that writes them. Limits equal requests, for pods of class
 * Guaranteed. */
static void write_resources(struct jout *w, const struct agent_build *b)
{
    struct ray_options o = *b->options;
    if (!slice_empty(o.agent_resources.cpu))
        o.tools_resources.cpu = o.agent_resources.cpu;
    if (!slice_empty(o.agent_resources.memory))
        o.tools_resources.memory = o.agent_resources.memory;
    if (b->ship && slice_empty(o.tools_resources.cpu))
        o.tools_resources.cpu = SLICE("50m");
    if (b->ship && slice_empty(o.tools_resources.memory))
        o.tools_resources.memory = SLICE("32Mi");
    tools_resources(w, &o, b->cluster->annotations, NO_VALUE, b->arena);
}

static void write_container(struct jout *w, const struct agent_build *b)
{
    jout_form(w, "{name:'" RAY_AGENT_CONTAINER "'");
    tools_image(w, b->options, b->container);
    write_agent_command(w, b);
    write_env_of(w, b);
    write_resources(w, b);
    tools_security(w, b->container, json_get(b->spec, "securityContext"));
    jout_karray(w, "volumeMounts");
    if (has_volume(b))
        jout_form(w, "{mountPath:'" RAY_AGENT_FOLDER "',name:'" VOLUME "',readOnly:true}");
    if (b->reports)
        write_tls_mount(w, b->cluster);
    if (b->ship)
        write_ray_mount(w, b);
    if (b->ship && !slice_empty(b->ship->secret))
        jout_form(w, "{mountPath:'" RAY_SHIP_FOLDER "',name:'" SECRET_VOLUME "',readOnly:true}");
    if (by_configmap(b))
        tools_mount(w);
    jout_end(w);
    jout_end(w);
}

/* Ray's container, with a volume at its folder. */
static void write_ray(struct jout *w, const struct agent_build *b)
{
    struct jval k, v;
    jout_object(w);
    for (struct jiter it = json_iter(b->container); json_next(&it, &k, &v);)
        if (!json_is(k, "volumeMounts")) {
            jout_key(w, json_str(k, b->arena));
            jout_val(w, v);
        }
    jout_karray(w, "volumeMounts");
    splice_elements(w, json_get(b->container, "volumeMounts"));
    jout_form(w, "{mountPath:'" RAY_FOLDER "',name:'" RAY_LOGS_VOLUME "'}");
    jout_end(w);
    jout_end(w);
}

static void write_containers(struct jout *w, const struct agent_build *b)
{
    struct jval k, v, containers = json_get(b->spec, "containers");
    bool first = b->ship && !json_there(b->mount);
    jout_karray(w, "containers");
    for (struct jiter it = json_iter(containers); json_next(&it, &k, &v); first = false)
        if (first)
            write_ray(w, b);
        else
            jout_val(w, v);
    write_container(w, b);
    jout_end(w);
}

static void write_file(struct jout *w, const char *path, const char *annotation)
{
    jout_form(w, "{downwardAPI:{items:[{path:'%s',fieldRef:{fieldPath:'%s'}}]}}", path, annotation);
}

static void write_volume(struct jout *w, const struct agent_build *b)
{
    jout_form(w, "{name:'" VOLUME "',projected:{sources:[");
    if (b->reports)
        jout_form(w, "{serviceAccountToken:{audience:'" REMOTE_BOOTSTRAP_AUDIENCE "',expirationSeconds:%d,path:'token'}}",
                  RAY_AGENT_TOKEN_S);
    if (b->reports && !slice_empty(b->options->agent_ca))
        write_file(w, "ca.crt", "metadata.annotations['" ANNOTATION_CA "']");
    if (b->ship && !slice_empty(b->ship->ca))
        write_file(w, "bucket-ca.crt", "metadata.annotations['" ANNOTATION_BUCKET_CA "']");
    jout_end(w);
    jout_end(w);
    jout_end(w);
}

static void write_agent_volumes(struct jout *w, const struct agent_build *b)
{
    struct jval given = json_get(b->spec, "volumes");
    jout_karray(w, "volumes");
    splice_elements(w, given);
    if (has_volume(b))
        write_volume(w, b);
    if (b->ship && !json_there(b->mount) && !list_has(given, "name", SLICE(RAY_LOGS_VOLUME)))
        jout_form(w, "{name:'" RAY_LOGS_VOLUME "',emptyDir:{}}");
    /* optional: without its Secret a pod runs all the same, and the agent waits for it */
    if (b->ship && !slice_empty(b->ship->secret))
        jout_form(w, "{name:'" SECRET_VOLUME "',secret:{secretName:'%.*s',optional:true}}", SLICE_ARG(b->ship->secret));
    if (by_configmap(b))
        tools_volume(w);
    jout_end(w);
}

static void write_annotations(struct jout *w, const struct agent_build *b)
{
    struct slice ca = b->reports ? b->options->agent_ca : SLICE(""), bucket_ca = b->ship ? b->ship->ca : SLICE("");
    if (slice_empty(ca) && slice_empty(bucket_ca))
        return;
    jout_form(w, "metadata:{annotations:{" ANNOTATION_CA "?:'%.*s'," ANNOTATION_BUCKET_CA "?:'%.*s'}}", SLICE_ARG(ca),
              SLICE_ARG(bucket_ca));
}

bool ray_wants_agent(const struct ray_cluster *c, const struct ray_options *o, struct arena *a)
{
    struct jval containers = json_get(c->head.template, "spec.containers");
    return o->agent && c->kind == RAY_V1 && o->tools != RAY_TOOLS_NONE && json_len(containers) && !uses_tls(json_at(containers, 0), a) &&
           !list_has(containers, "name", SLICE(RAY_AGENT_CONTAINER));
}

/* False also if the template has no container, or one of that name. */
static bool add_to(struct jval *template, struct agent_build *b, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf patch = {.max = LIMIT_JSON_ITEM};
    struct jout w;
    struct slice text;
    struct jval containers;
    b->spec = json_get(*template, "spec");
    containers = json_get(b->spec, "containers");
    b->container = json_at(containers, 0);
    b->mount = list_find(json_get(b->container, "volumeMounts"), "mountPath", SLICE(RAY_FOLDER));
    if (!json_len(containers) || list_has(containers, "name", SLICE(RAY_AGENT_CONTAINER)))
        return false;
    jout_init(&w, &patch);
    jout_object(&w);
    write_annotations(&w, b);
    jout_kobject(&w, "spec");
    write_containers(&w, b);
    write_agent_volumes(&w, b);
    jout_end(&w);
    jout_end(&w);
    return json_merge_into(*template, arena_dup(b->arena, buf_slice(&patch)), b->arena, &text, e) && json_read(template, text, b->arena, e);
}

bool ray_add_agent(struct ray_cluster *c, bool reports, const struct ray_options *o, struct arena *a, struct err *e)
{
    bool ships = o->ship && o->tools != RAY_TOOLS_NONE;
    struct agent_build b = {.cluster = c, .options = o, .arena = a, .ship = ships ? o->ship : NULL, .reports = reports};
    bool well = (!reports && !ships) || add_to(&c->head.template, &b, e);
    b.reports = false;
    for (uint32_t i = 0; ships && i < c->group_count; i++)
        well &= add_to(&c->groups[i].template, &b, e);
    return well;
}
