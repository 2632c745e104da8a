#include <mobula/base.h>

const struct istr *intern_get(struct intern *t, struct slice s)
{
    struct istr *known = map_get(&t->map, s);
    if (known) {
        known->refs++;
        return known;
    }
    if (s.len > UINT32_MAX - 1)
        fatal("a string of %zu bytes was to be interned", s.len);
    struct istr *fresh = mem_alloc(sizeof *fresh + s.len + 1);
    fresh->refs = 1;
    fresh->len = (uint32_t)s.len;
    if (s.len)
        memcpy(fresh->text, s.ptr, s.len);
    map_put(&t->map, istr_slice(fresh), fresh);
    return fresh;
}

/* Users see interned strings as constant; the count is the table's own. */
static struct istr *counted(const struct istr *s)
{
    return (struct istr *)(uintptr_t)s;
}

const struct istr *intern_keep(const struct istr *s)
{
    if (s)
        counted(s)->refs++;
    return s;
}

void intern_drop(struct intern *t, const struct istr *s)
{
    if (!s || --counted(s)->refs > 0)
        return;
    map_del(&t->map, istr_slice(s));
    mem_free(counted(s));
}

void intern_free(struct intern *t)
{
    struct istr *s;
    for (uint32_t i = 0; (s = map_next(&t->map, &i)) != NULL;)
        mem_free(s);
    map_free(&t->map);
}
