/* Which nodes to add: greedily, each time the kind that the wants would fill best.
 *
 * With a hundred groups and a thousand shapes most of the work is to find out again and again that nothing fits. So a kind's score is kept
 * until a want that it counted on has fewer left than it would take, and wants that are neighbours are passed over together when the node
 * lacks even the least that all of them ask for. */
#include "pack.h"

enum { BLOCK = 16 }; /* neighbours */

struct block {
    uint32_t end;           /* of its wants in `live` */
    struct ray_shape least; /* the least amount that each of them asks for */
};

struct trial { /* of one kind */
    bool valid, fits;
    struct ray_score score;
    uint32_t *took; /* by want: how many of it would go to one new node */
};

struct chooser {
    const struct ray_pack *pack;
    struct ray_want *wants;
    uint32_t count;
    uint32_t *live; /* numbers of the wants that are left */
    uint32_t live_count;
    struct block *blocks;
    uint32_t block_count;
    bool *asked;          /* by name: some want that is left asks for it */
    struct ray_room left; /* scratch: a node while it is filled */
};

static void note_asked(const struct chooser *c)
{
    memset(c->asked, 0, c->pack->name_count);
    for (uint32_t i = 0; i < c->live_count; i++)
        for (uint32_t k = 0; k < c->wants[c->live[i]].shape.count; k++)
            c->asked[c->wants[c->live[i]].shape.parts[k].name] = true;
}

/* The common part of two requests. */
static void keep_common(struct ray_shape *least, const struct ray_shape *s)
{
    uint32_t kept = 0, k = 0;
    for (uint32_t i = 0; i < least->count; i++) {
        while (k < s->count && s->parts[k].name < least->parts[i].name)
            k++;
        if (k == s->count || s->parts[k].name != least->parts[i].name)
            continue;
        least->parts[kept] = least->parts[i];
        if (s->parts[k].amount < least->parts[kept].amount)
            least->parts[kept].amount = s->parts[k].amount;
        kept++;
    }
    least->count = kept;
}

/* Of a block's first want, into its own memory; a block never has more parts than the first time. */
static void begin_block(struct chooser *c, struct block *b, const struct ray_shape *first)
{
    b->least.parts = arena_array(c->pack->arena, first->count, sizeof *b->least.parts);
    b->least.count = first->count;
    b->least.selector = -1;
    for (uint32_t i = 0; i < first->count; i++)
        b->least.parts[i] = first->parts[i];
}

static void make_blocks(struct chooser *c)
{
    c->block_count = 0;
    for (uint32_t i = 0; i < c->live_count; i++) {
        const struct ray_shape *s = &c->wants[c->live[i]].shape;
        if (i % BLOCK == 0)
            begin_block(c, &c->blocks[c->block_count++], s);
        keep_common(&c->blocks[c->block_count - 1].least, s);
        c->blocks[c->block_count - 1].end = i + 1;
    }
}

/* Forgets wants that are placed. Resources that were common to a block's wants still are, so blocks are made again only when half of them
 * are gone. */
static void compact(struct chooser *c)
{
    uint32_t before = c->live_count, kept = 0, from = 0;
    for (uint32_t b = 0; b < c->block_count; b++) {
        uint32_t end = c->blocks[b].end;
        for (; from < end; from++)
            if (c->wants[c->live[from]].count > 0)
                c->live[kept++] = c->live[from];
        c->blocks[b].end = kept;
    }
    c->live_count = kept;
    if (kept < before)
        note_asked(c);
    if (kept < c->block_count * BLOCK / 2)
        make_blocks(c);
}

static struct chooser start(const struct ray_pack *p, struct ray_want *wants, uint32_t count)
{
    struct chooser c = {.pack = p, .wants = wants, .count = count};
    c.asked = arena_array(p->arena, p->name_count, sizeof *c.asked);
    c.left.parts = arena_array(p->arena, p->name_count, sizeof *c.left.parts);
    c.live = arena_array(p->arena, count, sizeof *c.live);
    c.blocks = arena_array(p->arena, count / BLOCK + 1, sizeof *c.blocks);
    for (uint32_t i = 0; i < count; i++)
        if (wants[i].count > 0)
            c.live[c.live_count++] = i;
    make_blocks(&c);
    note_asked(&c);
    return c;
}

