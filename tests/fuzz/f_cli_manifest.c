/* A manifest that somebody was sent: `mobula validate` and `mobula explain` say of it what can go to a terminal, one line for each finding,
 * and agree on whether it is one; and what explain makes of it is read again. The first byte chooses JSON or YAML. */

#include <mobula/explain.h>
#include <mobula/schema.h>
#include <mobula/yaml.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PODS_MAX = 32 };

static void check_lines(struct slice text)
{
    if (!utf8_valid(text) || (text.len && !slice_ends(text, SLICE("\n"))))
        abort();
    for (size_t i = 0; i < text.len; i++)
        if (((unsigned char)text.ptr[i] < ' ' && text.ptr[i] != '\n') || text.ptr[i] == 0x7f)
            abort();
    while (!slice_empty(text))
        if (!slice_starts(slice_cut(&text, '\n'), SLICE("FILE:")))
            abort();
}

/* Thousands of pods take as long as they take. */
static bool is_small(struct slice text, struct arena *a)
{
    struct yaml_docs docs;
    int64_t pods = 0;
    if (!yaml_parse_each(text, a, &docs, NULL))
        return true;
    for (uint32_t i = 0; i < docs.count; i++) {
        static struct spec_errors errors;
        struct ray_cluster c;
        struct json json;
        if (!json_parse(&json, docs.docs[i].json, a, NULL))
            continue;
        if (json_there(json_key(json_root(&json), SLICE("items")))) /* many clusters, perhaps */
            return false;
        errors.count = errors.beyond = 0;
        if (!ray_read(json_root(&json), a, &c, &errors))
            continue;
        for (uint32_t g = 0; g < c.group_count; g++)
            pods += (int64_t)c.groups[g].desired * c.groups[g].hosts;
    }
    return pods <= PODS_MAX;
}

static void explain(struct slice text, const struct explain_how *how, struct arena *a)
{
    struct buf out, notes;
    struct json doc;
    struct yaml_docs docs;
    buf_init(&out, 64 * MIB);
    buf_init(&notes, MIB);
    explain_begin(how, &out);
    explain_text("FILE", text, how, a, &out, &notes);
    explain_end(how, &out);
    check_lines(buf_slice(&notes));
    struct slice made = buf_slice(&out);
    if (how->json ? made.len < LIMIT_JSON_ITEM && !json_parse(&doc, made, a, NULL)
                  : made.len < LIMIT_YAML_INPUT && !yaml_parse(made, a, &docs, NULL))
        abort();
    buf_free(&out);
    buf_free(&notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct explain_how how = {.ray = {.cluster_domain = SLICE("cluster.local"), .version = SLICE("0")}};
    struct validated sum = {0};
    struct arena a = {0};
    struct buf out;
    if (size == 0)
        return 0;
    struct slice text = {(const char *)data + 1, size - 1};
    how.json = data[0] & 1;
    how.ray.sidecar = data[0] & 2;
    buf_init(&out, MIB);
    validate_text("FILE", text, &a, &sum, &out);
    check_lines(buf_slice(&out));
    if ((sum.errors || sum.warnings || sum.skipped) != (out.len > 0))
        abort();
    if (is_small(text, &a))
        explain(text, &how, &a);
    buf_free(&out);
    arena_free(&a);
    return 0;
}
