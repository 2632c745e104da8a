#include "request.h"

#include <inttypes.h>

/* As the watch cache has it. */
static const struct version *cached(struct request *q)
{
    struct version **all;
    size_t count;
    if (!store_snapshot(q->api->of, store_cached(q->s, q->api->of), q->a, &all, &count))
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (slice_eq(all[i]->ns, q->ns) && slice_eq(all[i]->name, q->name))
            return all[i];
    return NULL;
}

void read_get(struct request *q)
{
    struct slice text = request_query(q, "resourceVersion");
    int64_t rv = 0;
    uint64_t newest = store_cached(q->s, q->api->of);
    if (text.len && slice_int(text, &rv) && rv > 0 && (uint64_t)rv > newest) {
        q->wait_rv = (uint64_t)rv;
        return;
    }
    const struct object *o = store_find(q->api->of, q->ns, q->name);
    const struct version *v = text.len && newest < q->s->rv ? cached(q) : o ? o->now : NULL;
    if (!v) {
        status_not_found(&q->st, q->api->group, q->api->of->plural, q->name);
        return;
    }
    view_answer(q, 200, v);
}

/* ---- lists ---- */

struct list_options {
    struct selector *selector;
    int64_t limit;
    uint64_t rv; /* the state that is wanted; the newest when there is no continue token */
    bool exact;
    struct slice after_ns, after_name; /* where a continue token goes on */
    struct slice only;                 /* the one name that the field selector asks for */
};

