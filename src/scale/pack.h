/* Inside scale: one shape and one room. */
#ifndef MOBULA_SCALE_PACK_H
#define MOBULA_SCALE_PACK_H

#include <mobula/scale.h>

/* Every node has one of each of these, said or not. */
static inline bool pack_implicit(struct slice name)
{
    return slice_starts(name, SLICE("node:__internal_implicit_resource_"));
}

/* How many of the shape the room can hold, up to n > 0. */
static inline int64_t pack_fits(const struct ray_room *room, const struct ray_shape *s, int64_t n)
{
    const struct ray_part *have = room->parts, *end = have + room->count;
    for (uint32_t i = 0; i < s->count; i++, have++) {
        const struct ray_part *want = &s->parts[i];
        while (have < end && have->name < want->name)
            have++;
        if (have == end || have->name != want->name || have->amount < want->amount)
            return 0;
        if (n > 1 && have->amount / want->amount < n)
            n = have->amount / want->amount;
    }
    return s->selector < 0 || (room->meets >> s->selector & 1) != 0 ? n : 0;
}

/* Takes n of a shape that fits out of the room; a negative n gives them back. */
static inline void pack_take(struct ray_room *room, const struct ray_shape *s, int64_t n)
{
    struct ray_part *have = room->parts;
    for (uint32_t i = 0; i < s->count; i++, have++) {
        while (have->name != s->parts[i].name)
            have++;
        have->amount -= s->parts[i].amount * n;
    }
}

#endif
