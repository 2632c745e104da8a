/* GetClusterResourceStateReply, from protobuf into plain structs. Field numbers are those of Ray 2.60's autoscaler.proto; 2.9 and 2.40 have
 * the same where they have the field. What is malformed anywhere gives nothing at all: half a state would look like nodes that went away,
 * or like work that was done. */
#include <mobula/grpc.h>

#include <mobula/heads.h>

#include <math.h>
#include <stdlib.h>

struct reader {
    struct arena *a;
    size_t base; /* of the arena, when this began */
    struct err e;
};

static void *take(struct reader *r, uint32_t count, size_t size)
{
    if (count > 0 && count > (LIMIT_RAY_STATE - (r->a->used - r->base)) / size) {
        err_set(&r->e, ERR_LIMIT, "the head's state needs more than %d bytes (LIMIT_RAY_STATE)", LIMIT_RAY_STATE);
        return NULL;
    }
    return count ? arena_array(r->a, count, size) : NULL;
}

/* for (struct proto_field f; next(r, &message, &f);) */
static bool next(struct reader *r, struct slice *message, struct proto_field *f)
{
    return r->e.code == ERR_NONE && proto_next(message, f, &r->e);
}

/* ---- maps ---- */

/* Both kinds of map entries: key = 1, value = 2. */
struct entry {
    struct slice key, text;
    double number;
};

static void read_entry(struct reader *r, struct slice message, bool text, struct entry *out)
{
    *out = (struct entry){.key = SLICE(""), .text = SLICE("")};
    for (struct proto_field f; next(r, &message, &f);) {
        if (f.number == 1)
            proto_text(&f, &out->key, &r->e);
        else if (f.number == 2 && text)
            proto_text(&f, &out->text, &r->e);
        else if (f.number == 2)
            proto_double(&f, &out->number, &r->e);
    }
}

/* The number is formatted for an error alone: a reply may have 100,000 of them. */
static void refuse_amount(struct reader *r, enum err_code code, const struct entry *entry, const char *limit)
{
    char text[DOUBLE_TEXT_MAX];
    err_set(&r->e, code, "the head says %.*s of resource \"%.*s\"%s", SLICE_ARG(json_double_text(entry->number, DOUBLE_SHORT, text)),
            SLICE_ARG(slice_head(entry->key, 60)), limit);
}

static int64_t quantum(struct reader *r, const struct entry *entry)
{
    double units = entry->number;
    if (isnan(units) || isinf(units) || units <= -0.5 / RAY_QUANTUM)
        refuse_amount(r, ERR_RANGE, entry, "");
    else if (units > (double)LIMIT_RAY_AMOUNT)
        refuse_amount(r, ERR_LIMIT, entry, " (LIMIT_RAY_AMOUNT)");
    return r->e.code == ERR_NONE ? (int64_t)(units * RAY_QUANTUM + 0.5) : 0;
}

static int by_name(const void *a, const void *b)
{
    return slice_cmp(((const struct ray_amount *)a)->name, ((const struct ray_amount *)b)->name);
}

/* Ray writes a map in any order. */
static void sort_amounts(struct reader *r, struct ray_amount *list, uint32_t count)
{
    if (count > 1)
        qsort(list, count, sizeof *list, by_name);
    for (uint32_t i = 1; i < count; i++)
        if (slice_eq(list[i - 1].name, list[i].name))
            err_set(&r->e, ERR_SYNTAX, "the head names resource \"%.*s\" twice", SLICE_ARG(slice_head(list[i].name, 60)));
}

enum { AVAILABLE = 4, TOTAL = 5 }; /* of a node */

