#include "validate.h"
#include "cli.h"
#include "embed.h"
#include "findings.h"

#include <stdio.h>

/* ---- documents ---- */

static struct slice text_of(struct jval v, struct arena *a)
{
    return json_there(v) ? json_str(v, a) : SLICE("");
}

bool manifest_kind(struct jval object, struct arena *a, enum ray_kind *kind)
{
    struct slice version = text_of(json_key(object, SLICE("apiVersion")), a);
    for (size_t i = 0; i < COUNT_OF(ray_resources); i++)
        if (json_str_eq(json_key(object, SLICE("kind")), SLICE("RayCluster")) && slice_eq(version, ray_api_version((enum ray_kind)i))) {
            *kind = (enum ray_kind)i;
            return true;
        }
    return false;
}

static bool manifest_job(struct jval object)
{
    return json_str_eq(json_key(object, SLICE("kind")), SLICE("RayJob")) &&
           json_str_eq(json_key(object, SLICE("apiVersion")), ray_api_version(RAY_V1));
}

static void check_cluster(enum ray_kind kind, struct jval object, struct findings *f)
{
    struct ray_cluster cluster;
    struct ray_errors *errors = arena_new(f->arena, struct ray_errors), *notes = arena_new(f->arena, struct ray_errors);
    ray_read(object, f->arena, &cluster, errors);
    findings_add_ray(f, false, errors);
    schema_check(kind == RAY_V1 ? crd_ray() : crd_legacy(), object, f);
    ray_notes(object, f->arena, notes);
    findings_add_ray(f, true, notes);
}

static void check_job(struct jval object, struct findings *f)
{
    struct ray_job job;
    struct ray_errors *errors = arena_new(f->arena, struct ray_errors), *notes = arena_new(f->arena, struct ray_errors);
    ray_read_job(object, f->arena, &job, errors);
    findings_add_ray(f, false, errors);
    schema_check(crd_job(), object, f);
    ray_job_notes(object, f->arena, notes);
    findings_add_ray(f, true, notes);
}

void manifest_skip(const char *file, const struct yaml_doc *doc, struct jval object, const char *because, struct arena *a, struct buf *out)
{
    size_t from = out->len;
    struct slice version = text_of(json_key(object, SLICE("apiVersion")), a), name = text_of(json_key(object, SLICE("kind")), a);
    buf_printf(out, "%s:%u: skipped: \"%.*s %.*s\" %s", file, doc->line, SLICE_ARG(version), SLICE_ARG(name), because);
    findings_end_line(out, from);
}

static void check_document(const char *file, const struct yaml_doc *doc, struct arena *a, struct validated *sum, struct buf *out)
{
    struct json json;
    struct err e = {0};
    enum ray_kind kind = RAY_V1;
    size_t from = out->len;
    if (!json_parse(&json, doc->json, a, &e)) {
        buf_printf(out, "%s:%u: %s", file, doc->line, e.text);
        findings_end_line(out, from);
        sum->errors++;
        return;
    }
    struct jval object = json_root(&json);
    bool job = manifest_job(object);
    if (!job && !manifest_kind(object, a, &kind)) {
        manifest_skip(file, doc, object, "is not a RayCluster of ray.io/v1 or cluster.ray.io/v1, nor a RayJob of ray.io/v1", a, out);
        sum->skipped++;
        return;
    }
    struct findings *f = arena_new(a, struct findings);
    f->arena = a;
    if (job)
        check_job(object, f);
    else
        check_cluster(kind, object, f);
    findings_write(f, file, doc, out);
    sum->checked++;
    sum->errors += f->errors;
    sum->warnings += f->warnings;
}

void validate_text(const char *file, struct slice text, struct arena *a, struct validated *sum, struct buf *out)
{
    struct yaml_docs docs;
    struct err e = {0};
    size_t from = out->len;
    if (!yaml_parse(text, a, &docs, &e)) {
        buf_printf(out, "%s: %s", file, e.text);
        findings_end_line(out, from);
        sum->errors++;
        return;
    }
    for (uint32_t i = 0; i < docs.count; i++)
        check_document(file, &docs.docs[i], a, sum, out);
}

/* ---- the command ---- */

enum { VALIDATE_OUTPUT_MAX = 16 * MIB };

struct validate_options {
    struct flag_texts files;
};

static const struct flag list[] = {
    {"f", FLAG_TEXTS, offsetof(struct validate_options, files), "FILE", "manifests in YAML or JSON; - is standard input"},
};

static const struct flags flags = {
    .usage = "mobula validate -f FILE [-f FILE...]",
    .about = "Checks RayClusters of both kinds, and RayJobs, without a cluster: every error at once, as FILE:LINE: FIELD: TEXT. Other "
             "kinds are skipped.\n"
             "Exit status 1 when there is an error; warnings are about what has no effect.",
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
    struct err e = {0};
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, VALIDATE_OUTPUT_MAX);
    for (uint32_t i = 0; i < o.files.count; i++) {
        struct slice file = o.files.list[i], text;
        if (!cli_read_file(file, &a, &text, &e))
            return cli_fail(&e);
        validate_text(slice_eq(file, SLICE("-")) ? "stdin" : file.ptr, text, &a, &sum, &out);
        arena_reset(&a, MIB);
    }
    buf_printf(&out, "%u checked, %u skipped; errors: %u, warnings: %u\n", sum.checked, sum.skipped, sum.errors, sum.warnings);
    if (out.full) {
        err_set(&e, ERR_LIMIT, "more than %d bytes of findings (VALIDATE_OUTPUT_MAX)", VALIDATE_OUTPUT_MAX);
        return cli_fail(&e);
    }
    return cli_print(buf_slice(&out)) && sum.errors == 0 ? STATUS_OK : STATUS_ERROR;
}
