#include "wait_gcs.h"
#include "cli.h"

#include <mobula/ray.h>

#include <stdio.h>

/* ---- one attempt ---- */

static void attempt_end(struct gcs_wait *w, struct now now)
{
    link_close(w->link);
    w->link = NULL;
    w->next_ms = now.mono_ms + GCS_RETRY_MS * 3 / 4 + (int64_t)rng_below(&w->rng, GCS_RETRY_MS / 2);
}

static void attempt_failed(struct gcs_wait *w, struct link *l)
{
    w->why = l->error;
    if (w->opened && l->error.code == ERR_TIMEOUT) {
        w->why = (struct err){0};
        err_set(&w->why, ERR_TIMEOUT, "%.*s is open but nobody answers: the GCS is still starting, or it hangs", SLICE_ARG(w->address));
    }
}

/* Whether the attempt is over. */
static bool attempt_read(struct gcs_wait *w, struct link *l)
{
    struct err e = {0};
    w->opened = true;
    link_put(l, &w->unsent);
    enum ray_health health = ray_health_read(link_peek(l), &e);
    if (health == RAY_HEALTH_MORE && l->state == LINK_OPEN)
        return false;
    if (health == RAY_HEALTH_MORE)
        err_set(&e, ERR_CLOSED, "it closed the connection without an answer: is this the port of the GCS?");
    if (health == RAY_HEALTH_SERVING)
        w->serving = true;
    else
        err_wrap(&e, "%.*s", SLICE_ARG(w->address));
    w->why = e;
    return true;
}

static void attempt_step(struct link_owner *owner, struct link *l, struct now now)
{
    struct gcs_wait *w = (struct gcs_wait *)(void *)owner;
    if (l->state == LINK_OPENING)
        return;
    if (l->state == LINK_FAILED)
        attempt_failed(w, l);
    else if (!attempt_read(w, l))
        return;
    attempt_end(w, now);
}

int64_t gcs_wait_step(struct gcs_wait *w, struct now now)
{
    if (w->link)
        return w->until_ms;
    if (now.mono_ms < w->next_ms)
        return w->next_ms < w->until_ms ? w->next_ms : w->until_ms;
    int64_t until = now.mono_ms + GCS_ATTEMPT_MS;
    w->owner.step = attempt_step;
    w->unsent = ray_health_request();
    w->opened = false;
    w->why = (struct err){0};
    w->link = net_open(w->net, &w->to, &w->owner, until < w->until_ms ? until : w->until_ms, &w->why);
    if (!w->link)
        w->next_ms = now.mono_ms + GCS_RETRY_MS;
    return w->link ? w->until_ms : w->next_ms;
}

bool gcs_wait_over(const struct gcs_wait *w, struct now now)
{
    return w->serving || (now.mono_ms >= w->until_ms && !w->link);
}

bool gcs_address(struct slice text, struct endpoint *to, struct err *e)
{
    size_t colon = text.len;
    while (colon > 0 && text.ptr[colon - 1] != ':')
        colon--;
    struct slice host = slice_head(text, colon > 0 ? colon - 1 : 0);
    bool well = slice_find(host, ':') < 0 && slice_find(host, '[') < 0;
    if (slice_starts(host, SLICE("[")) && slice_ends(host, SLICE("]"))) {
        host = (struct slice){host.ptr + 1, host.len - 2};
        well = true;
    }
    int64_t port;
    if (!well || slice_empty(host) || !slice_int(slice_skip(text, colon), &port) || port < 1 || port > UINT16_MAX)
        return err_set(e, ERR_CONFIG, "--address: \"%.*s\" is not HOST:PORT", SLICE_ARG(text));
    *to = (struct endpoint){.host = host, .port = (uint16_t)port};
    return true;
}

/* ---- the command ---- */

struct wait_options {
    struct slice address;
    int64_t timeout_ms;
};

