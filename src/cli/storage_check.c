/* Checks that a bucket can be used: writes an object, lists it, reads it, fetches it by a signed URL and deletes it. */
#include "check.h"
#include "storage.h"

#include <stdio.h>

struct probe {
    struct storage *s;
    struct slice key, body, left; /* left: rest of the body that was not read back yet */
};

static bool write_it(struct probe *p, struct err *e)
{
    return storage_put(p->s, p->key, p->body, e);
}

static bool compare(void *owner, struct slice piece, struct err *e)
{
    struct probe *p = owner;
    bool same = piece.len <= p->left.len && memcmp(piece.ptr, p->left.ptr, piece.len) == 0;
    p->left = slice_skip(p->left, same ? piece.len : 0);
    return same || err_set(e, ERR_SYNTAX, "it came back as something else than what was written");
}

static bool is_whole(const struct probe *p, struct err *e)
{
    return slice_empty(p->left) || err_set(e, ERR_SYNTAX, "only a part of it came back");
}

static bool read_it(struct probe *p, struct err *e)
{
    return storage_get(p->s, p->key, compare, p, e) && is_whole(p, e);
}

static bool list_it(struct probe *p, struct err *e)
{
    struct cloud_list list;
    struct slice more = SLICE("");
    if (!storage_list(p->s, p->key, true, &more, &list, e))
        return false;
    return (list.count == 1 && slice_eq(list.objects[0].key, p->key)) ||
           err_set(e, ERR_STATUS, "the list does not have the object that was just written");
}

static bool fetch_it(struct probe *p, struct err *e)
{
    int64_t seconds = 60;
    struct cloud_call c = {.method = "GET", .right = CLOUD_READ, .key = p->key, .piece = compare, .owner = p};
    return storage_url(p->s, p->key, &seconds, &c.url, e) && storage_call(p->s, &c, e) && is_whole(p, e);
}

static bool delete_it(struct probe *p, struct err *e)
{
    return storage_delete(p->s, p->key, e);
}

static const struct {
    const char *name, *fine;
    bool (*run)(struct probe *p, struct err *e);
} steps[] = {{"write", "an object was written", write_it},
             {"list", "it is in the list of its prefix", list_it},
             {"read", "it came back as it was written", read_it},
             {"sign", "a signed URL gives it without credentials", fetch_it},
             {"delete", "it was deleted", delete_it}};

void storage_probe(struct check *c, struct storage *s, struct slice prefix)
{
    struct rng rng;
    char suffix[NAME_SUFFIX];
    struct probe p = {.s = s, .body = SLICE("written by mobula storage check: it may be deleted\n")};
    rng_seed_system(&rng);
    hash_suffix(rng_next(&rng), suffix);
    bool slash = slice_empty(prefix) || slice_ends(prefix, SLICE("/"));
    p.key = arena_printf(&s->a, "%.*s%smobula-check-%.*s \xc3\xbc+%%2F.txt", SLICE_ARG(prefix), slash ? "" : "/", NAME_SUFFIX, suffix);
    const char *name = c->current; /* not NULL in `mobula check`, where all rows have the same name */
    s->loud = false;
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        struct err e = {0};
        c->current = name ? name : steps[i].name;
        p.left = p.body;
        bool well = steps[i].run(&p, &e);
        check_say(c, well ? CHECK_PASS : CHECK_FAIL, NULL, "%s", well ? steps[i].fine : e.text);
    }
    c->current = name ? name : "settings";
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
