/* Shared by calls.c and kind.c. */
#ifndef MOBULA_VERSIONED_RECORD_H
#define MOBULA_VERSIONED_RECORD_H

#include "versioned.h"

#include <mobula/kind_child.h>
#include <mobula/kind_rayservice.h>
#include <mobula/kind_versioned.h>
#include <mobula/settings.h>

int64_t versioned_decide_record(struct op *op, struct record *c, struct plan *p);
verb_make versioned_make_version, versioned_make_delete;
verb_answer versioned_answer;

/* token.c */
const struct versioned_token_view *versioned_token_look(struct op *op, struct record *c);
verb_make versioned_make_token;
verb_answer versioned_answer_token;
bool versioned_token_secret(int32_t index);
void versioned_token_forget(struct op *op, struct record *c); /* the service is gone */

#endif
