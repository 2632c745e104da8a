/* Reads and decides in one pass. A value is a node; no node is an error, whose text is kept. Both sides of && and || are looked at: an
 * error on one side does not matter when the other side decides. */
#include "cel.h"

#include <regex.h>

enum { CEL_VARIABLES = 8 };

struct cel {
    struct slice rest; /* of the rule */
    struct arena *a;
    struct {
        struct slice name;
        const struct node *value;
    } vars[CEL_VARIABLES];
    size_t var_count;
    struct slice error;
    const char *lacks; /* where the last member ends that was not there */
};

static const struct node *expression(struct cel *c);

/* ---- text ---- */

static bool is_word(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_';
}

static void skip_space(struct cel *c)
{
    while (c->rest.len && (c->rest.ptr[0] == ' ' || c->rest.ptr[0] == '\n'))
        c->rest = slice_skip(c->rest, 1);
}

static bool accept(struct cel *c, const char *token)
{
    struct slice t = slice_of(token);
    skip_space(c);
    bool word = is_word(t.ptr[0]);
    if (!slice_starts(c->rest, t) || (word && c->rest.len > t.len && is_word(c->rest.ptr[t.len])))
        return false;
    c->rest = slice_skip(c->rest, t.len);
    return true;
}

static const struct node *fail(struct cel *c, struct slice why)
{
    if (!c->error.len)
        c->error = why;
    return NULL;
}

/* The text goes no further than here: nothing behind it can be understood. */
static const struct node *unknown(struct cel *c)
{
    c->rest = SLICE("");
    c->error = SLICE("not a rule that is known here");
    return NULL;
}

static struct slice word(struct cel *c)
{
    size_t n = 0;
    skip_space(c);
    while (n < c->rest.len && is_word(c->rest.ptr[n]))
        n++;
    struct slice text = slice_head(c->rest, n);
    c->rest = slice_skip(c->rest, n);
    return text;
}

/* ---- values ---- */

static const struct node *boolean(struct cel *c, bool b)
{
    return dom_new_bool(c->a, b);
}

static bool is_true(const struct node *n)
{
    return dom_is(n, JSON_BOOL) && n->text.ptr[0] == 't';
}

static bool is_false(const struct node *n)
{
    return dom_is(n, JSON_BOOL) && n->text.ptr[0] == 'f';
}

static const struct node *text_literal(struct cel *c, char quote)
{
    size_t n = 1;
    while (n < c->rest.len && c->rest.ptr[n] != quote)
        n++;
    if (n == c->rest.len)
        return unknown(c);
    const struct node *text = dom_new_str(c->a, slice_skip(slice_head(c->rest, n), 1));
    c->rest = slice_skip(c->rest, n + 1);
    return text;
}

static const struct node *list_literal(struct cel *c)
{
    struct node *list = dom_new(c->a, JSON_ARRAY);
    bool whole = true;
    while (c->rest.len && !accept(c, "]")) {
        const struct node *item = expression(c);
        whole = whole && item;
        if (item)
            dom_push(list, dom_copy(item, c->a));
        if (!accept(c, ",") && !slice_starts(c->rest, SLICE("]")))
            return unknown(c);
    }
    return whole ? list : NULL;
}

static const struct node *variable(struct cel *c, struct slice name)
{
    for (size_t i = c->var_count; i > 0; i--)
        if (slice_eq(c->vars[i - 1].name, name))
            return c->vars[i - 1].value;
    return unknown(c);
}

/* has(a.b): a must be there, b need not. */
static const struct node *has(struct cel *c)
{
    struct slice before = c->error;
    const struct node *value = expression(c);
    bool lacking = !value && c->lacks && c->lacks == c->rest.ptr;
    if (!accept(c, ")"))
        return unknown(c);
    if (lacking)
        c->error = before;
    return value || lacking ? boolean(c, value != NULL) : NULL;
}

static const struct node *size(struct cel *c)
{
    const struct node *value = expression(c);
    if (!accept(c, ")"))
        return unknown(c);
    return value ? dom_new_int(c->a, (int64_t)(value->type == JSON_STRING ? value->text.len : dom_len(value))) : NULL;
}

