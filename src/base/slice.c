#include <mobula/base.h>

struct slice slice_of(const char *nul_terminated)
{
    return nul_terminated ? (struct slice){nul_terminated, strlen(nul_terminated)} : SLICE_NONE;
}

int slice_cmp(struct slice a, struct slice b)
{
    size_t shared = a.len < b.len ? a.len : b.len;
    int order = shared ? memcmp(a.ptr, b.ptr, shared) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

bool slice_starts(struct slice s, struct slice prefix)
{
    return s.len >= prefix.len && slice_eq(slice_head(s, prefix.len), prefix);
}

bool slice_ends(struct slice s, struct slice suffix)
{
    return s.len >= suffix.len && (suffix.len == 0 || slice_eq(slice_skip(s, s.len - suffix.len), suffix));
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool slice_is(struct slice s, const char *words)
{
    return slice_eq(s, slice_of(words));
}

bool slice_eq_nocase(struct slice a, struct slice b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (lower(a.ptr[i]) != lower(b.ptr[i]))
            return false;
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct slice slice_trim(struct slice s)
{
    while (s.len && is_space(s.ptr[s.len - 1]))
        s.len--;
    while (s.len && is_space(s.ptr[0]))
        s = slice_skip(s, 1);
    return s;
}

ptrdiff_t slice_find(struct slice s, char c)
{
    const char *at = s.len ? memchr(s.ptr, c, s.len) : NULL;
    return at ? at - s.ptr : -1;
}

struct slice slice_cut(struct slice *s, char sep)
{
    struct slice whole = *s;
    ptrdiff_t at = slice_find(whole, sep);
    *s = at < 0 ? SLICE_NONE : slice_skip(whole, (size_t)at + 1);
    return at < 0 ? whole : slice_head(whole, (size_t)at);
}

bool slice_listed(struct slice list, struct slice entry)
{
    while (list.ptr)
        if (slice_eq(slice_trim(slice_cut(&list, ',')), entry))
            return true;
    return false;
}

bool slice_int(struct slice s, int64_t *out)
{
    bool negative = s.len && s.ptr[0] == '-';
    if (negative)
        s = slice_skip(s, 1);
    if (slice_empty(s) || (s.len > 1 && s.ptr[0] == '0'))
        return false;
    int64_t value = 0; /* kept negative: INT64_MIN has no positive twin */
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_sub_overflow(value, s.ptr[i] - '0', &value))
            return false;
    }
    if (!negative && value == INT64_MIN)
        return false;
    *out = negative ? value : -value;
    return true;
}

struct slice slice_behind(char **at, struct slice s)
{
    char *to = *at;
    if (slice_empty(s))
        return SLICE_NONE;
    memcpy(to, s.ptr, s.len);
    *at += s.len;
    return (struct slice){to, s.len};
}

bool slice_copy(struct slice s, char *to, size_t size)
{
    if (s.len >= size)
        return false;
    memset(to, 0, size);
    if (s.len)
        memcpy(to, s.ptr, s.len);
    return true;
}

ptrdiff_t slice_find_text(struct slice s, const char *words)
{
    size_t len = strlen(words);
    for (size_t i = 0; i + len <= s.len; i++)
        if (memcmp(s.ptr + i, words, len) == 0)
            return (ptrdiff_t)i;
    return -1;
}

ptrdiff_t slice_find_text_last(struct slice s, const char *words)
{
    size_t len = strlen(words);
    for (size_t i = s.len; i >= len; i--)
        if (memcmp(s.ptr + i - len, words, len) == 0)
            return (ptrdiff_t)(i - len);
    return -1;
}

bool slice_has(struct slice s, const char *words)
{
    return slice_find_text(s, words) >= 0;
}

struct slice slice_lower(struct slice s, struct arena *a)
{
    char *lower = arena_alloc(a, s.len + 1);
    for (size_t i = 0; i < s.len; i++)
        lower[i] = s.ptr[i] >= 'A' && s.ptr[i] <= 'Z' ? (char)(s.ptr[i] - 'A' + 'a') : s.ptr[i];
    return (struct slice){lower, s.len};
}
