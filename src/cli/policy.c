/* mobula policy: whether objects would be refused. */
#include "cli.h"

#include <mobula/command.h>
#include <mobula/policy.h>

#include <stdio.h>

struct policy_options {
    struct slice file, policy;
};

static const struct flag list[] = {
#define AT(field) offsetof(struct policy_options, field)
    {"f", FLAG_TEXT, AT(file), "FILE"},
    {"policy", FLAG_TEXT, AT(policy), "FILE"},
#undef AT
};

static const struct flags flags = {
    .usage = "mobula policy check [-f FILE] [--policy FILE]",
    .list = list,
    .count = COUNT_OF(list),
};

static void put_findings(const char *file, const struct yaml_doc *doc, const struct spec_errors *errors, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf notes = {.max = LIMIT_JSON_ITEM};
    struct findings *f = arena_new(a, struct findings);
    *f = (struct findings){.arena = a, .prefix = SLICE("")};
    findings_add_spec(f, false, errors);
    findings_write(f, file, doc, &notes);
    fprintf(stderr, "%.*s", SLICE_ARG(buf_slice(&notes)));
}

static bool load(struct slice path, struct arena *a, struct yaml_docs *docs, struct err *e)
{
    struct slice text;
    return cli_read_file(path, a, &text, e) && (yaml_parse(text, a, docs, e) || err_wrap(e, "%s", path.ptr)) &&
           (docs->count > 0 || err_set(e, ERR_CONFIG, "%s: holds no document", path.ptr));
}

static bool load_policy(struct slice path, struct arena *a, struct work_policy *out, bool *well, struct err *e)
{
    struct spec_errors *errors = arena_new(a, struct spec_errors);
    struct reader r = {.arena = a, .errors = errors};
    struct yaml_docs docs;
    struct json json;
    work_policy_default(out);
    if (slice_empty(path))
        return true;
    if (!load(path, a, &docs, e) || !json_parse(&json, docs.docs[0].json, a, e))
        return false;
    const struct place *at = place_root(json_root(&json), a);
    *well = work_policy_read(&r, at, out);
    put_findings(path.ptr, &docs.docs[0], errors, a);
    return true;
}

int cli_policy(int argc, char **argv)
{
    struct policy_options o = {0};
    bool named = argc > 1 && slice_eq(slice_of(argv[1]), SLICE("check")), well = true;
    struct work_policy policy;
    struct yaml_docs docs = {.count = 0};
    struct err e = {0};
    int status;
    if (!flags_parse(&flags, argc - named, argv + named, &o, &status))
        return status;
    if (!named || (slice_empty(o.file) && slice_empty(o.policy)))
        return flags_wrong(&flags, named ? "-f or --policy is needed" : "policy: want check");
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    if (!load_policy(o.policy, &a, &policy, &well, &e) || (!slice_empty(o.file) && !load(o.file, &a, &docs, &e)))
        return cli_fail(&e);
    for (uint32_t i = 0; i < docs.count; i++) {
        struct spec_errors *refused = arena_new(&a, struct spec_errors);
        struct json json;
        uint32_t rule;
        if (!json_parse(&json, docs.docs[i].json, &a, &e))
            return cli_fail(&e);
        well &= work_policy_check(&policy, json_root(&json), &a, refused, &rule);
        put_findings(slice_eq(o.file, SLICE("-")) ? "stdin" : o.file.ptr, &docs.docs[i], refused, &a);
    }
    return well ? STATUS_OK : STATUS_ERROR;
}
