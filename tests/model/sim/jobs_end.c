/* Where RayJobs must have come to when all is calm, and what may not stay of them. */
#include "jobs.h"

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static bool no(char why[SIM_TEXT], const struct want_job *w, const struct seen_job *j, const char *what)
{
    snprintf(why, SIM_TEXT, "job %s/%s, %s %s of %s: %s", w->ns, w->name, j ? j->phase : "-", j ? j->reason : "", j ? j->cluster : "",
             what);
    return false;
}

/* ---- clusters ---- */

static const struct seen_cluster *cluster_of(const struct sim *s, const struct seen_job *j, uint32_t *count)
{
    const struct seen_cluster *any = NULL;
    *count = 0;
    for (const struct seen_cluster *c = s->jobs->clusters; c; c = c->next)
        if (!c->gone && is(c->job, j->uid)) {
            any = c;
            ++*count;
        }
    return any;
}

static bool pods_right(const struct sim *s, const struct want_job *w, const struct seen_cluster *c)
{
    uint32_t heads = 0, workers = 0;
    for (const struct seen_pod *p = s->pods; p; p = p->next) {
        if (!is(p->owner, c->uid))
            continue;
        if (!p->ready)
            return false;
        heads += p->head;
        workers += !p->head;
    }
    return heads == 1 && workers == (c->workers_suspended ? 0 : w->workers);
}

static bool cluster_right(const struct sim *s, const struct want_job *w, const struct seen_job *j, char why[SIM_TEXT])
{
    uint32_t count;
    const struct seen_cluster *c = cluster_of(s, j, &count);
    bool ends = j->over && (w->after == AFTER_SHUTDOWN || w->after == AFTER_CLUSTER);
    bool none = w->selected || is(j->phase, "Suspended") || ends, needed = is(j->phase, "Running") || is(j->phase, "Waiting");
    if (count > 1 || (none && count) || (needed && !none && !count))
        return no(why, w, j, "clusters of its own are too many or too few");
    if (!c)
        return true;
    if (j->over && w->after == AFTER_WORKERS && w->workers && !c->workers_suspended)
        return no(why, w, j, "its workers are not suspended");
    return (c->live && c->ready && is(c->name, j->cluster) && pods_right(s, w, c)) || no(why, w, j, "its cluster is not right");
}

/* ---- phases ---- */

static bool selected_stands(const struct sim *s, const struct want_job *w)
{
    for (uint32_t i = 0; i < SIM_CLUSTERS; i++)
        if (s->want[i].kind == RAY_V1 && is(s->want[i].ns, w->ns) && is(s->want[i].name, w->selected))
            return s->want[i].there;
    return false;
}

static bool running_right(const struct sim *s, const struct want_job *w, const struct seen_job *j)
{
    const struct submission *sub = jobs_submission(s, j->id);
    bool runs = sub && sub->state == SUBMISSION_RUNS && jobs_knows(sub), by_hand = w->mode == MODE_INTERACTIVE;
    if (w->deadline_s)
        return false;
    return runs ? sub->script == SCRIPT_ENDLESS : by_hand && !(sub && jobs_knows(sub));
}

static bool phase_right(const struct sim *s, const struct want_job *w, const struct seen_job *j)
{
    if (j->over)
        return true;
    if (w->suspend)
        return is(j->phase, "Suspended");
    if (is(j->phase, "Running"))
        return running_right(s, w, j);
    if (is(j->phase, "Waiting"))
        return w->mode == MODE_INTERACTIVE && !w->named;
    return is(j->phase, "Initializing") && w->selected && !selected_stands(s, w) && !w->deadline_s;
}

/* What was given up is told to stop, when it can be reached. */
static bool stopped(const struct sim *s, const struct seen_job *j)
{
    const struct submission *sub = is(j->phase, "Failed") ? jobs_submission(s, j->id) : NULL;
    return !sub || sub->state != SUBMISSION_RUNS || !jobs_knows(sub);
}

/* A pod that lives on may submit to whatever head comes next. */
static bool submitters_right(const struct sim *s, const struct seen_job *j)
{
    for (const struct submitter *p = s->jobs->submitters; p; p = p->next)
        if (p->runs && jobs_of_id(s, p->id) == j && (j->over || !is(p->id, j->id)))
            return false;
    return true;
}

bool jobs_run_right(struct sim *s, const struct want_job *w, char why[SIM_TEXT])
{
    const struct seen_job *j = jobs_seen(s, w->ns, w->name);
    bool ends_itself = w->after == AFTER_SELF;
    if (!w->there)
        return !j || no(why, w, j, "is there still");
    if (!j)
        return ends_itself || no(why, w, j, "is not there");
    if (j->over && ends_itself)
        return no(why, w, j, "is to be deleted by its own rules");
    if (!phase_right(s, w, j))
        return no(why, w, j, "cannot stay so");
    if (!stopped(s, j))
        return no(why, w, j, "was given up, and runs on");
    if (!submitters_right(s, j))
        return no(why, w, j, "a submitter pod of what is over lives");
    return cluster_right(s, w, j, why);
}

/* ---- pods ---- */

static bool is_of_job(const struct sim *s, const struct seen_pod *p)
{
    for (const struct seen_cluster *c = s->jobs->clusters; c; c = c->next)
        if (!c->gone && c->job[0] && is(c->uid, p->owner))
            return true;
    for (const struct seen_job *j = s->jobs->seen; j; j = j->next)
        if (!j->gone && is(j->uid, p->owner))
            return true;
    return false;
}

bool jobs_right(struct sim *s, char why[SIM_TEXT])
{
    for (uint32_t i = 0; s->jobs && i < SIM_JOBS; i++)
        if (!jobs_run_right(s, &s->jobs->want[i], why))
            return false;
    return true;
}

int64_t jobs_pods(const struct sim *s)
{
    int64_t pods = 0;
    for (const struct seen_pod *p = s->jobs ? s->pods : NULL; p; p = p->next)
        pods += is_of_job(s, p);
    return pods;
}

void jobs_residue(struct sim *s)
{
    for (const struct seen_cluster *c = s->jobs ? s->jobs->clusters : NULL; c; c = c->next)
        if (!c->gone)
            sim_violation(s, "no object without owner", "cluster %s/%s is there without its job", c->ns, c->name);
    for (const struct seen_job *j = s->jobs ? s->jobs->seen : NULL; j; j = j->next)
        if (!j->gone)
            sim_violation(s, "no object without owner", "job %s/%s is there still", j->ns, j->name);
}
