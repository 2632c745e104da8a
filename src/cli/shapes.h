/* `mobula instance-types` as functions of bytes, and the ConfigMap that they are in. */
#ifndef MOBULA_CLI_SHAPES_H
#define MOBULA_CLI_SHAPES_H

#include <mobula/command.h>
#include <mobula/shape.h>

/* A line for each type. */
void shapes_list(const struct shape_types *types, struct arena *a, struct buf *out);

/* Types that fill the nodes of a cluster, gathered node by node: nodes that are alike are one type. */
struct shapes_found {
    struct slice name, text; /* text: its YAML without the comment */
    struct slice like;       /* the attributes that the first of these nodes reports */
    uint32_t nodes;
};
struct shapes {
    struct shapes_found list[64];
    uint32_t count, left_out; /* left_out: nodes that take no pods, are too small, or are of one kind too many */
};
/* reserve: of each node, for the pods of daemon sets; cpu in thousandths, memory in bytes. */
struct shapes_reserve {
    int64_t cpu, memory;
};
void shapes_add_node(struct shapes *s, struct jval node, const struct shapes_reserve *reserve, struct arena *a);
/* A ConfigMap as the API server has it. *out empty: there is none, which is an error if it must be there. */
bool shapes_fetch(struct ask *ask, struct slice ns, struct slice name, bool must, struct arena *a, struct slice *out, struct err *e);
void shapes_suggest(const struct shapes *s, struct buf *out);

#endif
