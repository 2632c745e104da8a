/* Shared by the commands that run until a signal comes: their log, their listeners, their turns of the event loop. */
#include <mobula/command.h>

#include <signal.h>
#include <unistd.h>

bool cli_log(struct slice level, struct slice format, struct err *e)
{
    static const char *const levels[] = {[LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_ERROR] = "error"};
    bool known = false;
    for (size_t i = 0; i < COUNT_OF(levels); i++)
        if (slice_eq(level, slice_of(levels[i]))) {
            log_global.level = (enum log_level)i;
            known = true;
        }
    log_global.json = slice_eq(format, SLICE("json"));
    return (known && (log_global.json || slice_eq(format, SLICE("logfmt")))) ||
           err_set(e, ERR_CONFIG, "--log-level is debug, info, warn or error, --log-format logfmt or json");
}

bool cli_listen(struct loop *l, struct slice address, struct link_accept *accept, const char *flag, struct err *e)
{
    return cli_listen_tls(l, address, accept, NULL, flag, e);
}

bool cli_listen_tls(struct loop *l, struct slice address, struct link_accept *accept, struct tls_identity *const *identity,
                    const char *flag, struct err *e)
{
    uint16_t port;
    if (slice_empty(address))
        return true;
    if (!loop_listen_tls(l, address, accept, identity, &port, e))
        return err_wrap(e, "--%s", flag);
    log_info("listening", LF_CSTR("for", flag), LF("address", address), LF_INT("port", port));
    return true;
}

enum { STOP_LOOK_MS = 100 };

void cli_daemon_run(const struct cli_daemon *d, struct loop *l, void *of)
{
    int64_t deadline = 0, stop_by = TIME_NEVER;
    for (;;) {
        struct now now = loop_wait(l, deadline < stop_by ? deadline : stop_by);
        for (int sig; (sig = loop_signal(l)) != 0;) {
            if (sig == SIGHUP)
                d->renew(of, now);
            if (sig != SIGHUP && stop_by == TIME_NEVER) {
                log_info("stopping", LF_INT("signal", sig));
                stop_by = now.mono_ms + d->stop_ms;
            }
        }
        if (d->wake)
            d->wake(of, now);
        net_dispatch(loop_net(l), now);
        deadline = d->step(of, now);
        if (stop_by == TIME_NEVER)
            continue;
        if (d->stop(of, now) || now.mono_ms >= stop_by)
            return;
        deadline = earlier(deadline, now.mono_ms + STOP_LOOK_MS); /* work of stop() may be over before the next step is due */
    }
}

int cli_daemon_end(const struct flags *f, bool started, const struct err *e)
{
    if (started)
        log_info("stopped");
    /* An error in a flag itself is wrong usage; a refusal by the system (a port in use) is not. */
    if (!started && e->code != ERR_IO && slice_starts(slice_of(e->text), SLICE("--")))
        return flags_wrong(f, "%s", e->text);
    return started ? STATUS_OK : cli_fail(e);
}
