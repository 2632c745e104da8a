/* The state of a job at the control plane, and whether a command goes on while the control plane is away. */
#include "cli.h"
#include "fleet.h"

#include <stdio.h>

bool job_ended(struct slice state)
{
    static const char *const words[] = {"SUCCEEDED", "FAILED", "TERMINATED", "REFUSED"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (slice_eq(state, slice_of(words[i])))
            return true;
    return false;
}

bool job_read(struct desk *d, struct json *doc, struct slice *state, struct err *e)
{
    struct ask_answer a;
    if (!fleet_get(d, d->o.name, &a, e) || !json_parse(doc, a.body, &d->a, e))
        return false;
    *state = json_get_str(json_root(doc), FLEET_STATE, &d->a);
    if (slice_empty(*state))
        *state = SLICE("PENDING");
    return true;
}

bool job_is_over(struct desk *d, bool *over, struct slice *message, struct err *e)
{
    struct json doc;
    struct slice state;
    if (!job_read(d, &doc, &state, e))
        return false;
    *over = job_ended(state);
    *message = json_get_str(json_root(&doc), "status.message", &d->a);
    return true;
}

bool job_outlasts(struct desk *d, bool answered, bool *away, struct err *e)
{
    if (!answered || e->code == ERR_STATUS || e->code == ERR_NONE || d->ask.signal)
        return false;
    if (!*away)
        fprintf(stderr, "mobula: %s\nmobula: the %s goes on, and is asked about until there is an answer\n", e->text, d->noun->word);
    *e = (struct err){0};
    *away = true;
    return true;
}
