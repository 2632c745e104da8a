/* pairs: a short list of texts by name: labels, annotations, flags of a command. A few dozen at most, so it is searched from its
 * beginning. In room spec. */
#ifndef MOBULA_PAIRS_H
#define MOBULA_PAIRS_H

#include <mobula/base.h>
#include <mobula/json.h>

struct pair {
    struct slice key, value;
};

struct pairs {
    struct arena *arena;
    struct pair *list;
    uint32_t count, cap;
};

struct pairs pairs_new(struct arena *a);
const struct slice *pairs_get(const struct pairs *p, struct slice key); /* NULL: not there */
void pairs_set(struct pairs *p, struct slice key, struct slice value);
void pairs_default(struct pairs *p, struct slice key, struct slice value); /* only when it is not there */
void pairs_set_all(struct pairs *p, struct jval text_map);                 /* of an object: its members that are strings */
void pairs_sort(struct pairs *p);                                          /* by key, bytewise */
void pairs_write(const struct pairs *p, struct jout *w);                   /* as one object of strings */
struct slice pairs_numbers(const struct pairs *p);                         /* as one object, the values being JSON already */

#endif
