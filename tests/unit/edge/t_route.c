/* Routes: what a file may say, which of them a request takes, and which version of it. */
#include "rig.h"

static struct edge_options options = {.ns = SLICE("team-a"), .body_max = 1000};

/* ---- the file ---- */

/* NULL with *e. */
static struct config *read_config(struct slice text, struct err *e)
{
    struct config *c = config_new();
    if (config_add(c, &options, &(struct edge_text){text, "routes.yaml"}, e))
        return c;
    config_drop(c);
    return NULL;
}

#define UP "upstream: 'u:1'"
#define SUM "a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e" /* of "first" */
static const struct {
    const char *text, *error; /* error: a part of it; NULL: it is taken */
} files[] = {
    {"routes: []", NULL},
    {"routes: [{auth: none, " UP "}]", NULL},
    {"routes: [{auth: users, cluster: c, " UP "}]", NULL},
    {"routes: [{host: '*.i.example.org', auth: users, cluster: '*', upstream: '*-head-svc.a.svc:8265'}]", NULL},
    {"routes: [{auth: token, tokenFile: /t, path: /a/b/, strip: true, " UP "}]", NULL},
    {"routes: [{auth: none, versions: [{name: a, weight: 0, " UP "}, {name: b, " UP "}]}]", NULL},
    {"routes: [{auth: users, service: s, namespace: b, writeVerb: get, upstreamTokenFile: /t, " UP "}]", NULL},
    {"", "is missing"},
    {"[1]", "routes.yaml"},
    {"routes: 1", "routes"},
    {"routes: [{" UP "}]", "needs auth: users, token or none"},
    {"routes: [{auth: some, " UP "}]", "auth"},
    {"routes: [{auth: users, " UP "}]", "names no cluster or service"},
    {"routes: [{auth: users, cluster: a, service: b, " UP "}]", "stands beside cluster"},
    {"routes: [{auth: token, " UP "}]", "needs tokenFile"},
    {"routes: [{auth: none, tokenFile: /t, " UP "}]", "needs tokenFile"},
    {"routes: [{auth: token, tokenSha256: " SUM ", " UP "}]", NULL},
    {"routes: [{auth: token, tokenSha256: " SUM " " SUM ", " UP "}]", NULL},
    {"routes: [{auth: token, tokenSha256: " SUM " " SUM " " SUM ", " UP "}]", "must be 1 to 2 SHA-256 sums"},
    {"routes: [{auth: token, tokenSha256: " SUM "0, " UP "}]", "must be 1 to 2 SHA-256 sums"},
    {"routes: [{auth: token, tokenSha256: " SUM " x, " UP "}]", "must be 1 to 2 SHA-256 sums"},
    {"routes: [{auth: token, tokenSha256: '', " UP "}]", "must be 1 to 2 SHA-256 sums"},
    {"routes: [{auth: token, tokenSha256: " SUM ", tokenFile: /t, " UP "}]", "needs tokenFile or tokenSha256"},
    {"routes: [{auth: none}]", "needs upstream (HOST:PORT) or versions"},
    {"routes: [{auth: none, " UP ", versions: [{name: a, " UP "}]}]", "and not both"},
    {"routes: [{auth: none, upstream: 'u'}]", "want HOST:PORT"},
    {"routes: [{auth: none, upstream: 'u:0'}]", "want HOST:PORT"},
    {"routes: [{auth: none, upstream: 'u:65536'}]", "want HOST:PORT"},
    {"routes: [{auth: none, upstream: 'http://u:1'}]", "want HOST:PORT"},
    {"routes: [{auth: none, upstream: '*.a.svc:1'}]", "has a * for the cluster's name"},
    {"routes: [{auth: none, host: '*.h', upstream: '*-head:1'}]", "stands in the first label, with two behind it"},
    {"routes: [{auth: none, host: '*.h', upstream: 'a.*.svc.x:1'}]", "stands in the first label"},
    {"routes: [{auth: users, cluster: a, host: '*.h', upstream: '*.a.svc:1'}]", "must be \"*\" too"},
    {"routes: [{auth: users, cluster: '*', host: 'h', " UP "}]", "its host must have one"},
    {"routes: [{auth: none, host: 'a b', " UP "}]", "want NAME, or one with a *"},
    {"routes: [{auth: none, host: 'a.*', " UP "}]", "want NAME, or one with a *"},
    {"routes: [{auth: none, host: 'a*', " UP "}]", "want NAME, or one with a *"},
    {"routes: [{auth: none, host: '*-*.i.org', " UP "}]", "want NAME, or one with a *"},
    {"routes: [{auth: users, cluster: '*', host: 'notebook-*-team-a.i.org', upstream: '*-head-svc.a.svc:8888'}]", NULL},
    {"routes: [{auth: none, path: a, " UP "}]", "want /SEGMENT"},
    {"routes: [{auth: none, path: /a//b, " UP "}]", "want /SEGMENT"},
    {"routes: [{auth: none, path: /a/../b, " UP "}]", "want /SEGMENT"},
    {"routes: [{auth: none, path: /%61, " UP "}]", "want /SEGMENT"},
    {"routes: [{auth: none, weight: 1, " UP "}]", "is no field of this kind"},
    {"routes: [{auth: none, versions: []}]", "no version has a weight above 0"},
    {"routes: [{auth: none, versions: [{name: a, weight: 0, " UP "}]}]", "no version has a weight above 0"},
    {"routes: [{auth: none, versions: [{name: a, weight: -1, " UP "}]}]", "weight"},
    {"routes: [{auth: none, versions: [{name: a, weight: 1000001, " UP "}]}]", "weight"},
    {"routes: [{auth: none, versions: [{name: a, " UP "}, {name: A, " UP "}]}]", "has the name of another version"},
    {"routes: [{auth: none, versions: [{" UP "}]}]", "name"},
    {"routes: [{auth: none, path: /a, " UP "}, {auth: none, path: /a/, " UP "}]", "has the host and path of another route"},
};

