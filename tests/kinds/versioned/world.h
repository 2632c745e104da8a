/* A world for decisions about VersionedServices: the server has the status, RayServices, routes, the Secret and the edge's text as each
 * plan wrote them, and applications are as the test says. */
#ifndef MOBULA_TEST_VERSIONED_WORLD_H
#define MOBULA_TEST_VERSIONED_WORLD_H

#include "tests/unit/test.h"

#include <string.h>

enum { CHILDREN_MAX = 30, ROUNDS_MAX = 400 };

struct world {
    struct arena a;
    struct now now;
    struct slice spec, status;
    int64_t generation, back;
    struct versioned_child children[CHILDREN_MAX];
    uint32_t count;
    const char *ill[CHILDREN_MAX]; /* status of the application of that RayService; NULL: it runs */
    struct route route;
    struct slice route_text;
    bool refused;                 /* the Gateway takes up no route */
    bool unlisted;                /* the list of routes has not come yet, as after a start */
    const char *auth, *rotate;    /* spec.auth and the annotation; NULL: neither */
    int64_t grace_ms;             /* --service-auth */
    struct versioned_token token; /* as the operator knows the Secret … */
    struct token_state secret;    /* … and as the server has it */
    struct slice edge;            /* the last text for the edge */
    bool hosts;                   /* the spec has hostnames, with auth or without */
    bool forbidden;               /* writes of the Secret are refused */
    bool unpublished;             /* … and writes of the edge's ConfigMap */
    char acts[32];                /* steps of the token, a letter each */
    uint32_t steps, actions, events;
    char told[4096]; /* states of capacity and traffic, as they come */
};

static const char cluster[] = "{\"headGroupSpec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"r\",\"image\":\"i\"}]}}}}";

/* versions: "v1 90 v2 10" */
static void set_spec(struct world *w, const char *versions, const char *rollout)
{
    struct buf b = {.max = 256 * KIB};
    struct slice rest = slice_of(versions);
    buf_printf(&b,
               "{\"apiVersion\":\"mobula.dev/v1\",\"kind\":\"VersionedService\",\"metadata\":{\"name\":\"s\",\"namespace\":\"n\","
               "\"uid\":\"u\",\"generation\":%lld,\"annotations\":{\"mobula.dev/rollback\":\"%lld\",\"mobula.dev/rotate-token\":\"%s\"}},"
               "\"spec\":{\"gateway\":{\"name\":\"g\"},\"auth\":\"%s\",\"hostnames\":[%s],\"rollout\":%s,\"versions\":[",
               (long long)++w->generation, (long long)w->back, w->rotate ? w->rotate : "", w->auth ? w->auth : "none",
               w->auth || w->hosts ? "\"a.example.org\",\"b.example.org\"" : "", rollout);
    for (bool first = true; rest.len; first = false) {
        struct slice name = slice_cut(&rest, ' '), weight = slice_cut(&rest, ' ');
        buf_printf(&b,
                   "%s{\"name\":\"%.*s\",\"weight\":%.*s,\"rayServiceConfig\":{\"serveConfigV2\":\"applications: [{name: a, import_path: "
                   "m:%.*s}]\",\"rayClusterConfig\":%s}}",
                   first ? "" : ",", SLICE_ARG(name), SLICE_ARG(weight), SLICE_ARG(name), cluster);
    }
    buf_printf(&b, "]}}");
    w->spec = arena_dup(&w->a, buf_slice(&b));
    buf_free(&b);
}

static struct versioned_child *child_of(struct world *w, struct slice name)
{
    for (uint32_t i = 0; i < w->count; i++)
        if (slice_eq(w->children[i].name, name))
            return &w->children[i];
    return NULL;
}

/* Its status, as the RayService's controller writes it. */
static void settle(struct world *w, struct versioned_child *c)
{
    const char *ill = w->ill[c - w->children];
    struct rayservice_facts facts;
    struct spec_errors errors = {.count = 0};
    CHECK(rayservice_facts_read(place_root(c->spec, &w->a), &w->a, &facts, &errors));
    char hash[RAY_HASH_TEXT];
    ray_hash_format(facts.config_hash, hash);
    bool ready = !ill || strcmp(ill, "DEPLOYING") != 0;
    c->status = json_document(
        arena_printf(&w->a,
                     "{\"observedGeneration\":%lld,\"%s\":{\"serveConfigHash\":\"%.*s\",\"applicationStatuses\":{\"a\":{\"status\":\"%s\","
                     "\"message\":\"\"}}},\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\",\"message\":\"%s%s\"}]}",
                     (long long)c->generation, ready ? "activeServiceStatus" : "pendingServiceStatus", RAY_HASH_TEXT, hash,
                     ill ? ill : "RUNNING", ready ? "True" : "False", ill ? "application a is " : "", ill ? ill : ""),
        &w->a, NULL);
    c->service = ready;
}

