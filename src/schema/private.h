/* Checking values against descriptions of their types: the definitions of our kinds (schema.c), and what the Kubernetes API takes inside
 * pod templates (fields.c, with the rules between fields in rules.c). */
#ifndef MOBULA_SCHEMA_PRIVATE_H
#define MOBULA_SCHEMA_PRIVATE_H

#include <mobula/schema.h>

#define EMBED_POD_FIELDS "src/schema/pod_fields.txt"

/* Read once for all documents of a text. */
struct schemas {
    struct slice files; /* embed_all */
    struct {
        const char *plural; /* struct kind.plural */
        struct jval root;
    } kinds[LIMIT_KINDS];
    const struct field_types *types; /* of fields.c */
};
struct schemas *schemas_of(struct findings *f);

/* Where a value stands, as a chain up to the root: the path is written only for findings that are reported. One points at the spot above it
 * and must not outlive it. */
struct spot {
    struct findings *out;
    const struct spot *up; /* NULL: the root */
    struct slice key;      /* .ptr NULL: item `index` of a list */
    size_t index;
};
struct spot spot_member(const struct spot *at, struct slice name);
struct spot spot_item(const struct spot *at, size_t i);
void spot_bad(const struct spot *at, bool warning, struct jval v, const char *fmt, ...) PRINTF_LIKE(4, 5);
const char *json_type_name(struct jval v); /* "a number" */

/* A null is how Kubernetes' own tools write "nothing". */
static inline bool is_given(struct jval v)
{
    return json_there(v) && json_type(v) != JSON_NULL;
}

/* Lists and maps of more are not looked through for what belongs together, as each item would be compared with all others. */
enum { PAIRS_MAX = 256 };

/* Checks v against a type of pod_fields.txt: "Template", "Meta". */
void fields_check(const struct spot *at, const char *type, struct jval v);
/* Warns of what is likely to be a slip in rayStartParams: no known flag, and near to one. Ray's next release may have others. */
void fields_flags(const struct spot *at, struct jval v);
/* The rules between the fields of one object, once each field alone was looked at. */
void rules_check(const struct spot *at, struct slice type, struct jval object);

#endif
