/* Each invariant of a change, a request or a line of the log can be broken: it is shown a history in which it is, and next to it one in
 * which it is not. What is looked at only when a run is over is broken by tests/mutants. */
#include "tests/model/sim/jobs.h"
#include "tests/unit/kube/fakenet.h"

#include <mobula/inspect.h>

#include "scene.h"

static void add_pod(struct scene *t, const char *uid, const char *type, const char *owner)
{
    struct slice json =
        arena_printf(&t->s->w.arena,
                     "{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\",\"labels\":{\"ray.io/node-type\":\"%s\",\"ray.io/group\":\"g0\","
                     "\"" RAY_LABEL_REPLICA_INDEX "\":\"%d\"},\"ownerReferences\":[{\"uid\":\"%s\",\"name\":\"c\","
                     "\"controller\":true}]},\"spec\":{},\"status\":{\"phase\":\"Running\"}}",
                     uid, uid, type, uid[35] - 'a', owner);
    change(t, APISERVER_ADDED, "pods", uid, uid, json.ptr);
}

/* ---- pods ---- */

static void test_places(void)
{
    struct scene t = begin("one live head", false);
    add_pod(&t, POD_A, "head", OWNER);
    add_pod(&t, POD_B, "head", OTHER);
    expect(&t, "");
    add_pod(&t, OTHER, "head", OWNER);
    expect(&t, "one live head");
    end(&t);

    t = begin("one pod in a place", false);
    t.s->want[0].most[0] = 9;
    add_pod(&t, POD_A, "worker", OWNER);
    add_pod(&t, POD_B, "worker", OWNER);
    expect(&t, "");
    add_pod(&t, "00000000-0000-4000-8000-00000000010b", "worker", OWNER);
    expect(&t, "one pod in a place");
    end(&t);

    t = begin("never above the maximum", false);
    add_pod(&t, POD_A, "worker", OWNER);
    expect(&t, "");
    add_pod(&t, POD_B, "worker", OWNER);
    expect(&t, "never above the maximum");
    end(&t);
}

static void test_reasons_of_pods(void)
{
    struct scene t = begin("no pod goes without a reason: fewer were asked for, once", false);
    t.s->want[0].most[0] = 2;
    t.s->want[0].fewer[0] = 1;
    add_pod(&t, POD_A, "worker", OWNER);
    add_pod(&t, POD_B, "worker", OWNER);
    send(&t, "DELETE", PODS "/" POD_A, WITH_UID(POD_A));
    send(&t, "DELETE", PODS "/" POD_A, WITH_UID(POD_A));
    expect(&t, "");
    send(&t, "DELETE", PODS "/" POD_B, WITH_UID(POD_B));
    expect(&t, "no pod goes without a reason");
    end(&t);

    t = begin("no pod goes without a reason: the DELETE of another came to nothing", false);
    t.s->want[0].most[0] = 2;
    t.s->want[0].fewer[0] = 1;
    add_pod(&t, POD_A, "worker", OWNER);
    add_pod(&t, POD_B, "worker", OWNER);
    send(&t, "DELETE", PODS "/" POD_A, WITH_UID(POD_A));
    struct world_request q = request(&t, "DELETE", PODS "/" POD_A, WITH_UID(POD_A));
    check_answer(t.s, &q, 408);
    send(&t, "DELETE", PODS "/" POD_B, WITH_UID(POD_B));
    expect(&t, "");
    q = request(&t, "DELETE", PODS "/" POD_B, WITH_UID(POD_B));
    change(&t, APISERVER_DELETED, "pods", POD_B, POD_B, "{}");
    check_answer(t.s, &q, 504); /* it came to something, whatever the operator was told */
    send(&t, "DELETE", PODS "/" POD_A, WITH_UID(POD_A));
    expect(&t, "no pod goes without a reason");
    end(&t);

    t = begin("no pod goes without a reason: it is of an older template", false);
    t.s->want[0].recreate = true;
    add_pod(&t, POD_A, "head", OWNER);
    send(&t, "DELETE", PODS "/" POD_B, WITH_UID(POD_A));
    t.s->want[0].template = 1;
    send(&t, "DELETE", PODS "/" POD_A, WITH_UID(POD_A));
    expect(&t, "");
    t.s->want[0].template = 0;
    send(&t, "DELETE", PODS "/" POD_A, WITH_UID(POD_A));
    expect(&t, "no pod goes without a reason");
    end(&t);
}

