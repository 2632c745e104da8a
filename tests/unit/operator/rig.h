/* An operator without a server, whose records are told of objects by hand. */
#ifndef MOBULA_TEST_RIG_H
#define MOBULA_TEST_RIG_H

#include "tests/unit/kube/fakenet.h"

#include "src/kinds/child/record.h"
#include "src/kinds/raycluster/record.h"

#define CLUSTER "00000000-0000-0000-0000-00000000000c"

struct rig {
    struct fake f;
    struct op *op;
    struct arena arena;
};

static void start(struct rig *r)
{
    static const struct slice namespaces[] = {{"n", 1}};
    const struct operator_options o = {.namespaces = namespaces, .namespace_count = 1, .instance = SLICE("test"), .seed = 1};
    struct err e = {0};
    *r = (struct rig){0};
    fake_init(&r->f);
    r->f.refuse = "there is no server in this test";
    r->op = operator_new(&r->f.net, r->f.config, &o, &e);
    CHECK(r->op != NULL);
    r->op->now = r->f.now;
}

static void finish(struct rig *r)
{
    operator_free(r->op);
    fake_free(&r->f);
    arena_free(&r->arena);
}

static struct jval parsed(struct rig *r, struct slice text)
{
    struct json *doc = arena_new(&r->arena, struct json);
    struct err e = {0};
    CHECK(json_parse(doc, text, &r->arena, &e));
    return json_root(doc);
}

#endif
