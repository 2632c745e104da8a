/* A document that can be changed. A node stands for bytes of some indexed document until somebody reaches into it; only then does it get
 * children. So a change to one field costs what lies on the way to it, and everything else is written back as it was.
 *
 * Nodes live in an arena and are counted: more than LIMIT_JSON_TOKENS is an error, which bounds what copies of copies can do. */
#ifndef MOBULA_JSON_TREE_H
#define MOBULA_JSON_TREE_H

#include "token.h"

struct node {
    struct node *next;  /* behind it in the same container */
    struct slice key;   /* decoded; of an object's member */
    struct jval raw;    /* while it has no children of its own */
    struct node *first; /* first child, when open */
    size_t count;       /* of children */
    bool open;
    enum json_type type;
};

struct tree {
    struct node *root;
    size_t nodes, steps; /* steps: nodes that were looked at */
    bool extended;       /* see json_edit_new */
    struct arena *a;
    struct err *e;
};

/* A place in a tree that a JSON pointer names: a node, or where one would be added. */
struct place {
    struct node *in;    /* its container; NULL for the root */
    struct node **link; /* the pointer that points, or would point, at it */
    struct slice key;   /* in objects */
    bool there;
};

struct node *tree_node(struct tree *t, struct jval v); /* NULL: too many, *e is set */
bool tree_find(struct tree *t, struct slice pointer, struct place *out);
/* The same for a place where something is added: in an extended tree, objects and arrays that are missing on the way are made. */
bool tree_find_add(struct tree *t, struct slice pointer, struct place *out);
/* The number of elements of the array at a pointer; make: as above, and an array that is missing itself is made; any: one that is missing
 * has none. */
bool tree_elements(struct tree *t, struct slice pointer, bool make, bool any, size_t *count);
/* A member of an object that stands in the tree; NULL: there is none, or it is no object. */
struct node *tree_member(struct tree *t, struct node *in, struct slice key);
/* A node that nobody else holds goes in: before what is there in an array, instead of it elsewhere. */
void tree_add(struct place at, struct node *n);
void tree_replace(struct place at, struct node *n);
struct node *tree_remove(struct place at);
struct node *tree_clone(struct tree *t, const struct node *n, unsigned depth);
bool tree_equal(struct tree *t, const struct node *n, struct jval want);
/* The whole as text in the tree's arena, checked to be within the limits of a document. */
bool tree_text(struct tree *t, struct slice *out);

#endif
