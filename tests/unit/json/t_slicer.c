#include "../test.h"

#include <mobula/json.h>

/* What a stream came to: items joined by '|', "OVER" for those passed over, and how it ended. */
struct outcome {
    struct buf items;
    enum json_step last;
    enum err_code code;
    bool at_rest;
    struct slice envelope;
};

/* Feeds text in chunks of n bytes, each of which ends at a page that cannot be read. */
static void feed(struct json_slicer *s, struct slice text, size_t n, struct outcome *out)
{
    struct err e = {0};
    buf_clear(&out->items);
    out->last = JSON_MORE;
    while (!slice_empty(text) && out->last != JSON_BAD) {
        struct slice in = guarded(slice_head(text, n)), item;
        text = slice_skip(text, in.len);
        enum json_step step = JSON_MORE;
        do {
            size_t before = in.len;
            unsigned state = s->state;
            step = json_slice(s, &in, &item, &e);
            out->last = step == JSON_MORE && out->last == JSON_DONE ? JSON_DONE : step;
            if (step == JSON_ITEM)
                buf_printf(&out->items, "%.*s|", SLICE_ARG(item));
            if (step == JSON_OVER)
                buf_put(&out->items, SLICE("OVER|"));
            if (step == JSON_MORE && !slice_empty(in))
                CHECK(!"JSON_MORE with bytes left");
            if (step != JSON_MORE && step != JSON_BAD && before == in.len && state == s->state)
                CHECK(!"a step without progress");
        } while (step != JSON_MORE && step != JSON_BAD);
    }
    out->code = e.code;
    out->at_rest = json_slicer_at_rest(s);
    out->envelope = json_slicer_envelope(s);
}

static const struct {
    enum json_stream stream;
    const char *text, *items, *envelope;
    enum json_step last;
    bool at_rest;
} cases[] = {
#define LIST JSON_STREAM_LIST
#define LINES JSON_STREAM_LINES
    {LIST, "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{\"a\":1},{\"b\":[{}]}]}\n",
     "{\"a\":1}|{\"b\":[{}]}|", "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[]}", JSON_DONE, true},
    {LIST, "{\"items\":[{\"a\":\"]}\\\"\\\\\"} , {}],\"metadata\":{\"items\":[{\"x\":1}],\"n\":[1,2]},\"n\":12.5,\"t\":true}",
     "{\"a\":\"]}\\\"\\\\\"}|{}|", "{\"items\":[],\"metadata\":{\"items\":[{\"x\":1}],\"n\":[1,2]},\"n\":12.5,\"t\":true}", JSON_DONE,
     true},
    {LIST, " { \"items\" : [ ] , \"a\" : \"b c\" } ", "", "{\"items\":[],\"a\":\"b c\"}", JSON_DONE, true},
    {LIST, "{\"items\":null}", "", "{\"items\":null}", JSON_DONE, true},
    {LIST, "{}", "", "{}", JSON_DONE, true},
    {LIST, "{\"item\":[{}],\"itemss\":[{}],\"itemsitems\":[{}]}", "", "{\"item\":[{}],\"itemss\":[{}],\"itemsitems\":[{}]}", JSON_DONE,
     true},
    {LIST, "{\"kind\":\"items\",\"items\":[{}]}", "{}|", "{\"kind\":\"items\",\"items\":[]}", JSON_DONE, true},
    {LIST, "{\"a\":{\"items\":[{}]},\"items\":[{\"items\":[{}]}]}", "{\"items\":[{}]}|", "{\"a\":{\"items\":[{}]},\"items\":[]}", JSON_DONE,
     true},
    {LIST, "", "", "", JSON_MORE, false},
    {LIST, "{\"items\":[{\"a\":1},{\"b\"", "{\"a\":1}|", "{\"items\":[", JSON_MORE, false},
    {LIST, "{\"items\":[{}]", "{}|", "{\"items\":[]", JSON_MORE, false},
    {LIST, "[]", "", NULL, JSON_BAD, false},
    {LIST, "\"x\"", "", NULL, JSON_BAD, false},
    {LIST, "{\"items\":{}}", "", NULL, JSON_BAD, false},
    {LIST, "{\"items\":\"x\"}", "", NULL, JSON_BAD, false},
    {LIST, "{\"items\":[1]}", "", NULL, JSON_BAD, false},
    {LIST, "{\"items\":[[]]}", "", NULL, JSON_BAD, false},
    {LIST, "{\"items\":[null]}", "", NULL, JSON_BAD, false},
    {LIST, "{\"items\":[{},]}", "{}|", NULL, JSON_BAD, false},
    {LIST, "{\"items\":[,{}]}", "", NULL, JSON_BAD, false},
    {LIST, "{\"items\":[{}{}]}", "{}|", NULL, JSON_BAD, false},
    {LIST, "{\"items\":[{]}", "", NULL, JSON_BAD, false},
    {LIST, "{\"items\":[{}],\"items\":[{}]}", "{}|", NULL, JSON_BAD, false},
    {LIST, "{\"items\":null,\"items\":[{}]}", "", NULL, JSON_BAD, false},
    {LIST, "{\"\\u0069tems\":[{}]}", "", NULL, JSON_BAD, false},
    {LIST, "{\"a\":[}]}", "", NULL, JSON_BAD, false},
    {LIST, "{,}", "", NULL, JSON_BAD, false},
    {LIST, "{\"a\":1,}", "", NULL, JSON_BAD, false},
    {LIST, "{\"a\"}", "", NULL, JSON_BAD, false},
    {LIST, "{\"a\" 1}", "", NULL, JSON_BAD, false},
    {LIST, "{\"a\":1 2}", "", NULL, JSON_BAD, false},
    {LIST, "{\"a\":\"x\" \"b\":1}", "", NULL, JSON_BAD, false},
    {LIST, "{} {}", "", NULL, JSON_BAD, false},
    {LIST, "{}x", "", NULL, JSON_BAD, false},
    {LINES, "{\"type\":\"ADDED\",\"object\":{\"a\":[{}]}}\n{\"b\":\"}\\\"{\"}\n",
     "{\"type\":\"ADDED\",\"object\":{\"a\":[{}]}}|{\"b\":\"}\\\"{\"}|", "", JSON_MORE, true},
    {LINES, "{}{}  {\n}\n", "{}|{}|{\n}|", "", JSON_MORE, true},
    {LINES, "{\"a\":1}\n{\"b\":", "{\"a\":1}|", "", JSON_MORE, false},
    {LINES, "", "", "", JSON_MORE, true},
    {LINES, "\n\n", "", "", JSON_MORE, true},
    {LINES, "{}\n[]", "{}|", NULL, JSON_BAD, false},
    {LINES, "{},{}", "{}|", NULL, JSON_BAD, false},
    {LINES, "1", "", NULL, JSON_BAD, false},
    {LINES, "{]", "", NULL, JSON_BAD, false},
    {LINES, "{[}]", "", NULL, JSON_BAD, false},
    {LINES, "}", "", NULL, JSON_BAD, false},
#undef LIST
#undef LINES
};

