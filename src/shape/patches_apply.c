#include <mobula/patches.h>
#include <mobula/ray.h>

struct applied {
    struct json_edit *edit;
    struct slice kind, text; /* text: what the listener heard last */
    const struct shape_listener *listener;
    bool changed;
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

static bool apply_patch(struct applied *p, const struct shape_patches *set, uint32_t index)
{
    const struct shape_patch *patch = &set->list[index];
    if ((!slice_empty(patch->kind) && !slice_eq(patch->kind, p->kind)) || !shape_selector_meets(&patch->selector, p->edit))
        return true;
    for (uint32_t i = 0; i < patch->op_count; i++) {
        const struct json_op *op = &patch->ops[i];
        struct shape_step step = {.set = set, .patch = patch, .op = op, .number = index + 1, .op_number = i + 1};
        p->changed = true;
        if (!json_edit_run(p->edit, op) || (p->listener && !tell(p, &step)))
            return err_wrap(p->e, "%.*s%spatch %u (line %u), operation %u (%s %.*s)", SLICE_ARG(set->name), set->name.len ? ": " : "",
                            step.number, patch->line, step.op_number, json_op_name(op), SLICE_ARG(op->path));
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

/* The hash of what it was made from, with what it became. */
static bool hash_again(struct slice service, struct arena *a, struct slice *out, struct err *e)
{
    static const char path[] = "/metadata/annotations/mobula.dev~1template-hash";
    char hash[RAY_HASH_TEXT];
    ray_hash_format(hash64(service, 0), hash);
    return json_patch(service, arena_printf(a, "[{\"op\":\"add\",\"path\":\"%s\",\"value\":\"%.*s\"}]", path, RAY_HASH_TEXT, hash), a, out,
                      e);
}

/* What Ray's container is started and known by stays: else the patch that changes it is named. */
struct guard {
    struct jval object;
    struct arena *arena;
    struct err *e;
};

static bool keeps(void *who, const struct shape_step *step)
{
    struct guard *g = who;
    struct json doc;
    const char *lost = json_parse(&doc, step->after, g->arena, g->e) ? ray_live_lost(g->object, json_root(&doc)) : "pod";
    return !lost || err_set(g->e, ERR_CONFIG, "Ray's container is known and started by its %s%s: it must stay as it is",
                            strcmp(lost, "name") == 0 ? "" : "variable ", lost);
}

static bool check_pod(const struct shape_patches *set, struct jval object, struct slice made, struct arena *a, struct err *e)
{
    struct guard g = {.object = object, .arena = a, .e = e};
    struct shape_listener guard = {keeps, &g};
    struct err none = {0};
    struct slice again;
    if (keeps(&(struct guard){.object = object, .arena = a, .e = &none}, &(struct shape_step){.after = made}))
        return true;
    return shape_patches_apply(set, json_raw(object), &guard, a, &again, e);
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
        struct json_op op = {.what = JSON_OP_ADD, .from = SLICE("")};
        struct slice value = arena_printf(p->arena, "\"%.*s\"", SLICE_ARG(label));
        struct slice rest = path[2], domain = slice_cut(&rest, '/');
        op.path = arena_printf(p->arena, "/metadata/annotations/%.*s~1%.*s", SLICE_ARG(domain), SLICE_ARG(rest));
        if (!json_read(&op.value, value, p->arena, p->e) || !json_edit_run(p->edit, &op))
            return false;
        p->changed = true;
    }
    return true;
}

bool shape_patches_apply(const struct shape_patches *set, struct slice object, const struct shape_listener *listener, struct arena *a,
                         struct slice *out, struct err *e)
{
    struct json *doc = arena_new(a, struct json);
    *out = object;
    if (set->count == 0 && !set->below)
        return true;
    if (!json_parse(doc, object, a, e))
        return false;
    struct applied p = {.text = object, .listener = listener, .arena = a, .e = e};
    p.kind = json_get_str(json_root(doc), "kind", a);
    p.edit = json_edit_new(doc, a, e);
    bool pod = slice_eq(p.kind, SLICE("Pod"));
    if (!p.edit || (pod && !mirror_labels(&p)) || !apply_set(&p, set) || e->code != ERR_NONE || (p.changed && !json_edit_text(p.edit, out)))
        return false;
    if (p.changed && pod && (!listener || listener->heard != keeps) && !check_pod(set, json_root(doc), *out, a, e))
        return false;
    bool service = p.changed && slice_eq(p.kind, SLICE("Service")) && json_there(json_get(json_root(doc), "metadata.annotations"));
    return !service || hash_again(*out, a, out, e);
}
