/* The instance types in force: those of the last text that could be read. */
#include "record.h"

#include <mobula/shape.h>

struct instance_types {
    struct arena arena; /* holds the types */
    struct shape_types list;
};

static const struct setting *setting_of(const struct op *op)
{
    return &op->settings[OPERATOR_INSTANCE_TYPES];
}

const struct shape_types *types_in_force(const struct op *op)
{
    const struct instance_types *t = setting_of(op)->taken;
    return t ? &t->list : NULL;
}

const struct shape_types *types_get_or_empty(const struct op *op)
{
    static const struct shape_types none;
    const struct shape_types *types = types_in_force(op);
    return types || !setting_of(op)->watch ? types : &none;
}

/* Most clusters name no type, and no market either: their text is not looked into any further. */
void types_apply(struct op *op, const struct record *c)
{
    const struct setting *s = setting_of(op);
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
        struct slice map = op->o.settings[OPERATOR_INSTANCE_TYPES].name, said = unread ? SLICE("names an instance type") : g->blocked_text;
        g->blocked = unread ? "ConfigMapUnreadable" : "ConfigMapBroken";
        g->blocked_text = arena_printf(&op->models.loaded->arena, "%.*s; ConfigMap %.*s %s: %s", SLICE_ARG(said), SLICE_ARG(map),
                                       unread ? "cannot be read" : "is broken, and what was read before is in force", s->why.text);
    }
}

bool types_pod(const struct op *op, struct slice node_type, struct jval *template, struct arena *a, struct err *e)
{
    const struct setting *s = setting_of(op);
    if (!s->watch || shape_pod(types_get_or_empty(op), node_type, template, a, e))
        return true;
    return err_wrap(e, "its pod template");
}

bool types_awaited(const struct op *op, const struct record *c)
{
    return raycluster_of(c)->typed && setting_awaited(setting_of(op));
}

/* After a change of the instance types, models of clusters that name one are read again, and pods that were refused for their size are
 * tried at once. A broken text counts: groups without a type may now say why. */
void types_changed(struct op *op, const struct setting *s)
{
    struct record *c;
    if (s != setting_of(op))
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

bool types_text(struct op *op, struct slice text, struct err *e)
{
    struct instance_types *fresh = mem_alloc(sizeof *fresh);
    struct spec_errors *errors = arena_new(&fresh->arena, struct spec_errors);
    if (!shape_types_read(text.ptr ? text : SLICE(""), &fresh->arena, &fresh->list, errors)) {
        spec_errors_tell(errors, e);
        arena_free(&fresh->arena);
        mem_free(fresh);
        return false;
    }
    types_free(op);
    op->settings[OPERATOR_INSTANCE_TYPES].taken = fresh;
    log_info(text.ptr ? "instance types read" : "there are no instance types: the ConfigMap or its key is not there",
             LF_INT("types", fresh->list.count));
    return true;
}

void types_free(struct op *op)
{
    struct setting *s = &op->settings[OPERATOR_INSTANCE_TYPES];
    struct instance_types *t = s->taken;
    if (t)
        arena_free(&t->arena);
    mem_free(t);
    s->taken = NULL;
}
