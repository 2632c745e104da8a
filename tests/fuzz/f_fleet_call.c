/* What callers send to the control plane. The first byte chooses the call, the rest is its body; behind a NUL comes another. Whatever it
 * is, there is an answer of JSON, none says that the control plane is at fault, and the next caller is served. */
#include "tests/fleet/hubworld.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CALLS_MAX = CLIENTS - 2, HELD_MS = 30 * 1000, UNAVAILABLE = 503 };

static const struct {
    const char *method, *path, *token;
} calls[] = {
    {"POST", "/v1/sync", "operator"},
    {"POST", "/v1/projects/n/workloads", "ann"},
    {"PUT", "/v1/projects/n/workloads/train", "ann"},
    {"POST", "/v1/projects/n/computeconfigs", "ann"},
    {"POST", "/v1/projects/n/clouds", "ann"},
    {"PUT", "/v1/projects/n/clouds/edge", "ann"},
    {"PUT", "/v1/projects/n/workloads/train/folder", "ann"},
    {"POST", "/v1/bootstrap", "pod"},
    {"POST", "/v1/report", "pod"},
};

static void check_answer(struct client *c)
{
    int status = answer(c);
    if (status == 0) {
        run(c->of, HELD_MS); /* it was held, as the call asks for */
        status = answer(c);
    }
    if (status < 200 || (status >= 500 && status != UNAVAILABLE))
        abort();
    if (c->of->doc.count == 0 && status != 204)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hubworld h;
    struct slice rest = {(const char *)data, size};
    start(&h);
    make_cloud(&h, "edge");
    make_job(&h, "train", "edge", "");
    for (int i = 0; i < CALLS_MAX && !slice_empty(rest); i++) {
        struct slice body = slice_cut(&rest, '\0');
        if (slice_empty(body))
            continue;
        size_t at = (unsigned char)body.ptr[0] % COUNT_OF(calls);
        struct client *c = client_new(&h);
        send(c, calls[at].method, calls[at].path, calls[at].token, slice_skip(body, 1));
        run(&h, 200);
        check_answer(c);
    }
    struct client *last = client_new(&h);
    send(last, "GET", "/v1/projects/n/workloads", "ann", SLICE_NONE);
    run(&h, 200);
    if (answer(last) != 200)
        abort();
    finish(&h);
    return 0;
}
