/* Any object, as the API server might have it: its workload has a state, and the status that tells it is JSON. */
#include "tests/unit/work/object.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct work_status status;
    struct json object, doc;
    struct jout w;
    struct buf b;
    if (json_parse(&object, (struct slice){(const char *)data, size}, &a, NULL)) {
        work_state(object_of(json_root(&object), &a), size & 1, &a, &status);
        buf_init(&b, LIMIT_JSON_ITEM);
        jout_init(&w, &b);
        jout_object(&w);
        work_status_write(&status, object_of(json_root(&object), &a), &w);
        jout_end(&w);
        if (slice_empty(status.state) || (!b.full && !json_parse(&doc, buf_slice(&b), &a, NULL)))
            abort();
        buf_free(&b);
    }
    arena_free(&a);
    return 0;
}
