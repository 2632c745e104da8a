/* Questions of plans for RayJobs to a head's dashboard. One question of a job is under way at a time, so that a dashboard that hangs holds
 * one connection and delays nobody else. Its answer is kept, copied and cut to size, until the next decision has made a status of it. */
#include "record.h"

/* ---- kept answers ---- */

/* Copies the texts of what was said into one block of the job's own. */
static void keep_texts(struct job *j)
{
    struct job_said *s = &j->said;
    struct slice *const all[] = {&s->cluster, &s->session,         &s->id,        &s->message, &s->refused, &s->log,
                                 &s->trouble, &s->unsubmitted_why, &s->unheard_no};
    size_t bytes = 0;
    s->message = job_shorten(s->message, LIMIT_JOB_MESSAGE, &j->op->arenas.event);
    for (size_t i = 0; i < COUNT_OF(all); i++)
        bytes += all[i]->len;
    char *block = bytes ? mem_alloc(bytes) : NULL, *at = block;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (all[i]->len)
            memcpy(at, all[i]->ptr, all[i]->len);
        *all[i] = (struct slice){all[i]->len ? at : "", all[i]->len};
        at += all[i]->len;
    }
    mem_free(j->texts);
    j->texts = block;
}

void job_forget_words(struct job *j)
{
    if (slice_empty(j->said.message) && slice_empty(j->said.log))
        return;
    j->said.message = j->said.log = SLICE_NONE;
    keep_texts(j);
}

void job_forget_answers(struct op *op, struct job *j)
{
    heads_forget(op, j);
    j->said = (struct job_said){.asking = false};
    keep_texts(j);
}

/* ---- questions ---- */

static struct record *cluster_asked(struct job *j)
{
    struct slice name = slice_of(j->cluster);
    for (struct record *own = j->c->family.owned; own; own = own->family.next)
        if (own->present && slice_eq(slice_of(own->name), name))
            return own;
    return cluster_named(j->op, j->c, name);
}

static bool head_asked(struct job *j, enum ray_dash_call call, ray_dash_done *done, struct err *e)
{
    struct op *op = j->op;
    struct ray_dash_request r = {.call = call, .id = slice_of(j->id), .doubtful = j->said.failures > 0};
    struct record *c = cluster_asked(j);
    op->stats.dash_calls++;
    if (!c)
        return err_set(e, ERR_MISSING, "RayCluster %s does not exist", j->cluster);
    if (call == RAY_DASH_SUBMIT) {
        model_load(op, j->c);
        buf_clear(&op->out.body);
        if (!ray_build_submission(job_model(op), r.id, &op->out.body))
            return err_set(e, ERR_LIMIT, "the submission does not fit %d bytes (LIMIT_JSON_ITEM)", LIMIT_JSON_ITEM);
        r.body = buf_slice(&op->out.body);
    }
    return head_ask(op, c, &r, done, j, (uint64_t)call, e);
}

bool job_ask_log(struct record *c, ray_dash_done *done, void *owner, struct err *e)
{
    struct job *j = job_there(c);
    if (!j)
        return false;
    struct record *own = j->id[0] ? cluster_asked(j) : NULL;
    if (j->id[0] && !own)
        return err_set(e, ERR_MISSING, "the log is gone with RayCluster %s", j->cluster);
    return own && head_ask(j->op, own, &(struct ray_dash_request){.call = RAY_DASH_LOG, .id = slice_of(j->id)}, done, owner, 0, e);
}

/* exists: Ray had it already. An earlier submission has reached it whose answer was lost, or was for a process before this one. */
static void say_submitted(struct job *j, bool exists)
{
    char note[LIMIT_KUBE_EVENT_NOTE];
    log_info(exists ? "job had been submitted before" : "job submitted", LF("namespace", istr_slice(j->c->ns)), LF_CSTR("job", j->c->name),
             LF_CSTR("cluster", j->cluster), LF_CSTR("id", j->id));
    snprintf(note, sizeof note, exists ? "an earlier submission had brought %s to RayCluster %s" : "submitted %s to RayCluster %s", j->id,
             j->cluster);
    say_event(j->op, j->c, false, "SubmittedRayJob", slice_of(note));
}