static void test_files(void)
{
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct err e = {0};
        test_case("%s", files[i].text);
        struct config *c = read_config(guarded(slice_of(files[i].text)), &e);
        CHECK((c != NULL) == (files[i].error == NULL));
        if (files[i].error && !CHECK(slice_has(slice_of(e.text), files[i].error)))
            printf("  %s\n", e.text);
        else if (!files[i].error && !c)
            printf("  %s\n", e.text);
        config_drop(c);
    }
}

static bool takes(unsigned routes, unsigned versions, size_t pad, const char *error)
{
    struct buf b = {.max = MIB};
    struct err e = {0};
    buf_put(&b, SLICE("routes:\n"));
    for (unsigned i = 0; i < routes; i++) {
        buf_printf(&b, "- {auth: none, path: /%u, versions: [", i);
        for (unsigned n = 0; n < versions; n++)
            buf_printf(&b, "{name: v%u, upstream: 'u:1'}, ", n);
        buf_put(&b, SLICE("]}\n"));
    }
    while (b.len < pad)
        buf_putc(&b, b.len % 100 ? '#' : '\n');
    struct config *c = read_config(buf_slice(&b), &e);
    bool well = c ? !error : error && slice_has(slice_of(e.text), error);
    if (!well)
        printf("  %s\n", e.text);
    config_drop(c);
    buf_free(&b);
    return well;
}

static void test_file_limits(void)
{
    test_case("limits of the file, and one past each");
    CHECK(takes(LIMIT_EDGE_ROUTES, 1, 0, NULL));
    CHECK(takes(LIMIT_EDGE_ROUTES + 1, 1, 0, "LIMIT_EDGE_ROUTES"));
    CHECK(takes(1, LIMIT_EDGE_VERSIONS, 0, NULL));
    CHECK(takes(1, LIMIT_EDGE_VERSIONS + 1, 0, "LIMIT_EDGE_VERSIONS"));
    CHECK(takes(1, 1, LIMIT_EDGE_CONFIG, NULL));
    CHECK(takes(1, 1, LIMIT_EDGE_CONFIG + 1, "LIMIT_EDGE_CONFIG"));
}

/* ---- which route ---- */

#define TABLE                                                                                                                              \
    "routes:\n"                                                                                                                            \
    "- {auth: none, upstream: 'any:1'}\n"                                                                                                  \
    "- {auth: none, path: /a, upstream: 'any-a:1'}\n"                                                                                      \
    "- {auth: none, path: /a/b, upstream: 'any-a-b:1'}\n"                                                                                  \
    "- {auth: none, host: h.org, path: /a, upstream: 'h-a:1'}\n"                                                                           \
    "- {auth: none, host: '*.i.org', upstream: '*.x.svc:1'}\n"                                                                             \
    "- {auth: none, host: one.i.org, upstream: 'one:1'}\n"                                                                                 \
    "- {auth: none, host: '*-a.i.org', upstream: '*.y.svc:1'}\n"                                                                           \
    "- {auth: none, host: 'port-*-a.i.org', upstream: '*.z.svc:1'}\n"
