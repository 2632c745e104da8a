/* The workloads of an answer. An answer in full is made of pages in the order of uids; the revision of a page but the last says where the
 * next begins. Everything else goes in the order of its changes, and the revision of a page is that of its last change. */
#include "private.h"

#include <stdlib.h>

struct entry {
    const struct workload *w; /* NULL: it is gone */
    struct slice uid;
    uint64_t changed;
};

static int by_uid(const void *a, const void *b)
{
    return slice_cmp(((const struct entry *)a)->uid, ((const struct entry *)b)->uid);
}

static int by_change(const void *a, const void *b)
{
    uint64_t x = ((const struct entry *)a)->changed, y = ((const struct entry *)b)->changed;
    return x < y ? -1 : x > y;
}

/* The workloads that its operator runs are named in full, also when their newest generation cannot be sent: those that are not named are
 * deleted there. */
static bool is_kept(const struct workload *w)
{
    return !w->shown && w->finalizer >= 0 && w->report.reporter && w->observed > 0;
}

static bool is_meant(const struct call *c, const struct workload *w)
{
    if (w->done)
        return false;
    return c->sync.full ? (w->shown || is_kept(w)) && slice_cmp(w->uid, c->sync.cursor) > 0 : w->shown && w->changed > c->sync.revision;
}

/* Fills in the subject of the answer; list NULL: only its size. */
static uint32_t gather(const struct call *c, struct entry *list)
{
    const struct space *s = hub_store_space(c->hub, c->cloud->ns);
    uint32_t count = 0;
    for (const struct workload *w = c->cloud->first; w; w = w->next) {
        if (!is_meant(c, w))
            continue;
        if (list)
            list[count] = (struct entry){w, w->uid, w->changed};
        count++;
    }
    for (unsigned i = 0; i < LIMIT_HUB_GONE && !c->sync.full; i++) {
        const struct gone *g = &s->gone[i];
        if (g->of != c->cloud || g->version <= c->sync.revision)
            continue;
        if (list)
            list[count] = (struct entry){NULL, slice_of(g->uid), g->version};
        count++;
    }
    return count;
}

bool page_due(const struct call *c)
{
    return c->sync.full || gather(c, NULL) > 0;
}

static void write_workload(struct call *c, const struct entry *e, struct jout *w)
{
    struct slice spec;
    if (e->w && !e->w->deleting) {
        bool kept = is_kept(e->w);
        spec = kept ? SLICE("{}") : workload_spec(c->hub, e->w, &c->arena);
        jout_form(w, "{uid:'%.*s',project:'%.*s',name:'%.*s',generation:%lld,spec:%.*s", SLICE_ARG(e->uid), SLICE_ARG(e->w->ns),
                  SLICE_ARG(e->w->name), (long long)(kept ? e->w->observed : e->w->generation), SLICE_ARG(spec));
        if (e->w->over)
            jout_form(w, "state:'%s',observedGeneration:%lld", e->w->over, (long long)e->w->observed);
        jout_end(w);
    } else {
        jout_form(w, "{uid:'%.*s',delete:true}", SLICE_ARG(e->uid));
    }
}

/* A page ends where an operator could not read more, but never within one change: the next one begins behind it. */
static bool is_page_end(const struct call *c, const struct entry *list, uint32_t i, size_t bytes, size_t tokens)
{
    bool full = bytes >= HUB_PAGE - LIMIT_HUB_SPEC || tokens >= HUB_PAGE_TOKENS || i >= HUB_PAGE_ITEMS;
    return i > 0 && full && (c->sync.full || list[i].changed != list[i - 1].changed);
}

void page_write(struct call *c, struct jout *w)
{
    const struct space *s = hub_store_space(c->hub, c->cloud->ns);
    char text[KUBE_VERSION_TEXT];
    uint32_t count = gather(c, NULL), i;
    size_t tokens = 0;
    struct entry *list = arena_array(&c->arena, count + 1, sizeof *list);
    gather(c, list);
    qsort(list, count, sizeof *list, c->sync.full ? by_uid : by_change);
    jout_karray(w, "workloads");
    for (i = 0; i < count && !is_page_end(c, list, i, w->to->len, tokens); i++) {
        size_t before = w->to->len;
        write_workload(c, &list[i], w);
        tokens += weigh(slice_skip(buf_slice(w->to), before)).tokens;
    }
    jout_end(w);
    bool more = i < count;
    uint64_t at = more && !c->sync.full              ? list[i - 1].changed
                  : c->sync.full && c->sync.revision ? c->sync.revision
                                                     : s->source[SOURCE_WORKLOADS].keeper.version;
    struct slice revision = kube_version_format(at, text);
    if (c->sync.full && more)
        revision = arena_printf(&c->arena, "%.*s.%.*s", SLICE_ARG(revision), SLICE_ARG(list[i - 1].uid));
    jout_form(w, "revision:'%.*s',full:%hhd,more:%hhd", SLICE_ARG(revision), c->sync.full, more);
}
