#include <mobula/release.h>

/* ---- objects of the installation that the new manifests lack ---- */

/* *is: the object exists, has our label and belongs to this installation. */
static bool is_surplus(struct apply *p, const struct apply_object *o, bool *is, struct err *e)
{
    struct ask_answer answer = {0};
    struct jval there;
    struct slice other;
    struct err helm = {0};
    bool spared;
    *is = false;
    if (!ask_get(p->ask, o->path, NULL, p->a, &answer, e))
        return false;
    if (answer.code >= 300 || !json_read(&there, answer.body, p->a, NULL) || (!apply_spared(o, there, p->a, &spared, &helm) && !p->shows) ||
        spared)
        return true;
    if (!owner_other(p, o, there, &other, e))
        return false;
    *is = slice_empty(other);
    return true;
}

static bool find_in(struct apply *gone, const struct apply *p, const struct install_options *o, struct err *e)
{
    struct apply all = {.a = gone->a};
    __attribute__((cleanup(buf_free))) struct buf text;
    buf_init(&text, INSTALL_TEXT_MAX);
    if (!install_write_all(o, &text, e) || !apply_read(&all, buf_slice(&text), e))
        return false;
    for (uint32_t i = all.count; i-- > 0;) { /* in reverse order, as uninstall deletes */
        bool is = false;
        if (!apply_has(p, all.list[i].path) && !apply_has(gone, all.list[i].path) && !is_surplus(gone, &all.list[i], &is, e))
            return false;
        if (is && gone->count < APPLY_OBJECTS_MAX)
            gone->list[gone->count++] = all.list[i];
    }
    return true;
}

bool surplus_find(struct apply *gone, const struct apply *p, const struct install_options *o, const struct inventory *now, struct err *e)
{
    struct install_options all = *o;
    all.program.bytes = SLICE_NONE; /* ConfigMaps of programs are found by their label */
    all.all_namespaces = false;
    if (!find_in(gone, p, &all, e))
        return false;
    all.watch = now->watch;
    return slice_empty(all.watch) || slice_eq(all.watch, o->watch) || find_in(gone, p, &all, e);
}

/* ---- fields that kubectl has applied ---- */

/* Whether kubectl applied our whole manifest, which has the label. An apply of a few fields over it lacks the label and keeps its owner. */
static bool is_kubectl(struct jval entry)
{
    struct jval labels = json_get(json_key(entry, SLICE("fieldsV1")), "f:metadata.f:labels");
    struct jval by = json_key(entry, SLICE("manager"));
    bool applied = json_is(json_key(entry, SLICE("operation")), "Apply");
    return json_is(by, applied ? "kubectl" : "kubectl-client-side-apply") && json_there(json_key(labels, SLICE("f:" APPLY_LABEL)));
}

static bool is_own(struct jval entry)
{
    return json_is(json_key(entry, SLICE("manager")), APPLY_MANAGER) && json_is(json_key(entry, SLICE("operation")), "Apply");
}

bool surplus_applies(struct jval entry)
{
    return is_own(entry) || is_kubectl(entry);
}

struct slice surplus_takeover(struct jval there, struct arena *a)
{
    struct slice fields = SLICE("{}"), version = SLICE_NONE;
    struct jval key, entry, list = json_get(there, "metadata.managedFields");
    struct jout w;
    bool taken = false;
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, LIMIT_JSON_ITEM);
    jout_init(&w, &out);
    jout_form(&w, "{metadata:{resourceVersion:'%.*s',managedFields:[", SLICE_ARG(json_get_str(there, "metadata.resourceVersion", a)));
    for (struct jiter it = json_iter(list); json_next(&it, &key, &entry);) {
        bool kubectl = is_kubectl(entry);
        if (!kubectl && !is_own(entry)) {
            jout_val(&w, entry);
            continue;
        }
        /* Sets of fields are objects within objects, so the merge of two has the fields of both. */
        if (!json_merge(fields, json_raw(json_key(entry, SLICE("fieldsV1"))), a, &fields, NULL))
            return SLICE_NONE;
        version = json_get_str(entry, "apiVersion", a);
        taken |= kubectl;
    }
    jout_form(&w, "{manager:'" APPLY_MANAGER "',operation:'Apply',apiVersion:'%.*s',fieldsType:'FieldsV1'", SLICE_ARG(version));
    jout_kraw(&w, "fieldsV1", fields);
    jout_form(&w, "}]}}");
    return taken && !out.full ? arena_dup(a, buf_slice(&out)) : SLICE_NONE;
}
