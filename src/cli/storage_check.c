/* Whether a place in a bucket can be used: an object is written, read, listed, fetched by a signed URL and deleted. */
#include "check.h"
#include "storage.h"

#include <stdio.h>

static bool compare(void *owner, struct slice piece, struct err *e)
{
    struct slice *left = owner;
    bool same = piece.len <= left->len && memcmp(piece.ptr, left->ptr, piece.len) == 0;
    *left = slice_skip(*left, same ? piece.len : 0);
    return same || err_set(e, ERR_SYNTAX, "it came back as something else than what was written");
}

/* What was read is all that was written. */
static bool read_back(struct storage *s, struct slice key, struct slice body, struct err *e)
{
    struct slice left = body;
    return storage_get(s, key, compare, &left, e) && (slice_empty(left) || err_set(e, ERR_SYNTAX, "only a part of it came back"));
}

static bool is_listed(struct storage *s, struct slice key, struct err *e)
{
    struct cloud_list list;
    struct slice more = SLICE("");
    if (!storage_list(s, key, true, &more, &list, e))
        return false;
    return (list.count == 1 && slice_eq(list.objects[0].key, key)) ||
           err_set(e, ERR_STATUS, "the list does not have the object that was just written");
}

/* A store that gives it without a signature as well is open to everybody. */
static bool fetch_signed(struct storage *s, struct slice key, struct slice body, struct err *e)
{
    struct slice url, left = body;
    int64_t seconds = 60;
    if (!storage_url(s, key, &seconds, &url, e))
        return false;
    struct cloud_call c = {.method = "GET", .right = "s3:GetObject", .key = key, .url = url, .piece = compare, .owner = &left};
    return storage_call(s, &c, e) && (slice_empty(left) || err_set(e, ERR_SYNTAX, "only a part of it came back"));
}

static bool row(struct check *c, const char *name, bool well, const struct err *e, const char *fine)
{
    c->current = name;
    check_say(c, well ? CHECK_PASS : CHECK_FAIL, NULL, "%s", well ? fine : e->text);
    return well;
}

void storage_probe(struct check *c, struct storage *s, struct slice prefix)
{
    struct rng rng;
    char suffix[NAME_SUFFIX];
    struct err e[5] = {{0}};
    rng_seed_system(&rng);
    hash_suffix(rng_next(&rng), suffix);
    bool slash = slice_empty(prefix) || slice_ends(prefix, SLICE("/"));
    struct slice key =
        arena_printf(&s->a, "%.*s%smobula-check-%.*s \xc3\xbc+%%2F.txt", SLICE_ARG(prefix), slash ? "" : "/", NAME_SUFFIX, suffix);
    struct slice body = SLICE("written by mobula storage check: it may be deleted\n");
    s->voice = false;
    bool written = row(c, "write", storage_put(s, key, body, &e[0]), &e[0], "an object was written");
    row(c, "list", is_listed(s, key, &e[1]), &e[1], "it is in the list of its prefix");
    if (written) {
        row(c, "read", read_back(s, key, body, &e[2]), &e[2], "it came back as it was written");
        row(c, "sign", fetch_signed(s, key, body, &e[3]), &e[3], "a signed URL gives it without credentials");
    }
    row(c, "delete", storage_delete(s, key, &e[4]), &e[4], "it was deleted");
    c->current = "settings";
    if (!slice_empty(s->said))
        check_say(c, CHECK_WARN, NULL, "%.*s", SLICE_ARG(s->said));
    check_say(c, CHECK_PASS, NULL, "credentials from %s, %s", s->with.settings.source, s->with.path_style ? "path style" : "virtual hosts");
}
