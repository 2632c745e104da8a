/* An operator without a server, told of clusters and their heads by hand, whose questions to dashboards come to a network without sockets.
 */
#ifndef MOBULA_TEST_HEADS_H
#define MOBULA_TEST_HEADS_H

#include "tests/unit/kube/fakenet.h"
#include <mobula/kind_rayjob.h>
#include <mobula/kinds.h>

#include "src/kinds/raycluster/record.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

#define CLUSTER "00000000-0000-0000-0000-000c00000000" /* the first one's uid */

struct rig {
    struct fake f;
    struct op *op;
    struct net_allow *allow;
    struct arena arena;
    struct record *c;
    uint32_t answers;
    uint64_t tag;
    enum ray_dash_outcome outcome;
    int http_status;
    char version[16];
    const char *secret; /* of the token that the heads are told of with; NULL: they need none */
};

static struct jval parsed(struct rig *r, struct slice text)
{
    struct json *doc = arena_new(&r->arena, struct json);
    struct err e = {0};
    CHECK(json_parse(doc, text, &r->arena, &e));
    return json_root(doc);
}

static struct slice uid_of(struct rig *r, int kind, int n)
{
    return arena_printf(&r->arena, "00000000-0000-0000-0000-%04x%08d", kind, n);
}

static const char *env_of(struct rig *r)
{
    static const char env[] = "{\"name\":\"RAY_AUTH_MODE\",\"value\":\"token\"},{\"name\":\"RAY_AUTH_TOKEN\",\"valueFrom\":{"
                              "\"secretKeyRef\":{\"key\":\"auth_token\",\"name\":\"%s\"}}}";
    return r->secret ? arena_printf(&r->arena, env, r->secret).ptr : "";
}

/* The nth cluster has the nth head; the first is called c, the next c1. */
static void tell_head_of(struct rig *r, int n, unsigned version, const char *phase, const char *ip)
{
    struct slice text =
        arena_printf(&r->arena,
                     "{\"metadata\":{\"name\":\"c%d-head\",\"namespace\":\"n\",\"uid\":\"%s\","
                     "\"labels\":{\"ray.io/node-type\":\"head\",\"ray.io/group\":\"headgroup\"},"
                     "\"ownerReferences\":[{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"name\":\"c\",\"uid\":\"%s\","
                     "\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"ray\",\"env\":[%s]}]},"
                     "\"status\":{\"phase\":\"%s\",\"podIP\":\"%s\"}}",
                     n, uid_of(r, 0xa, n).ptr, uid_of(r, 0xc, n).ptr, env_of(r), phase, ip);
    extract_pod(r->op, &r->op->spaces[0], parsed(r, text), version, 1);
}

static void tell_head(struct rig *r, unsigned version, const char *phase, const char *ip)
{
    tell_head_of(r, 0, version, phase, ip);
}

static void tell_cluster_of(struct rig *r, int n, unsigned version, const char *params, const char *more)
{
    struct slice name = n ? arena_printf(&r->arena, "c%d", n) : SLICE("c"), uid = uid_of(r, 0xc, n);
    struct slice text = arena_printf(&r->arena,
                                     "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"uid\":\"%s\"},"
                                     "\"spec\":{%s\"headGroupSpec\":{\"rayStartParams\":{%s},"
                                     "\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"i\"}]}}}}}",
                                     name.ptr, uid.ptr, more, params);
    extract_record(r->op, source_of(&r->op->spaces[0], &kind_raycluster), parsed(r, text), version, 1);
    r->c = record_get(r->op, uid, SLICE("n"));
}

static void tell_cluster(struct rig *r, unsigned version, const char *params, const char *more)
{
    tell_cluster_of(r, 0, version, params, more);
}

static void start_spec(struct rig *r, const char *params, enum operator_access access, const char *more)
{
    static const struct slice namespaces[] = {{"n", 1}};
    struct err e = {0};
    *r = (struct rig){.allow = net_allow_new(), .secret = strstr(more, "authOptions") ? "mine" : NULL};
    const struct operator_options o = {.namespaces = namespaces,
                                       .namespace_count = 1,
                                       .instance = SLICE("test"),
                                       .seed = 1,
                                       .allow = r->allow,
                                       .access = access,
                                       .autoscaling = true};
    fake_init(&r->f);
    r->f.refuse = "there is no server in this test";
    r->op = operator_new(&r->f.net, r->f.config, &o, &e);
    r->f.refuse = NULL;
    r->op->now = r->f.now;
    tell_cluster(r, 10, params, more);
}

static void start_with(struct rig *r, const char *params, enum operator_access access)
{
    start_spec(r, params, access, "");
}

static void start(struct rig *r, const char *params)
{
    start_with(r, params, OPERATOR_DIRECT);
}

static void finish(struct rig *r)
{
    operator_free(r->op);
    fake_free(&r->f);
    net_allow_free(r->allow);
    arena_free(&r->arena);
}

static void on_answer(void *owner, uint64_t tag, const struct ray_dash_answer *answer, struct now now)
{
    struct rig *r = owner;
    (void)now;
    r->answers++;
    r->tag = tag;
    r->outcome = answer->outcome;
    r->http_status = answer->http_status;
    snprintf(r->version, sizeof r->version, "%.*s", SLICE_ARG(answer->ray_version));
}

static bool ask(struct rig *r, struct err *e)
{
    const struct ray_dash_request request = {.call = RAY_DASH_VERSION};
    bool asked = head_ask(r->op, r->c, &request, on_answer, r, 7, e);
    heads_tick(r->op);
    net_dispatch(&r->f.net, r->f.now);
    return asked;
}

static bool may_reach(const struct rig *r, const char *ip, uint16_t port)
{
    struct err e = {0};
    return net_allow_check(r->allow, slice_of(ip), port, &e);
}

static void run(struct rig *r)
{
    r->op->now = r->f.now;
    for (bool moved = true; moved;) {
        heads_tick(r->op);
        moved = kube_client_tick(r->op->client, r->f.now) <= r->f.now.mono_ms;
        moved |= net_dispatch(&r->f.net, r->f.now);
    }
}

/* The nth question that went out; NULL: there were not so many. The watches speak too. */
static struct fakelink *proxied(const struct rig *r, uint32_t n)
{
    for (uint32_t i = 0; i < r->f.count; i++)
        if (fake_has(r->f.links[i], "/proxy/") && n-- == 0)
            return r->f.links[i];
    return NULL;
}

/* The link whose request holds this and that was opened last; NULL: none. */
static struct fakelink *link_with(const struct rig *r, const char *text)
{
    struct fakelink *found = NULL;
    for (uint32_t i = 0; i < r->f.count; i++)
        found = fake_has(r->f.links[i], text) ? r->f.links[i] : found;
    return found;
}

#pragma GCC diagnostic pop

#endif
