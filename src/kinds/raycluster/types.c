/* The instance types in force: those of the last text that could be read. */
#include <mobula/kinds.h>
#include <mobula/shape.h>

struct instance_types {
    struct arena arena; /* holds the types */
    struct shape_types list;
};

/* The first error with its line, and how many more there are. */
static bool refuse(const struct shape_errors *errors, struct err *e)
{
    const struct shape_error *first = &errors->list[0];
    uint32_t more = errors->count + errors->beyond - 1;
    char rest[32] = "";
    if (more)
        snprintf(rest, sizeof rest, "; %u more error%s", more, more == 1 ? "" : "s");
    return err_set(e, ERR_CONFIG, "line %u: %.*s%s%.*s%s", first->line, SLICE_ARG(slice_head(first->path, 200)),
                   first->path.len ? ": " : "", SLICE_ARG(slice_head(first->text, 400)), rest);
}

bool types_text(struct op *op, struct slice text, struct err *e)
{
    struct instance_types *fresh = mem_alloc(sizeof *fresh);
    struct shape_errors *errors = arena_new(&fresh->arena, struct shape_errors);
    if (!shape_types_read(text.ptr ? text : SLICE(""), &fresh->arena, &fresh->list, errors)) {
        refuse(errors, e);
        arena_free(&fresh->arena);
        mem_free(fresh);
        return false;
    }
    types_free(op);
    op->types = fresh;
    log_info(text.ptr ? "instance types read" : "there are no instance types: the ConfigMap or its key is not there",
             LF_INT("types", fresh->list.count));
    return true;
}

void types_trouble(struct op *op)
{
    (void)op;
}

void types_free(struct op *op)
{
    if (op->types)
        arena_free(&op->types->arena);
    mem_free(op->types);
    op->types = NULL;
}
