/* A decision in words, and in the form that the GCS wants it. */
#include "private.h"

#include <stdio.h>

enum { NAME_TEXT_MAX = 80, LINE_TEXT_MAX = 4 * KIB };

void scale_put_name(struct buf *b, struct slice name)
{
    struct slice rest = slice_head(name, NAME_TEXT_MAX);
    while (!slice_empty(rest)) {
        size_t n = utf8_step(rest);
        bool plain = n > 0 && (unsigned char)rest.ptr[0] >= ' ' && rest.ptr[0] != 0x7f;
        n = n ? n : 1;
        buf_put(b, plain ? slice_head(rest, n) : SLICE("?"));
        rest = slice_skip(rest, n);
    }
}

void scale_put_amount(struct buf *b, int64_t amount)
{
    int64_t whole = amount / RAY_QUANTUM, part = amount % RAY_QUANTUM;
    buf_printf(b, "%lld", (long long)whole);
    if (part <= 0)
        return;
    buf_printf(b, ".%04lld", (long long)part);
    while (b->len && b->ptr[b->len - 1] == '0')
        b->len--;
}

static void put_bundle(struct buf *b, const struct ray_bundle *bundle)
{
    char text[QUANTITY_TEXT_MAX];
    buf_putc(b, '{');
    for (uint32_t i = 0; i < bundle->count && i < LIMIT_SCALE_NAMES; i++) {
        const struct ray_amount *a = &bundle->list[i];
        buf_put(b, i ? SLICE(", ") : SLICE(""));
        scale_put_name(b, a->name);
        buf_put(b, SLICE(": "));
        if (slice_ends(a->name, SLICE("memory")) && a->amount % RAY_QUANTUM == 0 && a->amount > 0)
            buf_put(b, quantity_format(a->amount / RAY_QUANTUM, 0, QUANTITY_BINARY, text));
        else
            scale_put_amount(b, a->amount);
    }
    if (bundle->count > LIMIT_SCALE_NAMES)
        buf_printf(b, " and %u more", bundle->count - LIMIT_SCALE_NAMES);
    buf_putc(b, '}');
}

struct slice scale_bundle_text(const struct ray_bundle *bundle, struct arena *a)
{
    struct buf b;
    buf_init(&b, LINE_TEXT_MAX);
    put_bundle(&b, bundle);
    struct slice text = arena_dup(a, buf_slice(&b));
    buf_free(&b);
    return text;
}

void scale_say(struct scale_plan *p, struct arena *a, const char *fmt, ...)
{
    char text[LINE_TEXT_MAX];
    if (p->line_count == LIMIT_SCALE_LINES - 1) {
        p->lines[p->line_count] = arena_printf(a, "and %u more", ++p->lines_beyond);
        return;
    }
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    p->lines[p->line_count++] = arena_dup(a, (struct slice){text, len});
}

static void explain_group(const struct scale_scene *s, struct scale_plan *p, uint32_t i)
{
    const struct ray_group *spec = &s->in->cluster->groups[i];
    const struct scale_group *g = &p->groups[i];
    const struct group_failures *f = &s->in->failures[i + 1];
    int64_t limit = spec->idle_timeout_s >= 0 ? spec->idle_timeout_s : s->in->cluster->scale.idle_timeout_s;
    if (g->target != g->before)
        scale_say(p, s->a, "group %.*s: from %d to %d replicas (min %d, max %d)%s", SLICE_ARG(spec->name), (int)g->before, (int)g->target,
                  (int)spec->min, (int)spec->max,
                  g->launch == 0           ? ""
                  : g->target <= spec->min ? ": to its minimum"
                                           : ": for demand");
    if (g->throttled > 0)
        scale_say(p, s->a, "group %.*s: %d more replicas wait until those that are pending have joined (upscaling speed)",
                  SLICE_ARG(spec->name), (int)g->throttled);
    if (f->count >= SCALE_FAILURES && s->in->now.mono_ms < f->not_before_ms)
        scale_say(p, s->a, "group %.*s: failed to start %u times (%s): tried again in %lld s, other groups are taken until then",
                  SLICE_ARG(spec->name), f->count, f->reason, (long long)((f->not_before_ms - s->in->now.mono_ms + 999) / 1000));
    if (g->idle > 0 && !p->held && g->target <= spec->min)
        scale_say(p, s->a, "group %.*s: %d of %d nodes %s idle (none goes: the group is at its minimum of %d)", SLICE_ARG(spec->name),
                  (int)g->idle, (int)g->nodes, g->idle == 1 ? "is" : "are", (int)spec->min);
    else if (g->idle > 0 && !p->held)
        scale_say(p, s->a, "group %.*s: %d of %d nodes %s idle (they go after %lld s of that, down to %d replica%s)", SLICE_ARG(spec->name),
                  (int)g->idle, (int)g->nodes, g->idle == 1 ? "is" : "are", (long long)limit, (int)spec->min, spec->min == 1 ? "" : "s");
}

