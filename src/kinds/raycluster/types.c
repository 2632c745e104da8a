/* Instance types in the models of clusters. */
#include "record.h"

#include <mobula/shape.h>

static const struct setting *types_of(const struct op *op)
{
    return setting_of(op, &setting_instance_types);
}

/* Most clusters name no type, and no market either: their text is not looked into any further. */
void types_apply(struct op *op, const struct record *c)
{
    const struct setting *s = types_of(op);
    struct ray_cluster *model = cluster_model(op);
    if (!s->watch || slice_find_text(istr_slice(c->seen.spec), SHAPE_INSTANCE_TYPE) < 0) {
        if (slice_find_text(istr_slice(c->seen.spec), SHAPE_MARKET) >= 0)
            shape_markets(model, &op->models.loaded->arena);
        return;
    }
    shape_cluster(types_get_or_empty(op), model, &op->models.loaded->arena);
    bool unread = !s->known, broken = s->broken;
    for (int32_t k = -1; (unread || broken) && k < (int32_t)model->group_count; k++) {
        struct ray_group *g = k < 0 ? &model->head : &model->groups[k];
        if (!g->blocked || strcmp(g->blocked, SHAPE_TYPE_MISSING) != 0)
            continue;
        struct slice map = setting_name(s), said = unread ? SLICE("names an instance type") : g->blocked_text;
        g->blocked = unread ? "ConfigMapUnreadable" : "ConfigMapBroken";
        g->blocked_text = arena_printf(&op->models.loaded->arena, "%.*s; ConfigMap %.*s %s: %s", SLICE_ARG(said), SLICE_ARG(map),
                                       unread ? "cannot be read" : "is broken, and what was read before is in force", s->why.text);
    }
}

bool types_awaited(const struct op *op, const struct record *c)
{
    return raycluster_of(c)->typed && setting_awaited(types_of(op));
}

/* After a change of the instance types, models of clusters that name one are read again, and pods that were refused for their size are
 * tried at once. A broken text counts: groups without a type may now say why. */
void types_changed(struct op *op, const struct setting *s)
{
    struct record *c;
    if (s != types_of(op))
        return;
    for (uint32_t i = 0; (c = map_next(&op->all.records, &i)) != NULL;) {
        const struct raycluster *own = raycluster_of(c);
        if (!own || !own->typed)
            continue;
        record_reread(op, c);
        for (struct failing *f = c->children.failing; f; f = f->next)
            if (!f->f.ended)
                f->f.not_before_ms = op->now.mono_ms;
        record_touch(op, c);
    }
}
