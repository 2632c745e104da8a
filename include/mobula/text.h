/* text: settings that are one YAML document, in a file or in a ConfigMap: they are read as resources are, and their errors have lines. In
 * room spec. */
#ifndef MOBULA_TEXT_H
#define MOBULA_TEXT_H

#include <mobula/spec.h>
#include <mobula/yaml.h>

/* Opens the text; what: "types", of which there may be one document. False: it cannot be read, and *errors, which was empty, says why. A
 * text that holds nothing is true with *root absent. */
bool spec_text_open(struct slice text, const char *what, struct arena *a, struct yaml_doc *doc, struct jval *root,
                    struct spec_errors *errors);
/* Gives each error that was found in the opened document its line. Returns whether there is none. */
bool spec_text_lines(const struct yaml_doc *doc, struct spec_errors *errors);

#endif
