/* The vocabulary of one scaling decision. */
#include "pack.h"

void ray_pack_init(struct ray_pack *p, struct arena *a)
{
    *p = (struct ray_pack){.arena = a};
}

/* Where the name stands, or would stand. */
static uint32_t name_place(const struct ray_pack *p, struct slice name, bool *there)
{
    uint32_t low = 0, high = p->name_count;
    *there = false;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = slice_cmp(p->names[mid], name);
        if (order == 0) {
            *there = true;
            return mid;
        }
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void learn_name(struct ray_pack *p, struct slice name)
{
    bool there;
    uint32_t at = name_place(p, name, &there);
    if (there || p->name_count == LIMIT_RAY_PACK_NAMES)
        return;
    if (p->name_count == p->name_cap) {
        uint32_t cap = p->name_cap ? p->name_cap * 2 : 16;
        struct slice *grown = arena_array(p->arena, cap, sizeof *grown);
        for (uint32_t i = 0; i < p->name_count; i++)
            grown[i] = p->names[i];
        p->names = grown;
        p->name_cap = cap;
    }
    for (uint32_t i = p->name_count++; i > at; i--)
        p->names[i] = p->names[i - 1];
    p->names[at] = name;
    p->implicit |= pack_implicit(name);
}

void ray_pack_learn(struct ray_pack *p, const struct ray_bundle *b)
{
    for (uint32_t i = 0; i < b->count; i++)
        learn_name(p, b->list[i].name);
}

static bool sane(int64_t amount)
{
    return amount >= 0 && amount <= LIMIT_RAY_AMOUNT * RAY_QUANTUM;
}

/* Puts a part where it belongs; a bundle is sorted already when its reader kept its word. */
static void put_part(struct ray_part *parts, uint32_t *count, struct ray_part part, bool larger)
{
    uint32_t at = *count;
    while (at > 0 && parts[at - 1].name > part.name)
        at--;
    if (at > 0 && parts[at - 1].name == part.name) {
        if (larger == (part.amount > parts[at - 1].amount))
            parts[at - 1].amount = part.amount;
        return;
    }
    for (uint32_t i = (*count)++; i > at; i--)
        parts[i] = parts[i - 1];
    parts[at] = part;
}

static bool same_texts(const struct slice *a, const struct slice *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!slice_eq(a[i], b[i]))
            return false;
    return true;
}

static bool same_selector(const struct ray_selector *a, const struct ray_selector *b)
{
    bool same = a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++) {
        const struct ray_condition *x = &a->list[i], *y = &b->list[i];
        same = x->not_in == y->not_in && slice_eq(x->key, y->key) && x->value_count == y->value_count &&
               same_texts(x->values, y->values, x->value_count);
    }
    return same;
}

static bool same_selectors(const struct ray_request *a, const struct ray_request *b)
{
    bool same = a->selector_count == b->selector_count;
    for (uint32_t i = 0; same && i < a->selector_count; i++)
        same = same_selector(&a->selectors[i], &b->selectors[i]);
    return same;
}

/* The bit of the request's selectors. One that every node meets, tried first, is none. */
static bool find_selector(struct ray_pack *p, const struct ray_request *r, int32_t *out, struct err *e)
{
    *out = -1;
    if (r->selector_count == 0 || r->selectors[0].count == 0)
        return true;
    for (uint32_t i = 0; i < p->selector_count; i++)
        if (same_selectors(p->selectors[i], r)) {
            *out = (int32_t)i;
            return true;
        }
    if (p->selector_count == LIMIT_RAY_PACK_SELECTORS)
        return err_set(e, ERR_LIMIT, "more than %d different label selectors at a time (LIMIT_RAY_PACK_SELECTORS)",
                       (int)LIMIT_RAY_PACK_SELECTORS);
    *out = (int32_t)p->selector_count;
    p->selectors[p->selector_count++] = r;
    return true;
}

bool ray_pack_shape(struct ray_pack *p, const struct ray_request *r, struct ray_shape *out, struct err *e)
{
    *out = (struct ray_shape){.request = r};
    out->parts = arena_array(p->arena, r->bundle.count, sizeof *out->parts);
    for (uint32_t i = 0; i < r->bundle.count; i++) {
        const struct ray_amount *want = &r->bundle.list[i];
        bool there;
        uint32_t name = name_place(p, want->name, &there);
        if (!sane(want->amount))
            return err_set(e, ERR_RANGE, "an amount that no node can have");
        if (want->amount == 0)
            continue; /* asks for nothing: request_resources({"GPU": 0}) */
        if (!there)
            return err_set(e, ERR_LIMIT, "more than %d different resources at a time (LIMIT_RAY_PACK_NAMES)", (int)LIMIT_RAY_PACK_NAMES);
        put_part(out->parts, &out->count, (struct ray_part){name, want->amount}, true);
    }
    return find_selector(p, r, &out->selector, e);
}

