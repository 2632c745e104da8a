/* What one user, one operator or one pod may send to a control plane, and what others have of it. */
#include "hubworld.h"

#include <mobula/remote.h>

#include <stdio.h>

/* The answer as its operator reads it. */
static bool is_readable(struct hubworld *h)
{
    struct remote_answer a;
    struct err e = {0};
    bool ok = h->status == 200 && remote_read(h->doc.text, &h->w.arena, &a, &e) && a.bad == 0;
    if (!ok)
        printf("  %d: %zu bytes: %s\n", h->status, h->doc.text.len, e.text);
    return ok;
}

/* count times one piece, between two texts. */
static const char *repeated(struct hubworld *h, const char *before, const char *piece, size_t count, const char *after)
{
    struct buf b;
    buf_init(&b, 4 * MIB);
    buf_put(&b, slice_of(before));
    for (size_t i = 0; i < count; i++)
        buf_put(&b, slice_of(piece));
    buf_put(&b, slice_of(after));
    const char *text = arena_dup(&h->w.arena, buf_slice(&b)).ptr;
    buf_free(&b);
    return text;
}

static const char *nested(struct hubworld *h, size_t depth)
{
    return repeated(h, "", "[", depth, repeated(h, "", "]", depth, ""));
}

static const char *inlined(struct hubworld *h, const char *value)
{
    return arena_printf(&h->w.arena, ",\"computeConfig\":{\"inline\":{\"head_node\":%s}}", value).ptr;
}

static struct slice state_of(struct hubworld *h, const char *name, const char *field_name)
{
    return field(h, "workloads", name, arena_printf(&h->w.arena, "status.%s", field_name).ptr);
}

/* Walks a full answer to its end. Returns how many workloads it had. */
static size_t read_all(struct client *c)
{
    struct hubworld *h = c->of;
    size_t count = 0;
    const char *from = "";
    for (int i = 0; i < 100; i++) {
        CHECK_INT(sync_ask(c, "edge", "one", from, ",\"wait\":0"), 200);
        if (!CHECK(is_readable(h)))
            break;
        count += workloads(h);
        from = revision(h);
        if (!json_get_bool(json_root(&h->doc), "more", false))
            break;
    }
    return count;
}

static void test_unfit(void)
{
    struct hubworld h;
    test_case("a workload that no operator could read is refused, and does not keep the others from theirs");
    start(&h);
    make_cloud(&h, "edge");
    make_job(&h, "train", "edge", "");
    make_job(&h, "still", "edge", inlined(&h, nested(&h, LIMIT_HUB_DEPTH - 3)));
    make_job(&h, "deep", "edge", inlined(&h, nested(&h, LIMIT_HUB_DEPTH - 2)));
    make_job(&h, "wide", "edge", inlined(&h, repeated(&h, "[0", ",0", 180 * 1000, "]")));
    make_job(&h, "long", "edge", inlined(&h, repeated(&h, "\"", "x", LIMIT_HUB_SPEC, "\"")));
    make(&h, "ComputeConfig", "computeconfigs", "large-v1", repeated(&h, "{\"x\":\"", "x", LIMIT_HUB_SPEC, "\"}"));
    make_job(&h, "config", "edge", ",\"computeConfig\":{\"name\":\"large\"}");
    run(&h, 11 * 1000);
    struct client *c = client_new(&h);
    CHECK_INT(read_all(c), 2);
    const char *const refused[] = {"deep", "wide", "long", "config"};
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        CHECK_STR(state_of(&h, refused[i], "state"), "REFUSED");
        CHECK_STR(state_of(&h, refused[i], "reason"), "SpecTooLarge");
    }
    CHECK_STR(state_of(&h, "train", "state"), "");
    CHECK_STR(state_of(&h, "still", "state"), "");
    finish(&h);
}