/* A worker of a group that prefers spot; scheduled: "True" or "False". */
static void market_pod(struct scene *t, unsigned what, const char *uid, const char *market, const char *scheduled)
{
    struct slice json = arena_printf(&t->s->w.arena,
                                     "{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\",\"labels\":{\"ray.io/node-type\":\"worker\","
                                     "\"ray.io/group\":\"g0\",\"" RAY_LABEL_REPLICA_INDEX "\":\"%d\",\"" RAY_LABEL_MARKET "\":\"%s\"},"
                                     "\"ownerReferences\":[{\"uid\":\"" OWNER "\",\"name\":\"c\",\"controller\":true}]},\"spec\":{},"
                                     "\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"%s\"}]}}",
                                     uid, uid, uid[35] - 'a', market, scheduled);
    change(t, what, "pods", uid, uid, json.ptr);
}

static struct scene begin_market(const char *what)
{
    struct scene t = begin(what, false);
    t.plan->setup.markets = t.s->want[0].market = true;
    t.s->want[0].most[0] = 9;
    return t;
}

static void test_markets(void)
{
    struct scene t = begin_market("spot where it is: none of the group was without a spot node");
    market_pod(&t, APISERVER_ADDED, POD_A, "SPOT", "True");
    expect(&t, "");
    market_pod(&t, APISERVER_ADDED, POD_B, "ON_DEMAND", "True");
    expect(&t, "spot where it is");
    end(&t);

    t = begin_market("spot where it is: spot nodes are there again");
    market_pod(&t, APISERVER_ADDED, POD_A, "SPOT", "False");
    market_pod(&t, APISERVER_ADDED, POD_B, "ON_DEMAND", "True");
    expect(&t, "");
    t.s->returned = true;
    market_pod(&t, APISERVER_ADDED, "00000000-0000-4000-8000-00000000000c", "ON_DEMAND", "True");
    expect(&t, "spot where it is");
    end(&t);

    t = begin_market("spot or on demand");
    market_pod(&t, APISERVER_ADDED, POD_A, "PREFER_SPOT", "True");
    expect(&t, "spot or on demand");
    end(&t);

    t = begin_market("no pod goes without a reason: it has had no spot node, as it was seen");
    market_pod(&t, APISERVER_ADDED, POD_A, "SPOT", "False");
    send(&t, "DELETE", PODS "/" POD_A, "{\"preconditions\":{\"uid\":\"" POD_A "\",\"resourceVersion\":\"1\"}}");
    expect(&t, "");
    send(&t, "DELETE", PODS "/" POD_A, WITH_UID(POD_A));
    expect(&t, "no pod goes without a reason");
    end(&t);
}

static void test_markets_in_time(void)
{
    struct scene t = begin_market("falls back in time");
    t.s->w.now.mono_ms++;
    market_pod(&t, APISERVER_ADDED, POD_A, "SPOT", "False");
    market_pod(&t, APISERVER_ADDED, POD_B, "SPOT", "False");
    market_pod(&t, APISERVER_MODIFIED, POD_B, "SPOT", "True");
    t.s->w.now.mono_ms += SIM_FALLBACK_MS + 2000;
    market_pod(&t, APISERVER_MODIFIED, POD_A, "SPOT", "False");
    check_step(t.s);
    expect(&t, "");
    t.s->w.now.mono_ms++;
    check_step(t.s);
    expect(&t, "falls back in time");
    end(&t);

    t = begin_market("falls back in time: as long as the spec is bad the pods stay as they are");
    t.s->w.now.mono_ms++;
    market_pod(&t, APISERVER_ADDED, POD_A, "SPOT", "False");
    t.s->want[0].bad = true;
    t.s->w.now.mono_ms += 2 * (SIM_FALLBACK_MS + 2000);
    check_step(t.s);
    expect(&t, "");
    t.s->want[0].bad = false;
    t.s->w.now.mono_ms += SIM_FALLBACK_MS + 2000;
    check_step(t.s);
    expect(&t, "");
    t.s->w.now.mono_ms++;
    check_step(t.s);
    expect(&t, "falls back in time");
    end(&t);
}

