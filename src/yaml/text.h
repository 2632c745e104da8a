/* The text before the documents: encodings, and where one document ends and the next begins. */
#ifndef MOBULA_YAML_TEXT_H
#define MOBULA_YAML_TEXT_H

#include <mobula/yaml.h>

/* Takes the byte order mark off, and makes UTF-8 of UTF-16. */
bool text_decode(struct slice *text, struct arena *a, struct err *e);

/* The next part of the text that is read by itself: up to a line that begins with --- and has something else than comments and
 * directives before it. SLICE_NONE at the end. */
struct slice text_next(struct slice *rest);

/* A part that is JSON, behind its line of ---: true, and *out is its document. Else false, and nothing has happened. line is the part's
 * first. */
bool text_json(struct slice part, uint32_t line, struct arena *a, struct yaml_doc *out);

#endif
