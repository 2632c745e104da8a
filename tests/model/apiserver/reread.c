/* Reads back what dom_print wrote. That has one spelling and is known to be well formed, and it is read far more often than anything that
 * somebody sends: so nothing is checked twice, and a string without escapes stays where it is. */
#include "dom.h"

struct reread {
    const char *at, *end;
    struct arena *a;
};

static unsigned hex4(const char *p)
{
    unsigned n = 0;
    for (int i = 0; i < 4; i++)
        n = n << 4 | (unsigned)(p[i] <= '9' ? p[i] - '0' : p[i] - 'a' + 10);
    return n;
}

/* The escapes of json_quote; \u stands for control bytes only. */
static struct slice unescape(struct slice raw, struct arena *a)
{
    static const char plain[] = {['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t', ['"'] = '"', ['\\'] = '\\'};
    char *text = arena_alloc(a, raw.len), *to = text;
    for (const char *p = raw.ptr, *end = raw.ptr + raw.len; p < end; p++) {
        if (*p != '\\') {
            *to++ = *p;
        } else if (*++p == 'u') {
            *to++ = (char)hex4(p + 1);
            p += 4;
        } else {
            *to++ = plain[(unsigned char)*p];
        }
    }
    return (struct slice){text, (size_t)(to - text)};
}

/* at: behind the opening quote; moved behind the closing one. */
static struct slice read_text(struct reread *r)
{
    const char *start = r->at;
    bool escaped = false;
    for (;;) {
        const char *quote = memchr(r->at, '"', (size_t)(r->end - r->at));
        const char *slash = memchr(r->at, '\\', (size_t)(quote - r->at));
        r->at = slash ? slash + 2 : quote + 1;
        if (slash) {
            escaped = true;
            continue;
        }
        struct slice raw = {start, (size_t)(quote - start)};
        return escaped ? unescape(raw, r->a) : raw;
    }
}

static struct node *read_node(struct reread *r);

static void read_members(struct reread *r, struct node *n)
{
    char close = n->type == JSON_OBJECT ? '}' : ']';
    for (r->at++; *r->at != close; r->at += *r->at == ',') {
        struct slice key = SLICE_NONE;
        if (n->type == JSON_OBJECT) {
            r->at++;
            key = read_text(r);
            r->at++; /* the colon */
        }
        dom_push(n, read_node(r))->key = key;
    }
    r->at++;
}

static struct node *read_node(struct reread *r)
{
    const char *start = r->at;
    struct node *n = dom_new(r->a, JSON_NUMBER);
    switch (*start) {
    case '{':
    case '[':
        n->type = *start == '{' ? JSON_OBJECT : JSON_ARRAY;
        read_members(r, n);
        return n;
    case '"':
        n->type = JSON_STRING;
        r->at++;
        n->text = read_text(r);
        return n;
    case 'n':
        n->type = JSON_NULL;
        r->at += 4;
        return n;
    case 't':
    case 'f':
        n->type = JSON_BOOL;
        break;
    default:
        break;
    }
    while (r->at < r->end && *r->at != ',' && *r->at != '}' && *r->at != ']')
        r->at++;
    n->text = (struct slice){start, (size_t)(r->at - start)};
    return n;
}

struct node *dom_reread(struct slice json, struct arena *a)
{
    return read_node(&(struct reread){json.ptr, json.ptr + json.len, a});
}
