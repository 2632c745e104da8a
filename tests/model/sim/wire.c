/* Connections. A wire carries pieces of bytes both ways, each with the time it arrives at; it is cut, falls silent or is closed at either
 * end without the other end's knowing at once. What the operator writes is read along the way, so that each request is known as one: when
 * it was sent, when it came, and what is to become of it. */
#include "wire.h"

#include "fakeray.h"

enum { SILENCE_MS = 45 * 1000 }; /* after which the kernel gives a silent connection up: TCP_USER_TIMEOUT and the keepalives */

/* ---- pieces ---- */

int64_t wire_delay_ms(struct world *w)
{
    int64_t ms = w->path.latency_ms + (w->path.jitter_ms ? (int64_t)rng_below(&w->rng, (uint64_t)w->path.jitter_ms + 1) : 0);
    w->hits.delayed += ms > 0;
    return ms;
}

/* A socket takes what it likes of what it is given; while something of before is in it, it may take nothing. */
size_t wire_room(struct world *w, size_t room, size_t in_flight)
{
    uint32_t most = w->path.piece_max;
    if (!most || !room)
        return room;
    size_t n = in_flight && rng_below(&w->rng, 2) ? 0 : 1 + (size_t)rng_below(&w->rng, most);
    w->hits.pieces += n < room;
    return n < room ? n : room;
}

static void push(struct world *w, struct queue *q, enum what what, struct slice bytes)
{
    struct piece *p = mem_alloc(sizeof *p + bytes.len);
    int64_t due = w->now.mono_ms + wire_delay_ms(w);
    q->last_due_ms = due > q->last_due_ms ? due : q->last_due_ms;
    p->what = what;
    p->due_ms = q->last_due_ms;
    p->serial = w->pieces++;
    p->len = bytes.len;
    if (bytes.len)
        memcpy(p->bytes, bytes.ptr, bytes.len);
    *(q->first ? &q->last->next : &q->first) = p;
    q->last = p;
    q->bytes += bytes.len;
}

void wire_push(struct world *w, struct queue *q, struct slice bytes)
{
    while (bytes.len) {
        uint32_t most = w->path.piece_max;
        struct slice head = slice_head(bytes, most ? 1 + (size_t)rng_below(&w->rng, most) : bytes.len);
        w->hits.pieces += head.len < bytes.len;
        push(w, q, PIECE_BYTES, head);
        bytes = slice_skip(bytes, head.len);
    }
}

static struct piece *take(struct queue *q, int64_t now_ms)
{
    struct piece *p = q->first;
    if (!p || p->due_ms > now_ms)
        return NULL;
    q->first = p->next;
    q->bytes -= p->len;
    return p;
}

static void drain(struct queue *q)
{
    for (struct piece *p; (p = take(q, TIME_NEVER)) != NULL;)
        mem_free(p);
}

/* ---- the two ends ---- */

static void server_closes(struct world *w, struct wire *x)
{
    if (x->conn)
        apiserver_disconnect(w->server, x->conn);
    x->conn = NULL;
}

/* In order: after what it has sent. */
static void server_ends(struct world *w, struct wire *x)
{
    if (x->theirs)
        secure_close(w, x, x->theirs);
    push(w, &x->down, PIECE_END, SLICE_NONE);
    server_closes(w, x);
}

void wire_tell(struct link *l, enum link_state state, enum err_code code, const char *why)
{
    if (l->state != LINK_OPEN && l->state != LINK_OPENING)
        return;
    l->state = state;
    if (state == LINK_FAILED)
        err_set(&l->error, code, "%s", why);
    net_wake(l);
}

/* At once, for both ends. commit: what is on its way to the server still arrives. */
static void break_off(struct world *w, struct wire *x, bool commit)
{
    x->broken = true;
    drain(&x->down);
    if (!commit || x->silent) {
        drain(&x->up);
        server_closes(w, x);
    } else {
        push(w, &x->up, PIECE_END, SLICE_NONE);
    }
    if (x->link)
        wire_tell(&x->link->link, LINK_FAILED, ERR_CLOSED, "the world cut the connection");
}

static void fall_silent(struct world *w, struct wire *x)
{
    if (x->silent)
        return;
    x->silent = true;
    x->dies_ms = w->now.mono_ms + SILENCE_MS;
    drain(&x->up);
    drain(&x->down);
}

static int status_of(struct slice answer)
{
    int64_t status = 0;
    if (answer.len > 12)
        slice_int((struct slice){answer.ptr + 9, 3}, &status);
    return (int)status;
}

static void feed(struct world *w, struct wire *x, struct slice bytes)
{
    apiserver_feed(w->server, x->conn, bytes, w->now);
}

