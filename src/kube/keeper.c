/* Turns the events of one watch into calls of the owner of its records, and keeps how complete these records are. A new list (RESTART)
 * starts a new round; when it is complete (SYNCED), records that it did not show are swept. When the server's store was restored from a
 * backup (REWOUND), all records are swept, as at the start of the process. */
#include <mobula/kube.h>

/* The server does not know the resource. */
static void set_absent(struct kube_keeper *k)
{
    bool complete = k->user->absent_is_empty;
    k->absent = true;
    if (complete) {
        k->round++;
        k->user->sweep(k->owner, UINT64_MAX);
    }
    k->synced = k->known = complete;
    k->user->absent(k->owner);
}

/* The list is complete. Records are swept before the owner sees the list as complete, and before the version changes. */
static void set_synced(struct kube_keeper *k, uint64_t version)
{
    bool first = !k->known;
    k->user->sweep(k->owner, version);
    k->version = version;
    k->synced = k->known = true;
    k->user->listed(k->owner, first);
}

/* The server's store was restored from a backup: no record is newer than the list that follows. */
static void set_rewound(struct kube_keeper *k)
{
    if (k->user->rewound)
        k->user->rewound(k->owner);
    k->round++;
    k->known = false;
    k->user->sweep(k->owner, UINT64_MAX);
}

static void on_watch(void *of, const struct kube_watch_event *ev, struct now now)
{
    struct kube_keeper *k = of;
    bool live = ev->what == KUBE_WATCH_UPSERT || ev->what == KUBE_WATCH_DELETE || ev->what == KUBE_WATCH_PROGRESS;
    k->user->begin(k->owner, now);
    if (ev->what != KUBE_WATCH_TROUBLE && ev->what != KUBE_WATCH_SKIPPED)
        k->trouble.code = ERR_NONE;
    if (live && k->synced && ev->version > k->version)
        k->version = ev->version;
    switch (ev->what) {
    case KUBE_WATCH_RESTART:
        k->synced = k->absent = false;
        k->round++;
        break;
    case KUBE_WATCH_UPSERT:
        k->user->keep(k->owner, ev->item, ev->version);
        break;
    case KUBE_WATCH_DELETE:
        k->user->drop(k->owner, ev->item, ev->version);
        break;
    case KUBE_WATCH_SYNCED:
        set_synced(k, ev->version);
        break;
    case KUBE_WATCH_PROGRESS:
        break;
    case KUBE_WATCH_ABSENT:
        set_absent(k);
        break;
    case KUBE_WATCH_REWOUND:
        set_rewound(k);
        break;
    case KUBE_WATCH_SKIPPED:
    case KUBE_WATCH_TROUBLE:
        k->user->trouble(k->owner, ev);
        k->trouble = *ev->err;
        break;
    }
}

bool kube_keeper_start(struct kube_keeper *k, struct kube_client *c, const struct kube_keeper_user *user,
                       const struct kube_watch_options *o, struct err *e)
{
    struct kube_watch_options own = *o;
    own.on = on_watch;
    own.owner = k;
    k->user = user;
    k->owner = o->owner;
    k->synced = false;
    k->watch = kube_watch_start(c, &own, e);
    return k->watch;
}

void kube_keeper_refresh(struct kube_keeper *k, struct now now)
{
    if (k->watch)
        kube_watch_refresh(k->watch, now); /* RESTART comes from within */
    k->asked = k->round;
}

void kube_keeper_explain(const struct kube_keeper *k, struct slice resource, struct slice ns, struct buf *why)
{
    buf_printf(why, "%.*s in %.*s: %s\n", SLICE_ARG(resource), SLICE_ARG(slice_empty(ns) ? SLICE("all namespaces") : ns),
               k->trouble.code ? k->trouble.text : "the list is not complete yet");
}
