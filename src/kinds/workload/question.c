/* What the control plane asks of this cluster, beside what is to run. An answer is kept until the control plane has it. */
#include "workload.h"

enum { ID_MAX = 64 };

struct workload_answer {
    struct workload_answer *next;
    struct workloads *of;
    uint64_t call; /* that told it last; 0: none */
    char id[ID_MAX];
    int64_t lines; /* of the end of a log that are asked for */
    char *text;    /* NULL: it is not known yet */
    size_t len;
};

/* ---- what is told ---- */

/* News that fit go first. So much of the log of one job always fits a request that has none. */
enum remote_news answers_tell(struct workloads *s, struct jout *w, size_t room, uint64_t call)
{
    enum remote_news news = REMOTE_NO_NEWS;
    size_t bytes = 0;
    jout_karray(w, "answers");
    for (struct workload_answer *a = s->answers; a; a = a->next) {
        if (!a->text)
            continue;
        news = bytes + a->len > room ? REMOTE_MORE_NEWS : REMOTE_NEWS;
        if (news == REMOTE_MORE_NEWS)
            break;
        bytes += a->len + 1;
        a->call = call;
        jout_raw(w, (struct slice){a->text, a->len});
    }
    jout_end(w);
    return news;
}

static void drop(struct workload_answer **at)
{
    struct workload_answer *a = *at;
    *at = a->next;
    a->of->answer_count--;
    mem_free(a->text);
    mem_free(a);
}

void answers_told(struct workloads *s, uint64_t call, bool taken)
{
    for (struct workload_answer **at = &s->answers; *at;)
        if ((*at)->text && (*at)->call == call && taken)
            drop(at);
        else
            at = &(*at)->next;
}

void questions_free(struct workloads *s)
{
    while (s->answers) {
        heads_forget(s->op, s->answers);
        drop(&s->answers);
    }
}

/* ---- what is asked ---- */

static void answer(struct workload_answer *a, struct slice kind, struct slice text, struct slice error)
{
    struct buf b;
    struct jout w;
    buf_init(&b, 8 * LIMIT_RAY_LOG); /* a character of it may become six */
    jout_init(&w, &b);
    jout_form(&w, "{id:'%s',kind:'%.*s',text?:'%.*s',error?:'%.*s'}", a->id, SLICE_ARG(kind), SLICE_ARG(text), SLICE_ARG(error));
    a->text = mem_alloc(b.len);
    a->len = b.len;
    memcpy(a->text, b.ptr, b.len);
    buf_free(&b);
    remote_push(a->of->remote, a->of->op->now);
}

static struct slice last_lines(struct slice log, int64_t lines)
{
    size_t at = log.len;
    while (at > 0 && (log.ptr[at - 1] != '\n' || at == log.len || --lines > 0))
        at--;
    return slice_skip(log, at);
}

static void on_log(void *owner, uint64_t tag, const struct ray_dash_answer *said, struct now now)
{
    struct workload_answer *a = owner;
    (void)tag;
    a->of->op->now = now;
    if (said->outcome == RAY_DASH_OK)
        answer(a, SLICE("logTail"), last_lines(said->log, a->lines), SLICE(""));
    else
        answer(a, SLICE("logTail"), SLICE(""), slice_of(said->err.text));
}

/* Of the workload's newest job. One that has not begun has printed nothing. */
static void ask_log(struct workload_answer *a, struct slice uid)
{
    const struct cluster *c = workload_find(a->of, uid);
    struct work_policy policy;
    struct err e = {0};
    policy_in_force(a->of->op, &policy);
    a->of->rules[WORK_RULE_READS] += !c || !policy.logs;
    if (!policy.logs) {
        answer(a, SLICE("logTail"), SLICE(""), SLICE("rule reads: the policy of this cluster says sendLogs: false"));
        return;
    }
    for (struct cluster *own = c ? c->clusters : NULL; own; own = own->next_owned)
        if (own->present && own->job && job_ask_log(own, on_log, a, &e))
            return;
    answer(a, SLICE("logTail"), SLICE(""), slice_of(e.text));
}

void question_asked(void *owner, const struct remote_question *q, struct now now)
{
    struct workloads *s = owner;
    struct arena scratch = {0};
    bool log = slice_eq(q->kind, SLICE("logTail"));
    s->op->now = now;
    if (s->answer_count == LIMIT_REMOTE_QUESTIONS || q->id.len >= ID_MAX)
        return; /* it is asked again */
    struct workload_answer *a = mem_alloc(sizeof *a);
    *a = (struct workload_answer){.next = s->answers, .of = s, .lines = json_get_int(q->all, "lines", 0)};
    s->answers = a;
    s->answer_count++;
    slice_copy(q->id, a->id, sizeof a->id);
    if (log)
        ask_log(a, json_get_str(q->all, "uid", &scratch));
    else {
        s->rules[WORK_RULE_READS]++;
        answer(a, slice_head(q->kind, ID_MAX), SLICE(""), SLICE("unsupported"));
    }
    arena_free(&scratch);
}
