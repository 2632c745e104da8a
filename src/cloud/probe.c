/* Checks that a bucket can be used: writes an object, lists it, reads it, reads it by a signed URL and deletes it, one call after the
 * other. */
#include "store.h"

enum { URL_S = 60 };
#define TEXT "written by mobula to check this bucket: it may be deleted\n"

const char *const cloud_probe_names[] = {[CLOUD_PROBE_WRITE] = "write",
                                         [CLOUD_PROBE_LIST] = "list",
                                         [CLOUD_PROBE_READ] = "read",
                                         [CLOUD_PROBE_SIGN] = "sign",
                                         [CLOUD_PROBE_DELETE] = "delete"};

static bool compare(void *owner, struct slice piece, struct err *e)
{
    struct cloud_probe *p = owner;
    bool same = piece.len <= p->left.len && memcmp(piece.ptr, p->left.ptr, piece.len) == 0;
    p->left = slice_skip(p->left, same ? piece.len : 0);
    return same || err_set(e, ERR_SYNTAX, "the store returned another content than the one that was written");
}

static void begin_step(struct cloud_probe *p, struct now now);

static void judge_answer(struct cloud_probe *p, const struct cloud_answer *answer, struct err *e)
{
    struct cloud_list list;
    bool reads = p->step == CLOUD_PROBE_READ || p->step == CLOUD_PROBE_SIGN;
    if (answer->err.code != ERR_NONE)
        *e = answer->err;
    else if (reads && !slice_empty(p->left))
        err_put(e, ERR_SYNTAX, "the store returned only a part of the object that was written");
    else if (p->step == CLOUD_PROBE_LIST && p->protocol->list_read(answer->body, &p->a, &list, e) &&
             (list.count != 1 || !slice_eq(list.objects[0].key, p->key)))
        err_put(e, ERR_STATUS, "the list does not contain the object that was just written");
}

static void on_done(void *owner, const struct cloud_answer *answer, struct now now)
{
    struct cloud_probe *p = owner;
    bool sign = p->step == CLOUD_PROBE_SIGN && slice_empty(p->url) && answer->err.code == ERR_NONE;
    if (sign) {
        p->url = arena_dup(&p->a, answer->body);
    } else {
        judge_answer(p, answer, &p->errors[p->step]);
        p->step++;
    }
    begin_step(p, now);
}

static void begin_step(struct cloud_probe *p, struct now now)
{
    static const struct {
        const char *method;
        enum cloud_right right;
    } steps[] = {[CLOUD_PROBE_WRITE] = {"PUT", CLOUD_WRITE},
                 [CLOUD_PROBE_LIST] = {"GET", CLOUD_LIST},
                 [CLOUD_PROBE_READ] = {"GET", CLOUD_READ},
                 [CLOUD_PROBE_SIGN] = {"GET", CLOUD_READ},
                 [CLOUD_PROBE_DELETE] = {"DELETE", CLOUD_DELETE}};
    p->over = p->step == CLOUD_PROBE_STEPS;
    if (p->over)
        return;
    struct cloud_call c = {.method = steps[p->step].method, .right = steps[p->step].right, .key = p->key, .owner = p};
    p->left = SLICE(TEXT);
    c.done = on_done;
    c.done_owner = p;
    if (p->step == CLOUD_PROBE_WRITE) {
        c.body = p->left;
        if (p->protocol->put)
            p->protocol->put(&c);
        c.size = c.body.len;
        c.sha256 = slice_of(p->sha256);
    } else if (p->step == CLOUD_PROBE_LIST) {
        c.key = SLICE("");
        p->protocol->list(&c, p->key, true, SLICE(""));
    } else if (p->step != CLOUD_PROBE_DELETE) {
        c.piece = compare;
    }
    if (p->step == CLOUD_PROBE_SIGN) {
        c.url = p->url;
        c.sign_s = slice_empty(p->url) ? URL_S : 0;
    }
    cloud_store_call(p->store, &c, now);
}

void cloud_probe_begin(struct cloud_probe *p, struct cloud_store *s, struct slice prefix, uint64_t random, struct now now)
{
    char suffix[NAME_SUFFIX];
    bool slash = slice_empty(prefix) || slice_ends(prefix, SLICE("/"));
    arena_free(&p->a);
    *p = (struct cloud_probe){.store = s, .protocol = s->o.protocol};
    hash_suffix(random, suffix);
    p->key = arena_printf(&p->a, "%.*s%smobula-check-%.*s \xc3\xbc+%%2F.txt", SLICE_ARG(prefix), slash ? "" : "/", NAME_SUFFIX, suffix);
    tls_sha256_hex(SLICE(TEXT), p->sha256);
    begin_step(p, now);
}

void cloud_probe_free(struct cloud_probe *p)
{
    arena_free(&p->a);
}

void cloud_probe_text(const struct cloud_probe *p, struct buf *out)
{
    for (int i = 0; i < CLOUD_PROBE_STEPS; i++)
        if (p->errors[i].code != ERR_NONE)
            buf_printf(out, "%s%s: %s", out->len ? "; " : "", cloud_probe_names[i], p->errors[i].text);
}
