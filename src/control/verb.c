/* The verbs that every kind has, and look-ups in the table of verbs. */
#include <mobula/control.h>

const struct verb verb_status = {
    .name = "status", .how = VERB_PATCH, .make = make_status, .answer = answer_status, .failed = status_failed};
const struct verb verb_event = {.name = "event", .how = VERB_SAY, .carry_out = say_planned};

uint32_t verb_number(const struct verb *v)
{
    uint32_t n = 0;
    while (verbs[n] && verbs[n] != v)
        n++;
    return n;
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
