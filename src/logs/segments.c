/* Lists the segments of stored logs that the options ask for. */
#include "stored.h"

#include <unistd.h>

static bool is_recent(const struct logs_reading *r, struct slice modified)
{
    int64_t at_us;
    return !r->o->since_ms || !time_parse(modified, &at_us, NULL) || at_us >= clock_now().wall_us - r->o->since_ms * 1000;
}

void logs_keep(struct slice *to, struct slice text)
{
    char *kept = mem_alloc(text.len + 1);
    if (text.len)
        memcpy(kept, text.ptr, text.len);
    mem_free((char *)(uintptr_t)to->ptr);
    *to = (struct slice){kept, text.len};
}

struct slice logs_path_of(struct logs_reading *r, const struct logs_segment *one)
{
    return arena_printf(&r->a, "%.*s/%.*s/%.*s", SLICE_ARG(one->cluster), SLICE_ARG(one->node), SLICE_ARG(one->file));
}

bool logs_is_next_file(struct logs_reading *r, const struct logs_segment *one)
{
    struct slice path = logs_path_of(r, one);
    if (slice_eq(path, r->path))
        return false;
    logs_keep(&r->path, path);
    r->generation = 0;
    r->found++;
    return true;
}

bool logs_each_segment(struct logs_reading *r, struct slice cluster, const char *node, struct slice file, logs_on_segment *on,
                       struct err *e)
{
    struct slice more = SLICE(""), prefix = arena_printf(&r->s.a, "%.*s%.*s/%s", SLICE_ARG(r->prefix), SLICE_ARG(cluster), node);
    do {
        struct cloud_list page;
        if (!storage_list(&r->s, prefix, true, &more, &page, e))
            return false;
        /* a download makes calls, which reuse the memory of the page */
        arena_reset(&r->a, MIB);
        struct logs_segment *all = arena_array(&r->a, page.count + 1, sizeof *all);
        uint32_t count = 0;
        for (uint32_t i = 0; i < page.count; i++) {
            struct cloud_object o = page.objects[i];
            o.key = arena_dup(&r->a, o.key);
            o.modified = arena_dup(&r->a, o.modified);
            bool log = logs_segment_read(&o, r->prefix, &all[count]);
            r->others |= log;
            if (log && logs_is_node(all[count].node, r->o->node) && logs_is_file(all[count].file, file) && is_recent(r, o.modified))
                count++;
        }
        for (uint32_t i = 0; i < count; i++)
            if (!on(r, &all[i], e))
                return false;
    } while (!slice_empty(more));
    return true;
}

bool logs_each_cluster(struct logs_reading *r, struct slice name, struct slice file, logs_on_segment *on, struct err *e)
{
    struct slice more = SLICE(""), prefix = arena_printf(&r->s.a, "%.*s%.*s-", SLICE_ARG(r->prefix), SLICE_ARG(name));
    __attribute__((cleanup(arena_free))) struct arena kept = {0};
    do {
        struct cloud_list page;
        if (!storage_list(&r->s, prefix, false, &more, &page, e))
            return false;
        struct slice *clusters = arena_array(&kept, page.count + 1, sizeof *clusters);
        for (uint32_t i = 0; i < page.count; i++)
            clusters[i] =
                slice_starts(page.objects[i].key, prefix) ? arena_dup(&kept, slice_skip(page.objects[i].key, r->prefix.len)) : SLICE("");
        for (uint32_t i = 0; i < page.count; i++) {
            struct slice cluster = slice_head(clusters[i], clusters[i].len ? clusters[i].len - 1 : 0);
            if (logs_is_made_by(cluster, name) && !logs_each_segment(r, cluster, "", file, on, e))
                return false;
        }
    } while (!slice_empty(more));
    return true;
}

bool logs_reading_open(struct logs_reading *r, const struct logs_bucket_options *o, const struct logs_sink *sink, struct slice ns,
                       struct err *e)
{
    struct cloud_place at;
    *r = (struct logs_reading){.o = o, .sink = sink, .fd = -1, .path = SLICE_NONE};
    buf_init(&r->packed, 2 * LIMIT_SHIP_BATCH);
    buf_init(&r->plain, 2 * LIMIT_SHIP_BATCH);
    if (!cloud_place(o->url, &at, e))
        return err_wrap(e, "--bucket");
    if (!storage_open(&r->s, &o->storage, &at, e))
        return false;
    r->prefix = arena_printf(&r->s.a, "%.*s%.*s/", SLICE_ARG(storage_logs(at.key, &r->s.a)), SLICE_ARG(ns));
    return true;
}

void logs_reading_close(struct logs_reading *r)
{
    if (r->fd >= 0)
        close(r->fd);
    if (r->s.from.owner)
        storage_close(&r->s);
    mem_free((char *)(uintptr_t)r->path.ptr);
    mem_free((char *)(uintptr_t)r->modified.ptr);
    buf_free(&r->packed);
    buf_free(&r->plain);
    arena_free(&r->a);
}
