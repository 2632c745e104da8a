#include "plane.h"

#include "wire.h"

#include <stdio.h>

enum { ROOM = 64 * KIB, BODY_MAX = 2 * MIB };

struct plane_link {
    struct link link; /* first */
    struct plane *plane;
    struct plane_link *next;
    char room[ROOM];
    struct http_reader reader;
    struct buf body, in; /* in: to the operator */
    char *request;       /* one that waits for its answer; NULL: none */
    int64_t due_ms;      /* when it is answered at the latest */
};

/* ---- workloads ---- */

static char *copy(struct slice s)
{
    char *p = mem_alloc(s.len + 1);
    if (s.len)
        memcpy(p, s.ptr, s.len);
    return p;
}

static void workload_free(struct plane_workload *x)
{
    mem_free(x->spec);
    mem_free(x->status);
    mem_free(x->states);
    mem_free(x);
}

struct plane_workload *plane_find(const struct plane *p, struct slice uid)
{
    struct plane_workload *x = p->first;
    while (x && !slice_eq(slice_of(x->uid), uid))
        x = x->next;
    return x;
}

struct plane_workload *plane_put(struct plane *p, char uid, const char *project, const char *name, const char *spec)
{
    char text[40];
    snprintf(text, sizeof text, "%c%c%c%c%c%c%c%c-0000-4000-8000-000000000000", uid, uid, uid, uid, uid, uid, uid, uid);
    struct plane_workload *x = plane_find(p, slice_of(text));
    if (!x) {
        x = mem_alloc(sizeof *x);
        snprintf(x->uid, sizeof x->uid, "%s", text);
        snprintf(x->project, sizeof x->project, "%s", project);
        snprintf(x->name, sizeof x->name, "%s", name);
        x->states = copy(SLICE(""));
        x->next = p->first;
        p->first = x;
    }
    mem_free(x->spec);
    x->spec = copy(slice_of(spec));
    x->generation++;
    x->changed = ++p->revision;
    return x;
}

void plane_delete(struct plane *p, struct plane_workload *x)
{
    x->deleted = true;
    x->changed = ++p->revision;
}

void plane_lose(struct plane *p, struct plane_workload *x)
{
    struct plane_workload **at = &p->first;
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    workload_free(x);
    p->oldest = ++p->revision;
}

struct slice plane_says(const struct plane *p, const struct plane_workload *x, const char *path)
{
    struct json *doc = arena_new(&p->world->arena, struct json);
    struct err e = {0};
    if (!x || !x->status || !json_parse(doc, slice_of(x->status), &p->world->arena, &e))
        return SLICE("");
    struct slice said = json_get_str(json_root(doc), path, &p->world->arena);
    return said.ptr ? said : SLICE("");
}

/* ---- the call ---- */

static void take_status(struct plane *p, struct jval status)
{
    struct arena a = {0};
    struct plane_workload *x = plane_find(p, json_get_str(status, "uid", &a));
    struct slice state = json_get_str(status, "state", &a);
    if (x && json_get_int(status, "generation", 0) >= 0) {
        mem_free(x->status);
        x->status = copy(json_raw(status));
        x->reports++;
        x->observed = json_get_int(status, "generation", 0);
        if (!slice_ends(slice_of(x->states), state)) {
            char *longer = copy(arena_printf(&a, "%s%s%.*s", x->states, *x->states ? " " : "", SLICE_ARG(state)));
            mem_free(x->states);
            x->states = longer;
        }
        if (x->deleted && slice_eq(state, SLICE("DELETED")))
            plane_lose(p, x);
    }
    arena_free(&a);
}

