/* Decides the next step of a workload and the state that is reported to the control plane. */
#include "view.h"

static bool is_live(const struct workload_view *in, uint32_t i)
{
    return !in->objects[i].is.deleting;
}

static bool any_live(const struct workload_view *in)
{
    for (uint32_t i = 0; i < in->count; i++)
        if (is_live(in, i))
            return true;
    return false;
}

static const struct workload_object *newest(const struct workload_view *in)
{
    const struct workload_object *best = NULL;
    for (uint32_t i = 0; i < in->count; i++)
        if (is_live(in, i) && (!best || in->objects[i].generation > best->generation))
            best = &in->objects[i];
    return best;
}

static struct slice write_report(const struct workload_view *in, const struct work_status *s, const struct work_object *object,
                                 struct arena *a)
{
    struct buf b;
    struct jout w;
    buf_init(&b, LIMIT_REMOTE_STATUS);
    jout_init(&w, &b);
    jout_object(&w);
    jout_kstr(&w, "uid", in->uid);
    jout_kint(&w, "generation", in->generation);
    work_status_write(s, object, &w);
    jout_end(&w);
    struct slice out = b.full ? SLICE_NONE : arena_dup(a, buf_slice(&b));
    buf_free(&b);
    return out;
}

/* ---- the decision ---- */

static void delete_all(const struct workload_view *in, struct plan *p, const char *why)
{
    for (uint32_t i = 0; i < in->count; i++) {
        if (!is_live(in, i))
            continue;
        struct action *act = plan_add(p, &workload_delete);
        act->name = in->objects[i].is.name;
        act->uid = in->objects[i].is.uid;
        act->index = in->objects[i].form;
        act->why = why;
    }
}

static void say(struct work_status *out, const char *state, const char *reason, struct slice message)
{
    out->state = slice_of(state);
    out->reason = slice_of(reason);
    out->message = message;
}

/* Reports that a rule of the policy, or something else named by w, keeps the workload in this state. */
static void hold(struct work_status *out, struct workload_told *told, const char *state, const struct workload_wait *w)
{
    say(out, state, w->reason, w->message);
    told->rule = w->rule;
    told->why = w->message;
}

static void end(const struct workload_view *in, struct plan *p, struct work_status *out, struct workload_told *told)
{
    struct workload_wait w = {WORK_RULE_FREEZE, "Frozen", in->frozen, TIME_NEVER};
    bool gone = in->count == 0;
    if (in->held) {
        say(out, out->state.ptr, "DeletionHeld",
            SLICE("the control plane does not have this workload any more, and many others neither: nothing is deleted for now"));
        return;
    }
    bool stays = !in->ended && out->over && !gone; /* its final state is reported already, and stays */
    if (stays && in->frozen.ptr)
        return;
    if (in->ended)
        say(out, gone ? "DELETED" : "TERMINATING", "", SLICE(""));
    else if (!stays)
        say(out, gone ? "TERMINATED" : "TERMINATING", "", SLICE(""));
    if (!gone && in->frozen.ptr) {
        hold(out, told, "TERMINATING", &w);
    } else if (any_live(in) && in->wait) {
        if (!stays)
            hold(out, told, "TERMINATING", in->wait);
        plan_look_again(p, in->wait->look_ms);
    } else {
        delete_all(in, p, in->ended ? "its workload was deleted in the control plane" : "its workload is to be ended");
    }
}

/* Something stands in the way of what is to be applied. */
static bool is_blocked(const struct workload_view *in, struct plan *p, struct work_status *out, struct workload_told *told)
{
    enum { NAME_LOOK_MS = 5 * 1000 /* no event tells when a name is free, or a kind is watched */ };
    const struct workload_model *m = in->model;
    const struct group_failures *r = in->refusals;
    struct workload_wait w = {WORK_RULE_FREEZE, "Frozen", in->frozen, TIME_NEVER};
    const char *until_then = in->count ? out->state.ptr : "PENDING";
    if (in->outside) {
        say(out, "REFUSED", "NamespaceNotWatched",
            SLICE(
                "the operator of this cloud does not watch a namespace of the project's name: mobula install --watch-namespace names it"));
    } else if (in->lacks.ptr) {
        say(out, "REFUSED", "KindNotInstalled", in->lacks);
        plan_look_again(p, in->now.mono_ms + NAME_LOOK_MS);
    } else if (m->form < 0) {
        w = (struct workload_wait){m->rule, m->reason, m->message, TIME_NEVER};
        hold(out, told, "REFUSED", &w);
    } else if (in->name != WORKLOAD_NAME_FREE) {
        static const struct workload_wait going = {0, "NameInUse", SLICE("an older object of this name is being deleted"), 0};
        static const struct workload_wait taken = {
            WORK_RULE_OWNERSHIP, "NameTaken",
            SLICE("rule ownership: an object of this name is there that was not made from this workload: it is left alone"), 0};
        bool waits = in->name == WORKLOAD_NAME_GOING;
        hold(out, told, waits ? "PENDING" : "REFUSED", waits ? &going : &taken);
        plan_look_again(p, in->now.mono_ms + NAME_LOOK_MS);
    } else if (in->frozen.ptr) {
        hold(out, told, until_then, &w);
    } else {
        bool refused = r && r->count, early = refused && in->now.mono_ms < r->not_before_ms;
        if (refused)
            say(out, until_then, "ApplyRefused", slice_of(r->reason));
        if (early) {
            plan_look_again(p, r->not_before_ms);
            return true;
        }
        if (!in->wait)
            return false;
        hold(out, told, until_then, in->wait);
        plan_look_again(p, in->wait->look_ms);
    }
    return true;
}

void workload_decide(const struct workload_view *in, struct arena *a, struct plan *p, struct workload_told *out)
{
    const struct workload_object *o = newest(in);
    const struct work_object *object = o ? &o->is : in->count ? &in->objects[0].is : NULL;
    bool terminate = in->known && in->model->terminate;
    struct work_status s;
    *p = (struct plan){.next_ms = TIME_NEVER, .arena = a};
    work_state(object, terminate, a, &s);
    *out = (struct workload_told){.report = SLICE_NONE, .over = in->count && s.over ? s.generation : 0};
    if (in->quiet) {
        out->withheld = s.message.len || s.url.url.len;
        s.message = SLICE("");
        s.url.url = SLICE("");
    }
    if (!in->ended && in->count == 0 && in->known && (in->over >= in->generation || (terminate && in->over + 1 >= in->generation))) {
        return; /* its final state is reported already */
    } else if (in->ended || terminate) {
        end(in, p, &s, out);
    } else if (!in->known) {
        return; /* only its object is here: the control plane's list tells more */
    } else if (in->made < in->generation) {
        if (!is_blocked(in, p, &s, out)) {
            struct action *act = plan_add(p, &workload_apply);
            act->name = in->model->name;
            act->uid = o ? o->is.uid : SLICE_NONE;
            if (o && workload_forms[o->form].by_spec && !(in->refusals && in->refusals->count))
                /* until the answer, the object's status is that of the former generation */
                say(&s, s.state.ptr, WORK_PROGRESSING, SLICE(""));
        }
    } else if (!o) {
        say(&s, "TERMINATED", "DeletedHere",
            SLICE("somebody has deleted in the cluster what was made from this workload: it is made again when the workload changes"));
    }
    if (in->folder_missing.ptr && !s.over)
        say(&s, s.state.ptr, "WorkingDirMissing", in->folder_missing);
    out->report = write_report(in, &s, object, a);
}
