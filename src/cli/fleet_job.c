/* mobula job: jobs of a control plane. */
#include "fleet.h"

#include <stdio.h>

const struct flag cli_job_flags[JOB_FLAGS] = {
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

bool cli_job_wait(struct desk *d, struct err *e)
{
    return fleet_wait(d, fleet_job_look, e);
}

/* The table has no room for what is said about the state. */
bool cli_job_status(struct desk *d, struct err *e)
{
    uint64_t said = 0;
    bool over;
    if (!cli_fleet_show(d, e))
        return false;
    if (slice_is(d->o.output, "table"))
        fleet_job_look(d, &said, &over, &(struct err){0});
    return true;
}

bool cli_job_submit(struct desk *d, struct err *e)
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
        if (!(slice_empty(o->site.bucket) ? fleet_job_pack(d, &f, &dir, e) : bucket_store(d, &dir, e)))
            return false;
    }
    fleet_config_warn_job(d);
    rng_seed_system(&rng);
    hash_suffix(rng_next(&rng), suffix);
    if (slice_empty(o->name))
        o->name = arena_printf(&d->a, "job-%.*s", NAME_SUFFIX, suffix);
    jout_init(&w, &b);
    return fleet_job_put_spec(d, dir, &w, e) && fleet_create(d, o->name, buf_slice(&b), &a, e) && fleet_job_upload(d, &f, a.body, e) &&
           cli_fleet_print(d, a.body, e) && (!o->wait || cli_job_wait(d, e));
}

bool cli_job_terminate(struct desk *d, struct err *e)
{
    struct ask_answer a;
    if (!fleet_update(d, SLICE("{\"terminate\":true}"), &a, e))
        return false;
    fprintf(stderr, "%s %.*s will be stopped\n", d->noun->word, SLICE_ARG(d->o.name));
    return true;
}
