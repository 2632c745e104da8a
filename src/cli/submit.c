/* mobula submit: submits a job to Ray's dashboard and prints what becomes of it. */
#include "submit_flags.h"

#include <signal.h>
#include <stdio.h>

static void say(void *owner, const char *line)
{
    (void)owner;
    fprintf(stderr, "submit: %s\n", line);
}

static bool show(void *owner, struct slice text)
{
    (void)owner;
    return cli_print(text);
}

static void desk_free(struct submit_desk **d)
{
    submit_desk_free(*d);
    mem_free(*d);
}

static void free_allow(struct net_allow **a)
{
    net_allow_free(*a);
}

static int run(const struct submit_options *o, struct loop *loop, struct rng *rng)
{
    struct kube_client *client = o->proxy ? o->proxy->client : NULL;
    struct now now = clock_now();
    struct submit s;
    struct ray_dash_pool *pool = ray_dash_pool_new(loop_net(loop));
    submit_begin(&s, o, pool, rng_next(rng), now);
    while (!submit_over(&s)) {
        int64_t next = submit_step(&s, now), turn = ray_dash_pool_tick(pool, now);
        int64_t call = client ? kube_client_tick(client, now) : TIME_NEVER;
        if (submit_over(&s))
            break;
        next = turn < next ? turn : next;
        now = loop_wait(loop, call < next ? call : next);
        net_dispatch(loop_net(loop), now);
        int signal = loop_signal(loop);
        if (signal && !submit_over(&s))
            submit_leave(&s, signal, now);
    }
    ray_dash_pool_free(pool);
    bool told = o->wait || s.exit != STATUS_OK || (cli_print(o->job.id) && cli_print(SLICE("\n")));
    return told ? s.exit : STATUS_ERROR;
}

/* At an address: over a link of our own. */
static int run_direct(struct submit_desk *d, struct rng *rng)
{
    struct err e = {0};
    __attribute__((cleanup(free_allow))) struct net_allow *allow = net_allow_new();
    struct loop *loop = net_allow_add(allow, d->o.host, d->o.port, "--address", &e) ? loop_new(allow, &e) : NULL;
    if (!loop)
        return cli_fail(&e);
    int status = run(&d->o, loop, rng);
    loop_free(loop);
    return status;
}

/* To the head of a cluster, through the API server. Its own token is taken where none was given. */
static int run_proxied(struct submit_desk *d, const struct submit_flags *f, struct rng *rng)
{
    struct seek s;
    struct seek_head head = {0};
    struct err e = {0};
    bool absent;
    int status = STATUS_ERROR;
    bool found = seek_open(&s, &f->seek, &d->a, &e) && seek_head(&s, f->cluster, &head, &absent, &e);
    struct submit_proxy proxy = {.client = s.ask.client, .path = head.path};
    struct slice bearer = head.token.value;
    if (found && slice_empty(d->token.path) && slice_empty(d->token.given))
        d->token.given = slice_starts(bearer, SLICE("Bearer ")) ? slice_skip(bearer, 7) : SLICE_NONE;
    d->o.proxy = &proxy;
    status = found ? run(&d->o, s.ask.loop, rng) : cli_fail(&e);
    mem_wipe((char *)(uintptr_t)bearer.ptr, bearer.len);
    seek_close(&s);
    return status;
}

/* Where the flags end and the entrypoint begins. */
static int find_entrypoint(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            return i;
    return argc;
}

int cli_submit(int argc, char **argv)
{
    struct submit_flags f = {.patience_ms = 5 * 60 * 1000};
    struct err e = {0};
    struct rng rng;
    int status, dashes = find_entrypoint(argc, argv);
    if (!flags_parse(&submit_flags, dashes, argv, &f, &status))
        return status;
    rng_seed_system(&rng);
    signal(SIGPIPE, SIG_IGN); /* a reader of the log that goes away is reported as an error */
    __attribute__((cleanup(desk_free))) struct submit_desk *d = mem_alloc(sizeof *d);
    size_t count = dashes < argc ? (size_t)(argc - dashes - 1) : 0;
    struct slice *words = arena_array(&d->a, count, sizeof *words);
    for (size_t i = 0; i < count; i++)
        words[i] = slice_of(argv[dashes + 1 + (int)i]);
    if (!submit_desk_fill(d, &f, words, count, &rng, &e))
        return e.code == ERR_IO ? cli_fail(&e) : flags_wrong(&submit_flags, "%s", e.text);
    d->o.voice.say = say;
    d->o.voice.show = show;
    return f.cluster.ptr ? run_proxied(d, &f, &rng) : run_direct(d, &rng);
}
