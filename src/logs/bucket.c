/* Lists, shows or downloads the logs that a bucket has of a cluster, job or service. */
#include "stored.h"

static void print_row(struct logs_reading *r)
{
    char path[LOGS_CELL * 4], when[LOGS_CELL];
    if (slice_empty(r->path))
        return;
    utf8_clean(r->modified, when, sizeof when);
    r->sink->row(r->sink->owner,
                 arena_printf(&r->a, "%-20.19s %12lld %s", when, (long long)r->size, utf8_clean(r->path, path, sizeof path).ptr));
}

static bool list_segment(struct logs_reading *r, const struct logs_segment *one, struct err *e)
{
    (void)e;
    if (!slice_eq(r->path, logs_path_of(r, one))) {
        print_row(r);
        logs_is_next_file(r, one);
        r->size = 0;
    }
    r->size += one->size;
    logs_keep(&r->modified, one->modified);
    return true;
}

bool logs_bucket_asked(const struct logs_bucket_options *o)
{
    return !slice_empty(o->node) || !slice_empty(o->file) || !slice_empty(o->download) || o->since_ms;
}

bool logs_bucket_read(const struct logs_bucket_options *o, const struct logs_sink *sink, struct slice ns, struct slice name,
                      const char *made, struct err *e)
{
    struct logs_reading r;
    logs_on_segment *on = !slice_empty(o->download) ? logs_download_segment : !slice_empty(o->file) ? logs_print_segment : list_segment;
    bool well = logs_reading_open(&r, o, sink, ns, e);
    well = well && (!made || logs_each_segment(&r, name, made, o->file, on, e)) &&
           (made ? logs_each_cluster(&r, name, o->file, on, e) : logs_each_segment(&r, name, "", o->file, on, e));
    if (well && on == list_segment)
        print_row(&r);
    if (well && on == logs_download_segment)
        sink->note(sink->owner, arena_printf(&r.a, "mobula: %u files below %.*s", r.found, SLICE_ARG(o->download)));
    if (well && r.found == 0 && r.others)
        well =
            err_set(e, ERR_STATUS, "%.*s has logs of %.*s, but none that --node, --file and --since leave: without --file they are listed",
                    SLICE_ARG(o->url), SLICE_ARG(name));
    else if (well && r.found == 0)
        well = err_set(e, ERR_STATUS,
                       "%.*s has no such logs below %.*s%.*s%s: are the namespace (-n) and the name right, and has the operator --bucket?",
                       SLICE_ARG(o->url), SLICE_ARG(r.prefix), SLICE_ARG(name), made ? "-" : "/");
    logs_reading_close(&r);
    return well;
}
