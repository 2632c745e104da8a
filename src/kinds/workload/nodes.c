/* The list of nodes, read page by page and node by node, so that a large cluster's nodes with their images are never in memory together. It
 * is read again every five minutes; where the right to list nodes is missing, the report says so. */
#include "checks.h"

enum { ITEM_KEPT = 64 * KIB, ITEM_MOST = 2 * KIB };

static bool ask_page(struct checks *k);

#define BARRED "the operator may not list nodes: mobula install --report-nodes gives it that right"

static void stop(struct nodes *n)
{
    n->listing = false;
    json_slicer_free(&n->slicer);
    buf_shrink(&n->fresh, 0);
}

/* Sets what is reported until the next list. items: a JSON array. */
static void set_report(struct checks *k, struct slice items, struct slice message)
{
    struct nodes *n = &k->nodes;
    buf_shrink(&n->items, 0);
    buf_put(&n->items, items);
    utf8_clean(message, n->message, sizeof n->message);
    list_hash(&n->told, buf_slice(&n->items), slice_of(n->message));
    stop(n);
}

static void end_list(struct checks *k)
{
    struct nodes *n = &k->nodes;
    char message[64] = "";
    jout_end(&n->out);
    if (n->beyond)
        snprintf(message, sizeof message, "%u further nodes are not listed", n->beyond);
    set_report(k, buf_slice(&n->fresh), slice_of(message));
}

static void take_node(struct checks *k, struct slice text)
{
    struct nodes *n = &k->nodes;
    struct jval node;
    arena_reset(&k->arena, ITEM_KEPT);
    text = json_without(text, "status.images", &k->arena);
    if (n->count == LIMIT_REMOTE_LISTED || n->fresh.len + ITEM_MOST > REMOTE_LIST || !json_read(&node, text, &k->arena, NULL)) {
        n->beyond++;
        return;
    }
    health_node_write(node, &k->arena, &n->out);
    n->count++;
}

static void on_piece(void *owner, uint64_t tag, struct slice piece)
{
    struct checks *k = owner;
    struct nodes *n = &k->nodes;
    struct slice item;
    (void)tag;
    for (;;) {
        switch (json_slice(&n->slicer, &piece, &item, NULL)) {
        case JSON_ITEM:
            take_node(k, item);
            break;
        case JSON_OVER:
            n->beyond++;
            break;
        case JSON_DONE:
            n->whole = true;
            return;
        case JSON_MORE:
        case JSON_BAD:
            return;
        }
    }
}

/* Where the next page begins; false: there is none. */
static bool has_more(struct checks *k)
{
    struct nodes *n = &k->nodes;
    struct jval list;
    arena_reset(&k->arena, ITEM_KEPT);
    buf_clear(&n->more);
    return json_read(&list, json_slicer_envelope(&n->slicer), &k->arena, NULL) &&
           buf_put(&n->more, json_get_str(list, "metadata.continue", &k->arena)) && n->more.len;
}

/* A page that does not come ends this list, and the one before stays in the report. */
static void on_page(void *owner, uint64_t tag, const struct kube_answer *answer, struct now now)
{
    struct checks *k = owner;
    struct nodes *n = &k->nodes;
    (void)tag;
    k->op->now = now;
    if (answer->outcome == KUBE_REFUSED && answer->status.code == 403) {
        set_report(k, SLICE("[]"), SLICE(BARRED));
    } else if (answer->outcome == KUBE_OK && n->whole && has_more(k)) {
        if (!ask_page(k))
            stop(n);
    } else if (answer->outcome == KUBE_OK && n->whole) {
        end_list(k);
    } else {
        stop(n);
    }
}

static bool ask_page(struct checks *k)
{
    struct nodes *n = &k->nodes;
    struct buf path;
    char limit[16];
    buf_init(&path, LIMIT_HTTP_URL);
    snprintf(limit, sizeof limit, "%d", OPERATOR_NODES_PAGE);
    buf_put(&path, SLICE("/api/v1/nodes"));
    kube_query(&path, "limit", slice_of(limit));
    if (n->more.len)
        kube_query(&path, "continue", buf_slice(&n->more));
    json_slicer_reset(&n->slicer);
    n->whole = false;
    bool sent = kube_call(k->op->client,
                          &(struct kube_request){.method = SLICE("GET"),
                                                 .path = buf_slice(&path),
                                                 .again = true,
                                                 .timeout_ms = OPERATOR_CHECK_CALL_MS,
                                                 .done = on_page,
                                                 .piece = on_piece,
                                                 .owner = k},
                          k->op->now, NULL);
    buf_free(&path);
    return sent;
}

void nodes_list(struct checks *k)
{
    struct nodes *n = &k->nodes;
    if (n->listing)
        return;
    if (n->barred) {
        set_report(k, SLICE("[]"), SLICE(BARRED));
        return;
    }
    buf_clear(&n->fresh);
    buf_clear(&n->more);
    jout_init(&n->out, &n->fresh);
    jout_array(&n->out);
    n->count = n->beyond = 0;
    json_slicer_init(&n->slicer, JSON_STREAM_LIST, LIMIT_JSON_ITEM);
    n->listing = true;
    if (!ask_page(k))
        stop(n);
}

void nodes_free(struct nodes *n)
{
    buf_free(&n->items);
    buf_free(&n->fresh);
    buf_free(&n->more);
    json_slicer_free(&n->slicer);
}

void list_hash(struct told_list *l, struct slice items, struct slice message)
{
    snprintf(l->hash, sizeof l->hash, "%016llx", (unsigned long long)hash64(items, hash64(message, 1)));
}