static void test_pages(void)
{
    struct hubworld h;
    test_case("large workloads come one to a page");
    start(&h);
    make_cloud(&h, "edge");
    for (int i = 0; i < 3; i++)
        make_job(&h, arena_printf(&h.w.arena, "large-%d", i).ptr, "edge", inlined(&h, repeated(&h, "\"", "x", 380 * KIB, "\"")));
    for (int i = 0; i < 3; i++)
        make_job(&h, arena_printf(&h.w.arena, "wide-%d", i).ptr, "edge", inlined(&h, repeated(&h, "[0", ",0", 95 * 1000, "]")));
    struct client *c = client_new(&h);
    CHECK_INT(read_all(c), 6);
    finish(&h);
}

static void test_many_deleted(void)
{
    enum { MANY = LIMIT_REMOTE_ITEMS + 10 };
    struct hubworld h;
    test_case("more workloads are deleted at once than an answer may have");
    start(&h);
    make_cloud(&h, "edge");
    make_job(&h, "first", "edge", "");
    struct client *c = client_new(&h);
    CHECK_INT(sync_ask(c, "edge", "one", "", ",\"wait\":0"), 200);
    const char *known = revision(&h);
    for (int i = 0; i < MANY; i++) {
        const char *name = arena_printf(&h.w.arena, "w%d", i).ptr;
        create_hub_object(&h.w, "Workload", "workloads", name, "{\"cloud\":\"edge\",\"job\":{\"entrypoint\":\"x\"}}");
    }
    run(&h, 60 * 1000);
    for (int i = 0; i < MANY; i++)
        world_call(&h.w, "DELETE", path_of(&h, "workloads", arena_printf(&h.w.arena, "w%d", i).ptr).ptr, "application/json", SLICE("{}"));
    run(&h, 10 * 1000);
    size_t count = 0;
    for (int i = 0; i < 10 && count < MANY; i++) {
        CHECK_INT(sync_ask(c, "edge", "one", known, ",\"wait\":0"), 200);
        if (!CHECK(is_readable(&h)))
            break;
        count += workloads(&h);
        known = revision(&h);
    }
    CHECK_INT(count, MANY);
    finish(&h);
}

/* A compute config is needed to begin, and not by what runs. */
static void test_config_gone(void)
{
    struct hubworld h;
    test_case("the compute config of what runs is deleted, and the hub starts again: the workload stays in a full answer, its status too");
    start(&h);
    make_cloud(&h, "edge");
    make(&h, "ComputeConfig", "computeconfigs", "small-v1", "{\"head_node\":{}}");
    make_job(&h, "train", "edge", ",\"computeConfig\":{\"name\":\"small\"}");
    make_job(&h, "done", "edge", ",\"computeConfig\":{\"name\":\"small\"}");
    struct client *c = client_new(&h);
    CHECK_INT(sync_ask(c, "edge", "one", "", ",\"wait\":0"), 200);
    CHECK_INT(workloads(&h), 2);
    struct slice train = json_get_str(object_of(&h, "workloads", "train"), "metadata.uid", &h.w.arena),
                 done = json_get_str(object_of(&h, "workloads", "done"), "metadata.uid", &h.w.arena);
    CHECK_INT(sync_ask(c, "edge", "one", revision(&h),
                       arena_printf(&h.w.arena,
                                    ",\"wait\":0,\"statuses\":[{\"uid\":\"%.*s\",\"generation\":1,\"state\":\"RUNNING\"},{\"uid\":\"%.*s\","
                                    "\"generation\":1,\"state\":\"SUCCEEDED\"}]",
                                    SLICE_ARG(train), SLICE_ARG(done))
                           .ptr),
              200);
    CHECK_INT(world_call(&h.w, "DELETE", path_of(&h, "computeconfigs", "small-v1").ptr, "application/json", SLICE("{}")), 200);
    run(&h, 1000);
    hub_down(&h);
    hub_up(&h);
    run(&h, 30 * 1000);
    c = client_new(&h);
    CHECK_INT(sync_ask(c, "edge", "one", "", ",\"wait\":0"), 200);
    CHECK(json_get_bool(json_root(&h.doc), "full", false) && is_readable(&h));
    CHECK_INT(workloads(&h), 2);
    CHECK_STR(state_of(&h, "train", "state"), "RUNNING");
    CHECK_STR(state_of(&h, "done", "state"), "SUCCEEDED");
    test_case("… and can be ended");
    const char *known = revision(&h);
    CHECK_INT(world_call(&h.w, "PATCH", path_of(&h, "workloads", "train").ptr, "application/merge-patch+json",
                         SLICE("{\"spec\":{\"terminate\":true}}")),
              200);
    run(&h, 100);
    CHECK_INT(sync_ask(c, "edge", "one", known, ",\"wait\":0"), 200);
    CHECK_INT(workloads(&h), 1);
    CHECK(json_get_bool(workload_at(&h, 0), "spec.terminate", false));
    test_case("… and is stored again");
    make(&h, "ComputeConfig", "computeconfigs", "small-v1", "{\"head_node\":{}}");
    run(&h, 11 * 1000);
    CHECK_STR(state_of(&h, "done", "state"), "SUCCEEDED");
    finish(&h);
}

