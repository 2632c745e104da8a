/* What install prints, for tests of it. */
#ifndef TESTS_UNIT_RELEASE_INSTALL_H
#define TESTS_UNIT_RELEASE_INSTALL_H

#include "../test.h"

#include <mobula/release.h>

/* The output with the version taken out, so that a new version changes no file. */
static struct slice without_version(struct slice text, struct arena *a)
{
    struct buf out;
    buf_init(&out, MIB);
    struct slice version = SLICE(MOBULA_VERSION);
    while (!slice_empty(text)) {
        bool here = slice_starts(text, version);
        buf_put(&out, here ? SLICE("VERSION") : slice_head(text, 1));
        text = slice_skip(text, here ? version.len : 1);
    }
    struct slice copy = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return copy;
}

static struct slice written(const struct install_options *o, struct arena *a, struct err *e)
{
    struct buf out;
    buf_init(&out, MIB);
    struct slice text = SLICE_NONE;
    if (install_write(o, &out, e))
        text = without_version(buf_slice(&out), a);
    buf_free(&out);
    return text;
}

#endif
