/* Text that a shell will read. */
#ifndef MOBULA_RAY_SHELL_H
#define MOBULA_RAY_SHELL_H

#include <mobula/base.h>

/* One word to a shell (or nothing) that can run nothing: safe characters, $NAME, ${NAME}, \c, '…', "…" without command substitution. */
bool shell_is_word(struct slice text);
/* The text as a shell word: itself when it is one, else in single quotes. */
struct slice shell_word(struct slice text, struct arena *a);
/* The result of a shell for a word: the text without its quotes. False when it is no word or holds variables. */
bool shell_unquote(struct slice word, struct arena *a, struct slice *out);
/* Puts a command behind what is in b, to run next: on a line of its own, because a user's text may end in a comment, in & or ;, in a
 * backslash or in a here-document. */
void shell_append(struct buf *b, struct slice command);
/* Where these words stand for the last time outside of a comment, or -1. */
ptrdiff_t shell_find_last(struct slice text, const char *words);

#endif
