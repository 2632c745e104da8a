#include "wait_gcs.h"
#include "cli.h"

#include <mobula/ray.h>

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* ---- attempts ---- */

static void on_answer(void *owner, const struct ray_gcs_answer *answer, struct now now)
{
    struct gcs_wait *w = owner;
    w->asking = false;
    w->serving = answer->err.code == ERR_NONE;
    w->why = answer->err;
    w->next_ms = now.mono_ms + GCS_RETRY_MS * 3 / 4 + (int64_t)rng_below(&w->rng, GCS_RETRY_MS / 2);
}

bool gcs_tls(struct ray_gcs_options *o, struct err *e)
{
    static const char *const names[] = {"RAY_TLS_CA_CERT", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY"};
    const char *use = getenv("RAY_USE_TLS");
    struct slice pem[COUNT_OF(names)];
    struct arena a = {0};
    bool well = true;
    if (!use || !(strcmp(use, "1") == 0 || strcasecmp(use, "true") == 0))
        return true;
    for (size_t i = 0; i < COUNT_OF(names) && well; i++) {
        const char *path = getenv(names[i]);
        well = (path ? cli_read_file(slice_of(path), &a, &pem[i], e) : err_set(e, ERR_CONFIG, "not set")) || err_wrap(e, "%s", names[i]);
    }
    o->trust = well ? tls_trust_load(pem[0], &(uint32_t){0}, &(uint32_t){0}, e) : NULL;
    o->identity = o->trust ? tls_identity_load(pem[1], pem[2], e) : NULL;
    arena_wipe(&a);
    return o->identity != NULL;
}

bool gcs_wait_begin(struct gcs_wait *w, struct net *net, const struct endpoint *to, int64_t until_ms, uint64_t seed, struct err *e)
{
    struct ray_gcs_options o = {.host = to->host, .port = to->port, .done = on_answer, .owner = w};
    *w = (struct gcs_wait){.until_ms = until_ms};
    rng_seed(&w->rng, seed);
    w->pool = ray_gcs_pool_new(net, seed);
    w->gcs = gcs_tls(&o, e) ? ray_gcs_open(w->pool, &o, e) : NULL;
    return w->gcs != NULL;
}

void gcs_wait_end(struct gcs_wait *w)
{
    ray_gcs_pool_free(w->pool);
}

int64_t gcs_wait_step(struct gcs_wait *w, struct now now)
{
    if (!w->asking && !w->serving && now.mono_ms >= w->next_ms && now.mono_ms < w->until_ms) {
        w->asking = true;
        ray_gcs_check(w->gcs, w->until_ms, now);
    }
    int64_t next = ray_gcs_pool_tick(w->pool, now);
    if (!w->asking && w->next_ms < next)
        next = w->next_ms;
    return next < w->until_ms ? next : w->until_ms;
}

bool gcs_wait_over(const struct gcs_wait *w, struct now now)
{
    return w->serving || (now.mono_ms >= w->until_ms && !w->asking);
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
    if (!well || slice_empty(host) || slice_find(host, '/') >= 0 || !slice_int(slice_skip(text, colon), &port) || port < 1 ||
        port > UINT16_MAX)
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
    {"address", FLAG_TEXT, offsetof(struct wait_options, address), "HOST:PORT"},
    {"timeout", FLAG_DURATION, offsetof(struct wait_options, timeout_ms), "TIME"},
};

static const struct flags flags = {
    .usage = "mobula wait-gcs --address HOST:PORT [--timeout 10m]",
    .list = list,
    .count = COUNT_OF(list),
};

enum { VOICE_KNOWN = 8 };

/* Says why it is not done when that is new, or every GCS_REPEAT_MS: reasons that take turns are no news. */
struct voice {
    struct now began;
    int64_t next_ms;
    uint64_t known[VOICE_KNOWN]; /* hashes of what was said; the oldest gives way */
    unsigned count;
};

static void say_age(const struct voice *v, struct now now, const char *what)
{
    char age[TIME_TEXT_MAX];
    fprintf(stderr, "wait-gcs: %s after %.*s", what, SLICE_ARG(time_format_age((now.mono_ms - v->began.mono_ms) / 1000, age)));
}

/* Ends the line: with what the other side said, where it said something. */
static void say_why(const struct gcs_wait *w)
{
    char words[ERR_TEXT_MAX];
    utf8_clean(slice_of(w->why.text), words, sizeof words);
    fprintf(stderr, "%s%s\n", words[0] ? ": " : "", words);
}

static void say_reason(struct voice *v, const struct gcs_wait *w, struct now now)
{
    uint64_t hash = hash64(slice_of(w->why.text), 0);
    bool known = false;
    for (size_t i = 0; i < VOICE_KNOWN && i < v->count; i++)
        known |= v->known[i] == hash;
    if (w->asking || w->why.code == ERR_NONE || (known && now.mono_ms < v->next_ms))
        return;
    say_age(v, now, "not yet");
    say_why(w);
    if (!known)
        v->known[v->count++ % VOICE_KNOWN] = hash;
    v->next_ms = now.mono_ms + GCS_REPEAT_MS;
}

static int wait_for(struct gcs_wait *w, struct loop *loop, struct voice *v)
{
    struct now now = v->began;
    int signal = 0;
    while (!signal && !gcs_wait_over(w, now)) {
        say_reason(v, w, now);
        now = loop_wait(loop, gcs_wait_step(w, now));
        net_dispatch(loop_net(loop), now);
        signal = loop_signal(loop);
    }
    if (signal) {
        say_age(v, now, "ended by a signal");
        fputc('\n', stderr);
        return STATUS_ERROR;
    }
    say_age(v, now, w->serving ? "the GCS answers" : "gave up");
    say_why(w);
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
    struct gcs_wait w;
    struct endpoint to;
    struct rng rng;
    struct err e = {0};
    if (!o.address.ptr)
        return flags_wrong(&flags, "--address is needed");
    if (o.timeout_ms == 0)
        return flags_wrong(&flags, "--timeout must be above 0");
    if (!gcs_address(o.address, &to, &e))
        return flags_wrong(&flags, "%s", e.text);

    __attribute__((cleanup(free_allow))) struct net_allow *allow = net_allow_new();
    struct loop *loop = net_allow_add(allow, to.host, to.port, "--address", &e) ? loop_new(allow, &e) : NULL;
    if (!loop)
        return cli_fail(&e);
    struct voice v = {.began = clock_now()};
    rng_seed_system(&rng);
    if (!gcs_wait_begin(&w, loop_net(loop), &to, v.began.mono_ms + o.timeout_ms, rng_next(&rng), &e))
        return cli_fail(&e);
    char most[TIME_TEXT_MAX];
    fprintf(stderr, "wait-gcs: asking %.*s until it answers, for %.*s at most\n", SLICE_ARG(o.address),
            SLICE_ARG(time_format_age(o.timeout_ms / 1000, most)));
    status = wait_for(&w, loop, &v);
    gcs_wait_end(&w);
    loop_free(loop);
    return status;
}