/* The server sees the last bytes of a request, under the fate that was decided for it. */
static void feed_last(struct world *w, struct wire *x, struct world_request *q, struct slice bytes)
{
    struct apiserver_override *ordered = &apiserver_faults(w->server)->next, kept = *ordered;
    if (q->fate == FATE_REFUSED)
        *ordered = (struct apiserver_override){q->method, q->target, q->status, q->reason, NULL, q->retry_after_s, q->commit, 1};
    feed(w, x, bytes);
    if (q->fate == FATE_REFUSED)
        *ordered = kept;
    struct slice answer = apiserver_output(x->conn);
    if (w->hooks && w->hooks->answered)
        w->hooks->answered(w->hooks, q, status_of(answer), answer);
    if (q->delay_ms)
        x->down.last_due_ms = w->now.mono_ms + q->delay_ms;
    if (q->fate == FATE_ANSWER_CUT)
        x->cut = q->bytes;
    else if (q->fate == FATE_ANSWER_LOST)
        x->cut = 0;
    else if (q->fate == FATE_SILENCE)
        fall_silent(w, x);
}

static void arrive(struct world *w, struct wire *x, struct world_request *q, struct slice bytes)
{
    if (w->hooks && w->hooks->arrived)
        w->hooks->arrived(w->hooks, q);
    costs_arrived(w, q);
    count_request(w, q);
    if (q->kill_before && q->from->op)
        world_crash(w, q->from->number);
    if (q->fate == FATE_LOST || q->kill_before) {
        break_off(w, x, false);
    } else if (q->fate == FATE_SILENCE && !q->commit) {
        fall_silent(w, x);
    } else {
        feed_last(w, x, q, bytes);
        if (q->kill_behind && q->from->op)
            world_crash(w, q->from->number);
    }
}

/* Bytes have come to the server. */
static void serve(struct world *w, struct wire *x, struct slice bytes)
{
    while (bytes.len && x->conn && !x->silent) {
        struct world_request *q = x->requests;
        bool last = q && q->end <= x->fed + bytes.len;
        struct slice now = last ? slice_head(bytes, (size_t)(q->end - x->fed)) : bytes;
        x->fed += now.len;
        bytes = slice_skip(bytes, now.len);
        if (!last) {
            feed(w, x, now);
            continue;
        }
        x->requests = q->next;
        arrive(w, x, q, now);
        request_free(q);
    }
}

/* ---- moving ---- */

static bool move_up(struct world *w, struct wire *x)
{
    bool moved = false;
    for (struct piece *p; (p = take(&x->up, w->now.mono_ms)) != NULL; mem_free(p)) {
        struct slice bytes = {p->bytes, p->len};
        moved = true;
        if (p->what != PIECE_BYTES)
            server_closes(w, x);
        else if (!x->theirs)
            serve(w, x, bytes);
        else if (x->conn && !secure_up(w, x, bytes, serve))
            server_ends(w, x);
    }
    if (moved && x->link)
        net_wake(&x->link->link); /* there is room again */
    return moved;
}

static size_t room_down(const struct wire *x)
{
    size_t used = x->down.bytes + (x->link ? x->link->in.len : 0);
    return used < WORLD_BUFFER ? WORLD_BUFFER - used : 0;
}

/* What the server wants to send begins its way. */
static bool take_output(struct world *w, struct wire *x)
{
    if (!x->conn || x->silent || (x->theirs && tls_state(x->theirs) != TLS_OPEN))
        return false;
    struct slice out = apiserver_output(x->conn);
    bool swallow = !x->link || x->broken;
    size_t n = swallow || out.len < room_down(x) ? out.len : room_down(x);
    if (x->cut >= 0 && (int64_t)n > x->cut)
        n = (size_t)x->cut;
    if (n && !swallow && x->theirs)
        secure_write(w, x, x->theirs, slice_head(out, n), x->cut == (int64_t)n);
    else if (n && !swallow)
        wire_push(w, &x->down, slice_head(out, n));
    if (n)
        apiserver_sent(w->server, x->conn, n, w->now);
    if (x->cut >= 0 && (x->cut -= (int64_t)n) == 0) {
        push(w, &x->down, PIECE_RESET, SLICE_NONE);
        server_closes(w, x);
        return true;
    }
    if (apiserver_wants_close(x->conn) && apiserver_output(x->conn).len == 0) {
        server_ends(w, x);
        return true;
    }
    return n > 0;
}

