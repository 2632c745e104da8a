/* The verbs that every kind has, and look-ups in the lists of verbs. */
#include <mobula/control.h>

const struct verb verb_status = {
    .name = "status", .how = VERB_PATCH, .make = make_status, .answer = answer_status, .failed = status_failed};
const struct verb verb_event = {.name = "event", .how = VERB_SAY, .carry_out = say_planned};

static const struct verb *const everyones[] = {&verb_status, &verb_event};
enum { EVERYONES = COUNT_OF(everyones) };

const struct verb *verb_at(uint32_t number)
{
    if (number < EVERYONES)
        return everyones[number];
    number -= EVERYONES;
    for (uint32_t i = 0; kinds[i]; i++)
        for (const struct verb *const *v = kinds[i]->verbs; v && *v; v++)
            if (number-- == 0)
                return *v;
    return NULL;
}

uint32_t verb_number(const struct verb *v)
{
    uint32_t n = 0;
    for (const struct verb *one; (one = verb_at(n)) && one != v;)
        n++;
    return n;
}

uint32_t verb_count(void)
{
    return verb_number(NULL) + 1;
}

const char *verb_name(const struct verb *v)
{
    return v->name;
}

enum verb_how verb_how(const struct verb *v)
{
    return v->how;
}

const char *verb_refusal(const struct verb *v, int32_t group)
{
    return group < 0 && v->refusal[1] ? v->refusal[1] : v->refusal[0];
}

bool verb_secret(const struct verb *v, int32_t index)
{
    return v->secret && v->secret(index);
}
