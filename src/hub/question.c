/* Questions to the operator of a cloud on behalf of a client that waits: they go with the answers of its calls, and are answered in its
 * next one. They live as long as the call that asks. */
#include "private.h"

#include <stdio.h>

static void expire(struct call *c)
{
    static const struct refusal silent = {503, "Unavailable", "see whether the operator of the cloud runs and reaches the control plane",
                                          5};
    call_refuse(c, &silent, "the operator of cloud %s has not answered within %d s", c->cloud->key, HUB_QUESTION_MS / 1000);
}

void question_put(struct call *c, struct cloud *of, const char *kind, question_done *done)
{
    static const struct refusal many = {429, "TooManyRequests", "call again later, and less often", 1};
    struct hub *h = c->hub;
    struct question **end = &of->questions, *q;
    uint32_t count = 0;
    for (; *end; end = &(*end)->next)
        count++;
    if (count >= LIMIT_HUB_ANSWERS) {
        call_refuse(c, &many, "%d questions wait for the operator of cloud %s", LIMIT_HUB_ANSWERS, of->key);
        return;
    }
    q = arena_new(&c->arena, struct question);
    *q = (struct question){.of = of, .call = c, .kind = kind, .done = done, .uid = c->uid, .version = c->version, .lines = c->lines};
    /* The operator's answer may come to another replica, whose own questions must not have this id. */
    snprintf(q->id, sizeof q->id, "q%llu.%08x", (unsigned long long)++h->questions, (unsigned)hash64(h->o.replica, 0));
    *end = q;
    c->question = q;
    c->until_ms = h->now.mono_ms + HUB_QUESTION_MS;
    c->touch = expire;
    cloud_touch(of);
}

static void write_question(const struct question *q, struct jout *w)
{
    struct slice token = slice_empty(q->uid) ? auth_bearer(q->call) : SLICE("");
    jout_form(w, "{id:'%s',kind:'%s',token?:'%.*s'", q->id, q->kind, SLICE_ARG(token));
    if (!slice_empty(q->uid))
        jout_form(w, "uid:'%.*s',lines:%lld,since:'',version?:'%.*s'", SLICE_ARG(q->uid), (long long)q->lines, SLICE_ARG(q->version));
    jout_end(w);
}

bool questions_write(struct cloud *c, struct jout *w)
{
    bool any = false;
    for (struct question *q = c->questions; q; q = q->next) {
        if (q->sent)
            continue;
        any = true;
        if (w)
            write_question(q, w);
        q->sent = w != NULL;
    }
    return any;
}

bool question_answered(struct cloud *of, struct jval answer)
{
    struct question *q = of->questions;
    while (q && !json_is(json_get(answer, "id"), q->id))
        q = q->next;
    if (!q)
        return false;
    struct call *c = q->call;
    question_drop(q);
    q->done(c, of, answer);
    return true;
}