static bool move_down(struct world *w, struct wire *x)
{
    bool moved = false;
    for (struct piece *p; (p = take(&x->down, w->now.mono_ms)) != NULL; mem_free(p)) {
        if (!x->link)
            continue;
        moved = true;
        if (x->ours && p->what == PIECE_BYTES) {
            secure_down(w, x, (struct slice){p->bytes, p->len});
        } else if (x->ours && p->what == PIECE_END) {
            secure_ended(w, x);
        } else if (p->what == PIECE_BYTES) {
            buf_put(&x->link->in, (struct slice){p->bytes, p->len});
            net_wake(&x->link->link);
        } else {
            bool reset = p->what == PIECE_RESET;
            wire_tell(&x->link->link, reset ? LINK_FAILED : LINK_ENDED, ERR_CLOSED, "the world cut the connection");
        }
    }
    return moved;
}

static void open_now(struct world *w, struct wire *x)
{
    x->opened = true;
    if (x->refused || w->unreachable) {
        w->hits.refused++;
        wire_tell(&x->link->link, LINK_FAILED, ERR_CONNECT, "connect to 10.0.0.1:443: refused");
        return;
    }
    x->conn = apiserver_connect(w->server);
    if (w->tls) {
        secure_open(w, x);
        return;
    }
    x->link->link.state = LINK_OPEN;
    net_wake(&x->link->link);
}

static bool is_frozen(const struct process *p)
{
    return p->world->now.mono_ms < p->frozen_until_ms;
}

/* Deadlines that the owner set, by its clock. */
static int64_t link_deadline(const struct wire *x)
{
    const struct link *l = x->link ? &x->link->link : NULL;
    bool waits = l && (l->state == LINK_OPEN || l->state == LINK_OPENING) && l->deadline_ms != TIME_NEVER;
    return waits && !is_frozen(x->process) ? l->deadline_ms - x->process->ahead_ms : TIME_NEVER;
}

static bool move_one(struct world *w, struct wire *x)
{
    bool moved = false;
    if (!x->opened && x->link && x->open_ms <= w->now.mono_ms) {
        open_now(w, x);
        moved = true;
    }
    if (!x->opened && x->link && x->dies_ms <= w->now.mono_ms) {
        x->opened = true;
        wire_tell(&x->link->link, LINK_FAILED, ERR_CONNECT, "connect to 10.0.0.1:443: no answer");
        moved = true;
    }
    if (x->silent && x->dies_ms <= w->now.mono_ms && !x->broken) {
        break_off(w, x, false);
        moved = true;
    }
    moved |= move_up(w, x);
    moved |= take_output(w, x);
    moved |= move_down(w, x);
    if (link_deadline(x) <= w->now.mono_ms) {
        wire_tell(&x->link->link, LINK_FAILED, ERR_TIMEOUT, "deadline passed");
        moved = true;
    }
    return moved;
}

static void wire_free(struct world *w, struct wire *x)
{
    server_closes(w, x);
    drain(&x->up);
    drain(&x->down);
    requests_free(x);
    http_reader_free(&x->tap);
    secure_free(x);
    mem_free(x);
}

static bool is_over(const struct wire *x)
{
    return !x->link && (!x->conn || (x->broken && !x->up.first));
}

bool wires_move(struct world *w)
{
    bool moved = false;
    for (struct wire **at = &w->wires, *x; (x = *at) != NULL;) {
        moved |= move_one(w, x);
        if (is_over(x)) {
            *at = x->next;
            wire_free(w, x);
        } else {
            at = &x->next;
        }
    }
    return moved;
}

int64_t wires_deadline(const struct world *w)
{
    int64_t next = TIME_NEVER;
    for (const struct wire *x = w->wires; x; x = x->next) {
        next = earlier(next, link_deadline(x));
        if (!x->opened && x->link)
            next = earlier(next, earlier(x->open_ms, x->dies_ms));
        if (x->silent && !x->broken)
            next = earlier(next, x->dies_ms);
        if (x->up.first)
            next = earlier(next, x->up.first->due_ms);
        if (x->down.first)
            next = earlier(next, x->down.first->due_ms);
    }
    return next;
}

/* ---- as a link ---- */

static struct slice link_in(struct link *l)
{
    return buf_slice(&((struct wire_link *)l)->in);
}

static void link_took(struct link *l, size_t n)
{
    if (n)
        buf_drop(&((struct wire_link *)l)->in, n);
}

static char *link_out(struct link *l, size_t *n)
{
    struct wire_link *me = (struct wire_link *)l;
    size_t used = me->wire->up.bytes;
    *n = wire_room(me->wire->process->world, l->state == LINK_OPEN && used < WORLD_BUFFER ? WORLD_BUFFER - used : 0, used);
    return buf_room(&me->out, WORLD_BUFFER);
}

static void link_wrote_bytes(struct link *l, size_t n)
{
    struct wire_link *me = (struct wire_link *)l;
    struct wire *x = me->wire;
    struct world *w = x->process->world;
    struct slice bytes = {me->out.ptr, n};
    overhear(w, x, bytes);
    if (x->ours)
        secure_write(w, x, x->ours, bytes, false);
    else if (!x->silent)
        wire_push(w, &x->up, bytes);
}

