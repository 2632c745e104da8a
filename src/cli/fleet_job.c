/* Jobs. */
#include "cli.h"
#include "fleet.h"

#include <mobula/artifact.h>
#include <mobula/submit.h>
#include <mobula/tls.h>

#include <stdio.h>

enum { LOOK_MS = 1000 };

const struct flag job_flags[JOB_FLAGS] = {
    {"cloud", FLAG_TEXT, FLEET_AT(cloud), "NAME"},
    {"compute-config", FLAG_TEXT, FLEET_AT(config), "NAME[:N]"},
    {"image-uri", FLAG_TEXT, FLEET_AT(image), "IMAGE"},
    {"working-dir", FLAG_TEXT, FLEET_AT(dir), "DIR|URL"},
    {"bucket", FLAG_TEXT, FLEET_AT(site.bucket), "s3://BUCKET[/NAME]"},
    {"bucket-uri", FLAG_SWITCH, FLEET_AT(bucket_uri), NULL},
    STORAGE_FLAGS(FLEET_AT(store)),
    {"exclude", FLAG_TEXTS, FLEET_AT(excludes), "PATTERN"},
    {"py-modules", FLAG_TEXTS, FLEET_AT(modules), "URL"},
    {"requirements", FLAG_TEXT, FLEET_AT(requirements), "FILE"},
    {"env", FLAG_TEXTS, FLEET_AT(env), "NAME=VALUE"},
    {"max-retries", FLAG_INT, FLEET_AT(retries), "N"},
    {"wait", FLAG_SWITCH, FLEET_AT(wait), NULL},
    {"f", FLAG_SWITCH, FLEET_AT(follow), NULL},
    {"follow", FLAG_SWITCH, FLEET_AT(follow), NULL},
    {"tail", FLAG_INT, FLEET_AT(lines), "N"},
};

/* Of the log's end in the message only when the job has failed. */
void fleet_say(struct desk *d, struct slice state, struct slice message)
{
    char line[ERR_TEXT_MAX];
    ptrdiff_t log = slice_find_text(message, "log:\n");
    if (log >= 0 && !slice_is(state, "FAILED"))
        message.len = (size_t)log;
    message = slice_trim(message);
    fprintf(stderr, "%s %.*s: %.*s%s", d->noun->word, SLICE_ARG(d->o.name), SLICE_ARG(state), slice_empty(message) ? "\n" : ": ");
    for (const char *indent = ""; !slice_empty(message); indent = "    ") /* further lines of a job's message must not look like our own */
        fprintf(stderr, "%s%s\n", indent, utf8_clean(slice_cut(&message, '\n'), line, sizeof line).ptr);
}

static bool look(struct desk *d, uint64_t *said, bool *over, struct err *e)
{
    struct json doc;
    struct slice state;
    if (!job_read(d, &doc, &state, e))
        return false;
    struct slice message = json_get_str(json_root(&doc), "status.message", &d->a);
    *over = job_ended(state);
    bool once = *over && !slice_eq(state, SLICE("SUCCEEDED")) && slice_empty(message); /* the error below has the same words */
    if (hash64(state, 0) != *said && !once)
        fleet_say(d, state, message);
    *said = hash64(state, 0);
    if (slice_is(state, "REFUSED"))
        return err_set(
            e, ERR_STATUS,
            "job %.*s is refused, and starts by itself when the policy or the namespaces there are put right: mobula job terminate "
            "%.*s takes it back",
            SLICE_ARG(d->o.name), SLICE_ARG(d->o.name));
    return !*over || slice_eq(state, SLICE("SUCCEEDED")) ||
           err_set(e, ERR_STATUS, "job %.*s ended: %.*s", SLICE_ARG(d->o.name), SLICE_ARG(state));
}

