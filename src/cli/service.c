/* `mobula service`: versions of services, which are VersionedServices in the cluster of a kubeconfig, or Workloads of a control plane. */
#include "service.h"

#include "cli.h"

#include <mobula/kind_versioned.h>

#include <stdio.h>

#define AT(field) offsetof(struct service_options, field)
static const struct flag list[] = {
    {"f", FLAG_TEXT, AT(file), "FILE"},
    {"cloud", FLAG_TEXT, AT(cloud), "NAME"},
    {"compute-config", FLAG_TEXT, AT(config), "NAME[:N]"},
    {"image-uri", FLAG_TEXT, AT(image), "IMAGE"},
    {"working-dir", FLAG_TEXT, AT(dir), "DIR|URL"},
    {"bucket", FLAG_TEXT, AT(bucket), "s3://BUCKET[/NAME]"},
    STORAGE_FLAGS(AT(store)),
    {"exclude", FLAG_TEXTS, AT(excludes), "PATTERN"},
    {"requirements", FLAG_TEXT, AT(requirements), "FILE"},
    {"version-name", FLAG_TEXT, AT(version), "NAME"},
    {"canary-percent", FLAG_INT, AT(canary), "N"},
    {"max-surge-percent", FLAG_INT, AT(surge), "N"},
    {"versions", FLAG_TEXT, AT(versions), "JSON"},
    {"in-place", FLAG_SWITCH, AT(in_place), NULL},
    {"gateway", FLAG_TEXT, AT(gateway), "[NS/]NAME"},
    {"ingress-class", FLAG_TEXT, AT(class), "NAME"},
    {"ingress-controller", FLAG_TEXT, AT(controller), "ingress-nginx|other"},
    {"istio-gateway", FLAG_LIST, AT(istio), "[NS/]NAME[,…]"},
    {"hostname", FLAG_LIST, AT(hosts), "HOST[,HOST]"},
    {"auth", FLAG_TEXT, AT(auth), "token|none"},
    {"version", FLAG_TEXT, AT(version), "NAME"},
    {"follow", FLAG_SWITCH, AT(follow), NULL},
    {"rotate", FLAG_SWITCH, AT(rotate), NULL},
    {"wait", FLAG_SWITCH, AT(wait), NULL},
    {"wait-timeout", FLAG_DURATION, AT(wait_ms), "TIME"},
    {"o", FLAG_TEXT, AT(output), "table|json|yaml|name"},
    {"server", FLAG_TEXT, AT(server), "URL"},
    {"token-file", FLAG_TEXT, AT(token_file), "FILE"},
    {"ca-file", FLAG_TEXT, AT(ca_file), "FILE"},
    SEEK_PLACE_FLAGS(AT(seek)),
    ASK_TIMEOUT_FLAG(AT(seek.timeout_ms)),
};

static const struct flags flags = {
    .usage = "mobula service deploy|status|rollback|terminate|delete|list|wait|token|logs [NAME] [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
    .word = AT(name),
};
#undef AT

/* ---- verbs ---- */

static bool run_status(struct service_desk *d, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf out = {.max = EXPLAIN_WORDS_MAX};
    if (!service_find_live(d, e))
        return false;
    explain_versioned_words(d->live, clock_now().wall_us, d->seek.a, &out);
    return cli_print(buf_slice(&out));
}

static void put_row(struct service_desk *d, struct jval object, struct buf *out)
{
    static const char *const columns[] = {"metadata.name", "status.state", "status.primaryVersion", "status.canaryVersion"};
    struct jval k, v;
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        struct slice text = arena_clean(d->seek.a, json_get_str(object, columns[i], d->seek.a), LIMIT_KUBE_NAME);
        buf_printf(out, "%-*s ", i ? 12 : 32, text.len ? text.ptr : "-");
    }
    const char *comma = "";
    for (struct jiter it = json_iter(json_get(object, "status.versions")); json_next(&it, &k, &v); comma = ",")
        buf_printf(out, "%s%s=%lld", comma, arena_clean(d->seek.a, json_get_str(v, "name", d->seek.a), LIMIT_KUBE_NAME).ptr,
                   (long long)json_get_int(v, "weight", 0));
    buf_put(out, SLICE("\n"));
}

static bool run_list(struct service_desk *d, struct err *e)
{
    struct jval all, k, object;
    bool absent = false;
    __attribute__((cleanup(buf_free))) struct buf out = {.max = 4 * MIB};
    if (!service_find(d, kind_versioned.resource, SLICE_NONE, &all, &absent, e))
        return false;
    buf_printf(&out, "%-32s %-12s %-12s %-12s %s\n", "NAME", "STATE", "PRIMARY", "CANARY", "WEIGHTS");
    for (struct jiter it = json_iter(json_get(all, "items")); json_next(&it, &k, &object);)
        put_row(d, object, &out);
    return cli_print(buf_slice(&out));
}

static bool run_rollback(struct service_desk *d, struct err *e)
{
    int64_t generation;
    if (!service_back(d, &generation, e))
        return false;
    d->back = generation;
    return d->o.wait ? service_wait_rollout(d, e) : cli_print(SLICE("asked to go back; see: mobula service status\n"));
}

static bool run_terminate(struct service_desk *d, struct err *e)
{
    struct slice path = seek_path(&d->seek, kind_versioned.resource, d->o.name, SLICE_NONE);
    return service_find_live(d, e) && service_send(d, ask_delete, path, SLICE("{\"propagationPolicy\":\"Background\"}"), e);
}

static const struct {
    const char *name;
    bool (*run)(struct service_desk *d, struct err *e);
} verbs[] = {{"deploy", service_deploy},     {"status", run_status},    {"rollback", run_rollback},
             {"terminate", run_terminate},   {"delete", run_terminate}, {"list", run_list},
             {"wait", service_wait_rollout}, {"token", service_token},  {"logs", service_logs}};

int cli_service(int argc, char **argv)
{
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    struct service_desk d = {.o = {.canary = -1, .surge = -1}, .live = NO_VALUE, .told = cli_fleet_note};
    struct err e = {0};
    int status;
    size_t verb = 0;
    bool named = argc > 1 && argv[1][0] != '-';
    if (!flags_parse(&flags, argc - named, argv + named, &d.o, &status))
        return status;
    while (named && verb < COUNT_OF(verbs) && strcmp(argv[1], verbs[verb].name) != 0)
        verb++;
    if (!named || verb == COUNT_OF(verbs))
        return flags_wrong(&flags, "what is to be done? deploy, status, rollback, terminate, delete, list, wait, token or logs");
    if (verbs[verb].run != run_list && verbs[verb].run != service_deploy && slice_empty(d.o.name))
        return flags_wrong(&flags, "the name of a service is needed");
    if (d.o.canary > 100 || d.o.surge > 100 || d.o.surge == 0)
        return flags_wrong(&flags, "--canary-percent is 0 to 100, --max-surge-percent 1 to 100");
    if (d.o.auth.len && !slice_is(d.o.auth, "token") && !slice_is(d.o.auth, "none"))
        return flags_wrong(&flags, "--auth is token or none");
    d.seek.a = &a;
    if (service_uses_plane(&d, &a) && (status = service_plane(&d, argv[1])) >= 0)
        return status;
    bool well = seek_open(&d.seek, &d.o.seek, &a, &e) && verbs[verb].run(&d, &e);
    seek_close(&d.seek);
    return well ? STATUS_OK : cli_fail(&e);
}
