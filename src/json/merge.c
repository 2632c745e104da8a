#include "token.h"

/* RFC 7386. Members keep the order of the document; new ones follow in the order of the patch. */

static void merge(struct jout *w, struct jval target, struct jval patch, struct arena *mem);

/* Applies a patch to a member, which may not exist yet. null takes it away. */
static void merge_member(struct jout *w, struct slice key, struct jval target, struct jval patch, struct arena *mem)
{
    if (json_type(patch) == JSON_NULL)
        return;
    jout_key(w, key);
    merge(w, target, patch, mem);
}

static void merge(struct jout *w, struct jval target, struct jval patch, struct arena *mem)
{
    if (json_type(patch) != JSON_OBJECT) {
        jout_raw(w, json_raw(patch));
        return;
    }
    struct jval old = json_type(target) == JSON_OBJECT ? target : JVAL_NONE, key, value;
    const struct json_member *have = json_members(old, mem), *want = json_members(patch, mem);
    jout_object(w);
    for (struct jiter it = json_iter(old); json_next(&it, &key, &value);) {
        struct slice name = json_str(key, mem);
        struct jval change = json_member_find(want, json_len(patch), name);
        if (json_there(change)) {
            merge_member(w, name, value, change, mem);
        } else {
            jout_key(w, name);
            jout_raw(w, json_raw(value));
        }
    }
    for (struct jiter it = json_iter(patch); json_next(&it, &key, &value);) {
        struct slice name = json_str(key, mem);
        if (!json_there(json_member_find(have, json_len(old), name)))
            merge_member(w, name, JVAL_NONE, value, mem);
    }
    jout_end(w);
}

bool json_merge_into(struct jval document, struct slice patch, struct arena *a, struct slice *out, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    struct json change;
    struct jout w;
    if (!json_parse(&change, patch, a, e))
        return err_wrap(e, "merge patch");
    jout_init(&w, &text);
    merge(&w, document, json_root(&change), a);
    return json_result(&text, a, out, e);
}

bool json_merge(struct slice document, struct slice patch, struct arena *a, struct slice *out, struct err *e)
{
    struct json doc;
    if (!json_parse(&doc, document, a, e))
        return err_wrap(e, "document");
    return json_merge_into(json_root(&doc), patch, a, out, e);
}
