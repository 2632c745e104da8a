/* mobula cloud and node: clouds and their nodes. */
#include "fleet.h"

#include <stdio.h>

enum { STATUS_FINDINGS = 3 };

bool cli_cloud_register(struct desk *d, struct err *e)
{
    struct fleet_options *o = &d->o;
    struct slice spec;
    __attribute__((cleanup(buf_free))) struct buf out = {.max = 64 * KIB};
    struct ask_answer a;
    struct json doc;
    char id[HUB_DEPLOYMENT_ID];
    if (slice_empty(o->site.provider))
        o->site.provider = SLICE("generic");
    if (!fleet_cloud_spec(d, &spec, e) || !fleet_create(d, o->name, spec, &a, e) || !cli_fleet_print(d, a.body, e) ||
        !json_parse(&doc, a.body, &d->a, e))
        return false;
    hub_deployment_id(json_get_str(json_root(&doc), "metadata.uid", &d->a), id);
    o->site.identity = json_get_str(json_root(&doc), "spec.operatorIdentity", &d->a);
    o->site.region = json_get_str(json_root(&doc), "spec.region", &d->a);
    fleet_cloud_install(d, json_get_str(json_root(&doc), "metadata.name", &d->a), (struct slice){id, HUB_DEPLOYMENT_ID}, &out);
    fprintf(stderr, "%.*s", SLICE_ARG(buf_slice(&out)));
    return true;
}

bool cli_cloud_update(struct desk *d, struct err *e)
{
    struct slice spec;
    struct ask_answer a;
    return fleet_cloud_spec(d, &spec, e) && fleet_update(d, spec, &a, e) && cli_fleet_print(d, a.body, e);
}

/* The values it was registered with, and those its operator is started with. */
bool cli_cloud_config(struct desk *d, struct err *e)
{
    struct ask_answer a;
    struct json doc;
    if (!fleet_get(d, d->o.name, &a, e) || !json_parse(&doc, a.body, &d->a, e))
        return false;
    struct slice id = json_raw(json_get(json_root(&doc), "status.deploymentId")), spec = json_raw(json_get(json_root(&doc), "spec"));
    if (slice_eq(d->o.output, SLICE("table")))
        d->o.output = SLICE("yaml");
    return cli_fleet_print(
        d, arena_printf(&d->a, "{\"deploymentId\":%.*s,\"spec\":%.*s}", SLICE_ARG(slice_empty(id) ? SLICE("null") : id), SLICE_ARG(spec)),
        e);
}

/* Jobs that run there would go on without anybody who can see or end them. */
bool cli_cloud_delete(struct desk *d, struct err *e)
{
    struct slice first;
    uint32_t running;
    if (d->o.force)
        return cli_fleet_remove(d, e);
    if (!fleet_cloud_workloads(d, &running, &first, e))
        return false;
    return running
               ? err_set(e, ERR_CONFIG,
                         "Cloud %.*s: %u workloads of it have not ended, such as %.*s: end them (mobula job terminate), or give --force, "
                         "and what runs goes on without a control plane",
                         SLICE_ARG(d->o.name), running, SLICE_ARG(first))
               : cli_fleet_remove(d, e);
}

static bool read_cloud(struct desk *d, struct slice name, struct json *doc, struct err *e)
{
    struct ask_answer a;
    return fleet_get(d, name, &a, e) && json_parse(doc, a.body, &d->a, e);
}

bool cli_cloud_verify(struct desk *d, struct err *e)
{
    static const struct column columns[FLEET_COLUMNS] = {{"CHECK", "name"}, {"STATUS", "status"}, {"DETAILS", "details"}};
    struct json doc;
    struct jval list;
    bool failed = false;
    if (!read_cloud(d, d->o.name, &doc, e))
        return false;
    struct jval status = json_get(json_root(&doc), "status");
    struct slice seen = json_get_str(status, "lastContactTime", &d->a);
    bool calls = !slice_empty(seen) && !fleet_is_silent(d, json_root(&doc));
    if (!json_read(&list, fleet_cloud_checks(status, !calls, &failed, &d->a), &d->a, e))
        return false;
    d->status = STATUS_FINDINGS;
    return cli_fleet_print_rows(d, columns, list, e) && calls && !failed;
}

bool cli_node_list(struct desk *d, struct err *e)
{
    static const struct column columns[FLEET_COLUMNS] = {{"NAME", "name"},     {"ZONE", "zone"}, {"CPU", "cpu"},
                                                         {"MEMORY", "memory"}, {"GPU", "gpu"},   {"STATE", "pressure"}};
    struct json doc;
    if (!read_cloud(d, d->o.cloud, &doc, e))
        return false;
    struct jval nodes = json_get(json_root(&doc), "status.nodes"), list = json_get(nodes, "items");
    struct slice message = json_get_str(nodes, "message", &d->a);
    char clean[ERR_TEXT_MAX / 2];
    if (json_len(list) == 0)
        return err_set(e, ERR_STATUS, "the operator of cloud %.*s has reported no nodes%s%.*s", SLICE_ARG(d->o.cloud),
                       slice_empty(message) ? "" : ": ", SLICE_ARG(utf8_clean(message, clean, sizeof clean)));
    if (!slice_empty(message))
        fprintf(stderr, "mobula: %.*s\n", SLICE_ARG(utf8_clean(message, clean, sizeof clean)));
    return cli_fleet_print_rows(d, columns, list, e);
}
