/* For the fuzz targets of http: reads a stream cut into pieces and folds what was read into one number, so that two ways of cutting
 * can be compared. */
#ifndef MOBULA_FUZZ_HTTP_STEPS_H
#define MOBULA_FUZZ_HTTP_STEPS_H

#include <mobula/http.h>

#include <stdlib.h>

struct steps {
    struct http_reader reader;
    uint64_t digest; /* of all heads, body bytes, ends and the error */
    uint64_t body;   /* bytes of the current body */
    bool over;
};

static void steps_mix(struct steps *s, uint64_t v)
{
    s->digest = (s->digest ^ v) * UINT64_C(0x100000001b3);
}

static void steps_mix_slice(struct steps *s, struct slice text)
{
    for (size_t i = 0; i < text.len; i++)
        steps_mix(s, (unsigned char)text.ptr[i]);
    steps_mix(s, 256);
}

static void steps_head(struct steps *s)
{
    const struct http_reader *r = &s->reader;
    steps_mix(s, (uint64_t)r->status + (uint64_t)r->keep_alive * 1000 + (uint64_t)r->until_close * 2000);
    steps_mix_slice(s, r->method);
    steps_mix_slice(s, r->target);
    for (uint32_t i = 0; i < r->header_count; i++) {
        steps_mix_slice(s, r->headers[i].name);
        steps_mix_slice(s, r->headers[i].value);
    }
    struct http_warnings warnings = {.reader = r};
    struct buf text;
    buf_init(&text, LIMIT_HTTP_HEAD);
    while (http_warning_next(&warnings, &text))
        steps_mix_slice(s, buf_slice(&text));
    buf_free(&text);
    s->body = 0;
}

static void steps_take(struct steps *s, enum http_step step, struct slice body, const struct err *e)
{
    if (step == HTTP_HEAD)
        steps_head(s);
    for (size_t i = 0; step == HTTP_BODY && i < body.len; i++)
        steps_mix(s, (unsigned char)body.ptr[i]);
    s->body += step == HTTP_BODY ? body.len : 0;
    if (step == HTTP_BODY && (body.len == 0 || (s->reader.length >= 0 && s->body > (uint64_t)s->reader.length)))
        abort(); /* empty pieces would never end, and a body is as long as it says */
    if (step == HTTP_BAD && (e->code == ERR_NONE || !e->text[0]))
        abort();
    if (step != HTTP_BODY) /* how many pieces there are is chance */
        steps_mix(s, (uint64_t)step + ((uint64_t)e->code << 8));
    s->over = step == HTTP_BAD;
}

static void steps_feed(struct steps *s, struct slice piece)
{
    enum http_step step = HTTP_HEAD;
    while (!s->over && step != HTTP_MORE) {
        struct slice body;
        struct err e = {0};
        step = http_read(&s->reader, &piece, &body, &e);
        if (step == HTTP_MORE && piece.len)
            abort();
        if (step != HTTP_MORE)
            steps_take(s, step, body, &e);
    }
}

/* Reads in pieces of 1 … most bytes, by chance; most 0: whole. Gives the digest. */
static uint64_t steps_run(enum http_side side, struct slice head, struct slice in, size_t most)
{
    struct steps s = {.digest = 1};
    struct rng rng;
    rng_seed(&rng, most);
    http_reader_init(&s.reader, side);
    steps_feed(&s, head);
    while (in.len && !s.over) {
        size_t n = most ? 1 + (size_t)rng_below(&rng, most) : in.len;
        steps_feed(&s, slice_head(in, n));
        in = slice_skip(in, n < in.len ? n : in.len);
    }
    struct err e = {0};
    enum http_step end = s.over ? HTTP_BAD : http_read_end(&s.reader, &e);
    if (!s.over && end != HTTP_MORE)
        steps_take(&s, end, SLICE_NONE, &e);
    http_reader_free(&s.reader);
    return s.digest;
}

/* However the stream is cut, the same is read. */
static void steps_check(enum http_side side, struct slice head, struct slice in)
{
    uint64_t whole = steps_run(side, head, in, 0);
    if (steps_run(side, head, in, 1) != whole || steps_run(side, head, in, 9) != whole || steps_run(side, head, in, 200) != whole)
        abort();
}

#endif
