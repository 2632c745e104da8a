/* Warning headers of the API server about accepted objects: unknown fields that it drops, deprecated versions, pods that a Pod Security
 * policy would refuse. The cause is in the user's template, so the warning becomes an event and a condition of the custom resource, each
 * text once per generation. */
#include <mobula/control.h>

static bool has_line(struct slice lines, struct slice line)
{
    while (!slice_empty(lines))
        if (slice_eq(slice_cut(&lines, '\n'), line))
            return true;
    return false;
}

static void tell(struct op *op, const struct flight *f, struct slice text)
{
    struct record *c = f->c;
    char note[2 * LIMIT_KUBE_EVENT_NOTE]; /* say_event cuts it to LIMIT_KUBE_EVENT_NOTE */
    if (say_once(op, SAID_CLUSTER, said_of(c, text, verb_number(op, f->verb))))
        log_warn("the API server warns", LF("namespace", istr_slice(c->ns)), LF_CSTR(c->kind->word, c->name), LF_CSTR("object", f->name),
                 LF_CSTR("action", f->verb->name), LF("warning", text));
    snprintf(note, sizeof note, "%s: the API server warns: %.*s", f->name, SLICE_ARG(text));
    say_event(op, c, true, "ServerWarning", slice_of(note));
}

void warnings_heard(struct op *op, const struct flight *f, struct slice lines)
{
    struct record *c = f->c;
    struct slice known = c->warned ? istr_slice(c->warned) : SLICE("");
    struct buf all;
    if (f->generation != c->seen.generation)
        return; /* it was about an older spec */
    buf_init(&all, LIMIT_KUBE_WARNINGS * (LIMIT_KUBE_WARNING + 1));
    buf_put(&all, known);
    uint32_t count = 0;
    for (struct slice rest = known; !slice_empty(rest); count++)
        slice_cut(&rest, '\n');
    while (!slice_empty(lines) && count < LIMIT_KUBE_WARNINGS) {
        struct slice line = slice_cut(&lines, '\n');
        if (slice_empty(line) || has_line(buf_slice(&all), line))
            continue;
        buf_put(&all, line);
        buf_putc(&all, '\n');
        tell(op, f, line);
        count++;
    }
    if (all.len > known.len) {
        const struct istr *fresh = intern_get(&op->strings, buf_slice(&all));
        intern_drop(&op->strings, c->warned);
        c->warned = fresh;
        record_touch(op, c);
    }
    buf_free(&all);
}