/* What does not go together, before anything of it is looked at. */
static bool check_options(struct request *q, bool token)
{
    const struct slice field = SLICE("resourceVersionMatch");
    struct slice rv = request_query(q, "resourceVersion"), match = request_query(q, "resourceVersionMatch");
    bool exact = slice_eq(match, SLICE("Exact"));
    if (match.len && !rv.len)
        status_cause(&q->st, "FieldValueForbidden", field,
                     "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (match.len && token)
        status_cause(&q->st, "FieldValueForbidden", field, "Forbidden: resourceVersionMatch is forbidden when continue is provided");
    if (match.len && !exact && !slice_eq(match, SLICE("NotOlderThan")))
        status_cause(&q->st, "FieldValueNotSupported", field,
                     "Unsupported value: \"%.*s\": supported values: \"Exact\", \"NotOlderThan\", \"\"", SLICE_ARG(match));
    if (exact && slice_eq(rv, SLICE("0")))
        status_cause(&q->st, "FieldValueForbidden", field,
                     "Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    if (request_query(q, "sendInitialEvents").len)
        status_cause(&q->st, "FieldValueForbidden", SLICE("sendInitialEvents"), "Forbidden: sendInitialEvents is forbidden for list");
    return !q->st.cause_count || status_invalid(&q->st, SLICE("meta.k8s.io"), SLICE("ListOptions"), SLICE(""));
}

/* "RV~NAMESPACE~NAME": opaque for clients, plain for us, and nothing in it needs percent-encoding. */
static bool read_token(struct request *q, struct slice token, struct list_options *o)
{
    int64_t rv;
    struct slice rest = token;
    if (!slice_int(slice_cut(&rest, '~'), &rv) || rv <= 0 || !rest.ptr)
        return status_bad(&q->st, "invalid continue token: continue key is not valid");
    o->rv = (uint64_t)rv;
    o->after_ns = slice_cut(&rest, '~');
    o->after_name = rest.ptr ? rest : SLICE("");
    return o->after_name.len > 0 || status_bad(&q->st, "invalid continue token: continue key is not valid");
}

static struct slice make_token(struct request *q, uint64_t rv, struct slice ns, struct slice name)
{
    return arena_printf(q->a, "%" PRIu64 "~%.*s~%.*s", rv, SLICE_ARG(ns), SLICE_ARG(name));
}

static uint64_t newest_of(const struct request *q)
{
    const struct resource *r = q->api->of;
    return r->next > r->first ? store_event(r, r->next - 1)->rv : 0;
}

static bool read_rv(struct request *q, struct list_options *o, bool token)
{
    struct slice text = request_query(q, "resourceVersion");
    int64_t rv = 0;
    if (token && text.len && !slice_eq(text, SLICE("0")))
        return status_bad(&q->st, "specifying resource version is not allowed when using continue");
    if (text.len && (!slice_int(text, &rv) || rv < 0))
        return status_bad(
            &q->st,
            "invalid resource version: resourceVersion: Invalid value: \"%.*s\": strconv.ParseUint: parsing \"%.*s\": invalid syntax",
            SLICE_ARG(text), SLICE_ARG(text));
    o->exact = slice_eq(request_query(q, "resourceVersionMatch"), SLICE("Exact"));
    uint64_t newest = text.len && !o->exact ? store_cached(q->s, q->api->of) : q->s->rv;
    bool older = q->s->faults.older_lists && (uint64_t)rv <= q->s->rv;
    if ((uint64_t)rv > newest && !older) {
        q->wait_rv = (uint64_t)rv;
        return false;
    }
    if (!token)
        o->rv = o->exact ? (uint64_t)rv : newest;
    q->s->hits.held += !token && o->rv < newest_of(q);
    return true;
}

/* The value of metadata.name in a field selector that asks for one. */
static struct slice one_name(struct slice fields)
{
    const struct slice key = SLICE("metadata.name=");
    while (fields.len) {
        struct slice term = slice_cut(&fields, ',');
        if (slice_starts(term, key)) {
            term = slice_skip(term, key.len);
            return slice_starts(term, SLICE("=")) ? slice_skip(term, 1) : term;
        }
    }
    return SLICE("");
}

static bool read_list_options(struct request *q, struct list_options *o)
{
    struct slice limit = request_query(q, "limit"), token = request_query(q, "continue");
    if (limit.len && !slice_int(limit, &o->limit))
        return status_bad(&q->st, "strconv.ParseInt: parsing \"%.*s\": invalid syntax", SLICE_ARG(limit));
    o->selector = selector_parse(request_query(q, "labelSelector"), request_query(q, "fieldSelector"), q->a, &q->st);
    if (!o->selector || !check_options(q, token.len > 0) || !selector_fits(o->selector, q->api->of, &q->st))
        return false;
    o->only = one_name(request_query(q, "fieldSelector"));
    if (token.len && !read_token(q, token, o))
        return false;
    return read_rv(q, o, token.len > 0);
}

static bool in_scope(const struct request *q, const struct version *v)
{
    return !q->ns.len || slice_eq(v->ns, q->ns);
}

static bool past_token(const struct list_options *o, const struct version *v)
{
    if (!o->after_name.len)
        return true;
    int d = slice_cmp(v->ns, o->after_ns);
    return d > 0 || (d == 0 && slice_cmp(v->name, o->after_name) > 0);
}

static void expired(struct request *q, bool token)
{
    q->s->hits.expired++;
    if (!token) {
        status_set(&q->st, 410, "Expired", "The resourceVersion for the provided list is too old.");
        return;
    }
    status_set(
        &q->st, 410, "Expired",
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue "
        "parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided "
        "token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was "
        "returned and now may show up in the list.");
}

void read_list(struct request *q)
{
    struct list_options o = {0};
    if (!read_list_options(q, &o))
        return;
    uint32_t most = q->s->faults.page_max;
    bool shorter = most && o.limit > most;
    if (shorter)
        o.limit = most;
    struct version **all, **page;
    size_t count, n = 0, left = 0;
    if (!store_snapshot(q->api->of, o.rv, q->a, &all, &count)) {
        expired(q, o.after_name.len > 0);
        if (o.after_name.len)
            q->st.carry_on = make_token(q, q->s->rv, o.after_ns, o.after_name);
        return;
    }
    page = arena_array(q->a, count + 1, sizeof *page);
    for (size_t i = 0; i < count; i++) {
        if (!in_scope(q, all[i]) || !past_token(&o, all[i]) || (o.only.len && !slice_eq(o.only, all[i]->name)))
            continue;
        if (o.limit && n == (size_t)o.limit)
            left++; /* whether the selector takes it is seen on the next page */
        else if (selector_matches(o.selector, all[i], q->a))
            page[n++] = all[i];
    }
    q->s->hits.pages += shorter && left;
    struct slice token = left ? make_token(q, o.rv, page[n - 1]->ns, page[n - 1]->name) : SLICE("");
    view_list(q, page, n, o.rv, token, selector_empty(o.selector) ? (int64_t)left : -1);
}
