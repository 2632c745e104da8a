/* What the model server writes into its store it reads back without checking: it must be the same. */
#include "tests/model/apiserver/dom.h"

#include "../test.h"

static void check_same(struct slice json)
{
    struct arena a = {0};
    struct err e = {0};
    const struct node *tree = dom_parse(json, &a, &e);
    if (!CHECK(tree != NULL))
        return;
    struct slice text = guarded(dom_text(tree, &a));
    struct node *again = dom_reread(text, &a);
    CHECK(dom_equal(tree, again));
    CHECK_SLICE(dom_text(again, &a), text);
    arena_free(&a);
}

static void test_documents(void)
{
    static const char *const documents[] = {
        "{}",
        "[]",
        "null",
        "-1.5e3",
        "\"\"",
        "[1,[],{},[[null,true,false]],\"a\",0]",
        "{\"a\":{\"b\":{}},\"c\":[{\"d\":1},{\"d\":\"x,y]}\"}],\"\":null}",
        "{\"quote\\\"d\":\"\\\\\",\"n\":\"a\\nb\\tc\\rd\\be\\ff\\/\",\"u\":\"\\u0001\\u001f\\u00e9\\ud83d\\ude00\",\"last\":\"\\\\\\\"\"}",
        " { \"spaced\" : [ 1 , 2 ] , \"t\" : true } ",
    };
    for (size_t i = 0; i < COUNT_OF(documents); i++) {
        test_case("document %zu", i);
        check_same(slice_of(documents[i]));
    }
}

/* Every byte that a string may hold, alone and between others. */
static void test_bytes(void)
{
    for (unsigned c = 0; c < 0x80; c++) {
        char text[32];
        test_case("byte %u", c);
        snprintf(text, sizeof text, "[\"\\u%04x\",\"a\\u%04xb\"]", c, c);
        check_same((struct slice){text, strlen(text)});
    }
}

int main(void)
{
    test_documents();
    test_bytes();
    return test_done();
}
