/* The patches in force, and how they come into what is written. Patches of ConfigMap `patches` are those of the last text that could be
 * read. */
#include <mobula/patches.h>
#include <mobula/settings.h>

struct written_patches {
    struct arena arena; /* holds the set */
    struct shape_patches set;
};

const struct shape_patches *patches_in_force(const struct op *op)
{
    const struct written_patches *p = setting_of(op, &setting_patches)->taken;
    return p ? &p->set : op->o.patches;
}

uint64_t patches_revision(const struct op *op)
{
    const struct shape_patches *set = patches_in_force(op);
    return set ? set->revision : 0;
}

/* Whatever was refused for what the patches made of it, or may have been, is tried at once. Pods that run stay: their templates have not
 * changed. */
static void touch_all(const struct setting *s)
{
    struct op *op = s->op;
    struct record *c;
    for (uint32_t i = 0; (c = map_next(&op->all.records, &i)) != NULL;) {
        for (struct failing *f = c->children.failing; f; f = f->next) {
            f->f.accepted = f->f.refused = 0;
            if (!f->f.ended)
                f->f.not_before_ms = op->now.mono_ms;
        }
        record_touch(op, c);
    }
}

static void free_patches(struct setting *s)
{
    struct written_patches *p = s->taken;
    if (p)
        arena_free(&p->arena);
    mem_free(p);
    s->taken = NULL;
}

static bool take_text(struct setting *s, struct slice text, struct err *e)
{
    struct written_patches *fresh = mem_alloc(sizeof *fresh);
    struct spec_errors *errors = arena_new(&fresh->arena, struct spec_errors);
    if (!shape_patches_read(text.ptr ? text : SLICE(""), &fresh->arena, &fresh->set, errors)) {
        spec_errors_tell(errors, e);
        arena_free(&fresh->arena);
        mem_free(fresh);
        return false;
    }
    fresh->set.name = arena_printf(&fresh->arena, "ConfigMap %.*s", SLICE_ARG(setting_name(s)));
    shape_patches_above(&fresh->set, s->op->o.patches);
    free_patches(s);
    s->taken = fresh;
    touch_all(s);
    log_info(text.ptr ? "patches read" : "there are no patches: the ConfigMap or its key is not there",
             LF_INT("patches", fresh->set.count));
    return true;
}

const struct setting_kind setting_patches = {.flags = {"patches-configmap", "patches-key"},
                                             .key = SLICE("patches.yaml"),
                                             .on_text = take_text,
                                             .on_trouble = touch_all,
                                             .free = free_patches,
                                             .first = true};

/* ---- writes ---- */

/* A token or CA key generated for a Secret. Patches work on asterisks in its place, so they leave no copy of it in memory. */
struct hidden {
    char token[512];
    size_t len;
};

static void hide(struct buf *body, struct hidden *h)
{
    static const char *const keys[] = {"\"" RAY_AUTH_KEY "\":\"", "\"" RAY_CA_KEY "\":\""};
    const char *before = slice_find_text(buf_slice(body), keys[1]) < 0 ? keys[0] : keys[1];
    ptrdiff_t at = slice_find_text(buf_slice(body), before);
    if (at < 0)
        return;
    char *token = body->ptr + at + strlen(before);
    ptrdiff_t len = slice_find(slice_skip(buf_slice(body), (size_t)at + strlen(before)), '"');
    if (len <= 0 || (size_t)len > sizeof h->token)
        return;
    h->len = (size_t)len;
    memcpy(h->token, token, h->len);
    memset(token, '*', h->len);
}

static void show(struct buf *body, struct hidden *h)
{
    for (size_t i = 0, run = 0; i < body->len && h->len; i++) {
        run = body->ptr[i] == '*' ? run + 1 : 0;
        if (run == h->len)
            memcpy(body->ptr + i + 1 - run, h->token, run);
    }
    mem_wipe(h->token, sizeof h->token);
}

/* Patches that cannot be read may be what keeps a pod off a node, so nothing is written without them. */
static bool are_known(const struct op *op, struct err *e)
{
    const struct setting *s = setting_of(op, &setting_patches);
    if (!s->watch || s->taken)
        return true;
    return err_set(e, ERR_CONFIG, "ConfigMap %.*s %s, and nothing is written without its patches: %s", SLICE_ARG(setting_name(s)),
                   s->known ? "is broken" : "cannot be read", s->why.text);
}

bool patches_amend(struct op *op, bool secret, struct buf *object, struct err *e)
{
    const struct shape_patches *set = patches_in_force(op);
    struct slice out;
    if (!are_known(op, e))
        return false;
    if (!set || (set->count == 0 && !set->below) || object->len == 0) /* a GET has no body */
        return true;
    struct hidden h = {.len = 0};
    if (secret)
        hide(object, &h);
    bool ok = shape_patches_apply(set, buf_slice(object), NULL, &op->arenas.body, &out, e);
    if (ok && out.ptr != object->ptr) {
        buf_clear(object);
        buf_put(object, out);
    }
    show(object, &h);
    return ok;
}
