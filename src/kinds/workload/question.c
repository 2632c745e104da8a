/* Questions of the control plane to this cluster, beside the work to run. An answer is kept until the control plane has it. */
#include "question.h"

/* ---- reports to the control plane ---- */

enum remote_news answers_tell(struct workloads *s, struct jout *w, size_t room, size_t *bytes, uint64_t call)
{
    enum remote_news news = REMOTE_NO_NEWS;
    jout_karray(w, "answers");
    for (struct workload_answer *a = s->answers; a; a = a->next) {
        if (!a->text)
            continue;
        news = *bytes && *bytes + a->len > room ? REMOTE_MORE_NEWS : REMOTE_NEWS;
        if (news == REMOTE_MORE_NEWS)
            break;
        *bytes += a->len + 1;
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
    replica_logs_free(a);
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

/* ---- questions of the control plane ---- */

/* b has what was written of the answer. Half an answer would make each request that carries it invalid. */
static void keep(struct workload_answer *a, struct slice kind, struct buf *b)
{
    if (b->full) {
        struct jout w;
        buf_clear(b);
        jout_init(&w, b);
        jout_form(&w, "{id:'%s',kind:'%.*s',ok:false,error:'the answer is too long',code:%d}", a->id, SLICE_ARG(kind), (int)SAID_LATER);
    }
    a->text = mem_alloc(b->len);
    a->len = b->len;
    if (b->len)
        memcpy(a->text, b->ptr, b->len);
    buf_free(b);
    remote_push(a->of->remote, a->of->op->now);
}

static void answer(struct workload_answer *a, struct slice kind, enum said code, struct slice text)
{
    struct slice said = code == SAID ? text : SLICE(""), error = code == SAID ? SLICE("") : text;
    struct buf b;
    struct jout w;
    buf_init(&b, 8 * LIMIT_RAY_LOG); /* a character of it may become six */
    jout_init(&w, &b);
    jout_form(&w, "{id:'%s',kind:'%.*s',text?:'%.*s',error?:'%.*s'", a->id, SLICE_ARG(kind), SLICE_ARG(said), SLICE_ARG(error));
    if (code != SAID)
        jout_form(&w, "code:%d", (int)code);
    jout_end(&w);
    keep(a, kind, &b);
}

void answer_log(struct workload_answer *a, enum said code, struct slice text)
{
    answer(a, SLICE("logTail"), code, text);
}

struct slice last_lines(struct slice log, int64_t lines)
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
        answer_log(a, SAID, last_lines(said->log, a->lines));
    else
        answer_log(a, SAID_LATER, slice_of(said->err.text));
}

/* Of the workload's newest job, or of a version of its service. One that has not begun has printed nothing; the log of one whose object was
 * deleted is gone. */
static void ask_log(struct workload_answer *a, struct slice uid, struct slice version)
{
    const struct record *c = workload_find(a->of, uid);
    struct work_policy policy;
    struct err e = {0};
    policy_in_force(a->of->op, &policy);
    a->of->rules[WORK_RULE_READS] += !c || !policy.logs;
    if (!policy.logs) {
        answer_log(a, SAID_FORBIDDEN, SLICE("rule reads: the policy of this cluster says sendLogs: false"));
        return;
    }
    bool gone = c && workload_of(c) && workload_of(c)->made > 0;
    for (struct record *own = c ? c->family.owned : NULL; own; own = own->family.next) {
        if (own->present && (job_ask_log(own, on_log, a, &e) || replica_logs_ask(a, own, version, &e)))
            return;
        gone &= !own->present;
    }
    if (gone)
        err_set(&e, ERR_MISSING, "the log was deleted with the workload's object");
    answer_log(a, e.code == ERR_NONE ? SAID : e.code == ERR_MISSING ? SAID_GONE : SAID_LATER, slice_of(e.text));
}

/* ---- the workload that a pod's token belongs to ---- */

/* The workload that a record is, or is owned by, over however many steps; NULL: none. */
static const struct record *workload_above(const struct record *c)
{
    while (c && !workload_of(c))
        c = c->family.owner;
    return c;
}

/* The workload whose pod it is: the pod's own record says so, as the API server has shown it; what the token says is only which pod. */
const struct record *workload_of_pod(struct op *op, struct slice uid)
{
    const struct pod_record *p = map_get(&op->all.pods, uid);
    return p ? workload_above(p->of) : NULL;
}

static struct slice first_of(struct jval user, const char *key, struct arena *a)
{
    return json_str(json_at(json_child(json_get(user, "extra"), key), 0), a);
}

const char *review_read(struct op *op, const struct kube_answer *said, struct workload_pod *out, struct arena *a)
{
    struct jval k, one, doc;
    struct err e = {0};
    bool audience = false;
    if (said->outcome != KUBE_OK)
        return said->outcome == KUBE_REFUSED ? said->status.message : said->err.text;
    if (!json_read(&doc, said->body, a, &e))
        return arena_dup(a, slice_of(e.text)).ptr;
    struct jval status = json_get(doc, "status"), user = json_get(status, "user");
    for (struct jiter it = json_iter(json_get(status, "audiences")); json_next(&it, &k, &one);)
        audience |= json_is(one, REMOTE_BOOTSTRAP_AUDIENCE);
    if (!json_get_bool(status, "authenticated", false) || !audience)
        return arena_printf(a, "the API server does not accept it for the audience " REMOTE_BOOTSTRAP_AUDIENCE ": %.*s",
                            SLICE_ARG(arena_cut(a, json_get_str(status, "error", a), ERR_TEXT_MAX)))
            .ptr;
    out->uid = first_of(user, "authentication.kubernetes.io/pod-uid", a);
    out->name = first_of(user, "authentication.kubernetes.io/pod-name", a);
    if (slice_empty(out->uid))
        return "it is bound to no pod: use a projected token";
    out->of = workload_of_pod(op, out->uid);
    return out->of ? NULL : "its pod belongs to no workload of the control plane";
}

static void on_review(void *owner, uint64_t tag, const struct kube_answer *said, struct now now)
{
    struct workload_answer *a = owner;
    struct op *op = a->of->op;
    struct arena scratch = {0};
    struct workload_pod pod;
    struct buf b;
    struct jout w;
    (void)tag;
    op->now = now;
    buf_init(&b, 8 * KIB);
    jout_init(&w, &b);
    jout_form(&w, "{id:'%s',kind:'tokenReview'", a->id);
    const char *why = review_read(op, said, &pod, &scratch);
    if (why)
        jout_form(&w, "ok:false,error:'%s'", why);
    else
        jout_form(&w, "ok:true,podUid:'%.*s',podName:'%.*s',namespace:'%.*s',workloadUid:'%s'", SLICE_ARG(pod.uid), SLICE_ARG(pod.name),
                  SLICE_ARG(istr_slice(pod.of->ns)), pod.of->uid);
    jout_end(&w);
    keep(a, SLICE("tokenReview"), &b);
    arena_free(&scratch);
}

bool review_ask(struct op *op, struct slice token, kube_done *done, void *owner, struct err *e)
{
    struct buf b;
    struct jout w;
    buf_init(&b, 2 * LIMIT_HUB_TOKEN);
    buf_room(&b, token.len + KIB); /* at once, so that it is not left behind by a growing buffer */
    jout_init(&w, &b);
    jout_form(&w,
              "{apiVersion:'authentication.k8s.io/v1',kind:'TokenReview',spec:{token:'%.*s',audiences:['" REMOTE_BOOTSTRAP_AUDIENCE "']}}",
              SLICE_ARG(token));
    const struct kube_request r = {.lane = KUBE_LANE_MAIN,
                                   .method = SLICE("POST"),
                                   .path = SLICE("/apis/authentication.k8s.io/v1/tokenreviews"),
                                   .content_type = SLICE(KUBE_TYPE_JSON),
                                   .body = buf_slice(&b),
                                   .again = true, /* it makes nothing */
                                   .at_once = true,
                                   .secret = true,
                                   .timeout_ms = HUB_REVIEW_MS,
                                   .done = done,
                                   .owner = owner};
    bool sent = kube_call(op->client, &r, op->now, e);
    buf_wipe(&b);
    return sent;
}

static void ask_review(struct workload_answer *a, struct slice token)
{
    struct kube_answer none = {.outcome = KUBE_UNSENT};
    if (!review_ask(a->of->op, token, on_review, a, &none.err))
        on_review(a, 0, &none, a->of->op->now);
}

void question_asked(void *owner, const struct remote_question *q, struct now now)
{
    struct workloads *s = owner;
    struct arena scratch = {0};
    bool log = slice_eq(q->kind, SLICE("logTail")), review = slice_eq(q->kind, SLICE("tokenReview"));
    s->op->now = now;
    if (s->answer_count == LIMIT_REMOTE_QUESTIONS || q->id.len >= QUESTION_ID_MAX)
        return; /* it is asked again */
    struct workload_answer *a = mem_alloc(sizeof *a);
    *a = (struct workload_answer){.next = s->answers, .of = s, .lines = json_get_int(q->all, "lines", 0)};
    s->answers = a;
    s->answer_count++;
    slice_copy(q->id, a->id, sizeof a->id);
    if (!rate_pays(&s->asked_ms, HUB_RATE_MS, HUB_BURST, now)) {
        s->rules[WORK_RULE_FLOODS]++;
        answer(a, slice_head(q->kind, QUESTION_ID_MAX), SAID_LATER, SLICE("rule floods: more than 20 questions a second are asked here"));
    } else if (log)
        ask_log(a, json_get_str(q->all, "uid", &scratch), json_get_str(q->all, "version", &scratch));
    else if (review)
        ask_review(a, json_get_str(q->all, "token", &scratch));
    else {
        s->rules[WORK_RULE_READS]++;
        answer(a, slice_head(q->kind, QUESTION_ID_MAX), SAID_LATER, SLICE("unsupported"));
    }
    arena_free(&scratch);
}