static void test_cases(void)
{
    struct outcome out;
    buf_init(&out.items, MIB);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct json_slicer s;
        json_slicer_init(&s, cases[i].stream, KIB);
        struct slice text = slice_of(cases[i].text);
        for (size_t n = 1; n <= text.len + 1; n++) {
            test_case("slice %zu %s in %zu", i, cases[i].text, n);
            json_slicer_reset(&s);
            feed(&s, text, n, &out);
            /* "items":[] at the end of the text closes with JSON_DONE, which later white space does not undo */
            CHECK_INT(out.last == JSON_ITEM ? JSON_MORE : out.last, cases[i].last);
            CHECK_STR(buf_slice(&out.items), cases[i].items);
            CHECK_INT(out.at_rest, cases[i].at_rest);
            CHECK_INT(out.code, cases[i].last == JSON_BAD ? ERR_SYNTAX : ERR_NONE);
            if (cases[i].envelope)
                CHECK_STR(out.envelope, cases[i].envelope);
        }
        json_slicer_free(&s);
    }
    buf_free(&out.items);
}

/* Once broken, it stays so. */
static void test_broken(void)
{
    test_case("broken");
    struct json_slicer s;
    struct err e = {0};
    struct slice in = SLICE("1{}"), item;
    json_slicer_init(&s, JSON_STREAM_LINES, KIB);
    CHECK_INT(json_slice(&s, &in, &item, &e), JSON_BAD);
    in = SLICE("{}");
    CHECK_INT(json_slice(&s, &in, &item, &e), JSON_BAD);
    json_slicer_reset(&s);
    CHECK_INT(json_slice(&s, &in, &item, &e), JSON_ITEM);
    CHECK_STR(item, "{}");
    json_slicer_free(&s);
}