/* One pod that shows a token of its own, and its operator, which answers with so many bytes. */
static void refuse_pod(struct client *pod, struct client *op, const char *known, int number, size_t bytes)
{
    struct hubworld *h = op->of;
    struct buf b;
    struct slice id = field(h, "clouds", "edge", "status.deploymentId");
    send(pod, "POST", "/v1/bootstrap", arena_printf(&h->w.arena, "pod-%d", number).ptr,
         arena_printf(&h->w.arena, "{\"cloud\":\"%.*s\"}", SLICE_ARG(id)));
    run(h, 200);
    CHECK_INT(sync_ask(op, "edge", "one", known, ",\"wait\":0"), 200);
    struct slice question = json_get_str(json_at(json_get(json_root(&h->doc), "questions"), 0), "id", &h->w.arena);
    buf_init(&b, MIB);
    buf_printf(&b,
               "{\"protocol\":1,\"cloud\":\"%.*s\",\"instance\":\"one\",\"revision\":\"%s\",\"wait\":0,\"answers\":[{\"id\":\"%.*s\","
               "\"kind\":\"tokenReview\",\"ok\":false,\"error\":\"",
               SLICE_ARG(id), known, SLICE_ARG(question));
    for (size_t i = 0; i < bytes; i++)
        buf_putc(&b, 'x');
    buf_put(&b, SLICE("\"}]}"));
    send(op, "POST", "/v1/sync", "operator", buf_slice(&b));
    buf_free(&b);
    run(h, 200);
    CHECK_INT(answer(op), 200);
    CHECK_INT(answer(pod), 401);
}

static void test_bootstrap(void)
{
    enum { PODS = 40, ANSWER = 512 * KIB };
    struct hubworld h;
    test_case("what an operator answers about pods' tokens is not kept as it comes");
    start(&h);
    make_cloud(&h, "edge");
    struct client *op = client_new(&h), *pod = client_new(&h);
    CHECK_INT(sync_ask(op, "edge", "one", "", ",\"wait\":0"), 200);
    const char *known = revision(&h);
    refuse_pod(pod, op, known, 0, ANSWER);
    uint64_t before = world_heap_bytes();
    for (int i = 1; i < PODS; i++)
        refuse_pod(pod, op, known, i, ANSWER);
    CHECK(world_heap_bytes() < before + 4 * MIB);
    test_case("a bootstrap of more than LIMIT_HUB_BOOTSTRAP is not looked into");
    CHECK_INT(ask(pod, "POST", "/v1/bootstrap", "of-a-pod", repeated(&h, "{\"a\":\"", "x", LIMIT_HUB_BOOTSTRAP - 8, "\"}")), 404);
    CHECK_INT(ask(pod, "POST", "/v1/bootstrap", "of-a-pod", repeated(&h, "{\"a\":\"", "x", LIMIT_HUB_BOOTSTRAP - 7, "\"}")), 413);
    finish(&h);
}

