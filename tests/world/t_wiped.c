/* What has held a cluster's token is wiped before its memory is given back, whatever becomes of the request and of the cluster. */
#include "scaled.h"

static const char secrets[] = "/api/v1/namespaces/n/secrets";
static const char generated[] = "\"rayVersion\":\"2.60.0\",\"authOptions\":{\"mode\":\"token\"},";
static const char named[] = "\"rayVersion\":\"2.60.0\",\"authOptions\":{\"mode\":\"token\",\"secretName\":\"mine\"},";
static const char theirs[] = "a-token-that-is-nowhere-else", theirs_encoded[] = "YS10b2tlbi10aGF0LWlzLW5vd2hlcmUtZWxzZQ==";

enum {
    CLOSED_MS = 2 * NET_IDLE_MS, /* by then no connection is kept that was used before */
    OTHER = 16 * 1000,
};

/* Answers that hold the token. */
static struct tally {
    struct world_hooks hooks; /* first */
    const char *method;       /* of requests for Secrets … */
    uint32_t cut;             /* … of which so many are answered with a beginning only … */
    uint32_t bytes;           /* … of this length */
    uint32_t sent, served;
} tally;

static bool is_meant(const struct tally *t, const struct world_request *q)
{
    return memmem(q->target.ptr, q->target.len, "/secrets", 8) && slice_eq(q->method, slice_of(t->method));
}

static void sent(struct world_hooks *hooks, struct world_request *q)
{
    struct tally *t = (struct tally *)hooks;
    t->sent += is_meant(t, q);
}

static void arrived(struct world_hooks *hooks, struct world_request *q)
{
    struct tally *t = (struct tally *)hooks;
    if (!is_meant(t, q))
        return;
    t->served++;
    if (t->cut == 0)
        return;
    t->cut--;
    q->fate = FATE_ANSWER_CUT;
    q->bytes = t->bytes;
}

static void begin(struct world *w, const char *method)
{
    make_scaled_world(w, false);
    tally = (struct tally){.hooks = {.sent = sent, .arrived = arrived}, .method = method};
    w->hooks = &tally.hooks;
}

/* Beside something that is larger than what a connection keeps of its memory. */
static void put_theirs(struct world *w)
{
    static const char body[] = "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"mine\",\"namespace\":\"n\"},"
                               "\"data\":{\"auth_token\":\"%s\",\"other\":\"%0*d\"}}";
    CHECK_INT(world_call(w, "POST", secrets, "application/json", arena_printf(&w->arena, body, theirs_encoded, OTHER, 0)), 201);
    world_heap_search(w, theirs, theirs_encoded);
}

/* Looks for the token that the operator has made, as soon as it is stored. */
static void look_for_made(struct world *w)
{
    struct json doc;
    struct err e = {0};
    struct buf text;
    struct slice object = SLICE_NONE;
    for (int i = 0; i < 5000 && slice_empty(object); i++) {
        world_step(w, w->now.mono_ms + 1);
        object = apiserver_get(w->server, SLICE("secrets"), SLICE("n"), SLICE("c"), &w->arena);
    }
    buf_init(&text, KIB);
    if (CHECK(json_parse(&doc, object, &w->arena, &e))) {
        struct slice encoded = json_get_str(json_root(&doc), "data.auth_token", &w->arena);
        CHECK(base64_decode(encoded, &text, &e));
        const char *plain = arena_printf(&w->arena, "%.*s", SLICE_ARG(buf_slice(&text))).ptr;
        head_of(w, "c")->fake.token = plain;
        world_heap_search(w, plain, arena_printf(&w->arena, "%.*s", SLICE_ARG(encoded)).ptr);
    }
    buf_free(&text);
}

static void forget(struct world *w)
{
    CHECK_INT(world_call(w, "DELETE", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/json", SLICE_NONE), 200);
}

static void finish(struct world *w)
{
    world_run(w, CLOSED_MS);
    CHECK_INT(world_heap_found(), 0);
    world_free(w);
}

static void test_made(void)
{
    struct world w;
    test_case("a token that is made, read and used, in small pieces");
    begin(&w, "GET");
    w.path.piece_max = 100;
    apply_scaled(&w, &(struct scaled){.name = "c", .more = generated});
    look_for_made(&w);
    world_run(&w, 20 * 1000);
    CHECK_STR(scaling_condition(&w, "c", "status"), "True");
    CHECK_INT(tally.served, 1);
    forget(&w);
    finish(&w);
    test_case("… and its cluster goes before the answer is there");
    begin(&w, "POST");
    w.path.latency_ms = 300;
    apply_scaled(&w, &(struct scaled){.name = "c", .more = generated});
    for (int i = 0; i < 5000 && tally.sent == 0; i++)
        world_step(&w, w.now.mono_ms + 1);
    forget(&w);
    look_for_made(&w);
    world_run(&w, 310);
    CHECK(world_cut_all(&w) > 0); /* before another answer takes its place */
    finish(&w);
    CHECK_INT(tally.served, 1);
    test_case("… or the answer is lost on the way, and it is looked up");
    begin(&w, "POST");
    tally.cut = 1;
    tally.bytes = 400;
    apply_scaled(&w, &(struct scaled){.name = "c", .more = generated});
    look_for_made(&w);
    world_run(&w, 20 * 1000);
    CHECK_STR(scaling_condition(&w, "c", "status"), "True");
    CHECK_INT(tally.cut, 0);
    finish(&w);
    test_case("… and nothing of it is left where answers are read");
    begin(&w, "GET");
    CHECK_INT(world_call(&w, "POST", secrets, "application/json",
                         arena_printf(&w.arena,
                                      "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\"},"
                                      "\"data\":{\"auth_token\":\"%s\"}}",
                                      theirs_encoded)),
              201);
    world_heap_search(&w, theirs, theirs_encoded);
    apply_scaled(&w, &(struct scaled){.name = "c", .more = generated});
    for (int i = 0; i < 5000 && pods_of(&w, "c") == 0; i++)
        world_step(&w, w.now.mono_ms + 1);
    CHECK_INT(tally.served, 1);
    w.turn = &w.process[0];
    world_crash(&w, 0);
    w.turn = NULL;
    CHECK_INT(world_heap_found(), 0);
    world_free(&w);
}

static void test_read(void)
{
    struct world w;
    test_case("a token of the user's: its cluster goes while it is read, in pieces");
    begin(&w, "GET");
    w.path.piece_max = 6000;
    put_theirs(&w);
    apply_scaled(&w, &(struct scaled){.name = "c", .more = named});
    for (int i = 0; i < 30000 && tally.served == 0; i++) {
        w.path.latency_ms = pods_of(&w, "c") ? 300 : 0;
        world_step(&w, w.now.mono_ms + 1);
    }
    CHECK_INT(tally.served, 1);
    forget(&w);
    finish(&w);
    test_case("… or the answer is cut, three times");
    begin(&w, "GET");
    tally.cut = 3;
    tally.bytes = OTHER;
    put_theirs(&w);
    apply_scaled(&w, &(struct scaled){.name = "c", .more = named});
    head_of(&w, "c")->fake.token = theirs;
    world_run(&w, 60 * 1000);
    CHECK_STR(scaling_condition(&w, "c", "status"), "True");
    CHECK_INT(tally.cut, 0);
    finish(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_made();
    test_read();
    return test_done();
}