/* How it has ended, as the hub has it. */
static const char *over_of(const struct plane_workload *x)
{
    static const char *const words[] = {"SUCCEEDED", "FAILED", "TERMINATED"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (slice_ends(slice_of(x->states), slice_of(words[i])))
            return words[i];
    return NULL;
}

static void write_workload(struct buf *b, const struct plane_workload *x)
{
    if (x->deleted) {
        buf_printf(b, "{\"uid\":\"%s\",\"delete\":true}", x->uid);
        return;
    }
    buf_printf(b, "{\"uid\":\"%s\",\"project\":\"%s\",\"name\":\"%s\",\"generation\":%lld,\"spec\":%s", x->uid, x->project, x->name,
               (long long)x->generation, x->spec);
    if (over_of(x))
        buf_printf(b, ",\"state\":\"%s\",\"observedGeneration\":%lld", over_of(x), (long long)x->observed);
    buf_putc(b, '}');
}

/* Workloads in the order of their uids, so that a page can say where it ends. */
static const struct plane_workload *next_by_uid(const struct plane *p, const char *after)
{
    const struct plane_workload *best = NULL;
    for (const struct plane_workload *x = p->first; x; x = x->next)
        if (strcmp(x->uid, after) > 0 && (!best || strcmp(x->uid, best->uid) < 0))
            best = x;
    return best;
}

/* Returns how many workloads it holds. */
static uint32_t write_answer(struct plane *p, struct slice revision, struct buf *b)
{
    struct slice rest = revision, first = slice_cut(&rest, '.');
    int64_t since = 0;
    char after[40] = "";
    bool number = slice_int(first, &since), paged = rest.ptr != NULL;
    bool full = paged || !number || (uint64_t)since < p->oldest || (uint64_t)since > p->revision, more = false;
    uint32_t count = 0;
    struct buf list;
    buf_init(&list, BODY_MAX);
    slice_copy(rest, after, sizeof after);
    const struct plane_workload *x;
    while ((x = next_by_uid(p, after)) != NULL) {
        if (!full && x->changed <= (uint64_t)since) {
            snprintf(after, sizeof after, "%s", x->uid);
            continue;
        }
        if (full && p->page && count == p->page) {
            more = true;
            break;
        }
        if (count++)
            buf_putc(&list, ',');
        write_workload(&list, x);
        snprintf(after, sizeof after, "%s", x->uid);
    }
    buf_printf(b, "{\"protocol\":1,\"revision\":\"%llu", (unsigned long long)p->revision);
    if (more)
        buf_printf(b, ".%s", after);
    buf_printf(b, "\",\"full\":%s,\"more\":%s,\"workloads\":[%.*s],\"questions\":%s}", full ? "true" : "false", more ? "true" : "false",
               SLICE_ARG(buf_slice(&list)), p->questions ? p->questions : "[]");
    buf_free(&list);
    p->full += full && !paged;
    return count + full + (p->questions != NULL);
}

static void send_answer(struct plane_link *l, int status, struct slice body)
{
    const struct plane *p = l->plane;
    const struct http_header headers[] = {{SLICE("Content-Type"), SLICE("application/json")}, {SLICE("Retry-After"), slice_of(p->headers)}};
    http_write_response(&l->in, status, headers, p->headers ? 2 : 1, &body);
    mem_free(l->request);
    l->request = NULL;
    net_wake(&l->link);
}

static bool answer(struct plane_link *l, bool due)
{
    struct plane *p = l->plane;
    struct json doc;
    struct err e = {0};
    struct arena a = {0};
    struct buf b;
    buf_init(&b, BODY_MAX);
    bool sent = false;
    if (p->status || p->text) {
        send_answer(l, p->status ? p->status : 200, slice_of(p->text));
        sent = true;
    } else if (json_parse(&doc, slice_of(l->request), &a, &e)) {
        sent = write_answer(p, json_get_str(json_root(&doc), "revision", &a), &b) || due;
        if (sent) {
            send_answer(l, 200, buf_slice(&b));
            p->questions = NULL;
        }
    }
    arena_free(&a);
    buf_free(&b);
    return sent;
}

static void take_request(struct plane_link *l)
{
    struct plane *p = l->plane;
    struct json doc;
    struct err e = {0};
    struct arena a = {0};
    struct jval k, v;
    p->calls++;
    if (!json_parse(&doc, buf_slice(&l->body), &a, &e) || !json_str_eq(json_get(json_root(&doc), "cloud"), SLICE(PLANE_CLOUD))) {
        p->broken++;
        send_answer(l, 400, SLICE("{}"));
    } else {
        if (!p->status && !p->text)
            for (struct jiter it = json_iter(json_get(json_root(&doc), "statuses")); json_next(&it, &k, &v);)
                take_status(p, v);
        if (json_len(json_get(json_root(&doc), "answers")))
            p->answered = arena_dup(&p->world->arena, json_raw(json_get(json_root(&doc), "answers"))).ptr;
        if (json_len(json_get(json_root(&doc), "reports")))
            p->reported = arena_dup(&p->world->arena, json_raw(json_get(json_root(&doc), "reports"))).ptr;
        l->request = copy(buf_slice(&l->body));
        l->due_ms = p->world->now.mono_ms + json_get_int(json_root(&doc), "wait", 0) * 1000;
        p->held += !answer(l, l->due_ms <= p->world->now.mono_ms);
    }
    buf_clear(&l->body);
    arena_free(&a);
}

/* ---- as a link ---- */

static struct slice plane_peek(struct link *l)
{
    return buf_slice(&((struct plane_link *)l)->in);
}

static void plane_used(struct link *l, size_t n)
{
    if (n)
        buf_drop(&((struct plane_link *)l)->in, n);
}

static char *plane_room(struct link *l, size_t *n)
{
    *n = l->state == LINK_OPEN ? ROOM : 0;
    return ((struct plane_link *)l)->room;
}

static void plane_wrote(struct link *link, size_t n)
{
    struct plane_link *l = (struct plane_link *)link;
    struct slice in = {l->room, n}, piece = SLICE_NONE;
    struct err e = {0};
    for (;;) {
        enum http_step step = http_read(&l->reader, &in, &piece, &e);
        if (step == HTTP_BODY)
            buf_put(&l->body, piece);
        if (step == HTTP_END)
            take_request(l);
        if (step == HTTP_BAD)
            l->plane->broken++;
        if (step == HTTP_BAD || step == HTTP_MORE)
            break;
    }
    net_wake(link);
}

static void plane_closed(struct link *link)
{
    struct plane_link *l = (struct plane_link *)link, **at = &l->plane->links;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    net_forget(link);
    http_reader_free(&l->reader);
    buf_free(&l->body);
    buf_free(&l->in);
    mem_free(l->request);
    mem_wipe(l->room, sizeof l->room);
    mem_free(l);
}

static struct link *plane_open(struct world_far *f, struct process *process, struct link_owner *owner, int64_t deadline_ms)
{
    static const struct link_ops ops = {plane_peek, plane_used, plane_room, plane_wrote, plane_closed};
    struct plane *p = (struct plane *)f;
    struct plane_link *l = mem_alloc(sizeof *l);
    uint32_t count = 1;
    l->link = (struct link){.ops = &ops, .net = &process->net, .owner = owner, .deadline_ms = deadline_ms, .state = LINK_OPENING};
    l->plane = p;
    http_reader_init(&l->reader, HTTP_REQUESTS);
    buf_init(&l->body, BODY_MAX);
    buf_init(&l->in, 4 * BODY_MAX);
    for (const struct plane_link *other = p->links; other; other = other->next)
        count++;
    p->links_most = count > p->links_most ? count : p->links_most;
    l->next = p->links;
    p->links = l;
    return &l->link;
}

static bool plane_move(struct world_far *f)
{
    struct plane *p = (struct plane *)f;
    bool moved = false;
    for (struct plane_link *l = p->links; l; l = l->next) {
        if (p->down && l->link.state != LINK_FAILED) {
            wire_tell(&l->link, LINK_FAILED, l->link.state == LINK_OPENING ? ERR_CONNECT : ERR_CLOSED,
                      "connect to the control plane: refused");
            moved = true;
        } else if (!p->down && l->link.state == LINK_OPENING) {
            l->link.state = LINK_OPEN;
            net_wake(&l->link);
            moved = true;
        } else if (l->request && !p->down) {
            moved |= answer(l, l->due_ms <= p->world->now.mono_ms);
        }
    }
    return moved;
}

static int64_t plane_deadline(const struct world_far *f)
{
    const struct plane *p = (const struct plane *)f;
    int64_t next = TIME_NEVER;
    for (const struct plane_link *l = p->links; l; l = l->next)
        if (l->request && !p->down && l->due_ms < next)
            next = l->due_ms;
    return next;
}

/* ---- life ---- */

static struct operator_plane plane_options(const struct world_far *f)
{
    const struct plane *p = (const struct plane *)f;
    return (struct operator_plane){.config = p->config,
                                   .cloud = SLICE(PLANE_CLOUD),
                                   .instance = SLICE("i"),
                                   .image = p->image ? slice_of(p->image) : SLICE(""),
                                   .policy_file = p->more.policy_file,
                                   .read_file = p->more.read_file};
}

void plane_begin(struct plane *p, struct world *w)
{
    struct err e = {0};
    *p = (struct plane){.far = {plane_open, plane_move, plane_deadline, plane_options}, .world = w, .revision = 100};
    p->config = kube_config_url(
        &(struct kube_config_url){
            .url = "http://" WORLD_FAR ":8080", .setting = "--control-plane-url", .name = "control plane", .token = SLICE("t")},
        &e);
    if (!p->config)
        fatal("plane: %s", e.text);
    w->far = &p->far;
}

void plane_free(struct plane *p)
{
    while (p->first) {
        struct plane_workload *x = p->first;
        p->first = x->next;
        workload_free(x);
    }
    kube_config_free(p->config);
}
