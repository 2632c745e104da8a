#include <mobula/patches.h>
#include <mobula/ray.h>

struct applied {
    struct json_edit *edit;
    struct slice kind, text; /* text: what the listener heard last */
    const struct shape_listener *listener;
    bool changed;
    uint64_t run, most;     /* operations that were run, and that may be */
    struct shape_step last; /* of those that were run; without texts */
    struct arena *arena;
    struct err *e;
};

void shape_patches_above(struct shape_patches *set, const struct shape_patches *below)
{
    set->below = below;
    if (below)
        set->revision = hash64((struct slice){(const char *)&set->revision, sizeof set->revision}, below->revision);
}

static bool tell(struct applied *p, struct shape_step *step)
{
    step->before = p->text;
    if (!json_edit_text(p->edit, &p->text))
        return false;
    step->after = p->text;
    return p->listener->heard(p->listener->who, step);
}

static bool blame(const struct shape_step *s, struct err *e)
{
    return err_wrap(e, "%.*s%spatch %u (line %u), operation %u (%s %.*s)", SLICE_ARG(s->set->name), s->set->name.len ? ": " : "", s->number,
                    s->patch->line, s->op_number, json_op_name(s->op), SLICE_ARG(s->op->path));
}

static bool apply_patch(struct applied *p, const struct shape_patches *set, uint32_t index)
{
    const struct shape_patch *patch = &set->list[index];
    if ((!slice_empty(patch->kind) && !slice_eq(patch->kind, p->kind)) || !shape_selector_meets(&patch->selector, p->edit))
        return true;
    for (uint32_t i = 0; i < patch->op_count && p->run < p->most; i++, p->run++) {
        const struct json_op *op = &patch->ops[i];
        struct shape_step step = {.set = set, .patch = patch, .op = op, .number = index + 1, .op_number = i + 1};
        p->changed = true;
        p->last = step;
        if (!json_edit_run(p->edit, op) || (p->listener && !tell(p, &step)))
            return blame(&step, p->e);
    }
    return true;
}

static bool apply_set(struct applied *p, const struct shape_patches *set)
{
    if (set->below && !apply_set(p, set->below))
        return false;
    for (uint32_t i = 0; i < set->count; i++)
        if (!apply_patch(p, set, i))
            return false;
    return true;
}

bool shape_patches_for(const struct shape_patches *set, struct slice kind)
{
    for (; set; set = set->below)
        for (uint32_t i = 0; i < set->count; i++)
            if (slice_empty(set->list[i].kind) || slice_eq(set->list[i].kind, kind))
                return true;
    return false;
}

/* key: as in a path. The value has nothing that JSON escapes. */
static bool annotate(struct applied *p, struct slice key, struct slice value)
{
    struct json_op op = {.what = JSON_OP_ADD, .from = SLICE("")};
    op.path = arena_printf(p->arena, "/metadata/annotations/%.*s", SLICE_ARG(key));
    return json_read(&op.value, arena_printf(p->arena, "\"%.*s\"", SLICE_ARG(value)), p->arena, p->e) && json_edit_run(p->edit, &op);
}

/* The hash of what it was made from, with what it became. */
static bool hash_again(struct applied *p, struct slice *text)
{
    char hash[RAY_HASH_TEXT];
    ray_hash_format(hash64(*text, 0), hash);
    return annotate(p, SLICE("mobula.dev~1template-hash"), (struct slice){hash, RAY_HASH_TEXT}) && json_edit_text(p->edit, text);
}

/* Anyscale's documented patches copy market, zone, accelerator, instance type and node type from annotations: a pod that has one only as a
 * label gets the annotation, too. */
