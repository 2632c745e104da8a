/* Errors and oddities of a manifest: gathered from several sources, said once, in the order of lines. */
#ifndef MOBULA_CLI_FINDINGS_H
#define MOBULA_CLI_FINDINGS_H

#include <mobula/json.h>
#include <mobula/ray.h>
#include <mobula/yaml.h>

enum { FINDINGS_MAX = 256 }; /* of one document; more are counted */

struct finding {
    bool warning;
    uint32_t source;   /* which of several told of it */
    struct slice path; /* "spec.workerGroupSpecs[1].minReplicas" */
    struct slice text; /* "is 5, above maxReplicas 3: lower it or raise maxReplicas" */
    size_t offset;     /* of the value in the document's JSON text */
    uint32_t below;    /* lines below it, where the value is a text of many lines and the place is in it */
};

struct findings {
    struct arena *arena;
    struct schemas *schemas; /* the values to compare with, once asked for */
    struct slice prefix;     /* "items[2].", in front of the paths of what is added now */
    struct finding list[FINDINGS_MAX];
    uint32_t count, beyond;
    uint32_t source;           /* of what is added now */
    uint32_t errors, warnings; /* in all, those beyond too */
};

/* The same thing may be found by several sources: what the first says about a path stands, all of it, and others are passed over. path and
 * text lie in the arena or longer. */
void findings_add(struct findings *f, bool warning, struct slice path, size_t offset, struct slice text);
/* The same for a place in a text of many lines. */
void findings_add_below(struct findings *f, struct slice path, size_t offset, uint32_t below, struct slice text);
/* Whether no more is kept: then one more is counted, and need not be put into words. */
bool findings_full(struct findings *f, bool warning);
/* The findings of ray_read or ray_notes. */
void findings_add_spec(struct findings *f, bool warning, const struct spec_errors *errors);
/* "file:line: path: text" for each, "file:line: warning: path: text" for warnings. */
void findings_write(struct findings *f, const char *file, const struct yaml_doc *doc, struct buf *out);

/* "file:line: text" for what kept a file or document from being read. line 0: the error's text begins with "line N, column N: ". */
void findings_error(const char *file, uint32_t line, const struct err *e, struct buf *out);

/* Ends the line that begins at `from`: what somebody else wrote in it can neither steer a terminal nor make a line of its own. */
void findings_end_line(struct buf *out, size_t from);

/* Forgets what was found, and keeps the memory and the schemas. */
void findings_clear(struct findings *f);

/* Compares an object with the schema of its kind's definition (struct kind.plural), as the API server would: types, enums, limits, what is
 * required; and fields that the API server would silently drop. Rules in CEL are not looked at: the readers say the same. */
void schema_check(const char *plural, struct jval object, struct findings *f);

#endif