static const struct {
    const char *host, *target, *upstream, *label; /* upstream NULL: it is refused */
} asked[] = {
    {"h", "/", "any", ""},
    {"h", "/a", "any-a", ""},
    {"h", "/a/", "any-a", ""},
    {"h", "/ab", "any", ""},
    {"h", "/a/bc", "any-a", ""},
    {"h", "/a/b?x=/../", "any-a-b", ""},
    {"h", "/%61/%62", "any-a-b", ""},
    {"h", "//a///b", "any-a-b", ""},
    {"h", "/a%2Fb", "any-a-b", ""},
    {"h.org", "/a/b", "h-a", ""},
    {"H.ORG:8080", "/a", "h-a", ""},
    {"h.org", "/", "any", ""},
    {"rag.i.org", "/a", "*.x.svc", "rag"},
    {"RAG.i.org:1", "/", "*.x.svc", "rag"},
    {"one.i.org", "/a", "one", ""},
    {"rag-a.i.org", "/", "*.y.svc", "rag"},
    {"port-rag-a.i.org", "/", "*.z.svc", "rag"},
    {"port-a.i.org", "/", "*.y.svc", "port"},
    {"port--a.i.org", "/", "*.x.svc", "port--a"},
    {"-a.i.org", "/", "any", ""},
    {"x.rag-a.i.org", "/", "any", ""},
    {"a.b.i.org", "/", "any", ""},
    {"i.org", "/", "any", ""},
    {"-.i.org", "/", "any", ""},
    {"", "/", "any", ""},
    {"[::1]:80", "/", "any", ""},
    {"h", "/...", "any", ""},
    {"h", "/.well-known", "any", ""},
    {"h", "/a/..", NULL, ""},
    {"h", "/./a", NULL, ""},
    {"h", "/%2e%2e", NULL, ""},
    {"h", "/a%2f..", NULL, ""},
    {"h", "/a\\..\\b", NULL, ""},
    {"h", "/a%7f", NULL, ""},
    {"h", "/%", NULL, ""},
    {"h", "/%0", NULL, ""},
    {"h", "/%zz", NULL, ""},
    {"h", "*", NULL, ""},
    {"h", "a", NULL, ""},
    {"h", "", NULL, ""},
    {"h", "/a#b", NULL, ""},
    {"h:x", "/", NULL, ""},
    {"h:0", "/", NULL, ""},
    {"a/b", "/", NULL, ""},
};

static void test_find(void)
{
    struct err e = {0};
    struct config *c = read_config(SLICE(TABLE), &e);
    for (size_t i = 0; CHECK(c) && i < COUNT_OF(asked); i++) {
        struct arena a = {0};
        struct place_asked at;
        struct slice label = SLICE_NONE;
        struct err why = {0};
        test_case("%s %s", asked[i].host, asked[i].target);
        bool well = asked_read(guarded(slice_of(asked[i].target)), guarded_n(1, slice_of(asked[i].host)), &a, &at, &why);
        CHECK(well == (asked[i].upstream != NULL));
        CHECK(well || why.code == ERR_HTTP);
        const struct route *r = well ? route_find(c, &at, &label) : NULL;
        if (r && asked[i].upstream) {
            CHECK_STR(r->versions->host, asked[i].upstream);
            CHECK_STR(label, asked[i].label);
        }
        arena_free(&a);
    }
    config_drop(c);
}

static const struct {
    const char *path, *target, *upstream; /* NULL: refused */
} stripped[] = {
    {"/a", "/a", "/"},   {"/a", "/a/b?c", "/b?c"}, {"/a", "/a?c", "/?c"},  {"/a", "/%61/b", NULL},
    {"/a", "//a", NULL}, {"/", "/a/b", "/a/b"},    {"/a", "/a//b", "//b"},
};

