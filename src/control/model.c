/* Models of the records that were decided last: the stored spec, parsed. */
#include <mobula/control.h>
#include <mobula/spec.h>

/* The record, as readers take it: its spec and what is kept of its metadata are indexed where they lie. */
static struct spec_object record_resource(const struct record *c, struct arena *a)
{
    const struct place *root = place_root(NO_VALUE, a);
    struct jval metadata = json_document(istr_slice(c->seen.meta), a, NULL), spec = json_document(istr_slice(c->seen.spec), a, NULL);
    return (struct spec_object){.root = root,
                                .metadata = place_member(root, SLICE("metadata"), metadata),
                                .spec = place_member(root, SLICE("spec"), spec),
                                .kept = true,
                                .api_version = c->kind->api_version,
                                .name = slice_of(c->name),
                                .ns = istr_slice(c->ns),
                                .uid = slice_of(c->uid),
                                .generation = c->seen.generation,
                                .deleted_us = c->seen.deleted_us,
                                .deleting = c->deleting};
}

/* Its own, or else one that is nobody's, or else the one that was asked for longest ago. */
static uint32_t model_place(const struct op *op, const struct record *c)
{
    uint32_t at = MODELS_KEPT - 1;
    for (uint32_t i = MODELS_KEPT; i-- > 0;) {
        if (op->models.kept[i]->of == c)
            return i;
        if (!op->models.kept[i]->of)
            at = i;
    }
    return at;
}

void model_load(struct op *op, struct record *c)
{
    enum { ROOM_KEPT = 64 * KIB };
    uint32_t i = model_place(op, c);
    struct loaded *l = op->models.kept[i];
    if (i > 0 && !op->models.loaded->of) /* it was forgotten while somebody worked with it */
        arena_free(&op->models.loaded->arena);
    memmove(&op->models.kept[1], &op->models.kept[0], i * sizeof op->models.kept[0]);
    op->models.loaded = op->models.kept[0] = l;
    if (l->of == c)
        return;
    arena_reset(&l->arena, ROOM_KEPT);
    memset(&l->errors, 0, sizeof l->errors);
    const struct spec_object from = record_resource(c, &l->arena);
    c->kind->controller->read(op, c, &from);
    l->of = c;
}

void model_forget(struct op *op, const struct record *c)
{
    for (uint32_t i = 0; i < MODELS_KEPT; i++) {
        if (op->models.kept[i]->of != c)
            continue;
        op->models.kept[i]->of = NULL;
        if (i > 0) /* not in use */
            arena_free(&op->models.kept[i]->arena);
    }
}
