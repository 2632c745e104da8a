/* POST /v1/bootstrap and /v1/report against the model API server; the operator's answers are the test's. */
#include "hubworld.h"

#include <stdio.h>

static const char *boot(struct hubworld *h, const char *cloud)
{
    struct slice id = field(h, "clouds", cloud, "status.deploymentId");
    return arena_printf(&h->w.arena, "{\"cloud\":\"%.*s\"}", SLICE_ARG(id)).ptr;
}

/* The question that the operator of edge gets; empty: none. */
static struct slice asked(struct client *op, const char *known, const char *more)
{
    struct hubworld *h = op->of;
    CHECK_INT(sync_ask(op, "edge", "one", known, more), 200);
    struct jval q = json_at(json_get(json_root(&h->doc), "questions"), 0);
    if (json_there(q))
        CHECK_STR(json_get_str(q, "token", &h->w.arena), "of-a-pod");
    return json_get_str(q, "id", &h->w.arena);
}

static const char *answer_of(struct hubworld *h, struct slice id, const char *members)
{
    return arena_printf(&h->w.arena, ",\"wait\":0,\"answers\":[{\"id\":\"%.*s\",\"kind\":\"tokenReview\",%s}]", SLICE_ARG(id), members).ptr;
}

static void reports(struct hubworld *h, struct client *op, struct client *pod, const char *known, const char *credential, struct slice uid)
{
    test_case("a report is stored with its workload, and stays when the operator reports");
    CHECK_INT(
        ask(pod, "POST", "/v1/report", credential,
            "{\"ray\":{\"health\":\"HEALTHY\",\"nodesAlive\":2,\"version\":\"2.60.0\",\"dashboard\":\"UNHEALTHY, at least\",\"own\":1}}"),
        200);
    CHECK_STR(field(h, "workloads", "train", "status.ray.health"), "HEALTHY");
    CHECK_STR(field(h, "workloads", "train", "status.ray.version"), "2.60.0");
    CHECK_STR(field(h, "workloads", "train", "status.ray.dashboard"), "UNHEALTHY, at…");
    CHECK_STR(field(h, "workloads", "train", "status.ray.own"), "");
    asked(op, known,
          arena_printf(&h->w.arena, ",\"wait\":0,\"statuses\":[{\"uid\":\"%.*s\",\"generation\":1,\"state\":\"RUNNING\"}]", SLICE_ARG(uid))
              .ptr);
    CHECK_STR(field(h, "workloads", "train", "status.state"), "RUNNING");
    CHECK_STR(field(h, "workloads", "train", "status.ray.health"), "HEALTHY");
    test_case("too soon, no report, too old");
    CHECK_INT(ask(pod, "POST", "/v1/report", credential, "{\"ray\":{}}"), 429);
    run(h, HUB_REPORT_MS);
    CHECK_INT(ask(pod, "POST", "/v1/report", credential, "{\"ray\":1}"), 400);
    CHECK_INT(ask(pod, "POST", "/v1/report", "of-a-pod", "{\"ray\":{}}"), 401);
    run(h, HUB_CREDENTIAL_S * 1000);
    CHECK_INT(ask(pod, "POST", "/v1/report", credential, "{\"ray\":{}}"), 401);
}

static void carry(struct hubworld *h, struct client *op, const char *known, struct slice uid, struct slice ray)
{
    asked(op, known,
          arena_printf(&h->w.arena, ",\"wait\":0,\"reports\":[{\"uid\":\"%.*s\",\"ray\":%.*s}]", SLICE_ARG(uid), SLICE_ARG(ray)).ptr);
}

/* A report of so many bytes. */
static struct slice report_of(struct hubworld *h, size_t bytes)
{
    static const char form[] = "{\"health\":\"SIZED\",\"x\":\"%.*s\"}";
    char *fill = arena_alloc(&h->w.arena, bytes);
    memset(fill, 'x', bytes);
    return arena_printf(&h->w.arena, form, (int)(bytes - (sizeof form - 1 - 4)), fill);
}

