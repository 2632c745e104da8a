/* Stored versions of a definition: which objects are written again, and when the status is trimmed. tests/e2e/test_crds.py has the command.
 */
#include "asked.h"

#define DEFINITION(stored, storage)                                                                                                        \
    "{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"group\":\"ray.io\",\"names\":{\"plural\":\"rayclusters\"},\"versions\":["       \
    "{\"name\":\"v1alpha1\",\"storage\":false},{\"name\":\"" storage "\",\"storage\":true}]},\"status\":{\"storedVersions\":[" stored      \
    "]}}"
#define OBJECT(name) "{\"metadata\":{\"namespace\":\"n\",\"name\":\"" name "\"}}"
#define BOTH DEFINITION("\"v1alpha1\",\"v1\"", "v1")
#define GET_DEFINITION "GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/rayclusters.ray.io\n"
#define LIST "GET /apis/ray.io/v1/namespaces/n/rayclusters"

static const struct {
    const char *what;
    struct canned_answer answers[9];
    size_t count;
    const char *heard, *said, *error; /* error NULL: it works */
    bool dry_run, any;
} cases[] = {
    {"no definition", {CANNED_HTTP("404 Not Found", "{}")}, 1, GET_DEFINITION, "", NULL, false, false},
    {"one stored version",
     {CANNED_HTTP("200 OK", DEFINITION("\"v1\"", "v1"))},
     1,
     GET_DEFINITION,
     "rayclusters.ray.io: stored as v1 alone\n",
     NULL,
     false,
     false},
    {"two pages, the second by a newer token, and an object that is gone meanwhile",
     {CANNED_HTTP("200 OK", BOTH),
      CANNED_HTTP("200 OK", "{\"metadata\":{\"continue\":\"c1\",\"remainingItemCount\":1},\"items\":[" OBJECT("a") "]}"),
      CANNED_HTTP("200 OK", "{}"), CANNED_HTTP("410 Gone", "{\"metadata\":{\"continue\":\"c2\"}}"),
      CANNED_HTTP("200 OK", "{\"metadata\":{},\"items\":[" OBJECT("b") "]}"), CANNED_HTTP("404 Not Found", "{}"),
      CANNED_HTTP("200 OK", BOTH), CANNED_HTTP("200 OK", "{}")},
     8,
     GET_DEFINITION "GET /apis/ray.io/v1/rayclusters?limit=100\n"
                    "PATCH /apis/ray.io/v1/namespaces/n/rayclusters/a {}\n"
                    "GET /apis/ray.io/v1/rayclusters?limit=100&continue=c1\n"
                    "GET /apis/ray.io/v1/rayclusters?limit=100&continue=c2\n"
                    "PATCH /apis/ray.io/v1/namespaces/n/rayclusters/b {}\n" GET_DEFINITION
                    "PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions/rayclusters.ray.io/status "
                    "{\"metadata\":{\"resourceVersion\":\"7\"},\"status\":{\"storedVersions\":[\"v1\"]}}\n",
     "rayclusters.ray.io: stored as [\"v1alpha1\",\"v1\"]; all to v1\nrayclusters.ray.io: 1 rewritten, 1 left\n"
     "rayclusters.ray.io: 1 rewritten\nrayclusters.ray.io: 2 rewritten\nrayclusters.ray.io: stored as v1 alone now\n",
     NULL,
     false,
     true},
    {"a dry run writes nothing",
     {CANNED_HTTP("200 OK", BOTH), CANNED_HTTP("200 OK", "{\"metadata\":{},\"items\":[" OBJECT("a") "]}")},
     2,
     GET_DEFINITION "GET /apis/ray.io/v1/rayclusters?limit=100\n",
     "rayclusters.ray.io: stored as [\"v1alpha1\",\"v1\"]; all to v1\nrayclusters.ray.io: 1 would be rewritten\n",
     NULL,
     true,
     true},
    {"an object that cannot be written",
     {CANNED_HTTP("200 OK", BOTH), CANNED_HTTP("200 OK", "{\"metadata\":{},\"items\":[" OBJECT("a") "]}"),
      CANNED_HTTP("403 Forbidden", "{}")},
     3,
     NULL,
     NULL,
     "/apis/ray.io/v1/namespaces/n/rayclusters/a: ",
     false,
     true},
    {"another storage version meanwhile",
     {CANNED_HTTP("200 OK", BOTH), CANNED_HTTP("200 OK", "{\"metadata\":{},\"items\":[]}"),
      CANNED_HTTP("200 OK", DEFINITION("\"v1\",\"v2\"", "v2"))},
     3,
     NULL,
     NULL,
     "rayclusters.ray.io: its storage version has changed meanwhile: run the command again",
     false,
     true},
};

static void definitions(void)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct asked k;
        struct err e = {0};
        bool any = false;
        test_case("%s", cases[i].what);
        asked_open(&k, cases[i].answers, cases[i].count);
        struct migration m = {.ask = &k.ask, .a = &k.a, .say = asked_say, .dry_run = cases[i].dry_run};
        CHECK_INT(migrate_definition(&m, "rayclusters.ray.io", &any, &e), cases[i].error == NULL);
        arena_free(&m.page);
        if (!CHECK(cases[i].error ? slice_starts(slice_of(e.text), slice_of(cases[i].error)) : e.code == ERR_NONE))
            printf("  %s\n", e.text);
        CHECK_INT(any, cases[i].any);
        if (cases[i].said)
            CHECK_STR(buf_slice(&k.said), cases[i].said);
        struct canned *server = &k.server;
        ask_close(&k.ask);
        k.ask = (struct ask){0};
        if (cases[i].heard)
            CHECK_STR(slice_of(server->heard), cases[i].heard);
        asked_close(&k);
    }
}

/* The status is trimmed against the version that was read, TRIES times. */
static void conflicts(void)
{
    static const struct canned_answer answers[] = {
        CANNED_HTTP("409 Conflict", "{}"),
        {SLICE("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n" BOTH), "GET /apis/apiextensions"},
        {SLICE("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n{\"items\":[]}"), "GET /apis/ray.io"}};
    struct asked k;
    struct err e = {0};
    bool any;
    test_case("another client writes the status again and again");
    asked_open(&k, answers, COUNT_OF(answers));
    struct migration m = {.ask = &k.ask, .a = &k.a, .say = asked_say};
    CHECK(!migrate_definition(&m, "rayclusters.ray.io", &any, &e));
    CHECK_STR(slice_of(e.text), "rayclusters.ray.io: its status is written again and again by another client");
    arena_free(&m.page);
    asked_close(&k);
}

int main(void)
{
    definitions();
    conflicts();
    return test_done();
}