static bool meets_condition(const struct ray_condition *c, const struct ray_label *labels, uint32_t label_count)
{
    for (uint32_t i = 0; i < label_count; i++) {
        if (!slice_eq(labels[i].key, c->key))
            continue;
        for (uint32_t k = 0; k < c->value_count; k++)
            if (slice_eq(labels[i].value, c->values[k]))
                return !c->not_in;
    }
    return c->not_in;
}

bool ray_selected(const struct ray_request *r, const struct ray_label *labels, uint32_t label_count, uint32_t *at)
{
    for (*at = 0; *at < r->selector_count; (*at)++) {
        const struct ray_selector *s = &r->selectors[*at];
        bool all = true;
        for (uint32_t i = 0; i < s->count && all; i++)
            all = meets_condition(&s->list[i], labels, label_count);
        if (all)
            return true;
    }
    *at = 0;
    return r->selector_count == 0;
}

struct ray_room ray_pack_room(const struct ray_pack *p, const struct ray_bundle *b, const struct ray_label *labels, uint32_t label_count)
{
    struct ray_room room = {.labels = labels, .label_count = label_count};
    room.parts = arena_array(p->arena, b->count + (p->implicit ? p->name_count : 0), sizeof *room.parts);
    for (uint32_t i = 0; i < b->count; i++) {
        bool there;
        uint32_t name = name_place(p, b->list[i].name, &there);
        if (there && b->list[i].amount != 0)
            put_part(room.parts, &room.count, (struct ray_part){name, sane(b->list[i].amount) ? b->list[i].amount : 0}, false);
    }
    for (uint32_t i = 0; i < p->name_count && p->implicit; i++)
        if (pack_implicit(p->names[i]))
            put_part(room.parts, &room.count, (struct ray_part){i, RAY_QUANTUM}, false);
    uint32_t at;
    for (uint32_t i = 0; i < p->selector_count; i++)
        room.meets |= (uint64_t)ray_selected(p->selectors[i], labels, label_count, &at) << i;
    return room;
}

void ray_pack_add(const struct ray_pack *p, struct ray_rooms *rooms, const struct ray_room *room, int64_t n)
{
    if (n <= 0)
        return;
    uint32_t more = n > LIMIT_RAY_PODS ? LIMIT_RAY_PODS : (uint32_t)n;
    if (rooms->cap - rooms->count < more) {
        uint32_t cap = rooms->count ? rooms->count + more + rooms->count / 2 + 16 : more;
        struct ray_room *grown = arena_array(p->arena, cap, sizeof *grown);
        for (uint32_t i = 0; i < rooms->count; i++)
            grown[i] = rooms->list[i];
        rooms->list = grown;
        rooms->cap = cap;
    }
    struct ray_part *parts = arena_array(p->arena, (size_t)more * room->count, sizeof *parts);
    for (uint32_t i = 0; i < more; i++, parts += room->count) {
        struct ray_room *to = &rooms->list[rooms->count++];
        *to = *room;
        to->parts = parts;
        for (uint32_t k = 0; k < room->count; k++)
            parts[k] = room->parts[k];
    }
}

struct ray_rooms ray_pack_clone(const struct ray_pack *p, const struct ray_rooms *rooms)
{
    struct ray_rooms copy = {.cap = rooms->count};
    copy.list = arena_array(p->arena, rooms->count, sizeof *copy.list);
    size_t all = 0;
    for (uint32_t i = 0; i < rooms->count; i++)
        all += rooms->list[i].count;
    struct ray_part *parts = arena_array(p->arena, all, sizeof *parts);
    for (; copy.count < rooms->count; copy.count++) {
        const struct ray_room *from = &rooms->list[copy.count];
        copy.list[copy.count] = *from;
        copy.list[copy.count].parts = parts;
        for (uint32_t k = 0; k < from->count; k++)
            *parts++ = from->parts[k];
    }
    return copy;
}
