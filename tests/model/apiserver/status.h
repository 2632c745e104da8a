/* A refusal, as metav1.Status says it. The first one wins, as with struct err. */
#ifndef APISERVER_STATUS_H
#define APISERVER_STATUS_H

#include <mobula/json.h>

enum { STATUS_CAUSES = 32 };

struct cause {
    const char *reason;
    struct slice message, field;
};

struct status {
    struct arena *a; /* where texts are put; set by whoever makes the struct */
    int code;        /* 0: all is well */
    const char *reason;
    struct slice message;
    struct slice name, group, kind, uid; /* details */
    struct cause causes[STATUS_CAUSES];
    unsigned cause_count;
    const char *prefix; /* of the message of status_exists, NULL for none */
    int retry_after_s;
    bool empty_details;    /* errors that the generic server makes itself carry "details": {} */
    struct slice carry_on; /* metadata.continue of an expired list */
};

/* Always return false. */
bool status_set(struct status *st, int code, const char *reason, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* One of the errors of the server itself, not of a kind. */
bool status_generic(struct status *st, int code, const char *reason, const char *text);
bool status_bad(struct status *st, const char *fmt, ...) PRINTF_LIKE(2, 3); /* 400 BadRequest */
/* One more thing that is wrong with an object; status_invalid makes a 422 of all of them. */
bool status_cause(struct status *st, const char *reason, struct slice field, const char *fmt, ...) PRINTF_LIKE(4, 5);
bool status_invalid(struct status *st, struct slice group, struct slice kind, struct slice name);

/* "pods" or "rayclusters.ray.io" */
struct slice status_resource(struct arena *a, struct slice group, struct slice plural);
bool status_not_found(struct status *st, struct slice group, struct slice plural, struct slice name);
bool status_exists(struct status *st, struct slice group, struct slice plural, struct slice name);
bool status_conflict(struct status *st, struct slice group, struct slice plural, struct slice name, const char *fmt, ...) PRINTF_LIKE(5, 6);

void status_write(const struct status *st, struct jout *w);

#endif