static const struct node *primary(struct cel *c)
{
    skip_space(c);
    char first = c->rest.len ? c->rest.ptr[0] : '\0';
    if (first == '\'' || first == '"')
        return text_literal(c, first);
    if (accept(c, "["))
        return list_literal(c);
    if (accept(c, "(")) {
        const struct node *value = expression(c);
        return accept(c, ")") ? value : unknown(c);
    }
    struct slice name = word(c);
    int64_t number;
    if (slice_int(name, &number))
        return dom_new_int(c->a, number);
    if (slice_eq(name, SLICE("true")) || slice_eq(name, SLICE("false")))
        return boolean(c, slice_eq(name, SLICE("true")));
    if (slice_eq(name, SLICE("has")) && accept(c, "("))
        return has(c);
    if (slice_eq(name, SLICE("size")) && accept(c, "("))
        return size(c);
    return name.len ? variable(c, name) : unknown(c);
}

/* ---- members and macros ---- */

/* A member that is null is one that is not there. */
static const struct node *present(const struct node *of, struct slice key)
{
    const struct node *value = dom_key(of, key);
    return dom_is(value, JSON_NULL) ? NULL : value;
}

static const struct node *member(struct cel *c, const struct node *of, struct slice key)
{
    const struct node *value = of ? present(of, key) : NULL;
    if (value || !of)
        return value;
    c->lacks = c->rest.ptr;
    return fail(c, arena_printf(c->a, "no such key: %.*s", SLICE_ARG(key)));
}

enum macro { ALL, EXISTS, EXISTS_ONE };

struct tally {
    size_t yes, no, errors;
};

static struct tally each(struct cel *c, const struct node *list, struct slice name, struct slice *after)
{
    static const struct node nothing = {.type = JSON_NULL};
    struct slice body = c->rest;
    struct tally t = {0};
    const struct node *item = list ? list->child : NULL;
    for (bool first = true; first || item; first = false) { /* the body is read once at least: to know where it ends */
        c->rest = body;
        c->vars[c->var_count].name = name;
        c->vars[c->var_count++].value = !item ? &nothing : dom_is(list, JSON_OBJECT) ? dom_new_str(c->a, item->key) : item;
        const struct node *answer = expression(c);
        c->var_count--;
        *after = c->rest;
        if (!item)
            break;
        t.yes += is_true(answer);
        t.no += is_false(answer);
        t.errors += !answer;
        item = item->next;
    }
    return t;
}

static const struct node *apply_macro(struct cel *c, const struct node *list, enum macro macro)
{
    struct slice name = word(c), after, before = c->error;
    if (!name.len || !accept(c, ",") || c->var_count == CEL_VARIABLES)
        return unknown(c);
    struct tally t = each(c, list, name, &after);
    c->rest = after;
    if (!accept(c, ")"))
        return unknown(c);
    bool decided = macro == ALL ? t.no > 0 : macro == EXISTS && t.yes > 0;
    if (!list || (t.errors && !decided))
        return NULL;
    c->error = before;
    return boolean(c, macro == ALL ? !t.no : macro == EXISTS ? t.yes > 0 : t.yes == 1);
}

/* The server's expressions are RE2; those of our rules mean the same to POSIX. */
static const struct node *matches(struct cel *c, const struct node *text)
{
    const struct node *pattern = expression(c);
    regex_t re;
    if (!accept(c, ")") || !dom_is(pattern, JSON_STRING))
        return unknown(c);
    if (!dom_is(text, JSON_STRING))
        return text ? fail(c, SLICE("no such overload")) : NULL;
    if (regcomp(&re, arena_printf(c->a, "%.*s", SLICE_ARG(pattern->text)).ptr, REG_EXTENDED | REG_NOSUB))
        return unknown(c);
    bool found = regexec(&re, arena_printf(c->a, "%.*s", SLICE_ARG(text->text)).ptr, 0, NULL, 0) == 0;
    regfree(&re);
    return boolean(c, found);
}

static const struct node *called(struct cel *c, const struct node *value, struct slice name)
{
    static const char *const macros[] = {[ALL] = "all", [EXISTS] = "exists", [EXISTS_ONE] = "exists_one"};
    for (size_t i = 0; i < COUNT_OF(macros); i++)
        if (slice_eq(name, slice_of(macros[i])))
            return apply_macro(c, value, (enum macro)i);
    return slice_eq(name, SLICE("matches")) ? matches(c, value) : unknown(c);
}

