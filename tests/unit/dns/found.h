/* Runs one case: YAML documents, the options first, then >>> and the output, what is said and whether a host waits for its address. */
#ifndef MOBULA_TEST_DNS_FOUND_H
#define MOBULA_TEST_DNS_FOUND_H

#include "tests/kinds/cases.h"

#include <mobula/dns.h>
#include <mobula/yaml.h>

static struct yaml_docs found_docs;
static struct buf found_said = {.max = MIB};
static int found_reads; /* of Gateways */

static void found_say(struct slice line)
{
    buf_printf(&found_said, "said: %.*s\n", SLICE_ARG(line));
}

/* A Gateway of the case. One that is called "lost" cannot be asked for. */
static bool found_gateway(struct dns_records *r, struct slice ns, struct slice name, struct arena *a, struct jval *out, struct err *e)
{
    struct jval root;
    (void)a;
    found_reads++;
    for (uint32_t i = 0; i < found_docs.count; i++)
        if (json_read(&root, found_docs.docs[i].json, r->a, NULL) && json_is(json_get(root, "kind"), "Gateway") &&
            json_str_eq(json_get(root, "metadata.namespace"), ns) && json_str_eq(json_get(root, "metadata.name"), name))
            *out = root;
    return !slice_is(name, "lost") || err_set(e, ERR_TIMEOUT, "no answer");
}

static struct dns_options found_options(struct jval o, struct arena *a)
{
    return (struct dns_options){.format = json_there(json_get(o, "format")) ? json_get_str(o, "format", a) : SLICE("table"),
                                .zone = arena_dup(a, json_get_str(o, "zone", a)),
                                .group = arena_dup(a, json_get_str(o, "group", a)),
                                .address = json_get_str(o, "address", a),
                                .ttl = json_get_int(o, "ttl", 300)};
}

/* Adds all documents but the first, and writes the records. */
static bool found_all(struct dns_records *r, struct buf *out, struct err *e)
{
    struct jval root;
    for (uint32_t i = 1; i < found_docs.count; i++)
        if (CHECK(json_read(&root, found_docs.docs[i].json, r->a, e)) && !json_is(json_get(root, "kind"), "Gateway") &&
            !dns_add(r, arena_dup(r->a, json_get_str(root, "kind", r->a)).ptr, root, e))
            return false;
    return dns_write(r, out, e);
}

static void found_run(struct slice text)
{
    struct arena a = {0};
    struct buf out = {.max = MIB};
    struct err e = {0};
    struct jval first = NO_VALUE;
    const char *mark = memmem(text.ptr, text.len, "\n>>>\n", 5);
    struct slice in = slice_head(text, mark ? (size_t)(mark - text.ptr) + 1 : text.len), want = slice_skip(text, in.len + 4);
    buf_clear(&found_said);
    found_reads = 0;
    if (!CHECK(yaml_parse(in, &a, &found_docs, &e) && found_docs.count && json_read(&first, found_docs.docs[0].json, &a, &e)))
        printf("  %s\n", e.text);
    struct dns_options o = found_options(first, &a);
    struct dns_records r = {.o = &o, .a = &a, .say = found_say, .gateway = found_gateway};
    if (!dns_check(&o, &a, &e) || !found_all(&r, &out, &e)) {
        buf_clear(&out);
        buf_printf(&out, "error: %s\n", e.text);
    }
    buf_put(&out, buf_slice(&found_said));
    if (r.waits)
        buf_put(&out, SLICE("waits\n"));
    if (json_there(json_get(first, "reads")))
        CHECK_INT(found_reads, json_get_int(first, "reads", -1));
    struct slice printed = arena_printf(&a, "%.*s", SLICE_ARG(slice_trim(buf_slice(&out))));
    CHECK_SLICE(printed, slice_trim(want));
    map_free(&r.found);
    buf_free(&out);
    arena_free(&a);
}

#endif
