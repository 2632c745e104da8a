/* Where the head of a cluster is reached: its pod, or a service; the port of its dashboard, and the Secret with its token. */
#include "record.h"

const struct pod *head_pod(const struct record *c)
{
    for (const struct pod_record *r = c->children.pods; r; r = r->next)
        if (r->pod.head && !r->pod.deleting && !r->pod.ended && r->pod.phase == POD_RUNNING && r->pod.ip[0])
            return &r->pod;
    return NULL;
}

/* How requests reach the head of the loaded model. The service that the spec names may not exist yet (a new edit) or at all (an invalid
 * spec). */
static struct head_way *make_way(const struct op *op, const struct record *c)
{
    const struct ray_cluster *model = cluster_model(op);
    struct arena scratch = {0};
    struct slice service = ray_head_service_name(model, &scratch), headless = ray_headless_service_name(model, &scratch),
                 serve = ray_service_name(model, RAY_SERVICE_SERVE, &scratch), secret = model->auth.secret, ca = model->auth.ca;
    const struct service_record *there = service_of(c, service) ? NULL : c->children.services;
    while (there && (!there->service.ours || there->service.deleting || slice_eq(slice_of(there->service.name), headless) ||
                     slice_eq(slice_of(there->service.name), serve)))
        there = there->next;
    if (there)
        service = slice_of(there->service.name);
    struct head_way *way = mem_alloc(sizeof *way + service.len + secret.len + ca.len);
    char *at = way->texts;
    way->dashboard_port = (uint16_t)model->ports.dashboard;
    way->service = slice_behind(&at, service);
    way->secrets[AUTH_TOKEN] = slice_behind(&at, secret);
    way->secrets[AUTH_CA] = slice_behind(&at, ca);
    arena_free(&scratch);
    return way;
}

const struct head_way *head_way(struct op *op, struct record *c)
{
    struct raycluster *own = raycluster_of(c);
    if (own->way && c->children.services && !service_of(c, own->way->service)) { /* that service was deleted since */
        mem_free(own->way);
        own->way = NULL;
    }
    if (!own->way) {
        model_load(op, c);
        own->way = make_way(op, c);
    }
    return own->way;
}

struct slice head_secret(struct op *op, struct record *c, struct arena *a)
{
    return arena_dup(a, head_way(op, c)->secrets[AUTH_TOKEN]);
}

/* The head service, if questions go through it: by the API server, or to an address of its own. NULL: they go to the pod. */
static const struct service *asked_service(struct op *op, struct record *c)
{
    const struct service_record *s = op->o.access == OPERATOR_DIRECT ? NULL : service_of(c, head_way(op, c)->service);
    bool own = s && s->service.ip[0] && strcmp(s->service.ip, "None") != 0;
    return s && (own || op->o.access == OPERATOR_PROXY) ? &s->service : NULL;
}

struct slice head_address(struct op *op, struct record *c)
{
    const struct pod *head = head_pod(c);
    const struct service *s = head && op->o.access == OPERATOR_SERVICE ? asked_service(op, c) : NULL;
    return s ? slice_of(s->ip) : head ? slice_of(head->ip) : SLICE_NONE;
}

/* The user's own head service may have the dashboard at another number than the head. */
uint16_t head_port(struct op *op, struct record *c)
{
    const struct service *s = asked_service(op, c);
    return s && s->dashboard ? s->dashboard : head_way(op, c)->dashboard_port;
}
