/* A control plane of one test: it reads what the client has sent and answers what the test says; what the client's user is told is written
 * down, a line for each thing. */
#ifndef MOBULA_TEST_HUB_H
#define MOBULA_TEST_HUB_H

#include "../json/cases.h"
#include "../kube/fakenet.h"

#include <mobula/remote.h>

struct hub {
    struct fake f;
    struct remote *remote;
    struct buf story;
    const char *tells; /* a status that the user has to tell; NULL: none */
    bool more;         /* and more than fits */
    size_t room;       /* that it was given last */
};

static enum remote_news hub_tell(void *owner, struct jout *w, size_t room, uint64_t call)
{
    struct hub *h = owner;
    (void)call;
    h->room = room;
    if (!h->tells || !room)
        return REMOTE_NO_NEWS;
    jout_kraw(w, "statuses", slice_of(h->tells));
    return h->more ? REMOTE_MORE_NEWS : REMOTE_NEWS;
}

static void hub_told(void *owner, uint64_t call, bool taken)
{
    struct hub *h = owner;
    buf_printf(&h->story, "told %s%s\n", call & 1 ? "push " : "", taken ? "taken" : "again");
}

static void hub_heard(void *owner, const struct remote_answer *a, struct now now)
{
    struct hub *h = owner;
    (void)now;
    buf_printf(&h->story, "heard %.*s%s%s%s\n", SLICE_ARG(a->revision), a->full ? " full" : "", a->fresh ? " fresh" : "",
               a->more ? " more" : "");
    for (uint32_t i = 0; i < a->count; i++) {
        const struct remote_item *x = &a->items[i];
        if (x->gone)
            buf_printf(&h->story, "gone %.*s\n", SLICE_ARG(slice_head(x->uid, 4)));
        else
            buf_printf(&h->story, "item %.*s %.*s/%.*s %lld %.*s%s\n", SLICE_ARG(slice_head(x->uid, 4)), SLICE_ARG(x->project),
                       SLICE_ARG(x->name), (long long)x->generation, SLICE_ARG(slice_head(x->spec, 40)), x->over ? " over" : "");
    }
    if (a->bad)
        buf_printf(&h->story, "bad %u: %s\n", a->bad, a->why.text);
}

static void hub_asked(void *owner, const struct remote_question *q, struct now now)
{
    struct hub *h = owner;
    (void)now;
    buf_printf(&h->story, "asked %.*s %.*s\n", SLICE_ARG(q->id), SLICE_ARG(q->kind));
}

static void hub_wanted(void *owner, bool types, bool nodes, struct now now)
{
    struct hub *h = owner;
    (void)now;
    buf_printf(&h->story, "wants%s%s\n", types ? " types" : "", nodes ? " nodes" : "");
}

static const struct remote_user hub_user = {hub_tell, hub_told, hub_heard, hub_asked, hub_wanted};

__attribute__((unused)) static void hub_run(struct hub *h, int64_t ms)
{
    h->f.now.mono_ms += ms;
    h->f.now.wall_us += ms * 1000;
    do
        h->f.next_ms = remote_tick(h->remote, h->f.now);
    while (net_dispatch(&h->f.net, h->f.now));
    remote_tick(h->remote, h->f.now);
}

static void hub_init(struct hub *h)
{
    *h = (struct hub){0};
    fake_init(&h->f);
    h->f.config->name = "control plane";
    buf_init(&h->story, MIB);
    h->remote = remote_new(&h->f.net, h->f.config,
                           &(struct remote_options){.cloud = SLICE("cldrsrc_abcdefghijklmnopqrstuvwx"),
                                                    .instance = SLICE("i"),
                                                    .version = SLICE("0"),
                                                    .seed = 7,
                                                    .user = &hub_user,
                                                    .owner = h});
    remote_start(h->remote, h->f.now);
    hub_run(h, 0);
}

static void hub_free(struct hub *h)
{
    remote_free(h->remote);
    buf_free(&h->story);
    fake_free(&h->f);
}

/* The body of the request that stands on this link. */
__attribute__((unused)) static struct slice hub_request(const struct fakelink *l)
{
    struct slice sent = fake_sent(l);
    ptrdiff_t end = slice_find_text(sent, "\r\n\r\n");
    return end < 0 ? SLICE_NONE : slice_skip(sent, (size_t)end + 4);
}

/* The link on which a request waits; NULL: there is none. */
__attribute__((unused)) static struct fakelink *hub_waits(const struct hub *h)
{
    for (uint32_t i = 0; i < h->f.count; i++)
        if (h->f.links[i]->link && h->f.links[i]->out.len)
            return h->f.links[i];
    return NULL;
}

__attribute__((unused)) static void hub_answer_on(struct hub *h, struct fakelink *l, int status, const char *headers, struct slice body)
{
    fake_take(l);
    fake_answer(l, status, headers, body);
    hub_run(h, 0);
}

__attribute__((unused)) static void hub_answer(struct hub *h, int status, const char *headers, struct slice body)
{
    struct fakelink *l = hub_waits(h);
    if (CHECK(l != NULL))
        hub_answer_on(h, l, status, headers, body);
}

#define CHECK_TOLD(h, want)                                                                                                                \
    do {                                                                                                                                   \
        CHECK_STR(buf_slice(&(h)->story), want);                                                                                           \
        buf_clear(&(h)->story);                                                                                                            \
    } while (0)

#define ANSWER(revision, full, more, workloads)                                                                                            \
    SLICE("{\"protocol\":1,\"revision\":\"" revision "\",\"full\":" full ",\"more\":" more ",\"workloads\":[" workloads "]}")
#define WORKLOAD(uid, name, generation)                                                                                                    \
    "{\"uid\":\"" uid "\",\"project\":\"n\",\"name\":\"" name "\",\"generation\":" generation ",\"spec\":{}}"
#define UID_A "aaaaaaaa-0000-4000-8000-000000000001"
#define UID_B "bbbbbbbb-0000-4000-8000-000000000002"

#endif
