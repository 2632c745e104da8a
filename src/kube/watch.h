/* Shared by the files of the watch.
 *
 *            ┌────────── 410, skipped item, older list ───────────┐
 *            ▼                                                    │
 *   WAIT ─► LIST (pages) ── last page ──► SYNCED ─► WAIT ─► LIVE ─┤
 *     └───► STREAM ── end bookmark ─────► SYNCED ────────►  LIVE ─┘
 *
 * Every failure goes back to WAIT with a time; whether it lists again or goes on from its version is `want_list`. */
#ifndef MOBULA_KUBE_WATCH_H
#define MOBULA_KUBE_WATCH_H

#include "client.h"

enum watch_phase {
    WATCH_WAIT,   /* until not_before_ms */
    WATCH_LIST,   /* one page of a list */
    WATCH_STREAM, /* a streaming list (L12), before its end bookmark */
    WATCH_LIVE,
};

enum {
    WATCH_ABSENT_MS = 30 * 1000,
    WATCH_SHORT_MS = 1000,       /* a watch that ends earlier without an event is an error (L14) */
    WATCH_QUIET_MS = 120 * 1000, /* without a failure for this long, the backoff starts again (L15) */
    WATCH_MARGIN_MS = 5 * 1000,  /* the time that we wait beyond the timeout that the server was given (L13) */
    WATCH_SPREAD_SECONDS = 50,   /* the timeout is random in this range below KUBE_WATCH_SECONDS */
    WATCH_HOLE_SECONDS = 60,     /* the timeout after a list that was taken without an item of it: then it is taken again */
    WATCH_PROBE_MS = 10 * 1000,
    WATCH_STALE_LISTS = 3, /* older lists refused before one without resourceVersion is asked for, and of those before they are believed */
    WATCH_CUT_STREAMS = 2, /* streaming lists that end before their bookmark, before pages are tried */
    WATCH_STATUS_MAX = 64 * KIB,  /* of a refusal's body */
    WATCH_MEMORY_KEPT = 16 * KIB, /* of arena and item buffer, between items */
};

struct kube_watch {
    struct exchange x; /* first */
    struct kube_client *client;
    struct kube_watch *next;
    struct arena strings; /* of what follows */
    struct {
        struct kube_resource resource;
        struct slice ns, labels, fields, kind, api_version;
    } what; /* is watched */
    kube_watch_on *on;
    void *owner;

    enum watch_phase phase;
    bool stopped; /* freed by the next tick */
    bool synced, absent;
    struct {
        bool wanted;       /* the next thing is a list */
        bool consistent;   /* the next list is asked for without resourceVersion */
        bool whole;        /* … and without limit: a continue token has expired (L7) */
        bool skipped;      /* an item of this list was passed over */
        bool skip_known;   /* the list before this one had such an item too: this one is taken as it is, for a minute */
        bool complete;     /* LIST: the page has been read to its end */
        bool paged;        /* the next list is no stream: its items are all of one moment */
        unsigned stale;    /* lists in a row that were older than what was seen */
        uint64_t version;  /* of the pages of this list */
        uint64_t newer;    /* the oldest version that the owner has of an object of which this list showed an older one; 0: none */
        int64_t asked_ms;  /* when the first page of the last list was asked for */
        int64_t listed_ms; /* when the last item of a streaming list came, or the list was asked for */
        struct buf page;   /* continue token; empty: the first page */
        uint32_t pages;    /* of this list, read to their ends */
    } list;
    struct {
        bool under_way;
        bool new_link;    /* LIVE goes on on another connection, and it has not been asked yet whether the server stands below */
        uint64_t version; /* the version that had been seen when it was asked */
        uint64_t asked;   /* newest, when it was asked */
        uint64_t newest;  /* of all objects that exist, the one whose version is the highest; 0: none is known */
        char ns[LIMIT_KUBE_NAME + 1], name[LIMIT_KUBE_NAME + 1];
    } probe;
    uint64_t version; /* everything up to here was handed out; 0: nothing yet */
    uint64_t highest; /* of all that was ever seen: an older list is refused (C7) */
    unsigned cut_streams, failures;
    int64_t failed_ms, not_before_ms, deadline_ms, begun_ms;
    uint64_t events;     /* of this watch request */
    uint64_t trouble;    /* which kind of trouble was told; 0: none */
    uint32_t generation; /* of the certificates that the link was opened with */
    int64_t retry_after_ms;
    struct buf request; /* wiped as soon as it was sent */
    struct buf refusal; /* body of an answer that is not 200 */
    struct json_slicer slicer;
    struct arena item; /* reset with each item */
};

/* ---- watch.c ---- */

void watch_say(struct kube_watch *w, enum kube_watch_what what, struct jval item, uint64_t version, struct now now);
void watch_skip(struct kube_watch *w, const struct err *why, struct now now); /* says SKIPPED and counts */
/* Back to WAIT for the backoff, or for after_ms if that is longer; says TROUBLE. status: NULL when it is no answer of the server. */
void watch_fail(struct kube_watch *w, const struct err *why, const struct kube_status *status, int64_t after_ms, struct now now);
/* The same for what is no trouble (410, a skipped item): the next thing is a list. */
void watch_relist(struct kube_watch *w, struct now now);
void watch_again(struct kube_watch *w, struct now now);               /* back to WAIT for no time at all */
struct slice watch_name(const struct kube_watch *w, struct arena *a); /* "pods in namespace x" */

/* ---- watch_ask.c: requests, and answers that say no ---- */

bool watch_form(struct kube_watch *w, struct err *e);
void watch_refused(struct kube_watch *w, int code, struct now now);
void watch_error_event(struct kube_watch *w, const struct kube_status *status, struct now now);
bool watch_silent(const struct kube_watch *w, struct now now);
void watch_probe(struct kube_watch *w, struct now now);

/* ---- watch_read.c: what comes ---- */

void watch_read(struct kube_watch *w, struct slice piece, struct now now);
void watch_page_end(struct kube_watch *w, struct now now);
/* The store was restored: all watches of the client say so, and begin as at the start. why: for the log. seen, is: the version before and
 * the one now. */
void watch_rewound(struct kube_watch *by, const char *why, uint64_t seen, uint64_t is, struct now now);
#define WATCH_OLDER "an object is older than it was known to be: the API server's store was restored, and everything is listed again"
#define WATCH_WENT_BACK "resourceVersion went back and stays there: was the API server's store restored?"

#endif
