#include "submit_flags.h"

#include <stdlib.h>

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

const struct flags submit_flags = {
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
    struct submit_token *t = owner;
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

static void find_token(struct submit_token *t, const struct submit_flags *f)
{
    static const char *const tokens[] = {"RAY_AUTH_TOKEN", NULL}, *const paths[] = {"RAY_AUTH_TOKEN_PATH", NULL};
    const char *which;
    t->path = f->token_file;
    if (slice_empty(t->path))
        t->given = environment(tokens, &which);
    if (slice_empty(t->path) && slice_empty(t->given))
        t->path = environment(paths, &which);
}

bool submit_desk_fill(struct submit_desk *d, const struct submit_flags *f, const struct slice *words, size_t count, struct rng *rng,
                      struct err *e)
{
    struct slice token;
    struct submit_options *o = &d->o;
    buf_init(&d->entrypoint, LIMIT_JSON_ITEM);
    buf_init(&d->body, LIMIT_JSON_ITEM);
    *o = (struct submit_options){.wait = !f->no_wait, .stop = f->stop, .timeout_ms = f->timeout_ms, .patience_ms = f->patience_ms};
    o->follow = count == 0 && f->id.ptr && o->wait;
    o->voice = (struct submit_voice){.token = read_token, .owner = &d->token};
    if (!find_address(f, o, e) || (!o->follow && !submit_entrypoint(words, count, &d->entrypoint, e)) ||
        !find_id(f, rng, &d->a, &o->job.id, e) || !submit_values_check(f, &d->a, e))
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

void submit_desk_free(struct submit_desk *d)
{
    mem_wipe(d->token.text, sizeof d->token.text);
    buf_free(&d->entrypoint);
    buf_free(&d->body);
    arena_free(&d->a);
}