static const struct node *selected(struct cel *c)
{
    const struct node *value = primary(c);
    for (;;) {
        if (accept(c, "[")) {
            const struct node *key = expression(c);
            if (!accept(c, "]"))
                return unknown(c);
            value = key ? member(c, value, key->text) : NULL;
        } else if (accept(c, ".")) {
            struct slice name = word(c);
            value = accept(c, "(") ? called(c, value, name) : member(c, value, name);
        } else {
            return value;
        }
    }
}

/* ---- operators ---- */

static const struct node *unary(struct cel *c)
{
    skip_space(c);
    if (slice_starts(c->rest, SLICE("!=")) || !accept(c, "!"))
        return selected(c);
    const struct node *value = unary(c);
    return value ? boolean(c, is_false(value)) : NULL;
}

static bool holds(const struct node *container, const struct node *what)
{
    if (container->type == JSON_OBJECT)
        return present(container, what->text);
    for (const struct node *i = container->child; i; i = i->next)
        if (dom_equal(i, what))
            return true;
    return false;
}

static const struct node *sum(struct cel *c)
{
    const struct node *left = unary(c);
    while (accept(c, "+")) {
        const struct node *right = unary(c);
        int64_t x, y;
        if (left && right && (!slice_int(left->text, &x) || !slice_int(right->text, &y)))
            return unknown(c);
        left = left && right ? dom_new_int(c->a, x + y) : NULL;
    }
    return left;
}

static const struct node *relation(struct cel *c)
{
    static const char *const operators[] = {"==", "!=", "<=", ">=", "<", ">", "in"};
    const struct node *left = sum(c);
    size_t op = 0;
    while (op < COUNT_OF(operators) && !accept(c, operators[op]))
        op++;
    if (op == COUNT_OF(operators))
        return left;
    const struct node *right = sum(c);
    if (!left || !right)
        return NULL;
    if (op == 6)
        return boolean(c, holds(right, left));
    if (op < 2)
        return boolean(c, dom_equal(left, right) == (op == 0));
    int64_t x, y;
    if (!slice_int(left->text, &x) || !slice_int(right->text, &y))
        return unknown(c);
    const bool answers[] = {[2] = x <= y, [3] = x >= y, [4] = x<y, [5] = x> y};
    return boolean(c, answers[op]);
}

/* The one that decides, decides; an error matters only when neither does. */
static const struct node *both_sides(struct cel *c, const char *operator, const struct node * (*side)(struct cel *c), bool decisive)
{
    struct slice before = c->error;
    const struct node *left = side(c);
    while (accept(c, operator)) {
        const struct node *right = side(c);
        bool decided = decisive ? is_true(left) || is_true(right) : is_false(left) || is_false(right);
        if (decided)
            c->error = before;
        left = decided ? boolean(c, decisive) : !left || !right ? NULL : right;
    }
    return left;
}

static const struct node *conjunction(struct cel *c)
{
    return both_sides(c, "&&", relation, false);
}

/* An error of the side that is not taken does not matter. */
static const struct node *expression(struct cel *c)
{
    const struct node *decides = both_sides(c, "||", conjunction, true);
    if (!accept(c, "?"))
        return decides;
    struct slice before = c->error;
    const struct node *yes = expression(c);
    if (!accept(c, ":"))
        return unknown(c);
    struct slice between = c->error;
    c->error = before;
    const struct node *no = expression(c);
    if (is_true(decides))
        c->error = between;
    return !decides ? NULL : is_true(decides) ? yes : no;
}

bool cel_wants_old(struct slice rule)
{
    const struct slice name = SLICE("oldSelf");
    while (rule.len && !slice_starts(rule, name))
        rule = slice_skip(rule, 1);
    return rule.len > 0;
}

enum cel_result cel_decide(struct slice rule, const struct node *self, const struct node *old, struct arena *a, struct slice *why)
{
    struct cel c = {.rest = rule, .a = a, .vars = {{SLICE("self"), self}, {SLICE("oldSelf"), old}}, .var_count = 2};
    const struct node *answer = expression(&c);
    skip_space(&c);
    if (c.rest.len)
        answer = unknown(&c);
    *why = c.error.len ? c.error : SLICE("not a yes or no");
    return is_true(answer) ? CEL_TRUE : is_false(answer) ? CEL_FALSE : CEL_ERROR;
}
