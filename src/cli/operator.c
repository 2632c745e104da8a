/* mobula operator: the controller in the event loop. Everything that happens, happens in turns: wait, let the links speak, let the operator
 * act. */
#include "operator_setup.h"

#include <mobula/command.h>

#include <signal.h>

enum { STOP_MS = 12 * 1000 }; /* operator_stop ends before */

struct process {
    struct operator_setup setup;
    struct op *op;
};

static bool start(struct process *p, struct err *e)
{
    struct operator_setup *s = &p->setup;
    const struct operator_flags *o = &s->o;
    struct operator_options to = {0};
    const char *sandbox;
    if (!operator_setup_read(s, &to, e))
        return false;
    operator_caller_start(&s->caller, loop_net(s->loop));
    p->op = operator_new(loop_net(s->loop), s->config, &to, e);
    if (!p->op || !cli_listen(s->loop, o->serve.health, operator_health(p->op), "health-addr", e) ||
        !cli_listen(s->loop, o->serve.status, operator_status(p->op), "status-addr", e) ||
        !cli_listen(s->loop, o->serve.metrics, operator_metrics(p->op), "metrics-addr", e) ||
        (slice_is(o->plane.agent, "operator") && !cli_listen(s->loop, o->plane.agent_addr, operator_agents(p->op), "agent-addr", e)) ||
        !sandbox_enter(o->sandbox, s->config->plugin, &sandbox, e))
        return false;
    struct slice watched = slice_empty(o->namespaces) ? s->config->namespace_ : o->namespaces;
    log_info("started", LF_CSTR("version", MOBULA_VERSION), LF_CSTR("sandbox", sandbox), LF("server", s->config->host),
             LF_INT("port", s->config->port), LF("config", s->config->source),
             LF("namespaces", o->all_namespaces ? SLICE("all") : watched));
    return true;
}

static void renew(void *of, struct now now)
{
    operator_renew(((struct process *)of)->op, now);
}

static void wake(void *of, struct now now)
{
    operator_wake(((struct process *)of)->op, now);
}

static int64_t step(void *of, struct now now)
{
    struct process *p = of;
    int64_t caller = operator_caller_step(&p->setup.caller, now);
    return earlier(caller, operator_step(p->op, now));
}

static bool stop(void *of, struct now now)
{
    return operator_stop(((struct process *)of)->op, now);
}

int cli_operator(int argc, char **argv)
{
    static const struct cli_daemon daemon = {.renew = renew, .wake = wake, .step = step, .stop = stop, .stop_ms = STOP_MS};
    struct process p = {0};
    struct operator_flags *o = &p.setup.o;
    int status;
    struct err e = {0};
    operator_flags_init(o);
    if (!flags_parse(&operator_flags, argc, argv, o, &status))
        return status;
    if (!cli_log(o->log.level, o->log.format, &e) || !operator_flags_check(o, &e))
        return flags_wrong(&operator_flags, "%s", e.text);
    signal(SIGPIPE, SIG_IGN); /* that nobody reads the log any more is no reason to end */
    bool started = start(&p, &e);
    if (started)
        cli_daemon_run(&daemon, p.setup.loop, &p);
    operator_free(p.op);
    operator_setup_free(&p.setup);
    return cli_daemon_end(&operator_flags, started, &e);
}
