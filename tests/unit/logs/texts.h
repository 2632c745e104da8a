/* A sink that keeps the text of a log. */
#include "../test.h"

#include <mobula/logs.h>

struct texts {
    char text[1024];
    size_t len;
    unsigned calls;
    bool fails; /* it takes nothing */
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

static inline struct logs_sink texts_sink(struct texts *t)
{
    return (struct logs_sink){.owner = t, .text = texts_take};
}

static inline struct slice texts_of(const struct texts *t)
{
    return (struct slice){t->text, t->len};
}