static void apply_child(struct world *w, const struct action *act)
{
    struct jval o = json_document(arena_dup(&w->a, act->text), &w->a, NULL), notes = json_get(o, "metadata.annotations");
    struct versioned_child *c = child_of(w, act->name);
    if (!c) {
        if (w->count == CHILDREN_MAX)
            abort();
        c = &w->children[w->count++];
        *c = (struct versioned_child){.name = arena_dup(&w->a, act->name), .uid = SLICE("x")};
    }
    c->generation++;
    c->version = json_str(json_child(json_get(o, "metadata.labels"), VERSIONED_VERSION), &w->a);
    c->spec = json_get(o, "spec");
    c->hash = json_str(json_child(notes, VERSIONED_HASH), &w->a);
    CHECK(slice_int(json_str(json_child(notes, VERSIONED_CAPACITY), &w->a), &c->capacity));
}

static void delete_child(struct world *w, struct slice name)
{
    struct versioned_child *c = child_of(w, name);
    if (!CHECK(c != NULL))
        return;
    size_t at = (size_t)(c - w->children);
    w->count--;
    memmove(c, c + 1, (w->count - at) * sizeof *c);
    memmove(&w->ill[at], &w->ill[at + 1], (w->count - at) * sizeof w->ill[0]);
}

static void apply_route(struct world *w, const struct action *act)
{
    w->route_text = arena_dup(&w->a, act->text);
    w->route = (struct route){.text = w->route_text, .hash = hash64(w->route_text, 0), .trouble = SLICE("")};
}

static struct slice share_text(struct world *w)
{
    struct jval k, v, status = json_document(w->status, &w->a, NULL);
    struct slice out = SLICE("");
    for (struct jiter it = json_iter(json_get(status, "versions")); json_next(&it, &k, &v);)
        out = arena_printf(&w->a, "%.*s%s%.*s %lld/%lld", SLICE_ARG(out), out.len ? " " : "", SLICE_ARG(json_get_str(v, "name", &w->a)),
                           (long long)json_get_int(v, "capacity", -1), (long long)json_get_int(v, "weight", -1));
    return out;
}

static void write_status(struct world *w, struct slice patch)
{
    struct err e = {0};
    struct slice out, before = share_text(w);
    struct jval text = json_get(json_document(patch, &w->a, NULL), "status");
    struct buf b = {.max = 256 * KIB};
    struct jout o;
    jout_init(&o, &b);
    jout_val(&o, text);
    if (CHECK(json_merge(w->status, buf_slice(&b), &w->a, &out, &e)))
        w->status = out;
    buf_free(&b);
    if (!slice_eq(before, share_text(w))) {
        w->steps++;
        size_t n = strlen(w->told);
        snprintf(w->told + n, sizeof w->told - n, "%.*s\n", SLICE_ARG(share_text(w)));
    }
}

/* The Secret of the server after a step, and what the operator then knows. */
static void step_token(struct world *w, const struct action *act)
{
    static const char letters[] = "rmsteT";
    struct token_state *s = &w->secret;
    size_t n = strlen(w->acts);
    if (n + 1 < sizeof w->acts)
        w->acts[n] = letters[act->index];
    if (act->index == TOKEN_PUBLISH && w->unpublished) {
        w->token.part[TOKEN_EDGE].failures++;
        w->token.part[TOKEN_EDGE].again_ms = w->now.mono_ms + 30000;
        return;
    }
    if (act->index == TOKEN_PUBLISH) {
        w->edge = arena_dup(&w->a, act->text);
        if (w->token.published != hash64(act->text, 0))
            w->token.published_ms = w->now.mono_ms;
        w->token.gone = !act->text.len;
        w->token.published = w->token.gone ? 0 : hash64(act->text, 0);
        if (!w->token.since_ms || w->token.gone)
            w->token.since_ms = w->token.gone ? 0 : w->now.mono_ms;
        w->token.part[TOKEN_EDGE].failures = 0;
        w->token.part[TOKEN_EDGE].again_ms = w->now.mono_ms + TOKEN_PUBLISH_MS;
        return;
    }
    if (act->index && w->forbidden) {
        w->token.fresh = false;
        w->token.part[TOKEN_SECRET].failures++;
        w->token.part[TOKEN_SECRET].again_ms = w->now.mono_ms + 30000;
        return;
    }
    if (act->index == TOKEN_MAKE || act->index == TOKEN_STAGE)
        s->done = hash64(slice_of(w->rotate ? w->rotate : ""), 0) * (w->rotate != NULL);
    if (act->index)
        s->since_us = w->now.wall_us;
    s->there = s->ours = s->valid |= act->index == TOKEN_MAKE;
    s->former = act->index == TOKEN_TAKE || (s->former && act->index != TOKEN_END);
    s->next = act->index == TOKEN_STAGE || (s->next && act->index != TOKEN_TAKE);
    w->token.has = *s;
    w->token.known = w->token.fresh = true;
    w->token.sum_count = s->valid ? 1u + (s->next || s->former) : 0;
    memset(w->token.sums, 0, sizeof w->token.sums);
    for (uint32_t i = 0; i < w->token.sum_count; i++)
        memset(w->token.sums[i], 'a' + (int)i, TOKEN_SUM - 1);
    w->token.part[TOKEN_SECRET].again_ms = w->now.mono_ms + TOKEN_LOOK_MS;
}

