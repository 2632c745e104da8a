/* mobula compute-config: compute configs of a control plane. */
#include "compute.h"
#include "fleet.h"

#include <stdio.h>

/* Creates the next version of the name. */
bool cli_config_create(struct desk *d, struct err *e)
{
    struct slice spec, text, object;
    struct ask_answer a;
    struct jval doc;
    if (!fleet_file(d, &text, &spec, e) || !compute_is_sound(d->o.file, text, &d->a, e) || !json_read(&doc, spec, &d->a, e))
        return false;
    if (!fleet_config_next(d, d->o.name, &object, e))
        return false;
    fleet_config_warn_spec(d, doc, json_get_str(doc, "cloud", &d->a));
    return fleet_create(d, object, spec, &a, e) && cli_fleet_print(d, a.body, e);
}

bool cli_config_get(struct desk *d, struct err *e)
{
    d->o.name = fleet_config_object(d, d->o.name);
    return cli_fleet_show(d, e);
}

bool cli_config_archive(struct desk *d, struct err *e)
{
    struct ask_answer a;
    d->o.name = fleet_config_object(d, d->o.name);
    if (!fleet_delete(d, &a, e))
        return false;
    struct slice shown = fleet_config_shown(d->o.name, &d->a);
    fprintf(stderr, "compute-config %.*s is archived\n", SLICE_ARG(shown));
    return true;
}
