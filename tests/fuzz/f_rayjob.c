/* A whole RayJob: whatever the reader lets through becomes a cluster, a submission and a submitter pod that are well-formed, and the
 * cluster is one that the reader of clusters lets through too. */
#include <mobula/ray.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What Kubernetes makes of an argument: $ of $$. False: something in it would be expanded, or could be. */
static bool expand(struct slice text, struct arena *a, struct slice *out)
{
    char *to = arena_alloc(a, text.len + 1);
    *out = (struct slice){to, 0};
    for (; !slice_empty(text); text = slice_skip(text, 1)) {
        if (text.ptr[0] == '$') {
            text = slice_skip(text, 1);
            if (!slice_starts(text, SLICE("$")))
                return false;
        }
        to[out->len++] = text.ptr[0];
    }
    return true;
}

/* The pod carries what it is watched and found by, runs one thing, never again, and that is the user's entrypoint to the byte. */
static void build_submitter(const struct ray_job *job, struct arena *a)
{
    static const struct ray_options options[] = {
        {.cluster_domain = SLICE("cluster.local")},
        {.cluster_domain = SLICE("cluster.local"), .tools = RAY_TOOLS_IMAGE, .tools_image = SLICE("mobula:1")},
    };
    struct json doc;
    struct err e = {0};
    struct buf b;
    bool ours;
    const struct ray_submitter s = {.name = ray_job_submitter_name(job, 1, 7, a),
                                    .id = ray_job_submission_id(job, 1, a),
                                    .cluster = ray_job_cluster_name(job, 1, a),
                                    .dashboard = SLICE("head.n.svc.cluster.local:8265"),
                                    .secret = ray_auth_secret(job->cluster_spec, SLICE("c"), &ours, a),
                                    .spec = job->cluster_spec};
    buf_init(&b, LIMIT_JSON_ITEM * 2);
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        buf_clear(&b);
        if (!ray_build_submitter_pod(job, &s, &options[i], a, &b, &e)) {
            if (e.code == ERR_NONE || (ray_submitter_fits(job, NULL) && !b.full))
                abort();
            continue;
        }
        if (!json_parse(&doc, buf_slice(&b), a, NULL))
            abort();
        struct jval root = json_root(&doc), container = json_at(json_get(root, "spec.containers"), 0);
        if (!json_str_eq(json_get(root, "metadata.name"), s.name) || !name_dns1123_label(s.name) ||
            !json_str_eq(json_key(json_get(root, "metadata.labels"), SLICE(RAY_LABEL_CLUSTER)), s.cluster) ||
            !json_str_eq(json_get(root, "spec.restartPolicy"), SLICE("Never")) ||
            json_len(json_get(root, "metadata.ownerReferences")) != 1 || json_type(json_key(container, SLICE("env"))) != JSON_ARRAY)
            abort();
        struct jval command = json_key(container, SLICE("command"));
        struct slice entrypoint;
        if (!job->own_submitter &&
            (!expand(json_str(json_at(command, json_len(command) - 1), a), a, &entrypoint) || !slice_eq(entrypoint, job->entrypoint)))
            abort();
    }
    buf_free(&b);
}

static void build_job(const struct ray_job *job, struct arena *a)
{
    static struct spec_errors errors;
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
    build_submitter(job, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct spec_errors errors;
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
