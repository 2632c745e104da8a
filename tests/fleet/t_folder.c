/* The folder of a job, at the control plane: who stores it, what is stored, who gets it. */
#include "hubworld.h"

#include <mobula/tls.h>
#include <mobula/work.h>

#define PATH "/v1/projects/n/workloads/train/folder"

/* "zip file" and "zip fil2" in base64; SHA-256 of the first. */
#define DATA "emlwIGZpbGU="
#define OTHER "emlwIGZpbDI="

static const char *hash_of(struct hubworld *h, struct slice bytes)
{
    char hex[TLS_SHA256_HEX];
    tls_sha256_hex(bytes, hex);
    return arena_dup(&h->w.arena, slice_of(hex)).ptr;
}

static struct jval map_of(struct hubworld *h, struct slice name)
{
    struct json *doc = arena_new(&h->w.arena, struct json);
    struct slice all = apiserver_get(h->w.server, SLICE("configmaps"), SLICE("n"), name, &h->w.arena);
    struct err e = {0};
    return all.ptr && json_parse(doc, all, &h->w.arena, &e) ? json_root(doc) : (struct jval){.at = -1};
}

static void test_stored(void)
{
    struct hubworld h;
    start(&h);
    const char *hash = hash_of(&h, SLICE("zip file"));
    make_cloud(&h, "edge");
    struct client *c = client_new(&h);
    test_case("there is no workload");
    CHECK_INT(ask(c, "PUT", PATH, "ann", "{\"data\":\"" DATA "\"}"), 404);
    CHECK_INT(ask(c, "GET", PATH, "operator", ""), 404);
    CHECK_STR(said(&h, "error.code"), "FolderUnknown");
    make_job(&h, "train", "edge", arena_printf(&h.w.arena, ",\"workingDir\":\"upload:%s\"", hash).ptr);
    test_case("its operator asks before it is stored");
    CHECK_INT(ask(c, "GET", PATH, "operator", ""), 404);
    test_case("another folder than the workload names is refused");
    CHECK_INT(ask(c, "PUT", PATH, "ann", "{\"data\":\"" OTHER "\"}"), 422);
    CHECK(slice_has(said(&h, "error.message"), hash_of(&h, SLICE("zip fil2"))));
    test_case("no base64, no JSON, nothing");
    CHECK_INT(ask(c, "PUT", PATH, "ann", "{\"data\":\"!\"}"), 400);
    CHECK_INT(ask(c, "PUT", PATH, "ann", "{\"data\":7}"), 400);
    CHECK_INT(ask(c, "PUT", PATH, "ann", "{\"data\":\"\"}"), 400);
    CHECK_INT(ask(c, "PUT", PATH, "ann", "[1"), 400);
    test_case("who is nobody, and methods that there are not");
    CHECK_INT(ask(c, "PUT", PATH, "", "{\"data\":\"" DATA "\"}"), 401);
    CHECK_INT(ask(c, "DELETE", PATH, "ann", ""), 405);
    test_case("it is stored in a ConfigMap that the workload owns, twice as well as once");
    CHECK_INT(ask(c, "PUT", PATH, "ann", "{\"data\":\"" DATA "\"}"), 200);
    CHECK_INT(ask(c, "PUT", PATH, "ann", "{\"data\":\"" DATA "\"}"), 200);
    struct slice uid = field(&h, "workloads", "train", "metadata.uid");
    struct jval map = map_of(&h, work_folder_map(uid, slice_of(hash), &h.w.arena));
    CHECK(json_str_eq(json_get(json_at(json_get(map, "metadata.ownerReferences"), 0), "uid"), uid));
    CHECK(json_bool(json_get(map, "immutable"), false));
    CHECK(json_is(json_child(json_get(map, "binaryData"), work_folder_key(slice_of(hash), &h.w.arena).ptr), DATA));
    test_case("and given to the operator of its cloud");
    CHECK_INT(ask(c, "GET", PATH, "operator", ""), 200);
    CHECK_STR(said(&h, "data"), DATA);
    finish(&h);
}

static void test_restored(void)
{
    struct hubworld h;
    start(&h);
    test_case("the folder of a workload that was restored, and has another uid than its operator knows");
    make_cloud(&h, "edge");
    struct slice object = arena_printf(
        &h.w.arena,
        "{\"apiVersion\":\"mobula.dev/v1\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"train\",\"namespace\":\"n\","
        "\"annotations\":{\"mobula.dev/identity\":\"n/train 00000000-0000-4000-8000-000000000001\"}},\"spec\":{\"cloud\":\"edge\","
        "\"workingDir\":\"upload:%s\",\"job\":{\"entrypoint\":\"x\"}}}",
        hash_of(&h, SLICE("zip file")));
    CHECK_INT(world_call(&h.w, "POST", path_of(&h, "workloads", "").ptr, "application/json", object), 201);
    run(&h, 1000);
    struct client *c = client_new(&h);
    CHECK_INT(ask(c, "PUT", PATH, "ann", "{\"data\":\"" DATA "\"}"), 200);
    CHECK_INT(ask(c, "GET", PATH, "operator", ""), 200);
    CHECK_STR(said(&h, "data"), DATA);
    finish(&h);
}

static void test_sizes(void)
{
    struct hubworld h;
    struct buf zip, base64, body;
    start(&h);
    make_cloud(&h, "edge");
    struct client *c = client_new(&h);
    buf_init(&zip, MIB);
    buf_init(&base64, MIB);
    buf_init(&body, MIB);
    for (size_t more = 0; more < 2; more++) {
        test_case("as large as it may be, and one byte larger: %zu", more);
        buf_clear(&zip);
        buf_clear(&base64);
        buf_clear(&body);
        for (size_t i = 0; i < LIMIT_WORK_FOLDER + more; i++)
            buf_putc(&zip, (char)('a' + i % 26));
        base64_encode(buf_slice(&zip), &base64);
        buf_printf(&body, "{\"data\":\"%.*s\"}", SLICE_ARG(buf_slice(&base64)));
        if (!more)
            make_job(&h, "train", "edge", arena_printf(&h.w.arena, ",\"workingDir\":\"upload:%s\"", hash_of(&h, buf_slice(&zip))).ptr);
        send(c, "PUT", PATH, "ann", buf_slice(&body));
        run(&h, 500);
        CHECK_INT(answer(c), more ? 400 : 200);
    }
    test_case("and all of it comes back");
    CHECK_INT(ask(c, "GET", PATH, "operator", ""), 200);
    CHECK_INT(said(&h, "data").len, (LIMIT_WORK_FOLDER + 2) / 3 * 4);
    buf_free(&zip);
    buf_free(&base64);
    buf_free(&body);
    finish(&h);
}

int main(void)
{
    test_stored();
    test_restored();
    test_sizes();
    return test_done();
}
