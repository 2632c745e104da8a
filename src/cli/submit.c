/* mobula submit: submits a job to Ray's dashboard and prints what becomes of it. */
#include "cli.h"

#include <mobula/explain.h>
#include <mobula/submit.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- flags ---- */

struct submit_flags {
    struct slice address, cluster, id, token_file;
    struct seek_options seek;
    struct slice runtime_env, metadata, num_cpus, num_gpus, memory, resources;
    bool no_wait, stop;
    int64_t timeout_ms, patience_ms;
};

#define AT(field) offsetof(struct submit_flags, field)
static const struct flag list[] = {
    {"address", FLAG_TEXT, AT(address), "http://HOST:8265"},
    {"cluster", FLAG_TEXT, AT(cluster), "NAME"},
    SEEK_FLAGS(AT(seek)),
    {"submission-id", FLAG_TEXT, AT(id), "ID"},
    {"runtime-env-json", FLAG_TEXT, AT(runtime_env), "JSON"},
    {"metadata-json", FLAG_TEXT, AT(metadata), "JSON"},
    {"entrypoint-num-cpus", FLAG_TEXT, AT(num_cpus), "N"},
    {"entrypoint-num-gpus", FLAG_TEXT, AT(num_gpus), "N"},
    {"entrypoint-memory", FLAG_TEXT, AT(memory), "BYTES"},
    {"entrypoint-resources", FLAG_TEXT, AT(resources), "JSON"},
    {"token-file", FLAG_TEXT, AT(token_file), "FILE"},
    {"no-wait", FLAG_SWITCH, AT(no_wait), NULL},
    {"timeout", FLAG_DURATION, AT(timeout_ms), "TIME"},
    {"dashboard-timeout", FLAG_DURATION, AT(patience_ms), "TIME"},
    {"stop-on-leave", FLAG_SWITCH, AT(stop), NULL},
};
#undef AT

static const struct flags flags = {
    .usage = "mobula submit --cluster NAME|--address http://HOST:8265 [FLAG…] -- ENTRYPOINT…",
    .list = list,
    .count = COUNT_OF(list),
};

/* The first of these that is set and not empty. */
static struct slice environment(const char *const *names, const char **which)
{
    for (; *names; names++) {
        const char *value = getenv(*names);
        if (value && *value) {
            *which = *names;
            return slice_of(value);
        }
    }
    return SLICE_NONE;
}

static bool find_address(const struct submit_flags *f, struct submit_options *o, struct err *e)
{
    static const char *const names[] = {"RAY_DASHBOARD_ADDRESS", "RAY_API_SERVER_ADDRESS", "RAY_ADDRESS", NULL};
    const char *setting = "--address";
    struct slice text = f->address;
    if (f->cluster.ptr && f->address.ptr)
        return err_set(e, ERR_CONFIG, "--cluster and --address: give one of them");
    if (f->cluster.ptr && !name_dns1123_label(f->cluster))
        return err_set(e, ERR_CONFIG, "--cluster: \"%.*s\" is not the name of a cluster", SLICE_ARG(f->cluster));
    if (f->cluster.ptr)
        return seek_group_known(&f->seek) || err_set(e, ERR_CONFIG, "--group is ray.io or cluster.ray.io");
    if (!text.ptr)
        text = environment(names, &setting);
    if (!text.ptr)
        return err_set(e, ERR_CONFIG, "--cluster NAME or --address http://HOST:8265 is needed: the cluster, or its head's service");
    return submit_address(text, setting, &o->host, &o->port, e);
}

static bool find_id(const struct submit_flags *f, struct rng *rng, struct arena *a, struct slice *id, struct err *e)
{
    static const char *const names[] = {"RAY_JOB_SUBMISSION_ID", NULL};
    const char *setting = "--submission-id";
    *id = f->id.ptr ? f->id : environment(names, &setting);
    if (!id->ptr) {
        char text[3 * NAME_SUFFIX];
        for (size_t i = 0; i < sizeof text; i += NAME_SUFFIX)
            hash_suffix(rng_next(rng), text + i);
        *id = arena_printf(a, "raysubmit_%.*s", (int)sizeof text, text);
    }
    return (!slice_empty(*id) && utf8_valid(*id)) || err_set(e, ERR_CONFIG, "%s: is empty, or no UTF-8", setting);
}

