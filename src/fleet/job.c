/* Jobs: the spec from the values of flags, and the folder that goes along. */
#include <mobula/artifact.h>
#include <mobula/fleet.h>
#include <mobula/tls.h>

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

bool fleet_job_put_requirements(struct desk *d, struct jout *w, struct err *e)
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

bool fleet_job_put_spec(struct desk *d, struct slice dir, struct jout *w, struct err *e)
{
    const struct fleet_options *o = &d->o;
    if (slice_has(dir, "://") && !slice_starts(dir, SLICE(WORK_FOLDER)) && !ray_package_check(dir, false, e))
        return err_wrap(e, "--working-dir");
    jout_form(w, "{cloud:'%.*s',image?:'%.*s',workingDir?:'%.*s',job:{entrypoint:'%.*s',maxRetries:%lld}", SLICE_ARG(o->cloud),
              SLICE_ARG(o->image), SLICE_ARG(dir), SLICE_ARG(d->command), (long long)o->retries);
    if (!fleet_job_put_requirements(d, w, e) || !put_modules(w, &o->modules, e))
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

bool fleet_job_pack(struct desk *d, struct work_folder *f, struct slice *dir, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf zip = {.max = LIMIT_WORK_FOLDER}, base64 = {.max = MIB};
    struct pack_result r;
    char hex[TLS_SHA256_HEX];
    if (!pack_folder(d->o.dir, &d->o.excludes, &d->a, &zip, -1, 0, &r, e))
        return err_wrap(e, "--working-dir");
    if (r.over && bucket_of_cloud(d, &(struct err){0}))
        return bucket_store(d, dir, e);
    if (r.over)
        return fleet_job_too_large(d, &r, LIMIT_WORK_FOLDER, "the control plane stores (LIMIT_WORK_FOLDER)", e);
    tls_sha256_hex(buf_slice(&zip), hex);
    f->hash = arena_dup(&d->a, slice_of(hex));
    *dir = arena_printf(&d->a, WORK_FOLDER "%s", hex);
    if (!base64_encode(buf_slice(&zip), &base64))
        return err_set(e, ERR_LIMIT, "--working-dir: too large");
    f->base64 = arena_dup(&d->a, buf_slice(&base64));
    fleet_tell(d, arena_printf(&d->a, "%.*s: %u files, packed %zu bytes\n", SLICE_ARG(r.name), r.files, zip.len));
    return true;
}

bool fleet_job_upload(struct desk *d, struct work_folder *f, struct slice made, struct err *e)
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
