/* mobula wait-gcs: waits for the GCS, Ray's control service, and prints why it does not answer. */
#include "cli.h"

#include <mobula/heads.h>
#include <mobula/ray.h>

#include <stdio.h>

enum { REPEAT_MS = 10 * 1000 }; /* the same reason is printed again after this */

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

/* Says why it is not done when that is new, or every REPEAT_MS: reasons that take turns are no news. */
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
static void say_why(const struct ray_gcs_wait *w)
{
    char words[ERR_TEXT_MAX];
    utf8_clean(slice_of(w->why.text), words, sizeof words);
    fprintf(stderr, "%s%s\n", words[0] ? ": " : "", words);
}

static void say_reason(struct voice *v, const struct ray_gcs_wait *w, struct now now)
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
    v->next_ms = now.mono_ms + REPEAT_MS;
}

static int wait_for(struct ray_gcs_wait *w, struct loop *loop, struct voice *v)
{
    struct now now = v->began;
    int signal = 0;
    while (!signal && !ray_gcs_wait_over(w, now)) {
        say_reason(v, w, now);
        now = loop_wait(loop, ray_gcs_wait_step(w, now));
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
    struct ray_gcs_wait w;
    struct endpoint to;
    struct rng rng;
    struct err e = {0};
    if (!o.address.ptr)
        return flags_wrong(&flags, "--address is needed");
    if (o.timeout_ms == 0)
        return flags_wrong(&flags, "--timeout must be above 0");
    if (!ray_gcs_address(o.address, &to, &e))
        return flags_wrong(&flags, "--address: %s", e.text);

    __attribute__((cleanup(free_allow))) struct net_allow *allow = net_allow_new();
    struct loop *loop = net_allow_add(allow, to.host, to.port, "--address", &e) ? loop_new(allow, &e) : NULL;
    if (!loop)
        return cli_fail(&e);
    struct voice v = {.began = clock_now()};
    rng_seed_system(&rng);
    if (!ray_gcs_wait_begin(&w, loop_net(loop), &to, v.began.mono_ms + o.timeout_ms, rng_next(&rng), cli_read_file, &e))
        return cli_fail(&e);
    char most[TIME_TEXT_MAX];
    fprintf(stderr, "wait-gcs: asking %.*s until it answers, for %.*s at most\n", SLICE_ARG(o.address),
            SLICE_ARG(time_format_age(o.timeout_ms / 1000, most)));
    status = wait_for(&w, loop, &v);
    ray_gcs_wait_end(&w);
    loop_free(loop);
    return status;
}
