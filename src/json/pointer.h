/* RFC 6901, for json_pointer and the patches. */
#ifndef MOBULA_JSON_POINTER_H
#define MOBULA_JSON_POINTER_H

#include "token.h"

/* Takes "/token" off the front of *pointer, with its ~0 and ~1 decoded. False when there is none, or it is malformed. */
bool json_pointer_token(struct slice *pointer, struct arena *a, struct slice *token);
/* "0", "17": no sign, no leading zero. */
bool json_pointer_index(struct slice token, size_t *index);

#endif