static bool mirror_labels(struct applied *p)
{
    static const char *const keys[] = {SHAPE_MARKET, SHAPE_ZONE, SHAPE_ACCELERATOR, SHAPE_INSTANCE_TYPE, SHAPE_NODE_TYPE};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct slice path[] = {SLICE("metadata"), SLICE("labels"), slice_of(keys[i])};
        struct slice label = json_edit_str(p->edit, path, COUNT_OF(path));
        path[1] = SLICE("annotations");
        if (!label.ptr || !name_label_value(label) || json_edit_str(p->edit, path, COUNT_OF(path)).ptr)
            continue;
        struct slice rest = path[2], domain = slice_cut(&rest, '/');
        if (!annotate(p, arena_printf(p->arena, "%.*s~1%.*s", SLICE_ARG(domain), SLICE_ARG(rest)), label))
            return false;
        p->changed = true;
    }
    return true;
}

/* Selectors know labels and annotations alone: a Service of type LoadBalancer gets its type as one. */
static bool mirror_type(struct applied *p, const struct shape_patches *set, const struct json *doc)
{
    if (!shape_patches_for(set, p->kind) || !json_is(json_get(json_root(doc), "spec.type"), "LoadBalancer"))
        return true;
    p->changed = true;
    return annotate(p, SLICE("mobula.dev~1service-type"), SLICE("LoadBalancer"));
}

/* As many of the operations as p->most says. */
static bool run(struct applied *p, const struct shape_patches *set, const struct json *doc)
{
    p->kind = json_get_str(json_root(doc), "kind", p->arena);
    p->edit = json_edit_new(doc, p->arena, p->e);
    return p->edit && (!slice_is(p->kind, "Pod") || mirror_labels(p)) && (!slice_is(p->kind, "Service") || mirror_type(p, set, doc)) &&
           apply_set(p, set) && p->e->code == ERR_NONE;
}

/* The setting that Ray's container has lost with the first `most` operations; NULL: nothing. */
static const char *lost_after(const struct shape_patches *set, const struct json *doc, uint64_t most, struct shape_step *last)
{
    __attribute__((cleanup(arena_free))) struct arena mem = {0};
    struct err e = {0};
    struct applied p = {.most = most, .arena = &mem, .e = &e};
    struct slice text;
    struct json made;
    if (!run(&p, set, doc) || !json_edit_text(p.edit, &text) || !json_parse(&made, text, &mem, &e))
        return NULL;
    *last = p.last;
    return ray_live_lost(json_root(doc), json_root(&made));
}

/* The settings by which Ray's container is started and recognised stay: else the operation that changes it is named. It is searched for by
 * halves, as the pod after each of thousands of operations would be a lot of text. */
static bool check_pod(const struct applied *p, const struct shape_patches *set, const struct json *doc, struct slice made)
{
    uint64_t kept = 0, changed = p->run;
    struct shape_step step = p->last, half;
    struct json after;
    if (!json_parse(&after, made, p->arena, p->e))
        return false;
    const char *lost = ray_live_lost(json_root(doc), json_root(&after));
    if (!lost)
        return true;
    while (changed - kept > 1) {
        uint64_t most = kept + (changed - kept) / 2;
        const char *then = lost_after(set, doc, most, &half);
        if (!then) {
            kept = most;
            continue;
        }
        lost = then;
        step = half;
        changed = most;
    }
    err_set(p->e, ERR_CONFIG, "Ray's container is known and started by its %s%s: it must stay as it is",
            strcmp(lost, "name") == 0 ? "" : "variable ", lost);
    return blame(&step, p->e);
}

bool shape_patches_apply(const struct shape_patches *set, struct slice object, const struct shape_listener *listener, struct arena *a,
                         struct slice *out, struct err *e)
{
    struct json *doc = arena_new(a, struct json);
    struct applied p = {.text = object, .listener = listener, .most = UINT64_MAX, .arena = a, .e = e};
    *out = object;
    if (set->count == 0 && !set->below)
        return true;
    if (!json_parse(doc, object, a, e) || !run(&p, set, doc))
        return false;
    if (!p.changed)
        return true;
    if (!json_edit_text(p.edit, out) || (slice_is(p.kind, "Pod") && !check_pod(&p, set, doc, *out)))
        return false;
    bool service = slice_is(p.kind, "Service") && json_there(json_get(json_root(doc), "metadata.annotations"));
    return !service || hash_again(&p, out);
}
