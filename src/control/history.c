/* The history of objects: a line of JSON for each event and each status, in the bucket of logs, where it outlives the objects. */
#include <mobula/control.h>
#include <mobula/ship.h>

/* Begins a line about an object, to which the caller adds and which history_add ends. */
static void begin(struct jout *w, struct buf *line, struct op *op, const char *type)
{
    char time[TIME_TEXT_MAX];
    time_format_micro(op->now.wall_us, time);
    jout_init(w, line);
    jout_form(w, "{time:'%s',type:'%s'", time, type);
}

/* The file lies in a folder that is named after the object, as those of its pods are. */
static void add(struct op *op, const struct record *c, struct jout *w)
{
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    struct slice ns = istr_slice(c->ns), kind = slice_lower(slice_of(c->kind->name), &a);
    jout_end(w);
    ship_journal_add(op->o.bucket.journal,
                     arena_printf(&a, "%.*s/%s/%.*s.%s/history.jsonl", SLICE_ARG(ns), c->name, SLICE_ARG(kind), c->uid), buf_slice(w->to),
                     op->now);
}

void history_event(struct op *op, const struct record *c, const struct kube_event *ev)
{
    __attribute__((cleanup(buf_free))) struct buf line = {.max = LIMIT_SHIP_BATCH};
    struct jout w;
    if (!op->o.bucket.journal)
        return;
    begin(&w, &line, op, "event");
    jout_form(&w, "warning:%hhd,reason:'%.*s',message:'%.*s'", ev->warning, SLICE_ARG(ev->reason), SLICE_ARG(ev->note));
    add(op, c, &w);
}

void history_status(struct op *op, const struct record *c, struct jval object)
{
    __attribute__((cleanup(buf_free))) struct buf line = {.max = LIMIT_SHIP_BATCH};
    struct jout w;
    if (!op->o.bucket.journal)
        return;
    begin(&w, &line, op, "status");
    jout_kval(&w, "status", json_get(object, "status"));
    add(op, c, &w);
}

void history_tasks(struct op *op, const struct record *c, struct slice summary)
{
    __attribute__((cleanup(buf_free))) struct buf line = {.max = LIMIT_SHIP_BATCH};
    struct jout w;
    if (!op->o.bucket.journal)
        return;
    begin(&w, &line, op, "tasks");
    if (summary.len > LIMIT_JOB_TASKS)
        jout_form(&w, "tasks:null,left_out:%zu", summary.len);
    else
        jout_form(&w, "tasks:%.*s", SLICE_ARG(summary));
    for (size_t i = 0; i < line.len; i++) /* between values of a head that lays JSON out */
        line.ptr[i] = line.ptr[i] == '\n' || line.ptr[i] == '\r' ? ' ' : line.ptr[i];
    add(op, c, &w);
}
