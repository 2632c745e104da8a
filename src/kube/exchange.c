#include "exchange.h"

static void send_rest(struct exchange *x, struct now now)
{
    if (x->sent == 0)
        x->sent_ms = now.mono_ms;
    size_t before = x->unsent.len;
    link_put(x->link, &x->unsent);
    x->sent += before - x->unsent.len;
    x->stats->bytes_out += before - x->unsent.len;
}

/* The last thing a step does: nothing of x is touched behind it. */
static void lose(struct exchange *x, const struct err *why, struct now now)
{
    struct err kept = *why; /* it may lie in the link, which goes first */
    exchange_close(x);
    x->events->lost(x, &kept, now);
}

static void complete(struct exchange *x, bool more_follows, struct now now)
{
    bool reusable = x->reader.keep_alive && slice_empty(x->unsent) && !more_follows && x->link->state == LINK_OPEN;
    x->busy = false;
    x->answers++;
    if (!reusable)
        exchange_close(x);
    x->events->end(x, now);
}

/* One step of the reader. Returns false when the step of the link ends here. */
static bool read_some(struct exchange *x, struct link *l, struct now now)
{
    struct slice in = link_peek(l), body = SLICE_NONE;
    struct err e = {0};
    size_t had = in.len;
    if (had) {
        x->heard = true;
        x->heard_ms = now.mono_ms;
    }
    enum http_step step = http_read(&x->reader, &in, &body, &e);
    if (step == HTTP_HEAD) {
        x->status = x->reader.status;
        x->stats->server_cert_expires_us = l->peer_expires_us;
        memcpy(x->stats->tls, l->tls, sizeof l->tls);
        x->events->head(x, now);
    }
    if (step == HTTP_BODY)
        x->events->body(x, body, now);
    if (x->link != l)
        return false;
    link_used(l, had - in.len);
    x->stats->bytes_in += had - in.len;
    if (step == HTTP_END)
        complete(x, !slice_empty(link_peek(l)), now);
    else if (step == HTTP_BAD)
        lose(x, &e, now);
    return step == HTTP_HEAD || step == HTTP_BODY || (step == HTTP_MORE && had > 0);
}

static void read_end(struct exchange *x, struct link *l, struct now now)
{
    struct err e = {0};
    if (l->state == LINK_FAILED) {
        lose(x, &l->error, now);
        return;
    }
    enum http_step step = x->busy ? http_read_end(&x->reader, &e) : HTTP_MORE;
    if (step == HTTP_END) {
        complete(x, false, now);
        return;
    }
    err_set(&e, ERR_CLOSED, "the server closed the connection before it answered");
    lose(x, &e, now);
}

static void exchange_step(struct link_owner *owner, struct link *l, struct now now)
{
    struct exchange *x = (struct exchange *)owner;
    if (x->link != l)
        return;
    if (l->state == LINK_OPEN) {
        x->opened = true;
        l->deadline_ms = TIME_NEVER; /* the deadline was for opening it; from here on each request has its own, which our user keeps */
        if (x->busy)
            send_rest(x, now);
    }
    while (x->busy && read_some(x, l, now))
        ;
    if (x->link != l)
        return;
    if (l->state == LINK_ENDED || l->state == LINK_FAILED) {
        read_end(x, l, now);
    } else if (!x->busy && !slice_empty(link_peek(l))) {
        struct err e = {0};
        err_set(&e, ERR_HTTP, "the server sent bytes that nobody asked for");
        lose(x, &e, now);
    }
}

void exchange_init(struct exchange *x, const struct exchange_events *events, struct kube_client_stats *stats)
{
    *x = (struct exchange){.owner.step = exchange_step, .events = events, .stats = stats};
    http_reader_init(&x->reader, HTTP_RESPONSES);
}

bool exchange_open(struct exchange *x, struct net *net, const struct endpoint *to, int64_t deadline_ms, struct err *e)
{
    x->link = net_open(net, to, &x->owner, deadline_ms, e);
    x->answers = 0;
    x->opened = false;
    x->stats->links += x->link != NULL;
    return x->link != NULL;
}

void exchange_send(struct exchange *x, struct slice request, struct now now)
{
    x->unsent = request;
    x->sent = 0;
    x->heard = false;
    x->busy = true;
    if (x->link->state == LINK_OPEN)
        send_rest(x, now);
}

void exchange_unsend(struct exchange *x)
{
    x->unsent = SLICE_NONE;
    x->busy = false;
}

void exchange_close(struct exchange *x)
{
    if (x->link) {
        link_close(x->link);
        x->stats->links--;
    }
    x->link = NULL;
    x->busy = false;
    x->unsent = SLICE_NONE;
    http_reader_free(&x->reader);
}
