/* What a dashboard answers: something whole, or an error with a reason and nothing else. The first byte picks the call, the second the
 * status and how a log came; the rest is the body. */
#include <mobula/heads.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct ray_dash_answer *r)
{
    bool ok = r->outcome == RAY_DASH_OK;
    if (ok != (r->err.code == ERR_NONE))
        abort();
    if (!ok && (r->job_count || r->app_count || r->log.ptr || r->done || r->ray_version.ptr || r->submission_id.ptr))
        abort();
    for (uint32_t i = 0; i < r->job_count; i++)
        if (slice_empty(r->jobs[i].status))
            abort();
    for (uint32_t i = 0; i < r->app_count; i++)
        if (slice_empty(r->apps[i].status))
            abort();
    if (!utf8_valid(slice_of(r->err.text)) && strlen(r->err.text) < ERR_TEXT_MAX - 1) /* an error is cut anywhere */
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 200, 200, 202, 302, 400, 401, 403, 404, 408, 429, 500, 503};
    struct arena a = {0};
    struct ray_log log;
    struct ray_dash_answer whole, end;
    bool cut;
    if (size < 2)
        return 0;
    enum ray_dash_call call = (enum ray_dash_call)(data[0] % (RAY_DASH_SERVE_DELETE + 1));
    struct slice body = {(const char *)data + 2, size - 2};
    ray_dash_read(call, statuses[data[1] % COUNT_OF(statuses)], body, data[1] & 0x80, &a, &whole);
    check(&whole);
    ray_log_init(&log);
    for (struct slice rest = body, piece; !slice_empty(rest); rest = slice_skip(rest, piece.len)) {
        piece = slice_head(rest, 1 + (size_t)data[1] * 16);
        ray_log_add(&log, piece);
    }
    struct slice tail = ray_log_end(&log, &cut);
    if (tail.len > LIMIT_RAY_LOG || !slice_ends(body, tail) || cut != (body.len > LIMIT_RAY_LOG))
        abort();
    ray_dash_read(RAY_DASH_LOG, 200, tail, cut, &a, &end);
    check(&end);
    ray_log_free(&log);
    arena_free(&a);
    return 0;
}
