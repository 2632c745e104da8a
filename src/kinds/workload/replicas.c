/* The ends of the logs of a service's replicas. The head says where they are, and reads one after the other from its nodes. */
#include "question.h"

#include <mobula/kind_rayservice.h>

enum { REPLICAS_MAX = 8 }; /* so many logs are read; further ones are counted */

struct replica_logs {
    struct arena a;
    struct slice cluster, ns; /* cluster: its uid */
    struct ray_serve_replica list[REPLICAS_MAX];
    uint32_t count, at, more; /* more: replicas beyond REPLICAS_MAX */
    struct buf text;
};

void replica_logs_free(struct workload_answer *a)
{
    struct replica_logs *r = a->replicas;
    if (!r)
        return;
    arena_free(&r->a);
    buf_free(&r->text);
    mem_free(r);
    a->replicas = NULL;
}

static void end(struct workload_answer *a, enum said code, struct slice text)
{
    answer_log(a, code, text);
    replica_logs_free(a);
}

/* All logs together have the asker's number of lines … */
static int64_t lines_of_one(const struct workload_answer *a)
{
    int64_t lines = a->lines / a->replicas->count;
    return lines > 0 ? lines : 1;
}

/* … and LIMIT_RAY_LOG bytes: the end of one that has room. */
static struct slice cut_log(const struct workload_answer *a, struct slice log)
{
    size_t share = LIMIT_RAY_LOG / a->replicas->count;
    if (log.len > share) {
        log = slice_skip(log, log.len - share);
        slice_cut(&log, '\n'); /* the first line is not whole */
    }
    return last_lines(log, lines_of_one(a));
}

static void ask_next(struct workload_answer *a);

static void on_file(void *owner, uint64_t tag, const struct ray_dash_answer *said, struct now now)
{
    struct workload_answer *a = owner;
    struct replica_logs *r = a->replicas;
    struct slice log = said->outcome == RAY_DASH_OK ? cut_log(a, said->log) : SLICE("");
    (void)tag;
    a->of->op->now = now;
    buf_printf(&r->text, "==> %.*s <==\n%.*s", SLICE_ARG(arena_clean(&r->a, r->list[r->at].file, RAY_LOG_PATH)), SLICE_ARG(log));
    if (said->outcome != RAY_DASH_OK)
        buf_printf(&r->text, "(it cannot be read: %s)", said->err.text);
    if (!slice_ends(buf_slice(&r->text), SLICE("\n")))
        buf_putc(&r->text, '\n');
    r->at++;
    ask_next(a);
}

static bool ask(struct workload_answer *a, const struct ray_dash_request *request, ray_dash_done *done, struct err *e)
{
    struct replica_logs *r = a->replicas;
    struct record *cluster = record_get(a->of->op, r->cluster, r->ns);
    if (!cluster || !cluster->present)
        return err_set(e, ERR_MISSING, "the log was deleted with the version's RayCluster");
    return head_ask(a->of->op, cluster, request, done, a, 0, e);
}

static void ask_next(struct workload_answer *a)
{
    struct replica_logs *r = a->replicas;
    struct err e = {0};
    if (r->at == r->count) {
        if (r->more)
            buf_printf(&r->text, "(%u more replicas)\n", r->more);
        end(a, SAID, buf_slice(&r->text));
        return;
    }
    const struct ray_serve_replica *one = &r->list[r->at];
    const struct ray_dash_request file = {.call = RAY_DASH_FILE, .id = one->file, .node = one->node, .lines = lines_of_one(a)};
    if (!ask(a, &file, on_file, &e))
        end(a, e.code == ERR_MISSING ? SAID_GONE : SAID_LATER, slice_of(e.text));
}

static void on_replicas(void *owner, uint64_t tag, const struct ray_dash_answer *said, struct now now)
{
    struct workload_answer *a = owner;
    struct replica_logs *r = a->replicas;
    (void)tag;
    a->of->op->now = now;
    if (said->outcome != RAY_DASH_OK) {
        end(a, SAID_LATER, slice_of(said->err.text));
        return;
    }
    r->count = said->replica_count < REPLICAS_MAX ? said->replica_count : REPLICAS_MAX;
    r->more = said->replica_count - r->count;
    for (uint32_t i = 0; i < r->count; i++)
        r->list[i] = (struct ray_serve_replica){arena_dup(&r->a, said->replicas[i].node), arena_dup(&r->a, said->replicas[i].file)};
    ask_next(a);
}

bool replica_logs_ask(struct workload_answer *a, struct record *c, struct slice version, struct err *e)
{
    struct arena scratch = {0};
    if (c->kind != &kind_versioned)
        return false;
    const struct record *service = versioned_child_record(c, version, &scratch);
    const struct record *cluster = service ? rayservice_cluster(service, &scratch) : NULL;
    if (!service && !slice_empty(version))
        err_set(e, ERR_MISSING, "the service has no version \"%.*s\"", SLICE_ARG(slice_head(version, LIMIT_KUBE_NAME)));
    arena_free(&scratch);
    if (!cluster)
        return false; /* it has printed nothing yet */
    struct replica_logs *r = a->replicas = mem_alloc(sizeof *r);
    r->cluster = arena_dup(&r->a, slice_of(cluster->uid));
    r->ns = arena_dup(&r->a, istr_slice(cluster->ns));
    buf_init(&r->text, 2 * LIMIT_RAY_LOG);
    if (ask(a, &(struct ray_dash_request){.call = RAY_DASH_REPLICAS}, on_replicas, e))
        return true;
    replica_logs_free(a);
    return false;
}
