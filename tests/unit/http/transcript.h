/* What a reader says about a stream, as one line of text: the expected output of the cases. */
#ifndef MOBULA_TEST_TRANSCRIPT_H
#define MOBULA_TEST_TRANSCRIPT_H

#include "../test.h"

#include <mobula/http.h>

struct transcript {
    struct http_reader reader;
    struct buf text;
    bool in_body, over;
};

static void transcript_head(struct transcript *t)
{
    const struct http_reader *r = &t->reader;
    if (r->side == HTTP_RESPONSES)
        buf_printf(&t->text, "%d", r->status);
    else
        buf_printf(&t->text, "%.*s %.*s", SLICE_ARG(r->method), SLICE_ARG(r->target));
    if (r->length >= 0)
        buf_printf(&t->text, " length=%" PRId64, r->length);
    buf_printf(&t->text, "%s%s%s", r->keep_alive ? " keep" : "", r->until_close ? " until-close" : "",
               r->expects_continue ? " continue" : "");
    for (uint32_t i = 0; i < r->header_count; i++)
        if (r->headers[i].name.len == 1) /* headers that are named for the test */
            buf_printf(&t->text, " %.*s=[%.*s]", SLICE_ARG(r->headers[i].name), SLICE_ARG(r->headers[i].value));
}

static void transcript_step(struct transcript *t, enum http_step step, struct slice body, const struct err *e)
{
    if (t->in_body && step != HTTP_BODY && step != HTTP_MORE) {
        buf_putc(&t->text, ')');
        t->in_body = false;
    }
    if (step == HTTP_HEAD)
        transcript_head(t);
    if (step == HTTP_BODY) {
        buf_put(&t->text, t->in_body ? SLICE("") : SLICE(" ("));
        buf_put(&t->text, body);
        t->in_body = true;
    }
    if (step == HTTP_END)
        buf_put(&t->text, SLICE(" end; "));
    if (step == HTTP_BAD)
        buf_printf(&t->text, " bad %s: %s", err_code_name(e->code), e->text);
    t->over = step == HTTP_BAD;
}

/* Reads one piece of the stream, which lies at the end of a readable page. */
__attribute__((unused)) static void transcript_feed(struct transcript *t, struct slice piece)
{
    struct slice in = guarded(piece), body;
    enum http_step step = HTTP_HEAD;
    while (!t->over && step != HTTP_MORE) {
        struct err e = {0};
        step = http_read(&t->reader, &in, &body, &e);
        transcript_step(t, step, body, &e);
    }
    if (!t->over && in.len)
        buf_put(&t->text, SLICE(" HTTP_MORE with bytes left"));
}

__attribute__((unused)) static void transcript_end(struct transcript *t)
{
    struct err e = {0};
    if (t->over)
        return;
    enum http_step step = http_read_end(&t->reader, &e);
    transcript_step(t, step, SLICE_NONE, &e);
    if (step == HTTP_MORE && t->in_body)
        buf_put(&t->text, SLICE(" HTTP_MORE inside a body"));
}

static void transcript_init(struct transcript *t, enum http_side side)
{
    *t = (struct transcript){.in_body = false};
    http_reader_init(&t->reader, side);
    buf_init(&t->text, MIB);
}

static void transcript_free(struct transcript *t)
{
    http_reader_free(&t->reader);
    buf_free(&t->text);
}

#endif
