/* First fit, the largest first. A want of many equal ones goes to a room as many at a time as fit there: the same as one by one, because
 * in the order they are neighbours. */
#include "pack.h"

#include <stdlib.h>

static unsigned __int128 sum_of(const struct ray_shape *s)
{
    unsigned __int128 sum = 0;
    for (uint32_t i = 0; i < s->count; i++)
        sum += (uint64_t)s->parts[i].amount;
    return sum;
}

/* Larger first; 0: the same shape. */
static int compare_shapes(const struct ray_shape *a, const struct ray_shape *b)
{
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    unsigned __int128 x = sum_of(a), y = sum_of(b);
    if (x != y)
        return x > y ? -1 : 1;
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->parts[i].name != b->parts[i].name)
            return a->parts[i].name > b->parts[i].name ? -1 : 1;
        if (a->parts[i].amount != b->parts[i].amount)
            return a->parts[i].amount > b->parts[i].amount ? -1 : 1;
    }
    return (a->selector < b->selector) - (a->selector > b->selector);
}

static int compare_wants(const void *a, const void *b)
{
    const struct ray_want *x = a, *y = b;
    return compare_shapes(&x->shape, &y->shape);
}

uint32_t ray_pack_sort(struct ray_want *wants, uint32_t count)
{
    qsort(wants, count, sizeof *wants, compare_wants);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (wants[i].count <= 0)
            continue;
        if (kept == 0 || compare_wants(&wants[kept - 1], &wants[i]) != 0)
            wants[kept++] = wants[i];
        else if (__builtin_add_overflow(wants[kept - 1].count, wants[i].count, &wants[kept - 1].count))
            wants[kept - 1].count = INT64_MAX;
    }
    return kept;
}

bool ray_pack_holds(const struct ray_room *room, const struct ray_shape *s)
{
    return pack_fits(room, s, 1) > 0;
}

void ray_pack_fit(const struct ray_rooms *rooms, struct ray_want *wants, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct ray_want *w = &wants[i];
        for (uint32_t k = 0; k < rooms->count && w->count > 0; k++) {
            struct ray_room *room = &rooms->list[k];
            int64_t n = pack_fits(room, &w->shape, w->count);
            if (n == 0)
                continue;
            pack_take(room, &w->shape, n);
            room->used = true;
            w->count -= n;
        }
    }
}

static bool carries(const struct ray_room *room, const struct ray_label *label)
{
    for (uint32_t i = 0; i < room->label_count; i++)
        if (slice_eq(room->labels[i].key, label->key) && slice_eq(room->labels[i].value, label->value))
            return true;
    return false;
}

uint32_t ray_pack_spread(const struct ray_rooms *rooms, struct ray_want *wants, uint32_t count, const struct ray_label *label,
                         struct ray_put *put)
{
    uint32_t done = 0;
    uint32_t open = 0;
    for (uint32_t k = 0; k < rooms->count; k++) {
        rooms->list[k].taken = !slice_empty(label->key) && carries(&rooms->list[k], label);
        open += !rooms->list[k].taken;
    }
    for (uint32_t i = 0; i < count && done < open; i++) {
        struct ray_want *w = &wants[i];
        for (uint32_t k = 0; k < rooms->count && w->count > 0; k++) {
            struct ray_room *room = &rooms->list[k];
            if (room->taken || pack_fits(room, &w->shape, 1) == 0)
                continue;
            put[done++] = (struct ray_put){.room = room, .shape = &w->shape, .was_used = room->used};
            pack_take(room, &w->shape, 1);
            room->used = room->taken = true;
            w->count--;
        }
    }
    return done;
}

void ray_pack_take_back(const struct ray_put *put, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        pack_take(put[i].room, put[i].shape, -1);
        put[i].room->used = put[i].was_used;
    }
}
