/* A whole watch against a server that says anything, in virtual time. The input is what the server sends on the newest connection; behind a
 * NUL stands what happens next: time passes, the connection ends or breaks. The first byte chooses pages or a streaming list, and how
 * the bytes are cut.
 *
 * What must hold: nothing is handed out before a list begins, a list is complete only after it began, and versions do not go back but where
 * the store was restored, which takes several refused lists. */
#include "tests/unit/kube/fakenet.h"

#include "src/kube/watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct checks {
    struct kube_watch *watch;
    bool listing;
    uint64_t version;
    unsigned restarts; /* since the version moved last */
};

static void moved(struct checks *c, uint64_t version)
{
    if (version < c->version)
        abort();
    c->version = version;
    c->restarts = 0;
}

static void on_event(void *owner, const struct kube_watch_event *ev, struct now now)
{
    struct checks *c = owner;
    (void)now;
    bool synced = kube_watch_synced(c->watch);
    switch (ev->what) {
    case KUBE_WATCH_RESTART:
        c->listing = true;
        c->restarts++;
        break;
    case KUBE_WATCH_UPSERT:
    case KUBE_WATCH_DELETE:
        if ((!c->listing && !synced) || ev->version == 0 || json_type(ev->item) != JSON_OBJECT)
            abort();
        break;
    case KUBE_WATCH_SYNCED:
        if (!c->listing || !synced)
            abort();
        c->listing = false;
        moved(c, ev->version);
        break;
    case KUBE_WATCH_PROGRESS:
        if (c->listing || !synced)
            abort();
        moved(c, ev->version);
        break;
    case KUBE_WATCH_ABSENT:
        c->listing = false;
        break;
    case KUBE_WATCH_REWOUND:
        if (!c->listing || synced || c->restarts < WATCH_STALE_LISTS || ev->version >= c->version)
            abort();
        c->version = ev->version;
        c->restarts = 0;
        break;
    case KUBE_WATCH_SKIPPED:
    case KUBE_WATCH_TROUBLE:
        if (!ev->err || ev->err->code == ERR_NONE)
            abort();
        break;
    }
}

static void put_pieces(struct fake *f, struct slice s, size_t piece)
{
    while (!slice_empty(s) && f->count) {
        struct slice head = slice_head(s, piece);
        fake_put(fake_last(f), head);
        s = slice_skip(s, head.len);
    }
}

static void happen(struct fake *f, char what)
{
    if (f->count && what == 'e')
        fake_end(fake_last(f));
    else if (f->count && what == 'f')
        fake_fail(fake_last(f), ERR_CLOSED, "reset");
    else
        fake_run(f, what == 't' ? 1000 : 31 * 1000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct fake f;
    struct checks c = {0};
    struct err e = {0};
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    fake_init(&f);
    f.client->no_stream = data[0] & 1;
    struct kube_watch_options o = {.resource = {SLICE(""), SLICE("v1"), SLICE("pods")}, .ns = SLICE("a"), .on = on_event, .owner = &c};
    c.watch = kube_watch_start(f.client, &o, &e);
    fake_run(&f, 0);
    struct slice rest = {(const char *)data + 1, size - 1};
    while (rest.ptr) {
        struct slice said = slice_cut(&rest, '\0');
        put_pieces(&f, said, data[0] & 2 ? 7 : SIZE_MAX);
        happen(&f, rest.len ? rest.ptr[0] : 't');
        rest = rest.len ? slice_skip(rest, 1) : SLICE_NONE;
    }
    fake_free(&f);
    return 0;
}
