/* Ray, as far as an autoscaler sees it. */
#include "fakeray.h"

#include <mobula/grpc.h>

#include <stdlib.h>

enum { STATE_MAX = 64 * MIB };

/* ---- nodes ---- */

struct fakeray_node *fakeray_node_of(const struct fakeray *h, struct slice pod)
{
    for (struct fakeray_node *n = h->nodes; n; n = n->next)
        if (slice_eq(slice_of(n->pod.name), pod))
            return n;
    return NULL;
}

uint32_t fakeray_nodes(const struct fakeray *h)
{
    uint32_t count = 0;
    for (const struct fakeray_node *n = h->nodes; n; n = n->next)
        count += !n->dead && !n->pod.head;
    return count;
}

static void forget_nodes(struct fakeray *h)
{
    for (struct fakeray_node *n = h->nodes, *next; n; n = next) {
        next = n->next;
        mem_free(n);
    }
    h->nodes = NULL;
}

static int64_t now_of(const struct fakeray *h)
{
    return h->world->now.mono_ms;
}

static void join(struct fakeray *h, const struct fakeray_pod *p)
{
    struct fakeray_node **at = &h->nodes, *n = mem_alloc(sizeof *n);
    while (*at)
        at = &(*at)->next;
    *at = n;
    n->pod = *p;
    n->idle_since_ms = now_of(h);
    for (uint64_t i = 0, word; i < RAY_NODE_ID; i += sizeof word) {
        word = hash64(slice_of(p->uid), ((uint64_t)p->lives << 32) + h->sessions * 8 + i);
        memcpy(n->id + i, &word, RAY_NODE_ID - i < sizeof word ? RAY_NODE_ID - i : sizeof word);
    }
}

/* Pods that run are nodes, and nodes whose pods do not are dead. */
static void follow_pods(struct fakeray *h)
{
    for (struct fakeray_node *n = h->nodes; n; n = n->next) {
        bool runs = false;
        for (const struct fakeray_pod *p = h->world->rays->pods; p && !runs; p = p->next)
            runs = p->runs && strcmp(p->uid, n->pod.uid) == 0;
        n->dead |= !runs;
    }
    for (const struct fakeray_pod *p = h->world->rays->pods; p; p = p->next) {
        bool known = false;
        for (const struct fakeray_node *n = h->nodes; n && !known; n = n->next)
            known = strcmp(p->uid, n->pod.uid) == 0;
        bool early = p->since_ms < h->began_ms;
        if (p->of == h && p->runs && !p->ended && !known && (p->head || !early || now_of(h) >= h->began_ms + h->rejoin_ms))
            join(h, p);
    }
}

static void end(struct fakeray *h, struct fakeray_node *n)
{
    n->dead = true;
    for (struct fakeray_pod *p = h->world->rays->pods; p; p = p->next)
        p->ended |= strcmp(p->uid, n->pod.uid) == 0;
}

void fakeray_kill_raylet(struct fakeray *h, const char *pod)
{
    struct fakeray_node *n = fakeray_node_of(h, slice_of(pod));
    if (!n)
        fatal("fakeray: %s is no node", pod);
    end(h, n);
}

/* ---- work ---- */

static bool has_room(const struct fakeray_node *n, double cpus)
{
    return !n->dead && !n->drains && !n->pod.head && n->free >= cpus;
}

static void put_on(struct fakeray_node *n, double cpus)
{
    n->free -= cpus;
    n->works = true;
}

/* A node for each of them, or none at all. */
static void spread(struct fakeray *h, struct fakeray_work *w)
{
    uint32_t room = 0;
    for (const struct fakeray_node *n = h->nodes; n; n = n->next)
        room += has_room(n, w->cpus);
    w->waiting = room < w->count ? w->count : 0;
    uint32_t left = w->count - w->waiting;
    for (struct fakeray_node *n = h->nodes; n && left; n = n->next)
        if (has_room(n, w->cpus)) {
            put_on(n, w->cpus);
            left--;
        }
}

/* The first one to get work of these CPUs. */
static struct fakeray_node *first_with_room(const struct fakeray *h, double cpus)
{
    struct fakeray_node *first = NULL;
    for (struct fakeray_node *n = h->nodes; n; n = n->next)
        if (has_room(n, cpus) && (!first || (h->by_replica && n->pod.replica < first->pod.replica)))
            first = n;
    return first;
}

static void fill(struct fakeray *h, struct fakeray_work *w)
{
    struct fakeray_node *n;
    for (w->waiting = w->count; w->waiting && (n = first_with_room(h, w->cpus)) != NULL; w->waiting--)
        put_on(n, w->cpus);
}

