/* How the heads of clusters are reached from here. Whoever has a question to one names the cluster; where that is, and which way there is
 * allowed, is known here only. */
#include "op.h"

/* A question that is under way. */
struct head_call {
    struct head_call *next, **link;
    struct op *op;
    ray_dash_done *done;
    void *owner;
    uint64_t tag;
    char ip[IP_TEXT_MAX + 1]; /* on the egress allowlist until the answer */
    uint16_t port;
};

static const struct pod *find_head(const struct cluster *c)
{
    for (const struct pod_record *r = c->pods; r; r = r->next)
        if (r->pod.head && !r->pod.deleting && !r->pod.ended && r->pod.phase == POD_RUNNING && r->pod.ip[0])
            return &r->pod;
    return NULL;
}

struct slice head_address(const struct cluster *c)
{
    const struct pod *head = find_head(c);
    return head ? slice_of(head->ip) : SLICE_NONE;
}

static struct head_call *call_new(struct op *op, ray_dash_done *done, void *owner, uint64_t tag)
{
    struct head_call *h = mem_alloc(sizeof *h);
    *h = (struct head_call){.op = op, .done = done, .owner = owner, .tag = tag, .next = op->head_calls, .link = &op->head_calls};
    if (h->next)
        h->next->link = &h->next;
    op->head_calls = h;
    return h;
}

static void call_free(struct head_call *h)
{
    *h->link = h->next;
    if (h->next)
        h->next->link = h->link;
    if (h->op->o.allow && h->ip[0])
        net_allow_drop_peer(h->op->o.allow, slice_of(h->ip), h->port);
    mem_free(h);
}

static void on_answer(void *owner, uint64_t tag, const struct ray_dash_answer *answer, struct now now)
{
    (void)tag;
    struct head_call *h = owner;
    struct head_call told = *h;
    told.op->now = now;
    call_free(h);
    told.done(told.owner, told.tag, answer, now);
}

static bool ask_direct(struct head_call *h, struct slice ip, const struct ray_dash_request *r, struct err *e)
{
    struct op *op = h->op;
    uint16_t port = (uint16_t)op->model.dashboard_port;
    const struct ray_dash_to to = {.host = ip, .port = port, .done = on_answer, .owner = h};
    if (op->o.allow && !net_allow_peer(op->o.allow, ip, port, e))
        return false;
    slice_copy(ip, h->ip, sizeof h->ip);
    h->port = port;
    return ray_dash_ask(op->dash, &to, r, e);
}

bool head_ask(struct op *op, struct cluster *c, const struct ray_dash_request *r, ray_dash_done *done, void *owner, uint64_t tag,
              struct err *e)
{
    struct slice ip = head_address(c);
    model_load(op, c);
    if (op->errors.count)
        return err_set(e, ERR_CONFIG, "the spec of cluster %s has errors: its head is not asked", c->name);
    if (slice_empty(ip))
        return err_set(e, ERR_CLOSED, "cluster %s has no head that runs", c->name);
    struct head_call *h = call_new(op, done, owner, tag);
    if (ask_direct(h, ip, r, e))
        return true;
    call_free(h);
    return false;
}

void heads_forget(struct op *op, const void *owner)
{
    for (struct head_call *h = op->head_calls, *next; h; h = next) {
        next = h->next;
        if (h->owner != owner)
            continue;
        ray_dash_forget(op->dash, h);
        call_free(h);
    }
}

void heads_free(struct op *op)
{
    ray_dash_pool_free(op->dash);
    while (op->head_calls)
        call_free(op->head_calls);
}
