/* Ray's own mutual TLS (spec.tlsOptions): every pod gets a certificate signed by the cluster's CA. `mobula ray-cert` makes it in an init
 * container, the only one that mounts the CA. */
#include "build.h"

static const char *const variables[][2] = {{"RAY_USE_TLS", "1"},
                                           {"RAY_TLS_SERVER_CERT", RAY_TLS_FOLDER "/" RAY_CA_CERT},
                                           {"RAY_TLS_SERVER_KEY", RAY_TLS_FOLDER "/" RAY_CA_KEY},
                                           {"RAY_TLS_CA_CERT", RAY_TLS_FOLDER "/" RAY_CA_ROOT}};

bool has_tls(const struct ray_cluster *c)
{
    return !slice_empty(c->auth.ca);
}

/* ---- checks of the spec ---- */

static void check_env(struct reader *r, const struct place *list)
{
    for (size_t n = 0; n < COUNT_OF(variables); n++)
        if (list_has(list->value, "name", slice_of(variables[n][0])))
            place_bad(r, list, "sets %s: with tlsOptions the operator sets it", variables[n][0]);
}

static void check_mounts(struct reader *r, const struct place *list)
{
    if (list_has(list->value, "name", SLICE(RAY_TLS_VOLUME)) || list_has(list->value, "mountPath", SLICE(RAY_TLS_FOLDER)))
        place_bad(r, list, "has " RAY_TLS_VOLUME " or " RAY_TLS_FOLDER ": with tlsOptions the operator mounts it");
}

static void check_user(struct reader *r, const struct place *container)
{
    check_env(r, place_key(container, "env"));
    check_mounts(r, place_key(container, "volumeMounts"));
}

static void check_group_tls(struct reader *r, const struct place *group)
{
    const struct place *pod = place_key(place_key(group, "template"), "spec"), *containers = place_key(pod, "containers"),
                       *volumes = place_key(pod, "volumes");
    if (list_has(volumes->value, "name", SLICE(RAY_TLS_VOLUME)) || list_has(volumes->value, "name", SLICE(RAY_CA_VOLUME)))
        place_bad(r, volumes, "has " RAY_TLS_VOLUME " or " RAY_CA_VOLUME ": with tlsOptions the operator makes it");
    check_user(r, place_element(containers, 0, json_at(containers->value, 0)));
}

void check_tls_options(struct reader *r, const struct place *spec, struct ray_cluster *c)
{
    const struct place *options = place_key(spec, "tlsOptions"), *groups = place_key(spec, "workerGroupSpecs"),
                       *head = place_key(spec, "headGroupSpec"), *scaler = place_key(spec, "autoscalerOptions"),
                       *meta = place_member(place_root(NO_VALUE, r->arena), SLICE("metadata"), NO_VALUE),
                       *given = place_key(place_member(meta, SLICE("annotations"), c->annotations), RAY_ANNOTATION_CA);
    bool on = false;
    struct slice name = SLICE_NONE;
    if (!read_object(r, options, OPTIONAL) || !read_flag(r, place_key(options, "enabled"), &on) || !on)
        return;
    if (read_text(r, given, OPTIONAL, &name) && !slice_empty(name) && !name_dns1123_subdomain(name))
        place_bad(r, given, "is no name of a Secret: at most 253 lower case letters, digits, dashes and dots");
    c->auth.ca_ours = slice_empty(name);
    c->auth.ca = c->auth.ca_ours ? arena_printf(r->arena, "%.*s-ray-ca", SLICE_ARG(clipped_name(c->name, r->arena))) : name;
    check_group_tls(r, head);
    for (size_t i = 0; place_type(groups) == JSON_ARRAY && i < json_len(groups->value); i++)
        check_group_tls(r, place_element(groups, i, json_at(groups->value, i)));
    check_user(r, scaler);
}

/* ---- pods ---- */

void write_tls_env(struct jout *w, const struct ray_cluster *c)
{
    for (size_t i = 0; i < COUNT_OF(variables) && has_tls(c); i++)
        jout_form(w, "{name:'%s',value:'%s'}", variables[i][0], variables[i][1]);
}

void write_tls_mount(struct jout *w, const struct ray_cluster *c)
{
    if (has_tls(c))
        jout_form(w, "{mountPath:'" RAY_TLS_FOLDER "',name:'" RAY_TLS_VOLUME "',readOnly:true}");
}

void write_tls_volumes(struct jout *w, const struct pod_build *b)
{
    if (has_tls(b->cluster))
        jout_form(w,
                  "{name:'" RAY_TLS_VOLUME "',emptyDir:{medium:'Memory',sizeLimit:'1Mi'}},"
                  "{name:'" RAY_CA_VOLUME "',secret:{secretName:'%.*s'}}",
                  SLICE_ARG(b->cluster->auth.ca));
}

/* Whether the init container may run as another user than Ray: it has our image, and the template sets no runAsUser. */
static bool is_shared(const struct pod_build *b)
{
    struct jval user = json_get(b->container, "securityContext.runAsUser");
    return b->options->tools == RAY_TOOLS_IMAGE && !value_given(user) && !value_given(json_get(b->spec, "securityContext.runAsUser"));
}

/* SANs: loopback and the pod's IPs; only the head's certificate also has the names of the head service and RAY_TLS_HEAD. */
void write_tls_init(struct jout *w, const struct pod_build *b)
{
    struct slice ns = b->cluster->ns, s = ray_head_service_name(b->cluster, b->arena), names = SLICE("localhost,127.0.0.1,::1,$(POD_IPS)");
    if (!has_tls(b->cluster))
        return;
    if (b->group->head)
        names = arena_printf(b->arena, "%.*s," RAY_TLS_HEAD ",%.*s,%.*s.%.*s,%.*s.%.*s.svc,%.*s", SLICE_ARG(names), SLICE_ARG(s),
                             SLICE_ARG(s), SLICE_ARG(ns), SLICE_ARG(s), SLICE_ARG(ns), SLICE_ARG(b->fqdn));
    jout_form(w, "{name:'" RAY_TLS_INIT_CONTAINER "'");
    tools_image(w, b->options, b->container);
    tools_command(w, b->options);
    jout_form(w, "'ray-cert','--names=%.*s'", SLICE_ARG(names));
    if (is_shared(b))
        jout_form(w, "'--shared'");
    jout_form(w, "],env:[{name:'POD_IPS',valueFrom:{fieldRef:{fieldPath:'status.podIPs'}}}]");
    tools_resources(w, b->options, b->cluster->annotations, b->container, b->arena);
    tools_security(w, b->container, NO_VALUE);
    jout_form(w, "volumeMounts:[{mountPath:'" RAY_CA_FOLDER "',name:'" RAY_CA_VOLUME "',readOnly:true},"
                 "{mountPath:'" RAY_TLS_FOLDER "',name:'" RAY_TLS_VOLUME "'}");
    if (b->options->tools == RAY_TOOLS_CONFIGMAP)
        tools_mount(w);
    jout_form(w, "]}");
}
