/* How the lists and maps of a kind are merged: what a strategic merge patch and server-side apply have to know. For CRDs the schema says it
 * (x-kubernetes-list-type and friends); of built-in kinds, and of every object's metadata, a table knows the lists that matter. */
#ifndef APISERVER_SHAPE_H
#define APISERVER_SHAPE_H

#include "request.h"

struct shape {
    const struct node *schema; /* NULL: nothing is known, or it is a built-in part */
    bool builtin;
    const struct rules *rules; /* of the kind: some fields are not what they are elsewhere */
    struct slice field;
};

enum list_type { LIST_ATOMIC, LIST_SET, LIST_MAP };
enum { SHAPE_KEYS = 3 };

struct list_shape {
    enum list_type type;
    struct slice keys[SHAPE_KEYS];
    size_t key_count;
};

struct shape shape_root(const struct api *api);
struct shape shape_member(struct shape s, struct slice key);
struct shape shape_item(struct shape s);
struct list_shape shape_list(struct shape s);
bool shape_atomic_map(struct shape s);
/* Is this a field that the kind declares, and not a key of a map? */
bool shape_declares(struct shape s, struct slice key);
/* Strategic merge patches know one key per list, and some lists that apply merges are replaced by them. */
struct list_shape shape_patch_list(struct shape s);

/* The item of `list` that has the same keys as `like`; a port without protocol is a TCP port. */
struct node *shape_find(const struct list_shape *l, const struct node *list, const struct node *like);
struct slice shape_key_value(const struct node *item, struct slice key);

#endif
