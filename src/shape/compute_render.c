/* A compute config as the spec of a RayCluster. */
#include "overlay.h"

#include <mobula/compute.h>
#include <mobula/ray.h>

#define TPU_TOPOLOGY "cloud.google.com/gke-tpu-topology" /* GKE alone has such slices */

struct render {
    const struct compute_config *config;
    const struct compute_pods *pods;
    struct arena *arena; /* for one template */
    struct err *e;
};

/* ---- a pod template ---- */

static void put_env(const struct render *x, struct jout *w)
{
    struct jval k, v;
    if (!json_len(x->pods->env))
        return;
    jout_karray(w, "env");
    for (struct jiter it = json_iter(x->pods->env); json_next(&it, &k, &v);) {
        struct slice name = json_str(k, x->arena), value = json_str(v, x->arena);
        jout_form(w, "{name:'%.*s',value:'%.*s'}", SLICE_ARG(name), SLICE_ARG(value));
    }
    jout_end(w);
}

/* The template before anything is laid over it. */
static void put_base(const struct render *x, const struct compute_node *n, struct jout *w)
{
    jout_form(w, "{metadata:{},spec:{");
    if (!slice_empty(n->topology))
        jout_form(w, "nodeSelector:{" TPU_TOPOLOGY ":'%.*s'}", SLICE_ARG(n->topology));
    if (!slice_empty(x->pods->pull_secret))
        jout_form(w, "imagePullSecrets:[{name:'%.*s'}]", SLICE_ARG(x->pods->pull_secret));
    jout_form(w, "containers:[{name:'" COMPUTE_CONTAINER "',image:'%.*s'", SLICE_ARG(x->pods->image));
    put_env(x, w);
    jout_form(w, "}]}}");
}

/* The parts that the user's own fields do not change. The head's zones are those of its cluster. */
static void put_last(const struct render *x, const struct compute_node *n, bool head, struct jval template, struct jout *w)
{
    bool account = value_given(json_get(template, "spec.serviceAccountName")) || value_given(json_get(template, "spec.serviceAccount"));
    struct slice none = SLICE(""), zones = head ? x->config->zones : none;
    bool cross = !slice_empty(zones) && x->config->cross_zone;
    jout_form(w,
              "{metadata:{annotations:{" SHAPE_INSTANCE_TYPE "?:'%.*s'," SHAPE_ACCELERATOR "?:'%.*s'," SHAPE_MARKET ":'%.*s'," SHAPE_ZONE
              "?:'%.*s'," SHAPE_ZONE_TIMEOUT "?:'%.*s'," SHAPE_CROSS_ZONE "?:'%s'," SHAPE_STARTING_TIMEOUT "?:'%.*s'},labels?:%.*s}",
              SLICE_ARG(n->type), SLICE_ARG(n->accelerator), SLICE_ARG(n->market), SLICE_ARG(zones),
              SLICE_ARG(slice_empty(zones) ? none : x->config->zone_starting), cross ? "true" : "",
              SLICE_ARG(head && x->config->starting_s > 0 ? arena_printf(x->arena, "%llds", (long long)x->config->starting_s) : none),
              SLICE_ARG(x->pods->labels));
    jout_kobject(w, "spec");
    if (x->pods->tokenless && !account)
        jout_kbool(w, "automountServiceAccountToken", false);
    if (!slice_empty(x->pods->files))
        jout_form(w,
                  "volumes:[{name:'mobula-files',configMap:{name:'%.*s'}}],containers:[{name:'" COMPUTE_CONTAINER
                  "',volumeMounts:[{name:'mobula-files',mountPath:'" COMPUTE_FILES "',readOnly:true}]}]",
                  SLICE_ARG(x->pods->files));
    jout_end(w);
    jout_end(w);
}

static bool parse_written(const struct render *x, const struct buf *text, struct jval *out)
{
    struct jval doc;
    if (text->full)
        return err_set(x->e, ERR_LIMIT, "a pod template is larger than %zu bytes (LIMIT_JSON_ITEM)", text->max);
    if (!json_read(&doc, arena_dup(x->arena, buf_slice(text)), x->arena, x->e))
        return false;
    *out = doc;
    return true;
}

static bool lay_over(const struct render *x, struct jval *template, struct jval over)
{
    struct jval doc;
    struct slice text;
    if (!value_given(over))
        return true;
    if (!overlay(*template, over, x->arena, &text, x->e) || !json_read(&doc, text, x->arena, x->e))
        return false;
    *template = doc;
    return true;
}

