/* rayStartParams: ray_read refuses what the real `ray start` refuses, by the lines of tests/data/ray/start-params.txt. */
#include "../test.h"

#include <mobula/ray.h>

static void check(struct slice line)
{
    struct arena a = {0};
    struct buf b;
    struct json doc;
    struct ray_cluster c;
    struct spec_errors errors = {0};
    struct err e = {0};
    struct slice rest = line;
    bool started = slice_is(slice_cut(&rest, ' '), "started");
    test_case("%.*s", SLICE_ARG(line));
    buf_init(&b, 4 * KIB);
    buf_put(&b, SLICE("{\"metadata\":{\"name\":\"demo\"},\"spec\":{\"headGroupSpec\":{\"rayStartParams\":{"));
    for (bool first = true; rest.ptr; first = false) {
        struct slice value = slice_cut(&rest, ' '), name = slice_cut(&value, '=');
        buf_printf(&b, "%s\"%.*s\":\"", first ? "" : ",", SLICE_ARG(name));
        for (size_t i = 0; i < value.len; i++)
            buf_printf(&b, "%s%c", value.ptr[i] == '"' ? "\\" : "", value.ptr[i]);
        buf_putc(&b, '"');
    }
    buf_put(&b, SLICE("},\"template\":{\"spec\":{\"containers\":[{\"name\":\"r\",\"image\":\"r\"}]}}}}}"));
    CHECK(json_parse(&doc, buf_slice(&b), &a, &e));
    CHECK_INT(ray_read(json_root(&doc), &a, &c, &errors), started);
    buf_free(&b);
    arena_free(&a);
}

/* All ports of Ray's range, and the last of them once more. */
static void long_list(void)
{
    enum { FROM = 1024, TO = 65535, LENGTHS_MOST = 4 };
    struct arena a = {0};
    struct buf b;
    struct json doc;
    struct ray_cluster c;
    struct spec_errors errors = {0};
    struct err e = {0};
    test_case("a list of all worker ports, one of them twice: one pass over it");
    buf_init(&b, MIB);
    buf_put(&b, SLICE("{\"metadata\":{\"name\":\"demo\"},\"spec\":{\"headGroupSpec\":{\"rayStartParams\":{\"worker-port-list\":\""));
    for (int port = FROM; port <= TO; port++)
        if (port != 6379 && port != 8265 && port != 8080 && port != 10001 && port != 52365)
            buf_printf(&b, "%d,", port);
    buf_printf(&b, "%d\"},\"template\":{\"spec\":{\"containers\":[{\"name\":\"r\",\"image\":\"r\"}]}}}}}", TO);
    CHECK(json_parse(&doc, buf_slice(&b), &a, &e));
    CHECK(!ray_read(json_root(&doc), &a, &c, &errors));
    CHECK_INT(spec_errors_count(&errors), 1);
    CHECK(slice_find_text(errors.list[0].text, "has 65535 twice") >= 0);
    CHECK(a.used < (size_t)(TO - FROM) * 16 * LENGTHS_MOST + 2 * MIB);
    buf_free(&b);
    arena_free(&a);
}

int main(void)
{
    struct arena file = {0};
    struct slice text = read_file("tests/data/ray/start-params.txt", &file);
    uint32_t lines = 0;
    while (text.ptr) {
        struct slice line = slice_cut(&text, '\n');
        if (slice_empty(line) || line.ptr[0] == '#')
            continue;
        check(line);
        lines++;
    }
    CHECK(lines > 60);
    long_list();
    arena_free(&file);
    return test_done();
}