static void test_strip(void)
{
    for (size_t i = 0; i < COUNT_OF(stripped); i++) {
        struct arena a = {0};
        struct slice path = slice_of(stripped[i].path), out;
        const struct route r = {.path = path.len == 1 ? SLICE("") : path, .strip = true};
        test_case("%s without %s", stripped[i].target, stripped[i].path);
        bool well = route_target(&r, guarded(slice_of(stripped[i].target)), &a, &out);
        CHECK(well == (stripped[i].upstream != NULL));
        if (well && stripped[i].upstream)
            CHECK_STR(out, stripped[i].upstream);
        arena_free(&a);
    }
}

/* ---- the egress allowlist ---- */

static bool configure(struct edge *g, unsigned from, unsigned count, struct err *e)
{
    struct buf b = {.max = LIMIT_EDGE_CONFIG};
    buf_printf(&b, "routes:\n");
    for (unsigned i = 0; i < count; i++)
        buf_printf(&b, "- {path: /p%u, auth: none, upstream: 'u%u:1'}\n", i, from + i);
    bool well = edge_configure(g, &(struct edge_text){buf_slice(&b), "routes.yaml"}, 1, e);
    buf_free(&b);
    return well;
}

/* Of ASan; NULL without it. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t heap_bytes(void)
{
    return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes() : 0;
}

static void test_allowlist(void)
{
    static struct rig rig;
    struct err e = {0};
    struct net_allow *allow = net_allow_new();
    test_case("upstreams of earlier routes leave the allowlist");
    rig_start(&rig, NULL, "routes: [{auth: none, upstream: 'u:1'}]");
    CHECK(net_allow_add(allow, SLICE("api"), 443, "--kubeconfig", &e));
    rig.edge->o.allow = allow;
    for (unsigned from = 0; from < 2 * LIMIT_NET_ALLOW; from += 100)
        CHECK(configure(rig.edge, from, 100, &e));
    CHECK(net_allow_check(allow, SLICE("u599"), 1, &e) && !net_allow_check(allow, SLICE("u499"), 1, &e));
    CHECK(net_allow_check(allow, SLICE("api"), 443, &e));
    test_case("and stay when new routes do not fit in it");
    CHECK(!configure(rig.edge, 1000, LIMIT_NET_ALLOW, &e));
    CHECK(net_allow_check(allow, SLICE("u599"), 1, &e) && !net_allow_check(allow, SLICE("u1000"), 1, &e));
    test_case("routes that are refused again and again take no memory");
    size_t before = heap_bytes();
    for (int i = 0; i < 100; i++)
        CHECK(!configure(rig.edge, 1000, LIMIT_NET_ALLOW, &e));
    CHECK(heap_bytes() < before + 4 * KIB);
    rig_stop(&rig, NULL);
    net_allow_free(allow);
}

/* ---- which version ---- */

static void test_versions(void)
{
    static const int64_t sets[][3] = {{90, 10, 0}, {1, 1, 1}, {99, 1, 0}, {0, 0, 5}, {500, 300, 200}};
    for (size_t i = 0; i < COUNT_OF(sets); i++) {
        struct version v[3] = {{.name = SLICE("a")}, {.name = SLICE("b")}, {.name = SLICE("canary")}};
        const struct route r = {.versions = v, .version_count = 3};
        int64_t sum = 0, got[3] = {0};
        for (int n = 0; n < 3; n++)
            sum += v[n].weight = sets[i][n];
        test_case("weights %d %d %d: two runs", (int)sets[i][0], (int)sets[i][1], (int)sets[i][2]);
        for (int64_t n = 0; n < 2 * sum; n++)
            got[route_version(&r, SLICE_NONE) - v]++;
        for (int n = 0; n < 3; n++)
            CHECK_INT(got[n], 2 * sets[i][n]);
        CHECK(route_version(&r, SLICE("B")) == &v[1]);
        CHECK(route_version(&r, SLICE("primary")) == &v[0]);
        CHECK(route_version(&r, SLICE("canary")) == &v[2]);
        CHECK(route_version(&r, SLICE("c")) == NULL);
        const struct route single = {.versions = v, .version_count = 1};
        CHECK(route_version(&single, SLICE("canary")) == NULL);
    }
}

int main(void)
{
    log_global.level = LOG_ERROR + 1;
    test_files();
    test_file_limits();
    test_find();
    test_strip();
    test_allowlist();
    test_versions();
    return test_done();
}