bool fleet_wait(struct desk *d, fleet_look *look_at, struct err *e)
{
    int64_t until_ms = d->o.timeout_ms ? clock_now().mono_ms + d->o.timeout_ms : TIME_NEVER;
    struct arena kept = d->a;
    const char *word = d->noun->word;
    uint64_t said = 0;
    bool well = true, over = false, away = false;
    d->a = (struct arena){0};
    for (; well; arena_reset(&d->a, MIB)) {
        well = look_at(d, &said, &over, e);
        if (over)
            break;
        well = well || job_outlasts(d, said != 0, &away, e);
        if (well && clock_now().mono_ms >= until_ms)
            well = err_set(e, ERR_TIMEOUT, "%s %.*s has not ended within --%stimeout; it goes on", word, SLICE_ARG(d->o.name),
                           d->noun->part ? "wait-" : "");
        if (well && !ask_pause(&d->ask, LOOK_MS))
            well = err_set(e, ERR_CLOSED, "ended by a signal; the %s goes on", word);
        if (!well && ((e->code == ERR_TIMEOUT && said) || d->ask.signal))
            d->status = STATUS_UNKNOWN;
    }
    arena_free(&d->a);
    d->a = kept;
    return well;
}

bool job_wait(struct desk *d, struct err *e)
{
    return fleet_wait(d, look, e);
}

