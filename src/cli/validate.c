#include "validate.h"
#include "cli.h"
#include "embed.h"
#include "findings.h"
#include "manifest.h"

#include <stdio.h>

/* ---- documents ---- */

static void check_cluster(enum ray_kind kind, struct jval object, struct findings *f)
{
    struct ray_cluster cluster;
    struct ray_errors *errors = arena_new(f->arena, struct ray_errors), *notes = arena_new(f->arena, struct ray_errors);
    ray_read(object, f->arena, &cluster, errors);
    findings_add_ray(f, false, errors);
    schema_check(embed_file(embed_all(f->arena), kind == RAY_V1 ? EMBED_CRD_RAY : EMBED_CRD_LEGACY), object, f);
    ray_notes(object, f->arena, notes);
    findings_add_ray(f, true, notes);
}

static void check_job(struct jval object, struct findings *f)
{
    struct ray_job job;
    struct ray_errors *errors = arena_new(f->arena, struct ray_errors), *notes = arena_new(f->arena, struct ray_errors);
    ray_read_job(object, f->arena, &job, errors);
    findings_add_ray(f, false, errors);
    schema_check(embed_file(embed_all(f->arena), EMBED_CRD_JOB), object, f);
    ray_job_notes(object, f->arena, notes);
    findings_add_ray(f, true, notes);
}

static void check_object(const char *file, const struct yaml_doc *doc, struct jval object, struct findings *f, struct validated *sum,
                         struct buf *out);

static void check_list(const char *file, const struct yaml_doc *doc, struct jval list, struct findings *f, struct validated *sum,
                       struct buf *out)
{
    struct slice above = f->prefix;
    struct jval key, item;
    size_t i = 0;
    for (struct jiter it = json_iter(json_key(list, SLICE("items"))); json_next(&it, &key, &item); i++) {
        f->prefix = arena_printf(f->arena, "%.*sitems[%zu].", SLICE_ARG(above), i);
        check_object(file, doc, item, f, sum, out);
    }
    f->prefix = above;
}

static void check_object(const char *file, const struct yaml_doc *doc, struct jval object, struct findings *f, struct validated *sum,
                         struct buf *out)
{
    enum ray_kind kind;
    struct manifest_fault fault;
    switch (manifest_what(object, f->arena, &kind, &fault)) {
    case MANIFEST_LIST:
        check_list(file, doc, object, f, sum, out);
        break;
    case MANIFEST_CLUSTER:
        check_cluster(kind, object, f);
        sum->checked++;
        break;
    case MANIFEST_JOB:
        check_job(object, f);
        sum->checked++;
        break;
    case MANIFEST_WRONG:
        findings_add(f, false, fault.path, json_offset(fault.at), fault.text);
        break;
    case MANIFEST_OTHER:
        manifest_skip(file, yaml_line(doc, json_offset(object)), object, "is no RayCluster and no RayJob", f->arena, out);
        sum->skipped++;
        break;
    }
}

static void check_document(const char *file, const struct yaml_doc *doc, struct arena *a, struct validated *sum, struct buf *out)
{
    struct json json;
    struct err e = {0};
    if (doc->error || !json_parse(&json, doc->json, a, &e)) {
        findings_error(file, doc->line, doc->error ? doc->error : &e, out);
        sum->errors++;
        return;
    }
    struct findings *f = arena_new(a, struct findings);
    f->arena = a;
    check_object(file, doc, json_root(&json), f, sum, out);
    findings_write(f, file, doc, out);
    sum->errors += f->errors;
    sum->warnings += f->warnings;
}

void validate_text(const char *file, struct slice text, struct arena *a, struct validated *sum, struct buf *out)
{
    struct yaml_docs docs;
    struct err e = {0};
    if (!yaml_parse_each(text, a, &docs, &e)) {
        findings_error(file, 0, &e, out);
        sum->errors++;
        return;
    }
    for (uint32_t i = 0; i < docs.count; i++)
        check_document(file, &docs.docs[i], a, sum, out);
    if (docs.count == 0) {
        buf_printf(out, "%s:1: warning: holds no document\n", file);
        sum->warnings++;
    }
}

/* ---- the command ---- */

enum { VALIDATE_OUTPUT_MAX = 16 * MIB };

struct validate_options {
    struct flag_texts files;
};

static const struct flag list[] = {
    {"f", FLAG_TEXTS, offsetof(struct validate_options, files), "FILE",
     "a manifest in YAML or JSON, or a folder of them; - is standard input"},
};

static const struct flags flags = {
    .usage = "mobula validate -f FILE [-f FILE...]",
    .about = "Checks RayClusters of both kinds, and RayJobs, without a cluster: every error at once, as FILE:LINE: FIELD: TEXT. Other "
             "kinds are skipped.\n"
             "Exit status 0 only when at least one was checked and none is wrong; warnings are about what has no effect, or is likely to "
             "be a mistake.",
    .list = list,
    .count = COUNT_OF(list),
};

int cli_validate(int argc, char **argv)
{
    struct validate_options o = {0};
    int status;
    if (!flags_parse(&flags, argc, argv, &o, &status))
        return status;
    if (o.files.count == 0)
        return flags_wrong(&flags, "-f is needed");
    struct validated sum = {0};
    struct manifest_files files;
    struct err e = {0};
    __attribute__((cleanup(arena_free))) struct arena a = {0}, names = {0};
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, VALIDATE_OUTPUT_MAX);
    if (!manifest_files(&o.files, &names, &files, &e))
        return cli_fail(&e);
    for (uint32_t i = 0; i < files.count; i++) {
        struct slice text;
        if (!cli_read_file(files.list[i], &a, &text, &e))
            return cli_fail(&e);
        validate_text(slice_eq(files.list[i], SLICE("-")) ? "stdin" : files.list[i].ptr, text, &a, &sum, &out);
        arena_reset(&a, MIB);
    }
    buf_printf(&out, "%u checked, %u skipped; errors: %u, warnings: %u\n", sum.checked, sum.skipped, sum.errors, sum.warnings);
    if (out.full)
        err_set(&e, ERR_LIMIT, "more than %d bytes of findings (VALIDATE_OUTPUT_MAX)", VALIDATE_OUTPUT_MAX);
    else if (!cli_print(buf_slice(&out)))
        return STATUS_ERROR;
    else if (sum.checked == 0 && sum.errors == 0)
        err_set(&e, ERR_CONFIG, "nothing was checked: there is no RayCluster and no RayJob in what was given");
    if (e.code != ERR_NONE)
        return cli_fail(&e);
    return sum.errors == 0 ? STATUS_OK : STATUS_ERROR;
}
