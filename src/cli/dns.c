/* `mobula dns`: the DNS records that host names of routes need. */
#include "cli.h"
#include "failed.h"

#include <mobula/dns.h>

enum { STATUS_WAITS = 3, TTL_S = 300 };

static const struct flag list[] = {
#define AT(field) offsetof(struct dns_options, field)
    {"format", FLAG_TEXT, AT(format), DNS_FORMATS},
    {"o", FLAG_TEXT, AT(format), DNS_FORMATS},
    {"zone", FLAG_TEXT, AT(zone), "NAME"},
    {"group", FLAG_TEXT, AT(group), "NAME"},
    {"address", FLAG_LIST, AT(address), "ADDRESS[,...]"},
    {"ttl", FLAG_INT, AT(ttl), "SECONDS"},
    {"all-namespaces", FLAG_SWITCH, AT(all), NULL},
    {"A", FLAG_SWITCH, AT(all), NULL},
    SEEK_PLACE_FLAGS(AT(seek)),
    ASK_TIMEOUT_FLAG(AT(seek.timeout_ms)),
#undef AT
};

static const struct flags flags = {
    .usage = "mobula dns [-n NS|-A] [--format FORMAT] [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
};

int cli_dns(int argc, char **argv)
{
    struct dns_options o = {.format = SLICE("table"), .ttl = TTL_S};
    struct err e = {0};
    int status;
    if (!flags_parse(&flags, argc, argv, &o, &status))
        return status;
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    if (!dns_check(&o, &a, &e))
        return flags_wrong(&flags, "%s", e.text);
    __attribute__((cleanup(buf_free))) struct buf out = {.max = LIMIT_DNS_OUTPUT};
    struct seek s;
    struct dns_records r = {.o = &o, .a = &a, .say = cli_apply_note, .seek = &s};
    bool well = seek_open(&s, &o.seek, &a, &e) && dns_read(&r, &e) && dns_write(&r, &out, &e);
    seek_close(&s);
    map_free(&r.found);
    if (!well)
        return cli_fail(&e);
    return !cli_print(buf_slice(&out)) ? STATUS_ERROR : r.waits ? STATUS_WAITS : STATUS_OK;
}
