/* What readers of settings share: the text of a ConfigMap or file is one YAML document, and its errors have lines. In room shape. */
#ifndef MOBULA_TEXT_H
#define MOBULA_TEXT_H

#include <mobula/shape.h>
#include <mobula/yaml.h>

/* Opens the text; what: "types", of which there may be one document. False: it cannot be read, and *errors says why. A text that holds
 * nothing is true with *root absent. */
bool shape_text_open(struct slice text, const char *what, struct arena *a, struct yaml_doc *doc, struct jval *root,
                     struct shape_errors *errors);
/* What was found in the opened document, with lines. Returns whether that is nothing. */
bool shape_text_errors(const struct yaml_doc *doc, const struct spec_errors *found, struct shape_errors *errors);

#endif
