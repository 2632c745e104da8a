/* Stores the packed working directory of a job in a bucket under its SHA-256, so that the same content is uploaded once. */
#include <mobula/artifact.h>
#include <mobula/fleet.h>

#include <errno.h>
#include <stdio.h>

enum { URL_MAX = 2048 /* of a Workload's workingDir */, SHORT_S = 24 * 3600 };

bool fleet_job_too_large(struct desk *d, const struct pack_result *r, uint64_t most, const char *what, struct err *e)
{
    struct slice sizes = SLICE(""), flags = SLICE("");
    for (size_t i = 0; i < COUNT_OF(r->largest) && r->largest[i].size; i++) {
        struct slice name = slice_head(r->largest[i].name, 64);
        sizes = arena_printf(&d->a, "%.*s%s%.*s %llu", SLICE_ARG(sizes), i ? ", " : "", SLICE_ARG(name),
                             (unsigned long long)r->largest[i].size);
        flags = arena_printf(&d->a, "%.*s%s--exclude '/%.*s'", SLICE_ARG(flags), i ? " " : "", SLICE_ARG(name));
    }
    return err_set(e, ERR_LIMIT,
                   "--working-dir: %.*s (%u files, %llu bytes) packs to more than the %llu bytes that %s. "
                   "The largest, in bytes: %.*s. Leave out what is not needed (%.*s, or .gitignore), give --bucket s3://…, or put "
                   "a zip file into object storage and give its URL",
                   SLICE_ARG(slice_head(d->o.dir, 128)), r->files, (unsigned long long)r->size, (unsigned long long)most, what,
                   SLICE_ARG(sizes), SLICE_ARG(flags));
}

bool bucket_of_cloud(struct desk *d, struct err *e)
{
    struct fleet_options *o = &d->o;
    struct json doc;
    struct slice body;
    if (!fleet_cloud(d, o->cloud, &body, e) || !json_parse(&doc, body, &d->a, e))
        return false;
    struct jval storage = json_get(json_root(&doc), "spec.objectStorage");
    o->site.bucket = json_get_str(storage, "bucket", &d->a);
    if (slice_empty(o->store.endpoint))
        o->store.endpoint = json_get_str(storage, "endpoint", &d->a);
    if (slice_empty(o->store.region))
        o->store.region = json_get_str(storage, "region", &d->a);
    struct cloud_place at;
    return cloud_place(o->site.bucket, &at, &(struct err){0});
}

/* Sets the URL for Ray: a signed one, which expires and needs no credentials in the pods, or the object's own (--bucket-uri). */
static bool say_place(struct desk *d, struct storage *s, struct slice key, struct slice *url, struct err *e)
{
    int64_t seconds = CLOUD_URL_S;
    if (d->o.bucket_uri) {
        struct slice given = d->o.site.bucket; /* scheme and bucket as given: abfss:// names the account, too */
        size_t scheme = (size_t)slice_find_text(given, "://") + 3;
        ptrdiff_t path = slice_find(slice_skip(given, scheme), '/');
        struct slice bucket = path < 0 ? given : slice_head(given, scheme + (size_t)path);
        *url = arena_printf(&d->a, "%.*s/%.*s", SLICE_ARG(bucket), SLICE_ARG(key));
        return true;
    }
    if (!storage_url(s, key, &seconds, url, e))
        return false;
    *url = arena_dup(&d->a, *url);
    if (seconds < SHORT_S)
        fleet_tell(d, arena_printf(&d->a,
                                   "mobula: the folder's URL ends with the credentials, in %lld min: pods that start later do not get it\n",
                                   (long long)seconds / 60));
    return url->len <= URL_MAX ||
           err_set(
               e, ERR_LIMIT,
               "the folder's signed URL has more than %d bytes, because of its session token: give --bucket-uri, and the pods their own "
               "credentials",
               URL_MAX);
}

static bool store(struct desk *d, struct storage *s, struct slice prefix, int fd, struct slice *url, struct err *e)
{
    char hex[TLS_SHA256_HEX];
    uint64_t size;
    bool slash = slice_empty(prefix) || slice_ends(prefix, SLICE("/"));
    if (!storage_hash_file(fd, hex, &size, e))
        return false;
    struct slice key =
        arena_printf(&d->a, "%.*s%s%s/%s.zip", SLICE_ARG(prefix), slash ? "" : "/", d->o.folder ? d->o.folder : "working-dirs", hex);
    /* HEAD answers 403 if the account may write but not read: then the archive is uploaded again. */
    bool there = storage_head(s, key, &(struct err){0}) && s->size == (int64_t)size;
    fleet_tell(d, arena_printf(&d->a, "%s: %s://%.*s/%.*s, %llu bytes\n", there ? "stored already" : "storing", s->with.protocol->scheme,
                               SLICE_ARG(s->with.bucket), SLICE_ARG(key), (unsigned long long)size));
    return (there || storage_put_file(s, key, fd, e)) && say_place(d, s, key, url, e);
}

bool bucket_store(struct desk *d, struct slice *url, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf zip = {.max = 2 * LIMIT_PACK_SIZE};
    struct cloud_place at;
    struct storage s = {.store = NULL};
    struct pack_result r;
    if (!cloud_place(d->o.site.bucket, &at, e))
        return err_wrap(e, "--bucket");
    FILE *file = tmpfile();
    if (!file)
        return err_set(e, ERR_IO, "a temporary file for the packed folder: %s", strerror(errno));
    bool well = pack_folder(d->o.dir, &d->o.excludes, &d->a, &zip, fileno(file), LIMIT_PACK_BUCKET, &r, e) || err_wrap(e, "--working-dir");
    if (well && r.over)
        well = fleet_job_too_large(d, &r, LIMIT_PACK_BUCKET, "fit in a bucket (LIMIT_PACK_BUCKET)", e);
    if (well)
        fleet_tell(d,
                   arena_printf(&d->a, "%.*s: %u files, packed %llu bytes\n", SLICE_ARG(r.name), r.files, (unsigned long long)r.spilled));
    well = well && storage_open(&s, &d->o.store, &at, e) && store(d, &s, at.key, fileno(file), url, e);
    if (s.from.owner)
        storage_close(&s);
    fclose(file);
    return well;
}
