/* The output of `mobula validate` for a text, as a function of it. */
#ifndef MOBULA_CLI_VALIDATE_H
#define MOBULA_CLI_VALIDATE_H

#include <mobula/ray.h>
#include <mobula/yaml.h>

struct validated {
    uint32_t checked, skipped; /* documents */
    uint32_t errors, warnings;
};

/* Checks every document of a YAML or JSON text; lines go to out, counts are added to *sum. file is the name in front of each line. */
void validate_text(const char *file, struct slice text, struct arena *a, struct validated *sum, struct buf *out);

#endif
