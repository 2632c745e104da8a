/* VersionedServices: decisions one after the other, in a world that does what each plan says: the server has the status, RayServices and
 * routes are as they were applied, and applications are as the test says. */
#include "tests/unit/test.h"

#include "src/kinds/versioned/versioned.h"

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
    bool refused; /* the Gateway takes up no route */
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
               "\"uid\":\"u\",\"generation\":%lld,\"annotations\":{\"mobula.dev/rollback\":\"%lld\"}},\"spec\":{\"gateway\":{\"name\":"
               "\"g\"},\"rollout\":%s,\"versions\":[",
               (long long)++w->generation, (long long)w->back, rollout);
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
    versioned_read(&from, &w->a, &s, &errors);
    struct route_view route = {.apply = &versioned_apply_route,
                               .remove = &httproute_delete,
                               .name = SLICE("s-httproute"),
                               .known = true,
                               .have = w->route_text.len ? &w->route : NULL};
    w->route.trouble = w->refused ? SLICE("Gateway g has not taken up HTTPRoute s-httproute yet") : SLICE("");
    for (uint32_t i = 0; i < w->count; i++)
        settle(w, &w->children[i]);
    struct versioned_view v = {.service = &s,
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

static struct world begin(const char *versions, const char *rollout)
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

/* The documented table for 25 percent, with traffic and the capacity of the old version one after the other. */
static void test_table(void)
{
    struct world w = begin("v1 100", QUICK);
    test_case("25 percent of capacity at a time");
    set_spec(&w, "v2 100", QUICK);
    run(&w, 200, 125);
    CHECK_STR(slice_of(w.told), "v2 25/0 v1 100/100\n"
                                "v2 25/25 v1 100/75\nv2 25/25 v1 75/75\n"
                                "v2 50/25 v1 75/75\nv2 50/50 v1 75/50\nv2 50/50 v1 50/50\n"
                                "v2 75/50 v1 50/50\nv2 75/75 v1 50/25\nv2 75/75 v1 25/25\n"
                                "v2 100/75 v1 25/25\nv2 100/100 v1 25/0\nv2 100/100 v1 0/0\n"
                                "v2 100/100\n");
    CHECK_STR(said(&w, "rollout.phase"), "Complete");
    CHECK_STR(said(&w, "primaryVersion"), "v2");
    CHECK_INT(w.count, 1);
    uint32_t before = w.actions;
    run(&w, 20, 100);
    CHECK_INT(w.actions, before); /* nothing is written at the fixed point */
    end(&w);
}

static void test_without_limit(void)
{
    struct world w = begin("v1 100", "{\"stepPercent\":50}");
    test_case("without maxSurgePercent each version has all of its capacity, and its configuration as it is");
    set_spec(&w, "v2 100", "{\"stepPercent\":50}");
    run(&w, 200, 200);
    CHECK_STR(slice_of(w.told), "v2 100/0 v1 100/100\nv2 100/50 v1 100/50\nv2 100/100 v1 100/0\nv2 100/100\n");
    CHECK_STR(json_get_str(w.children[0].spec, "serveConfigV2", &w.a), "applications: [{name: a, import_path: m:v2}]");
    end(&w);
}

static void test_many(void)
{
    struct world w = begin("a 40 b 30 c 30", QUICK);
    test_case("several versions gain and lose at once");
    set_spec(&w, "a 10 d 50 c 40", QUICK);
    run(&w, 300, 125);
    CHECK_STR(share_text(&w), "a 10/10 d 50/50 c 40/40");
    CHECK_STR(said(&w, "rollout.phase"), "Complete");
    CHECK_INT(w.count, 3);
    test_case("one that comes and goes before it served");
    set_spec(&w, "a 10 e 90", QUICK);
    run(&w, 3, 125);
    set_spec(&w, "f 100", QUICK);
    run(&w, 300, 125);
    CHECK_STR(share_text(&w), "f 100/100");
    CHECK_INT(w.count, 1);
    end(&w);
}

static void test_failure(void)
{
    struct world w = begin("v1 100", QUICK);
    test_case("a version that fails gets nothing, and goes");
    set_spec(&w, "v2 100", QUICK);
    w.ill[1] = "DEPLOY_FAILED";
    run(&w, 4, 125);
    CHECK_STR(said(&w, "rollout.phase"), "RolledBack");
    CHECK_STR(said(&w, "rollout.reason"), "version v2: application a is DEPLOY_FAILED");
    CHECK(slice_find_text(slice_of(w.told), "v1 100/75") < 0);
    run(&w, 100, 125);
    CHECK_INT(w.count, 1);
    CHECK_STR(share_text(&w), "v1 100/100");
    w.ill[1] = NULL;

    test_case("in the middle: all requests go back in one step");
    set_spec(&w, "v3 100", QUICK);
    while (slice_find_text(slice_of(w.told), "v3 50/50 v1 50/50\n") < 0 && w.steps < 60)
        decide(&w);
    w.ill[1] = "UNHEALTHY";
    decide(&w);
    CHECK_STR(share_text(&w), "v3 50/0 v1 100/100");
    CHECK_STR(said(&w, "rollout.phase"), "RolledBack");
    run(&w, 100, 150);
    CHECK_INT(w.count, 1);
    w.ill[1] = NULL;

    test_case("not with automaticRollback false: it gets no requests while it is ill, and gets no more");
    set_spec(&w, "v4 100", "{\"stepPercent\":25,\"automaticRollback\":false}");
    while (slice_find_text(slice_of(w.told), "v4 100/25") < 0 && w.steps < 99)
        decide(&w);
    w.ill[1] = "UNHEALTHY";
    run(&w, 60, 200);
    CHECK_STR(said(&w, "rollout.phase"), "Progressing");
    CHECK_STR(share_text(&w), "v4 100/25 v1 100/75");
    CHECK(slice_find_text(w.route_text, "{\"name\":\"s-v1-serve-svc\",\"port\":8000,\"weight\":75}]}") >= 0);
    test_case("back by request");
    w.back = w.generation--;
    set_spec(&w, "v4 100", "{\"stepPercent\":25,\"automaticRollback\":false}");
    run(&w, 2, 200);
    CHECK_STR(said(&w, "rollout.reason"), "it was requested");
    CHECK_STR(share_text(&w), "v4 100/0 v1 100/100");
    end(&w);
}

static void test_time(void)
{
    struct world w = begin("v1 100", "{\"timeoutMinutes\":2}");
    test_case("the first rollout has nothing to go back to; a later one goes back when its time is over");
    set_spec(&w, "v2 100", "{\"timeoutMinutes\":2}");
    w.ill[1] = "DEPLOYING";
    run(&w, 119, 200);
    CHECK_STR(said(&w, "rollout.phase"), "Progressing");
    CHECK_STR(share_text(&w), "v2 100/0 v1 100/100");
    run(&w, 5, 200);
    CHECK_STR(said(&w, "rollout.phase"), "RolledBack");
    CHECK(slice_find_text(said(&w, "rollout.reason"), "not complete within 2 min") >= 0);
    end(&w);

    struct world first = {.now = {.mono_ms = 1000, .wall_us = INT64_C(1800000000) * 1000000}, .status = SLICE("{}"), .back = -1};
    set_spec(&first, "v1 100", "{\"timeoutMinutes\":1}");
    first.ill[0] = "DEPLOY_FAILED";
    run(&first, 100, 100);
    CHECK_STR(said(&first, "rollout.phase"), "Progressing");
    CHECK_STR(said(&first, "state"), "Starting");
    CHECK(!first.route_text.len);
    test_case("a first version that is replaced before it served goes at once");
    set_spec(&first, "v2 100", "{\"timeoutMinutes\":1}");
    run(&first, 2, 200);
    CHECK_INT(first.count, 1);
    first.ill[0] = NULL;
    run(&first, 10, 100);
    CHECK_STR(said(&first, "state"), "Running");
    end(&first);
}

static void test_waits(void)
{
    struct world w = begin("v1 100", QUICK);
    test_case("a Gateway that does not take up the route: no step");
    w.refused = true;
    set_spec(&w, "v2 100", QUICK);
    run(&w, 60, 125);
    CHECK(slice_find_text(slice_of(w.told), "v1 100/75") < 0);
    CHECK_STR(condition_of(&w, "Progressing", "message"), "Gateway g has not taken up HTTPRoute s-httproute yet");
    w.refused = false;
    run(&w, 200, 125);
    CHECK_STR(share_text(&w), "v2 100/100");

    test_case("an error in the spec: all goes on as it was");
    set_spec(&w, "v3 90", QUICK);
    uint32_t before = w.actions;
    run(&w, 30, 125);
    CHECK_INT(w.actions, before + 1); /* the status */
    CHECK_STR(share_text(&w), "v2 100/100");
    set_spec(&w, "v2 100", QUICK);
    run(&w, 5, 125);
    CHECK_STR(condition_of(&w, "Valid", "reason"), "SpecAccepted");

    test_case("a status that is lost: versions keep their requests as soon as they run");
    w.status = SLICE("{}");
    run(&w, 10, 125);
    CHECK_STR(share_text(&w), "v2 100/100");
    CHECK_INT(w.count, 1);

    test_case("more RayServices than are kept go");
    for (uint32_t i = 0; i < CHILDREN_MAX - 2; i++) {
        struct versioned_child *c = &w.children[w.count++];
        *c = w.children[0];
        c->version = arena_printf(&w.a, "x%u", i);
        c->name = arena_printf(&w.a, "s-x%u", i);
    }
    run(&w, 100, 125 + 100 * CHILDREN_MAX);
    CHECK_INT(w.count, 1);
    end(&w);
}

int main(void)
{
    test_table();
    test_without_limit();
    test_many();
    test_failure();
    test_time();
    test_waits();
    return test_done();
}
