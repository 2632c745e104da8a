/* The container mobula-agent of a head: `mobula agent`, which reports how Ray is. It is part of the template that a head is made from, so
 * instance types count it and patches find it; the template's hash does not know it, so no head that runs is replaced for it. */
#include "build.h"

#include <mobula/remote.h>

#define VOLUME "mobula-agent"
#define ANNOTATION_CA "mobula.dev/control-plane-ca"

struct agent_build {
    const struct ray_cluster *cluster;
    const struct ray_options *options;
    struct arena *arena;
    struct jval spec, container; /* of the head's template; Ray's in it */
};

static bool by_configmap(const struct agent_build *b)
{
    return b->options->tools == RAY_TOOLS_CONFIGMAP;
}

static void write_container(struct jout *w, const struct agent_build *b)
{
    jout_form(w, "{name:'" RAY_AGENT_CONTAINER "'");
    tools_image(w, b->options, b->container);
    tools_command(w, b->options);
    jout_form(w, "'agent','--token-file=" RAY_AGENT_FOLDER "/token','--gcs-addr=127.0.0.1:%d','--dashboard-addr=127.0.0.1:%d'",
              (int)b->cluster->gcs_port, (int)b->cluster->dashboard_port);
    for (const struct slice *one = b->options->agent; one->ptr; one++)
        jout_str(w, *one);
    jout_end(w);
    if (!slice_empty(b->cluster->auth_secret)) {
        jout_karray(w, "env");
        write_auth_env(w, b->cluster->auth_secret);
        jout_end(w);
    }
    tools_resources(w, b->options, b->cluster->annotations, NO_VALUE, b->arena);
    tools_security(w, b->container, json_get(b->spec, "securityContext"));
    jout_form(w, "volumeMounts:[{mountPath:'" RAY_AGENT_FOLDER "',name:'" VOLUME "',readOnly:true}");
    if (by_configmap(b))
        tools_mount(w);
    jout_end(w);
    jout_end(w);
}

static void write_volume(struct jout *w, const struct agent_build *b)
{
    jout_form(w,
              "{name:'" VOLUME "',projected:{sources:[{serviceAccountToken:{audience:'" REMOTE_BOOTSTRAP_AUDIENCE
              "',expirationSeconds:%d,path:'token'}}",
              RAY_AGENT_TOKEN_S);
    if (!slice_empty(b->options->agent_ca))
        jout_form(w, "{downwardAPI:{items:[{path:'ca.crt',fieldRef:{fieldPath:'%s'}}]}}", "metadata.annotations['" ANNOTATION_CA "']");
    jout_end(w);
    jout_end(w);
    jout_end(w);
    if (by_configmap(b))
        tools_volume(w);
}

static void write_patch(struct jout *w, const struct agent_build *b)
{
    jout_object(w);
    if (!slice_empty(b->options->agent_ca))
        jout_form(w, "metadata:{annotations:{" ANNOTATION_CA ":'%.*s'}}", SLICE_ARG(b->options->agent_ca));
    jout_kobject(w, "spec");
    jout_karray(w, "containers");
    splice_elements(w, json_get(b->spec, "containers"));
    write_container(w, b);
    jout_end(w);
    jout_karray(w, "volumes");
    splice_elements(w, json_get(b->spec, "volumes"));
    write_volume(w, b);
    jout_end(w);
    jout_end(w);
    jout_end(w);
}

bool ray_wants_agent(const struct ray_cluster *c, const struct ray_options *o, struct arena *a)
{
    struct jval containers = json_get(c->head.template, "spec.containers");
    return o->agent && c->kind == RAY_V1 && o->tools != RAY_TOOLS_NONE && json_len(containers) && !uses_tls(json_at(containers, 0), a) &&
           !list_has(containers, "name", SLICE(RAY_AGENT_CONTAINER));
}

bool ray_add_agent(struct ray_cluster *c, const struct ray_options *o, struct arena *a, struct err *e)
{
    struct agent_build b = {.cluster = c, .options = o, .arena = a, .spec = json_get(c->head.template, "spec")};
    struct buf patch;
    struct jout w;
    struct slice text;
    b.container = json_at(json_get(b.spec, "containers"), 0);
    buf_init(&patch, LIMIT_JSON_ITEM);
    jout_init(&w, &patch);
    write_patch(&w, &b);
    bool ok = json_merge_into(c->head.template, arena_dup(a, buf_slice(&patch)), a, &text, e) && json_read(&c->head.template, text, a, e);
    buf_free(&patch);
    return ok;
}
