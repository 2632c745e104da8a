/* The code of a service of a control plane. A folder goes to a bucket, from where Ray's pods read it with their own credentials: a signed
 * URL would end while the service goes on. */
#include <mobula/ray.h>
#include <mobula/service.h>

/* Adds those of the file to those of --exclude. */
static bool add_excludes(struct desk *d, struct jval list, struct err *e)
{
    struct flag_texts *all = &d->o.excludes;
    struct jval k, v;
    for (struct jiter it = json_iter(list); json_next(&it, &k, &v);) {
        if (all->count == FLAG_TEXTS_MAX)
            return err_set(e, ERR_LIMIT, "excludes: more than %d of them with those of --exclude", FLAG_TEXTS_MAX);
        all->list[all->count++] = json_str(v, &d->a);
    }
    return true;
}

/* --requirements or the file that the service's file names, else the list there. */
static bool read_requirements(struct desk *d, struct jval file, struct jval *pip, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf out = {.max = LIMIT_JSON_ITEM};
    struct jval all;
    struct jout w;
    *pip = json_get(file, "requirements");
    if (slice_empty(d->o.requirements))
        return true;
    jout_init(&w, &out);
    jout_object(&w);
    if (!fleet_job_put_requirements(d, &w, e))
        return false;
    jout_end(&w);
    if (!json_read(&all, arena_dup(&d->a, buf_slice(&out)), &d->a, e))
        return false;
    *pip = json_get(all, "requirements");
    return true;
}

/* Sets o.cloud to that of the service, if it exists. False: it cannot be deployed to, so nothing is uploaded. */
static bool find_cloud(struct desk *d, struct err *e)
{
    struct ask_answer a;
    struct jval there = NO_VALUE;
    bool absent = false;
    if (slice_empty(d->o.name))
        return err_set(e, ERR_CONFIG, "the name of a service is needed");
    if (!fleet_find(d, d->o.name, &a, &absent, e) ||
        (!absent && (!json_read(&there, a.body, &d->a, e) || !plane_is_service(d, there, e))) ||
        !plane_check_flags((struct plane_service *)d, there, e))
        return false;
    if (!absent)
        d->o.cloud = json_get_str(there, "spec.cloud", &d->a);
    return fleet_has_cloud(d, d->o.cloud, e);
}

static bool store_folder(struct desk *d, struct slice *url, struct err *e)
{
    if (!find_cloud(d, e))
        return false;
    if (slice_empty(d->o.site.bucket) && !bucket_of_cloud(d, e))
        return err_set(e, ERR_CONFIG,
                       "--working-dir: cloud \"%.*s\" has no bucket for the folder: give --bucket s3://…, or the URL of a zip file",
                       SLICE_ARG(d->o.cloud));
    d->o.bucket_uri = true;
    d->o.folder = "service-dirs"; /* not those of jobs: old ones of these are in use for as long as a version is */
    return bucket_store(d, url, e);
}

bool plane_read_code(struct desk *d, struct jval file, struct work_code *code, struct err *e)
{
    *code = (struct work_code){.dir = d->o.dir, .pip = NO_VALUE, .a = &d->a};
    if (!add_excludes(d, json_get(file, "excludes"), e) || !read_requirements(d, file, &code->pip, e))
        return false;
    bool url = slice_has(d->o.dir, "://");
    if ((slice_empty(d->o.dir) || url) && (d->o.excludes.count || d->o.site.bucket.len))
        return err_set(e, ERR_CONFIG, "--bucket, --exclude and excludes are for the folder of --working-dir, and that is %s",
                       url ? "a URL already" : "not given");
    if (url)
        return ray_package_check(d->o.dir, false, e) || err_wrap(e, "--working-dir");
    return slice_empty(d->o.dir) || store_folder(d, &code->dir, e);
}
