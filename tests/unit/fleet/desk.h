/* Desks without a control plane: what they tell is kept, and JSON is written with single quotes. */
#ifndef MOBULA_TEST_DESK_H
#define MOBULA_TEST_DESK_H

#include "tests/unit/test.h"

#include <mobula/fleet.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

static struct slice quoted(const char *text, struct arena *a)
{
    char *copy = (char *)(uintptr_t)arena_dup(a, slice_of(text)).ptr;
    for (char *at = copy; (at = strchr(at, '\'')) != NULL;)
        *at = '"';
    return slice_of(copy);
}

static struct jval parsed(const char *text, struct arena *a)
{
    struct jval doc = NO_VALUE;
    CHECK(json_read(&doc, quoted(text, a), a, NULL));
    return doc;
}

static struct buf desk_told = {.max = MIB};

static void desk_tell(struct slice text)
{
    CHECK(buf_put(&desk_told, text));
}

#pragma GCC diagnostic pop

#endif
