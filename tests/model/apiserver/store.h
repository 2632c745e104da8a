/* What is stored. A version is one state of one object and never changes; it is counted, because the current state, the event history and
 * nothing else share it. An object is the identity that versions follow each other under. A resource is a kind of object with its history
 * of events. An api is one served (group, version) of a resource: events have two, a CRD has one per served version. */
#ifndef APISERVER_STORE_H
#define APISERVER_STORE_H

#include "apiserver.h"
#include "dom.h"

struct rules;
struct watch;

struct label {
    struct slice key, value;
};

struct version {
    uint32_t refs;
    uint32_t label_count, owner_count;
    uint64_t rv;
    struct slice ns, name, uid;
    struct slice json; /* without kind and apiVersion: {"metadata":…} */
    struct label *labels;
    struct slice *owners; /* uids of ownerReferences */
    bool deleting;        /* has a deletionTimestamp */
};

struct object {
    struct resource *of;
    struct slice ns, name, uid; /* inside this allocation */
    struct version *now;
};

enum change { CHANGE_ADDED, CHANGE_MODIFIED, CHANGE_DELETED };

struct event {
    enum change change;
    struct version *now, *before; /* before: NULL for ADDED; of DELETED, now is the last state with the resourceVersion of the deletion */
    uint64_t rv;
    int64_t at_ms;
};

enum { RESOURCE_NAMES = 8 };

struct resource {
    struct slice group, plural, singular, kind, list_kind;
    struct slice short_names[RESOURCE_NAMES], categories[RESOURCE_NAMES];
    bool namespaced;
    bool has_status;        /* a /status subresource */
    bool counts_generation; /* metadata.generation follows the spec */
    bool needs_rv;          /* PUT without metadata.resourceVersion is refused */
    bool put_creates;       /* PUT of a name that is not there creates it */
    bool delete_answers_object;
    bool custom;               /* from a CRD */
    bool gone;                 /* its CRD was deleted; kept, and used again when the CRD comes back */
    const struct rules *rules; /* what is special about it; NULL: nothing */

    struct object **objects; /* sorted by namespace, then name */
    size_t count, cap;

    struct event *ring;
    uint32_t ring_cap;
    uint64_t first, next; /* sequence numbers of the oldest event and of the one to come */
    uint64_t floor_rv;    /* a watch may begin at this resourceVersion or later */
    uint64_t list_floor;  /* a list may show this resourceVersion or a later one */
    uint64_t held_rv;     /* what its watch cache has come to, until … */
    int64_t held_until_ms;
    struct watch *watches;
};

struct api {
    struct slice group, version;
    struct resource *of;
    bool storage;               /* the version that is preferred */
    bool events_view;           /* events.k8s.io: the same storage under other field names */
    const struct node *schema;  /* openAPIV3Schema, NULL for built-ins */
    const struct node *columns; /* additionalPrinterColumns, or NULL */
};

/* "v1" or "ray.io/v1" */
struct slice api_version(const struct api *api, struct arena *a);

/* ---- objects ---- */

struct object *store_find(const struct resource *r, struct slice ns, struct slice name);
/* Index of the first object that is not before (ns, name). */
size_t store_seek(const struct resource *r, struct slice ns, struct slice name);
struct object *store_by_uid(const struct apiserver *s, struct slice uid);
/* Gives the tree the next resourceVersion and stores it: as a new object when o is NULL. Returns the object. */
struct object *store_put(struct apiserver *s, struct resource *r, struct object *o, struct node *tree);
/* The object is gone: its last state becomes a DELETED event. o is dead after this. */
void store_remove(struct apiserver *s, struct object *o);

struct node *version_tree(const struct version *v, struct arena *a);
struct version *version_keep(struct version *v);
void version_drop(struct version *v);
struct slice version_label(const struct version *v, struct slice key); /* SLICE_NONE when absent */

/* ---- history ---- */

/* The event of this number, which must lie in [first, next). */
struct event *store_event(const struct resource *r, uint64_t seq);
/* The first event after this resourceVersion. */
uint64_t store_after(const struct resource *r, uint64_t rv);
/* Forgets all events: nothing before `rv` can be watched any more. */
void store_forget(struct resource *r, uint64_t rv);
/* All objects as they were at rv, sorted as objects are; the versions are borrowed. False when the history does not reach back so far. */
bool store_snapshot(const struct resource *r, uint64_t rv, struct arena *a, struct version ***out, size_t *count);

/* All objects are again as they were at rv, and nothing is known of what came before or after. False, and nothing is changed, when the
 * history does not reach back so far. */
bool store_restore(struct apiserver *s, struct resource *r, uint64_t rv);

/* Up to where the watch cache is: the newest, unless it is held back. */
uint64_t store_cached(const struct apiserver *s, const struct resource *r);

void store_free(struct resource *r);

#endif