/* ---- texts that are JSON already ---- */

static bool is_number(struct jval v)
{
    double n;
    return json_num(v, &n) && n >= 0;
}

static bool is_count(struct jval v)
{
    int64_t n;
    return json_int(v, &n) && n >= 0;
}

static bool is_object(struct jval v)
{
    return json_type(v) == JSON_OBJECT;
}

static bool members(struct jval v, bool (*fits)(struct jval))
{
    struct jval k, x;
    bool well = is_object(v);
    for (struct jiter it = json_iter(v); well && json_next(&it, &k, &x);)
        well = fits(x);
    return well;
}

static bool is_string(struct jval v)
{
    return json_type(v) == JSON_STRING;
}

static bool is_metadata(struct jval v)
{
    return members(v, is_string);
}

static bool is_resources(struct jval v)
{
    return members(v, is_number);
}

/* Ray's own command uploads a folder; here nothing is, and Ray would refuse the path when the job has begun. */
static bool check_paths(struct slice runtime_env, struct arena *a, struct err *e)
{
    struct json doc;
    struct jval k, v;
    if (!runtime_env.ptr || !json_parse(&doc, runtime_env, a, e))
        return e->code == ERR_NONE;
    struct jval modules = json_get(json_root(&doc), "py_modules"), dir = json_get(json_root(&doc), "working_dir");
    bool well = json_type(dir) != JSON_STRING || slice_has(json_str(dir, a), "://");
    if (well && json_type(dir) == JSON_STRING && !ray_package_check(json_str(dir, a), false, e))
        return err_wrap(e, "--runtime-env-json: working_dir");
    for (struct jiter it = json_iter(modules); well && json_type(modules) == JSON_ARRAY && json_next(&it, &k, &v);) {
        dir = v;
        well = json_type(v) != JSON_STRING || slice_has(json_str(v, a), "://");
        if (well && json_type(v) == JSON_STRING && !ray_package_check(json_str(v, a), true, e))
            return err_wrap(e, "--runtime-env-json: py_modules");
    }
    return well ||
           err_set(e, ERR_CONFIG,
                   "--runtime-env-json: \"%.*s\" is a path, and nothing is uploaded from here: give the URI of a .zip that the head can "
                   "reach (https://, s3://, gs://), or leave it out and name files of the image in the entrypoint",
                   SLICE_ARG(json_str(dir, a)));
}

static bool check_values(const struct submit_flags *f, struct arena *a, struct err *e)
{
    const struct {
        struct slice text;
        const char *flag, *wants;
        bool (*fits)(struct jval);
    } values[] = {
        {f->runtime_env, "runtime-env-json", "a JSON object", is_object},
        {f->metadata, "metadata-json", "a JSON object of strings", is_metadata},
        {f->num_cpus, "entrypoint-num-cpus", "a number of at least 0", is_number},
        {f->num_gpus, "entrypoint-num-gpus", "a number of at least 0", is_number},
        {f->memory, "entrypoint-memory", "a whole number of bytes", is_count},
        {f->resources, "entrypoint-resources", "a JSON object of numbers", is_resources},
    };
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        struct json doc;
        if (!values[i].text.ptr)
            continue;
        if (!json_parse(&doc, values[i].text, a, e))
            return err_wrap(e, "--%s", values[i].flag);
        if (!values[i].fits(json_root(&doc)))
            return err_set(e, ERR_CONFIG, "--%s: wants %s", values[i].flag, values[i].wants);
    }
    return check_paths(f->runtime_env, a, e);
}

/* ---- the token ---- */

struct token {
    struct slice path, given; /* a file, or the token itself */
    char text[LIMIT_RAY_TOKEN + 1];
};

/* White space around it is none of it: Secrets are often made of a file with a line's end, and Ray takes them so. */
static bool whole_token(struct slice text, const char *where, struct slice *out, struct err *e)
{
    return ray_auth_token(text, out, NULL) ||
           err_set(e, ERR_CONFIG,
                   "the token in %s is empty, longer than %d bytes (LIMIT_RAY_TOKEN), or holds a byte that no header may have", where,
                   LIMIT_RAY_TOKEN);
}