/* An earlier selector of a request is the better one to meet. */
static int32_t rank_of(const struct ray_shape *s, const struct ray_room *full)
{
    uint32_t at;
    if (s->selector < 0 || !ray_selected(s->request, full->labels, full->label_count, &at))
        return 0;
    return (int32_t)(s->request->selector_count - at);
}

static void fill_block(struct chooser *c, uint32_t from, uint32_t to, const struct ray_room *full, struct trial *t)
{
    for (uint32_t at = from; at < to; at++) {
        const struct ray_want *w = &c->wants[c->live[at]];
        int64_t n = pack_fits(&c->left, &w->shape, w->count < UINT32_MAX ? w->count : UINT32_MAX);
        if (n == 0)
            continue;
        if (t->took)
            t->took[c->live[at]] = (uint32_t)n;
        pack_take(&c->left, &w->shape, n);
        t->fits = true;
        int32_t rank = rank_of(&w->shape, full);
        if (rank > t->score.rank)
            t->score.rank = rank;
    }
}

/* Fills one new node with the wants in their order, without taking anything off them. */
static void fill(struct chooser *c, const struct ray_room *full, struct trial *t)
{
    struct ray_part *parts = c->left.parts;
    c->left = *full;
    c->left.parts = parts;
    for (uint32_t i = 0; i < full->count; i++)
        parts[i] = full->parts[i];
    *t = (struct trial){.valid = true, .took = t->took};
    if (t->took)
        memset(t->took, 0, c->count * sizeof *t->took);
    uint32_t i = 0;
    for (uint32_t b = 0; b < c->block_count; i = c->blocks[b++].end)
        if (pack_fits(&c->left, &c->blocks[b].least, 1) > 0)
            fill_block(c, i, c->blocks[b].end, full, t);
}

static void try_kind(struct chooser *c, const struct ray_room *full, struct trial *t)
{
    fill(c, full, t);
    struct ray_score *s = &t->score;
    uint32_t n = 0;
    s->gpu_ok = true;
    for (uint32_t i = 0; i < full->count; i++) {
        int64_t all = full->parts[i].amount, used = all - c->left.parts[i].amount;
        uint32_t name = full->parts[i].name;
        if (all > 0 && !c->asked[name] && slice_is(c->pack->names[name], "GPU"))
            s->gpu_ok = false;
        if (all < RAY_QUANTUM || pack_implicit(c->pack->names[name]))
            continue;
        s->matching += c->asked[name];
        double u = (double)used / (double)all, filled = (double)all / RAY_QUANTUM * (u * u * u);
        s->least = n == 0 || filled < s->least ? filled : s->least;
        s->mean += filled;
        n++;
    }
    s->mean = n ? s->mean / n : 0;
    t->fits &= n > 0;
}

bool ray_pack_score(const struct ray_pack *p, const struct ray_room *full, struct ray_want *wants, uint32_t count, struct ray_score *out)
{
    struct chooser c = start(p, wants, count);
    struct trial t = {0};
    try_kind(&c, full, &t);
    *out = t.score;
    return t.fits;
}

/* Positive: a is the better choice. */
static int compare_kinds(const struct ray_supply *a, const struct ray_score *x, const struct ray_supply *b, const struct ray_score *y)
{
    if (x->rank != y->rank)
        return x->rank - y->rank;
    if (a->priority != b->priority)
        return a->priority > b->priority ? 1 : -1;
    if (x->gpu_ok != y->gpu_ok)
        return x->gpu_ok - y->gpu_ok;
    if (x->matching != y->matching)
        return x->matching > y->matching ? 1 : -1;
    if (x->least < y->least || x->least > y->least)
        return x->least > y->least ? 1 : -1;
    if (x->mean < y->mean || x->mean > y->mean)
        return x->mean > y->mean ? 1 : -1;
    return slice_cmp(a->name, b->name);
}

