/* Checks the bucket of this operator: component STORAGE_BUCKET. */
#include "checks.h"

static void take_result(struct checks *k)
{
    __attribute__((cleanup(buf_free))) struct buf b = {.max = HEALTH_MESSAGE - 1};
    cloud_probe_text(&k->bucket.probe, &b);
    utf8_clean(buf_slice(&b), k->bucket.trouble, sizeof k->bucket.trouble);
    k->bucket.checking = false;
    k->bucket.checked = true;
    k->bucket.next_ms = k->op->now.mono_ms + (k->bucket.trouble[0] ? OPERATOR_CHECK_AGAIN_MS : OPERATOR_CHECK_MS);
    if (k->bucket.trouble[0] && log_limit_pass(&k->bucket.log, k->op->now))
        log_warn("the bucket cannot be used: logs of pods may not be stored", LF("bucket", k->op->o.bucket.url),
                 LF_CSTR("error", k->bucket.trouble));
}

void bucket_init(struct checks *k)
{
    const struct operator_bucket *b = &k->op->o.bucket;
    if (slice_empty(b->url))
        return;
    utf8_clean(slice_of(b->why.text), k->bucket.trouble, sizeof k->bucket.trouble);
    if (b->with)
        k->bucket.store = cloud_store_new(k->op->net, b->with);
}

int64_t bucket_tick(struct checks *k)
{
    if (!k->bucket.store || k->op->phase.stopping)
        return TIME_NEVER;
    if (!k->bucket.checking && k->op->now.mono_ms >= k->bucket.next_ms) {
        k->bucket.checking = true;
        cloud_probe_begin(&k->bucket.probe, k->bucket.store, k->op->o.bucket.prefix, rng_next(&k->op->rng), k->op->now);
    }
    int64_t next_ms = cloud_store_tick(k->bucket.store, k->op->now);
    if (k->bucket.checking && k->bucket.probe.over)
        take_result(k);
    return k->bucket.checking ? next_ms : k->bucket.next_ms;
}

void bucket_free(struct checks *k)
{
    cloud_probe_free(&k->bucket.probe);
    cloud_store_free(k->bucket.store);
}
