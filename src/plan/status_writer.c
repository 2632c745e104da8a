#include <mobula/status.h>

/* Empty: the text exceeds LIMIT_JSON_ITEM, because another client has added members to this status or to one that is copied into it. */
static struct slice text_of(const struct status_writer *s, struct slice stamp)
{
    struct buf b;
    struct jout w;
    buf_init(&b, LIMIT_JSON_ITEM);
    jout_init(&w, &b);
    jout_object(&w);
    s->write(s->about, &w, stamp);
    jout_end(&w);
    struct slice text = b.full ? SLICE("") : arena_dup(s->plan->arena, buf_slice(&b));
    buf_free(&b);
    return text;
}

bool status_next(struct status_writer *s)
{
    s->next = text_of(s, SLICE(""));
    s->next_hash = hash64(s->next, 0);
    return s->next_hash != s->hash;
}

struct jval status_next_object(const struct status_writer *s)
{
    struct jval next;
    if (!json_read(&next, s->next, s->plan->arena, NULL))
        log_warn("a status exceeds the limit and is not written: remove what other clients have added to it, or to a status that it copies",
                 LF("uid", s->uid));
    return next;
}

enum status_news status_look(struct status_writer *s)
{
    if (!status_next(s))
        return STATUS_SAME;
    struct jval next = status_next_object(s);
    if (!json_there(next))
        return STATUS_HELD;
    if (status_has(s->prior, next))
        return STATUS_SAME;
    if (s->now.mono_ms >= s->not_before_ms)
        return STATUS_NEWS;
    plan_look_again(s->plan, s->not_before_ms);
    return STATUS_HELD;
}

void status_send(struct status_writer *s)
{
    char now[TIME_TEXT_MAX];
    struct slice status = text_of(s, time_format(s->now.wall_us, now));
    if (!status.len)
        return;
    plan_add(s->plan, &verb_status)->text =
        arena_printf(s->plan->arena, "{\"metadata\":{\"uid\":\"%.*s\"},\"status\":%.*s}", SLICE_ARG(s->uid), SLICE_ARG(status));
    s->plan->status_hash = s->next_hash;
}

void status_write_foreign(struct jout *w, struct jval prior, const char *const *ours)
{
    struct jval k, v;
    for (struct jiter it = json_iter(json_get(prior, "conditions")); json_next(&it, &k, &v);) {
        const char *const *type = ours;
        while (*type && !json_is(json_get(v, "type"), *type))
            type++;
        if (!*type)
            jout_val(w, v);
    }
}

void status_write_all(struct jout *w, const struct condition *all, size_t count, struct jval prior, struct slice stamp, struct arena *a,
                      const char *const *ours)
{
    jout_karray(w, "conditions");
    for (size_t i = 0; i < count; i++)
        status_write_condition(w, &all[i], prior, stamp, a);
    status_write_foreign(w, prior, ours);
    jout_end(w);
}

void status_say_invalid(struct status_writer *s, int64_t generation, const char *reason, struct slice words)
{
    struct jval before = status_condition(s->prior, SLICE("Valid"));
    bool said = json_is(json_get(before, "status"), "False") && json_get_int(before, "observedGeneration", -1) == generation;
    if (!slice_empty(words) && !said)
        plan_event(s->plan, true, reason, words);
}
