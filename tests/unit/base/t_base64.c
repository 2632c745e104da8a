#include "../test.h"

static const struct {
    const char *text;
    enum err_code code;
    const char *bytes;
} cases[] = {
    {"", ERR_NONE, ""},
    {"Zg==", ERR_NONE, "f"},
    {"Zm8=", ERR_NONE, "fo"},
    {"Zm9v", ERR_NONE, "foo"},
    {"Zm9vYg==", ERR_NONE, "foob"},
    {"Zm9vYmE=", ERR_NONE, "fooba"},
    {"Zm9vYmFy", ERR_NONE, "foobar"},
    {" Zm9v\r\nYmFy\n", ERR_NONE, "foobar"},
    {"Zm9vYg=\n=\n", ERR_NONE, "foob"},
    {"+/+/", ERR_NONE, "\xfb\xff\xbf"},
    {"Zg", ERR_SYNTAX, NULL},
    {"Zg=", ERR_SYNTAX, NULL},
    {"Z", ERR_SYNTAX, NULL},
    {"Z===", ERR_SYNTAX, NULL},
    {"====", ERR_SYNTAX, NULL},
    {"Zg=v", ERR_SYNTAX, NULL},
    {"Zg==Zg==", ERR_SYNTAX, NULL}, /* two texts, not one */
    {"Zh==", ERR_SYNTAX, NULL},     /* bits behind the end */
    {"Zm9=", ERR_SYNTAX, NULL},
    {"Zm-_", ERR_SYNTAX, NULL},
    {"Zm9\x80", ERR_SYNTAX, NULL},
};

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("base64 %s", cases[i].text);
        struct buf b;
        struct err e = {0};
        buf_init(&b, 6);
        CHECK(base64_decode(guarded(slice_of(cases[i].text)), &b, &e) == (cases[i].code == ERR_NONE));
        CHECK_INT(e.code, cases[i].code);
        if (cases[i].bytes)
            CHECK_STR(buf_slice(&b), cases[i].bytes);
        buf_free(&b);
    }
    for (size_t n = 0; n < 300; n++) {
        char bytes[300];
        struct buf text, back;
        struct err e = {0};
        buf_init(&text, 400);
        buf_init(&back, n);
        for (size_t i = 0; i < n; i++)
            bytes[i] = (char)(i * 7 + n);
        bool ok = base64_encode(guarded((struct slice){bytes, n}), &text) && base64_decode(buf_slice(&text), &back, &e);
        CHECK(ok && slice_eq(buf_slice(&back), (struct slice){bytes, n}));
        buf_free(&text);
        buf_free(&back);
    }
    test_case("hexadecimal digits");
    char hex[2 * 5 + 1];
    hex_encode(guarded((struct slice){"\x00\x09\x7f\x80\xff", 5}), hex);
    CHECK_STR(slice_of(hex), "00097f80ff");
    hex_encode(SLICE(""), hex);
    CHECK_STR(slice_of(hex), "");
    test_case("base64 limit");
    struct buf small;
    struct err e = {0};
    buf_init(&small, 5);
    CHECK(!base64_decode(SLICE("Zm9vYmFy"), &small, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    buf_clear(&small);
    CHECK(!base64_encode(SLICE("foob"), &small));
    CHECK(small.full && small.len == 0);
    buf_free(&small);
    return test_done();
}
