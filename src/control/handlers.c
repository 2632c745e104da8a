/* Handlers of the verbs that any kind may plan. */
#include <mobula/control.h>

const struct verb_handler control_handlers[] = {
    {.verb = &verb_status, .make = make_status, .answer = answer_status, .failed = status_failed},
    {.verb = &verb_adopt, .make = orphan_make, .answer = orphan_answer, .failed = call_failed},
    {.verb = &verb_event, .carry_out = say_planned},
    {0},
};