static void test_values(void)
{
    enum { CALLS = LIMIT_HUB_VALUES / LIMIT_JSON_TOKENS + 1 };
    struct hubworld h;
    struct client *c[CALLS];
    uint32_t taken = 0, later = 0;
    test_case("requests of very many values have a bound together, and are taken when there is room");
    start(&h);
    make_cloud(&h, "edge");
    const char *many = repeated(&h, ",\"wait\":0,\"x\":[0", ",0", LIMIT_JSON_TOKENS - 100, "]");
    for (int i = 0; i < CALLS; i++)
        c[i] = client_new(&h);
    CHECK_INT(sync_ask(c[0], "edge", "one", "", ",\"wait\":0"), 200);
    run(&h, HUB_YES_MS + 1000); /* so that all of them wait for the API server */
    for (int i = 0; i < CALLS; i++)
        sync_send(c[i], "edge", "one", "", many);
    run(&h, 500);
    for (int i = 0; i < CALLS; i++) {
        answer(c[i]);
        taken += h.status == 200;
        later += h.status == 429;
    }
    CHECK_INT(taken + later, CALLS);
    CHECK_INT(later, 1);
    CHECK_INT(sync_ask(c[0], "edge", "one", "", many), 200);
    finish(&h);
}

/* A status for each of so many lines, all of one workload. */
static const char *statuses_of(struct hubworld *h, struct slice uid, int count)
{
    struct buf b;
    buf_init(&b, MIB);
    buf_put(&b, SLICE(",\"wait\":0,\"statuses\":["));
    for (int i = 0; i < count; i++)
        buf_printf(&b, "%s{\"uid\":\"%.*s\",\"generation\":1,\"state\":\"RUNNING\",\"message\":\"line %d\"}", i ? "," : "", SLICE_ARG(uid),
                   i);
    buf_putc(&b, ']');
    const char *text = arena_dup(&h->w.arena, buf_slice(&b)).ptr;
    buf_free(&b);
    return text;
}

static void test_same_again(void)
{
    struct hubworld h;
    test_case("a workload that is reported on 2,000 times at once is written once");
    start(&h);
    make_cloud(&h, "edge");
    make_job(&h, "train", "edge", "");
    struct client *c = client_new(&h);
    CHECK_INT(sync_ask(c, "edge", "one", "", ",\"wait\":0"), 200);
    struct slice uid = json_get_str(workload_at(&h, 0), "uid", &h.w.arena);
    const char *known = revision(&h);
    uint64_t before = apiserver_revision(h.w.server);
    CHECK_INT(sync_ask(c, "edge", "one", known, statuses_of(&h, uid, LIMIT_HUB_STATUSES)), 503);
    CHECK_INT(apiserver_revision(h.w.server), before + 1);
    test_case("… and then once more");
    CHECK_INT(sync_ask(c, "edge", "one", known, statuses_of(&h, uid, 1)), 200);
    CHECK_STR(state_of(&h, "train", "message"), "line 0");
    finish(&h);
}

/* ---- tokens ---- */

enum { CALLERS = 8 };

static int list_as(struct client *c, const char *token)
{
    return ask(c, "GET", "/v1/projects/n/clouds", token, "");
}

static void test_unknown_tokens(void)
{
    enum { MANY = 2 * HUB_ADDRESS_BURST };
    struct hubworld h;
    int counts[600] = {0};
    start(&h);
    struct client *ann = client_new(&h), *c[CALLERS];
    for (int i = 0; i < CALLERS; i++)
        c[i] = client_new(&h);
    test_case("a flood of unknown tokens is bounded, and a known caller is answered when its review is over");
    CHECK_INT(list_as(ann, "ann"), 200);
    run(&h, HUB_YES_MS);
    for (int i = 0; i < MANY; i++) {
        send(c[i % CALLERS], "GET", "/v1/projects/n/clouds", arena_printf(&h.w.arena, "bad-%d", i).ptr, SLICE(""));
        if (i % CALLERS < CALLERS - 1)
            continue;
        run(&h, 1);
        for (int k = 0; k < CALLERS; k++)
            counts[answer(c[k])]++;
    }
    run(&h, 20);
    for (int k = 0; k < CALLERS; k++)
        counts[answer(c[k])]++;
    CHECK(counts[401] >= HUB_ADDRESS_BURST && counts[401] <= HUB_ADDRESS_BURST + 10);
    CHECK_INT(counts[429], MANY - counts[401]);
    CHECK_INT(list_as(ann, "ann"), 200);
    test_case("an unknown caller gets 429 meanwhile, and is reviewed when the flood is over");
    run(&h, HUB_ADDRESS_MS * (HUB_ADDRESS_BURST + 1));
    CHECK_INT(list_as(c[0], "bob"), 200);
    finish(&h);
}

