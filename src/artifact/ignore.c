/* The rules of .gitignore files, without character classes such as [[:alpha:]]. */
#include "private.h"

/* One character of the pattern and one of the path; takes the former off the pattern. */
static bool match_one(struct slice *pattern, char c)
{
    struct slice p = *pattern;
    bool others = p.len > 1 && (p.ptr[1] == '!' || p.ptr[1] == '^'), in = false;
    if (p.ptr[0] == '[') {
        size_t at = others ? 2 : 1;
        for (size_t first = at; at < p.len && (p.ptr[at] != ']' || at == first); at++) {
            bool range = at + 2 < p.len && p.ptr[at + 1] == '-' && p.ptr[at + 2] != ']';
            in |= range ? c >= p.ptr[at] && c <= p.ptr[at + 2] : c == p.ptr[at];
            at += range ? 2 : 0;
        }
        if (at < p.len) {
            *pattern = slice_skip(p, at + 1);
            return in != others && c != '/';
        }
    }
    bool escaped = p.ptr[0] == '\\' && p.len > 1;
    p = slice_skip(p, escaped);
    *pattern = slice_skip(p, 1);
    return p.ptr[0] == c || (p.ptr[0] == '?' && !escaped && c != '/');
}

static bool glob(struct slice pattern, struct slice path);

/* "**" and a slash stand for any number of folders. */
static bool glob_below(struct slice pattern, struct slice path)
{
    while (path.ptr) {
        if (glob(pattern, path))
            return true;
        slice_cut(&path, '/');
    }
    return false;
}

static bool glob(struct slice pattern, struct slice path)
{
    while (!slice_empty(pattern)) {
        if (slice_starts(pattern, SLICE("**/")))
            return glob_below(slice_skip(pattern, 3), path);
        if (slice_is(pattern, "**"))
            return true;
        if (pattern.ptr[0] == '*') {
            pattern = slice_skip(pattern, 1);
            for (;; path = slice_skip(path, 1)) {
                if (glob(pattern, path))
                    return true;
                if (slice_empty(path) || path.ptr[0] == '/')
                    return false;
            }
        }
        if (slice_empty(path) || !match_one(&pattern, path.ptr[0]))
            return false;
        path = slice_skip(path, 1);
    }
    return slice_empty(path);
}

static bool rule_matches(const struct ignore_rule *r, struct slice path, bool folder)
{
    if ((r->folders && !folder) || !slice_starts(path, r->base))
        return false;
    path = slice_skip(path, r->base.len);
    struct slice name = path;
    while (!r->anchored && slice_has(name, "/"))
        slice_cut(&name, '/');
    return glob(r->pattern, name);
}

enum ignored ignore_look(const struct ignore *g, struct slice path, bool folder)
{
    for (uint32_t i = g->count; i-- > 0;)
        if (rule_matches(&g->list[i], path, folder))
            return g->list[i].keeps ? IGNORE_KEEPS : IGNORE_LEAVES_OUT;
    return IGNORE_SAYS_NOTHING;
}

/* Blanks at the end count only behind a backslash. */
static struct slice trim_end(struct slice line)
{
    while (line.len && (line.ptr[line.len - 1] == ' ' || line.ptr[line.len - 1] == '\r' || line.ptr[line.len - 1] == '\t') &&
           (line.len < 2 || line.ptr[line.len - 2] != '\\'))
        line.len--;
    return line;
}

bool ignore_add(struct ignore *g, struct slice base, struct slice text, struct err *e)
{
    while (text.ptr) {
        struct ignore_rule r = {.base = base, .pattern = trim_end(slice_cut(&text, '\n'))};
        if (slice_empty(r.pattern) || r.pattern.ptr[0] == '#')
            continue;
        r.keeps = r.pattern.ptr[0] == '!';
        r.pattern = slice_skip(r.pattern, r.keeps);
        r.folders = slice_ends(r.pattern, SLICE("/"));
        r.pattern.len -= r.folders;
        r.anchored = slice_has(r.pattern, "/");
        r.pattern = slice_skip(r.pattern, slice_starts(r.pattern, SLICE("/")));
        if (g->count == LIMIT_PACK_RULES || r.pattern.len > LIMIT_PACK_PATTERN)
            return err_set(e, ERR_LIMIT, "more than %d patterns (LIMIT_PACK_RULES), or one of more than %d bytes (LIMIT_PACK_PATTERN)",
                           LIMIT_PACK_RULES, LIMIT_PACK_PATTERN);
        if (g->count == g->room) {
            g->room = g->room ? 2 * g->room : 64;
            g->list = mem_resize(g->list, g->room * sizeof g->list[0]);
        }
        g->list[g->count++] = r;
    }
    return true;
}

void ignore_free(struct ignore *g)
{
    mem_free(g->list);
    *g = (struct ignore){NULL, 0, 0};
}
