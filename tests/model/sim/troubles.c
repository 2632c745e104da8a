/* What pods get over: a container that ends and begins again, and a probe that fails for a while. The kubelet tells of it in the pod's
 * status, and Ray goes down and comes back with its container. */
#include "fakeray.h"
#include "sim.h"

enum { HEAL_MS = 8000 };

/* All containers; a restart counts when the container has gone down. */
static void put_containers(struct buf *b, struct jval pod, bool up, bool restarts, struct arena *a)
{
    struct jval k, c;
    const char *comma = "";
    buf_put(b, SLICE("\"containerStatuses\":["));
    for (struct jiter it = json_iter(json_get(pod, "status.containerStatuses")); json_next(&it, &k, &c); comma = ",") {
        struct slice name = json_get_str(c, "name", a), image = json_get_str(c, "image", a);
        bool runs = up || !restarts, beside = !up && !restarts && !slice_eq(name, SLICE("ray"));
        buf_printf(b,
                   "%s{\"name\":\"%.*s\",\"state\":{%s},\"lastState\":{},\"ready\":%s,\"restartCount\":%lld,\"image\":\"%.*s\",\"imageID\":"
                   "\"%.*s\",\"started\":%s}",
                   comma, SLICE_ARG(name),
                   beside ? "\"terminated\":{\"exitCode\":1,\"reason\":\"Error\"}"
                   : runs ? "\"running\":{}"
                          : "\"waiting\":{\"reason\":\"CrashLoopBackOff\"}",
                   up ? "true" : "false", (long long)json_get_int(c, "restartCount", 0) + (restarts && !up), SLICE_ARG(image),
                   SLICE_ARG(image), runs ? "true" : "false");
    }
    buf_putc(b, ']');
}

static void put_conditions(struct buf *b, struct jval pod, bool up, struct arena *a)
{
    struct jval k, c;
    const char *comma = "";
    buf_put(b, SLICE("\"conditions\":["));
    for (struct jiter it = json_iter(json_get(pod, "status.conditions")); json_next(&it, &k, &c); comma = ",") {
        struct slice type = json_get_str(c, "type", a), status = json_get_str(c, "status", a);
        bool of_containers = slice_eq(type, SLICE("Ready")) || slice_eq(type, SLICE("ContainersReady"));
        if (of_containers)
            status = up ? SLICE("True") : SLICE("False");
        buf_printf(b, "%s{\"type\":\"%.*s\",\"status\":\"%.*s\"%s}", comma, SLICE_ARG(type), SLICE_ARG(status),
                   of_containers && !up ? ",\"reason\":\"ContainersNotReady\"" : "");
    }
    buf_putc(b, ']');
}

static void tell(struct sim *s, const struct seen_pod *p, bool up)
{
    struct json doc;
    struct err e = {0};
    struct buf b;
    struct slice pod = apiserver_get(s->w.server, SLICE("pods"), slice_of(p->ns), slice_of(p->name), &s->w.arena);
    if (!json_parse(&doc, pod, &s->w.arena, &e)) {
        sim_violation(s, "model", "a stored pod: %s", e.text);
        return;
    }
    buf_init(&b, 64 * KIB);
    buf_put(&b, SLICE("{\"status\":{"));
    put_conditions(&b, json_root(&doc), up, &s->w.arena);
    buf_putc(&b, ',');
    put_containers(&b, json_root(&doc), up, p->restarts, &s->w.arena);
    buf_put(&b, SLICE("}}"));
    struct slice path = arena_printf(&s->w.arena, "/api/v1/namespaces/%s/pods/%s/status", p->ns, p->name);
    world_call(&s->w, "PATCH", path.ptr, "application/merge-patch+json", buf_slice(&b));
    buf_free(&b);
}

/* ---- a pod falls ill ---- */

static bool may_fall_ill(const struct seen_pod *p)
{
    return p->ready && !p->heal_ms && p->on == NODE_WELL && (p->head || p->group[0]); /* a pod that submits a job ends as the job does */
}

static struct seen_pod *pick(struct sim *s, uint32_t dice)
{
    uint32_t well = 0;
    for (const struct seen_pod *p = s->pods; p; p = p->next)
        well += may_fall_ill(p);
    uint32_t left = well ? dice % well : 0;
    for (struct seen_pod *p = well ? s->pods : NULL; p; p = p->next)
        if (may_fall_ill(p) && left-- == 0)
            return p;
    return NULL;
}

static void fall_ill(struct sim *s, struct seen_pod *p, bool restarts, int64_t ms)
{
    sim_say(s, "pod %s/%s", p->ns, p->name);
    p->restarts = restarts;
    p->heal_ms = sim_now(s) + 1 + ms;
    if (p->restarts && s->w.rays)
        fakeray_container_ends(&s->w, p->uid);
    tell(s, p, false);
}

void troubles_apply(struct sim *s, const struct sim_entry *e)
{
    struct seen_pod *p = pick(s, e->dice[0]);
    if (p)
        fall_ill(s, p, e->kind == MOVE_POD_RESTARTS, e->dice[1] % HEAL_MS);
}

void troubles_restart(struct sim *s, struct seen_pod *p, int64_t ms)
{
    if (may_fall_ill(p))
        fall_ill(s, p, true, ms);
}

/* ---- and gets over it ---- */

static void heal(struct sim *s, struct seen_pod *p)
{
    p->heal_ms = 0;
    if (!p->live)
        return; /* it has ended, or goes */
    sim_say(s, "move: pod %s/%s is well again", p->ns, p->name);
    if (p->restarts && s->w.rays)
        fakeray_container_begins(&s->w, p->uid);
    tell(s, p, true);
}

static struct seen_pod *next_to_heal(const struct sim *s)
{
    struct seen_pod *next = NULL;
    for (struct seen_pod *p = s->pods; p; p = p->next)
        if (p->heal_ms && (!next || p->heal_ms < next->heal_ms))
            next = p;
    return next;
}

void troubles_tick(struct sim *s)
{
    for (struct seen_pod *p; (p = next_to_heal(s)) != NULL && sim_now(s) >= p->heal_ms;)
        heal(s, p);
}

int64_t troubles_next(const struct sim *s)
{
    const struct seen_pod *p = next_to_heal(s);
    return p ? p->heal_ms : TIME_NEVER;
}
