/* `mobula upgrade --dry-run`: the differences between the objects in the cluster and the results of a dry-run apply. */
#include <mobula/release.h>

struct slice apply_plain(struct slice json, struct arena *a)
{
    static const char *const written[] = {"metadata.managedFields", "metadata.resourceVersion",   "metadata.generation",
                                          "metadata.uid",           "metadata.creationTimestamp", "status"};
    static const struct slice others = SLICE("{\"metadata\":{\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":null,"
                                             "\"deployment.kubernetes.io/revision\":null}}}");
    for (size_t i = 0; i < COUNT_OF(written); i++)
        json = json_without(json, written[i], a);
    if (slice_has(json, "\"annotations\":"))
        json_merge(json, others, a, &json, NULL);
    return json;
}

/* The object as Helm would leave it: the manifest in place of the whole object, with Helm's own metadata. */
static bool replace_dry(struct apply *p, const struct apply_object *o, struct ask_answer *answer, struct err *e)
{
    struct jout w;
    struct slice body;
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, KIB);
    jout_init(&w, &out);
    jout_form(&w,
              "{metadata:{resourceVersion:'%.*s',labels:{app.kubernetes.io/managed-by:'Helm'},"
              "annotations:{meta.helm.sh/release-name:'%.*s',meta.helm.sh/release-namespace:'%.*s'}}}",
              SLICE_ARG(o->version), SLICE_ARG(o->release), SLICE_ARG(p->installation));
    return json_merge(o->json, buf_slice(&out), p->a, &body, e) &&
           ask_put(p->ask, arena_printf(p->a, "%.*s?dryRun=All", SLICE_ARG(o->path)), body, p->a, answer, e);
}

static bool diff_one(struct apply *p, const struct apply_object *o, uint32_t *count, struct buf *out, struct err *e)
{
    struct ask_answer live = {0}, dry = {0};
    bool (*try)(struct apply *, const struct apply_object *, struct ask_answer *, struct err *) =
        slice_empty(o->release) ? apply_dry : replace_dry;
    if (!ask_get(p->ask, o->path, NULL, p->a, &live, e) || !try(p, o, &dry, e))
        return false;
    bool there = live.code < 300, tried = dry.code < 300;
    if (!tried && dry.code != 404)
        return err_set(e, ERR_STATUS, "%.*s", SLICE_ARG(apply_refusal(o, &dry, p->a)));
    struct slice before = apply_plain(live.body, p->a),
                 after = tried ? apply_plain(dry.body, p->a) : o->json; /* 404: the namespace does not exist yet */
    if (there && slice_eq(before, after) && slice_empty(o->takeover))
        return true;
    struct slice name =
        arena_printf(p->a, "%.*s %.*s%s%.*s", SLICE_ARG(o->kind), SLICE_ARG(o->name), slice_empty(o->ns) ? "" : " in ", SLICE_ARG(o->ns));
    size_t from = out->len;
    if (!diff_yaml(there ? before : SLICE("{}"), after, name, there ? SLICE("changed") : SLICE("created"), out, e))
        return false;
    if (!slice_empty(o->takeover))
        buf_put(out, SLICE("# kubectl has applied it: fields that are not of this installation any more are removed as well\n"));
    *count += out->len > from;
    return true;
}

bool apply_diff(struct apply *p, const struct apply *gone, uint32_t *count, struct buf *out, struct err *e)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (!p->list[i].passed && !(apply_is(&p->list[i], "Namespace") && !slice_empty(p->list[i].version)) &&
            !diff_one(p, &p->list[i], count, out, e))
            return err_wrap(e, "%.*s %.*s", SLICE_ARG(p->list[i].kind), SLICE_ARG(p->list[i].name));
    for (uint32_t i = 0; i < gone->count; i++, ++*count)
        buf_printf(out, "--- %.*s %.*s%s%.*s\n+++ deleted\n", SLICE_ARG(gone->list[i].kind), SLICE_ARG(gone->list[i].name),
                   slice_empty(gone->list[i].ns) ? "" : " in ", SLICE_ARG(gone->list[i].ns));
    return true;
}