/* A common item lies in the input and is not copied. */
static void test_in_place(void)
{
    test_case("in place");
    struct json_slicer s;
    struct slice text = SLICE("{\"a\":1}\n"), in = text, item;
    json_slicer_init(&s, JSON_STREAM_LINES, KIB);
    CHECK_INT(json_slice(&s, &in, &item, NULL), JSON_ITEM);
    CHECK(item.ptr == text.ptr);
    CHECK(s.item.ptr == NULL);
    CHECK_STR(in, "\n");
    json_slicer_free(&s);
}

static void test_item_limit(void)
{
    enum { MAX = 100 };
    struct outcome out;
    buf_init(&out.items, MIB);
    for (int list = 0; list < 2; list++) {
        for (size_t chunk = 1; chunk < 400; chunk += 7) {
            struct buf text;
            struct json_slicer s;
            test_case("item limit %d %zu", list, chunk);
            buf_init(&text, KIB);
            buf_printf(&text, "%s{\"x\":\"%0*d\"}%s{\"x\":\"%0*d\"}%s{}%s", list ? "{\"items\":[" : "", MAX - 8, 0, list ? "," : "\n",
                       MAX - 7, 0, list ? "," : "\n", list ? "]}" : "\n");
            json_slicer_init(&s, list ? JSON_STREAM_LIST : JSON_STREAM_LINES, MAX);
            feed(&s, buf_slice(&text), chunk, &out);
            CHECK_INT(out.code, ERR_NONE);
            CHECK_INT(s.skipped, 1);
            CHECK(out.at_rest);
            CHECK_INT(out.items.len, MAX + 1 + 5 + 3);
            CHECK(slice_ends(buf_slice(&out.items), SLICE("|OVER|{}|")));
            json_slicer_free(&s);
            buf_free(&text);
        }
    }
    buf_free(&out.items);
}

static void nest(struct buf *b, size_t n, const char *open, const char *close)
{
    for (size_t i = 0; i < n; i++)
        buf_put(b, slice_of(open));
    for (size_t i = 0; i < n; i++)
        buf_put(b, slice_of(close));
}

/* An item that is too deep is one user's mistake, and the list goes on; beside the items it is the server's. */
static void test_depth_limit(void)
{
    struct outcome out;
    struct json_slicer s;
    struct buf text;
    buf_init(&out.items, MIB);
    buf_init(&text, MIB);
    json_slicer_init(&s, JSON_STREAM_LIST, LIMIT_JSON_ITEM);
    for (size_t deep = LIMIT_JSON_DEPTH; deep <= LIMIT_JSON_DEPTH + 2; deep++) {
        test_case("depth %zu", deep);
        buf_clear(&text);
        buf_put(&text, SLICE("{\"items\":[{\"a\":"));
        nest(&text, deep - 1, "[", "]");
        buf_put(&text, SLICE("},{}]}"));
        json_slicer_reset(&s);
        feed(&s, buf_slice(&text), 10, &out);
        CHECK(out.at_rest);
        CHECK_INT(s.skipped, deep > LIMIT_JSON_DEPTH);
        CHECK(slice_ends(buf_slice(&out.items), deep > LIMIT_JSON_DEPTH ? SLICE("OVER|{}|") : SLICE("]}|{}|")));

        buf_clear(&text);
        buf_put(&text, SLICE("{\"metadata\":"));
        nest(&text, deep, "[", "]");
        buf_put(&text, SLICE("}"));
        json_slicer_reset(&s);
        feed(&s, buf_slice(&text), 10, &out);
        CHECK_INT(out.code, deep > LIMIT_JSON_DEPTH ? ERR_LIMIT : ERR_NONE);
    }
    json_slicer_free(&s);
    buf_free(&text);
    buf_free(&out.items);
}

static void test_envelope_limit(void)
{
    for (int past = 0; past < 2; past++) {
        struct outcome out;
        struct json_slicer s;
        struct buf text;
        test_case("envelope %d", past);
        buf_init(&out.items, MIB);
        buf_init(&text, MIB);
        buf_printf(&text, "{\"items\":[{\"a\":1}],\"x\":\"%0*d\"}", LIMIT_JSON_ENVELOPE - 19 + past, 0);
        json_slicer_init(&s, JSON_STREAM_LIST, KIB);
        feed(&s, buf_slice(&text), 1000, &out);
        CHECK_INT(out.code, past ? ERR_LIMIT : ERR_NONE);
        CHECK_INT(out.last, past ? JSON_BAD : JSON_DONE);
        json_slicer_free(&s);
        buf_free(&text);
        buf_free(&out.items);
    }
}

int main(void)
{
    test_cases();
    test_broken();
    test_in_place();
    test_item_limit();
    test_depth_limit();
    test_envelope_limit();
    return test_done();
}