static void carry_out(struct world *w, const struct plan *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        const struct action *act = &p->actions[i];
        w->actions += act->verb != &verb_event;
        w->events += act->verb == &verb_event;
        if (act->verb == &verb_status)
            write_status(w, act->text);
        else if (act->verb == &versioned_apply_version)
            apply_child(w, act);
        else if (act->verb == &versioned_delete_version)
            delete_child(w, act->name);
        else if (act->verb == &versioned_apply_route)
            apply_route(w, act);
        else if (act->verb == &versioned_write_token)
            step_token(w, act);
        else
            CHECK(act->verb == &verb_event);
    }
}

/* Of all versions together, at each moment. */
static void check_sums(struct world *w, int most)
{
    struct jval k, v, status = json_document(w->status, &w->a, NULL);
    int64_t weights = 0, capacity = 0;
    for (struct jiter it = json_iter(json_get(status, "versions")); json_next(&it, &k, &v);) {
        weights += json_get_int(v, "weight", 0);
        capacity += json_get_int(v, "capacity", 0);
        CHECK(json_get_int(v, "weight", 0) <= json_get_int(v, "capacity", 0));
    }
    CHECK(weights == 0 || weights == 100);
    CHECK(capacity <= most);
}

/* Decides once, and does what the plan says. Returns how many actions it had. */
static uint32_t decide(struct world *w)
{
    struct arena a = {0};
    struct versioned s;
    struct spec_errors errors = {.count = 0};
    const struct spec_object from = spec_object_of(json_document(w->spec, &w->a, NULL), &w->a);
    versioned_read(&from, SLICE(""), &w->a, &s, &errors);
    struct route_view route = {.apply = &versioned_apply_route,
                               .remove = &httproute_delete,
                               .name = SLICE("s-httproute"),
                               .known = !w->unlisted,
                               .have = w->route_text.len && !w->unlisted ? &w->route : NULL};
    w->route.trouble = w->refused ? SLICE("Gateway g has not taken up HTTPRoute s-httproute yet") : SLICE("");
    for (uint32_t i = 0; i < w->count; i++)
        settle(w, &w->children[i]);
    const struct versioned_token_view token = {&w->token, w->grace_ms, SLICE("s-token")};
    bool has_token = w->auth || json_there(status_condition(json_document(w->status, &w->a, NULL), SLICE(STATUS_TOKEN)));
    struct versioned_view v = {.service = &s,
                               .token = has_token ? &token : NULL,
                               .errors = &errors,
                               .children = w->children,
                               .child_count = w->count,
                               .status = json_document(w->status, &w->a, NULL),
                               .routes = {&route},
                               .now = w->now};
    struct plan p;
    versioned_decide(&v, &a, &p);
    carry_out(w, &p);
    uint32_t count = p.count;
    w->now.mono_ms += 1000;
    w->now.wall_us += 1000 * 1000;
    arena_free(&a);
    return count;
}

static void run(struct world *w, int rounds, int most)
{
    for (int i = 0; i < rounds; i++) {
        decide(w);
        check_sums(w, most);
    }
}

static struct slice said(struct world *w, const char *path)
{
    return json_get_str(json_document(w->status, &w->a, NULL), path, &w->a);
}

static struct slice condition_of(struct world *w, const char *type, const char *member)
{
    return json_get_str(status_condition(json_document(w->status, &w->a, NULL), slice_of(type)), member, &w->a);
}

__attribute__((unused)) static struct world begin(const char *versions, const char *rollout)
{
    struct world w = {.now = {.mono_ms = 1000, .wall_us = INT64_C(1800000000) * 1000000}, .status = SLICE("{}"), .back = -1};
    set_spec(&w, versions, rollout);
    run(&w, 10, 200);
    CHECK_STR(said(&w, "rollout.phase"), "Complete");
    w.told[0] = 0;
    w.steps = 0;
    return w;
}

static void end(struct world *w)
{
    arena_free(&w->a);
}

#define QUICK "{\"intervalSeconds\":15,\"stepPercent\":25,\"maxSurgePercent\":25}"

#endif