static void test_owners(void)
{
    struct scene t = begin("no object without owner: of nobody", false);
    struct world_request q = request(&t, "POST", PODS, "{}");
    change(&t, APISERVER_ADDED, "rayclusters", "c", OWNER, "{}");
    t.s->serving = &q;
    add_pod(&t, POD_A, "worker", OWNER);
    change(&t, APISERVER_ADDED, "configmaps", "mobula-tools", OTHER, "{}");
    expect(&t, "");
    change(&t, APISERVER_ADDED, "configmaps", "another", POD_B, "{}");
    expect(&t, "no object without owner");
    end(&t);

    t = begin("no object without owner: it has gone", false);
    q = request(&t, "POST", PODS, "{}");
    change(&t, APISERVER_ADDED, "rayclusters", "c", OWNER, "{}");
    t.s->serving = &q;
    add_pod(&t, POD_A, "worker", OWNER);
    change(&t, APISERVER_DELETED, "rayclusters", "c", OWNER, "{}");
    t.s->w.now.mono_ms += 4000;
    check_step(t.s);
    expect(&t, "");
    t.s->w.now.mono_ms += 2000;
    check_step(t.s);
    expect(&t, "no object without owner");
    end(&t);
}

/* The first process is an operator that knows the cluster OWNER, until it is told that it is gone; it does nothing else. */
static void begin_knowing(struct scene *t, struct fake *f)
{
    static const struct slice namespaces[] = {{"n", 1}};
    const struct operator_options o = {.namespaces = namespaces, .namespace_count = 1, .instance = SLICE("test"), .seed = 1};
    struct err e = {0};
    fake_init(f);
    t->s->w.process[0].op = operator_new(&f->net, f->config, &o, &e);
    CHECK(inspect_tell(t->s->w.process[0].op, SLICE("rayclusters.ray.io"),
                       SLICE("{\"metadata\":{\"name\":\"c\",\"namespace\":\"n\",\"resourceVersion\":\"5\",\"uid\":\"" OWNER "\"}}"),
                       false));
}

static void end_knowing(struct scene *t, struct fake *f)
{
    operator_free(t->s->w.process[0].op);
    t->s->w.process[0].op = NULL;
    fake_free(f);
    end(t);
}

static void test_known_gone(void)
{
    static const char body[] = "{\"metadata\":{\"ownerReferences\":[{\"uid\":\"" OWNER "\"}]}}";
    struct scene t = begin("no write for who is gone: but for who is there, or by who is no more", false);
    struct fake f;
    send(&t, "POST", PODS, body);
    begin_knowing(&t, &f);
    send(&t, "POST", PODS, body);
    inspect_tell(t.s->w.process[0].op, SLICE("rayclusters.ray.io"), SLICE("{\"metadata\":{\"namespace\":\"n\",\"uid\":\"" OWNER "\"}}"),
                 true);
    send(&t, "GET", PODS, body);
    expect(&t, "");
    send(&t, "POST", PODS, body);
    expect(&t, "no write for who is gone");
    end_knowing(&t, &f);
}

static void test_head_first(void)
{
    static const char body[] =
        "{\"metadata\":{\"labels\":{\"" RAY_LABEL_NODE_TYPE "\":\"worker\"},\"ownerReferences\":[{\"uid\":\"" OWNER "\"}]}}";
    struct scene t = begin("no worker before its head: one that had a head, and one that has none", false);
    struct fake f;
    change(&t, APISERVER_ADDED, "rayclusters", "c", OWNER, "{}");
    add_pod(&t, POD_A, "head", OWNER);
    begin_knowing(&t, &f);
    send(&t, "POST", PODS, body);
    expect(&t, "");
    owners_end(t.s);
    change(&t, APISERVER_ADDED, "rayclusters", "c", OWNER, "{}");
    send(&t, "POST", PODS, body);
    expect(&t, "no worker before its head");
    end_knowing(&t, &f);
}

/* The store does what this request says, and pod A goes. */
static void take_pod(struct scene *t, const char *method, const char *target)
{
    const struct apiserver_change c = {
        .what = APISERVER_DELETED, .plural = SLICE("pods"), .ns = SLICE("n"), .name = SLICE(POD_A), .uid = SLICE(POD_A)};
    struct world_request q = request(t, method, target, "");
    t->s->serving = &q;
    scaled_changes(t->s, &c);
    t->s->serving = NULL;
}