void job_doubt(struct record *c)
{
    struct job *j = job_there(c);
    if (!j || j->said.known)
        return;
    j->said.id = SLICE_NONE;
    j->doubted = j->said.asking;
}

static void on_answer(void *owner, uint64_t tag, const struct ray_dash_answer *answer, struct now now);
static void ask_head(struct job *j, enum ray_dash_call call);

static void hear(struct job *j, const struct ray_dash_answer *answer)
{
    struct op *op = j->op;
    if (answer->call == RAY_DASH_TASKS) { /* before the log, with whose answer the job is over */
        op->stats.dash_failures += answer->outcome >= RAY_DASH_DENIED;
        if (answer->outcome == RAY_DASH_OK)
            history_tasks(op, j->c, answer->log);
        ask_head(j, RAY_DASH_LOG);
        return;
    }
    bool looks = j->verb == &rayjob_look && answer->call == RAY_DASH_VERSION && answer->outcome == RAY_DASH_OK && j->id[0];
    arena_reset(&op->arenas.event, 64 * KIB);
    op->stats.dash_failures += answer->outcome >= RAY_DASH_DENIED;
    job_hear(&j->said, slice_of(j->id), answer, op->now);
    keep_texts(j);
    j->said.asking = false;
    if (j->doubted && !looks) {
        j->doubted = false;
        job_doubt(j->c);
    }
    if (answer->call == RAY_DASH_SUBMIT && (answer->outcome == RAY_DASH_OK || answer->outcome == RAY_DASH_EXISTS))
        say_submitted(j, answer->outcome == RAY_DASH_EXISTS);
    j->said.asking = looks;
    if (looks)
        ask_head(j, RAY_DASH_JOB);
    record_touch(op, j->c);
}

static void ask_head(struct job *j, enum ray_dash_call call)
{
    struct err e = {0};
    if (head_asked(j, call, on_answer, &e))
        return;
    const struct ray_dash_answer none = {.call = call, .outcome = RAY_DASH_UNSENT, .err = e};
    hear(j, &none);
}

static void on_answer(void *owner, uint64_t tag, const struct ray_dash_answer *answer, struct now now)
{
    (void)tag;
    struct job *j = owner;
    struct ray_dash_answer named = *answer;
    if (answer->call == RAY_DASH_VERSION && answer->outcome == RAY_DASH_OK && slice_empty(answer->session))
        named.session = SLICE("unnamed"); /* of a Ray that has no names for them: its restart shows as a job that is not known any more */
    j->op->now = now;
    hear(j, &named);
}

static enum ray_dash_call call_of(const struct verb *v)
{
    return v == &rayjob_submit     ? RAY_DASH_SUBMIT
           : v == &rayjob_stop     ? RAY_DASH_STOP
           : v == &rayjob_read_log ? RAY_DASH_LOG
                                   : RAY_DASH_VERSION;
}

void job_ask(struct op *op, struct record *c, const struct action *act)
{
    struct job *j = job_of(op, c);
    enum ray_dash_call call = call_of(act->verb);
    if (call == RAY_DASH_LOG && op->o.bucket.journal)
        call = RAY_DASH_TASKS;
    if (j->said.asking)
        heads_forget(op, j); /* of a cluster that is not the job's any more */
    if (!slice_eq(j->said.cluster, act->name)) {
        j->said = (struct job_said){.cluster = act->name};
        keep_texts(j);
    }
    slice_copy(act->name, j->cluster, sizeof j->cluster);
    slice_copy(act->text, j->id, sizeof j->id);
    j->verb = act->verb;
    j->said.asking = true;
    ask_head(j, call);
}
