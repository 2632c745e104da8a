/* `mobula service deploy` without a control plane: a VersionedService with a new version or other weights. */
#include "service.h"

bool service_deploy(struct service_desk *d, struct err *e)
{
    struct service_change p = {.d = d, .given = NO_VALUE};
    const struct service_options *o = &d->o;
    if (o->image.len || o->config.len || o->dir.len || o->bucket.len || o->requirements.len || o->excludes.count)
        return err_set(e, ERR_CONFIG,
                       "--image-uri, --compute-config, --working-dir, --bucket, --exclude and --requirements are for a control plane "
                       "(--server, --cloud or mobula login): without one the file is a RayService, whose serveConfigV2 names the code");
    if (!service_read(&p, e))
        return false;
    if (slice_empty(d->o.name))
        return err_set(e, ERR_CONFIG, "the name of a service is needed");
    if (!service_write(&p, e))
        return false;
    return d->o.wait ? service_wait_rollout(d, e)
                     : cli_print(arena_printf(d->seek.a, "deployed; see: mobula service status %.*s\n", SLICE_ARG(d->o.name)));
}