static void place_work(struct fakeray *h)
{
    follow_pods(h);
    bool worked[4096] = {0};
    uint32_t at = 0;
    for (struct fakeray_node *n = h->nodes; n; n = n->next, at++) {
        if (at < COUNT_OF(worked))
            worked[at] = n->works;
        n->works = false;
        n->free = FAKERAY_CPUS;
    }
    for (uint32_t i = 0; i < FAKERAY_WORKS; i++)
        (h->works[i].together ? spread : fill)(h, &h->works[i]);
    at = 0;
    for (struct fakeray_node *n = h->nodes; n; n = n->next, at++)
        if (!n->works && at < COUNT_OF(worked) && worked[at])
            n->idle_since_ms = now_of(h);
}

void fakeray_work(struct fakeray *h, uint32_t which, double cpus, uint32_t count, bool together)
{
    h->works[which] = (struct fakeray_work){.cpus = cpus, .count = count, .together = together};
    place_work(h);
}

void fakeray_request(struct fakeray *h, double cpus, uint32_t count)
{
    h->asked_for = (struct fakeray_work){.cpus = cpus, .count = count};
}

/* ---- what it says ---- */

static void put_cpus(struct buf *b, uint32_t number, double cpus)
{
    if (cpus <= 0)
        return; /* Ray leaves out what there is none of */
    size_t at = proto_open(b, number);
    proto_put_bytes(b, 1, SLICE("CPU"));
    proto_put_double(b, 2, cpus);
    proto_close(b, at);
}

static void put_node(struct buf *b, const struct fakeray *h, const struct fakeray_node *n)
{
    enum ray_node_status status = n->works || n->pod.head ? RAY_NODE_RUNNING : RAY_NODE_IDLE;
    status = n->dead ? RAY_NODE_DEAD : n->drains ? RAY_NODE_DRAINING : status;
    size_t at = proto_open(b, 3);
    proto_put_bytes(b, 1, (struct slice){n->id, sizeof n->id});
    proto_put_bytes(b, 2, slice_of(n->pod.name));
    proto_put_bytes(b, 3, slice_of(n->pod.group));
    if (!n->dead && !n->pod.head) {
        put_cpus(b, 4, n->free);
        put_cpus(b, 5, FAKERAY_CPUS);
    }
    proto_put_int(b, 8, status);
    if (status == RAY_NODE_IDLE)
        proto_put_int(b, 9, now_of(h) - n->idle_since_ms);
    proto_put_bytes(b, 10, slice_of(n->pod.ip));
    proto_close(b, at);
}

/* ResourceRequest, and with a count ResourceRequestByCount. */
static void put_request(struct buf *b, uint32_t number, double cpus, uint32_t count, const char *apart)
{
    size_t outer = count ? proto_open(b, number) : 0, at = proto_open(b, count ? 1 : number);
    put_cpus(b, 1, cpus);
    if (apart) {
        size_t constraint = proto_open(b, 2), anti = proto_open(b, 1);
        proto_put_bytes(b, 1, slice_of(apart));
        proto_close(b, anti);
        proto_close(b, constraint);
    }
    proto_close(b, at);
    if (!count)
        return;
    proto_put_int(b, 2, count);
    proto_close(b, outer);
}

static void put_work(struct buf *b, const struct fakeray_work *w, uint32_t which)
{
    char label[FAKERAY_NAME];
    if (!w->waiting)
        return;
    if (!w->together) {
        put_request(b, 4, w->cpus, w->waiting, NULL);
        return;
    }
    size_t at = proto_open(b, 5);
    snprintf(label, sizeof label, "_PG_%036u", which);
    for (uint32_t i = 0; i < w->count; i++)
        put_request(b, 1, w->cpus, 0, label);
    char details[FAKERAY_NAME + 32];
    snprintf(details, sizeof details, "%036u:STRICT_SPREAD|PENDING", which);
    proto_put_bytes(b, 2, slice_of(details));
    proto_close(b, at);
}

static void write_state(struct fakeray *h)
{
    struct buf *b = &h->state;
    char session[FAKERAY_TEXT];
    place_work(h);
    buf_clear(b);
    size_t state = proto_open(b, 1);
    proto_put_int(b, 1, h->fake.states + 1);
    for (const struct fakeray_node *n = h->nodes; n; n = n->next)
        put_node(b, h, n);
    for (uint32_t i = 0; i < FAKERAY_WORKS; i++)
        put_work(b, &h->works[i], i);
    if (h->asked_for.count) {
        size_t at = proto_open(b, 6);
        put_request(b, 1, h->asked_for.cpus, h->asked_for.count, NULL);
        proto_close(b, at);
    }
    snprintf(session, sizeof session, "session_%s_%u", h->pod, h->sessions);
    proto_put_bytes(b, 7, slice_of(session));
    proto_close(b, state);
    h->fake.state = buf_slice(b);
}

/* ---- what it is asked ---- */

