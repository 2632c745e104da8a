/* Reading values with their places: what is complained of, where, and how much of it is kept. */
#include "errors.h"

struct reading {
    struct arena arena;
    struct spec_errors errors;
    struct reader r;
    const struct place *root;
};

static void open_reading(struct reading *x, const char *json)
{
    memset(x, 0, sizeof *x);
    x->r = (struct reader){.arena = &x->arena, .errors = &x->errors};
    x->root = place_root(parse_quoted(json, &x->arena), &x->arena);
}

static void test_errors_text(void)
{
    static struct spec_errors errors = {.count = 3, .beyond = 2};
    struct arena a = {0};
    for (int i = 0; i < 3; i++)
        errors.list[i] = (struct spec_error){.path = SLICE("spec.x"), .text = SLICE("is wrong")};
    test_case("all of them");
    CHECK_STR(spec_errors_text(&errors, 1000, &a), "spec.x: is wrong; spec.x: is wrong; spec.x: is wrong; and 2 more");
    test_case("some of them");
    CHECK_STR(spec_errors_text(&errors, 60, &a), "spec.x: is wrong; spec.x: is wrong; and 3 more");
    for (size_t max = 0; max < 100; max++) {
        test_case("errors in %zu bytes", max);
        CHECK(spec_errors_text(&errors, max, &a).len <= max);
    }
    test_case("none");
    errors.count = errors.beyond = 0;
    CHECK_INT(spec_errors_text(&errors, 100, &a).len, 0);
    arena_free(&a);
}

static void test_limit(int found)
{
    struct reading x;
    int kept = found < LIMIT_SPEC_ERRORS ? found : LIMIT_SPEC_ERRORS;
    test_case("%d errors", found);
    open_reading(&x, "{'a':1}");
    for (int i = 0; i < found; i++)
        place_bad(&x.r, x.root, "is wrong");
    CHECK_INT(x.errors.count, kept);
    CHECK_INT(x.errors.beyond, found - kept);
    CHECK_INT(spec_errors_count(&x.errors), found);
    spec_errors_add(&x.errors, (struct spec_error){.text = SLICE("is wrong, too")});
    CHECK_INT(spec_errors_count(&x.errors), found + 1);
    arena_free(&x.arena);
}

/* Each typed read of a member that is of another type, and of one that is not there. */
static void test_types(void)
{
    static const char *const words[] = {"a", "", NULL};
    struct reading x;
    struct slice text = SLICE("as it was");
    bool flag = true;
    int64_t n = 7;
    test_case("values of other types");
    open_reading(&x, "{'o':{'s':1,'f':'true','n':1.5,'big':9,'w':'b','m':{'a b':2},'l':['a',3],'a':{},'z':null}}");
    const struct place *o = place_key(x.root, "o");
    CHECK(read_object(&x.r, o, REQUIRED));
    CHECK(!read_text(&x.r, place_key(o, "s"), OPTIONAL, &text) && !read_flag(&x.r, place_key(o, "f"), &flag));
    CHECK(!read_int(&x.r, place_key(o, "n"), 0, 8, &n) && !read_int(&x.r, place_key(o, "big"), 0, 8, &n));
    CHECK(!read_word(&x.r, place_key(o, "w"), words, &text));
    CHECK(!read_text_map(&x.r, place_key(o, "m")) && !read_text_list(&x.r, place_key(o, "l")) &&
          !read_array(&x.r, place_key(o, "a"), OPTIONAL));
    CHECK(!read_text(&x.r, place_key(o, "z"), OPTIONAL, &text) && !read_object(&x.r, place_key(o, "none"), REQUIRED));
    CHECK_STR(text, "as it was");
    CHECK(flag && n == 7);
    check_spec_errors(&x.errors,
                      "o.s: is a number: must be a string\no.f: is a string: must be true or false\n"
                      "o.n: is 1.5: must be a whole number from 0 to 8\no.big: is 9: must be from 0 to 8\n"
                      "o.w: is \"b\": must be one of a, \"\"\no.m[\"a b\"]: is a number: must be a string, put it in quotes\n"
                      "o.l[1]: is a number: must be a string, put it in quotes\no.a: is an object: must be an array\n"
                      "o.none: is missing: must be an object",
                      &x.arena);
    test_case("what is missing is complained of where it should be");
    CHECK_INT(x.errors.list[8].offset, json_offset(o->value));
    arena_free(&x.arena);
}

