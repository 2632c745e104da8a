/* Objects that have lost their ownerReferences, as a restore from a backup or kubectl delete --cascade=orphan leaves them: their owner is
 * found by labels, as a ReplicaSet finds its pods, and gets them by a PATCH that holds for the version that was seen. An object whose
 * ownerReferences name an owner that is gone is left to garbage collection. */
#include <mobula/control.h>

static uint64_t bit_of(struct slice ns, struct slice name)
{
    return 1ull << (hash64(name, hash64(ns, 0)) & 63);
}

static struct slice label_of(struct jval meta, const char *key, struct arena *a)
{
    return key ? json_str(json_child(json_get(meta, "labels"), key), a) : SLICE_NONE;
}

/* Present owners of this name. kind: its name; empty: any kind whose pods run Ray, or if `made`, any that may own the object. */
static struct record *find_owner(const struct op *op, const struct istr *ns, struct slice name, struct slice kind, bool made,
                                 const struct kind *child)
{
    for (const struct kind *const *k = op->parts->kinds; *k; k++) {
        bool fits = may_own(*k, child) && (slice_empty(kind) ? made || (*k)->controller->runs_ray : slice_is(kind, (*k)->name));
        struct record *c = fits ? name_find(op, *k, ns, name) : NULL;
        if (c && c->present && !c->deleting)
            return c;
    }
    return NULL;
}

struct record *orphan_claim(struct op *op, struct space *space, struct jval object, const struct kind *child)
{
    struct arena *a = &op->arenas.event;
    const struct orphan_rule *rule = &child->orphan;
    struct jval meta = json_get(object, "metadata");
    struct slice ns = json_get_str(meta, "namespace", a), own = json_get_str(meta, "name", a);
    struct slice maker = label_of(meta, rule->maker, a), kind = label_of(meta, rule->maker_kind, a);
    bool made = maker.len && (!rule->maker_kind || kind.len), marked = !rule->mark;
    struct slice name = made ? maker : label_of(meta, rule->cluster, a);
    marked = marked || json_there(json_child(json_get(meta, "annotations"), rule->mark));
    if (!marked || slice_empty(name) || json_len(json_get(meta, "ownerReferences")) || json_there(json_get(meta, "deletionTimestamp")))
        return NULL;
    if (made && !(slice_starts(own, name) && own.len > name.len + 1 && own.ptr[name.len] == '-'))
        return NULL; /* a copy that somebody has made under another name */
    const struct istr *at = intern_get(&op->strings, ns);
    struct record *c = find_owner(op, at, name, kind, made, child);
    intern_drop(&op->strings, at);
    if (!c)
        space->orphans |= bit_of(ns, name);
    return c;
}

bool orphan_waits(struct op *op, struct record *c)
{
    uint64_t bit = bit_of(istr_slice(c->ns), slice_of(c->name));
    if (c->decided_ms || !(c->space->orphans & bit))
        return false;
    c->space->orphans &= ~bit;
    bool any = false;
    for (const struct kind *const *k = op->parts->kinds; *k; k++) {
        struct source *src = source_of(c->space, *k);
        bool may = may_own(c->kind, *k) && ((*k)->orphan.cluster || (*k)->orphan.maker) && src->keeper.watch;
        if (may)
            source_refresh(src);
        any |= may;
    }
    return any;
}

static bool is_deleted(const struct plan *p, struct slice uid)
{
    uint32_t i = 0;
    while (i < p->count && !(p->actions[i].verb->how == VERB_DELETE && slice_eq(p->actions[i].uid, uid)))
        i++;
    return i < p->count;
}

void orphan_plan(const struct record *c, struct plan *p)
{
    for (const struct record *own = p->hands_off ? NULL : c->family.owned; own; own = own->family.next) {
        if (!own->family.orphan || !own->present || own->deleting || is_deleted(p, slice_of(own->uid)))
            continue;
        struct action *act = plan_add(p, &verb_adopt);
        act->name = slice_of(own->name);
        act->uid = slice_of(own->uid);
        act->version = own->seen.version;
    }
}

bool orphan_write(struct op *op, struct record *c, const struct action *act, const struct kind *child, struct flight *f,
                  struct call_text *t)
{
    struct jout w;
    char version[KUBE_VERSION_TEXT];
    const struct owner owner = {c->kind->api_version, slice_of(c->kind->name), istr_slice(c->ns), slice_of(c->name), slice_of(c->uid)};
    struct slice seen = kube_version_format(act->version, version);
    slice_copy(act->name, f->name, sizeof f->name);
    slice_copy(act->uid, f->uid, sizeof f->uid);
    *t = (struct call_text){SLICE("PATCH"), SLICE(KUBE_TYPE_MERGE_PATCH), true};
    kube_path(&op->out.path, child->resource, owner.ns, act->name, SLICE_NONE);
    kube_query(&op->out.path, "fieldManager", SLICE(RAY_FIELD_MANAGER));
    jout_init(&w, &op->out.body);
    jout_form(&w, "{metadata:{uid:'%.*s',resourceVersion:'%.*s'", SLICE_ARG(act->uid), SLICE_ARG(seen));
    if (child->orphan.cluster) { /* selectors of Services have it */
        jout_kobject(&w, "labels");
        jout_kstr(&w, RAY_LABEL_OWNER_UID, slice_of(c->uid));
        jout_end(&w);
    }
    write_owner(&w, &owner);
    jout_end(&w);
    jout_end(&w);
    return !op->out.body.full;
}

bool orphan_make(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    const struct record *own = record_get(op, act->uid, istr_slice(c->ns));
    if (!own || !own->present)
        return err_set(e, ERR_MISSING, "%.*s is gone", SLICE_ARG(act->name));
    return orphan_write(op, c, act, own->kind, f, t) || err_set(e, ERR_LIMIT, "the change of %.*s is too large", SLICE_ARG(act->name));
}

bool orphan_answer(struct op *op, struct flight *f, const struct kube_answer *a)
{
    const struct record *own = record_get(op, slice_of(f->uid), istr_slice(f->c->ns));
    if (a->outcome != KUBE_OK) {
        object_write_sorted(op, f, a, answer_passing(&a->status) || a->status.reason == KUBE_CONFLICT, false);
        return false;
    }
    if (own && own->present)
        object_answered(op, f, a, own->kind);
    log_info("adopted an object without ownerReferences", LF("namespace", istr_slice(f->c->ns)), LF_CSTR(f->c->kind->word, f->c->name),
             LF_CSTR("object", f->name));
    if (own && own->family.orphan) /* a webhook takes owners away: not at once again */
        record_trouble(op, f->c, f, "the ownerReference that was written has not come back: exempt the namespace from the webhook");
    return false;
}
