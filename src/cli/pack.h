/* A folder of the user's own machine as a zip file that Ray unpacks: the same bytes for the same files, names in order and no times. */
#ifndef MOBULA_CLI_PACK_H
#define MOBULA_CLI_PACK_H

#include <mobula/command.h>

/* ---- files that are left out: ignore.c ---- */

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

/* ---- the zip file: pack.c ---- */

struct pack_size {
    struct slice name;
    uint64_t size;
};
struct pack_result {
    struct slice name;           /* of the folder, without its path */
    uint32_t files, skipped;     /* skipped: links, special files and names that are not UTF-8; the first of them are printed */
    struct pack_size largest[3]; /* of the folder's own entries, the largest first; size 0: there are fewer */
    uint64_t size;               /* of all files */
    bool over;                   /* they do not fit: from here on files are only counted */
    uint64_t spilled;            /* bytes of the zip file that were moved from the buffer to the temporary file */
};
/* excludes: items as in a .gitignore of the folder itself, which count for more than any file's. Everything stands under one folder at the
 * top, which Ray takes away. Paths lie in a. When zip is full, further files are not read (out->over); more than LIMIT_PACK_FILES are an
 * error. spill: file descriptor of a temporary file to which the whole zip file is moved as it grows, up to `most` bytes; -1: none, it
 * stays in zip. */
bool pack_folder(struct slice folder, const struct flag_texts *excludes, struct arena *a, struct buf *zip, int spill, uint64_t most,
                 struct pack_result *out, struct err *e);

#endif