static void on_drain(struct fakeray *h, struct slice message)
{
    enum { PREEMPTION = 2 };
    struct slice id = SLICE_NONE;
    int64_t reason = 0;
    struct err e = {0};
    for (struct proto_field f; proto_next(&message, &f, &e);) {
        if (f.number == 1)
            proto_bytes(&f, &id, &e);
        else if (f.number == 2)
            proto_int(&f, &reason, &e);
    }
    struct fakeray_node *n = h->nodes;
    while (n && !slice_eq(id, (struct slice){n->id, sizeof n->id}))
        n = n->next;
    place_work(h);
    bool no = h->refuses || (n && n->works && reason != PREEMPTION);
    h->strange += !n;
    h->refused_drains += h->refuses;
    h->declined += no;
    h->accepted += !no;
    h->preempted += !no && n && n->works;
    if (n && !no && n->works && h->lingers)
        n->drains = true;
    else if (n && !no)
        end(h, n);
    h->fake.drain = no ? SLICE("\x12\x30The node to be idle terminated is no longer idle") : SLICE("\x08\x01");
}

static void on_asked(struct fakehead *fake, const char *method, struct slice message)
{
    struct fakeray *h = (struct fakeray *)fake;
    if (strcmp(method, "DrainNode") == 0) {
        on_drain(h, message);
    } else if (strcmp(method, "GetClusterResourceState") == 0) {
        int64_t gap = now_of(h) - h->asked_ms;
        h->longest_ms = h->asked_ms && gap > h->longest_ms ? gap : h->longest_ms;
        h->asked_ms = now_of(h);
        if (!h->stale || slice_empty(h->fake.state))
            write_state(h);
        else
            h->repeated++;
        if (h->message.ptr)
            h->fake.state = h->message;
    }
}

/* ---- clusters ---- */

struct fakeray *fakeray_of(struct world *w, const char *kind, const char *ns, const char *cluster)
{
    struct fakeray *h = w->rays->first;
    while (h && !(strcmp(h->kind, kind) == 0 && strcmp(h->ns, ns) == 0 && strcmp(h->cluster, cluster) == 0))
        h = h->next;
    if (h)
        return h;
    h = mem_alloc(sizeof *h);
    h->world = w;
    h->fake.asked = on_asked;
    h->fake.dash = w->rays->dash;
    buf_init(&h->state, STATE_MAX);
    snprintf(h->kind, sizeof h->kind, "%s", kind);
    snprintf(h->ns, sizeof h->ns, "%s", ns);
    snprintf(h->cluster, sizeof h->cluster, "%s", cluster);
    h->next = w->rays->first;
    w->rays->first = h;
    return h;
}

static void begin(struct fakeray *h)
{
    h->began_ms = now_of(h);
    if (h->world->rays->began)
        h->world->rays->began(h);
}

void fakeray_restart(struct fakeray *h)
{
    fakerays_cut(h->world, h, 256);
    forget_nodes(h);
    h->sessions++;
    begin(h);
}

static struct fakeray_pod *find_pod(struct world *w, const char *uid)
{
    struct fakeray_pod *p = w->rays->pods;
    while (p && !(p->of && strcmp(p->uid, uid) == 0))
        p = p->next;
    return p;
}

void fakeray_container_ends(struct world *w, const char *uid)
{
    struct fakeray_pod *p = find_pod(w, uid);
    if (p && p->head) {
        p->of->down = true;
        fakeray_restart(p->of);
    }
    for (struct fakeray_node *n = p ? p->of->nodes : NULL; n; n = n->next)
        n->dead |= strcmp(n->pod.uid, uid) == 0;
    if (p)
        p->ended = true;
}

/* What is listed of its earlier life stays so, and what begins now is another node. */
void fakeray_container_begins(struct world *w, const char *uid)
{
    struct fakeray_pod *p = find_pod(w, uid);
    if (!p)
        return;
    for (struct fakeray_node *n = p->of->nodes; n; n = n->next)
        if (strcmp(n->pod.uid, uid) == 0)
            n->pod.uid[0] = '\0';
    p->ended = false;
    p->lives++;
    if (p->head) {
        p->of->down = false;
        begin(p->of);
    } else {
        p->since_ms = now_of(p->of);
    }
}

/* ---- pods ---- */

static void copy(char *to, size_t size, struct slice from)
{
    snprintf(to, size, "%.*s", SLICE_ARG(from));
}

static struct fakeray *parent_of(struct fakerays *h, struct jval pod, struct slice ns)
{
    struct jval k, owner;
    for (struct jiter it = json_iter(json_get(pod, "metadata.ownerReferences")); json_next(&it, &k, &owner);) {
        struct slice kind = json_get_str(owner, "apiVersion", &h->arena);
        kind = arena_dup(&h->arena, slice_cut(&kind, '/'));
        if (!json_str_eq(json_get(owner, "kind"), SLICE("RayCluster")))
            continue;
        struct slice name = arena_dup(&h->arena, json_get_str(owner, "name", &h->arena));
        return fakeray_of(h->world, kind.ptr, arena_dup(&h->arena, ns).ptr, name.ptr);
    }
    return NULL;
}

