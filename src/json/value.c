#include "token.h"

struct jval json_root(const struct json *doc)
{
    return (struct jval){doc, doc->count ? 0 : -1};
}

enum json_type json_type(struct jval v)
{
    const struct json_token *t = json_token(v);
    return t ? (enum json_type)t->type : JSON_NONE;
}

struct slice json_raw(struct jval v)
{
    const struct json_token *t = json_token(v);
    if (!t)
        return SLICE_NONE;
    unsigned quote = t->type == JSON_STRING;
    return (struct slice){v.doc->text.ptr + t->start - quote, t->end - t->start + 2 * quote};
}

size_t json_offset(struct jval v)
{
    return json_there(v) ? (size_t)(json_raw(v).ptr - v.doc->text.ptr) : 0;
}

size_t json_len(struct jval v)
{
    const struct json_token *t = json_token(v);
    return t ? t->size : 0;
}

struct jiter json_iter(struct jval v)
{
    return (struct jiter){.of = v, .next = v.at + 1, .left = (uint32_t)json_len(v)};
}

bool json_step(struct jiter *it)
{
    it->key = it->value = JVAL_NONE;
    if (it->left == 0)
        return false;
    it->left--;
    const struct json *doc = it->of.doc;
    if (json_token(it->of)->type == JSON_OBJECT)
        it->key = (struct jval){doc, it->next++};
    it->value = (struct jval){doc, it->next};
    it->next = (int32_t)doc->tokens[it->next].next;
    return true;
}

struct jval json_key(struct jval object, struct slice key)
{
    struct jval k, value;
    if (json_type(object) != JSON_OBJECT)
        return JVAL_NONE;
    for (struct jiter it = json_iter(object); json_next(&it, &k, &value);)
        if (json_token_eq(k.doc, json_token(k), key))
            return value;
    return JVAL_NONE;
}

struct jval json_child(struct jval object, const char *key)
{
    return json_key(object, slice_of(key));
}

struct jval json_at(struct jval array, size_t index)
{
    struct jval k, value;
    if (json_type(array) != JSON_ARRAY || index >= json_len(array))
        return JVAL_NONE;
    struct jiter it = json_iter(array);
    do
        json_next(&it, &k, &value);
    while (index-- > 0);
    return value;
}

struct jval json_get(struct jval v, const char *path)
{
    for (const char *end = path; json_there(v); path = end + 1) {
        for (end = path; *end && *end != '.';)
            end++;
        v = json_key(v, (struct slice){path, (size_t)(end - path)});
        if (!*end)
            break;
    }
    return v;
}

struct slice json_str(struct jval v, struct arena *a)
{
    return json_type(v) == JSON_STRING ? json_token_text(v.doc, json_token(v), a) : SLICE_NONE;
}

bool json_bool(struct jval v, bool otherwise)
{
    return json_type(v) == JSON_BOOL ? json_raw(v).ptr[0] == 't' : otherwise;
}

bool json_str_eq(struct jval v, struct slice text)
{
    return json_type(v) == JSON_STRING && json_token_eq(v.doc, json_token(v), text);
}

bool json_is(struct jval v, const char *words)
{
    return json_str_eq(v, slice_of(words));
}

struct slice json_get_str(struct jval v, const char *path, struct arena *a)
{
    return json_str(json_get(v, path), a);
}

int64_t json_get_int(struct jval v, const char *path, int64_t otherwise)
{
    int64_t value;
    return json_int(json_get(v, path), &value) ? value : otherwise;
}

bool json_get_bool(struct jval v, const char *path, bool otherwise)
{
    return json_bool(json_get(v, path), otherwise);
}
