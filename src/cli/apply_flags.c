/* Flags of a Deployment that is there and those of the one that takes its place. */
#include "apply.h"

static struct jval arguments(struct jval deployment)
{
    return json_get(json_at(json_get(deployment, "spec.template.spec.containers"), 0), "args");
}

static struct slice flag_of(struct jval argument, struct arena *a)
{
    struct slice rest = json_str(argument, a);
    return slice_cut(&rest, '=');
}

static bool is_off(struct jval argument, struct arena *a)
{
    return slice_ends(json_str(argument, a), SLICE("=false"));
}

/* Kinds that are reconciled now, and would not be. */
static bool is_narrower(struct jval old, struct jval new, struct arena *a)
{
    static const struct slice all = SLICE("--kinds=all");
    struct slice was = json_str(old, a), is = json_str(new, a);
    return slice_starts(was, SLICE("--kinds=")) && !slice_eq(is, all) && !slice_eq(is, was);
}

struct slice apply_dropped(struct jval there, struct jval wanted, struct arena *a)
{
    struct buf out;
    struct jval key, old, new;
    buf_init(&out, LIMIT_JSON_ITEM);
    for (struct jiter it = json_iter(arguments(there)); json_next(&it, &key, &old);) {
        struct slice flag = flag_of(old, a);
        bool found = !slice_starts(flag, SLICE("--")) || is_off(old, a); /* what was off may be on */
        for (struct jiter in = json_iter(arguments(wanted)); !found && json_next(&in, &key, &new);)
            found = slice_eq(flag, flag_of(new, a)) && !is_off(new, a) && !is_narrower(old, new, a);
        if (!found)
            buf_printf(&out, "%s%.*s", out.len ? ", " : "", SLICE_ARG(json_str(old, a)));
    }
    for (struct jiter in = json_iter(arguments(wanted)); json_next(&in, &key, &new);) {
        bool told = !is_off(new, a);
        for (struct jiter it = json_iter(arguments(there)); !told && json_next(&it, &key, &old);)
            told = slice_eq(flag_of(old, a), flag_of(new, a));
        if (!told && json_there(arguments(there)))
            buf_printf(&out, "%s%.*s", out.len ? ", " : "", SLICE_ARG(flag_of(new, a)));
    }
    struct slice text = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return text;
}
