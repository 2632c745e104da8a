/* Host names by the operator's --domain, of routes that name none. */
#include <mobula/route.h>

/* Puts the values in the place of {name}, {namespace} and {kind}. */
static struct slice fill_in(struct slice template, const struct slice values[3], struct arena *a)
{
    static const char *const names[] = {"{name}", "{namespace}", "{kind}"};
    struct slice text = template;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        for (ptrdiff_t at; (at = slice_find_text(text, names[i])) >= 0;) {
            struct slice before = slice_head(text, (size_t)at), behind = slice_skip(text, (size_t)at + strlen(names[i]));
            text = arena_printf(a, "%.*s%.*s%.*s", SLICE_ARG(before), SLICE_ARG(values[i]), SLICE_ARG(behind));
        }
    return text;
}

static struct slice template_of(struct slice domain, struct arena *a)
{
    return slice_find(domain, '{') >= 0 ? domain : arena_printf(a, "{name}-{namespace}.{kind}.%.*s", SLICE_ARG(domain));
}

bool route_domain_check(struct slice domain, struct err *e)
{
    static const struct slice shortest[] = {{"n", 1}, {"ns", 2}, {"s", 1}};
    __attribute__((cleanup(arena_free))) struct arena mem = {0};
    struct slice template = domain.len <= LIMIT_ROUTE_DOMAIN ? template_of(domain, &mem) : SLICE("");
    if (slice_find_text(template, "{name}") >= 0 && name_dns_host(fill_in(template, shortest, &mem)))
        return true;
    return err_set(
        e, ERR_CONFIG,
        "--domain is \"%.*s\": want a domain such as ray.example.org, or a template of a host with {name}, and with {namespace} and "
        "{kind} (i or s) where they are to be part of it; at most %d bytes",
        SLICE_ARG(slice_head(domain, 80)), LIMIT_ROUTE_DOMAIN);
}

struct slice route_host(struct slice domain, const char *kind, struct slice ns, struct slice name, struct arena *a)
{
    struct slice values[] = {name, ns, slice_of(kind)};
    if (slice_empty(domain) || slice_find(name, '{') >= 0 || slice_find(ns, '{') >= 0)
        return SLICE("");
    struct slice template = template_of(domain, a), host = fill_in(template, values, a);
    if (name_dns_host(host))
        return host;
    /* The label is too long, or the name has a dot: a hash in the place of the name is the same after each start. */
    values[0] = arena_printf(a, "%016llx", (unsigned long long)hash64(name, 0));
    host = fill_in(template, values, a);
    return name_dns_host(host) ? host : SLICE("");
}
