/* mobula agent: runs beside Ray in its pods. In a head it reports to the control plane how Ray is: it exchanges the pod's projected token
 * for a credential that is valid for some minutes, and sends what the head's GCS says when that changes, and every --every; or it sends
 * that to the operator, with the token itself. With --bucket it stores Ray's log files in a bucket (ship.h). */
#include "agent.h"

#include <mobula/command.h>

#include <signal.h>

enum { STOP_MS = 500 };

#define AT(field) offsetof(struct agent_options, field)
static const struct flag list[] = {
    {"control-plane-url", FLAG_TEXT, AT(url), "URL"},
    {"control-plane-ca-file", FLAG_TEXT, AT(ca), "FILE"},
    {"cloud-deployment-id", FLAG_TEXT, AT(cloud), "ID"},
    {"operator-url", FLAG_TEXT, AT(operator_url), "URL"},
    {"token-file", FLAG_TEXT, AT(token_file), "FILE"},
    {"gcs-addr", FLAG_TEXT, AT(gcs), "IP:PORT"},
    {"dashboard-addr", FLAG_TEXT, AT(dashboard), "IP:PORT"},
    {"every", FLAG_DURATION, AT(every_ms), "TIME"},
    {"bucket", FLAG_TEXT, AT(bucket), "URL"},
    {"logs-name", FLAG_TEXT, AT(logs_name), "NAMESPACE/CLUSTER/NODE"},
    {"logs-dir", FLAG_TEXT, AT(logs), "DIR"},
    {"logs-every", FLAG_DURATION, AT(flush_ms), "TIME"},
    STORAGE_FLAGS(AT(storage)),
    TLS_FLAG,
    SANDBOX_FLAG(AT(sandbox)),
};
#undef AT
static const struct flags flags = {
    .usage = "mobula agent --operator-url=URL | --control-plane-url=URL --cloud-deployment-id=ID | --bucket=URL --logs-name=NAME [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
};

static int64_t step(void *of, struct now now)
{
    struct agent *g = of;
    int64_t reports = g->reports ? agent_reports_step(g, now) : TIME_NEVER;
    return earlier(reports, slice_empty(g->o.bucket) ? TIME_NEVER : agent_logs_step(g, now));
}

static void renew(void *of, struct now now)
{
    struct agent *g = of;
    if (g->calls)
        remote_agent_renew(g->calls, now);
}

static bool stop(void *of, struct now now)
{
    struct agent *g = of;
    return !g->ship || ship_stop(g->ship, now);
}

static bool start(struct agent *g, struct err *e)
{
    const struct agent_options *o = &g->o;
    const char *sandbox;
    g->reports = !slice_empty(o->url) || !slice_empty(o->operator_url);
    bool both = !slice_empty(o->url) && !slice_empty(o->operator_url), logs = !slice_empty(o->bucket);
    if (both || (!g->reports && !logs))
        return err_set(e, ERR_CONFIG, "--operator-url, or --control-plane-url and --cloud-deployment-id, or --bucket is needed");
    if (logs && !cloud_place(o->bucket, &g->bucket, e))
        return err_wrap(e, "--bucket");
    if (logs && !cloud_key(o->logs_name, e))
        return err_wrap(e, "--logs-name");
    g->allow = net_allow_new();
    g->loop = loop_new(g->allow, e);
    if (!g->loop || (g->reports && !agent_reports_open(g, e)) || !sandbox_enter(o->sandbox, false, &sandbox, e))
        return false;
    log_info("started", LF_CSTR("version", MOBULA_VERSION), LF_CSTR("sandbox", sandbox), LF("bucket", o->bucket));
    return true;
}

static void release(struct agent *g)
{
    ship_free(g->ship);
    if (g->storage.from.owner)
        storage_close(&g->storage);
    if (g->pool)
        ray_gcs_pool_free(g->pool);
    if (g->dash_pool)
        ray_dash_pool_free(g->dash_pool);
    remote_agent_free(g->calls);
    if (g->loop)
        loop_free(g->loop);
    kube_config_free(g->config);
    net_allow_free(g->allow);
}

int cli_agent(int argc, char **argv)
{
    struct cli_daemon daemon = {.renew = renew, .step = step, .stop = stop, .stop_ms = STOP_MS};
    struct agent g = {.o = {.token_file = SLICE("/var/run/mobula/token"),
                            .gcs = SLICE("127.0.0.1:6379"),
                            .dashboard = SLICE("127.0.0.1:8265"),
                            .sandbox = SLICE("auto"),
                            .every_ms = 30 * 1000,
                            .logs = SLICE("/tmp/ray"),
                            .flush_ms = 60 * 1000}};
    int status;
    struct err e = {0};
    if (!flags_parse(&flags, argc, argv, &g.o, &status))
        return status;
    signal(SIGPIPE, SIG_IGN);
    rng_seed_system(&g.rng);
    bool started = start(&g, &e);
    daemon.stop_ms = slice_empty(g.o.bucket) ? STOP_MS : SHIP_END_MS;
    if (started)
        cli_daemon_run(&daemon, g.loop, &g);
    release(&g);
    return cli_daemon_end(&flags, started, &e);
}
