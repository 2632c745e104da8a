/* A JSON document that can be changed: what the model server edits between reading bytes and storing bytes. Every node lives in the
 * arena it was made in. Members keep their order. A NULL node is "not there", and every reader takes it. */
#ifndef APISERVER_DOM_H
#define APISERVER_DOM_H

#include <mobula/json.h>

struct node {
    enum json_type type;
    struct slice key;  /* the member's name, when the parent is an object */
    struct slice text; /* string: unescaped; number and bool: as written */
    struct node *child, *last, *next;
};

/* ---- bytes to tree and back ---- */

struct node *dom_parse(struct slice json, struct arena *a, struct err *e); /* NULL with *e */
struct node *dom_reread(struct slice json, struct arena *a);               /* what dom_print wrote, and nothing else; texts stay in it */
struct node *dom_copy(const struct node *n, struct arena *a);
void dom_write(const struct node *n, struct jout *w);
bool dom_print(const struct node *n, struct buf *out);
struct slice dom_text(const struct node *n, struct arena *a);

/* ---- reading; paths are dotted plain names ---- */

struct node *dom_key(const struct node *object, struct slice key);
struct node *dom_get(const struct node *n, const char *path);
struct node *dom_at(const struct node *array, size_t index);
struct slice dom_str(const struct node *n, const char *path); /* a string's or number's text, else SLICE_NONE */
int64_t dom_int(const struct node *n, const char *path, int64_t otherwise);
bool dom_true(const struct node *n, const char *path);
size_t dom_len(const struct node *n);
bool dom_equal(const struct node *a, const struct node *b); /* members in any order; two NULLs are equal */
static inline bool dom_is(const struct node *n, enum json_type type)
{
    return n && n->type == type;
}
/* The text of a string node itself. */
static inline struct slice dom_string(const struct node *n)
{
    return dom_is(n, JSON_STRING) ? n->text : SLICE_NONE;
}

/* ---- building ---- */

struct node *dom_new(struct arena *a, enum json_type type);
struct node *dom_new_str(struct arena *a, struct slice text); /* not copied */
struct node *dom_new_int(struct arena *a, int64_t n);
struct node *dom_new_bool(struct arena *a, bool b);
/* From text written in C, such as "{\"type\":\"RollingUpdate\"}"; malformed text is fatal. */
struct node *dom_literal(struct arena *a, const char *json);

/* Sets a member, in place of one of the same name or at the end. The value is taken over, not copied. */
struct node *dom_put(struct node *object, struct slice key, struct node *value);
void dom_put_str(struct arena *a, struct node *object, const char *key, struct slice text);
void dom_put_int(struct arena *a, struct node *object, const char *key, int64_t n);
void dom_put_bool(struct arena *a, struct node *object, const char *key, bool b);
/* The member, made when it is not there. */
struct node *dom_want(struct arena *a, struct node *object, const char *key, enum json_type type);
/* The same for defaults: sets the member only when it is not there. */
void dom_default_str(struct arena *a, struct node *object, const char *key, const char *text);
void dom_default_int(struct arena *a, struct node *object, const char *key, int64_t n);
void dom_default_bool(struct arena *a, struct node *object, const char *key, bool b);
struct node *dom_push(struct node *array, struct node *value);
void dom_drop(struct node *object, const char *key);
void dom_unlink(struct node *parent, const struct node *child);
/* Null members are taken out, at every depth: for typed objects null is "not said". */
void dom_drop_nulls(struct node *n);
/* Numbers as Go prints them: 1.0 is 1. */
void dom_canonical_numbers(struct node *n, struct arena *a);

#endif
