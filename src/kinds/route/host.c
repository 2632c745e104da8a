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
    return slice_find(domain, '{') >= 0 ? domain : arena_printf(a, "{name}.{namespace}.{kind}.%.*s", SLICE_ARG(domain));
}

bool route_domain_check(struct slice domain, struct err *e)
{
    static const struct slice hashes[] = {{"0123456789abcdef", 16}, {"0123456789abcdef", 16}, {"s", 1}}; /* as route_host may need them */
    __attribute__((cleanup(arena_free))) struct arena mem = {0};
    struct slice template = domain.len <= LIMIT_ROUTE_DOMAIN ? template_of(domain, &mem) : SLICE("");
    if (slice_find_text(template, "{name}") >= 0 && name_dns_host(fill_in(template, hashes, &mem)))
        return true;
    return err_set(
        e, ERR_CONFIG,
        "--domain is \"%.*s\": want a domain such as ray.example.org, or a template of a host with {name}, and with {namespace} and "
        "{kind} (i or s) where they are to be part of it; at most %d bytes",
        SLICE_ARG(slice_head(domain, 80)), LIMIT_ROUTE_DOMAIN);
}

static struct slice hash_text(struct slice of, struct arena *a)
{
    return arena_printf(a, "%016llx", (unsigned long long)hash64(of, 0));
}

struct slice route_host(struct slice domain, const char *kind, struct slice ns, struct slice name, struct arena *a)
{
    struct slice values[] = {name, ns, slice_of(kind)};
    if (slice_empty(domain) || slice_find(name, '{') >= 0 || slice_find(ns, '{') >= 0)
        return SLICE("");
    struct slice template = template_of(domain, a);
    if (!name_dns1123_label(name))
        values[0] = hash_text(name, a);
    struct slice host = fill_in(template, values, a);
    if (name_dns_host(host))
        return host;
    /* A template with both in one label. Hashes are the same after each start. */
    values[0] = hash_text(arena_printf(a, "%.*s/%.*s", SLICE_ARG(ns), SLICE_ARG(name)), a);
    values[1] = hash_text(ns, a);
    return fill_in(template, values, a);
}
