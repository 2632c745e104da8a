/* Files that a packed folder leaves out (ignore.c). */
#ifndef MOBULA_ARTIFACT_PRIVATE_H
#define MOBULA_ARTIFACT_PRIVATE_H

#include <mobula/artifact.h>

/* A line of .gitignore. docs/control-plane.md says what it may be. */
struct ignore_rule {
    struct slice pattern;
    struct slice base; /* the folder of its file, as "src/"; empty: the packed one */
    bool keeps;        /* it begins with ! */
    bool anchored;     /* it has a / in it: the whole path is meant, else any name */
    bool folders;      /* it ends with / */
};

struct ignore {
    struct ignore_rule *list; /* the last one that matches decides */
    uint32_t count, room;
};
/* Each line of the text. base and text stay the caller's. False: too many. */
bool ignore_add(struct ignore *g, struct slice base, struct slice text, struct err *e);
enum ignored { IGNORE_SAYS_NOTHING, IGNORE_KEEPS, IGNORE_LEAVES_OUT };
/* path: relative to the packed folder, as "src/main.py". Its folders are asked about before. */
enum ignored ignore_look(const struct ignore *g, struct slice path, bool folder);
void ignore_free(struct ignore *g);

#endif
