/* Owner references, and which kind may own which. */
#include <mobula/control.h>

struct jval controller_ref(struct jval object, struct slice kind)
{
    struct jval k, ref;
    for (struct jiter it = json_iter(json_get(object, "metadata.ownerReferences")); json_next(&it, &k, &ref);)
        if (json_get_bool(ref, "controller", false) && json_str_eq(json_get(ref, "kind"), kind))
            return ref;
    return (struct jval){.at = -1};
}

bool may_own(const struct kind *owner, const struct kind *child)
{
    const struct kind *const *one = owner->controller ? owner->controller->owns : NULL;
    while (one && *one && *one != child)
        one++;
    return one && *one;
}

const struct kind *controller_of(const struct op *op, struct jval object, const struct kind *child, struct arena *a, struct slice *uid)
{
    for (const struct kind *const *k = op->parts->kinds; *k; k++) {
        *uid = may_own(*k, child) ? json_get_str(controller_ref(object, slice_of((*k)->name)), "uid", a) : SLICE_NONE;
        if (!slice_empty(*uid))
            return *k;
    }
    return NULL;
}
