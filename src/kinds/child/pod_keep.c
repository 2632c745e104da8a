/* A pod becomes a record of a few hundred bytes: the fields that decisions look at. */
#include "record.h"

static void keep_text(struct op *op, const struct istr **held, struct slice *view, struct slice text)
{
    const struct istr *fresh = slice_empty(text) ? NULL : intern_get(&op->strings, text);
    intern_drop(&op->strings, *held);
    *held = fresh;
    *view = istr_slice(fresh);
}

/* Keeps how the head is reached (ray_running_read). When that changes, the owner is notified: services and new workers follow. */
static void keep_running(struct op *op, struct pod_record *r, struct jval object)
{
    __attribute__((cleanup(buf_free))) struct buf b = {.max = LIMIT_JSON_ITEM};
    if (!r->pod.head || r->pod.deleting)
        return;
    ray_running_read(object, &op->arenas.event, &b);
    const struct istr *text = b.full ? NULL : intern_get(&op->strings, buf_slice(&b));
    bool same = text == r->running;
    intern_drop(&op->strings, r->running);
    r->running = text;
    if (!same)
        pod_notify_owner(op, r, CHILD_REACHED);
}

static struct pod_record *pod_make(struct op *op, struct record *c, struct slice uid)
{
    struct pod_record *r = slab_alloc(&op->slabs.pod);
    slice_copy(uid, r->pod.uid, sizeof r->pod.uid);
    r->of = c;
    r->next = c->children.pods;
    r->link = &c->children.pods;
    if (r->next)
        r->next->link = &r->next;
    c->children.pods = r;
    c->children.pod_count++;
    map_put(&op->all.pods, slice_of(r->pod.uid), r);
    return r;
}

/* Most events of a pod change nothing that decisions look at: its node, times of conditions, the kubelet's notes. */
static bool same_to_decisions(const struct pod *a, const struct pod *b)
{
    return a->version != 0 && a->phase == b->phase && a->ready == b->ready && a->deleting == b->deleting && a->ended == b->ended &&
           a->exit_code == b->exit_code && a->index == b->index && a->host == b->host && a->hash == b->hash && a->head == b->head &&
           a->stopped == b->stopped && a->run_us == b->run_us && a->gave_up == b->gave_up && a->unschedulable == b->unschedulable &&
           a->serves == b->serves && a->ours.doubted == b->ours.doubted && a->orphan == b->orphan &&
           a->ours.overtaken == b->ours.overtaken && a->group.ptr == b->group.ptr && a->reason.ptr == b->reason.ptr &&
           a->words.ptr == b->words.ptr && (!b->head || strcmp(a->ip, b->ip) == 0);
}

/* Head pods of a cluster share one name, and the API server never has two pods of one name. So if a newer one appears, the older has been
 * deleted even if its DELETE event was lost. Removes older records of the name; returns true if the given version is the older one. */
static bool settle_namesakes(struct op *op, struct record *c, struct slice name, uint64_t version, uint32_t round)
{
    for (struct pod_record *r = c->children.pods, *next; r; r = next) {
        next = r->next;
        if (!r->pod.head || !slice_eq(slice_of(r->pod.name), name))
            continue;
        if (source_is_old(source_of(c->space, &kind_pod), version, r->pod.version, round))
            return true;
        pod_remove(op, r);
    }
    return false;
}

static bool is_over(const struct pod *p)
{
    return p->ended || p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

void extract_pod(struct op *op, struct space *space, struct jval object, uint64_t version, uint32_t round)
{
    struct arena *a = &op->arenas.event;
    struct slice uid = json_get_str(object, "metadata.uid", a);
    struct pod_record *r = map_get(&op->all.pods, uid);
    if (r && source_is_old(source_of(space, &kind_pod), version, r->pod.version, round)) {
        r->round = round ? round : r->round;
        return;
    }
    struct record *c = extract_elsewhere(object, a) ? NULL : extract_parent(op, space, object, &kind_pod);
    bool orphan = !c && (c = orphan_claim(op, space, object, &kind_pod)) != NULL;
    if (r && r->of != c) { /* its owner changed, or its labels were taken away */
        pod_remove(op, r);
        r = NULL;
    }
    if (!c)
        return;
    struct pod now;
    pod_read(object, a, &now);
    if (!r && now.head && settle_namesakes(op, c, slice_of(now.name), version, round))
        return;
    if (!r)
        r = pod_make(op, c, uid);
    r->round = round ? round : r->round;
    struct pod before = r->pod;
    struct pod *p = &r->pod;
    now.version = version;
    now.orphan = !orphan ? POD_OWNED : pod_of_namespace(object, istr_slice(c->ns), a) ? POD_ORPHAN : POD_STRAY;
    now.ours.counted = before.ours.counted;
    now.ours.asked = before.ours.asked;
    now.ours.drain = before.ours.drain;
    now.idle_s = before.idle_s;
    now.ours.doubted = before.ours.doubted && !now.deleting;
    if (now.deleting || before.ours.overtaken)
        r->doubt.ms = 0;
    doubt_restart_backoff(op, c, &r->doubt);
    now.deleting |= before.deleting; /* our own DELETE was answered; the object may be older than that */
    *p = now;
    c->children.ready_count += p->ready;
    c->children.ready_count -= before.ready;
    if (p->ready && !before.ready && c->children.ready_count == c->children.pod_count)
        c->decided_ms = 0; /* news that its user waits for is reported without a pause */
    keep_text(op, &r->group, &p->group, now.group);
    keep_text(op, &r->reason, &p->reason, now.reason);
    keep_text(op, &r->words, &p->words, now.words);
    if (before.version && p->deleting && !before.deleting && !r->by_us)
        record_doubt(c);
    if (p->deleting && !before.deleting)
        pod_notify_owner(op, r, CHILD_GOES);
    if (is_over(p) && !is_over(&before))
        pod_notify_owner(op, r, CHILD_ENDED);
    if (before.version && before.phase == POD_PENDING && p->phase != POD_PENDING)
        pod_notify_owner(op, r, CHILD_STARTED);
    keep_running(op, r, object);
    if (!same_to_decisions(&before, p))
        record_touch(op, c);
}

void pod_remove(struct op *op, struct pod_record *r)
{
    struct record *c = r->of;
    if (!r->by_us && !r->pod.deleting)
        record_doubt(c);
    pod_notify_owner(op, r, CHILD_GOES);
    c->children.ready_count -= r->pod.ready;
    *r->link = r->next;
    if (r->next)
        r->next->link = r->link;
    c->children.pod_count--;
    map_del(&op->all.pods, slice_of(r->pod.uid));
    intern_drop(&op->strings, r->group);
    intern_drop(&op->strings, r->reason);
    intern_drop(&op->strings, r->words);
    intern_drop(&op->strings, r->running);
    slab_free(&op->slabs.pod, r);
    record_touch(op, c);
}

void pod_by_us(struct op *op, struct slice uid, bool by_us)
{
    struct pod_record *r = map_get(&op->all.pods, uid);
    if (r)
        r->by_us = by_us;
}

void pod_notify_owner(struct op *op, struct pod_record *pod, enum child_news what)
{
    const struct kind *k = pod->of->kind;
    if (k->controller->told)
        k->controller->told(op, pod->of, pod, what);
}

const struct pod **view_pods(struct op *op, const struct record *c, uint32_t *count)
{
    const struct pod **pods = arena_array(&op->arenas.plan, c->children.pod_count + 1, sizeof *pods);
    *count = 0;
    for (const struct pod_record *r = c->children.pods; r; r = r->next)
        pods[(*count)++] = &r->pod;
    return pods;
}
