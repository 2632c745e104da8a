/* Shared by calls.c and kind.c. */
#ifndef MOBULA_VERSIONED_RECORD_H
#define MOBULA_VERSIONED_RECORD_H

#include "versioned.h"

#include <mobula/kind_child.h>
#include <mobula/kind_rayservice.h>
#include <mobula/kind_versioned.h>
#include <mobula/setting_patches.h>

int64_t versioned_decide_record(struct op *op, struct record *c, struct plan *p);
verb_make versioned_make_version, versioned_make_delete;
verb_answer versioned_answer;

#endif
