/* docs/api: the description of the control plane's interface can be read, leads nowhere that is not there, and its examples are as it says.
 * Only what the description uses of JSON Schema is understood; tests/e2e/test_api.py has a whole one. */
#include "../test.h"

#include <mobula/json.h>
#include <mobula/yaml.h>

#include <dirent.h>

#define FOLDER "docs/api/examples/"

static struct jval root;
static struct arena arena;

static struct jval follow(struct jval schema)
{
    struct slice ref = json_get_str(schema, "$ref", &arena);
    return ref.ptr ? json_pointer(root, slice_skip(ref, 1)) : schema;
}

static bool is_type(struct jval v, struct slice type)
{
    static const char *const types[] = {
        [JSON_BOOL] = "boolean", [JSON_NUMBER] = "number", [JSON_STRING] = "string", [JSON_ARRAY] = "array", [JSON_OBJECT] = "object"};
    int64_t n;
    if (slice_eq(type, SLICE("integer")))
        return json_int(v, &n);
    return types[json_type(v)] && slice_eq(type, slice_of(types[json_type(v)]));
}

static void holds(struct jval v, struct jval schema, const char *where);

static void holds_members(struct jval v, struct jval schema, const char *where)
{
    struct jval k, x, known = json_get(schema, "properties");
    for (struct jiter it = json_iter(json_get(schema, "required")); json_next(&it, &k, &x);)
        if (!CHECK(json_there(json_key(v, json_str(x, &arena)))))
            printf("  %s: lacks %.*s\n", where, SLICE_ARG(json_raw(x)));
    for (struct jiter it = json_iter(v); json_there(known) && json_next(&it, &k, &x);) {
        struct slice name = json_str(k, &arena), path = arena_printf(&arena, "%s.%.*s", where, SLICE_ARG(name));
        struct jval of = json_key(known, name);
        if (!CHECK(json_there(of)))
            printf("  %s is not described\n", path.ptr);
        else
            holds(x, follow(of), path.ptr);
    }
}

static void holds(struct jval v, struct jval schema, const char *where)
{
    struct jval k, x, one_of = json_get(schema, "enum"), items = json_get(schema, "items");
    struct slice type = json_get_str(schema, "type", &arena);
    bool found = !json_there(one_of);
    if (type.ptr && !CHECK(is_type(v, type)))
        printf("  %s: is no %.*s\n", where, SLICE_ARG(type));
    for (struct jiter it = json_iter(one_of); json_next(&it, &k, &x);)
        found |= json_equal(v, x);
    if (!CHECK(found))
        printf("  %s: %.*s is none of %.*s\n", where, SLICE_ARG(json_raw(v)), SLICE_ARG(json_raw(one_of)));
    if (json_type(v) == JSON_OBJECT)
        holds_members(v, schema, where);
    for (struct jiter it = json_iter(v); json_type(v) == JSON_ARRAY && json_there(items) && json_next(&it, &k, &x);)
        holds(x, follow(items), where);
}

/* Every $ref and every example file that is named. Returns how many files are. */
static unsigned leads_somewhere(struct jval v)
{
    struct jval k, x;
    unsigned files = 0;
    for (struct jiter it = json_iter(v); json_next(&it, &k, &x);) {
        if (json_str_eq(k, SLICE("$ref"))) {
            if (!CHECK(json_there(follow(v))))
                printf("  %.*s is not there\n", SLICE_ARG(json_raw(x)));
        } else if (json_str_eq(k, SLICE("externalValue"))) {
            struct slice path = arena_printf(&arena, "docs/api/%.*s", SLICE_ARG(json_str(x, &arena)));
            if (!CHECK(access(path.ptr, R_OK) == 0))
                printf("  %s is not there\n", path.ptr);
            files++;
        } else {
            files += leads_somewhere(x);
        }
    }
    return files;
}

static void test_example(const char *name)
{
    struct slice rest = slice_of(name), first = slice_cut(&rest, '.'), schema = slice_cut(&rest, '.');
    struct json doc;
    struct err e = {0};
    (void)first;
    test_case("%s", name);
    struct jval of = json_key(json_get(root, "components.schemas"), schema);
    CHECK(slice_eq(rest, SLICE("json")) && json_there(of));
    struct slice path = arena_printf(&arena, FOLDER "%s", name);
    if (!CHECK(json_parse(&doc, read_file(path.ptr, &arena), &arena, &e)))
        printf("  %s\n", e.text);
    else
        holds(json_root(&doc), of, "");
}

int main(void)
{
    struct yaml_docs docs;
    struct json doc;
    struct err e = {0};
    test_case("openapi.yaml");
    if (!CHECK(yaml_parse(read_file("docs/api/openapi.yaml", &arena), &arena, &docs, &e) && docs.count == 1) ||
        !CHECK(json_parse(&doc, docs.docs[0].json, &arena, &e)))
        return test_done();
    root = json_root(&doc);
    CHECK(json_str_eq(json_get(root, "openapi"), SLICE("3.1.0")));
    CHECK(leads_somewhere(root) >= 15);
    unsigned count = 0;
    DIR *folder = opendir(FOLDER);
    for (struct dirent *f; CHECK(folder != NULL) && (f = readdir(folder)) != NULL;)
        if (f->d_name[0] != '.') {
            test_example(f->d_name);
            count++;
        }
    if (folder)
        closedir(folder);
    test_case("examples");
    CHECK(count >= 15);
    arena_free(&arena);
    return test_done();
}
