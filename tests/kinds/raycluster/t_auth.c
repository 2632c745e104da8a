/* Clusters with authOptions: heads that ask for a token, which the operator has from the cluster's Secret and shows nowhere else. */
#include "tests/world/jobs.h"
#include "tests/world/scaled.h"

#include <mobula/raycluster.h>

static const char secrets[] = "/api/v1/namespaces/n/secrets", pod_kind[] = "pods", cluster_kind[] = "rayclusters.ray.io";
static const char generated[] = "\"rayVersion\":\"2.60.0\",\"authOptions\":{\"mode\":\"token\"},";
static const char named[] = "\"rayVersion\":\"2.60.0\",\"authOptions\":{\"mode\":\"token\",\"secretName\":\"mine\"},";

/* ---- what goes to the API server about Secrets ---- */

static struct tally {
    struct world_hooks hooks; /* first */
    uint32_t gets, posts, others;
    const char *token; /* NULL: none yet */
    uint32_t shown;    /* requests that hold it */
} tally;

static void began(struct world_hooks *hooks, struct world_request *q)
{
    struct tally *t = (struct tally *)hooks;
    if (!memmem(q->target.ptr, q->target.len, "/secrets", 8))
        return;
    bool get = slice_eq(q->method, SLICE("GET")), post = slice_eq(q->method, SLICE("POST"));
    t->gets += get;
    t->posts += post;
    t->others += !get && !post;
}

static void sent(struct world_hooks *hooks, struct world_request *q)
{
    struct tally *t = (struct tally *)hooks;
    size_t len = t->token ? strlen(t->token) : 0;
    if (len && (memmem(q->body.ptr, q->body.len, t->token, len) || memmem(q->head.ptr, q->head.len, t->token, len) ||
                memmem(q->target.ptr, q->target.len, t->token, len)))
        t->shown++;
}

static void begin_tally(struct world *w)
{
    tally = (struct tally){.hooks = {.began = began, .sent = sent}};
    w->hooks = &tally.hooks;
}

static void begin(struct world *w)
{
    make_scaled_world(w, false);
    begin_tally(w);
}

/* ---- Secrets ---- */

static void put_secret(struct world *w, const char *method, const char *name, const char *token)
{
    bool post = strcmp(method, "POST") == 0;
    struct slice body = arena_printf(&w->arena,
                                     "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                                     "\"stringData\":{\"auth_token\":\"%s\"}}",
                                     name, token);
    struct slice path = arena_printf(&w->arena, "%s%s%s", secrets, post ? "" : "/", post ? "" : name);
    CHECK_INT(world_call(w, method, path.ptr, post ? "application/json" : "application/merge-patch+json", body), post ? 201 : 200);
}

/* The token that the kubelet would give to the pods; NULL: there is none. */
static const char *token_in(struct world *w, const char *name)
{
    struct json doc;
    struct err e = {0};
    struct buf text;
    struct slice object = apiserver_get(w->server, SLICE("secrets"), SLICE("n"), slice_of(name), &w->arena);
    if (slice_empty(object) || !json_parse(&doc, object, &w->arena, &e))
        return NULL;
    buf_init(&text, KIB);
    CHECK(base64_decode(json_get_str(json_root(&doc), "data.auth_token", &w->arena), &text, &e));
    const char *token = arena_printf(&w->arena, "%.*s", SLICE_ARG(buf_slice(&text))).ptr;
    buf_free(&text);
    return token;
}

/* ---- tests ---- */

