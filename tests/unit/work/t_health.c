/* What is made of each component's answers: tests/data/work/health.case. Facts and answers are JSON of the members' names. */
#include "../json/cases.h"

#include <mobula/health.h>

static struct jval part_json(const struct case_text *c, const char *part, struct arena *a)
{
    struct jval v = {.at = -1};
    struct err e = {0};
    struct slice text = case_part(c, part);
    if (text.ptr && !CHECK(json_read(&v, arena_dup(a, slice_trim(text)), a, &e)))
        printf("  %s\n", e.text);
    return v;
}

static struct health_facts facts_of(struct jval v, struct slice *namespaces, struct arena *a)
{
    struct health_facts f = {.cloud = json_get_str(v, "cloud", a),
                             .gateway = json_get_str(v, "gateway", a),
                             .gateway_ns = json_get_str(v, "gateway_ns", a),
                             .ingress_class = json_get_str(v, "ingress_class", a),
                             .rights = json_raw(json_get(v, "rights")),
                             .namespaces = namespaces,
                             .own_ns = SLICE("own"),
                             .types = json_get_str(v, "types", a),
                             .types_known = json_get_bool(v, "types_known", false),
                             .types_broken = json_get_bool(v, "types_broken", false),
                             .type_count = (uint32_t)json_get_int(v, "type_count", 0),
                             .types_why = json_get_str(v, "types_why", a),
                             .accepted = json_get_bool(v, "accepted", false),
                             .refused = (int)json_get_int(v, "refused", 0),
                             .trouble = json_get_str(v, "trouble", a),
                             .identity = json_get_str(v, "identity", a),
                             .bucket = json_get_str(v, "bucket", a),
                             .bucket_checked = json_get_bool(v, "bucket_checked", false),
                             .bucket_trouble = json_get_str(v, "bucket_trouble", a)};
    struct slice rest = json_get_str(v, "namespaces", a);
    for (rest = rest.ptr ? rest : SLICE("n"); rest.ptr && f.namespace_count < 4;)
        namespaces[f.namespace_count++] = slice_cut(&rest, ',');
    return f;
}

/* All questions of a component, each answered by the same words but for their order. */
static void check_case(const struct case_text *c, struct arena *a)
{
    struct slice namespaces[4], name = slice_trim(case_part(c, "component")), asked = case_part(c, "asks");
    struct health_facts f = facts_of(part_json(c, "facts", a), namespaces, a);
    struct jval answers = part_json(c, "answers", a);
    struct health_finding found = {0};
    struct buf asks;
    buf_init(&asks, MIB);
    uint32_t i = 0, n = 0;
    while (i < HEALTH_COMPONENTS && !slice_is(name, health_components[i].name))
        i++;
    if (!CHECK(i < HEALTH_COMPONENTS))
        return;
    const struct health_component *k = &health_components[i];
    for (struct health_question q = {0}; k->ask && k->ask(&f, n, a, &q); q = (struct health_question){0}) {
        struct jval one = json_at(answers, n);
        struct health_answer answer = {(int)json_get_int(one, "code", 200), json_get(one, "body"), json_get_str(one, "words", a)};
        buf_printf(&asks, "%.*s %.*s\n", SLICE_ARG(q.path), SLICE_ARG(q.body));
        k->decide(&f, n++, &answer, a, &found);
        if (found.state != HEALTH_OK)
            break;
    }
    if (n == 0)
        k->decide(&f, 0, NULL, a, &found);
    if (asked.ptr)
        CHECK_STR(slice_trim(buf_slice(&asks)), arena_dup(a, slice_trim(asked)).ptr);
    struct slice said = arena_printf(a, "%s %s: %s", health_words[found.state], found.reason, found.message);
    CHECK_STR(said, arena_dup(a, slice_trim(case_part(c, "finding"))).ptr);
    buf_free(&asks);
}

static void check_list(const struct case_text *c, struct arena *a)
{
    struct buf b;
    struct jout w;
    buf_init(&b, MIB);
    jout_init(&w, &b);
    health_node_write(part_json(c, "node", a), a, &w);
    CHECK_STR(buf_slice(&b), arena_dup(a, slice_trim(case_part(c, "item"))).ptr);
    buf_free(&b);
}

static void test_cases(void)
{
    struct arena files = {0};
    struct slice file = read_file("tests/data/work/health.case", &files);
    uint32_t seen = 0;
    for (struct case_text c; case_next(&file, &c); seen++) {
        struct arena a = {0};
        if (case_part(&c, "node").ptr)
            check_list(&c, &a);
        else
            check_case(&c, &a);
        arena_free(&a);
    }
    CHECK(seen >= 30);
    arena_free(&files);
}

static void test_types(void)
{
    struct arena a = {0};
    struct shape_types types;
    struct spec_errors errors = {0};
    struct buf b;
    struct jout w;
    test_case("an instance type as it is reported");
    CHECK(
        shape_types_read(SLICE("8CPU-32GB-1xT4:\n  resources: {CPU: 8, memory: 32Gi, GPU: 1, accelerators: [T4]}\n"), &a, &types, &errors));
    buf_init(&b, MIB);
    jout_init(&w, &b);
    health_type_write(&types.list[0], &w);
    CHECK_STR(buf_slice(&b), "{\"name\":\"8CPU-32GB-1xT4\",\"accelerator\":\"T4\",\"cpu\":\"8\",\"memory\":\"32Gi\",\"gpu\":\"1\"}");
    buf_free(&b);
    arena_free(&a);
}

static void test_excluded(void)
{
    bool out[HEALTH_COMPONENTS] = {0};
    struct err e = {0};
    test_case("components that are excluded");
    CHECK(health_excluded_read(SLICE("STORAGE_BUCKET, INSTANCE_TYPES"), out, &e) && out[6] && out[3] && !out[0]);
    CHECK(health_excluded_read(SLICE(""), out, &e));
    CHECK(!health_excluded_read(SLICE("gateway"), out, &e) && slice_has(slice_of(e.text), "\"gateway\" is no component"));
}

/* A message as long as its limit, and one byte longer: it is cut, and stays a text. */
static void test_long(void)
{
    struct health_finding found;
    struct arena a = {0};
    test_case("HEALTH_MESSAGE");
    char *text = arena_alloc(&a, HEALTH_MESSAGE + 1);
    memset(text, 'x', HEALTH_MESSAGE);
    health_say(&found, HEALTH_OK, "R", "%.*s", HEALTH_MESSAGE - 1, text);
    CHECK_INT(strlen(found.message), HEALTH_MESSAGE - 1);
    health_say(&found, HEALTH_OK, "R", "%.*s", HEALTH_MESSAGE, text);
    CHECK(strlen(found.message) < HEALTH_MESSAGE && slice_ends(slice_of(found.message), SLICE("…")));
    arena_free(&a);
}

int main(void)
{
    test_cases();
    test_types();
    test_excluded();
    test_long();
    return test_done();
}
