/* Writes the records in the formats of DNS servers and clouds. */
#include <mobula/dns.h>

/* ---- formats ---- */

/* Formats and then types of records, parted by ^, their fields by |. In a field $ and a letter is a variable, and ~ and a character c are
 * blanks up to column 8 * (c - '0') of the field. */
#define FORMATS "src/dns/formats.txt"

/* Fields of a format. A set is all records of one type of a host. */
enum { NAME, BEGIN, SET, VALUE, COMMA, SET_END, BETWEEN, END, FIELDS };
/* Fields of a type are the variables a to e: its name, that of azure, the end of a value, verb and flag of azure. */
enum { TYPE_VARS = 5 };

struct format {
    struct slice all; /* text of the file */
    struct slice fields[FIELDS], vars['z' - 'a' + 1];
    bool more; /* a set was written */
};
#define VAR(f, letter) (f)->vars[(letter) - 'a']

static void expand(const struct format *f, int field, struct buf *out)
{
    size_t from = out->len;
    const char *p = f->fields[field].ptr, *end = p + f->fields[field].len;
    for (; p < end; p++)
        if (*p == '$')
            buf_put(out, VAR(f, *++p));
        else if (*p == '~')
            for (p++; out->len - from < (size_t)(*p - '0') * 8 && buf_putc(out, ' ');)
                continue;
        else
            buf_putc(out, *p);
}

/* Finds a format, or a type. False: there is none of that name. */
static bool find_fields(struct slice all, struct slice name, struct slice fields[FIELDS])
{
    while (!slice_empty(all)) {
        struct slice one = slice_cut(&all, '^');
        for (int k = 0; k < FIELDS; k++)
            fields[k] = slice_cut(&one, '|');
        if (slice_eq(fields[NAME], name))
            return true;
    }
    return false;
}

bool dns_check(const struct dns_options *o, struct arena *a, struct err *e)
{
    struct slice fields[FIELDS], list = o->address;
    if (!slice_has(SLICE("|" DNS_FORMATS "|"), arena_printf(a, "|%.*s|", SLICE_ARG(o->format)).ptr) ||
        !find_fields(embed_file(embed_all(a), FORMATS), o->format, fields))
        return err_set(e, ERR_CONFIG, "--format: want " DNS_FORMATS);
    if (slice_empty(o->zone) ? slice_has(fields[SET], "record-set") : !dns_is_name(o->zone)) /* commands of azure and gcloud have it */
        return err_set(e, ERR_CONFIG, "--zone: want the DNS name of a zone");
    while (!slice_empty(list)) {
        struct slice one = slice_trim(slice_cut(&list, ','));
        if (!net_is_ip(one) && !dns_is_name(one))
            return err_set(e, ERR_CONFIG, "--address: want IP addresses or a DNS name");
    }
    return true;
}

/* ---- records ---- */

static const char *const types[] = {"A", "AAAA", "CNAME"};

static const char *type_of(struct slice address)
{
    return types[!net_is_ip(address) ? 2 : slice_find(address, ':') >= 0];
}

static void put_set(struct format *f, struct slice to, const char *type, struct buf *out)
{
    struct slice names[FIELDS];
    bool any = false;
    find_fields(f->all, slice_of(type), names);
    memcpy(f->vars, names, TYPE_VARS * sizeof *names);
    while (!slice_empty(to)) {
        struct slice one = slice_cut(&to, ',');
        if (type_of(one) != type)
            continue;
        VAR(f, 'v') = one;
        if (!any && f->more)
            expand(f, BETWEEN, out);
        expand(f, any ? COMMA : SET, out);
        expand(f, VALUE, out);
        f->more = any = true;
    }
    if (any)
        expand(f, SET_END, out);
}

/* Sets the variables of a host. Returns why it is left out, or NULL. */
static const char *set_host(struct dns_records *r, struct format *f, const struct dns_host *h)
{
    struct slice zone = r->o->zone, end = arena_printf(r->a, ".%.*s", SLICE_ARG(zone));
    bool wild = *h->name.ptr == '*', name = dns_is_name(h->to), top = slice_eq(h->name, zone);
    VAR(f, 'h') = h->name;
    VAR(f, 'o') = h->object;
    VAR(f, 'q') = slice_head(SLICE("'"), wild);
    VAR(f, 'n') = top ? SLICE("@") : slice_head(h->name, h->name.len - end.len);
    if (zone.len && !top && !slice_ends(h->name, end))
        return "it is outside the zone";
    if (name && top)
        return "the zone itself can have no CNAME";
    if ((name || wild) && slice_is(r->o->format, "hosts"))
        return "/etc/hosts has no wildcards and no CNAME";
    if (slice_empty(h->to)) {
        r->waits = true;
        r->say(arena_printf(r->a, "%.*s: %.*s has no address yet (--address sets one)", SLICE_ARG(h->name), SLICE_ARG(h->object)));
    }
    return NULL;
}

bool dns_write(struct dns_records *r, struct buf *out, struct err *e)
{
    const struct dns_options *o = r->o;
    struct format f = {.all = embed_file(embed_all(r->a), FORMATS)};
    find_fields(f.all, o->format, f.fields);
    VAR(&f, 's') = arena_printf(r->a, "%lld", (long long)o->ttl);
    VAR(&f, 'z') = o->zone;
    VAR(&f, 'g') = o->group.len ? o->group : SLICE("GROUP");
    expand(&f, BEGIN, out);
    for (const struct dns_host *h = r->first; h; h = h->next) {
        const char *why = set_host(r, &f, h);
        if (why)
            dns_say(r, h->name, h->object, why);
        for (size_t i = 0; i < COUNT_OF(types) && !why; i++)
            put_set(&f, h->to, types[i], out);
    }
    expand(&f, END, out);
    return !out->full || err_set(e, ERR_LIMIT, "there are more than %d bytes of records (LIMIT_DNS_OUTPUT)", LIMIT_DNS_OUTPUT);
}