static const struct {
    const char *id, *json, *errors;
} metas[] = {
    {"all of it",
     "{'apiVersion':'a/v1','kind':'K','metadata':{'name':'n','namespace':'s','uid':'u','generation':3,'deletionTimestamp':'x',"
     "'labels':{'l':'1'},'annotations':{},'finalizers':['f']}}",
     NULL},
    {"in a list", "{'metadata':{'name':'n','namespace':'s','uid':'u','generation':3}}", NULL},
    {"of another kind", "{'apiVersion':'b/v1','kind':'L','metadata':{'name':'n','namespace':'s','uid':'u','generation':3}}",
     "apiVersion: is b/v1: write a/v1\nkind: is L: must be K"},
    {"name of 11", "{'metadata':{'name':'nnnnnnnnnnn','namespace':'s','uid':'u','generation':3}}",
     "metadata.name: has 11 bytes: at most 10, so that it fits"},
    {"generated name of 11", "{'metadata':{'generateName':'nnnnn-','namespace':'s','uid':'u','generation':3}}",
     "metadata.generateName: has 11 bytes with the five that are added: at most 10, so that it fits"},
    {"labels that are no texts", "{'metadata':{'name':'n','namespace':'s','uid':'u','generation':3,'labels':{'l':1},'annotations':[]}}",
     "metadata.labels.l: is a number\nmetadata.annotations: is an array"},
};

static void test_metadata(void)
{
    for (size_t i = 0; i < COUNT_OF(metas); i++) {
        struct reading x;
        struct metadata m;
        test_case("metadata: %s", metas[i].id);
        open_reading(&x, metas[i].json);
        struct jval meta = json_get(x.root->value, "metadata");
        const struct spec_object from = spec_object_of(x.root->value, &x.arena);
        bool whole = i == 0;
        read_type_meta(&x.r, x.root, "a/v1", "K");
        CHECK(read_metadata(&x.r, &from, 10, "it fits", &m));
        CHECK_STR(m.ns, "s");
        CHECK_STR(m.uid, "u");
        CHECK_INT(m.generation, 3);
        CHECK_INT(m.deleting, whole);
        CHECK_INT(json_there(m.labels), whole);
        CHECK_INT(json_there(m.annotations), whole);
        CHECK_INT(has_finalizer(meta, "f"), whole);
        CHECK(!has_finalizer(meta, "g"));
        check_spec_errors(&x.errors, metas[i].errors, &x.arena);
        arena_free(&x.arena);
    }
}

static const struct {
    const char *id, *json, *errors;
} templates[] = {
    {"as it should be",
     "{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c','image':'i','resources':{'limits':{'cpu':1,'memory':'1Gi'}}}],"
     "'volumes':[{'name':'v'}]}}",
     NULL},
    {"no container", "{'spec':{'containers':[]}}", "spec.containers: is empty"},
    {"only the first needs an image", "{'spec':{'containers':[{'name':'c','image':''},{'name':'d'}]}}",
     "spec.containers[0].image: is empty"},
    {"what is wrong with a container",
     "{'spec':{'containers':[{'name':'c','image':'i','env':[{'value':1}],'ports':[{'containerPort':0,'protocol':'x'}],"
     "'volumeMounts':[{'name':'v'}],'resources':{'limits':{'cpu':'x'},'requests':{'cpu':true}}}]}}",
     "spec.containers[0].env[0].name: is missing\nspec.containers[0].env[0].value: is a number\n"
     "spec.containers[0].ports[0].containerPort: is 0\nspec.containers[0].ports[0].protocol: is \"x\"\n"
     "spec.containers[0].volumeMounts[0].mountPath: is missing\nspec.containers[0].resources.limits.cpu: is no amount\n"
     "spec.containers[0].resources.requests.cpu: is no amount: must be a quantity"},
    {"volumes, in order, and the operator's own among them",
     "{'spec':{'containers':[{'name':'c','image':'i'}],'volumes':[{'name':'ours'},7,{'name':''},{'name':'v'}],'restartPolicy':1}}",
     "spec.volumes[0].name: is ours, a volume that the operator adds: choose another\nspec.volumes[1]: is a number\n"
     "spec.volumes[2].name: is empty\nspec.restartPolicy: is a number"},
    {"volumes that are no list", "{'spec':{'containers':[{'name':'c','image':'i'}],'volumes':{}}}", "spec.volumes: is an object"},
};

static void test_templates(void)
{
    for (size_t i = 0; i < COUNT_OF(templates); i++) {
        struct reading x;
        test_case("pod template: %s", templates[i].id);
        open_reading(&x, templates[i].json);
        check_pod_template(&x.r, x.root, "ours");
        check_spec_errors(&x.errors, templates[i].errors, &x.arena);
        arena_free(&x.arena);
    }
}

static void test_unknown(void)
{
    static const char *const known[] = {"a", "b", NULL};
    struct reading x;
    test_case("unknown members");
    open_reading(&x, "{'a':1,'c':2,'b':3,'d.e':{}}");
    note_unknown(&x.r, x.root, known);
    check_spec_errors(&x.errors, "c: is no field of this kind\n[\"d.e\"]: is no field of this kind", &x.arena);
    arena_free(&x.arena);
}

int main(void)
{
    test_errors_text();
    test_limit(LIMIT_SPEC_ERRORS);
    test_limit(LIMIT_SPEC_ERRORS + 1);
    test_types();
    test_metadata();
    test_templates();
    test_unknown();
    return test_done();
}
