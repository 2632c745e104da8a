/* What the files of yaml share. */
#ifndef MOBULA_YAML_SCALAR_H
#define MOBULA_YAML_SCALAR_H

#include <mobula/yaml.h>

enum plain {
    PLAIN_STRING,
    PLAIN_NULL,
    PLAIN_TRUE,
    PLAIN_FALSE,
    PLAIN_NUMBER,
    PLAIN_FILE_MODE,
    /* 0NNN of octal digits: what every manifest writes for a defaultMode, and kubectl reads as octal */ /* the text is a JSON number */
    PLAIN_BOOL_GUESS,   /* yes, Off, TRUE: what one reader takes for a bool (or null) and another for a string */
    PLAIN_NUMBER_GUESS, /* 012, 1_000, 12:30, .5: the same with numbers */
};

/* What a scalar without quotes means. */
enum plain plain_kind(struct slice s);

/* Text that is JSON: true, and *out is its one document. Anything else: false, and nothing has happened. */
bool yaml_from_json(struct slice text, struct arena *a, struct yaml_docs *out);

#endif
