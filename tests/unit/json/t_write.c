#include "../test.h"

#include <mobula/json.h>

#include <sys/wait.h>

static void test_write(void)
{
    test_case("write");
    struct buf b;
    struct jout w;
    buf_init(&b, KIB);
    jout_init(&w, &b);
    jout_object(&w);
    jout_kstr(&w, "s", SLICE("a\"b"));
    jout_kint(&w, "i", INT64_MIN);
    jout_kbool(&w, "t", true);
    jout_kraw(&w, "raw", SLICE("[1, 2]"));
    jout_kraw(&w, "left out", SLICE_NONE);
    jout_kval(&w, "nor this", (struct jval){.at = -1});
    jout_kobject(&w, "o");
    jout_end(&w);
    jout_karray(&w, "a");
    jout_int(&w, 1);
    jout_str(&w, SLICE_NONE);
    jout_null(&w);
    jout_bool(&w, false);
    jout_array(&w);
    jout_end(&w);
    jout_object(&w);
    jout_key(&w, SLICE("k\n"));
    jout_null(&w);
    jout_end(&w);
    jout_end(&w);
    jout_end(&w);
    CHECK_STR(buf_slice(&b), "{\"s\":\"a\\\"b\",\"i\":-9223372036854775808,\"t\":true,\"raw\":[1, 2],\"o\":{},"
                             "\"a\":[1,\"\",null,false,[],{\"k\\n\":null}]}");
    buf_free(&b);
}

static void test_form(void)
{
    test_case("form");
    struct buf b;
    struct jout w;
    bool yes = true, no = false;
    struct slice none = slice_of(NULL), empty = SLICE(""), text = SLICE("a\"b'c");
    buf_init(&b, KIB);
    jout_init(&w, &b);
    jout_form(&w, "{s:'%.*s',plain:'v1',mixed:'http://%s:%d/%.*s',none:'%.*s'", SLICE_ARG(text), "h", 80, SLICE_ARG(text),
              SLICE_ARG(empty));
    jout_form(&w, "no?:'%.*s',yes?:'%s',raw:%.*s,left:%.*s,t:%hhd,f:%hhd", SLICE_ARG(empty), "x", SLICE_ARG(SLICE("[1, 2]")),
              SLICE_ARG(none), yes, no);
    jout_form(&w, "numbers:[%d,%u,%lld,%zu,7,'-%d'],empty:{},list:[],%s:{},%.*s:'x',open:", -1, 4294967295U, (long long)INT64_MIN,
              (size_t)5, 2, "ray.io/key", SLICE_ARG(text));
    jout_array(&w);
    jout_form(&w, "{a:1},{a:null},true,'%s'],optional?:{a?:[]}", "");
    jout_end(&w);
    CHECK_STR(buf_slice(&b),
              "{\"s\":\"a\\\"b'c\",\"plain\":\"v1\",\"mixed\":\"http://h:80/a\\\"b'c\",\"none\":\"\",\"yes\":\"x\",\"raw\":[1, 2],"
              "\"t\":true,\"f\":false,\"numbers\":[-1,4294967295,-9223372036854775808,5,7,\"-2\"],\"empty\":{},\"list\":[],"
              "\"ray.io/key\":{},\"a\\\"b'c\":\"x\",\"open\":[{\"a\":1},{\"a\":null},true,\"\"],\"optional\":{\"a\":[]}}");
    buf_free(&b);
    test_case("form: a string of several pieces that does not fit");
    buf_init(&b, 8);
    jout_init(&w, &b);
    jout_form(&w, "'12345%s'", "678");
    CHECK(b.full);
    buf_free(&b);
}

static void test_quote(void)
{
    static const struct {
        struct slice text;
        const char *want;
    } cases[] = {
        {SLICE(""), "\"\""},
        {SLICE("exactly eight bytes and more \" \\ \n\r\t\b\f"), "\"exactly eight bytes and more \\\" \\\\ \\n\\r\\t\\b\\f\""},
        {SLICE("\0\x1f\x7f"), "\"\\u0000\\u001f\x7f\""},
        {SLICE("\xc3\xa4\xf0\x9f\xa6\x93"), "\"\xc3\xa4\xf0\x9f\xa6\x93\""},
        {SLICE("a\xff"
               "b\xc3"),
         "\"a\xef\xbf\xbd"
         "b\xef\xbf\xbd\""},
        {SLICE("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf b;
        test_case("quote %zu", i);
        buf_init(&b, KIB);
        CHECK(json_quote(guarded(cases[i].text), &b));
        CHECK_STR(buf_slice(&b), cases[i].want);
        size_t len = b.len;
        buf_free(&b);
        buf_init(&b, len - 1);
        CHECK(!json_quote(guarded(cases[i].text), &b));
        buf_free(&b);
    }
}

static void test_depth(void)
{
    test_case("depth");
    struct buf b;
    struct jout w;
    buf_init(&b, KIB);
    jout_init(&w, &b);
    for (int i = 0; i < LIMIT_JSON_DEPTH; i++)
        jout_array(&w);
    for (int i = 0; i < LIMIT_JSON_DEPTH; i++)
        jout_end(&w);
    CHECK_INT(b.len, 2 * LIMIT_JSON_DEPTH);
    struct arena a = {0};
    struct json doc;
    CHECK(json_parse(&doc, buf_slice(&b), &a, NULL));
    arena_free(&a);
    buf_free(&b);
}

static void one_too_deep(struct jout *w)
{
    for (int i = 0; i <= LIMIT_JSON_DEPTH; i++)
        jout_array(w);
}

static void value_without_key(struct jout *w)
{
    jout_object(w);
    jout_int(w, 1);
}

static void key_in_array(struct jout *w)
{
    jout_array(w);
    jout_kint(w, "k", 1);
}

static void two_keys(struct jout *w)
{
    jout_object(w);
    jout_key(w, SLICE("a"));
    jout_key(w, SLICE("b"));
}

static void end_after_key(struct jout *w)
{
    jout_object(w);
    jout_key(w, SLICE("a"));
    jout_end(w);
}

/* Each misuse ends its process with an abort and not with a wrong document. */
static void test_misuse(void)
{
    static void (*const misuses[])(struct jout *) = {one_too_deep, value_without_key, key_in_array, two_keys, end_after_key, jout_end};
    for (size_t i = 0; i < COUNT_OF(misuses); i++) {
        test_case("misuse %zu", i);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            struct buf b;
            struct jout w;
            fclose(stderr);
            buf_init(&b, KIB);
            jout_init(&w, &b);
            misuses[i](&w);
            _exit(0);
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
    }
}

int main(void)
{
    test_write();
    test_form();
    test_quote();
    test_depth();
    test_misuse();
    return test_done();
}
