/* Log lines and Kubernetes events about a record, and the memory that suppresses repeated lines. */
#include <mobula/control.h>

uint64_t said_of(const struct record *c, struct slice words, uint64_t more)
{
    return hash64(words, hash64(slice_of(c->name), hash64(istr_slice(c->ns), more)));
}

bool say_once(struct op *op, enum said_kind kind, uint64_t what)
{
    static const char *const names[] = {"API server", "cluster", "head", "drain"};
    struct log_memory *m = &op->said[kind];
    uint32_t held = m->held;
    if (!log_memory_pass(m, what, op->now))
        return false;
    if (held)
        log_warn("repeated log lines suppressed", LF_CSTR("about", names[kind]), LF_INT("count", held));
    return true;
}

bool say_failed(struct op *op, int failed, uint64_t action, uint64_t whose)
{
    bool no = failed == 0 || (failed >= 400 && failed < 500 && failed != 401 && failed != 408 && failed != 429);
    uint64_t what = hash64((struct slice){(const char *)&failed, sizeof failed}, action);
    return no ? say_once(op, SAID_CLUSTER, what ^ whose) : say_once(op, SAID_SERVER, what);
}

void say_event(struct op *op, struct record *c, bool warning, const char *reason, struct slice note)
{
    struct kube_event ev = {.about = {.api_version = c->kind->api_version,
                                      .kind = slice_of(c->kind->name),
                                      .ns = istr_slice(c->ns),
                                      .name = slice_of(c->name),
                                      .uid = slice_of(c->uid)},
                            .warning = warning,
                            .reason = slice_of(reason),
                            .action = SLICE("Reconcile"),
                            .note = note};
    kube_event_say(op->events, &ev, op->now);
    history_event(op, c, &ev);
}

/* An event that a decision asked for. */
static void say_note(struct op *op, struct record *c, const struct action *act)
{
    if (act->logged && say_once(op, SAID_CLUSTER, said_of(c, act->text, verb_number(op, act->verb))))
        log_warn(act->why, LF("namespace", istr_slice(c->ns)), LF_CSTR(c->kind->word, c->name), LF("what", act->text));
    say_event(op, c, act->warning, act->why, act->text);
}

/* The messages of a decision. With a status it comes true when that is stored: a write that fails is decided again, maybe otherwise. */
void say_planned(struct op *op, struct record *c, const struct action *act)
{
    if (!c->work->writes_status)
        say_note(op, c, act);
}

/* The plan may have been dropped since its status was sent: its actions up to that are still there. */
void say_stored(struct op *op, struct record *c)
{
    for (uint32_t i = 0; c->work && i < c->work->next; i++)
        if (c->work->actions[i].verb == &verb_event)
            say_note(op, c, &c->work->actions[i]);
}