/* A worker that runs, and whose raylet lives. */
static void test_drains(void)
{
    struct scene t = begin("no scale-down without a drain", false);
    t.s->want[0].scaled = true;
    add_pod(&t, POD_A, "worker", OWNER);
    struct fakeray_pod *p = mem_alloc(sizeof *p);
    *p = (struct fakeray_pod){.of = fakeray_of(&t.s->w, "ray.io", "n", "c"), .runs = true};
    snprintf(p->uid, sizeof p->uid, "%s", POD_A);
    t.s->w.rays->pods = p;
    p->ended = true;
    take_pod(&t, "DELETE", PODS "/" POD_A);
    p->ended = p->runs = false;
    take_pod(&t, "DELETE", PODS "/" POD_A);
    p->runs = true;
    take_pod(&t, "PATCH", PODS "/" POD_A);
    take_pod(&t, "DELETE", "/apis/ray.io/v1/namespaces/n/rayclusters/c");
    send(&t, "DELETE", PODS "/" POD_A, WITH_UID(POD_A)); /* which may be refused */
    expect(&t, "");
    take_pod(&t, "DELETE", PODS "/" POD_A);
    expect(&t, "no scale-down without a drain");
    end(&t);
}

/* ---- the lease ---- */

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/n/leases/mobula"

static void put_lease(struct scene *t, const char *holder)
{
    struct world_request q = request(t, "PUT", LEASES, "{}");
    struct slice json = arena_printf(&t->s->w.arena, "{\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":5}}", holder);
    lease_arrived(t->s, &q);
    change(t, APISERVER_MODIFIED, "leases", "mobula", OTHER, json.ptr);
}

static void test_lease(void)
{
    struct scene t = begin("no write without the lease: never held", true);
    send(&t, "POST", PODS, "{}");
    expect(&t, "no write without the lease");
    end(&t);

    t = begin("no write without the lease: held too long ago", true);
    put_lease(&t, "op-0");
    t.s->w.now.mono_ms += SIM_RENEW_MS - 1;
    send(&t, "POST", PODS, "{}");
    expect(&t, "");
    t.s->w.now.mono_ms++;
    send(&t, "POST", PODS, "{}");
    expect(&t, "no write without the lease");
    end(&t);

    t = begin("no write without the lease: another's, unless somebody has edited it", true);
    put_lease(&t, "op-0");
    put_lease(&t, "somebody else");
    t.s->tampered_ms = sim_now(t.s);
    send(&t, "POST", PODS, "{}");
    expect(&t, "");
    t.s->tampered_ms = INT64_MIN / 2;
    send(&t, "POST", PODS, "{}");
    expect(&t, "no write without the lease");
    end(&t);

    t = begin("few requests for the lease", true);
    for (int i = 0; i < 12; i++)
        send(&t, "GET", LEASES, "");
    expect(&t, "");
    send(&t, "GET", LEASES, "");
    expect(&t, "few requests for the lease");
    end(&t);
}

/* ---- requests, events, the log ---- */

static void test_requests(void)
{
    static const struct {
        const char *which, *method, *target, *body;
    } list[] = {
        {"no DELETE without a uid", "DELETE", PODS "/x", "{}"},
        {"no status without a uid", "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c/status?a=b", "{\"status\":{}}"},
        {"no secret", "PATCH", "/api/v1/namespaces/n/services/x", "{\"a\":\"" SIM_TOKEN "\"}"},
        {"no secret", "PATCH", "/api/v1/namespaces/n/services/x", "{\"a\":\"" SIM_CANARY "\"}"},
        {"", "POST", PODS, "{\"a\":\"" SIM_CANARY "\"}"},
        {"", "DELETE", PODS "/x", WITH_UID(POD_A)},
    };
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        struct scene t = begin(list[i].target, false);
        send(&t, list[i].method, list[i].target, list[i].body);
        expect(&t, list[i].which);
        end(&t);
    }
    struct scene t = begin("no secret in an event", false);
    change(&t, APISERVER_ADDED, "events", "e", POD_A, "{\"note\":\"" SIM_CANARY "\"}");
    expect(&t, "no secret");
    end(&t);
}

#define HELD "head-token-4f1c9a77e2b0d3"
#define SECRET "{\"data\":{\"auth_token\":\"aGVhZC10b2tlbi00ZjFjOWE3N2UyYjBkMw==\"}}"

/* with: its Secret is there. */
static struct scene begin_tokens(const char *what, bool with)
{
    struct scene t = begin(what, false);
    t.plan->setup.tokens = true;
    t.s->want[0].token = TOKEN_MADE;
    if (with)
        change(&t, APISERVER_ADDED, "secrets", "c", OTHER, SECRET);
    return t;
}

