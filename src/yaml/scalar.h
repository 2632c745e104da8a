/* The meaning of a scalar: the rules of sigs.k8s.io/yaml, which kubectl and client-go read with (YAML 1.1, as Go's yaml.v2 has it). */
#ifndef MOBULA_YAML_SCALAR_H
#define MOBULA_YAML_SCALAR_H

#include <mobula/yaml.h>

enum scalar_type {
    SCALAR_STRING,
    SCALAR_NULL,
    SCALAR_BOOL,
    SCALAR_INT,
    SCALAR_FLOAT,
    SCALAR_NO_JSON, /* .inf and .nan */
};

struct scalar {
    enum scalar_type type;
    struct slice text; /* of a string: its bytes; else JSON, in the shortest form of the number; of SCALAR_NO_JSON: .inf, -.inf or .nan */
};

/* A scalar without quotes and without a tag. The text of the result is a literal, s itself, or in a. */
struct scalar scalar_plain(struct slice s, struct arena *a);
/* A scalar with a tag in its long form ("tag:yaml.org,2002:int"), with or without quotes: its value when the tag takes the text, else
 * false. Tags that are not of YAML itself make strings. */
bool scalar_tagged(struct slice tag, struct slice s, struct arena *a, struct scalar *out);
/* The key that it makes in JSON: 007 is "7", yes is "true". False when it makes none. */
bool scalar_key(struct scalar s, struct arena *a, struct slice *out);

#endif
