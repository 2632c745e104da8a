/* Rows of a check of a bucket. */
#include "storage_check.h"

#include <mobula/check.h>

static const char *const fine[] = {[CLOUD_PROBE_WRITE] = "an object was written",
                                   [CLOUD_PROBE_LIST] = "it is in the list of its prefix",
                                   [CLOUD_PROBE_READ] = "it came back as it was written",
                                   [CLOUD_PROBE_SIGN] = "a signed URL gives it without credentials",
                                   [CLOUD_PROBE_DELETE] = "it was deleted"};

/* Whether a page of this origin may read objects by signed URLs: the question that a browser asks first. */
static void check_cors(struct check *c, struct storage *s, struct slice key, struct slice origin)
{
    struct err e = {0};
    int64_t seconds = 60;
    struct cloud_call ask = {.method = "OPTIONS", .right = CLOUD_READ};
    cloud_add_header(&ask, "Origin", origin);
    cloud_add_header(&ask, "Access-Control-Request-Method", SLICE("GET"));
    if (storage_url(s, arena_printf(&s->a, "%.*smobula-cors", SLICE_ARG(key)), &seconds, &ask.url, &e) && storage_call(s, &ask, &e) &&
        (slice_is(s->allowed, "*") || slice_eq(s->allowed, origin)))
        check_say(c, CHECK_PASS, NULL, "pages of %.*s may read (CORS)", SLICE_ARG(origin));
    else
        check_say(c, CHECK_FAIL, NULL,
                  "pages of %.*s may not read%s%s: give the bucket a CORS rule with this origin, methods GET and HEAD, and exposed headers "
                  "Accept-Ranges, Content-Range and Content-Length",
                  SLICE_ARG(origin), e.text[0] ? ": " : "", e.text);
}

void storage_probe(struct check *c, struct storage *s, struct slice prefix)
{
    struct rng rng;
    struct cloud_probe p = {.over = false};
    struct err ended = {0};
    rng_seed_system(&rng);
    const char *name = c->current; /* not NULL in `mobula check`, where all rows have the same name */
    s->loud = false;
    cloud_probe_begin(&p, s->store, prefix, rng_next(&rng), clock_now());
    bool whole = storage_wait(s, &p.over, &ended);
    for (int i = 0; i < CLOUD_PROBE_STEPS && whole; i++) {
        bool well = p.errors[i].code == ERR_NONE;
        c->current = name ? name : cloud_probe_names[i];
        check_say(c, well ? CHECK_PASS : CHECK_FAIL, NULL, "%s", well ? fine[i] : p.errors[i].text);
    }
    cloud_probe_free(&p);
    c->current = name ? name : "cors";
    if (whole && !slice_empty(c->o->origin))
        check_cors(c, s, prefix, c->o->origin);
    c->current = name ? name : "settings";
    if (!whole)
        check_say(c, CHECK_FAIL, NULL, "%s", ended.text);
    if (!slice_empty(s->warning))
        check_say(c, CHECK_WARN, NULL, "%.*s", SLICE_ARG(s->warning));
    check_say(c, CHECK_PASS, NULL, "credentials from %s, %s", s->with.settings.source, s->with.path_style ? "path style" : "virtual hosts");
}

void check_storage(struct check *c)
{
    struct storage s = {.store = NULL};
    struct cloud_place at;
    struct err e = {0};
    if (slice_empty(c->o->bucket))
        return;
    if (cloud_place(c->o->bucket, &at, &e) && storage_open(&s, &(struct storage_options){.virtual_host = false}, &at, &e))
        storage_probe(c, &s, at.key);
    else
        check_say(c, CHECK_FAIL, NULL, "--bucket: %s", e.text);
    if (s.from.owner)
        storage_close(&s);
}
