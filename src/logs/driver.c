/* The stored log of a job's driver. */
#include "stored.h"

#define DRIVER "job-driver-"

static bool find_last(struct logs_reading *r, const struct logs_segment *one, struct err *e)
{
    (void)e;
    if (!slice_starts(one->file, SLICE(DRIVER)) || slice_cmp(one->modified, r->modified) < 0)
        return true;
    logs_is_next_file(r, one);
    logs_keep(&r->modified, one->modified);
    return true;
}

bool logs_bucket_driver(const struct logs_bucket_options *o, const struct logs_sink *sink, struct slice ns, struct slice cluster,
                        struct slice id, uint64_t skip, struct err *e)
{
    struct logs_reading r;
    struct logs_bucket_options plain = {.url = o->url, .storage = o->storage};
    bool well = logs_reading_open(&r, &plain, sink, ns, e);
    r.skip = skip;
    struct slice file = slice_empty(id) ? SLICE(DRIVER "*") : arena_printf(&r.s.a, DRIVER "%.*s.log", SLICE_ARG(id));
    if (well && slice_empty(id)) { /* the newest one of all attempts */
        well = logs_each_cluster(&r, cluster, file, find_last, e);
        struct slice rest = arena_dup(&r.s.a, r.path);
        cluster = slice_cut(&rest, '/');
        plain.node = slice_cut(&rest, '/');
        file = rest;
        r.found = 0;
        logs_keep(&r.path, SLICE(""));
    }
    well = well && (slice_empty(cluster) || logs_each_segment(&r, cluster, "", file, logs_print_segment, e));
    bool found = r.found > 0;
    logs_reading_close(&r);
    return well && found;
}
