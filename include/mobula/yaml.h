/* yaml: manifests and kubeconfigs become JSON, and nobody after this room knows that they were not. Only this room knows libyaml, and of
 * it only the event interface.
 *
 * What YAML 1.1 makes a guess of is refused with its line instead: plain yes/no/on/off/y/n and other spellings of true and false,
 * integers like 012 or 1_000 or 12:30, anchors, aliases, merge keys (<<), tags, keys that are not strings, keys that appear twice.
 * One guess is taken, because manifests are full of it: 0 and three octal digits are a file mode, 0644 is 420, as kubectl reads it.
 * Plain scalars are null (~, null, empty), true, false, a JSON number, or else a string. JSON is YAML, so this reads JSON too. */
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
    uint32_t line; /* where the document begins */
};

struct yaml_docs {
    struct yaml_doc *docs; /* documents that hold nothing (comments only) are left out */
    uint32_t count;
};

/* Everything is in a. The error names line and column. */
bool yaml_parse(struct slice text, struct arena *a, struct yaml_docs *out, struct err *e);
/* The line of the value at this offset of doc->json, or of the nearest one before it. */
uint32_t yaml_line(const struct yaml_doc *doc, size_t offset);
/* JSON as block-style YAML, as kubectl prints it: two blanks of indent, strings quoted only when they must be. Appends to out, ending in
 * a newline. Written without libyaml: its emitter costs 22 KB. */
bool yaml_write(struct slice json, struct buf *out, struct err *e);

#endif