/* A JWT with these claims. The model API server takes the whole token as the name of the user. */
static const char *jwt(struct hubworld *h, const char *claims)
{
    __attribute__((cleanup(buf_free))) struct buf b = {.max = KIB};
    base64_encode(slice_of(claims), &b);
    for (size_t i = 0; i < b.len; i++)
        b.ptr[i] = b.ptr[i] == '+' ? '-' : b.ptr[i] == '/' ? '_' : b.ptr[i];
    while (b.len && b.ptr[b.len - 1] == '=')
        b.len--;
    return arena_printf(&h->w.arena, "x.%.*s.y", SLICE_ARG(buf_slice(&b))).ptr;
}

static void test_audience(void)
{
    static const struct {
        const char *claims;
        int status;
    } cases[] = {
        {"{\"aud\":[\"mobula.dev/control-plane\"],\"sub\":\"a\"}", 200},
        {"{\"aud\":\"mobula.dev/control-plane\"}", 200},
        {"{\"aud\":[\"https://kubernetes.default.svc\",\"mobula.dev/control-plane\"]}", 200},
        {"{\"aud\":[\"https://kubernetes.default.svc\"]}", 200},
        {"{\"aud\":7}", 200},
        {"not json", 200},
    };
    struct hubworld h;
    start(&h);
    struct client *c = client_new(&h);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("token with %s", cases[i].claims);
        CHECK_INT(list_as(c, jwt(&h, cases[i].claims)), cases[i].status);
    }
    test_case("a server that does not know audiences accepts a token for any: its yes does not count");
    CHECK_INT(list_as(c, arena_printf(&h.w.arena, "%s-unaware", jwt(&h, cases[0].claims)).ptr), 401);
    CHECK_INT(list_as(c, arena_printf(&h.w.arena, "%s-unaware", jwt(&h, cases[3].claims)).ptr), 200);
    finish(&h);
}

/* ---- control characters in reports, and answers that do not tell what exists ---- */