/* The map of this field number, of any message. */
static struct ray_bundle read_bundle(struct reader *r, struct slice message, uint32_t number)
{
    uint32_t most = proto_count(message, number), count = 0;
    if (most > LIMIT_RAY_RESOURCES)
        err_set(&r->e, ERR_LIMIT, "the head names %u resources in one set, at most %d are read (LIMIT_RAY_RESOURCES)", most,
                LIMIT_RAY_RESOURCES);
    struct ray_amount *list = take(r, most, sizeof *list);
    struct slice bytes;
    for (struct proto_field f; next(r, &message, &f);) {
        struct entry entry;
        if (f.number != number || !proto_bytes(&f, &bytes, &r->e))
            continue;
        read_entry(r, bytes, false, &entry);
        if (number == AVAILABLE && entry.number < 0 && !isinf(entry.number))
            continue; /* older Rays: a task that had lent its CPU to others goes on beside them. There is none left */
        struct ray_amount one = {entry.key, quantum(r, &entry)};
        if (one.amount > 0)
            list[count++] = one;
    }
    sort_amounts(r, list, count);
    return (struct ray_bundle){list, count};
}

/* ---- label selectors ---- */

static void read_condition(struct reader *r, struct slice message, struct ray_condition *out)
{
    enum { IN = 1, NOT_IN = 2 };
    struct slice *values = take(r, proto_count(message, 3), sizeof *values);
    int64_t op = 0;
    for (struct proto_field f; next(r, &message, &f);) {
        if (f.number == 1)
            proto_text(&f, &out->key, &r->e);
        else if (f.number == 2)
            proto_int(&f, &op, &r->e);
        else if (f.number == 3)
            proto_text(&f, &values[out->value_count++], &r->e);
    }
    out->values = values;
    out->not_in = op == NOT_IN;
    if (op != IN && op != NOT_IN)
        out->value_count = 0; /* its meaning is unknown: one of none, which no node meets */
}

static void read_selector(struct reader *r, struct slice message, struct ray_selector *out)
{
    struct ray_condition *list = take(r, proto_count(message, 1), sizeof *list);
    struct slice bytes;
    for (struct proto_field f; next(r, &message, &f);)
        if (f.number == 1 && proto_bytes(&f, &bytes, &r->e))
            read_condition(r, bytes, &list[out->count++]);
    out->list = list;
}

/* ---- requests ---- */

/* AffinityConstraint and AntiAffinityConstraint. */
static void read_pair(struct reader *r, struct slice message, struct slice *name, struct slice *value)
{
    for (struct proto_field f; next(r, &message, &f);)
        if (f.number == 1 || f.number == 2)
            proto_text(&f, f.number == 1 ? name : value, &r->e);
}

static void read_placement(struct reader *r, struct slice message, struct ray_request *out)
{
    struct slice bytes;
    for (struct proto_field f; next(r, &message, &f);) {
        if (f.number == 1 && proto_bytes(&f, &bytes, &r->e))
            read_pair(r, bytes, &out->anti_affinity, &out->anti_affinity_value);
        else if (f.number == 2 && proto_bytes(&f, &bytes, &r->e))
            read_pair(r, bytes, &out->affinity, &out->affinity_value);
    }
}

static void read_request(struct reader *r, struct slice message, struct ray_request *out)
{
    struct ray_selector *selectors = take(r, proto_count(message, 3), sizeof *selectors);
    struct slice bytes;
    *out = (struct ray_request){0}; /* where there may be one, and there are several, the last one counts */
    out->bundle = read_bundle(r, message, 1);
    for (struct proto_field f; next(r, &message, &f);) {
        if (f.number == 2 && proto_bytes(&f, &bytes, &r->e))
            read_placement(r, bytes, out);
        else if (f.number == 3 && proto_bytes(&f, &bytes, &r->e))
            read_selector(r, bytes, &selectors[out->selector_count++]);
    }
    if (out->selector_count == 1 && selectors[0].count == 0)
        out->selector_count = 0; /* Ray always writes one */
    out->selectors = out->selector_count ? selectors : NULL;
}

/* The requests in field `number`, one beside the other. */
static const struct ray_request *read_requests(struct reader *r, struct slice message, uint32_t number, uint32_t *count)
{
    struct ray_request *list = take(r, proto_count(message, number), sizeof *list);
    struct slice bytes;
    for (struct proto_field f; next(r, &message, &f);)
        if (f.number == number && proto_bytes(&f, &bytes, &r->e))
            read_request(r, bytes, &list[(*count)++]);
    return list;
}

