/* status: how a decision about any kind writes that kind's status: one merge patch, only when it says something new, held to the very
 * object by its uid, and not before a refused write may be tried again. Implemented in src/plan/status_writer.c. */
#ifndef MOBULA_STATUS_H
#define MOBULA_STATUS_H

#include <mobula/plan.h>
#include <mobula/spec.h>

struct status_writer {
    struct plan *plan;
    struct jval prior;     /* the status that the server has */
    uint64_t hash;         /* plan.status_hash of the write that `prior` came from; 0: somebody else's */
    int64_t not_before_ms; /* a refused write is not repeated earlier */
    struct now now;
    struct slice uid;
    const void *about; /* handed to `write` */
    /* The members of status. stamp: the time of what changes with this write; empty when only the rest is asked for, to see whether there
     * is news, and what changes all the time stays out. */
    void (*write)(const void *about, struct jout *w, struct slice stamp);
    struct slice next; /* the fields to write now, without times; by status_next, and so by status_look */
    uint64_t next_hash;
};

/* Fills next and next_hash. Returns whether that is another status than the one written last. */
bool status_next(struct status_writer *s);
struct jval status_next_object(const struct status_writer *s); /* `next`, in the plan's arena; NO_VALUE: it is too large to be written */

enum status_news {
    STATUS_SAME, /* the server has it, or was sent it */
    STATUS_HELD, /* it waits: the plan looks again when that is over; or it is too large to be written */
    STATUS_NEWS,
};
enum status_news status_look(struct status_writer *s);

/* Adds the patch to the plan. */
void status_send(struct status_writer *s);

/* The member "conditions": those of `all`, then whatever others have put there: types that are none of `ours`. */
void status_write_all(struct jout *w, const struct condition *all, size_t count, struct jval prior, struct slice stamp, struct arena *a,
                      const char *const *ours);
void status_write_foreign(struct jout *w, struct jval prior, const char *const *ours); /* ends with NULL */

/* An event, once, when the condition Valid turns to false, or is false of another generation. words: empty when the spec is right. */
void status_say_invalid(struct status_writer *s, int64_t generation, const char *reason, struct slice words);

#endif
