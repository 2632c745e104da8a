/* yaml: manifests and kubeconfigs become JSON, and nobody after this room knows that they were not. Only this room knows libyaml, and of
 * it only the event interface.
 *
 * Files mean what they mean to kubectl, which reads them with sigs.k8s.io/yaml: YAML 1.1 without base 60. Plain yes, on, y and their
 * opposites are bools, 0644 and 0o644 are 420, 1_000 is 1000; a key that is no string becomes one. Anchors, aliases, merge keys and tags
 * are followed, aliases within LIMIT_YAML_ALIASED. What is refused although kubectl takes it: a key that stands twice in one object
 * (kubectl drops the first without a word). What is taken although kubectl does not: %YAML directives, UTF-16 of several documents.
 * JSON is YAML, so this reads JSON too. */
#ifndef MOBULA_YAML_H
#define MOBULA_YAML_H

#include <mobula/base.h>

/* Where a value of the JSON text stood in the YAML text. */
struct yaml_mark {
    uint32_t offset; /* of the value's first byte in the JSON text */
    uint32_t line;   /* 1-based, in the whole YAML input */
};

struct yaml_doc {
    struct slice json;             /* begins with its value's first byte */
    const struct yaml_mark *marks; /* ascending by offset */
    uint32_t mark_count;
    uint32_t line;           /* where the document begins; of one that cannot be read, where the error is */
    const struct err *error; /* why it cannot be read, from the column on; then json is empty. NULL when it was read */
};

struct yaml_docs {
    struct yaml_doc *docs; /* documents that hold nothing (comments only) are left out */
    uint32_t count;
};

/* All documents of a text, or the first error, which names line and column. Everything is in a. */
bool yaml_parse(struct slice text, struct arena *a, struct yaml_docs *out, struct err *e);
/* Each document by itself: an error in one is in that one, and the others are read. False where nothing is: the text is too long, has too
 * many documents, or its encoding is broken. */
bool yaml_parse_each(struct slice text, struct arena *a, struct yaml_docs *out, struct err *e);
/* As yaml_parse, but y and n are text, and so is every key, as in Ray's own reader: env_vars may have one of the name N. */
bool yaml_parse_runtime_env(struct slice text, struct arena *a, struct yaml_docs *out, struct err *e);
/* The line of the value at this offset of doc->json, or of the nearest one before it. */
uint32_t yaml_line(const struct yaml_doc *doc, size_t offset);
/* JSON as block-style YAML, as kubectl prints it: two blanks of indent, strings quoted only when they must be. Appends to out, ending in
 * a newline. Written without libyaml: its emitter costs 22 KB. */
bool yaml_write(struct slice json, struct buf *out, struct err *e);

#endif
