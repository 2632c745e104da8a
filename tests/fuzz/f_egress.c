/* Options of the list of egress, one a line: API servers, entries, cloud ids, sources, namespaces. If they are accepted, each format is
 * valid for its readers, and no line of it holds a character that means something else there. */
#include <mobula/egress.h>
#include <mobula/json.h>
#include <mobula/yaml.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool promise)
{
    if (!promise)
        abort();
}

static void check_policy(struct slice text)
{
    struct arena a = {0};
    struct yaml_docs docs;
    struct err e = {0};
    struct json doc;
    demand(yaml_parse(text, &a, &docs, &e) && docs.count == 1 && json_parse(&doc, docs.docs[0].json, &a, &e));
    struct jval egress = json_get(json_root(&doc), "spec.egress"), rule, key;
    for (struct jiter it = json_iter(egress); json_next(&it, &key, &rule);)
        demand(json_len(rule) == 2 || json_there(json_key(rule, SLICE("toEntities")))); /* where to, and on which ports */
    arena_free(&a);
}

static void check_template(struct slice text)
{
    struct arena a = {0};
    struct json doc;
    struct err e = {0};
    demand(json_parse(&doc, slice_trim(text), &a, &e));
    arena_free(&a);
}

/* Each line is a comment or begins with a word of the format, and no comment brings a line of its own. */
static void check_lines(struct slice text)
{
    static const char *const words[] = {"#", "acl mobula_", "http_access ", "table inet ", "delete table inet ", "    ", "}"};
    while (!slice_empty(text)) {
        struct slice line = slice_cut(&text, '\n');
        bool known = false;
        for (size_t i = 0; i < COUNT_OF(words); i++)
            known |= slice_starts(line, slice_of(words[i]));
        demand(known);
        for (size_t i = 0; i < line.len; i++)
            demand(line.ptr[i] >= ' ' && line.ptr[i] <= '~' && (line.ptr[0] == '#' || !strchr("\"'`", line.ptr[i])));
    }
}

static void check(const struct egress_options *o)
{
    static const struct {
        const char *name;
        void (*check)(struct slice text);
    } formats[] = {{"text", NULL},         {"networkpolicy", check_policy}, {"cilium", check_policy}, {"azure-firewall", check_template},
                   {"squid", check_lines}, {"nftables", check_lines}};
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        struct egress_options one = *o;
        struct buf out, notes;
        struct err e = {0};
        buf_init(&out, MIB);
        buf_init(&notes, MIB);
        one.format = slice_of(formats[i].name);
        bool ok = egress_write(&one, &out, &notes, &e);
        demand(ok == (e.code == ERR_NONE) && !out.full && !notes.full && (ok || out.len == 0));
        if (ok && formats[i].check)
            formats[i].check(buf_slice(&out));
        buf_free(&out);
        buf_free(&notes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice rest = {(const char *)data, size};
    struct egress_options o = egress_defaults();
    struct flag_texts *const flags[] = {&o.api_servers, &o.entries, &o.cloud_ids, &o.sources};
    o.api_servers = (struct flag_texts){.list = {SLICE("none")}, .count = 1}; /* never a kubeconfig */
    o.profiles = (struct flag_texts){.list = {SLICE("anyscale-azure")}, .count = size % 2};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        struct slice line = slice_cut(&rest, '\n');
        if (!slice_empty(line))
            *flags[i] = (struct flag_texts){.list = {line}, .count = 1};
    }
    o.strict = size % 3 == 0;
    if (!slice_empty(rest))
        o.watch = rest;
    check(&o);
    return 0;
}
