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
    arena_free(&file);
    return test_done();
}
