/* What a control plane answers: something whole within its limits, or an error with a reason; and refusals, which become one line. */
#include <mobula/remote.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_item(const struct remote_item *x)
{
    if (x->uid.len != 36 || !name_dns1123_label(x->uid))
        abort();
    if (!x->gone && (!name_dns1123_label(x->project) || !name_dns1123_subdomain(x->name) || x->generation < 1 || x->spec.ptr[0] != '{'))
        abort();
}

static void check_answer(const struct remote_answer *r)
{
    if (r->revision.len < 1 || r->revision.len > LIMIT_REMOTE_REVISION || !utf8_valid(r->revision))
        abort();
    if (r->count + r->bad > LIMIT_REMOTE_ITEMS || (r->bad != 0) != (r->why.code != ERR_NONE))
        abort();
    if (r->question_count > LIMIT_REMOTE_QUESTIONS || r->retry_after_ms < 0)
        abort();
    for (uint32_t i = 0; i < r->count; i++)
        check_item(&r->items[i]);
    for (uint32_t i = 0; i < r->question_count; i++)
        if (r->questions[i].id.len < 1 || r->questions[i].id.len > LIMIT_REMOTE_REVISION)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct remote_answer r;
    struct err e = {0};
    struct slice text = {(const char *)data, size};
    char words[REMOTE_WORDS];
    bool ok = remote_read(text, &a, &r, &e);
    if (ok != (e.code == ERR_NONE))
        abort();
    if (ok)
        check_answer(&r);
    remote_refusal(size ? 300 + data[0] : 500, text, words);
    if (!utf8_valid(slice_of(words)) || strpbrk(words, "\r\n\t"))
        abort();
    arena_free(&a);
    return 0;
}
