/* Two objects as a diff of their YAML. */
#include <mobula/command.h>

enum { CONTEXT = 3 }; /* lines around what is changed */

struct lines {
    struct slice *list;
    size_t count;
};

static struct lines split(struct slice text, struct arena *a)
{
    struct lines l = {0};
    for (size_t i = 0; i < text.len; i++)
        l.count += text.ptr[i] == '\n';
    l.list = arena_array(a, l.count + 1, sizeof *l.list);
    for (size_t i = 0; i < l.count; i++)
        l.list[i] = slice_cut(&text, '\n');
    return l;
}

static void put_lines(const struct lines *l, size_t from, size_t to, char mark, struct buf *out)
{
    for (size_t i = from; i < to; i++)
        buf_printf(out, "%c%.*s\n", mark, SLICE_ARG(l->list[i]));
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A change: lines [from, to) of the old text ([0]) are replaced by lines [from, to) of the new one ([1]). */
struct change {
    size_t from[2], to[2];
};

static bool alike(const struct lines *before, const struct lines *after, size_t i, size_t j)
{
    return i < before->count && j < after->count && slice_eq(before->list[i], after->list[j]);
}

/* Finds the next change from c->to on. It ends before two consecutive lines that are equal, or at the end of both texts. */
static bool next_change(const struct lines *before, const struct lines *after, struct change *c)
{
    size_t i = c->to[0], j = c->to[1];
    while (alike(before, after, i, j))
        i++, j++;
    c->from[0] = i;
    c->from[1] = j;
    size_t most = before->count - i + after->count - j;
    for (size_t n = 1; n < most; n++)
        for (size_t x = n > after->count - j ? n - (after->count - j) : 0; x <= least(n, before->count - i); x++) {
            size_t at = i + x, in = j + n - x;
            bool last = at + 1 == before->count && in + 1 == after->count;
            if (alike(before, after, at, in) && (last || alike(before, after, at + 1, in + 1))) {
                c->to[0] = at;
                c->to[1] = in;
                return true;
            }
        }
    c->to[0] = before->count;
    c->to[1] = after->count;
    return most > 0;
}

/* Writes the hunks. Changes with at most 2 * CONTEXT equal lines between them share one. */
static void put_hunks(const struct lines *before, const struct lines *after, struct arena *a, struct buf *out)
{
    struct change *list = arena_array(a, before->count + after->count + 1, sizeof *list), next = {.to = {0, 0}};
    size_t count = 0, end;
    while (next_change(before, after, &next))
        list[count++] = next;
    for (size_t i = 0; i < count; i = end) {
        for (end = i + 1; end < count && list[end].from[0] - list[end - 1].to[0] <= 2 * CONTEXT;)
            end++;
        size_t lead = least(list[i].from[0], CONTEXT), tail = least(before->count - list[end - 1].to[0], CONTEXT);
        size_t from = list[i].from[0] - lead, new_from = list[i].from[1] - lead;
        buf_printf(out, "@@ -%zu,%zu +%zu,%zu @@\n", from + 1, list[end - 1].to[0] + tail - from, new_from + 1,
                   list[end - 1].to[1] + tail - new_from);
        for (size_t n = i; n < end; n++) {
            put_lines(before, from, list[n].from[0], ' ', out);
            put_lines(before, list[n].from[0], list[n].to[0], '-', out);
            put_lines(after, list[n].from[1], list[n].to[1], '+', out);
            from = list[n].to[0];
        }
        put_lines(before, from, from + tail, ' ', out);
    }
}

bool diff_yaml(struct slice before, struct slice after, struct slice title_before, struct slice title_after, struct buf *out, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf one, two;
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    buf_init(&one, 4 * LIMIT_JSON_ITEM);
    buf_init(&two, 4 * LIMIT_JSON_ITEM);
    if (!yaml_write(before, &one, e) || !yaml_write(after, &two, e))
        return false;
    struct lines old = split(buf_slice(&one), &a), new = split(buf_slice(&two), &a);
    buf_printf(out, "--- %.*s\n+++ %.*s\n", SLICE_ARG(title_before), SLICE_ARG(title_after));
    put_hunks(&old, &new, &a, out);
    return true;
}
