/* Look-ups in the tables of kinds and of their verbs. */
#include <mobula/control.h>

/* NULL: there are no more. */
static const struct verb_handler *handler_at(const struct op *op, uint32_t number)
{
    for (const struct verb_handler *h = op->parts->handlers; h->verb; h++)
        if (number-- == 0)
            return h;
    for (const struct kind *const *k = op->parts->kinds; *k; k++)
        for (const struct verb_handler *h = (*k)->handlers; h && h->verb; h++)
            if (number-- == 0)
                return h;
    return NULL;
}

const struct verb *verb_at(const struct op *op, uint32_t number)
{
    const struct verb_handler *h = handler_at(op, number);
    return h ? h->verb : NULL;
}

uint32_t verb_number(const struct op *op, const struct verb *v)
{
    uint32_t n = 0;
    for (const struct verb *one; (one = verb_at(op, n)) && one != v;)
        n++;
    return n;
}

uint32_t verb_count(const struct op *op)
{
    return verb_number(op, NULL) + 1;
}

const struct verb_handler *verb_handler(const struct op *op, const struct verb *v)
{
    const struct verb_handler *h = handler_at(op, verb_number(op, v));
    if (!h)
        fatal("control: no kind has a handler of verb %s", v->name);
    return h;
}

const char *verb_refusal(const struct verb *v, int32_t group)
{
    return group < 0 && v->refusal[1] ? v->refusal[1] : v->refusal[0];
}

bool verb_secret(const struct op *op, const struct verb *v, int32_t index)
{
    const struct verb_handler *h = verb_handler(op, v);
    return h->more && h->more->secret && h->more->secret(index);
}

uint32_t kind_count(const struct op *op)
{
    uint32_t count = 0;
    while (op->parts->kinds[count])
        count++;
    return count;
}

void **kind_own(const struct op *op, const struct kind *k)
{
    uint32_t i = 0;
    while (op->parts->kinds[i] != k)
        i++;
    return &((struct op *)(uintptr_t)op)->own[i];
}

const struct kind *own_kind(const struct op *op, const struct own_type *type)
{
    const struct kind *const *k = op->parts->kinds;
    while (!(*k)->controller || (*k)->controller->own != type)
        k++;
    return *k;
}
