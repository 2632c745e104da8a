/* A whole RayJob: whatever the reader lets through becomes a cluster and a submission that are well-formed, and the cluster is one that the
 * reader of clusters lets through too. */
#include <mobula/ray.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void build_job(const struct ray_job *job, struct arena *a)
{
    static struct ray_errors errors;
    struct json doc;
    struct buf b;
    struct slice name = ray_job_cluster_name(job, 1, a);
    buf_init(&b, LIMIT_JSON_ITEM * 2);
    if (!name_dns1035_label(name))
        abort();
    if (ray_build_submission(job, ray_job_submission_id(job, 1, a), &b)) {
        if (!json_parse(&doc, buf_slice(&b), a, NULL) || json_type(json_get(json_root(&doc), "entrypoint")) != JSON_STRING)
            abort();
    }
    buf_clear(&b);
    if (slice_empty(job->selected)) {
        struct ray_cluster c;
        errors.count = errors.beyond = 0;
        if (!ray_build_job_cluster(job, name, &b, a) || !json_parse(&doc, buf_slice(&b), a, NULL))
            abort();
        if (!ray_read(json_root(&doc), a, &c, &errors))
            abort();
    }
    buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ray_errors errors;
    struct arena a = {0};
    struct json doc;
    struct ray_job job;
    if (json_parse(&doc, (struct slice){(const char *)data, size}, &a, NULL)) {
        errors.count = errors.beyond = 0;
        bool ok = ray_read_job(json_root(&doc), &a, &job, &errors);
        if (ok != (errors.count == 0))
            abort();
        for (uint32_t i = 0; i < errors.count; i++)
            if (errors.list[i].offset > doc.text.len || slice_empty(errors.list[i].text))
                abort();
        if (ok)
            build_job(&job, &a);
        errors.count = errors.beyond = 0;
        ray_job_notes(json_root(&doc), &a, &errors);
    }
    arena_free(&a);
    return 0;
}