static void read_demand(struct reader *r, struct slice message, struct ray_demand *out)
{
    struct slice bytes;
    for (struct proto_field f; next(r, &message, &f);) {
        if (f.number == 1 && proto_bytes(&f, &bytes, &r->e))
            read_request(r, bytes, &out->request);
        else if (f.number == 2)
            proto_int(&f, &out->count, &r->e);
    }
    if (out->count < 0 || out->count > LIMIT_RAY_COUNT)
        err_set(&r->e, out->count < 0 ? ERR_RANGE : ERR_LIMIT, "the head says that %lld tasks of one shape wait (LIMIT_RAY_COUNT is %d)",
                (long long)out->count, LIMIT_RAY_COUNT);
}

/* Those in field `number`; a count of 0 is no demand. */
static struct ray_demands read_demands(struct reader *r, struct slice message, uint32_t number)
{
    struct ray_demand *list = take(r, proto_count(message, number), sizeof *list);
    uint32_t count = 0;
    struct slice bytes;
    for (struct proto_field f; next(r, &message, &f);) {
        if (f.number != number || !proto_bytes(&f, &bytes, &r->e))
            continue;
        list[count] = (struct ray_demand){0};
        read_demand(r, bytes, &list[count]);
        count += list[count].count > 0;
    }
    return (struct ray_demands){list, count};
}

/* ---- placement groups ---- */

/* The requests say STRICT_PACK and STRICT_SPREAD; only the details tell PACK from SPREAD. */
static enum ray_strategy strategy_of(const struct ray_gang *g)
{
    struct slice rest = g->details;
    slice_cut(&rest, ':');
    struct slice name = slice_cut(&rest, '|');
    if (g->count > 0 && !slice_empty(g->requests[0].anti_affinity))
        return RAY_STRICT_SPREAD;
    if (g->count > 0 && !slice_empty(g->requests[0].affinity))
        return RAY_STRICT_PACK;
    return slice_is(name, "SPREAD") ? RAY_SPREAD : RAY_PACK;
}

/* Newer heads write the same requests twice: in field 1, and in the first of the selectors in field 3, of which each further one is
 * another way to place the group. */
static void read_gang(struct reader *r, struct slice message, struct ray_gang *out)
{
    struct slice rest = message, bytes, first = SLICE_NONE;
    for (struct proto_field f; next(r, &rest, &f);) {
        if (f.number == 2)
            proto_text(&f, &out->details, &r->e);
        else if (f.number == 3 && proto_bytes(&f, &bytes, &r->e) && !first.ptr)
            first = bytes;
    }
    bool newer = first.ptr && proto_count(first, 1) > 0;
    out->requests = read_requests(r, newer ? first : message, 1, &out->count);
    if (r->e.code == ERR_NONE)
        out->strategy = strategy_of(out);
}

/* ---- nodes ---- */

static const struct ray_label *read_labels(struct reader *r, struct slice message, uint32_t *count)
{
    enum { DYNAMIC = 6, STATIC = 13 };
    uint32_t most = proto_count(message, DYNAMIC) + proto_count(message, STATIC);
    struct ray_label *list = take(r, most, sizeof *list);
    struct slice bytes;
    if (most > LIMIT_RAY_LABELS)
        err_set(&r->e, ERR_LIMIT, "the head names %u labels of one node, at most %d are read (LIMIT_RAY_LABELS)", most, LIMIT_RAY_LABELS);
    for (struct proto_field f; next(r, &message, &f);) {
        struct entry entry;
        if ((f.number != DYNAMIC && f.number != STATIC) || !proto_bytes(&f, &bytes, &r->e))
            continue;
        read_entry(r, bytes, true, &entry);
        uint32_t at = (*count)++;
        for (; at > 0 && slice_cmp(entry.key, list[at - 1].key) < 0; at--)
            list[at] = list[at - 1];
        list[at] = (struct ray_label){entry.key, entry.text};
    }
    return list;
}

static enum ray_node_status status_of(int64_t number)
{
    return number > RAY_NODE_UNKNOWN && number <= RAY_NODE_DRAINING ? (enum ray_node_status)number : RAY_NODE_UNKNOWN;
}