/* required_resources act as an instance type without a name. */
static bool apply_own(const struct render *x, const struct compute_node *n, bool head, struct jval *template)
{
    static const char unnamed[] =
        "{\"metadata\":{\"annotations\":{\"" SHAPE_INSTANCE_TYPE "\":null},\"labels\":{\"" SHAPE_INSTANCE_TYPE "\":null}}}";
    struct jval doc;
    struct slice made, out;
    if (!slice_empty(n->type))
        return true;
    if (!shape_type_apply(&n->own, *template, head ? SLICE("head") : SLICE("worker"), x->arena, &made, x->e) ||
        !json_merge(made, slice_of(unnamed), x->arena, &out, x->e) || !json_read(&doc, out, x->arena, x->e))
        return false;
    *template = doc;
    return true;
}

static bool put_template(const struct render *x, const struct compute_node *n, bool head, struct jout *w)
{
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    struct jval template, last;
    struct jout inner;
    jout_init(&inner, &text);
    put_base(x, n, &inner);
    if (!parse_written(x, &text, &template) || !lay_over(x, &template, x->config->advanced) || !lay_over(x, &template, n->advanced))
        return false;
    buf_clear(&text);
    jout_init(&inner, &text);
    put_last(x, n, head, template, &inner);
    if (!parse_written(x, &text, &last) || !lay_over(x, &template, last) || !apply_own(x, n, head, &template))
        return false;
    jout_kval(w, "template", template);
    return true;
}

/* ---- groups ---- */

/* A head beside workers does no work, unless the config says what it has. */
static void put_logical(const struct compute_node *n, bool idle, struct arena *a, struct jout *w)
{
    struct jval k, v;
    if (!json_there(n->resources) && !idle)
        return;
    jout_kobject(w, "resources");
    for (struct jiter it = json_iter(n->resources); json_next(&it, &k, &v);) {
        jout_key(w, json_str(k, a));
        jout_str(w, json_type(v) == JSON_STRING ? json_str(v, a) : json_raw(v));
    }
    if (!json_there(n->resources))
        jout_form(w, "CPU:'0',GPU:'0'");
    jout_end(w);
}

static bool put_group(struct render *x, const struct compute_node *n, bool head, struct jout *w)
{
    jout_object(w);
    if (!head) {
        long long least = n->min / n->hosts, most = n->max / n->hosts;
        jout_form(w, "groupName:'%.*s',replicas:%lld,minReplicas:%lld,maxReplicas:%lld", SLICE_ARG(n->name), least, least, most);
        if (n->hosts > 1)
            jout_kint(w, "numOfHosts", n->hosts);
        if (n->idle_s >= 0)
            jout_kint(w, "idleTimeoutSeconds", n->idle_s);
    }
    jout_form(w, "rayStartParams:{}");
    put_logical(n, head && x->config->worker_count > 0, x->arena, w);
    if (json_len(n->labels))
        jout_kval(w, "labels", n->labels);
    bool ok = put_template(x, n, head, w) || err_wrap(x->e, "%.*s", SLICE_ARG(head ? SLICE("head_node") : n->name));
    jout_end(w);
    arena_reset(x->arena, MIB);
    return ok;
}

static bool is_scaled(const struct compute_config *config)
{
    for (uint32_t i = 0; i < config->worker_count; i++)
        if (config->workers[i].min < config->workers[i].max)
            return true;
    return false;
}

static bool put_spec(struct render *x, struct jout *w)
{
    struct slice tag = x->pods->image, version = x->pods->ray_version;
    if (slice_empty(version) && ray_image_version(tag)) {
        while (slice_has(tag, "/"))
            slice_cut(&tag, '/');
        slice_cut(&tag, ':');
        version = slice_cut(&tag, '@');
        version = slice_cut(&version, '-');
    }
    jout_form(w, "{rayVersion?:'%.*s'", SLICE_ARG(version));
    if (x->pods->suspend)
        jout_kbool(w, "suspend", true);
    if (is_scaled(x->config)) {
        jout_kbool(w, "enableInTreeAutoscaling", true);
        if (x->config->idle_s >= 0)
            jout_form(w, "autoscalerOptions:{idleTimeoutSeconds:%lld}", (long long)x->config->idle_s);
    }
    jout_key(w, SLICE("headGroupSpec"));
    bool ok = put_group(x, &x->config->head, true, w);
    jout_karray(w, "workerGroupSpecs");
    for (uint32_t i = 0; ok && !w->to->full && i < x->config->worker_count; i++)
        ok = put_group(x, &x->config->workers[i], false, w);
    jout_end(w);
    jout_end(w);
    return ok;
}

bool compute_render(const struct compute_config *config, const struct compute_pods *pods, struct arena *a, struct slice *out, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    __attribute__((cleanup(arena_free))) struct arena one = {0};
    struct render x = {.config = config, .pods = pods, .arena = &one, .e = e};
    struct jout w;
    jout_init(&w, &text);
    if (!put_spec(&x, &w))
        return false;
    if (text.full)
        return err_set(e, ERR_LIMIT,
                       "the cluster is larger than %zu bytes (LIMIT_JSON_ITEM): the same advanced_instance_config is in every group",
                       text.max);
    *out = arena_dup(a, buf_slice(&text));
    return true;
}