static void test_tokens(void)
{
    struct scene t = begin_tokens("a head has the token that its Secret holds", true);
    add_pod(&t, POD_A, "head", OWNER);
    expect(&t, "");
    CHECK_STR(slice_of(fakeray_of(&t.s->w, "ray.io", "n", "c")->fake.token), HELD);
    send(&t, "POST", "/api/v1/namespaces/n/secrets", "{\"stringData\":{\"auth_token\":\"" HELD "\"}}");
    expect(&t, "");
    send(&t, "POST", PODS, "{\"a\":\"" HELD "\"}");
    expect(&t, "no secret");
    end(&t);
    t = begin_tokens("no head without its token", false);
    add_pod(&t, POD_A, "head", OWNER);
    expect(&t, "no head without its token");
    end(&t);
    t = begin_tokens("no token of a head in a status", true);
    change(&t, APISERVER_MODIFIED, "rayclusters", "c", OWNER, "{\"status\":{\"reason\":\"401 " HELD "\"}}");
    expect(&t, "no secret");
    end(&t);
    t = begin_tokens("no token of a head in the log", true);
    t.s->o = &t.o;
    log_info("a " HELD);
    expect(&t, "no secret");
    end(&t);
}

/* When all has come to its end. */
static void test_still(void)
{
    static const struct {
        const char *which, *method, *target;
    } list[] = {
        {"no write when converged", "PATCH", "/apis/ray.io/v1/namespaces/n/rayjobs/j?fieldManager=mobula"},
        {"no write when converged", "POST", PODS},
        {"no event when converged", "POST", "/apis/events.k8s.io/v1/namespaces/n/events"},
        {"no event when converged", "PATCH", "/apis/events.k8s.io/v1/namespaces/n/events/e"},
        {"", "PUT", "/apis/coordination.k8s.io/v1/namespaces/n/leases/mobula"},
        {"", "GET", PODS},
    };
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        struct scene t = begin(list[i].which, false);
        send(&t, list[i].method, list[i].target, "{}");
        expect(&t, "");
        t.s->still = true;
        send(&t, list[i].method, list[i].target, "{}");
        expect(&t, list[i].which);
        end(&t);
    }
    struct scene t = begin("no event when converged: but for the last count of a series", false);
    t.s->still = true;
    t.s->still_us = t.s->w.now.wall_us;
    send(&t, "PATCH", "/apis/events.k8s.io/v1/namespaces/n/events/e",
         "{\"series\":{\"count\":2,\"lastObservedTime\":\"2026-01-01T00:00:00Z\"}}");
    expect(&t, "");
    end(&t);
}

static void test_sayings(void)
{
    static const char event[] = "{\"regarding\":{\"uid\":\"" OWNER "\"},\"reason\":\"A\",\"note\":\"b\"}";
    struct scene t = begin("an event is told once", false);
    struct world_request q = request(&t, "POST", "/apis/events.k8s.io/v1/namespaces/n/events", event);
    for (int i = 0; i < 3; i++)
        check_answer(t.s, &q, 201);
    expect(&t, "");
    check_answer(t.s, &q, 201);
    expect(&t, "an event is told once");
    end(&t);

    t = begin("an error is one line a minute", false);
    t.s->o = &t.o;
    t.s->w.turn = &t.s->w.process[0];
    log_warn("a", LF_CSTR("error", "x"));
    log_warn("b", LF_CSTR("error", "x"));
    expect(&t, "");
    log_warn("a", LF_CSTR("error", "x"));
    expect(&t, "an error is one line a minute");
    end(&t);

    t = begin("no secret in the log", false);
    t.s->o = &t.o;
    log_info("a " SIM_TOKEN);
    expect(&t, "no secret");
    end(&t);
}

/* ---- jobs ---- */

#define JOB(more) "{\"spec\":{\"entrypoint\":\"run 0 1\"},\"status\":{\"jobId\":\"j-1\",\"rayClusterName\":\"c\"," more "}}"

static void see_job(struct scene *t, const char *json)
{
    change(t, APISERVER_MODIFIED, "rayjobs", "j", OTHER, json);
}

