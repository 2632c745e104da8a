/* The last work of a process that was told to end: kubectl delete namespace ends an operator that runs in that namespace before the objects
 * are deleted, and then nothing removes its finalizers. So a dry run of a create asks the API server whether the namespace is being
 * deleted, and if it is, decisions go on until the finalizers are removed. */
#include <mobula/control.h>

enum { FAREWELL_MS = 8 * 1000, NAMESPACES_MAX = 16 };

static bool is_held(const struct record *c)
{
    return c->present && c->kind->finalizer && c->seen.meta && slice_find_text(istr_slice(c->seen.meta), c->kind->finalizer) >= 0;
}

static void on_answer(void *owner, uint64_t tag, const struct kube_answer *a, struct now now)
{
    struct op *op = owner;
    const struct istr *ns = (const struct istr *)(uintptr_t)tag;
    struct record *c;
    op->now = now;
    op->phase.farewell_asked--;
    for (uint32_t i = 0; a->outcome == KUBE_REFUSED && a->status.namespace_terminating && (c = map_next(&op->all.records, &i)) != NULL;)
        if (c->ns == ns && is_held(c)) {
            c->space->going = ns;
            record_touch(op, c);
        }
    intern_drop(&op->strings, ns);
}

static void ask(struct op *op, const struct istr *ns)
{
    static const struct slice body = SLICE("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"mobula-farewell\"}}");
    struct err e = {0};
    buf_clear(&op->out.path);
    kube_path(&op->out.path, &kube_pods, istr_slice(ns), SLICE_NONE, SLICE_NONE);
    buf_put(&op->out.path, SLICE("?dryRun=All"));
    const struct kube_request r = {.lane = KUBE_LANE_MAIN,
                                   .method = SLICE("POST"),
                                   .path = buf_slice(&op->out.path),
                                   .content_type = SLICE(KUBE_TYPE_JSON),
                                   .body = body,
                                   .at_once = true,
                                   .timeout_ms = FAREWELL_MS,
                                   .done = on_answer,
                                   .owner = op,
                                   .tag = (uint64_t)(uintptr_t)intern_keep(ns)};
    if (kube_call(op->client, &r, op->now, &e))
        op->phase.farewell_asked++;
    else
        intern_drop(&op->strings, ns);
}

static void ask_all(struct op *op)
{
    const struct istr *asked[NAMESPACES_MAX];
    uint32_t count = 0, k;
    struct record *c;
    for (uint32_t i = 0; (c = map_next(&op->all.records, &i)) != NULL && count < NAMESPACES_MAX;) {
        for (k = 0; k < count && asked[k] != c->ns;)
            k++;
        if (k == count && is_held(c)) {
            asked[count++] = c->ns;
            ask(op, c->ns);
        }
    }
}

bool farewell_goes_on(struct op *op)
{
    struct record *c;
    if (!op->phase.leading || (op->phase.farewell_ms && op->now.mono_ms >= op->phase.farewell_ms))
        return false;
    if (!op->phase.farewell_ms) {
        op->phase.farewell_ms = op->now.mono_ms + FAREWELL_MS;
        ask_all(op);
    }
    bool waits = op->phase.farewell_asked > 0;
    for (uint32_t i = 0; !waits && (c = map_next(&op->all.records, &i)) != NULL;)
        waits = c->space->going == c->ns && is_held(c);
    return waits;
}
