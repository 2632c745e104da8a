/* Reports the actions on pods: one line for the log, one event for a plan, and the legacy kind's "<cluster>:" lines. */
#include "record.h"

/* "2020-12-12 13:55:36,814\tINFO -- text", each line of it after the cluster's name and a colon: what people grep for. */
void say_legacy(struct op *op, struct record *c, const char *level, struct slice text)
{
    if (!is_legacy(c))
        return;
    char stamp[TIME_TEXT_MAX], line[2 * KIB];
    struct slice t = time_format_micro(op->now.wall_us, stamp);
    stamp[10] = ' ';
    int n = snprintf(line, sizeof line, "%s:%.*s,%.*s\t%s -- %.*s", c->name, 19, t.ptr, 3, t.ptr + 20, level, SLICE_ARG(text));
    log_raw(slice_head((struct slice){line, (size_t)n}, sizeof line - 1));
}

static uint32_t count_group(const struct record *c, struct slice group)
{
    uint32_t n = 0;
    for (const struct pod_record *r = c->children.pods; r; r = r->next)
        n += !r->pod.deleting && !r->pod.head && slice_eq(r->pod.group, group);
    return n;
}

/* How many workers of each type there are, whenever that changed. */
void say_legacy_status(struct op *op, struct record *c)
{
    const struct ray_cluster *model = cluster_model(op);
    uint64_t counts = 1;
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < model->group_count; i++) {
        uint32_t n = count_group(c, model->groups[i].name);
        counts = hash64((struct slice){(const char *)&n, sizeof n}, counts);
        nodes += n;
    }
    if (counts == raycluster_of(c)->logged)
        return;
    raycluster_of(c)->logged = counts;
    char text[64];
    snprintf(text, sizeof text, "Cluster status: %u nodes", nodes);
    say_legacy(op, c, "DEBUG", slice_of(text));
    log_raw(arena_printf(&op->arenas.plan, "%s:Worker node types:", c->name));
    for (uint32_t i = 0; i < model->group_count; i++)
        log_raw(arena_printf(&op->arenas.plan, "%s: - %.*s: %u", c->name, SLICE_ARG(model->groups[i].name),
                             count_group(c, model->groups[i].name)));
}

static const char *plural(uint32_t n)
{
    return n == 1 ? "" : "s";
}

/* "created head pod X", "created 3 worker pods", "deleted 2 worker pods: more replicas than desired". any: the pods are not those of a
 * RayCluster */
static void describe(const struct work *w, bool any, struct buf *b)
{
    uint32_t workers = w->created - w->created_head, gone = w->deleted - w->deleted_head;
    if (w->created_head)
        buf_printf(b, "created head pod %s", w->first_created);
    else if (workers == 1)
        buf_printf(b, "created worker pod %s", w->first_created);
    else if (workers)
        buf_printf(b, "created %u worker pods", workers);
    if (w->deleted)
        buf_printf(b, "%sdeleted %s", w->created ? "; " : "", w->deleted_head ? "head pod" : "");
    if (gone)
        buf_printf(b, "%s%u %spod%s", w->deleted_head ? " and " : "", gone, any ? "" : "worker ", plural(gone));
    if (w->deleted)
        buf_printf(b, ": %s", w->why_deleted);
    if (w->refused)
        buf_printf(b, "%s%u refused", b->len ? "; " : "", w->refused);
}

/* Whether this plan created a head, and the next one creates its workers: then one event is about both. */
static bool is_half(const struct record *c)
{
    const struct work *w = c->work;
    return raycluster_of(c) && w->created_head && w->created == 1 && w->follow && !w->deleted && !w->refused;
}

static const struct pod *head_of(const struct record *c)
{
    const struct pod_record *r = c->children.pods;
    while (r && !r->pod.head)
        r = r->next;
    return r ? &r->pod : NULL;
}

/* One event about the pods of this plan, and about the head of the plan before, if that left it out. */
static void say_pods(struct op *op, struct record *c, const char *reason, struct slice what)
{
    struct raycluster *own = raycluster_of(c);
    const struct pod *head = own && own->head_untold ? head_of(c) : NULL;
    struct buf note;
    if (own && (own->head_untold = is_half(c)))
        return;
    buf_init(&note, LIMIT_KUBE_EVENT_NOTE);
    if (head)
        buf_printf(&note, "created head pod %s", head->name);
    if (head && (c->work->deleted || c->work->created_head)) { /* its own reason matters */
        say_event(op, c, false, "CreatedHeadPod", buf_slice(&note));
        buf_clear(&note);
        head = NULL;
    }
    buf_printf(&note, "%s%.*s", note.len && what.len ? "; " : "", SLICE_ARG(what));
    if (note.len)
        say_event(op, c, false, head ? "CreatedHeadPod" : reason, buf_slice(&note));
    buf_free(&note);
}

void say_work(struct op *op, struct record *c, const char *reason)
{
    const struct work *w = c->work;
    struct buf b;
    buf_init(&b, LIMIT_KUBE_EVENT_NOTE);
    if (w->created || w->deleted) { /* refusals were said where they happened; a status speaks for itself */
        describe(w, !raycluster_of(c), &b);
        log_info("plan carried out", LF("namespace", istr_slice(c->ns)), LF_CSTR(c->kind->word, c->name), LF("what", buf_slice(&b)),
                 LF_INT("took_ms", op->now.mono_ms - w->began_ms));
        say_legacy(op, c, "INFO", buf_slice(&b));
    }
    say_pods(op, c, reason, buf_slice(&b));
    buf_free(&b);
}