static struct ray_supply *best_kind(struct chooser *c, struct ray_supply *kinds, uint32_t kind_count, struct trial *trials, int64_t room)
{
    uint32_t best = kind_count;
    for (uint32_t i = 0; i < kind_count; i++) {
        if (kinds[i].left < kinds[i].hosts || room < kinds[i].hosts)
            continue;
        if (!trials[i].valid)
            try_kind(c, &kinds[i].full, &trials[i]);
        if (trials[i].fits && (best == kind_count || compare_kinds(&kinds[i], &trials[i].score, &kinds[best], &trials[best].score) > 0))
            best = i;
    }
    return best == kind_count ? NULL : &kinds[best];
}

/* The wants have fewer left than `before` says: trials that counted on those are void, and all when something is asked for no more. */
static void forget_trials(struct chooser *c, const int64_t *before, struct trial *trials, uint32_t kind_count)
{
    bool *was = arena_array(c->pack->arena, c->pack->name_count, sizeof *was);
    memcpy(was, c->asked, c->pack->name_count);
    for (uint32_t i = 0; i < c->live_count; i++) {
        int64_t now = c->wants[c->live[i]].count;
        for (uint32_t k = 0; k < kind_count && now != before[i]; k++)
            trials[k].valid &= now >= trials[k].took[c->live[i]];
    }
    compact(c);
    for (uint32_t k = 0; k < kind_count; k++)
        trials[k].valid &= memcmp(was, c->asked, c->pack->name_count) == 0;
}

/* One replica of the kind, filled. */
static struct ray_rooms new_rooms(const struct ray_pack *p, struct ray_supply *kind)
{
    struct ray_rooms rooms = {0};
    ray_pack_add(p, &rooms, &kind->full, kind->hosts);
    kind->left -= kind->hosts;
    kind->added += kind->hosts;
    return rooms;
}

void ray_pack_choose(const struct ray_pack *p, struct ray_supply *kinds, uint32_t kind_count, struct ray_want *wants, uint32_t count,
                     int64_t room)
{
    struct chooser c = start(p, wants, count);
    struct trial *trials = arena_array(p->arena, kind_count, sizeof *trials);
    uint32_t *took = arena_array(p->arena, (size_t)kind_count * count, sizeof *took);
    int64_t *before = arena_array(p->arena, count, sizeof *before);
    for (uint32_t i = 0; i < kind_count; i++)
        trials[i].took = took + (size_t)i * count;
    while (c.live_count > 0) {
        struct ray_supply *kind = best_kind(&c, kinds, kind_count, trials, room);
        if (!kind)
            return;
        struct ray_rooms rooms = new_rooms(p, kind);
        for (uint32_t i = 0; i < c.live_count; i++)
            before[i] = wants[c.live[i]].count;
        ray_pack_fit(&rooms, wants, count);
        forget_trials(&c, before, trials, kind_count);
        room -= kind->hosts;
    }
}

void ray_pack_choose_spread(const struct ray_pack *p, struct ray_supply *kinds, uint32_t kind_count, struct ray_want *wants, uint32_t count,
                            int64_t room)
{
    struct trial *trials = arena_array(p->arena, kind_count, sizeof *trials);
    struct ray_put *put = arena_array(p->arena, LIMIT_RAY_HOSTS, sizeof *put);
    const struct ray_label anywhere = {0};
    if (count == 0)
        return;
    struct ray_want first = {.shape = wants[0].shape, .count = 1};
    struct chooser c = start(p, &first, 1);
    for (uint32_t i = 0; i < count;) {
        if (wants[i].count <= 0) {
            i++;
            continue;
        }
        first.shape = wants[i].shape;
        c.blocks[0].least = first.shape;
        c.blocks[0].least.selector = -1;
        note_asked(&c);
        memset(trials, 0, kind_count * sizeof *trials);
        struct ray_supply *kind = best_kind(&c, kinds, kind_count, trials, room);
        if (!kind)
            return;
        struct ray_rooms rooms = new_rooms(p, kind);
        ray_pack_spread(&rooms, wants + i, count - i, &anywhere, put);
        room -= kind->hosts;
    }
}
