/* Failures of groups: what whoever led before wrote into status, and those of groups that are no more. */
#include "record.h"

#include <mobula/kind_route.h>

void failures_prune(struct op *op, struct record *c)
{
    for (struct failing *f = c->children.failing, *next; f; f = next) {
        next = f->next;
        bool known = f->group == NULL || route_group(istr_slice(f->group));
        for (uint32_t i = 0; i < cluster_model(op)->group_count && !known; i++)
            known = slice_eq(istr_slice(f->group), cluster_model(op)->groups[i].name);
        if (!known)
            failures_forget(op, c, istr_slice(f->group), false);
    }
}

void failures_over(struct op *op, struct record *c, struct slice group, bool head)
{
    struct group_failures *f = failures_of(op, c, group, head, false);
    if (f && (f->spot_from_ms > op->now.mono_ms || f->refused))
        f->count = f->ends = f->made = 0; /* that has a time of its own */
    else
        failures_forget(op, c, group, head);
}

void leave_spot(struct op *op, struct record *c, const struct action *act)
{
    int64_t set = op->o.ray.spot_retry_ms, ms = set ? set : RAYCLUSTER_SPOT_RETRY_MS;
    struct slice name = group_name(op, act->group);
    failures_of(op, c, name, false, true)->spot_from_ms = op->now.mono_ms + ms;
    log_info("a group leaves spot: its pods are created on demand", LF("namespace", istr_slice(c->ns)), LF_CSTR("cluster", c->name),
             LF("group", name), LF("why", act->text), LF_INT("for_ms", ms));
    say_event(op, c, true, "SpotNotScheduled", act->text);
}

void extract_failures(struct op *op, struct record *c)
{
    struct jval k, g;
    struct jval status;
    struct err e = {0};
    failures_clear(op, c);
    if (!c->status.len || !json_read(&status, (struct slice){c->status.text, c->status.len}, &op->arenas.event, &e))
        return;
    for (struct jiter it = json_iter(json_get(status, "groups")); json_next(&it, &k, &g);) {
        int64_t count = json_get_int(g, "failures", 0), last_us;
        struct slice name = json_get_str(g, "name", &op->arenas.event);
        if (count <= 0 || !time_parse(json_get_str(g, "lastFailureTime", &op->arenas.event), &last_us, &e))
            continue;
        struct group_failures *f = failures_of(op, c, name, slice_is(name, RAY_HEAD_GROUP), true);
        f->count = count > 1000 ? 1000 : (uint32_t)count;
        int64_t ends = json_get_int(g, "podsEnded", 0);
        f->ends = ends <= 0 ? 0 : ends < count ? (uint32_t)ends : f->count;
        f->last_us = last_us;
        f->ended = json_get_bool(g, "ended", false);
        utf8_copy(json_get_str(g, "reason", &op->arenas.event), f->reason, sizeof f->reason);
        /* By the wall clock that wrote it, when the wait ends or was over; never later than a whole wait from now. */
        int64_t wait = plan_backoff_ms(f->count, hash64(slice_of(c->uid), 0)), gone = (op->now.wall_us - last_us) / 1000;
        f->not_before_ms = op->now.mono_ms + wait - (gone > 0 ? gone : 0);
    }
}
