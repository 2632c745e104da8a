/* Output of the commands about objects of a control plane. */
#include "fleet.h"

#include <stdio.h>

void cli_fleet_note(struct slice text)
{
    fprintf(stderr, "%.*s", SLICE_ARG(text));
}

bool cli_fleet_print(struct desk *d, struct slice body, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf out = {.max = FLEET_OUTPUT_MAX};
    return fleet_write(d, body, &out, e) && cli_print(buf_slice(&out));
}

bool cli_fleet_print_rows(struct desk *d, const struct column columns[FLEET_COLUMNS], struct jval list, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf out = {.max = FLEET_OUTPUT_MAX};
    return fleet_write_rows(d, columns, list, &out, e) && cli_print(buf_slice(&out));
}

/* The one that is named, or all. */
bool cli_fleet_show(struct desk *d, struct err *e)
{
    struct ask_answer a;
    return fleet_get(d, d->o.name, &a, e) && cli_fleet_print(d, a.body, e);
}

bool cli_fleet_remove(struct desk *d, struct err *e)
{
    struct ask_answer a;
    if (!fleet_delete(d, &a, e))
        return false;
    fprintf(stderr, "%s %.*s is being deleted\n", d->noun->word, SLICE_ARG(d->o.name));
    return true;
}
