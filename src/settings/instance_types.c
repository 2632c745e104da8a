/* The instance types in force: those of the last text that could be read. */
#include <mobula/settings.h>

struct instance_types {
    struct arena arena; /* holds the types */
    struct shape_types list;
};

const struct shape_types *types_in_force(const struct op *op)
{
    const struct instance_types *t = setting_of(op, &setting_instance_types)->taken;
    return t ? &t->list : NULL;
}

const struct shape_types *types_get_or_empty(const struct op *op)
{
    static const struct shape_types none;
    const struct shape_types *types = types_in_force(op);
    return types || !setting_of(op, &setting_instance_types)->watch ? types : &none;
}

bool types_pod(const struct op *op, struct slice node_type, struct jval *template, struct arena *a, struct err *e)
{
    const struct setting *s = setting_of(op, &setting_instance_types);
    if (!s->watch || shape_pod(types_get_or_empty(op), node_type, template, a, e))
        return true;
    return err_wrap(e, "its pod template");
}

static void free_types(struct setting *s)
{
    struct instance_types *t = s->taken;
    if (t)
        arena_free(&t->arena);
    mem_free(t);
    s->taken = NULL;
}

static bool take_text(struct setting *s, struct slice text, struct err *e)
{
    struct instance_types *fresh = mem_alloc(sizeof *fresh);
    struct spec_errors *errors = arena_new(&fresh->arena, struct spec_errors);
    if (!shape_types_read(text.ptr ? text : SLICE(""), &fresh->arena, &fresh->list, errors)) {
        spec_errors_tell(errors, e);
        arena_free(&fresh->arena);
        mem_free(fresh);
        return false;
    }
    free_types(s);
    s->taken = fresh;
    log_info(text.ptr ? "instance types read" : "there are no instance types: the ConfigMap or its key is not there",
             LF_INT("types", fresh->list.count));
    return true;
}

const struct setting_kind setting_instance_types = {.flags = {"instance-types-configmap", "instance-types-key"},
                                                    .key = SLICE("instance_types.yaml"),
                                                    .on_text = take_text,
                                                    .free = free_types};
