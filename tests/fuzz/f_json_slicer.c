/* However a stream is cut into pieces, the same items come out of it and it ends in the same way. The first byte of the input chooses the
 * kind of stream. */
#include <mobula/json.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_ITEM = 200 };

/* What came out, as text. */
static void outcome(struct slice in, enum json_stream stream, size_t piece, struct buf *out)
{
    struct json_slicer s;
    struct err e = {0};
    bool done = false;
    json_slicer_init(&s, stream, MAX_ITEM);
    while (!slice_empty(in) && s.skipped < 1000) {
        struct slice part = slice_head(in, piece), item;
        in = slice_skip(in, part.len);
        enum json_step step;
        while ((step = json_slice(&s, &part, &item, &e)) != JSON_MORE && step != JSON_BAD) {
            if (step == JSON_ITEM && (item.len > MAX_ITEM || item.ptr[0] != '{' || item.ptr[item.len - 1] != '}'))
                abort();
            done |= step == JSON_DONE;
            buf_printf(out, "%d", step);
            buf_put(out, item);
        }
        if (step == JSON_BAD) {
            if (e.code == ERR_NONE || json_slicer_at_rest(&s))
                abort();
            break;
        }
        if (!slice_empty(part))
            abort();
    }
    buf_printf(out, "%d %d %d", json_slicer_at_rest(&s), (int)e.code, (int)s.skipped);
    /* A list that was complete leaves an envelope; if that is JSON, the whole is but for its items. */
    if (done != (stream == JSON_STREAM_LIST && (json_slicer_at_rest(&s) || done)))
        abort();
    if (e.code == ERR_NONE)
        buf_put(out, json_slicer_envelope(&s));
    json_slicer_free(&s);
}

/* A list that json_parse takes is cut into the elements of its items. */
static void check_items(struct slice in)
{
    struct arena a = {0};
    struct json doc;
    struct json_slicer s;
    struct slice rest = in, item;
    struct jval key, value;
    if (json_parse(&doc, in, &a, NULL) && json_type(json_root(&doc)) == JSON_OBJECT) {
        json_slicer_init(&s, JSON_STREAM_LIST, in.len);
        struct jiter it = json_iter(json_get(json_root(&doc), "items"));
        enum json_step step;
        while ((step = json_slice(&s, &rest, &item, NULL)) == JSON_ITEM)
            if (!json_next(&it, &key, &value) || !slice_eq(json_raw(value), item))
                abort();
        struct json envelope;
        if (step == JSON_DONE && (json_next(&it, &key, &value) || !json_parse(&envelope, json_slicer_envelope(&s), &a, NULL)))
            abort();
        json_slicer_free(&s);
    }
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    enum json_stream stream = data[0] & 1 ? JSON_STREAM_LINES : JSON_STREAM_LIST;
    struct slice in = {(const char *)data + 1, size - 1};
    static const size_t pieces[] = {1, 2, 7, 64};
    struct buf whole, cut;
    buf_init(&whole, 64 * MIB);
    buf_init(&cut, 64 * MIB);
    outcome(in, stream, in.len + 1, &whole);
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        buf_clear(&cut);
        outcome(in, stream, pieces[i], &cut);
        if (!slice_eq(buf_slice(&whole), buf_slice(&cut)))
            abort();
    }
    check_items(in);
    buf_free(&whole);
    buf_free(&cut);
    return 0;
}
