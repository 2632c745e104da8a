/* The rules that CustomResourceDefinitions carry: each row is a rule, what it is about, and how it ends. */
#include "../test.h"
#include "tests/model/apiserver/cel.h"

static const struct {
    const char *rule, *self;
    enum cel_result want;
    const char *why; /* of an error */
} rows[] = {
    {"self.a == 'x'", "{\"a\":\"x\"}", CEL_TRUE, ""},
    {"self.a != 'x'", "{\"a\":\"x\"}", CEL_FALSE, ""},
    {"self.a <= self.b && self.b > 3", "{\"a\":4,\"b\":4}", CEL_TRUE, ""},
    {"self.a < self.b", "{\"a\":4,\"b\":4}", CEL_FALSE, ""},
    {"!has(self.a) || self.a", "{}", CEL_TRUE, ""},
    {"!has(self.a) || self.a", "{\"a\":false}", CEL_FALSE, ""},
    {"has(self.a)", "{\"a\":null}", CEL_FALSE, ""},
    {"self.a == 1", "{\"a\":null}", CEL_ERROR, "no such key: a"},
    {"has(self.a.b)", "{}", CEL_ERROR, "no such key: a"},
    {"self.a <= self.b", "{\"b\":4}", CEL_ERROR, "no such key: a"},
    /* what decides, decides */
    {"self.a == 1 || true", "{}", CEL_TRUE, ""},
    {"true || self.a == 1", "{}", CEL_TRUE, ""},
    {"self.a == 1 && false", "{}", CEL_FALSE, ""},
    {"self.a == 1 || false", "{}", CEL_ERROR, "no such key: a"},
    {"!(self.a == 1)", "{\"a\":2}", CEL_TRUE, ""},
    /* lists and maps */
    {"self.l.all(x, x.n == 'a')", "{\"l\":[{\"n\":\"a\"},{\"n\":\"b\"}]}", CEL_FALSE, ""},
    {"self.l.all(x, x.n == 'a')", "{\"l\":[]}", CEL_TRUE, ""},
    {"self.l.all(x, x.n == 'a')", "{\"l\":[{},{\"n\":\"b\"}]}", CEL_FALSE, ""},
    {"self.l.all(x, x.n == 'a')", "{\"l\":[{},{\"n\":\"a\"}]}", CEL_ERROR, "no such key: n"},
    {"self.l.exists(x, x.n == self.h)", "{\"h\":\"b\",\"l\":[{\"n\":\"a\"},{\"n\":\"b\"}]}", CEL_TRUE, ""},
    {"self.l.all(x, self.l.exists_one(y, y.n == x.n))", "{\"l\":[{\"n\":\"a\"},{\"n\":\"b\"}]}", CEL_TRUE, ""},
    {"self.l.all(x, self.l.exists_one(y, y.n == x.n))", "{\"l\":[{\"n\":\"a\"},{\"n\":\"a\"}]}", CEL_FALSE, ""},
    {"'k' in self && self['k'] != ''", "{\"k\":\"v\"}", CEL_TRUE, ""},
    {"'k' in self", "{}", CEL_FALSE, ""},
    {"'k' in self", "{\"k\":null}", CEL_FALSE, ""},
    {"self.a in ['x', 'y']", "{\"a\":\"y\"}", CEL_TRUE, ""},
    {"['p', 'q'].exists(k, k in self)", "{\"q\":1}", CEL_TRUE, ""},
    {"size(self) == 0 || size(self.k) == 2", "{\"k\":\"vv\"}", CEL_TRUE, ""},
    {"self.all(k, k in ['a', 'b'])", "{\"a\":\"c\",\"b\":\"d\"}", CEL_TRUE, ""},
    {"self.all(k, k in ['a', 'b'])", "{\"a\":\"b\",\"c\":\"a\"}", CEL_FALSE, ""},
    /* texts, sums, choices */
    {"self.a.matches('^[a-z]{0,2}(:[1-9])?$')", "{\"a\":\"xy:1\"}", CEL_TRUE, ""},
    {"self.a.matches('^[a-z]{0,2}(:[1-9])?$')", "{\"a\":\"xyz\"}", CEL_FALSE, ""},
    {"self.a.matches('b')", "{\"a\":\"abc\"}", CEL_TRUE, ""},
    {"self.a.matches('b')", "{}", CEL_ERROR, "no such key: a"},
    {"self.all(k, k.matches('^x'))", "{\"x1\":1,\"y\":2}", CEL_FALSE, ""},
    {"self.all(k, k.matches('^x'))", "{}", CEL_TRUE, ""},
    {"self.a.matches('b')", "{\"a\":1}", CEL_ERROR, "no such overload"},
    {"(has(self.a) ? 1 : 0) + (has(self.b) ? 1 : 0) == 1", "{\"a\":1}", CEL_TRUE, ""},
    {"(has(self.a) ? 1 : 0) + (has(self.b) ? 1 : 0) == 1", "{\"a\":1,\"b\":1}", CEL_FALSE, ""},
    {"has(self.a) ? self.a == 1 : self.b == 2", "{\"b\":2}", CEL_TRUE, ""},
    {"has(self.a) ? self.a == 1 : self.b == 2", "{\"a\":1}", CEL_TRUE, ""},
    {"self.c ? true : true", "{}", CEL_ERROR, "no such key: c"},
    /* no rule */
    {"self.a.matches('(')", "{\"a\":\"x\"}", CEL_ERROR, "not a rule that is known here"},
    {"self.a.matches(1)", "{\"a\":\"x\"}", CEL_ERROR, "not a rule that is known here"},
    {"self.a + 'x' == 'xx'", "{\"a\":\"x\"}", CEL_ERROR, "not a rule that is known here"},
    {"true ? true", "{}", CEL_ERROR, "not a rule that is known here"},
    {"self.a.split('x')", "{\"a\":\"x\"}", CEL_ERROR, "not a rule that is known here"},
    {"other == 1", "{}", CEL_ERROR, "not a rule that is known here"},
    {"self.a", "{\"a\":1}", CEL_ERROR, "not a yes or no"},
    {"'open", "{}", CEL_ERROR, "not a rule that is known here"},
    {"", "{}", CEL_ERROR, "not a rule that is known here"},
};

int main(void)
{
    struct arena a = {0};
    struct slice why;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        test_case("%s on %s", rows[i].rule, rows[i].self);
        CHECK_INT(cel_decide(slice_of(rows[i].rule), dom_literal(&a, rows[i].self), NULL, &a, &why), rows[i].want);
        if (rows[i].want == CEL_ERROR)
            CHECK_SLICE(why, slice_of(rows[i].why));
    }
    test_case("old");
    CHECK(cel_wants_old(SLICE("self == oldSelf")));
    CHECK(!cel_wants_old(SLICE("self == 'old'")));
    CHECK_INT(cel_decide(SLICE("self == oldSelf"), dom_literal(&a, "\"x\""), dom_literal(&a, "\"y\""), &a, &why), CEL_FALSE);
    arena_free(&a);
    return test_done();
}
