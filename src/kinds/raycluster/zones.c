/* In which of its zones a cluster is: its pods tell; before there are any, the first, and then those that were not left. */
#include "record.h"

#include <mobula/shape.h>
#include <mobula/status.h>

/* Restores from the condition that every zone was tried for this generation, so that the next leader does not begin again. */
static void restore_stay(struct op *op, struct record *c)
{
    struct jval was = status_condition(record_status(c, &op->models.loaded->arena), slice_of(STATUS_ZONES));
    bool stays = c->children.pod_count && json_is(json_get(was, "status"), "True");
    raycluster_of(c)->zone_stays_at = stays ? json_get_int(was, "observedGeneration", 0) : 0;
    raycluster_of(c)->zones_left = 0;
}

void zones_apply(struct op *op, struct record *c)
{
    if (slice_find_text(istr_slice(c->seen.spec), SHAPE_ZONE) < 0)
        return;
    struct raycluster *own = raycluster_of(c);
    if (!own->zone) {
        own->zone_settled = c->children.pod_count && status_says_provisioned(c, &op->models.loaded->arena);
        own->zone_from_ms = op->now.mono_ms;
        restore_stay(op, c);
        for (const struct pod_record *r = c->children.pods; r; r = r->next)
            if (!r->pod.deleting && r->pod.zone && (!own->zone || r->pod.head))
                own->zone = r->pod.zone;
    }
    shape_zones(cluster_model(op), own->zone, &op->models.loaded->arena);
    own->zone = pod_zone_hash(cluster_model(op)->zone.made_for);
}

void zones_reread(struct op *op, struct record *c)
{
    raycluster_of(c)->zone = 0;
    model_forget(op, c);
}

/* Suspended, for one: it starts again. The last of its pods may go with nothing else that would have its spec read again. */
void zones_follow(struct op *op, struct record *c)
{
    if (!raycluster_of(c)->zone_settled || c->children.pod_count)
        return;
    zones_reread(op, c);
    model_load(op, c);
}

void keep_zone(struct op *op, struct record *c, const struct action *act)
{
    (void)op;
    (void)act;
    raycluster_of(c)->zone_settled = true;
    raycluster_of(c)->zone_stays_at = 0;
    raycluster_of(c)->zones_left = 0;
}

void stay_in_zone(struct op *op, struct record *c, const struct action *act)
{
    log_warn("no zone has room for a cluster: its pods stay where they run", LF("namespace", istr_slice(c->ns)),
             LF_CSTR("cluster", c->name), LF("zone", cluster_model(op)->zone.made_for), LF("zones", cluster_model(op)->zone.allowed),
             LF("why", act->text));
    raycluster_of(c)->zone_stays_at = cluster_model(op)->generation;
}

void leave_zone(struct op *op, struct record *c, const struct action *act)
{
    struct raycluster *own = raycluster_of(c);
    log_warn("a cluster leaves its zone: its pods are made in the next one", LF("namespace", istr_slice(c->ns)),
             LF_CSTR("cluster", c->name), LF("zone", cluster_model(op)->zone.made_for), LF("next", act->name), LF("why", act->text));
    say_event(op, c, true, "ZoneNotAvailable", act->text);
    own->zone = pod_zone_hash(act->name);
    own->zone_settled = false;
    own->zone_stays_at = 0;
    own->zones_left += own->zones_left < UINT32_MAX;
    own->zone_from_ms = op->now.mono_ms;
    model_forget(op, c);
}
