/* A sink that keeps the text of logs, and the rows and notes beside it as lines. */
#ifndef MOBULA_TEST_LOGS_TEXTS_H
#define MOBULA_TEST_LOGS_TEXTS_H

#include "../test.h"

#include <mobula/logs.h>

struct texts {
    char text[2048], lines[2048];
    size_t len, lines_len;
    unsigned calls;
    bool fails; /* it takes no text */
};

static inline bool texts_take(void *owner, struct slice text)
{
    struct texts *t = owner;
    t->calls++;
    if (t->fails || t->len + text.len > sizeof t->text)
        return false;
    if (text.len)
        memcpy(t->text + t->len, text.ptr, text.len);
    t->len += text.len;
    return true;
}

static inline void texts_take_line(void *owner, struct slice line)
{
    struct texts *t = owner;
    t->lines_len += (size_t)snprintf(t->lines + t->lines_len, sizeof t->lines - t->lines_len, "%.*s\n", SLICE_ARG(line));
}

static inline struct logs_sink texts_sink(struct texts *t)
{
    return (struct logs_sink){.owner = t, .text = texts_take, .row = texts_take_line, .note = texts_take_line};
}

static inline struct slice texts_of(const struct texts *t)
{
    return (struct slice){t->text, t->len};
}

#endif
