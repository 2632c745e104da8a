#include "../test.h"

#include "src/ray/shell.h"

/* What a value of rayStartParams becomes as a word of a shell command. */
static const struct {
    const char *value, *word;
    const char *text; /* without its quotes; NULL: cannot be known */
} cases[] = {
    {"", "", ""},
    {"8265", "8265", "8265"},
    {"a-b_c.d/e:f,g=h@i%j+k", "a-b_c.d/e:f,g=h@i%j+k", "a-b_c.d/e:f,g=h@i%j+k"},
    {"$MY_POD_IP", "$MY_POD_IP", NULL},
    {"${MY_POD_IP}:6379", "${MY_POD_IP}:6379", NULL},
    {"'{\"a\": 1}'", "'{\"a\": 1}'", "{\"a\": 1}"},
    {"\"{\\\"a\\\": 1}\"", "\"{\\\"a\\\": 1}\"", "{\"a\": 1}"},
    {"\"$HOME/x y\"", "\"$HOME/x y\"", NULL},
    {"\"a\\d\"", "\"a\\d\"", "a\\d"},
    {"a\\ b", "a\\ b", "a b"},
    {"'a'b\"c\"\\d", "'a'b\"c\"\\d", "abcd"},
    {"{\"a\": 1}", "'{\"a\": 1}'", NULL},
    {"{a,b}", "'{a,b}'", NULL},
    {"a b", "'a b'", NULL},
    {"a;b", "'a;b'", NULL},
    {"a&b", "'a&b'", NULL},
    {"a|b", "'a|b'", NULL},
    {"a>b", "'a>b'", NULL},
    {"a\nb", "'a\nb'", NULL},
    {"$(id)", "'$(id)'", NULL},
    {"`id`", "'`id`'", NULL},
    {"\"$(id)\"", "'\"$(id)\"'", NULL},
    {"\"`id`\"", "'\"`id`\"'", NULL},
    {"\"${a:-$(id)}\"", "'\"${a:-$(id)}\"'", NULL},
    {"${a:-b}", "'${a:-b}'", NULL},
    {"$", "'$'", NULL},
    {"$1", "'$1'", NULL},
    {"${}", "'${}'", NULL},
    {"${a", "'${a'", NULL},
    {"'a", "''\\''a'", NULL},
    {"'a'; id; 'b'", "''\\''a'\\''; id; '\\''b'\\'''", NULL},
    {"\"a", "'\"a'", NULL},
    {"a\\", "'a\\'", NULL},
    {"\"a\\", "'\"a\\'", NULL},
    {"a\\\nb", "'a\\\nb'", NULL},
    {"\"a\\\nb\"", "'\"a\\\nb\"'", NULL},
    {"~/x", "'~/x'", NULL},
    {"*", "'*'", NULL},
    {"\xc3\xa9", "'\xc3\xa9'", NULL},
};

/* The shell itself is asked what it makes of a word: one word, and no command run. */
static void ask_shell(struct slice word, struct slice want)
{
    struct arena a = {0};
    char got[256] = {0};
    struct slice script = arena_printf(&a, "set -- %.*s\nprintf '%%s:%%s' $# \"$1\"", SLICE_ARG(word));
    setenv("MOBULA_TEST_SCRIPT", script.ptr, 1);
    FILE *f = popen("bash -c \"$MOBULA_TEST_SCRIPT\"", "r");
    if (CHECK(f != NULL)) {
        size_t n = fread(got, 1, sizeof got - 1, f);
        CHECK(pclose(f) == 0);
        CHECK_SLICE(((struct slice){got, n}), arena_printf(&a, "1:%.*s", SLICE_ARG(want)));
    }
    arena_free(&a);
}

/* What docs/troubleshooting.md says instead of a command in rayStartParams: a variable that the container's args set on the line before. */
static void test_variable(void)
{
    struct arena a = {0};
    char got[64] = {0};
    struct slice value = SLICE("$MY_IP.g-headless.d.svc");
    test_case("a variable that a line before has set");
    setenv("MOBULA_TEST_SCRIPT",
           arena_printf(&a, "export MY_IP=$(echo 10.1.2.3 | sed 's/\\./-/g')\nprintf %%s --node-ip-address=%.*s",
                        SLICE_ARG(shell_word(value, &a)))
               .ptr,
           1);
    FILE *f = popen("bash -c \"$MOBULA_TEST_SCRIPT\"", "r");
    if (CHECK(f != NULL)) {
        size_t n = fread(got, 1, sizeof got - 1, f);
        CHECK(pclose(f) == 0);
        CHECK_SLICE(((struct slice){got, n}), SLICE("--node-ip-address=10-1-2-3.g-headless.d.svc"));
    }
    arena_free(&a);
}

int main(void)
{
    test_variable();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct slice value = slice_of(cases[i].value), text, want = slice_of(cases[i].word);
        bool same = slice_eq(value, want);
        test_case("%s", cases[i].value);
        CHECK_INT(shell_is_word(guarded(value)), same);
        CHECK_SLICE(shell_word(guarded(value), &a), want);
        CHECK_INT(shell_unquote(guarded(value), &a, &text), cases[i].text != NULL);
        if (cases[i].text)
            CHECK_STR(text, cases[i].text);
        if (!slice_empty(want) && (!same || cases[i].text))
            ask_shell(want, same ? slice_of(cases[i].text) : value);
        arena_free(&a);
    }
    return test_done();
}
