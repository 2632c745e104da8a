/* Identities that outlive a restore from a backup, which gives every object another uid and may drop its status: a Workload keeps the uid
 * under which operators know it, and its end, and a Cloud keeps its deployment id. Each stands in an annotation that begins with namespace
 * and name, so a copy of the object under another name does not count as the object. */
#include "private.h"

#define IDENTITY "mobula.dev/identity"           /* of a Workload: "NAMESPACE/NAME UID" */
#define ENDED "mobula.dev/ended"                 /* of a Workload: "NAMESPACE/NAME STATE" */
#define DEPLOYMENT_ID "mobula.dev/deployment-id" /* of a Cloud: "NAMESPACE/NAME ID" */

/* Reads the annotation's value for this very object; empty: none. An end is that of an object that was moved to another namespace, too. */
static struct slice said_of_it(struct jval object, const char *annotation, struct arena *a)
{
    struct jval meta = json_get(object, "metadata");
    struct slice text = json_str(json_child(json_get(meta, "annotations"), annotation), a), rest = text;
    struct slice of = slice_cut(&rest, ' '), ns = slice_cut(&of, '/');
    bool here = strcmp(annotation, ENDED) == 0 || slice_eq(ns, json_get_str(meta, "namespace", a));
    bool same = here && slice_eq(of, json_get_str(meta, "name", a));
    return text.ptr && same ? rest : SLICE_NONE;
}

struct slice identity_of_workload(const struct hub *h, struct jval object, struct arena *a)
{
    struct slice own = json_get_str(object, "metadata.uid", a), said = said_of_it(object, IDENTITY, a);
    bool known = own.len == said.len && name_dns1123_label(said);
    const struct workload *other = known ? map_get(&h->workloads, said) : NULL;
    if (other && !(slice_eq(other->ns, json_get_str(object, "metadata.namespace", a)) &&
                   slice_eq(other->name, json_get_str(object, "metadata.name", a))))
        return own; /* it is the uid of another workload */
    return known ? said : own;
}

/* Versions of the restored object begin at 1 again, and an operator knows higher ones. */
int64_t identity_generations(struct jval object, struct arena *a)
{
    enum { MINUTE_US = 60 * 1000000 };
    int64_t us = 0;
    time_parse(json_get_str(object, "metadata.creationTimestamp", a), &us, NULL);
    return us / MINUTE_US;
}

void identity_read_marks(struct workload *w, struct jval object, struct arena *a)
{
    struct slice ended = said_of_it(object, ENDED, a);
    w->marks.annotated = json_type(json_get(object, "metadata.annotations")) == JSON_OBJECT;
    w->marks.identified = !slice_empty(said_of_it(object, IDENTITY, a));
    w->marks.end = !slice_empty(ended);
    if (w->over || slice_empty(ended) || json_there(json_get(object, "status.state")))
        return;
    w->over = remote_ended_word(ended);
    w->marks.end_unsaid = w->over != NULL;
    if (w->over)
        w->observed = w->generation;
}

struct slice identity_of_cloud(struct jval object, struct arena *a)
{
    return said_of_it(object, DEPLOYMENT_ID, a);
}

/* The operation of a JSON patch that annotates a workload with its identity. */
void identity_put(const struct workload *w, struct buf *out)
{
    if (w->marks.annotated)
        buf_printf(out, "{\"op\":\"add\",\"path\":\"/metadata/annotations/mobula.dev~1identity\",\"value\":\"");
    else
        buf_printf(out, "{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{\"" IDENTITY "\":\"");
    buf_printf(out, "%.*s/%.*s %.*s\"%s}", SLICE_ARG(w->ns), SLICE_ARG(w->name), SLICE_ARG(w->uid), w->marks.annotated ? "" : "}");
}

static void annotate(struct hub *h, const struct kube_resource *what, struct slice ns, struct slice name, const char *annotation,
                     struct slice value)
{
    buf_clear(&h->body);
    buf_printf(&h->body, "{\"metadata\":{\"annotations\":{\"%s\":\"%.*s/%.*s %.*s\"}}}", annotation, SLICE_ARG(ns), SLICE_ARG(name),
               SLICE_ARG(value));
    struct kube_request r = hub_patch(h, what, ns, name, "");
    hub_ask(h, NULL, &r, NULL, NULL);
}

void identity_mark_cloud(struct hub *h, const struct cloud *c)
{
    annotate(h, &hub_clouds, c->ns, c->name, DEPLOYMENT_ID, slice_of(c->id));
}

void identity_mark_end(struct hub *h, const struct workload *w)
{
    annotate(h, &hub_workloads, w->ns, w->name, ENDED, slice_of(w->over));
}