/* The table has no room for what is said about the state. */
bool job_status(struct desk *d, struct err *e)
{
    uint64_t said = 0;
    bool over;
    if (!fleet_show(d, e))
        return false;
    if (slice_is(d->o.output, "table"))
        look(d, &said, &over, &(struct err){0});
    return true;
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

bool job_put_requirements(struct desk *d, struct jout *w, struct err *e)
{
    struct slice text;
    if (slice_empty(d->o.requirements))
        return true;
    if (!cli_read_file(d->o.requirements, &d->a, &text, e))
        return err_wrap(e, "--requirements");
    jout_karray(w, "requirements");
    while (text.ptr) {
        struct slice line = slice_trim(slice_cut(&text, '\n'));
        if (!slice_empty(line) && line.ptr[0] != '#')
            jout_str(w, line);
    }
    jout_end(w);
    return true;
}

static bool put_modules(struct jout *w, const struct flag_texts *modules, struct err *e)
{
    if (modules->count)
        jout_karray(w, "pyModules");
    for (uint32_t i = 0; i < modules->count; i++) {
        if (!slice_has(modules->list[i], "://"))
            return err_set(e, ERR_CONFIG, "--py-modules: \"%.*s\" is no URL: put a package of your own into the folder of --working-dir",
                           SLICE_ARG(modules->list[i]));
        if (!ray_package_check(modules->list[i], true, e))
            return err_wrap(e, "--py-modules");
        jout_str(w, modules->list[i]);
    }
    if (modules->count)
        jout_end(w);
    return true;
}

static bool put_spec(struct desk *d, struct slice dir, struct jout *w, struct err *e)
{
    const struct fleet_options *o = &d->o;
    if (slice_has(dir, "://") && !slice_starts(dir, SLICE(WORK_FOLDER)) && !ray_package_check(dir, false, e))
        return err_wrap(e, "--working-dir");
    jout_form(w, "{cloud:'%.*s',image?:'%.*s',workingDir?:'%.*s',job:{entrypoint:'%.*s',maxRetries:%lld}", SLICE_ARG(o->cloud),
              SLICE_ARG(o->image), SLICE_ARG(dir), SLICE_ARG(d->command), (long long)o->retries);
    if (!job_put_requirements(d, w, e) || !put_modules(w, &o->modules, e))
        return false;
    if (!slice_empty(o->config))
        jout_form(w, "computeConfig:{name:'%.*s'}", SLICE_ARG(o->config));
    jout_form(w, "env:{");
    if (!put_env(w, &o->env, e))
        return false;
    jout_end(w);
    return true;
}

/* ---- the folder that goes along ---- */

/* Packs the working directory. An archive above LIMIT_WORK_FOLDER is stored in the Cloud's bucket. */
static bool pack(struct desk *d, struct work_folder *f, struct slice *dir, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf zip = {.max = LIMIT_WORK_FOLDER}, base64 = {.max = MIB};
    struct pack_result r;
    char hex[TLS_SHA256_HEX];
    if (!pack_folder(d->o.dir, &d->o.excludes, &d->a, &zip, -1, 0, &r, e))
        return err_wrap(e, "--working-dir");
    if (r.over && bucket_of_cloud(d, &(struct err){0}))
        return bucket_store(d, dir, e);
    if (r.over)
        return job_too_large(d, &r, LIMIT_WORK_FOLDER, "the control plane stores (LIMIT_WORK_FOLDER)", e);
    tls_sha256_hex(buf_slice(&zip), hex);
    f->hash = arena_dup(&d->a, slice_of(hex));
    *dir = arena_printf(&d->a, WORK_FOLDER "%s", hex);
    if (!base64_encode(buf_slice(&zip), &base64))
        return err_set(e, ERR_LIMIT, "--working-dir: too large");
    f->base64 = arena_dup(&d->a, buf_slice(&base64));
    fprintf(stderr, "%.*s: %u files, packed %zu bytes\n", SLICE_ARG(r.name), r.files, zip.len);
    return true;
}

/* A job whose folder is not stored would wait for it for ever, so it is deleted when the upload fails. */
static bool upload(struct desk *d, struct work_folder *f, struct slice made, struct err *e)
{
    struct ask_answer a;
    struct json doc;
    if (slice_empty(f->hash))
        return true;
    if (!json_parse(&doc, made, &d->a, e))
        return false;
    f->ns = d->o.ns;
    f->uid = f->owner_uid = json_get_str(json_root(&doc), "metadata.uid", &d->a);
    f->owner_version = SLICE("mobula.dev/v1");
    f->owner_kind = SLICE("Workload");
    f->owner_name = d->o.name;
    f->name = work_folder_map(f->uid, f->hash, &d->a);
    if (fleet_upload(d, f, &a, e))
        return true;
    bool deleted = fleet_delete(d, &a, &(struct err){0});
    return err_wrap(e, "the folder was not stored, and the job %s", deleted ? "is deleted" : "could not be deleted");
}

bool job_submit(struct desk *d, struct err *e)
{
    struct fleet_options *o = &d->o;
    __attribute__((cleanup(buf_free))) struct buf b = {.max = MIB};
    struct work_folder f = {.hash = SLICE("")};
    struct slice dir = o->dir;
    struct ask_answer a;
    struct jout w;
    struct rng rng;
    char suffix[NAME_SUFFIX];
    if (!fleet_has_cloud(d, o->cloud, e))
        return false;
    bool folder = !slice_empty(o->dir) && !slice_has(o->dir, "://");
    if (!folder && !slice_empty(o->site.bucket))
        return err_set(e, ERR_CONFIG, "--bucket is for the folder of --working-dir, and that is %s",
                       slice_empty(o->dir) ? "not given" : "a URL already");
    if (folder) {
        if (!(slice_empty(o->site.bucket) ? pack(d, &f, &dir, e) : bucket_store(d, &dir, e)))
            return false;
    }
    config_warn_job(d);
    rng_seed_system(&rng);
    hash_suffix(rng_next(&rng), suffix);
    if (slice_empty(o->name))
        o->name = arena_printf(&d->a, "job-%.*s", NAME_SUFFIX, suffix);
    jout_init(&w, &b);
    return put_spec(d, dir, &w, e) && fleet_create(d, o->name, buf_slice(&b), &a, e) && upload(d, &f, a.body, e) &&
           fleet_print(d, a.body, e) && (!o->wait || job_wait(d, e));
}

bool job_terminate(struct desk *d, struct err *e)
{
    struct ask_answer a;
    if (!fleet_update(d, SLICE("{\"terminate\":true}"), &a, e))
        return false;
    fprintf(stderr, "%s %.*s will be stopped\n", d->noun->word, SLICE_ARG(d->o.name));
    return true;
}
