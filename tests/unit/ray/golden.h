/* Golden files: a custom resource and every object that is made of it, as JSON.
 *   {"options": {"tools": "configmap|image|none", …}, "resource": {…}, "want": [{"build":
 * "head|worker|service|headless|account|role|binding|secret|ca", …, "is": {…}}]} A worker entry has "group", "index" and maybe "replaces".
 * RAY_ANNOTATION_HASH is compared as "HASH": its values are pinned elsewhere. */
#ifndef MOBULA_TEST_GOLDEN_H
#define MOBULA_TEST_GOLDEN_H

#include "../test.h"

#include <mobula/ray.h>

struct golden {
    struct json doc;
    struct ray_cluster cluster;
    struct spec_errors errors;
    struct ray_options options;
    struct arena arena;
};

static inline struct ray_options golden_options(struct jval o, struct arena *a)
{
    struct ray_options out = {
        .cluster_domain = SLICE("cluster.local"), .version = SLICE("0.0.0"), .tools_image = SLICE("r.example/mobula:1")};
    struct slice tools = json_get_str(o, "tools", a), domain = json_get_str(o, "clusterDomain", a);
    if (slice_eq(tools, SLICE("image")))
        out.tools = RAY_TOOLS_IMAGE;
    if (slice_eq(tools, SLICE("none")))
        out.tools = RAY_TOOLS_NONE;
    if (domain.ptr)
        out.cluster_domain = domain;
    struct slice *agent = arena_array(a, 2, sizeof *agent);
    agent[0] = json_get_str(o, "agent", a);
    out.agent = agent[0].ptr ? agent : NULL;
    out.agent_ca = json_get_str(o, "agentCa", a);
    struct slice *words = arena_array(a, 2, sizeof *words);
    struct ray_ship *ship = arena_new(a, struct ray_ship);
    words[0] = json_get_str(o, "ship", a);
    *ship = (struct ray_ship){.args = words, .ca = json_get_str(o, "shipCa", a), .secret = json_get_str(o, "shipSecret", a)};
    out.ship = words[0].ptr ? ship : NULL;
    out.sidecar = json_get_bool(o, "sidecar", false);
    return out;
}

static inline bool golden_load(struct golden *g, const char *path)
{
    struct err e = {0};
    *g = (struct golden){0};
    struct slice text = read_file(path, &g->arena);
    if (!CHECK(json_parse(&g->doc, text, &g->arena, &e))) {
        printf("  %s: %s\n", path, e.text);
        return false;
    }
    g->options = golden_options(json_get(json_root(&g->doc), "options"), &g->arena);
    bool ok = ray_read(json_get(json_root(&g->doc), "resource"), &g->arena, &g->cluster, &g->errors);
    if (!ok)
        printf("  %.*s\n", SLICE_ARG(spec_errors_text(&g->errors, 4096, &g->arena)));
    bool reports = g->options.agent && CHECK(ray_wants_agent(&g->cluster, &g->options, &g->arena));
    ok = ok && ray_add_agent(&g->cluster, reports, &g->options, &g->arena, &e);
    return CHECK(ok);
}

static inline const struct ray_group *golden_group(const struct golden *g, struct slice name)
{
    for (uint32_t i = 0; i < g->cluster.group_count; i++)
        if (slice_eq(g->cluster.groups[i].name, name))
            return &g->cluster.groups[i];
    return NULL;
}

/* The object of one "want" entry. */
static inline bool golden_build(struct golden *g, struct jval want, struct buf *out, struct err *e)
{
    struct slice what = json_get_str(want, "build", &g->arena);
    if (slice_eq(what, SLICE("head")))
        return ray_build_head_pod(&g->cluster, &g->options, &g->arena, out, e);
    if (slice_eq(what, SLICE("service")))
        return ray_build_service(&g->cluster, RAY_SERVICE_HEAD, &g->arena, out, e);
    if (slice_eq(what, SLICE("headless")))
        return ray_build_service(&g->cluster, RAY_SERVICE_HEADLESS, &g->arena, out, e);
    if (slice_eq(what, SLICE("serve")))
        return CHECK(ray_wants_service(&g->cluster, RAY_SERVICE_SERVE)) &&
               ray_build_service(&g->cluster, RAY_SERVICE_SERVE, &g->arena, out, e);
    static const char *const accounts[] = {"account", "role", "binding", "secret", "ca"};
    for (size_t i = 0; i < COUNT_OF(accounts); i++)
        if (slice_eq(what, slice_of(accounts[i])))
            return CHECK(ray_wants_account(&g->cluster, (enum ray_account)i, &g->options, &g->arena)) &&
                   ray_build_account(&g->cluster, (enum ray_account)i,
                                     i == RAY_ACCOUNT_CA ? SLICE("{\"" RAY_CA_KEY "\":\"S0VZ\"}") : SLICE("TOKEN"), &g->arena, out);
    const struct ray_group *group = golden_group(g, json_get_str(want, "group", &g->arena));
    return group && ray_build_worker_pod(&g->cluster, group, (int32_t)json_get_int(want, "index", 0),
                                         json_get_str(want, "replaces", &g->arena), &g->options, &g->arena, out, e);
}

/* Puts HASH where the hash annotation's value stands. */
static inline struct slice golden_mask(struct slice text, struct arena *a)
{
    static const char key[] = "\"" RAY_ANNOTATION_HASH "\":\"";
    const char *found = memmem(text.ptr, text.len, key, strlen(key));
    uint64_t hash;
    if (!found)
        return text;
    struct slice rest = slice_skip(text, (size_t)(found - text.ptr) + strlen(key));
    if (!ray_hash_parse(slice_head(rest, RAY_HASH_TEXT), &hash))
        return text;
    return arena_printf(a, "%.*sHASH%.*s", (int)(rest.ptr - text.ptr), text.ptr, SLICE_ARG(slice_skip(rest, RAY_HASH_TEXT)));
}

#endif
