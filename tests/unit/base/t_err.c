#include "../test.h"

static void test_first_wins(void)
{
    test_case("first wins");
    struct err e = {0};
    CHECK(!err_set(&e, ERR_RANGE, "value %d", 7));
    CHECK(!err_set(&e, ERR_LIMIT, "another"));
    CHECK_INT(e.code, ERR_RANGE);
    CHECK_STR(slice_of(e.text), "value 7");
    CHECK(!err_set(NULL, ERR_LIMIT, "nobody asks"));
}

static void test_wrap(void)
{
    test_case("wrap");
    struct err e = {0};
    CHECK(!err_wrap(&e, "file %s", "a"));
    CHECK_INT(e.code, ERR_NONE);
    CHECK_STR(slice_of(e.text), "");
    err_set(&e, ERR_SYNTAX, "line 3");
    CHECK(!err_wrap(&e, "file %s", "a"));
    CHECK_STR(slice_of(e.text), "file a: line 3");
    CHECK(!err_wrap(NULL, "x"));
}

static void test_cut(void)
{
    test_case("cut");
    char text[2 * ERR_TEXT_MAX];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct err e = {0};
    err_set(&e, ERR_SYNTAX, "%s", text);
    CHECK_INT(strlen(e.text), ERR_TEXT_MAX - 1);
    err_wrap(&e, "why");
    CHECK_INT(strlen(e.text), ERR_TEXT_MAX - 1);
    CHECK(slice_starts(slice_of(e.text), SLICE("why: xxx")));
    err_wrap(&e, "%s", text);
    CHECK_INT(strlen(e.text), ERR_TEXT_MAX - 1);
    CHECK(slice_ends(slice_of(e.text), SLICE("xx…")));
    for (int more = 0; more < 5; more++) {
        test_case("ERR_TEXT_MAX: %d bytes too many, cut after a whole character", more);
        memset(text, 'x', sizeof text - 1);
        memcpy(text + ERR_TEXT_MAX - 5 + more - 1, "\xe2\x82\xac", 3);
        text[ERR_TEXT_MAX - 1 + more] = '\0';
        e = (struct err){0};
        err_set(&e, ERR_SYNTAX, "%s", text);
        CHECK(utf8_valid(slice_of(e.text)));
        CHECK(slice_ends(slice_of(e.text), SLICE("…")) == (more > 0));
    }
}

static void test_names(void)
{
    test_case("names");
    CHECK_STR(slice_of(err_code_name(ERR_NONE)), "none");
    CHECK_STR(slice_of(err_code_name(ERR_TLS_NAME)), "tls-name");
    CHECK_STR(slice_of(err_code_name(ERR_STATUS)), "status");
    for (int code = ERR_NONE; code <= ERR_STATUS; code++)
        CHECK(err_code_name((enum err_code)code) != NULL);
}

int main(void)
{
    test_first_wins();
    test_wrap();
    test_cut();
    test_names();
    return test_done();
}
