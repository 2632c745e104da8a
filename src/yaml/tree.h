/* A document as a tree: libyaml's events are gathered into nodes, and the nodes are written as JSON. Between the two stand aliases and
 * merge keys, which point back. */
#ifndef MOBULA_YAML_TREE_H
#define MOBULA_YAML_TREE_H

#include "scalar.h"

#include <yaml.h>

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAPPING, NODE_ALIAS };

struct node {
    struct node *next;     /* in its list; in a mapping keys and values take turns */
    struct node *inner;    /* the first of a list or mapping; of an alias, the node that it stands for */
    struct scalar scalar;  /* of NODE_SCALAR */
    uint32_t line, column; /* 1-based */
    enum node_kind kind;
    bool merge; /* a scalar that is the merge key << */
    bool empty; /* a scalar that is not written at all */
    bool open;  /* it is being written: an alias of it would be without end */
};

/* Builds the trees of one text's documents. Everything is in scratch; errors have the line in *line and name the column. */
struct tree {
    bool runtime_env; /* yaml_parse_runtime_env */
    struct arena *scratch;
    struct err *e;
    uint32_t *line;
    const uint32_t *first_line; /* of the part of the text that libyaml counts from */
    struct node *root;          /* of this document, once its first event was taken */
    struct map anchors;
    uint32_t count; /* nodes of this document */
    unsigned depth;
    struct level {
        struct node *node;
        struct node **tail; /* where the next one is put */
        bool key_due;
    } levels[LIMIT_YAML_DEPTH];
};

/* Of the events between a document's begin and its end. */
bool tree_take(struct tree *t, const yaml_event_t *event);
/* The next document. */
void tree_clear(struct tree *t);
bool tree_fail(struct tree *t, uint32_t line, size_t column, enum err_code code, const char *what, struct slice text);
/* Whether the document holds nothing: comments only. */
bool tree_empty(const struct tree *t);

/* Writes the tree as JSON to json and a struct yaml_mark for each value to marks. */
bool tree_write(struct tree *t, struct buf *json, struct buf *marks);

#endif
