/* Anybody's bytes at the health and metrics listeners, in pieces: what comes back is nothing or exactly one whole answer, and then the
 * connection ends. */
#include "tests/unit/kube/fakenet.h"
#include <mobula/operator.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(struct slice out)
{
    struct http_reader r;
    struct slice body;
    struct err e = {0};
    if (slice_empty(out))
        return;
    http_reader_init(&r, HTTP_RESPONSES);
    if (http_read(&r, &out, &body, &e) != HTTP_HEAD || r.keep_alive ||
        (r.status != 200 && r.status != 400 && r.status != 404 && r.status != 405 && r.status != 431 && r.status != 503))
        abort();
    enum http_step step = HTTP_BODY;
    while (step == HTTP_BODY)
        step = http_read(&r, &out, &body, &e);
    if (step != HTTP_END || out.len)
        abort();
    http_reader_free(&r);
}

static void visit(struct fake *f, struct link_accept *accept, struct slice in, size_t piece)
{
    struct endpoint to = {.host = SLICE("visitor")};
    struct err e = {0};
    struct link *link = fake_net_open(&f->net, &to, NULL, TIME_NEVER, &e);
    struct fakelink *l = fake_last(f);
    net_forget(link);
    accept->accept(accept, link, f->now);
    while (in.len && l->link) {
        buf_put(&l->in, slice_head(in, piece));
        net_wake(l->link);
        in = slice_skip(in, piece < in.len ? piece : in.len);
        while (net_dispatch(&f->net, f->now))
            ;
    }
    bool answered = l->out.len > 0;
    if (l->link) {
        l->link->state = LINK_ENDED;
        net_wake(l->link);
        while (net_dispatch(&f->net, f->now))
            ;
    }
    if (l->link || (answered && l->out.len == 0))
        abort();
    check_answer(buf_slice(&l->out));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct slice namespaces[] = {{"n", 1}};
    const struct operator_options o = {.namespaces = namespaces, .namespace_count = 1, .instance = SLICE("fuzz"), .seed = 1};
    static const size_t pieces[] = {1, 7, SIZE_MAX};
    struct fake f;
    struct err e = {0};
    struct slice in = {(const char *)data, size};
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    fake_init(&f);
    struct op *op = operator_new(&f.net, f.config, &o, &e);
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        visit(&f, operator_health(op), in, pieces[i]);
        visit(&f, operator_metrics(op), in, pieces[i]);
    }
    operator_free(op);
    fake_free(&f);
    return 0;
}