static void test_jobs(void)
{
    struct scene t = begin_jobs("an end that Ray knows");
    see_job(&t, JOB("\"jobDeploymentStatus\":\"Running\""));
    expect(&t, "");
    see_job(&t, JOB("\"jobDeploymentStatus\":\"Complete\""));
    expect(&t, "an end that Ray knows");
    end(&t);

    static const char *const reasons[] = {"AppFailed", "DeadlineExceeded", "SubmissionFailed", "ClusterFailed", "anything"};
    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        t = begin_jobs(reasons[i]);
        see_job(&t, arena_printf(&t.s->w.arena, JOB("\"jobDeploymentStatus\":\"Failed\",\"reason\":\"%s\""), reasons[i]).ptr);
        expect(&t, "no end without a reason");
        end(&t);
    }

    t = begin_jobs("what is over stays so");
    see_job(&t, JOB("\"jobDeploymentStatus\":\"Failed\",\"reason\":\"ClusterLost\""));
    expect(&t, "");
    see_job(&t, JOB("\"jobDeploymentStatus\":\"Running\""));
    expect(&t, "what is over stays so");
    end(&t);

    t = begin_jobs("attempts are bounded");
    see_job(&t, JOB("\"attempt\":1"));
    expect(&t, "");
    see_job(&t, JOB("\"attempt\":2"));
    expect(&t, "attempts are bounded");
    end(&t);
}

#define OF_JOB(uid) "{\"metadata\":{\"ownerReferences\":[{\"kind\":\"RayJob\",\"uid\":\"" uid "\"}]}}"

static void test_clusters_of_jobs(void)
{
    struct scene t = begin_jobs("one cluster of a job");
    change(&t, APISERVER_ADDED, "rayclusters", "a", POD_A, OF_JOB(OTHER));
    change(&t, APISERVER_ADDED, "rayclusters", "b", POD_B, OF_JOB(OWNER));
    expect(&t, "");
    change(&t, APISERVER_ADDED, "rayclusters", "c", OWNER, OF_JOB(OWNER));
    expect(&t, "one cluster of a job");
    end(&t);

    t = begin_jobs("users' clusters stay");
    t.plan->setup.elect = false;
    change(&t, APISERVER_ADDED, "rayclusters", "a", POD_A, OF_JOB(OTHER));
    change(&t, APISERVER_ADDED, "rayclusters", "b", POD_B, "{}");
    send(&t, "DELETE", "/apis/ray.io/v1/namespaces/n/rayclusters/a", WITH_UID(POD_A));
    expect(&t, "");
    send(&t, "DELETE", "/apis/ray.io/v1/namespaces/n/rayclusters/b", WITH_UID(POD_B));
    expect(&t, "users' clusters stay");
    end(&t);

    t = begin_jobs("users' jobs stay");
    t.plan->setup.elect = false;
    see_job(&t, JOB("\"jobDeploymentStatus\":\"Running\""));
    send(&t, "DELETE", "/apis/ray.io/v1/namespaces/n/rayjobs/j", WITH_UID(OTHER));
    expect(&t, "users' jobs stay");
    end(&t);
}

static void test_submissions(void)
{
    struct scene t = begin_jobs("status has the id first");
    put_lease(&t, "op-0");
    see_job(&t, JOB("\"jobDeploymentStatus\":\"Running\""));
    jobs_check_submit(t.s, "j-1", &t.s->w.process[0]);
    expect(&t, "");
    jobs_check_submit(t.s, "j-2", &t.s->w.process[0]);
    expect(&t, "status has the id first");
    end(&t);

    t = begin_jobs("a job is started once");
    see_job(&t, JOB("\"jobDeploymentStatus\":\"Running\""));
    jobs_submit_by_hand(t.s, fakeray_of(&t.s->w, "ray.io", "n", "c"), SLICE("j-1"), SCRIPT_ENDLESS, 1);
    expect(&t, "");
    jobs_check_submit(t.s, "j-1", NULL);
    expect(&t, "a job is started once");
    end(&t);

    t = begin_jobs("no submission without the lease");
    see_job(&t, JOB("\"jobDeploymentStatus\":\"Running\""));
    jobs_check_submit(t.s, "j-1", &t.s->w.process[0]);
    expect(&t, "no submission without the lease");
    end(&t);
}

int main(void)
{
    log_global.fd = -1;
    test_places();
    test_reasons_of_pods();
    test_markets();
    test_markets_in_time();
    test_owners();
    test_known_gone();
    test_head_first();
    test_drains();
    test_lease();
    test_requests();
    test_tokens();
    test_still();
    test_sayings();
    test_jobs();
    test_clusters_of_jobs();
    test_submissions();
    return test_done();
}