static void read_node_field(struct reader *r, const struct proto_field *f, struct ray_node *out)
{
    int64_t status;
    switch (f->number) {
    case 1:
        proto_bytes(f, &out->id, &r->e);
        break;
    case 2:
        proto_text(f, &out->instance_id, &r->e);
        break;
    case 3:
        proto_text(f, &out->type, &r->e);
        break;
    case 8:
        if (proto_int(f, &status, &r->e))
            out->status = status_of(status);
        break;
    case 9:
        proto_int(f, &out->idle_ms, &r->e);
        break;
    case 10:
        proto_text(f, &out->ip, &r->e);
        break;
    default:
        break;
    }
}

static void read_node(struct reader *r, struct slice message, struct ray_node *out)
{
    struct slice rest = message;
    for (struct proto_field f; next(r, &rest, &f);)
        read_node_field(r, &f, out);
    if (out->id.len != RAY_NODE_ID)
        err_set(&r->e, ERR_SYNTAX, "the head says a node's id of %zu bytes, want %d", out->id.len, RAY_NODE_ID);
    if (out->status != RAY_NODE_IDLE || out->idle_ms < 0) /* it is counted by the head's wall clock, which may be set back */
        out->idle_ms = 0;
    out->available = read_bundle(r, message, AVAILABLE);
    out->total = read_bundle(r, message, TOTAL);
    out->labels = read_labels(r, message, &out->label_count);
}

static void refuse_twins(struct reader *r, struct ray_node *nodes, uint32_t count)
{
    struct map seen = {0};
    for (uint32_t i = 0; i < count && r->e.code == ERR_NONE; i++)
        if (map_put(&seen, nodes[i].id, &nodes[i]))
            err_set(&r->e, ERR_SYNTAX, "the head names one node twice");
    map_free(&seen);
}

/* ---- the whole ---- */

static void read_state(struct reader *r, struct slice message, struct ray_state *out)
{
    enum { VERSION = 1, NODES = 3, REQUESTS = 4, GANGS = 5, CONSTRAINTS = 6, SESSION = 7 };
    struct ray_node *nodes = take(r, proto_count(message, NODES), sizeof *nodes);
    struct ray_gang *gangs = take(r, proto_count(message, GANGS), sizeof *gangs);
    struct ray_demands *constraints = take(r, proto_count(message, CONSTRAINTS), sizeof *constraints);
    struct slice bytes, rest = message;
    for (struct proto_field f; next(r, &rest, &f);) {
        if (f.number == VERSION)
            proto_int(&f, &out->version, &r->e);
        else if (f.number == SESSION)
            proto_text(&f, &out->session, &r->e);
        else if (f.number == NODES && proto_bytes(&f, &bytes, &r->e))
            read_node(r, bytes, &nodes[out->node_count++]);
        else if (f.number == GANGS && proto_bytes(&f, &bytes, &r->e))
            read_gang(r, bytes, &gangs[out->gang_count++]);
        else if (f.number == CONSTRAINTS && proto_bytes(&f, &bytes, &r->e))
            constraints[out->constraint_count++] = read_demands(r, bytes, 1);
    }
    out->demands = read_demands(r, message, REQUESTS);
    out->nodes = nodes;
    out->gangs = gangs;
    out->constraints = constraints;
    if (r->e.code == ERR_NONE)
        refuse_twins(r, nodes, out->node_count);
}

bool ray_state_read(struct slice reply, struct arena *a, struct ray_state *out, struct err *e)
{
    struct reader r = {.a = a, .base = a->used};
    struct ray_state state = {.session = SLICE("")};
    struct slice bytes, message = SLICE_NONE;
    for (struct proto_field f; next(&r, &reply, &f);)
        if (f.number == 1)
            message = proto_bytes(&f, &bytes, &r.e) ? bytes : SLICE_NONE;
    if (!message.ptr)
        err_set(&r.e, ERR_MISSING, "the head's answer holds no state");
    if (r.e.code == ERR_NONE)
        read_state(&r, message, &state);
    *out = r.e.code == ERR_NONE ? state : (struct ray_state){0};
    return r.e.code == ERR_NONE || err_set(e, r.e.code, "%s", r.e.text);
}
