/* What Prometheus is told: each series with its help and type, named as Prometheus asks for it. */
#include "src/operator/op.h"
#include "tests/unit/kube/fakenet.h"

struct rig {
    struct fake f;
    struct op *op;
    struct buf text;
};

static void start(struct rig *r)
{
    static const struct slice namespaces[] = {{"n", 1}};
    const struct operator_options o = {
        .namespaces = namespaces, .namespace_count = 1, .instance = SLICE("test"), .seed = 1, .ray.version = SLICE("1.2.3")};
    struct err e = {0};
    *r = (struct rig){0};
    buf_init(&r->text, MIB);
    fake_init(&r->f);
    r->op = operator_new(&r->f.net, r->f.config, &o, &e);
    CHECK(r->op != NULL);
}

static void finish(struct rig *r)
{
    operator_free(r->op);
    buf_free(&r->text);
    fake_free(&r->f);
}

/* The value of a series without labels; SLICE_NONE when it is not there. */
static struct slice value_of(struct rig *r, const char *name)
{
    buf_clear(&r->text);
    metrics_write(r->op, &r->text);
    struct slice rest = buf_slice(&r->text);
    while (rest.ptr) {
        struct slice line = slice_cut(&rest, '\n');
        if (slice_eq(slice_cut(&line, ' '), slice_of(name)))
            return line;
    }
    return SLICE_NONE;
}

/* A counter's name ends in _total, and nothing else's does; nobody is left to guess at a unit. */
static void check_name(struct slice name, struct slice type)
{
    static const char *const units[] = {"_bytes_total", "_timestamp_seconds"};
    bool unit = false;
    CHECK(slice_starts(name, SLICE("mobula_")));
    CHECK_INT(slice_ends(name, SLICE("_total")), slice_eq(type, SLICE("counter")));
    for (size_t i = 0; i < COUNT_OF(units); i++)
        unit |= slice_ends(name, slice_of(units[i]));
    for (size_t i = 0; i + 1 < name.len; i++)
        if (slice_starts(slice_skip(name, i), SLICE("_bytes")) || slice_starts(slice_skip(name, i), SLICE("_seconds")))
            CHECK(unit);
}

static void test_form(void)
{
    struct rig r;
    uint32_t series = 0;
    struct slice name = SLICE_NONE;
    start(&r);
    r.op->client->stats.server_cert_expires_us = 1; /* or one would be left out */
    metrics_write(r.op, &r.text);
    CHECK(slice_ends(buf_slice(&r.text), SLICE("\n")));
    struct slice rest = slice_head(buf_slice(&r.text), r.text.len - 1);
    while (rest.ptr) {
        struct slice line = slice_cut(&rest, '\n'), word = slice_cut(&line, ' ');
        test_case("line %.*s %.*s", SLICE_ARG(word), SLICE_ARG(line));
        if (!slice_eq(word, SLICE("#"))) { /* a sample: of the series that was announced last */
            CHECK_SLICE(slice_cut(&word, '{'), name);
            CHECK(!slice_empty(line) && slice_find(line, ' ') < 0);
            continue;
        }
        word = slice_cut(&line, ' ');
        if (slice_eq(word, SLICE("HELP"))) {
            name = slice_cut(&line, ' ');
            CHECK(slice_ends(line, SLICE(".")));
            series++;
            continue;
        }
        CHECK_STR(word, "TYPE");
        CHECK_SLICE(slice_cut(&line, ' '), name);
        CHECK(slice_eq(line, SLICE("counter")) || slice_eq(line, SLICE("gauge")));
        check_name(name, line);
    }
    CHECK(series > 20);
    finish(&r);
}

static void test_certificate(void)
{
    struct rig r;
    start(&r);
    test_case("the end of a certificate that is not known is not said to be 1970");
    CHECK(!value_of(&r, "mobula_api_certificate_expiry_timestamp_seconds").ptr);
    test_case("the end of a certificate");
    r.op->client->stats.server_cert_expires_us = 1795230245 * INT64_C(1000000);
    CHECK_STR(value_of(&r, "mobula_api_certificate_expiry_timestamp_seconds"), "1795230245");
    finish(&r);
}

static void tell_pod(struct rig *r, const char *name, const char *uid, const char *owner, const char *status)
{
    struct arena a = {0};
    struct json doc;
    struct err e = {0};
    struct slice text =
        arena_printf(&a,
                     "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"uid\":\"%s\",\"labels\":{\"ray.io/group\":\"g\"},"
                     "\"ownerReferences\":[{\"kind\":\"%s\",\"name\":\"o\",\"uid\":\"00000000-0000-0000-0000-00000000000%s\","
                     "\"controller\":true}]},\"status\":%s}",
                     name, uid, owner, strcmp(owner, "RayJob") == 0 ? "1" : "2", status);
    CHECK(json_parse(&doc, text, &a, &e));
    extract_pod(r->op, &r->op->spaces[0], json_root(&doc), 1, 1);
    arena_free(&a);
}

/* A submitter that has ended is never ready again: it would look like a pod that is pending for ever. */
static void test_pods(void)
{
    struct rig r;
    struct arena a = {0};
    start(&r);
    test_case("pods of RayClusters are told apart from pods that submit a RayJob");
    tell_pod(&r, "w", "00000000-0000-0000-0000-0000000000a0", "RayCluster",
             "{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}");
    tell_pod(&r, "p", "00000000-0000-0000-0000-0000000000a1", "RayCluster", "{\"phase\":\"Pending\"}");
    tell_pod(&r, "s", "00000000-0000-0000-0000-0000000000a2", "RayJob", "{\"phase\":\"Succeeded\"}");
    CHECK_STR(value_of(&r, "mobula_pods"), "2");
    CHECK_STR(value_of(&r, "mobula_pods_ready"), "1");
    CHECK_STR(value_of(&r, "mobula_submitter_pods"), "1");
    for (size_t i = 0; kinds[i]; i++)
        if (kinds[i]->controller)
            CHECK_STR(value_of(&r, arena_printf(&a, "mobula_%ss", kinds[i]->word).ptr), "0"); /* only children of them are known */
    arena_free(&a);
    finish(&r);
}

/* Two verbs of one name would be one series told twice. */
static void test_verbs(void)
{
    const struct verb *v;
    uint32_t count = 0;
    struct rig r;
    start(&r);
    test_case("each verb of each kind has its own counter");
    for (; (v = verb_at(r.op, count)) != NULL; count++) {
        CHECK_INT(verb_number(r.op, v), count);
        for (uint32_t i = 0; i < count; i++)
            CHECK(strcmp(verb_at(r.op, i)->name, v->name) != 0);
    }
    CHECK(count > 2);
    CHECK_INT(verb_count(r.op), count + 1); /* verbs without a handler are counted behind the last */
    finish(&r);
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    test_form();
    test_certificate();
    test_pods();
    test_verbs();
    return test_done();
}