static bool offers(const struct scale_scene *s, struct slice name)
{
    for (uint32_t i = 1; i <= s->in->cluster->group_count; i++)
        for (uint32_t k = 0; k < s->in->offers[i].bundle.count; k++)
            if (s->in->offers[i].bundle.list[k].amount > 0 && slice_eq(s->in->offers[i].bundle.list[k].name, name))
                return true;
    return false;
}

/* The first resource that no group has at all is what people forget. */
static struct slice no_group_text(const struct scale_scene *s, const struct ray_request *r)
{
    struct buf b;
    buf_init(&b, LINE_TEXT_MAX);
    for (uint32_t i = 0; i < r->bundle.count && !b.len; i++)
        if (!offers(s, r->bundle.list[i].name)) {
            buf_put(&b, SLICE("no worker group offers "));
            scale_put_name(&b, r->bundle.list[i].name);
        }
    if (!b.len)
        buf_put(&b, SLICE("no worker group's pods are large enough for it, or have the labels that it asks for"));
    struct slice text = arena_dup(s->a, buf_slice(&b));
    buf_free(&b);
    return text;
}

static struct slice at_max_text(const struct scale_scene *s, int32_t group)
{
    const struct ray_cluster *c = s->in->cluster;
    if (group < 0)
        return arena_printf(s->a, "the cluster is at maxWorkers %d", (int)c->scale.max_workers);
    return arena_printf(s->a, "group %.*s is at %s %d", SLICE_ARG(c->groups[group].name),
                        c->kind == RAY_LEGACY ? "maxWorkers" : "maxReplicas", (int)c->groups[group].max);
}

static struct slice why_text(const struct scale_scene *s, const struct scale_unmet *u, const struct ray_request *r)
{
    switch (u->why) {
    case SCALE_NO_GROUP:
        return no_group_text(s, r);
    case SCALE_AT_MAX:
        return at_max_text(s, u->group);
    case SCALE_WAITS:
        return SLICE("the groups that could hold it fail to start");
    case SCALE_LATER:
        return SLICE("more is ordered in the next step");
    case SCALE_MALFORMED:
        break;
    }
    return u->text;
}

static void explain_unmet(const struct scale_scene *s, struct scale_plan *p, const struct scale_unmet *u)
{
    const struct ray_request *r = u->gang ? &u->gang->requests[0] : u->request;
    struct slice shape = scale_bundle_text(&r->bundle, s->a), why = why_text(s, u, r);
    bool one = u->gang || u->count == 1;
    const char *waits = u->why != SCALE_AT_MAX ? "" : one ? " waits for a free node" : " wait for a free node";
    if (u->gang)
        scale_say(p, s->a, "a placement group of %u bundles such as %.*s, each on a node of its own%s: %.*s", u->gang->count,
                  SLICE_ARG(shape), waits, SLICE_ARG(why));
    else
        scale_say(p, s->a, "%lld x %.*s%s%s: %.*s", (long long)u->count, SLICE_ARG(shape),
                  u->constraint >= 0 ? " asked for by request_resources()" : "", waits, SLICE_ARG(why));
}

/* Ray ends in a node that has drained, and that it was idle is why. */
static void explain_removal(const struct scale_scene *s, struct scale_plan *p, const struct scale_removal *r)
{
    struct slice idle = pod_drained_text(r->pod, s->a);
    if (idle.len)
        scale_say(p, s->a, "pod %s is to be deleted: %.*s", r->pod->name, SLICE_ARG(idle));
    else
        scale_say(p, s->a, "pod %s is to be deleted: %s", r->pod->name, r->why);
}