static void test_dirty_text(void)
{
    struct hubworld h;
    start(&h);
    make_cloud(&h, "edge");
    make_job(&h, "w1", "edge", "");
    struct client *c = client_new(&h);
    CHECK_INT(sync_ask(c, "edge", "one", "", ",\"wait\":0"), 200);
    struct slice uid = json_get_str(workload_at(&h, 0), "uid", &h.w.arena);
    test_case("words of an operator are stored as one line without control characters, and addresses of the web alone");
    CHECK_INT(
        sync_ask(c, "edge", "one", revision(&h),
                 arena_printf(&h.w.arena,
                              ",\"wait\":0,\"statuses\":[{\"uid\":\"%.*s\",\"generation\":1,\"state\":\"RUN\\u001bNING\","
                              "\"reason\":\"A\\nB\",\"message\":\"\\u001b[2J\\u0007hi\\nW2 SUCCEEDED\\u009b\\nlog:\\none\\u001b\\n  two\","
                              "\"objects\":[{\"kind\":\"Ray\\nJob\",\"other\":1}],\"urls\":[{\"name\":\"x\",\"url\":"
                              "\"javascript:alert(1)\"},{\"name\":\"d\",\"url\":\"https://d/\"},{\"url\":\"http://a\\n\"}]}]",
                              SLICE_ARG(uid))
                     .ptr),
        200);
    CHECK_STR(state_of(&h, "w1", "state"), "RUN NING");
    CHECK_STR(state_of(&h, "w1", "reason"), "A B");
    CHECK_STR(state_of(&h, "w1", "message"), "[2J hi W2 SUCCEEDED\nlog:\none \n  two");
    struct jval status = json_get(object_of(&h, "workloads", "w1"), "status");
    CHECK_STR(json_raw(json_get(status, "objects")), "[{\"kind\":\"Ray Job\"}]");
    CHECK_STR(json_raw(json_get(status, "urls")), "[{\"name\":\"d\",\"url\":\"https://d/\"}]");
    test_case("a message that is the end of a log alone keeps its lines");
    CHECK_INT(sync_ask(c, "edge", "one", revision(&h),
                       arena_printf(&h.w.arena,
                                    ",\"wait\":0,\"statuses\":[{\"uid\":\"%.*s\",\"generation\":1,\"sequence\":2,\"state\":\"RUNNING\","
                                    "\"message\":\"log:\\none\\ntwo\"}]",
                                    SLICE_ARG(uid))
                           .ptr),
              200);
    CHECK_STR(state_of(&h, "w1", "message"), "log:\none\ntwo");
    test_case("lists too, and components; a name of an instance with control characters is refused");
    CHECK_INT(sync_ask(c, "edge", "one", "",
                       ",\"wait\":0,\"nodes\":{\"hash\":\"b\",\"items\":[{\"name\":\"n\\n1\",\"cpu\":[1,true]}]},\"health\":{"
                       "\"components\":[{\"name\":\"X\\u001b\",\"state\":\"ERROR\",\"message\":\"no\\nyes\"}]}"),
              200);
    status = json_get(object_of(&h, "clouds", "edge"), "status");
    CHECK_STR(json_raw(json_get(status, "nodes.items")), "[{\"name\":\"n 1\",\"cpu\":[1,true]}]");
    CHECK_STR(json_get_str(json_at(json_get(status, "components"), 0), "details", &h.w.arena), "no yes");
    CHECK_INT(sync_ask(c, "edge", "one\\n", "", ",\"wait\":0"), 400);
    test_case("more components, and a larger list, than are stored");
    CHECK_INT(sync_ask(c, "edge", "one", "",
                       repeated(&h, ",\"wait\":0,\"health\":{\"components\":[{\"name\":\"X\",\"state\":\"OK\"}",
                                ",{\"name\":\"X\",\"state\":\"OK\"}", LIMIT_HUB_ITEMS,
                                repeated(&h, "]},\"nodes\":{\"hash\":\"c\",\"items\":[\"", "x", LIMIT_HUB_LIST, "\"]}"))),
              200);
    status = json_get(object_of(&h, "clouds", "edge"), "status");
    CHECK_INT(json_len(json_get(status, "components")), LIMIT_HUB_ITEMS);
    CHECK_STR(json_raw(json_get(status, "nodes.items")), "[]");
    CHECK(slice_has(json_get_str(status, "nodes.message", &h.w.arena), "LIMIT_HUB_LIST"));
    finish(&h);
}

static void test_no_oracle(void)
{
    struct hubworld h;
    start(&h);
    make_cloud(&h, "edge");
    make_job(&h, "train", "edge", ",\"workingDir\":\"upload:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"");
    struct client *c = client_new(&h);
    test_case("a folder that exists and one that does not are the same to a stranger");
    CHECK_INT(ask(c, "GET", "/v1/projects/n/workloads/train/folder", "nobody", ""), 404);
    struct slice there = arena_dup(&h.w.arena, said(&h, "error.message"));
    CHECK_INT(ask(c, "GET", "/v1/projects/n/workloads/other/folder", "nobody", ""), 404);
    CHECK_STR(said(&h, "error.message"), arena_dup(&h.w.arena, there).ptr);
    test_case("and so is a project that is served to one that is not");
    CHECK_INT(ask(c, "GET", "/v1/projects/n/workloads", "nobody", ""), 403);
    CHECK_INT(ask(c, "GET", "/v1/projects/other/workloads", "nobody", ""), 403);
    CHECK_INT(ask(c, "GET", "/v1/projects/other/workloads", "ann", ""), 404);
    finish(&h);
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    test_unfit();
    test_pages();
    test_many_deleted();
    test_config_gone();
    test_bootstrap();
    test_values();
    test_same_again();
    test_unknown_tokens();
    test_audience();
    test_dirty_text();
    test_no_oracle();
    return test_done();
}