static bool read_token(void *owner, struct slice *out, struct err *e)
{
    struct token *t = owner;
    struct arena a = {0};
    struct slice text, token;
    *out = t->given;
    if (slice_empty(t->path))
        return slice_empty(t->given) || whole_token(t->given, "RAY_AUTH_TOKEN", out, e);
    if (!cli_read_file(t->path, &a, &text, e))
        return err_wrap(e, "the token");
    bool fits = whole_token(text, t->path.ptr, &token, e);
    *out = fits && slice_copy(token, t->text, sizeof t->text) ? (struct slice){t->text, token.len} : SLICE_NONE;
    mem_wipe((char *)(uintptr_t)text.ptr, text.len);
    arena_free(&a);
    return fits;
}

static void find_token(struct token *t, const struct submit_flags *f)
{
    static const char *const tokens[] = {"RAY_AUTH_TOKEN", NULL}, *const paths[] = {"RAY_AUTH_TOKEN_PATH", NULL};
    const char *which;
    t->path = f->token_file;
    if (slice_empty(t->path))
        t->given = environment(tokens, &which);
    if (slice_empty(t->path) && slice_empty(t->given))
        t->path = environment(paths, &which);
}

/* ---- the run ---- */

struct desk {
    struct token token; /* first: the voice's owner is both */
    struct submit_options o;
    struct buf entrypoint, body;
    struct arena a;
};

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

static void desk_free(struct desk **d)
{
    mem_wipe((*d)->token.text, sizeof(*d)->token.text);
    buf_free(&(*d)->entrypoint);
    buf_free(&(*d)->body);
    arena_free(&(*d)->a);
    mem_free(*d);
}

static void free_allow(struct net_allow **a)
{
    net_allow_free(*a);
}

static bool fill(struct desk *d, const struct submit_flags *f, const struct slice *words, size_t count, struct rng *rng, struct err *e)
{
    struct slice token;
    struct submit_options *o = &d->o;
    buf_init(&d->entrypoint, LIMIT_JSON_ITEM);
    buf_init(&d->body, LIMIT_JSON_ITEM);
    *o = (struct submit_options){.wait = !f->no_wait, .stop = f->stop, .timeout_ms = f->timeout_ms, .patience_ms = f->patience_ms};
    o->follow = count == 0 && f->id.ptr && o->wait;
    o->voice = (struct submit_voice){.say = say, .show = show, .token = read_token, .owner = &d->token};
    if (!find_address(f, o, e) || (!o->follow && !submit_entrypoint(words, count, &d->entrypoint, e)) ||
        !find_id(f, rng, &d->a, &o->job.id, e) || !check_values(f, &d->a, e))
        return false;
    o->job = (struct ray_submission){.entrypoint = buf_slice(&d->entrypoint),
                                     .id = o->job.id,
                                     .runtime_env = f->runtime_env,
                                     .metadata = f->metadata,
                                     .num_cpus = f->num_cpus,
                                     .num_gpus = f->num_gpus,
                                     .memory = f->memory,
                                     .resources = f->resources};
    if (!ray_write_submission(&o->job, &d->body))
        return err_set(e, ERR_LIMIT, "the submission is longer than %d bytes (LIMIT_JSON_ITEM)", LIMIT_JSON_ITEM);
    o->body = buf_slice(&d->body);
    find_token(&d->token, f);
    return read_token(&d->token, &token, e);
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
static int run_direct(struct desk *d, struct rng *rng)
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
static int run_proxied(struct desk *d, const struct submit_flags *f, struct rng *rng)
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
    if (!flags_parse(&flags, dashes, argv, &f, &status))
        return status;
    rng_seed_system(&rng);
    signal(SIGPIPE, SIG_IGN); /* a reader of the log that goes away is reported as an error */
    __attribute__((cleanup(desk_free))) struct desk *d = mem_alloc(sizeof *d);
    size_t count = dashes < argc ? (size_t)(argc - dashes - 1) : 0;
    struct slice *words = arena_array(&d->a, count, sizeof *words);
    for (size_t i = 0; i < count; i++)
        words[i] = slice_of(argv[dashes + 1 + (int)i]);
    if (!fill(d, &f, words, count, &rng, &e))
        return e.code == ERR_IO ? cli_fail(&e) : flags_wrong(&flags, "%s", e.text);
    return f.cluster.ptr ? run_proxied(d, &f, &rng) : run_direct(d, &rng);
}