void scale_explain(const struct scale_scene *s, struct scale_plan *p)
{
    if (p->held)
        scale_say(p, s->a, "nothing is launched for demand and nothing stopped: %s", p->held);
    for (uint32_t i = 0; i < s->in->cluster->group_count; i++)
        explain_group(s, p, i);
    for (uint32_t i = 0; i < p->unmet_count; i++)
        explain_unmet(s, p, &p->unmet[i]);
    for (uint32_t i = 0; i < p->removal_count; i++)
        explain_removal(s, p, &p->removals[i]);
    for (uint32_t i = 0; i < p->drain_count; i++)
        scale_say(p, s->a, "pod %s: its node is asked to drain: %.*s", p->drains[i].pod->name, SLICE_ARG(p->drains[i].message));
    if (p->line_count == 0)
        scale_say(p, s->a, "nothing to do: all demand has its place, and no node is idle");
    p->line_count += p->lines_beyond > 0;
}

/* ---- for the GCS ---- */

static struct slice pending_text(const struct pod *pod)
{
    if (!slice_empty(pod->reason))
        return pod->reason;
    return pod->phase == POD_PENDING ? SLICE("Pending") : SLICE("Running, Ray has not joined yet");
}

static void report_pods(const struct scale_scene *s, struct ray_report *r)
{
    const struct ray_cluster *c = s->in->cluster;
    struct ray_launching *list = arena_array(s->a, s->member_count, sizeof *list);
    for (uint32_t i = 0; i < s->member_count; i++) {
        const struct scale_member *m = &s->members[i];
        if (m->group >= 0 && !m->node)
            list[r->launching_count++] = (struct ray_launching){.type = c->groups[m->group].name,
                                                                .instance_id = slice_of(m->pod->name),
                                                                .ip = slice_of(m->pod->ip),
                                                                .details = pending_text(m->pod)};
    }
    r->launching = list;
}

static void report_groups(const struct scale_scene *s, const struct scale_plan *p, struct ray_report *r)
{
    const struct ray_cluster *c = s->in->cluster;
    struct ray_launch *launches = arena_array(s->a, c->group_count, sizeof *launches);
    struct ray_launch_failure *failures = arena_array(s->a, c->group_count, sizeof *failures);
    for (uint32_t i = 0; i < c->group_count; i++) {
        const struct group_failures *f = &s->in->failures[i + 1];
        if (p->groups[i].launch > 0)
            launches[r->launch_count++] = (struct ray_launch){.type = c->groups[i].name,
                                                              .count = (int64_t)p->groups[i].launch * c->groups[i].hosts,
                                                              .at_s = s->in->now.wall_us / 1000000};
        if (f->count > 0)
            failures[r->failure_count++] = (struct ray_launch_failure){
                .type = c->groups[i].name, .reason = slice_of(f->reason), .count = f->count, .at_s = f->last_us / 1000000};
    }
    r->launches = launches;
    r->failures = failures;
}

static void report_unmet(const struct scale_scene *s, const struct scale_plan *p, struct ray_report *r)
{
    struct ray_demand *list = arena_array(s->a, p->unmet_count, sizeof *list);
    const struct ray_gang **gangs = arena_array(s->a, p->unmet_count, sizeof(struct ray_gang *));
    const struct ray_demands **constraints = arena_array(s->a, p->unmet_count, sizeof(struct ray_demands *));
    int32_t last = -1;
    for (uint32_t i = 0; i < p->unmet_count; i++) {
        const struct scale_unmet *u = &p->unmet[i];
        if (u->why == SCALE_LATER || u->why == SCALE_MALFORMED)
            continue;
        if (u->gang)
            gangs[r->gang_count++] = u->gang;
        else if (u->constraint < 0)
            list[r->infeasible.count++] = (struct ray_demand){.request = *u->request, .count = u->count};
        else if (u->constraint != last)
            constraints[r->constraint_count++] = &s->in->state->constraints[last = u->constraint];
    }
    r->infeasible.list = list;
    r->gangs = gangs;
    r->constraints = constraints;
}

void scale_report(const struct scale_scene *s, struct scale_plan *p)
{
    struct ray_report *r = &p->report;
    r->state_version = s->in->state ? s->in->state->version : 0;
    report_pods(s, r);
    report_groups(s, p, r);
    report_unmet(s, p, r);
}
