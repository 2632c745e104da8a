/* A workload's spec becomes an object with a name that one may have, or errors; and what has come of that object is told. */
#include "tests/unit/work/object.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_state(const struct work_object *object, bool terminate, struct arena *a)
{
    struct work_status status;
    struct json doc;
    struct jout w;
    struct buf b;
    work_state(object, terminate, a, &status);
    buf_init(&b, LIMIT_JSON_ITEM);
    jout_init(&w, &b);
    jout_object(&w);
    work_status_write(&status, object, &w);
    jout_end(&w);
    if (slice_empty(status.state) || (!b.full && !json_parse(&doc, buf_slice(&b), a, NULL)))
        abort();
    buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct work_options options = {
        .ns = SLICE("team-a"), .prefix = SLICE("p-"), .image = SLICE("default-image"), .gateway = SLICE("public")};
    struct workload_in in = {
        .uid = SLICE("0b6f3c1e-51f5-4d1b-9a3e-7f0c2d8e4a11"), .project = SLICE("team-a"), .name = SLICE("train"), .generation = 2};
    struct arena a = {0};
    const struct slice text = {(const char *)data, size};
    struct spec_errors errors = {0}, notes = {0};
    struct work_made made = {0};
    struct json doc;
    if (!json_read(&in.spec, text, &a, NULL)) {
        arena_free(&a);
        return 0;
    }
    bool ok = work_render(&in, &options, &a, &made, &errors, &notes);
    if (ok != (errors.count == 0))
        abort();
    if (ok && !made.terminate && (!json_parse(&doc, made.object, &a, NULL) || !name_dns1123_subdomain(made.name)))
        abort();
    if (ok && !made.terminate)
        check_state(object_of(json_root(&doc), &a), false, &a);
    arena_free(&a);
    return 0;
}
