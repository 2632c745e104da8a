/* Reads the objects of all kinds that have host names from the API server. */
#include <mobula/dns.h>
#include <mobula/kind_child.h>
#include <mobula/kind_route.h>

static const struct kind *const with_hosts[] = {&kind_ingress, &kind_httproute, &kind_grpcroute, &kind_virtualservice, &kind_kservice};

/* *out stays as it is if the server does not have it, or it may not be read. ns: where it is, or empty. */
static bool read_path(struct dns_records *r, const struct kind *kind, struct slice ns, const struct buf *path, struct arena *a,
                      struct jval *out, struct err *e)
{
    struct ask_answer answer = {0};
    if (!ask_get(&r->seek->ask, buf_slice(path), NULL, a, &answer, e))
        return false;
    if (answer.code == 403)
        dns_say(r, slice_of(kind->plural), slice_empty(ns) ? SLICE("all namespaces") : ns,
                kind == &kind_gateway ? "the right to get them is missing" : "the right to list them is missing");
    if (answer.code == 403 || answer.code == 404)
        return true;
    return answer.code >= 300 ? seek_refused(&answer, kind->plural, e) : json_read(out, answer.body, a, e);
}

static bool read_gateway(struct dns_records *r, struct slice ns, struct slice name, struct arena *a, struct jval *out, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf path = {.max = LIMIT_HTTP_URL};
    kube_path(&path, kind_gateway.resource, ns, name, SLICE_NONE);
    return read_path(r, &kind_gateway, ns, &path, a, out, e);
}

/* *more: the continue token of the next page; empty: this is the last one. */
static bool read_page(struct dns_records *r, const struct kind *kind, struct slice *more, struct err *e)
{
    struct jval list = NO_VALUE, k, one;
    struct slice ns = r->o->all ? SLICE_NONE : r->seek->ns;
    __attribute__((cleanup(arena_free))) struct arena page = {0};
    __attribute__((cleanup(buf_free))) struct buf path = {.max = LIMIT_HTTP_URL};
    kube_path(&path, kind->resource, ns, SLICE_NONE, SLICE_NONE);
    kube_query(&path, "limit", SLICE("50")); /* few enough for LIMIT_JSON_TOKENS */
    if (!slice_empty(*more))
        kube_query(&path, "continue", *more);
    if (!read_path(r, kind, ns, &path, &page, &list, e))
        return false;
    for (struct jiter it = json_iter(json_get(list, "items")); json_next(&it, &k, &one);)
        if (!dns_add(r, kind->name, one, e))
            return false;
    *more = arena_dup(r->a, json_get_str(list, "metadata.continue", &page));
    return true;
}

bool dns_read(struct dns_records *r, struct err *e)
{
    uint32_t pages = 0;
    r->gateway = read_gateway;
    for (size_t i = 0; i < COUNT_OF(with_hosts); i++) {
        struct slice more = SLICE_NONE;
        do {
            if (pages++ >= LIMIT_EXPLAIN_PAGES)
                return err_set(e, ERR_LIMIT, "the API server's list does not end: more than %d pages (LIMIT_EXPLAIN_PAGES)",
                               LIMIT_EXPLAIN_PAGES);
            if (!read_page(r, with_hosts[i], &more, e))
                return false;
        } while (!slice_empty(more));
    }
    return true;
}