static void link_gone(struct link *l)
{
    struct wire_link *me = (struct wire_link *)l;
    struct wire *x = me->wire;
    net_forget(l);
    if (x->ours)
        secure_close(x->process->world, x, x->ours);
    if (!x->silent && !x->broken)
        push(x->process->world, &x->up, PIECE_END, SLICE_NONE);
    x->link = NULL;
    mem_wipe(me->in.ptr, me->in.cap); /* as the operator's net does */
    mem_wipe(me->out.ptr, me->out.cap);
    buf_free(&me->in);
    buf_free(&me->out);
    mem_free(me);
}

static struct link *link_new(struct net *n, const struct endpoint *to, struct link_owner *owner, int64_t deadline_ms, struct err *e)
{
    static const struct link_ops ops = {link_in, link_took, link_out, link_wrote_bytes, link_gone};
    struct process *p = (struct process *)n;
    struct world *w = p->world;
    if (w->full) {
        w->hits.none++;
        err_set(e, ERR_LIMIT, "no connection to %.*s:%u: the world is full", SLICE_ARG(to->host), to->port);
        return NULL;
    }
    if (w->far && slice_eq(to->host, SLICE(WORLD_FAR)))
        return w->far->open(w->far, p, owner, deadline_ms);
    if (w->rays && !slice_eq(to->host, SLICE(WORLD_SERVER)))
        return fakerays_open(p, to, owner, deadline_ms);
    struct wire *x = mem_alloc(sizeof *x);
    struct wire_link *l = mem_alloc(sizeof *l);
    l->link = (struct link){.ops = &ops, .net = n, .owner = owner, .deadline_ms = deadline_ms, .state = LINK_OPENING};
    l->wire = x;
    buf_init(&l->in, 2 * WORLD_BUFFER);
    buf_init(&l->out, WORLD_BUFFER);
    x->process = p;
    x->link = l;
    x->cut = -1;
    http_reader_init(&x->tap, HTTP_REQUESTS);
    bool answers = !w->hooks || !w->hooks->connect || w->hooks->connect(w->hooks, p);
    x->dies_ms = w->now.mono_ms + NET_CONNECT_MS;
    x->open_ms = answers ? w->now.mono_ms + wire_delay_ms(w) : TIME_NEVER;
    x->refused = w->unreachable;
    x->next = w->wires;
    w->wires = x;
    if (x->open_ms <= w->now.mono_ms)
        open_now(w, x);
    return &l->link;
}

const struct net_ops wire_net_ops = {link_new};

/* ---- from outside ---- */

uint32_t world_cut_all(struct world *w)
{
    uint32_t n = 0;
    for (struct wire *x = w->wires; x; x = x->next)
        if (x->opened) {
            n += x->link && !x->broken;
            break_off(w, x, false);
        }
    return n;
}

uint32_t world_silence(struct world *w, uint32_t share)
{
    uint32_t n = 0;
    for (struct wire *x = w->wires; x; x = x->next)
        if (x->opened && !x->broken && rng_below(&w->rng, 256) < share) {
            n += x->link && !x->silent;
            fall_silent(w, x);
        }
    return n;
}

uint32_t world_break(struct world *w, uint32_t share, bool commit)
{
    uint32_t n = 0;
    for (struct wire *x = w->wires; x; x = x->next)
        if (x->opened && !x->broken && rng_below(&w->rng, 256) < share) {
            n += x->link != NULL;
            break_off(w, x, commit);
        }
    return n;
}

uint32_t world_links_of(const struct process *p)
{
    uint32_t n = 0;
    for (const struct wire *x = p->world->wires; x; x = x->next)
        n += x->process == p && x->link;
    return n;
}

void wires_forget_pieces(struct world *w, const struct process *p, uint64_t since, uint64_t until)
{
    for (struct wire *x = w->wires; x; x = x->next) {
        struct queue kept = {.last_due_ms = x->up.last_due_ms};
        if (x->process != p)
            continue;
        for (struct piece *piece; (piece = take(&x->up, TIME_NEVER)) != NULL;) {
            if (piece->what == PIECE_BYTES && piece->serial >= since && piece->serial < until) {
                mem_free(piece);
                continue;
            }
            piece->next = NULL;
            *(kept.first ? &kept.last->next : &kept.first) = piece;
            kept.last = piece;
            kept.bytes += piece->len;
        }
        x->up = kept;
    }
}

void wires_free(struct world *w)
{
    for (struct wire *x = w->wires, *next; x; x = next) {
        next = x->next;
        wire_free(w, x);
    }
    w->wires = NULL;
}
