/* `mobula check --idle`: for how long the path to the API server keeps an idle connection. Watches of a pod that does not exist are opened
 * side by side, without TCP keepalives of ours, each with another timeoutSeconds. When the server's end of such a watch does not arrive, a
 * NAT, firewall or proxy has forgotten the connection. Keepalives of the server's own, commonly every 3 minutes, keep a connection from
 * being idle. */
#include <mobula/check.h>
#include <mobula/http.h>

enum { IDLE_PROBES = 4, IDLE_LATE_S = 15, IDLE_LEAST_S = 1, OWN_PROBES_S = 15 }; /* OWN_PROBES_S: of src/net/tcp.c */

struct idle {
    struct link_owner owner; /* first */
    struct buf request;
    struct slice unsent;
    int64_t silent_s, since_ms; /* since_ms 0: no answer has begun */
    bool over, kept;
    struct err e;
};

static void on_link(struct link_owner *owner, struct link *l, struct now now)
{
    struct idle *i = (struct idle *)owner;
    if (l->state == LINK_OPENING)
        return;
    if (l->state == LINK_OPEN)
        link_put(l, &i->unsent);
    struct slice in = link_peek(l);
    bool heard = in.len > 0, first = heard && i->since_ms == 0, ended = l->state != LINK_OPEN;
    if (first && !slice_starts(in, SLICE("HTTP/1.1 200")))
        err_set(&i->e, ERR_STATUS, "%.*s", SLICE_ARG(slice_cut(&in, '\r')));
    link_used(l, link_peek(l).len);
    if (first)
        i->since_ms = now.mono_ms;
    if (l->state == LINK_FAILED)
        i->e = l->error;
    else if (ended && now.mono_ms - i->since_ms < i->silent_s * 900)
        err_set(&i->e, ERR_CLOSED, "the connection was closed");
    /* The server ends it a moment before or after its time. */
    i->kept |= i->e.code == ERR_NONE && i->since_ms && (heard || ended) && now.mono_ms - i->since_ms >= i->silent_s * 900;
    i->over = ended || i->kept || i->e.code != ERR_NONE;
    if (i->over)
        link_close(l);
}

static bool open_watch(struct check *c, struct idle *i, struct now now)
{
    const struct kube_config *k = c->ask.config;
    struct slice authorization = kube_config_authorization(k);
    const struct http_header header = {SLICE("Authorization"), authorization};
    struct slice target =
        arena_printf(c->a, "/api/v1/namespaces/%.*s/pods?watch=1&fieldSelector=metadata.name%%3Dmobula-idle&timeoutSeconds=%lld",
                     SLICE_ARG(c->ns), (long long)i->silent_s);
    struct endpoint to;
    kube_config_endpoint(k, &to);
    to.silent = true;
    i->owner.step = on_link;
    buf_init(&i->request, LIMIT_HTTP_HEAD);
    http_write_request(&i->request, SLICE("GET"), target, k->host, &header, !slice_empty(authorization), NULL);
    i->unsent = buf_slice(&i->request);
    i->over = !net_open(loop_net(c->ask.loop), &to, &i->owner, now.mono_ms + (i->silent_s + IDLE_LATE_S) * 1000, &i->e);
    return !i->over;
}

/* False: a signal came. */
static bool wait_all(struct check *c, struct idle *list, size_t count)
{
    for (;;) {
        size_t over = 0;
        for (size_t i = 0; i < count; i++)
            over += list[i].over;
        if (over == count)
            return true;
        net_dispatch(loop_net(c->ask.loop), loop_wait(c->ask.loop, TIME_NEVER));
        c->ask.signal = loop_signal(c->ask.loop);
        if (c->ask.signal)
            return false;
    }
}

/* list: the longest silence first. */
static void say_silence(struct check *c, const struct idle *list, size_t count)
{
    const struct idle *kept = NULL, *lost = NULL;
    for (size_t i = 0; i < count; i++)
        if (list[i].since_ms == 0 || list[i].e.code == ERR_STATUS) {
            check_say(c, CHECK_SKIP, NULL, "no watch to be silent on: %s", list[i].e.text);
            return;
        } else if (!list[i].kept)
            lost = &list[i];
        else if (!kept)
            kept = &list[i];
    if (!lost) {
        if (kept)
            check_say(c, CHECK_PASS, NULL, "connections are kept for %lld s of silence", (long long)kept->silent_s);
        return;
    }
    check_say(c, lost->silent_s <= OWN_PROBES_S ? CHECK_FAIL : CHECK_WARN,
              lost->silent_s <= OWN_PROBES_S
                  ? "raise the idle timeout of the NAT, firewall or proxy: the operator's keepalives come every 15 s"
                  : "nothing to do for the operator, whose keepalives come every 15 s; whatever else goes this way needs some",
              "connections are lost after %lld to %lld s of silence: %s", kept ? (long long)kept->silent_s : 0LL, (long long)lost->silent_s,
              lost->e.code == ERR_NONE || lost->e.code == ERR_TIMEOUT ? "without an error" : lost->e.text);
}

void check_idle(struct check *c)
{
    struct idle list[IDLE_PROBES] = {0};
    struct now now = clock_now();
    size_t count = 0;
    for (int64_t s = c->o->idle_ms / 1000; s >= IDLE_LEAST_S && count < IDLE_PROBES; s /= 2)
        list[count++].silent_s = s;
    for (size_t i = 0; i < count; i++)
        open_watch(c, &list[i], now);
    if (count && wait_all(c, list, count))
        say_silence(c, list, count);
    for (size_t i = 0; i < count; i++)
        buf_wipe(&list[i].request);
}