static void test_made(void)
{
    struct world w;
    struct err e = {0};
    struct buf raw;
    begin(&w);
    test_case("a Secret is made before the head, which is asked with its token");
    apply_scaled(&w, &(struct scaled){.name = "c", .more = generated});
    for (int i = 0; i < 5000 && !token_in(&w, "c"); i++)
        world_step(&w, w.now.mono_ms + 1);
    CHECK_INT(pods_of(&w, "c"), 0);
    const char *token = token_in(&w, "c");
    if (!CHECK(token != NULL))
        token = "";
    buf_init(&raw, KIB);
    CHECK(base64_decode(slice_of(token), &raw, &e));
    CHECK_INT(raw.len, RAY_TOKEN_BYTES);
    buf_free(&raw);
    CHECK(says(&w, "secrets", "c", "\"ownerReferences\":[{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"name\":\"c\""));
    tally.token = token;
    struct fakeray *h = head_of(&w, "c");
    h->fake.token = token;
    fakeray_work(h, 0, 1, 3, false);
    CHECK(run_until_workers(&w, "c", 2, 30 * 1000) < 30 * 1000);
    world_run(&w, 10 * 1000);
    CHECK_STR(scaling_condition(&w, "c", "status"), "True");
    CHECK(says(&w, pod_kind, "c-head", "\"secretKeyRef\":{\"key\":\"auth_token\",\"name\":\"c\"}"));
    test_case("it is made once and read once, and stands nowhere else");
    CHECK_INT(tally.posts, 1);
    CHECK_INT(tally.gets, 1);
    CHECK_INT(tally.others, 0);
    CHECK_INT(tally.shown, 0);
    test_case("a new head has the same");
    CHECK_INT(world_call(&w, "DELETE", "/api/v1/namespaces/n/pods/c-head", "application/json", SLICE_NONE), 200);
    world_run(&w, 20 * 1000);
    CHECK(says(&w, pod_kind, "c-head", "uid") && strcmp(token_in(&w, "c"), token) == 0);
    CHECK_STR(scaling_condition(&w, "c", "status"), "True");
    test_case("it goes with the cluster");
    CHECK_INT(world_call(&w, "DELETE", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/json", SLICE_NONE), 200);
    world_run(&w, 10 * 1000);
    CHECK(!token_in(&w, "c"));
    world_free(&w);
}

static void test_unneeded(void)
{
    struct world w;
    test_case("clusters without authOptions, or without anything to ask: no Secret is looked at");
    begin(&w);
    apply_scaled(&w, &(struct scaled){.name = "open"});
    apply_scaled(&w, &(struct scaled){.name = "off", .more = "\"authOptions\":{\"mode\":\"disabled\"},"});
    CHECK_INT(world_call(&w, "POST", v1, "application/json", cluster_body(&w, "quiet", 1, named)), 201);
    world_run(&w, 30 * 1000);
    CHECK(is_ready(&w, "open") && is_ready(&w, "off") && is_ready(&w, "quiet"));
    CHECK_STR(scaling_condition(&w, "open", "status"), "True");
    CHECK_INT(tally.gets + tally.posts + tally.others, 0);
    world_free(&w);
}

static bool said(struct world *w, const char *reason, const char *words)
{
    struct slice message = scaling_condition(w, "c", "message");
    bool well = slice_eq(scaling_condition(w, "c", "reason"), slice_of(reason)) && memmem(message.ptr, message.len, words, strlen(words));
    if (!well)
        printf("  %.*s: %.*s\n", SLICE_ARG(scaling_condition(w, "c", "reason")), SLICE_ARG(message));
    return well && slice_eq(scaling_condition(w, "c", "status"), SLICE("False"));
}

static void test_missing(void)
{
    struct world w;
    test_case("a Secret of the user's that is not there");
    begin(&w);
    apply_scaled(&w, &(struct scaled){.name = "c", .more = named, .replicas = 1});
    head_of(&w, "c")->fake.token = "theirs";
    world_run(&w, 20 * 1000);
    CHECK(said(&w, "TokenMissing", "Secret mine cannot be read: it does not exist"));
    CHECK_INT(tally.posts, 0);
    CHECK_INT(workers_of(&w, "c"), 1);
    test_case("… has no such key");
    CHECK_INT(world_call(&w, "POST", secrets, "application/json",
                         SLICE("{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"mine\",\"namespace\":\"n\"}}")),
              201);
    world_run(&w, RAY_TOKEN_AGAIN_MAX_MS);
    CHECK(said(&w, "TokenMissing", "it has no key auth_token"));
    test_case("… holds what no header may have");
    put_secret(&w, "PATCH", "mine", "two words");
    world_run(&w, RAY_TOKEN_AGAIN_MAX_MS);
    CHECK(said(&w, "TokenMissing", "holds a byte that no header may have, at 3"));
    test_case("… is right, but for the end of a line");
    put_secret(&w, "PATCH", "mine", "theirs\\n");
    world_run(&w, RAY_TOKEN_AGAIN_MAX_MS);
    CHECK_STR(scaling_condition(&w, "c", "status"), "True");
    world_free(&w);
}

static void test_forbidden(void)
{
    struct world w;
    test_case("no right to read it");
    begin(&w);
    put_secret(&w, "POST", "mine", "theirs");
    override(&w, "GET", "/api/v1/namespaces/n/secrets", 403, false, 1000);
    apply_scaled(&w, &(struct scaled){.name = "c", .more = named});
    head_of(&w, "c")->fake.token = "theirs";
    world_run(&w, 60 * 1000);
    CHECK(said(&w, "TokenMissing", "Secret mine cannot be read: (mobula install --ray-auth prints the right) 403 Forbidden"));
    CHECK(tally.gets > 1 && tally.gets < 12);
    world_free(&w);
    test_case("no right to make it: no head without it");
    begin(&w);
    override(&w, "POST", "/api/v1/namespaces/n/secrets", 403, false, 1000);
    apply_scaled(&w, &(struct scaled){.name = "c", .more = generated});
    world_run(&w, 3000);
    CHECK_INT(pods_of(&w, "c"), 0);
    CHECK(says(&w, cluster_kind, "c", "secrets c of authOptions (mobula install --ray-auth prints the rights): 403"));
    world_free(&w);
}

static void test_wrong(void)
{
    struct world w;
    test_case("a head that has another token: nothing goes");
    begin(&w);
    put_secret(&w, "POST", "mine", "first");
    apply_scaled(&w, &(struct scaled){.name = "c", .more = named, .replicas = 3, .idle = 60});
    struct fakeray *h = head_of(&w, "c");
    h->fake.token = "first";
    world_run(&w, 20 * 1000);
    CHECK_STR(scaling_condition(&w, "c", "status"), "True");
    CHECK_INT(workers_of(&w, "c"), 3);
    h->fake.token = "second";
    fakeray_restart(h);
    world_run(&w, 120 * 1000);
    CHECK(said(&w, "TokenRefused", "it is not the one in Secret mine: delete the head's pod, or put the old one back"));
    CHECK_INT(workers_of(&w, "c"), 3);
    uint32_t gets = tally.gets;
    CHECK(gets > 1 && gets < 10);
    test_case("… and when the Secret has it too, it is read again, and what is idle goes");
    put_secret(&w, "PATCH", "mine", "second");
    world_run(&w, RAY_TOKEN_AGAIN_MAX_MS);
    CHECK_STR(scaling_condition(&w, "c", "status"), "True");
    CHECK_INT(workers_of(&w, "c"), 0);
    gets = tally.gets;
    world_run(&w, RAY_TOKEN_AGAIN_MAX_MS);
    CHECK_INT(tally.gets, gets);
    world_free(&w);
    test_case("a head that asks for a token in a cluster that does not say so");
    begin(&w);
    apply_scaled(&w, &(struct scaled){.name = "c"});
    head_of(&w, "c")->fake.token = "theirs";
    world_run(&w, 20 * 1000);
    CHECK(said(&w, "TokenRefused", "spec.authOptions says which Secret"));
    CHECK_INT(tally.gets, 0);
    world_free(&w);
}

/* ---- tlsOptions: the CA in a Secret takes the token's place ---- */

#define TLS "\"tlsOptions\":{\"enabled\":true},"

/* Starts a world with the program in a ConfigMap, because init container ray-cert needs it. */
static void begin_tls(struct world *w)
{
    make_unstarted_scaled_world(w);
    w->executable = SLICE("program");
    world_start_operator(w, false);
    begin_tally(w);
}

/* Waits for its two workers; its head. */
static struct fakeray *start_tls_cluster(struct world *w)
{
    apply_scaled(w, &(struct scaled){.name = "c", .more = TLS});
    struct fakeray *h = head_of(w, "c");
    h->tls = true;
    fakeray_work(h, 0, 1, 3, false);
    CHECK(run_until_workers(w, "c", 2, 30 * 1000) < 30 * 1000);
    world_run(w, 10 * 1000);
    CHECK_STR(scaling_condition(w, "c", "status"), "True");
    return h;
}

/* Lets so many days pass and gives the head another demand; the number of times that Secrets are read meanwhile. */
static uint32_t gets_in_days(struct world *w, struct fakeray *h, int days, uint32_t demand)
{
    uint32_t before = tally.gets;
    w->now.wall_us += days * TIME_DAY_US;
    fakeray_work(h, 0, 1, demand, false);
    world_run(w, 30 * 1000);
    CHECK_STR(scaling_condition(w, "c", "status"), "True");
    return tally.gets - before;
}

static void test_ca(void)
{
    struct world w;
    test_case("the CA is created before the head, and requests to the head use a certificate that it signed");
    begin_tls(&w);
    struct fakeray *h = start_tls_cluster(&w);
    CHECK(says(&w, "secrets", "c-ray-ca", "\"type\":\"kubernetes.io/tls\""));
    CHECK(says(&w, "secrets", "c-ray-ca", "\"kind\":\"RayCluster\",\"name\":\"c\""));
    CHECK(says(&w, pod_kind, "c-head", "\"secretName\":\"c-ray-ca\""));
    CHECK_INT(tally.posts, 1);
    CHECK_INT(tally.gets, 1);
    test_case("a head with another CA is reported, and the Secret is read again");
    h->tls = false;
    fakeray_restart(h);
    world_run(&w, 120 * 1000);
    CHECK(says(&w, cluster_kind, "c", "it is not the one in Secret c-ray-ca"));
    CHECK(tally.gets > 1 && tally.gets < 10);
    h->tls = true;
    world_run(&w, 60 * 1000);
    CHECK_STR(scaling_condition(&w, "c", "status"), "True");
    test_case("the operator's certificate is renewed long before it expires");
    CHECK_INT(gets_in_days(&w, h, 50, 1), 1);
    test_case("Ray's are not, as long as its pods run: that is said when they are old");
    CHECK(!says(&w, cluster_kind, "c", STATUS_CERTIFICATES));
    gets_in_days(&w, h, RAYCLUSTER_CERTIFICATE_OLD_DAYS - 50, 2);
    CHECK(says(&w, cluster_kind, "c", STATUS_CERTIFICATES));
    CHECK(tells(&w, STATUS_CERTIFICATES, "the certificate of pod c-head ends on "));
    world_free(&w);
}

static void test_ca_of_the_users(void)
{
    struct world w;
    test_case("no head without the user's CA, or without the right to create a CA");
    begin_tls(&w);
    struct slice body = cluster_body(&w, "c", 1, TLS);
    static const char from[] = "\"metadata\":{", into[] = "\"metadata\":{\"annotations\":{\"mobula.dev/tls-secret\":\"theirs\"},";
    const char *at = strstr(body.ptr, from);
    body = arena_printf(&w.arena, "%.*s%s%s", (int)(at - body.ptr), body.ptr, into, at + strlen(from));
    CHECK_INT(world_call(&w, "POST", v1, "application/json", body), 201);
    world_run(&w, 3000);
    CHECK_INT(pods_of(&w, "c"), 0);
    CHECK_INT(tally.posts, 0);
    CHECK(says(&w, cluster_kind, "c", "secrets theirs of tlsOptions: 404 NotFound"));
    override(&w, "POST", "/api/v1/namespaces/n/secrets", 403, false, 1000);
    CHECK_INT(world_call(&w, "POST", v1, "application/json", cluster_body(&w, "d", 1, TLS)), 201);
    world_run(&w, 3000);
    CHECK_INT(pods_of(&w, "d"), 0);
    CHECK(says(&w, cluster_kind, "d", "secrets d-ray-ca of tlsOptions (mobula install --ray-auth prints the rights): 403"));
    world_free(&w);
    test_case("no head without the program, which makes certificates in pods");
    begin(&w);
    CHECK_INT(world_call(&w, "POST", v1, "application/json", cluster_body(&w, "c", 1, TLS)), 201);
    world_run(&w, 3000);
    CHECK_INT(pods_of(&w, "c"), 0);
    CHECK(says(&w, cluster_kind, "c", "tlsOptions: with --tools=none no pod gets the program"));
    world_free(&w);
}

static void put_base64(struct buf *out, const char *before, const struct buf *text)
{
    buf_put(out, slice_of(before));
    base64_encode(buf_slice(text), out);
}

/* Creates the CA's Secret before the operator does, with a CA that ends in so many days. */
static void put_ca(struct world *w, const char *name, int days)
{
    struct buf cert, key, body;
    struct err e = {0};
    int64_t now = w->now.wall_us, day = TIME_DAY_US;
    buf_init(&cert, 16 * KIB);
    buf_init(&key, 16 * KIB);
    buf_init(&body, 16 * KIB);
    CHECK(tls_issue(&(struct tls_issue){.not_before_us = now - day, .not_after_us = now + days * day}, &cert, &key, &e));
    buf_printf(&body, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"data\":", name);
    put_base64(&body, "{\"tls.crt\":\"", &cert);
    put_base64(&body, "\",\"tls.key\":\"", &key);
    buf_put(&body, SLICE("\"}}"));
    CHECK_INT(world_call(w, "POST", secrets, "application/json", buf_slice(&body)), 201);
    buf_free(&cert);
    buf_free(&key);
    buf_free(&body);
}

static void test_ca_that_ends_soon(void)
{
    struct world w;
    test_case("a CA that ends before the operator's certificate would be renewed: it is renewed after half of what is left");
    begin_tls(&w);
    put_ca(&w, "c-ray-ca", 20);
    struct fakeray *h = start_tls_cluster(&w);
    CHECK_INT(gets_in_days(&w, h, 9, 1), 0);
    CHECK_INT(gets_in_days(&w, h, 2, 3), 1);
    world_free(&w);
}

static void test_volume_of_the_users(void)
{
    static const char from[] = "\"containers\":[", volume[] = "\"volumes\":[{\"name\":\"ray-ca\",\"secret\":{\"secretName\":\"theirs\"}}],";
    struct world w;
    struct slice list;
    test_case("a volume ray-ca of the user's, without tlsOptions, is no CA for workers or the operator");
    begin_tls(&w);
    struct slice body = cluster_body(&w, "c", 1, "");
    const char *at = strstr(body.ptr, from);
    body = arena_printf(&w.arena, "%.*s%s%s", (int)(at - body.ptr), body.ptr, volume, at);
    CHECK_INT(world_call(&w, "POST", v1, "application/json", body), 201);
    world_run(&w, 20 * 1000);
    CHECK(is_ready(&w, "c") && says(&w, pod_kind, "c-head", "\"secretName\":\"theirs\""));
    scale(&w, "c", 3);
    world_run(&w, 20 * 1000);
    CHECK_INT(pods_of(&w, "c"), 4);
    CHECK_INT(world_ask(&w, "GET", pods_path, "application/json", SLICE_NONE, &list), 200);
    CHECK(slice_find_text(list, "RAY_USE_TLS") < 0);
    CHECK(!says(&w, cluster_kind, "c", "CA is another"));
    CHECK_INT(tally.gets, 0);
    world_free(&w);
}

static void apply_auth_job(struct world *w, const char *name)
{
    static const char mark[] = "\"headGroupSpec\"";
    struct slice cluster = cluster_body(w, "c", 1, named);
    const char *at = strstr(cluster.ptr, "\"spec\":");
    struct slice spec = slice_skip(cluster, (size_t)(at - cluster.ptr) + 7);
    spec.len--; /* the brace of the whole */
    CHECK(strstr(spec.ptr, mark) != NULL);
    struct slice body = arena_printf(&w->arena,
                                     "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayJob\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                                     "\"spec\":{\"entrypoint\":\"python p.py\",\"rayClusterSpec\":%.*s}}",
                                     name, SLICE_ARG(spec));
    CHECK_INT(world_call(w, "POST", jobs_path, "application/json", body), 201);
}

static void test_jobs(void)
{
    struct world w;
    test_case("a job on a cluster that asks for a token");
    make_job_world(&w, false);
    put_secret(&w, "POST", "mine", "first");
    apply_auth_job(&w, "j");
    for (int k = 0; k < 1000 && slice_empty(job_says(&w, "j", "rayClusterName")); k++)
        world_step(&w, w.now.mono_ms + 1);
    ray_of(&w, "j")->fake.token = "first";
    CHECK(run_until(&w, "j", "Running", 20 * 1000));
    CHECK_STR(job_says(&w, "j", "message"), "");
    test_case("… whose head takes another one for a while");
    ray_of(&w, "j")->fake.token = "second";
    world_run(&w, 30 * 1000);
    struct slice message = job_says(&w, "j", "message");
    CHECK(memmem(message.ptr, message.len, "it is not the one in Secret mine", 32));
    CHECK(job_is(&w, "j", "Running"));
    ray_of(&w, "j")->fake.token = "first";
    CHECK(run_until(&w, "j", "Complete", 60 * 1000));
    CHECK_INT(board.submits, 1);
    end_job_world(&w);
    test_case("a job whose cluster's Secret is not there says so");
    make_job_world(&w, false);
    apply_auth_job(&w, "j");
    world_run(&w, 20 * 1000);
    message = job_says(&w, "j", "message");
    CHECK(memmem(message.ptr, message.len, "the token in Secret mine cannot be read: it does not exist", 58));
    put_secret(&w, "POST", "mine", "first");
    CHECK(run_until(&w, "j", "Complete", RAY_TOKEN_AGAIN_MAX_MS));
    end_job_world(&w);
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    test_made();
    test_unneeded();
    test_missing();
    test_forbidden();
    test_wrong();
    test_jobs();
    test_ca();
    test_ca_of_the_users();
    test_ca_that_ends_soon();
    test_volume_of_the_users();
    return test_done();
}
