/* Names of stored objects: which cluster, node, file and batch they are, and whether they are asked for. */
#include "stored.h"

#include <mobula/ship.h>

bool logs_segment_read(const struct cloud_object *o, struct slice prefix, struct logs_segment *out)
{
    struct slice rest = slice_starts(o->key, prefix) ? slice_skip(o->key, prefix.len) : SLICE("");
    *out = (struct logs_segment){.key = o->key, .modified = o->modified, .size = o->size};
    out->cluster = slice_cut(&rest, '/');
    out->node = slice_cut(&rest, '/');
    return rest.ptr && !slice_empty(out->cluster) && !slice_empty(out->node) &&
           ship_object_read(rest, &out->file, &out->generation, &out->start) && cloud_key(o->key, &(struct err){0});
}

bool logs_is_node(struct slice node, struct slice wanted)
{
    return slice_empty(wanted) || slice_eq(node, wanted) ||
           (slice_starts(node, wanted) && node.len == wanted.len + 37 && node.ptr[wanted.len] == '.');
}

/* Each star of the pattern stands for any characters. */
static bool is_like(struct slice file, struct slice pattern)
{
    struct slice part = slice_cut(&pattern, '*');
    if (!slice_starts(file, part))
        return false;
    file = slice_skip(file, part.len);
    for (; pattern.ptr; file = slice_skip(file, 1))
        if (is_like(file, pattern))
            return true;
        else if (slice_empty(file))
            return false;
    return slice_empty(file);
}

bool logs_is_file(struct slice file, struct slice wanted)
{
    return slice_empty(wanted) || is_like(file, wanted);
}

bool logs_is_made_by(struct slice cluster, struct slice name)
{
    return cluster.len == name.len + 1 + NAME_SUFFIX && slice_starts(cluster, name) && cluster.ptr[name.len] == '-';
}
