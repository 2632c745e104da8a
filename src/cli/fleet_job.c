/* Jobs. */
#include "cli.h"
#include "fleet.h"
#include "submit.h"

#include <stdio.h>

enum { LOOK_MS = 1000 };

static bool is_over(struct slice state)
{
    static const char *const words[] = {"SUCCEEDED", "FAILED", "TERMINATED", "REFUSED"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (slice_eq(state, slice_of(words[i])))
            return true;
    return false;
}

static bool read_job(struct desk *d, struct json *doc, struct slice *state, struct err *e)
{
    struct ask_answer a;
    if (!fleet_get(d, d->o.name, &a, e) || !json_parse(doc, a.body, &d->a, e))
        return false;
    *state = json_get_str(json_root(doc), "status.state", &d->a);
    return true;
}

bool job_is_over(struct desk *d, bool *over, struct slice *message, struct err *e)
{
    struct json doc;
    struct slice state;
    if (!read_job(d, &doc, &state, e))
        return false;
    *over = is_over(state);
    *message = json_get_str(json_root(&doc), "status.message", &d->a);
    return true;
}

/* One look at the job, with a line on stderr when its state is another one. False: it cannot be read, or has not ended well. */
static bool look(struct desk *d, uint64_t *said, bool *over, struct err *e)
{
    struct json doc;
    struct slice state;
    char line[ERR_TEXT_MAX];
    if (!read_job(d, &doc, &state, e))
        return false;
    struct slice message = json_get_str(json_root(&doc), "status.message", &d->a);
    if (hash64(state, 0) != *said)
        fprintf(stderr, "job %.*s: %s\n", SLICE_ARG(d->o.name),
                utf8_clean(arena_printf(&d->a, "%.*s%s%.*s", SLICE_ARG(slice_empty(state) ? SLICE("PENDING") : state),
                                        slice_empty(message) ? "" : ": ", SLICE_ARG(message)),
                           line, sizeof line)
                    .ptr);
    *said = hash64(state, 0);
    *over = is_over(state);
    return !*over || slice_eq(state, SLICE("SUCCEEDED")) ||
           err_set(e, ERR_STATUS, "job %.*s ended: %.*s", SLICE_ARG(d->o.name), SLICE_ARG(state));
}

/* However long it waits, only one answer is kept. */
bool job_wait(struct desk *d, struct err *e)
{
    int64_t until_ms = d->o.timeout_ms ? clock_now().mono_ms + d->o.timeout_ms : TIME_NEVER;
    struct arena kept = d->a;
    uint64_t said = 0;
    bool well = true, over = false;
    d->a = (struct arena){0};
    for (; well; arena_reset(&d->a, MIB)) {
        well = look(d, &said, &over, e);
        if (over)
            break;
        if (well && clock_now().mono_ms >= until_ms)
            well = err_set(e, ERR_TIMEOUT, "job %.*s has not ended within --timeout; it goes on", SLICE_ARG(d->o.name));
        if (well && !ask_pause(&d->ask, LOOK_MS))
            well = err_set(e, ERR_CLOSED, "ended by a signal; the job goes on");
        if (!well && (e->code == ERR_TIMEOUT || d->ask.signal))
            d->status = STATUS_UNKNOWN;
    }
    arena_free(&d->a);
    d->a = kept;
    return well;
}

bool job_logs(struct desk *d, struct err *e)
{
    return d->way->logs(d, e);
}

static bool put_env(struct jout *w, const struct flag_texts *env, struct err *e)
{
    for (uint32_t i = 0; i < env->count; i++) {
        struct slice value = env->list[i];
        if (slice_find(value, '=') < 1)
            return err_set(e, ERR_CONFIG, "--env: \"%.*s\" is not NAME=VALUE", SLICE_ARG(value));
        jout_key(w, slice_cut(&value, '='));
        jout_str(w, value);
    }
    jout_end(w);
    return true;
}

static bool put_spec(struct desk *d, struct jout *w, struct err *e)
{
    const struct fleet_options *o = &d->o;
    jout_form(w, "{cloud:'%.*s',image?:'%.*s',workingDir?:'%.*s',job:{entrypoint:'%.*s',maxRetries:%lld}", SLICE_ARG(o->cloud),
              SLICE_ARG(o->image), SLICE_ARG(o->dir), SLICE_ARG(d->command), (long long)o->retries);
    if (!slice_empty(o->config))
        jout_form(w, "computeConfig:{name:'%.*s'}", SLICE_ARG(o->config));
    jout_form(w, "env:{");
    if (!put_env(w, &o->env, e))
        return false;
    jout_end(w);
    return true;
}

bool job_submit(struct desk *d, struct err *e)
{
    struct fleet_options *o = &d->o;
    __attribute__((cleanup(buf_free))) struct buf b = {.max = MIB};
    struct ask_answer a;
    struct jout w;
    struct rng rng;
    char suffix[NAME_SUFFIX];
    if (slice_empty(o->cloud) || slice_empty(d->command))
        return err_set(e, ERR_CONFIG, "--cloud NAME and a command behind -- are needed");
    if (!slice_empty(o->dir) && !slice_has(o->dir, "://"))
        return err_set(e, ERR_CONFIG,
                       "--working-dir: \"%.*s\" is a local folder, and nothing is uploaded from here: give the URL of a zip file",
                       SLICE_ARG(o->dir));
    rng_seed_system(&rng);
    hash_suffix(rng_next(&rng), suffix);
    if (slice_empty(o->name))
        o->name = arena_printf(&d->a, "job-%.*s", NAME_SUFFIX, suffix);
    jout_init(&w, &b);
    return put_spec(d, &w, e) && fleet_create(d, o->name, buf_slice(&b), &a, e) && fleet_print(d, a.body, e) &&
           (!o->wait || job_wait(d, e));
}

bool job_terminate(struct desk *d, struct err *e)
{
    struct ask_answer a;
    return fleet_update(d, SLICE("{\"terminate\":true}"), &a, e);
}