static void carried(struct hubworld *h, struct client *op, const char *known, struct slice uid, struct slice theirs)
{
    test_case("what the operator carries of its pods is stored, but of no other cloud's workload");
    carry(h, op, known, uid, SLICE("{\"health\":\"CARRIED\",\"version\":\"2.60.0\"}"));
    CHECK_STR(field(h, "workloads", "train", "status.ray.health"), "CARRIED");
    carry(h, op, known, theirs, SLICE("{\"health\":\"CARRIED\"}"));
    CHECK_STR(field(h, "workloads", "theirs", "status.ray.health"), "");
    carry(h, op, known, SLICE("nobody"), SLICE("{\"health\":\"CARRIED\"}"));
    test_case("nor what is no object, or larger than LIMIT_HUB_REPORT");
    carry(h, op, known, uid, SLICE("1"));
    CHECK_INT(report_of(h, LIMIT_HUB_REPORT).len, LIMIT_HUB_REPORT);
    carry(h, op, known, uid, report_of(h, LIMIT_HUB_REPORT + 1));
    CHECK_STR(field(h, "workloads", "train", "status.ray.health"), "CARRIED");
    carry(h, op, known, uid, report_of(h, LIMIT_HUB_REPORT));
    CHECK_STR(field(h, "workloads", "train", "status.ray.health"), "SIZED");
    test_case("reports that are no list are a call that is none");
    CHECK_INT(sync_ask(op, "edge", "one", known, ",\"wait\":0,\"reports\":{}"), 400);
}

int main(void)
{
    struct hubworld h;
    start(&h);
    make_cloud(&h, "edge");
    make_cloud(&h, "far");
    make_job(&h, "train", "edge", "");
    make_job(&h, "theirs", "far", "");
    struct client *op = client_new(&h), *pod = client_new(&h);
    CHECK_INT(sync_ask(op, "edge", "one", "", ""), 200);
    const char *known = revision(&h), *idle = ",\"wait\":0";
    struct slice uid = json_get_str(object_of(&h, "workloads", "train"), "metadata.uid", &h.w.arena);
    struct slice theirs = json_get_str(object_of(&h, "workloads", "theirs"), "metadata.uid", &h.w.arena);

    test_case("a token that the operator accepts gives a credential");
    send(pod, "POST", "/v1/bootstrap", "of-a-pod", slice_of(boot(&h, "edge")));
    run(&h, 200);
    struct slice id = asked(op, known, idle);
    const char *yes =
        arena_printf(&h.w.arena, "\"ok\":true,\"podUid\":\"p1\",\"podName\":\"head\",\"workloadUid\":\"%.*s\"", SLICE_ARG(uid)).ptr;
    CHECK_INT(asked(op, known, answer_of(&h, id, yes)).len, 0);
    CHECK_INT(answer(pod), 200);
    const char *credential = arena_dup(&h.w.arena, said(&h, "credential")).ptr;
    CHECK_STR(said(&h, "podUid"), "p1");
    test_case("the same token again: the operator is asked again after ten seconds only");
    CHECK_INT(ask(pod, "POST", "/v1/bootstrap", "of-a-pod", boot(&h, "edge")), 200);
    CHECK_INT(asked(op, known, idle).len, 0);
    run(&h, HUB_YES_MS);
    send(pod, "POST", "/v1/bootstrap", "of-a-pod", slice_of(boot(&h, "edge")));
    run(&h, 200);
    id = asked(op, known, idle);
    CHECK(id.len);
    test_case("a pod of another cloud's workload gets none");
    asked(op, known,
          answer_of(&h, id, arena_printf(&h.w.arena, "\"ok\":true,\"podUid\":\"p2\",\"workloadUid\":\"%.*s\"", SLICE_ARG(theirs)).ptr));
    CHECK_INT(answer(pod), 403);
    test_case("an answer told twice is nothing");
    asked(op, known, answer_of(&h, id, yes));
    CHECK_INT(answer(pod), 0);

    reports(&h, op, pod, known, credential, uid);
    carried(&h, op, known, uid, theirs);
    test_case("nobody answers");
    struct client *late = client_new(&h);
    send(late, "POST", "/v1/bootstrap", "another", slice_of(boot(&h, "edge")));
    run(&h, HUB_QUESTION_MS + 1000);
    CHECK_INT(answer(late), 503);
    finish(&h);
    return test_done();
}
