/* The state of a workload at the control plane, and waiting for its end, also while the control plane is away. */
#include <mobula/fleet.h>
#include <mobula/submit.h>

enum { LOOK_MS = 1000 };

bool fleet_job_ended(struct slice state)
{
    static const char *const words[] = {"SUCCEEDED", "FAILED", "TERMINATED", "REFUSED"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (slice_eq(state, slice_of(words[i])))
            return true;
    return false;
}

bool fleet_job_read(struct desk *d, struct json *doc, struct slice *state, struct err *e)
{
    struct ask_answer a;
    if (!fleet_get(d, d->o.name, &a, e) || !json_parse(doc, a.body, &d->a, e))
        return false;
    *state = json_get_str(json_root(doc), FLEET_STATE, &d->a);
    if (slice_empty(*state))
        *state = SLICE("PENDING");
    return true;
}

bool fleet_job_is_over(struct desk *d, bool *over, struct slice *message, struct err *e)
{
    struct json doc;
    struct slice state;
    if (!fleet_job_read(d, &doc, &state, e))
        return false;
    *over = fleet_job_ended(state);
    *message = json_get_str(json_root(&doc), "status.message", &d->a);
    return true;
}

bool fleet_job_outlasts(struct desk *d, bool answered, bool *away, struct err *e)
{
    if (!answered || e->code == ERR_STATUS || e->code == ERR_NONE || d->ask.signal)
        return false;
    if (!*away)
        fleet_tell(d, arena_printf(&d->a, "mobula: %s\nmobula: the %s goes on, and is asked about until there is an answer\n", e->text,
                                   d->noun->word));
    *e = (struct err){0};
    *away = true;
    return true;
}

/* Of the log's end in the message only when the job has failed. */
void fleet_say(struct desk *d, struct slice state, struct slice message)
{
    char line[ERR_TEXT_MAX];
    ptrdiff_t log = slice_find_text(message, "log:\n");
    if (log >= 0 && !slice_is(state, "FAILED"))
        message.len = (size_t)log;
    message = slice_trim(message);
    fleet_tell(d, arena_printf(&d->a, "%s %.*s: %.*s%s", d->noun->word, SLICE_ARG(d->o.name), SLICE_ARG(state),
                               slice_empty(message) ? "\n" : ": "));
    for (const char *indent = ""; !slice_empty(message); indent = "    ") /* further lines of a job's message must not look like our own */
        fleet_tell(d, arena_printf(&d->a, "%s%s\n", indent, utf8_clean(slice_cut(&message, '\n'), line, sizeof line).ptr));
}

bool fleet_job_look(struct desk *d, uint64_t *said, bool *over, struct err *e)
{
    struct json doc;
    struct slice state;
    if (!fleet_job_read(d, &doc, &state, e))
        return false;
    struct slice message = json_get_str(json_root(&doc), "status.message", &d->a);
    *over = fleet_job_ended(state);
    bool once = *over && !slice_eq(state, SLICE("SUCCEEDED")) && slice_empty(message); /* the error below has the same words */
    if (hash64(state, 0) != *said && !once)
        fleet_say(d, state, message);
    *said = hash64(state, 0);
    if (slice_is(state, "REFUSED"))
        return err_set(
            e, ERR_STATUS,
            "job %.*s is refused, and starts by itself when the policy or the namespaces there are put right: mobula job terminate "
            "%.*s takes it back",
            SLICE_ARG(d->o.name), SLICE_ARG(d->o.name));
    return !*over || slice_eq(state, SLICE("SUCCEEDED")) ||
           err_set(e, ERR_STATUS, "job %.*s ended: %.*s", SLICE_ARG(d->o.name), SLICE_ARG(state));
}

bool fleet_wait(struct desk *d, fleet_look *look_at, struct err *e)
{
    int64_t until_ms = d->o.timeout_ms ? clock_now().mono_ms + d->o.timeout_ms : TIME_NEVER;
    struct arena kept = d->a;
    const char *word = d->noun->word;
    uint64_t said = 0;
    bool well = true, over = false, away = false;
    d->a = (struct arena){0};
    for (; well; arena_reset(&d->a, MIB)) {
        well = look_at(d, &said, &over, e);
        if (over)
            break;
        well = well || fleet_job_outlasts(d, said != 0, &away, e);
        if (well && clock_now().mono_ms >= until_ms)
            well = err_set(e, ERR_TIMEOUT, "%s %.*s has not ended within --%stimeout; it goes on", word, SLICE_ARG(d->o.name),
                           d->noun->part ? "wait-" : "");
        if (well && !ask_pause(&d->ask, LOOK_MS))
            well = err_set(e, ERR_CLOSED, "ended by a signal; the %s goes on", word);
        if (!well && ((e->code == ERR_TIMEOUT && said) || d->ask.signal))
            d->status = STATUS_UNKNOWN;
    }
    arena_free(&d->a);
    d->a = kept;
    return well;
}
