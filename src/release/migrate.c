/* Stored versions of definitions: objects are written again, so that the API server encodes them in the storage version. */
#include <mobula/kinds.h>
#include <mobula/release.h>

enum { PAGE = 100, TRIES = 5 };

static bool refused(const struct ask_answer *answer, const char *what, struct err *e)
{
    char words[ASK_WORDS];
    return err_set(e, ERR_STATUS, "%s: %s", what, ask_words(answer, words));
}

/* An empty patch changes nothing, but makes the API server encode the object in the storage version. */
static bool rewrite(struct migration *m, struct jval object, struct err *e)
{
    struct ask_answer answer = {0};
    struct slice ns = json_get_str(object, "metadata.namespace", &m->page), name = json_get_str(object, "metadata.name", &m->page);
    struct slice path = arena_printf(&m->page, "/apis/%.*s/%.*s/namespaces/%.*s/%.*s/%.*s", SLICE_ARG(m->group), SLICE_ARG(m->version),
                                     SLICE_ARG(ns), SLICE_ARG(m->resource), SLICE_ARG(name));
    m->done++;
    if (m->dry_run)
        return true;
    if (!ask_merge(m->ask, path, SLICE("{}"), &m->page, &answer, e))
        return false;
    return answer.code < 300 || answer.code == 404 || refused(&answer, path.ptr, e);
}

/* *next: continue token of the next page; empty: there is none. */
static bool rewrite_page(struct migration *m, struct slice *next, struct err *e)
{
    static const struct http_header metadata = {SLICE("Accept"), SLICE("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")};
    struct ask_answer answer = {0};
    struct jval doc, key, one;
    __attribute__((cleanup(buf_free))) struct buf path = {.max = LIMIT_HTTP_URL};
    buf_printf(&path, "/apis/%.*s/%.*s/%.*s?limit=%d", SLICE_ARG(m->group), SLICE_ARG(m->version), SLICE_ARG(m->resource), PAGE);
    if (!slice_empty(*next))
        kube_query(&path, "continue", *next);
    if (!ask_get(m->ask, buf_slice(&path), &metadata, &m->page, &answer, e))
        return false;
    bool expired = answer.code == 410 && !slice_empty(*next); /* after 5 min: the answer has a token that goes on in a newer list */
    if (answer.code >= 300 && !expired)
        return refused(&answer, m->plural, e);
    if (!json_read(&doc, answer.body, &m->page, e))
        return false;
    if (expired && slice_empty(json_get_str(doc, "metadata.continue", &m->page)))
        return refused(&answer, m->plural, e);
    for (struct jiter it = json_iter(json_get(doc, "items")); json_next(&it, &key, &one);)
        if (!rewrite(m, one, e))
            return false;
    *next = arena_dup(m->a, json_get_str(doc, "metadata.continue", &m->page));
    int64_t left = json_get_int(doc, "metadata.remainingItemCount", 0);
    m->say(arena_printf(&m->page, "%s: %llu %s%s", m->plural, (unsigned long long)m->done, m->dry_run ? "would be rewritten" : "rewritten",
                        left > 0 ? arena_printf(&m->page, ", %lld left", (long long)left).ptr : ""));
    arena_reset(&m->page, MIB);
    return true;
}

/* Takes all versions but the storage version out of the status, unless that changed meanwhile. */
static bool trim(struct migration *m, struct slice path, struct err *e)
{
    struct ask_answer answer = {0};
    struct jval have;
    for (int try = 0; try < TRIES; try++) {
        if (!ask_get(m->ask, path, NULL, m->a, &answer, e) || !json_read(&have, answer.body, m->a, e))
            return false;
        if (!json_get_bool(list_find(json_get(have, "spec.versions"), "name", m->version), "storage", false))
            return err_set(e, ERR_STATUS, "%s: its storage version has changed meanwhile: run the command again", m->plural);
        struct slice status = arena_printf(m->a, "%.*s/status", SLICE_ARG(path));
        struct slice body = arena_printf(m->a, "{\"metadata\":{\"resourceVersion\":\"%.*s\"},\"status\":{\"storedVersions\":[\"%.*s\"]}}",
                                         SLICE_ARG(json_get_str(have, "metadata.resourceVersion", m->a)), SLICE_ARG(m->version));
        if (!ask_merge(m->ask, status, body, m->a, &answer, e))
            return false;
        if (answer.code != 409)
            return answer.code < 300 || refused(&answer, m->plural, e);
    }
    return err_set(e, ERR_STATUS, "%s: its status is written again and again by another client", m->plural);
}

static struct slice storage_version(struct jval have, struct arena *a)
{
    struct jval key, version;
    for (struct jiter it = json_iter(json_get(have, "spec.versions")); json_next(&it, &key, &version);)
        if (json_get_bool(version, "storage", false))
            return json_get_str(version, "name", a);
    return SLICE_NONE;
}

bool migrate_definition(struct migration *m, const char *plural, bool *any, struct err *e)
{
    struct ask_answer answer = {0};
    struct jval have, key, one;
    m->plural = plural;
    struct slice path = arena_printf(m->a, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/%s", m->plural), next = SLICE_NONE;
    *any = false;
    if (!ask_get(m->ask, path, NULL, m->a, &answer, e))
        return false;
    if (answer.code == 404)
        return true;
    if (answer.code >= 300)
        return refused(&answer, m->plural, e);
    if (!json_read(&have, answer.body, m->a, e))
        return false;
    m->version = storage_version(have, m->a);
    m->group = json_get_str(have, "spec.group", m->a);
    m->resource = json_get_str(have, "spec.names.plural", m->a);
    m->done = 0;
    for (struct jiter it = json_iter(json_get(have, "status.storedVersions")); json_next(&it, &key, &one);)
        *any |= !json_str_eq(one, m->version);
    if (!*any) {
        m->say(arena_printf(m->a, "%s: stored as %.*s alone", m->plural, SLICE_ARG(m->version)));
        return true;
    }
    m->say(arena_printf(m->a, "%s: stored as %.*s; all to %.*s", m->plural, SLICE_ARG(json_raw(json_get(have, "status.storedVersions"))),
                        SLICE_ARG(m->version)));
    do {
        if (!rewrite_page(m, &next, e))
            return false;
    } while (!slice_empty(next));
    if (m->dry_run)
        return true;
    if (!trim(m, path, e))
        return false;
    m->say(arena_printf(m->a, "%s: stored as %.*s alone now", m->plural, SLICE_ARG(m->version)));
    return true;
}

bool migrate_all(struct migration *m, bool *any, struct err *e)
{
    bool well = true, some;
    *any = false;
    for (size_t i = 0; well && kinds[i]; i++) {
        some = false;
        well = !kinds[i]->check || migrate_definition(m, kinds[i]->plural, &some, e);
        *any |= some;
    }
    for (size_t i = 0; well && install_plane_kinds[i]; i++) {
        well = migrate_definition(m, install_plane_kinds[i], &some, e);
        *any |= some;
    }
    arena_free(&m->page);
    return well;
}
