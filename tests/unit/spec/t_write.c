/* What is written for a resource: its children's metadata, and its status. */
#include "errors.h"

#include <mobula/pairs.h>

struct writing {
    struct arena arena;
    struct buf buf;
    struct jout w;
};

static void begin(struct writing *x)
{
    memset(x, 0, sizeof *x);
    buf_init(&x->buf, LIMIT_JSON_ITEM);
    jout_init(&x->w, &x->buf);
    jout_object(&x->w);
}

/* want: with single quotes. */
static void end(struct writing *x, const char *want)
{
    jout_end(&x->w);
    CHECK_SLICE(buf_slice(&x->buf), json_raw(parse_quoted(want, &x->arena)));
    buf_free(&x->buf);
    arena_free(&x->arena);
}

static void test_children(void)
{
    static const struct owner owner = {SLICE("a/v1"), SLICE("K"), SLICE("s"), SLICE("o"), SLICE("u")};
    struct writing x;
    test_case("metadata of a child");
    begin(&x);
    struct pairs labels = pairs_new(&x.arena), annotations = pairs_new(&x.arena);
    struct jval given = parse_quoted("{'name':'x','uid':'y','labels':{'z':'1','l':'2'},'finalizers':[ 'f' ]}", &x.arena);
    pairs_set(&labels, SLICE("l"), SLICE("1"));
    pairs_set_all(&labels, json_get(given, "labels"));
    pairs_default(&labels, SLICE("l"), SLICE("3"));
    pairs_sort(&labels);
    write_metadata(&x.w, &owner, SLICE("n"), given, &labels, &annotations, &x.arena);
    end(&x, "{'metadata':{'name':'n','namespace':'s','labels':{'l':'2','z':'1'},'ownerReferences':[{'apiVersion':'a/v1','kind':'K',"
            "'name':'o','uid':'u','controller':true,'blockOwnerDeletion':true}],'finalizers':[ 'f' ]}}");
}

static void test_lists(void)
{
    struct arena a = {0};
    struct jval list = parse_quoted("[{'name':'a','n':1},7,{'name':'b','n':2},{'name':'b','n':3}]", &a);
    test_case("lists by name");
    CHECK_INT(json_get_int(list_find(list, "name", SLICE("b")), "n", 0), 2);
    CHECK(list_has(list, "name", SLICE("a")) && !list_has(list, "name", SLICE("c")) && !list_has(NO_VALUE, "name", SLICE("a")));
    arena_free(&a);
}

static const char prior[] = "{'phase':'P','reason':'R','conditions':[{'type':'A','status':'True','lastTransitionTime':'then'},"
                            "{'type':'B','status':'False','lastTransitionTime':'then'}]}";

static const struct {
    const char *id;
    struct condition condition;
    const char *want;
} conditions[] = {
    {"as before",
     {"A", true, SLICE("Well"), SLICE("m"), 2},
     "{'type':'A','status':'True','reason':'Well','message':'m','lastTransitionTime':'then','observedGeneration':2}"},
    {"changed",
     {"B", true, SLICE("Well"), SLICE(""), 2},
     "{'type':'B','status':'True','reason':'Well','message':'','lastTransitionTime':'now','observedGeneration':2}"},
    {"new, with a reason that is no word",
     {"C", false, SLICE("no word"), SLICE(""), 1},
     "{'type':'C','status':'False','reason':'Unknown','message':'','lastTransitionTime':'now','observedGeneration':1}"},
};

static void test_conditions(void)
{
    for (size_t i = 0; i < COUNT_OF(conditions); i++) {
        struct writing x;
        test_case("condition %s", conditions[i].id);
        begin(&x);
        jout_key(&x.w, SLICE("c"));
        status_write_condition(&x.w, &conditions[i].condition, parse_quoted(prior, &x.arena), SLICE("now"), &x.arena);
        end(&x, arena_printf(&x.arena, "{'c':%s}", conditions[i].want).ptr);
    }
    struct arena a = {0};
    struct jval status = parse_quoted(prior, &a);
    test_case("conditions that are there");
    CHECK(condition_is(status, "A", "True") && condition_is(status, "B", "False") && !condition_is(status, "B", "True"));
    CHECK(!condition_is(status, "C", "False") && !json_there(status_condition(status, SLICE("C"))));
    arena_free(&a);
}

static void test_patch(void)
{
    struct writing x;
    test_case("a merge patch");
    begin(&x);
    struct jval status = parse_quoted(prior, &x.arena);
    status_put(&x.w, status, "phase", SLICE("Q"));
    status_put(&x.w, status, "reason", SLICE(""));
    status_put(&x.w, status, "message", SLICE(""));
    end(&x, "{'phase':'Q','reason':null}");
    static const struct {
        const char *id, *both;
        bool has;
    } cases[] = {
        {"the same, and nothing to take away", "[{'phase':'P'},{'phase':'P','message':null}]", true},
        {"another", "[{'phase':'P'},{'phase':'Q'}]", false},
        {"something to take away", "[{'phase':'P'},{'phase':null}]", false},
        {"fewer conditions", "[{'conditions':[{'type':'A'}]},{}]", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        test_case("a server's status that has %s", cases[i].id);
        struct jval both = parse_quoted(cases[i].both, &a);
        CHECK_INT(status_has(json_at(both, 0), json_at(both, 1)), cases[i].has);
        arena_free(&a);
    }
}

int main(void)
{
    test_children();
    test_lists();
    test_conditions();
    test_patch();
    return test_done();
}
