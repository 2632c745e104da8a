#include "pointer.h"

bool json_pointer_token(struct slice *pointer, struct arena *a, struct slice *token)
{
    if (slice_empty(*pointer) || pointer->ptr[0] != '/')
        return false;
    struct slice rest = slice_skip(*pointer, 1);
    ptrdiff_t slash = slice_find(rest, '/');
    struct slice raw = slice_head(rest, slash < 0 ? rest.len : (size_t)slash);
    *pointer = slice_skip(rest, raw.len);
    *token = raw;
    if (slice_find(raw, '~') < 0)
        return true;
    char *out = arena_alloc(a, raw.len);
    *token = (struct slice){out, 0};
    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.ptr[i];
        if (c == '~') {
            if (++i == raw.len || (raw.ptr[i] != '0' && raw.ptr[i] != '1'))
                return false;
            c = raw.ptr[i] == '0' ? '~' : '/';
        }
        out[token->len++] = c;
    }
    return true;
}

bool json_pointer_index(struct slice token, size_t *index)
{
    int64_t value;
    if (slice_starts(token, SLICE("-")) || !slice_int(token, &value))
        return false;
    *index = (size_t)value;
    return true;
}

struct jval json_pointer(struct jval v, struct slice pointer)
{
    __attribute__((cleanup(arena_free))) struct arena mem = {0};
    while (json_there(v) && !slice_empty(pointer)) {
        struct slice token;
        size_t index;
        if (!json_pointer_token(&pointer, &mem, &token))
            return JVAL_NONE;
        if (json_type(v) == JSON_ARRAY)
            v = json_pointer_index(token, &index) ? json_at(v, index) : JVAL_NONE;
        else
            v = json_key(v, token);
    }
    return v;
}