int64_t fakeray_flag(struct slice pod, const char *flag, int64_t usual)
{
    for (ptrdiff_t at = slice_find_text(pod, flag); at >= 0; at = slice_find_text(pod, flag)) {
        pod = slice_skip(pod, (size_t)at + strlen(flag));
        usual = strtol(pod.ptr + (pod.ptr[0] == '\''), NULL, 10);
    }
    return usual;
}

/* Its head is the pod that came last: the one before it may still be going. */
static void follow_head(struct fakeray *h)
{
    const struct fakeray_pod *head = NULL;
    for (const struct fakeray_pod *p = h->world->rays->pods; p; p = p->next)
        if (p->of == h && p->head && p->runs && (!head || p->since_ms > head->since_ms))
            head = p;
    if (head && strcmp(h->pod, head->uid) != 0) {
        copy(h->pod, sizeof h->pod, slice_of(head->uid));
        h->down = false;
        fakeray_restart(h);
    }
    if (head) { /* its address is another when the store has gone back to before it had one */
        copy(h->ip, sizeof h->ip, slice_of(head->ip));
        h->gcs = head->gcs;
        h->dash = head->dash;
    } else if (h->pod[0]) {
        h->pod[0] = h->ip[0] = '\0';
        fakerays_cut(h->world, h, 256);
    }
}

static void read_pod(struct fakerays *h, struct fakeray_pod *p, const struct apiserver_change *c)
{
    struct json doc;
    struct err e = {0};
    struct arena *a = &h->arena;
    if (!json_parse(&doc, c->json, a, &e))
        fatal("fakeray: a stored pod: %s", e.text);
    struct jval pod = json_root(&doc), labels = json_get(pod, "metadata.labels");
    copy(p->uid, sizeof p->uid, c->uid);
    copy(p->name, sizeof p->name, c->name);
    copy(p->group, sizeof p->group, json_str(json_key(labels, SLICE(RAY_LABEL_GROUP)), a));
    copy(p->ip, sizeof p->ip, json_get_str(pod, "status.podIP", a));
    int64_t replica = 0;
    slice_int(json_str(json_key(labels, SLICE(RAY_LABEL_REPLICA_INDEX)), a), &replica);
    p->replica = (int32_t)replica;
    p->of = parent_of(h, pod, c->ns);
    p->head = json_str_eq(json_key(labels, SLICE(RAY_LABEL_NODE_TYPE)), SLICE("head"));
    p->gcs = (uint16_t)fakeray_flag(c->json, " --port=", 6379);
    p->dash = (uint16_t)fakeray_flag(c->json, " --dashboard-port=", 8265);
    bool ran = p->runs;
    p->runs = c->what != APISERVER_DELETED && json_str_eq(json_get(pod, "status.phase"), SLICE("Running"));
    p->since_ms = ran ? p->since_ms : h->world->now.mono_ms;
}

void fakerays_changed(struct fakerays *h, const struct apiserver_change *c)
{
    if (!slice_eq(c->plural, SLICE("pods")))
        return;
    struct fakeray_pod **at = &h->pods, *p;
    while (*at && !slice_eq(slice_of((*at)->uid), c->uid))
        at = &(*at)->next;
    arena_reset(&h->arena, 256 * KIB);
    if (!*at)
        *at = mem_alloc(sizeof **at);
    p = *at;
    read_pod(h, p, c);
    if (p->of && p->head)
        follow_head(p->of);
    if (c->what != APISERVER_DELETED)
        return;
    *at = p->next;
    mem_free(p);
}

static void on_change(struct apiserver_observer *o, const struct apiserver_change *c)
{
    fakerays_changed((struct fakerays *)o, c);
}

/* ---- life ---- */

void fakerays_begin(struct world *w, bool observe)
{
    struct fakerays *h = w->rays = mem_alloc(sizeof *h);
    h->world = w;
    h->observer.changed = on_change;
    apiserver_put_behind(w->server, (struct apiserver_backend){fakerays_serve, h});
    if (observe)
        apiserver_observe(w->server, &h->observer);
}

void fakerays_free(struct fakerays *h)
{
    if (!h)
        return;
    for (struct fakeray *one = h->first, *next; one; one = next) {
        next = one->next;
        forget_nodes(one);
        buf_free(&one->state);
        mem_free(one);
    }
    for (struct fakeray_pod *p = h->pods, *next; p; p = next) {
        next = p->next;
        mem_free(p);
    }
    arena_free(&h->arena);
    mem_free(h);
}