static const struct flag list[] = {
    {"address", FLAG_TEXT, offsetof(struct wait_options, address), "HOST:PORT", "of the GCS: the head's service, port 6379"},
    {"timeout", FLAG_DURATION, offsetof(struct wait_options, timeout_ms), "TIME", "give up after this (10m)"},
};

static const struct flags flags = {
    .usage = "mobula wait-gcs --address HOST:PORT [--timeout 10m]",
    .about = "Waits until the GCS of a Ray cluster answers its health check. Exit status 1 when it does not within the time.",
    .list = list,
    .count = COUNT_OF(list),
};

/* Says why it is not done when that changed, or every GCS_REPEAT_MS. */
struct voice {
    struct now began;
    int64_t next_ms;
    char said[ERR_TEXT_MAX];
};

static void say_age(const struct voice *v, struct now now, const char *what)
{
    char age[TIME_TEXT_MAX];
    fprintf(stderr, "wait-gcs: %s after %.*s", what, SLICE_ARG(time_format_age((now.mono_ms - v->began.mono_ms) / 1000, age)));
}

static void say_reason(struct voice *v, const struct gcs_wait *w, struct now now)
{
    bool known = strcmp(v->said, w->why.text) == 0;
    if (w->link || w->why.code == ERR_NONE || (known && now.mono_ms < v->next_ms))
        return;
    say_age(v, now, "not yet");
    fprintf(stderr, ": %s\n", w->why.text);
    memcpy(v->said, w->why.text, sizeof v->said);
    v->next_ms = now.mono_ms + GCS_REPEAT_MS;
}

static int wait_for(struct gcs_wait *w, struct loop *loop, struct voice *v)
{
    struct now now = v->began;
    int signal = 0;
    while (!signal && !gcs_wait_over(w, now)) {
        say_reason(v, w, now);
        now = loop_wait(loop, gcs_wait_step(w, now));
        net_dispatch(w->net, now);
        signal = loop_signal(loop);
    }
    if (signal) {
        say_age(v, now, "ended by a signal");
        fputc('\n', stderr);
        return STATUS_ERROR;
    }
    say_age(v, now, w->serving ? "the GCS answers" : "gave up");
    fprintf(stderr, "%s%s\n", w->serving ? "" : ": ", w->why.text);
    return w->serving ? STATUS_OK : STATUS_ERROR;
}

static void free_allow(struct net_allow **a)
{
    net_allow_free(*a);
}

int cli_wait_gcs(int argc, char **argv)
{
    struct wait_options o = {.timeout_ms = 10 * 60 * 1000};
    int status;
    if (!flags_parse(&flags, argc, argv, &o, &status))
        return status;
    struct gcs_wait w = {.address = o.address};
    struct err e = {0};
    if (!o.address.ptr)
        return flags_wrong(&flags, "--address is needed");
    if (o.timeout_ms == 0)
        return flags_wrong(&flags, "--timeout must be above 0");
    if (!gcs_address(o.address, &w.to, &e))
        return flags_wrong(&flags, "%s", e.text);

    __attribute__((cleanup(free_allow))) struct net_allow *allow = net_allow_new();
    struct loop *loop = net_allow_add(allow, w.to.host, w.to.port, "--address", &e) ? loop_new(allow, &e) : NULL;
    if (!loop)
        return cli_fail(&e);
    struct voice v = {.began = clock_now()};
    w.net = loop_net(loop);
    w.until_ms = v.began.mono_ms + o.timeout_ms;
    rng_seed_system(&w.rng);
    char most[TIME_TEXT_MAX];
    fprintf(stderr, "wait-gcs: asking %.*s until it answers, for %.*s at most\n", SLICE_ARG(o.address),
            SLICE_ARG(time_format_age(o.timeout_ms / 1000, most)));
    status = wait_for(&w, loop, &v);
    if (w.link)
        link_close(w.link);
    loop_free(loop);
    return status;
}
