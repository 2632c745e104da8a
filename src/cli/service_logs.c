/* `mobula service logs`: the logs of a version's Serve replicas, from the dashboard of its cluster's head. Each is
 * read from its beginning at each look, and each byte is shown once. */
#include "cli.h"
#include "service.h"

enum { REPLICAS_MAX = 64 }; /* further ones are not shown */

struct service_tails {
    struct tail {
        uint64_t id, shown; /* of a replica; bytes */
    } list[REPLICAS_MAX], *now, *printed;
    uint64_t seen; /* bytes of the log that is read now */
    struct slice title;
};

static void on_piece(void *owner, uint64_t tag, struct slice piece)
{
    struct service_tails *s = owner;
    struct tail *t = s->now;
    uint64_t known = t->shown > s->seen ? t->shown - s->seen : 0;
    (void)tag;
    s->seen += piece.len;
    if (known >= piece.len)
        return;
    if (s->printed != t)
        cli_print(s->title);
    s->printed = t;
    t->shown = s->seen;
    cli_print(slice_skip(piece, (size_t)known));
}

static bool read_log(struct service_desk *d, const struct seek_head *head, struct jval replica, struct err *e)
{
    struct service_tails *s = d->tails;
    struct arena *a = d->seek.a;
    struct slice node = json_get_str(replica, "node_id", a), file = json_get_str(replica, "log_file_path", a);
    uint64_t id = hash64(file, hash64(node, 0));
    struct ask_answer answer;
    __attribute__((cleanup(buf_free))) struct buf path;
    if (slice_empty(file))
        return true; /* a replica that has not started yet */
    for (s->now = s->list; s->now->id && s->now->id != id;)
        if (++s->now == s->list + REPLICAS_MAX)
            return true;
    s->now->id = id;
    s->seen = 0;
    s->title = arena_printf(a, "==> %s <==\n", arena_clean(a, file, LIMIT_KUBE_NAME).ptr);
    buf_init(&path, LIMIT_HTTP_URL);
    buf_printf(&path, "%.*s/api/v0/logs/file?format=text&lines=-1",
               SLICE_ARG(head->path)); /* format: older Ray marks each piece without it */
    kube_query(&path, "node_id", node);
    kube_query(&path, "filename", slice_starts(file, SLICE("/")) ? slice_skip(file, 1) : file);
    if (!ask_text(&d->seek.ask, buf_slice(&path), &head->token, on_piece, s, a, &answer, e))
        return false;
    if (s->now->shown > s->seen)
        s->now->shown = s->seen; /* another file of the same name */
    return answer.code == 200 || seek_refused(&answer, arena_printf(a, "log %.*s cannot be read", SLICE_ARG(file)).ptr, e);
}

/* The replicas in the head's answer, at any depth. */
static bool read_logs(struct service_desk *d, const struct seek_head *head, struct jval in, struct err *e)
{
    struct jval k, v;
    bool well = true;
    for (struct jiter it = json_iter(in); well && json_next(&it, &k, &v);)
        well = (json_there(json_get(v, "replica_id")) ? read_log : read_logs)(d, head, v, e);
    return well;
}

static bool read_head(struct service_desk *d, const struct seek_head *head, struct err *e)
{
    struct arena *a = d->seek.a;
    struct jval all;
    struct ask_answer answer;
    if (!ask_get(&d->seek.ask, arena_printf(a, "%.*s/api/serve/applications/", SLICE_ARG(head->path)), &head->token, a, &answer, e))
        return false;
    if (answer.code != 200)
        return seek_refused(&answer, "the replicas cannot be read", e);
    return json_read(&all, answer.body, a, e) && read_logs(d, head, json_get(all, "applications"), e);
}

static bool look(struct service_desk *d, bool *over, struct err *e)
{
    struct arena *a = d->seek.a;
    struct seek_head head = {0};
    struct jval child;
    bool absent = false, unknown = false;
    if (!service_find_live(d, e))
        return false;
    struct slice version = d->o.version.len ? d->o.version : json_get_str(d->live, "status.primaryVersion", a);
    if (!service_find_child(d, version, &child, &unknown, e))
        return false;
    struct slice cluster = json_get_str(child, "status.activeServiceStatus.rayClusterName", a);
    if (slice_empty(cluster))
        cluster = json_get_str(child, "status.pendingServiceStatus.rayClusterName", a);
    bool well = slice_empty(cluster) || (seek_head(&d->seek, cluster, &head, &absent, e) && read_head(d, &head, e));
    mem_wipe((char *)(uintptr_t)head.token.value.ptr, head.token.value.len);
    *over = !d->o.follow || unknown;
    if (well && *over && !d->tails->list[0].id)
        return err_set(e, ERR_MISSING, "version \"%.*s\" has no replicas: mobula service status %.*s", SLICE_ARG(version),
                       SLICE_ARG(d->o.name));
    return well;
}

bool service_logs(struct service_desk *d, struct err *e)
{
    d->tails = mem_alloc(sizeof *d->tails);
    bool well = service_wait(d, look, "log", e);
    mem_free(d->tails);
    return well;
}
