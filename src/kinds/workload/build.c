/* From a workload's spec to the object that runs it. */
#include "workload.h"

static void refuse(struct workload_model *out, const char *reason, struct slice message)
{
    out->kind = NULL;
    out->reason = reason;
    out->message = message;
}

void workload_build(const struct op *op, const struct cluster *c, struct jval spec, struct arena *a, struct workload_model *out)
{
    (void)op;
    *out = (struct workload_model){.terminate = json_get_bool(spec, "terminate", false)};
    struct jval job = json_key(spec, SLICE("job"));
    struct slice image = json_get_str(spec, "image", a);
    if (json_type(job) != JSON_OBJECT) {
        refuse(out, "KindUnsupported", SLICE("only jobs are run"));
        return;
    }
    out->kind = &kind_rayjob;
    out->name = arena_printf(a, "%s", c->name);
    out->spec = arena_printf(a,
                             "{\"entrypoint\":%.*s,\"rayClusterSpec\":{\"headGroupSpec\":{\"rayStartParams\":{},\"template\":{\"spec\":"
                             "{\"containers\":[{\"name\":\"ray\",\"image\":\"%.*s\"}]}}}}}",
                             SLICE_ARG(json_raw(json_key(job, SLICE("entrypoint")))), SLICE_ARG(image));
}

static void write_members(struct jout *w, struct slice object)
{
    struct slice members = slice_trim(object);
    if (members.len <= 2)
        return;
    struct json doc;
    struct arena a = {0};
    struct err ignored = {0}; /* it was written by us */
    struct jval k, v;
    if (json_parse(&doc, members, &a, &ignored))
        for (struct jiter it = json_iter(json_root(&doc)); json_next(&it, &k, &v);) {
            jout_key(w, json_str(k, &a));
            jout_raw(w, json_raw(v));
        }
    arena_free(&a);
}

bool workload_write(const struct cluster *c, const struct workload_model *m, struct slice uid, struct buf *out)
{
    struct jout w;
    char generation[24];
    snprintf(generation, sizeof generation, "%lld", (long long)c->generation);
    jout_init(&w, out);
    jout_object(&w);
    jout_kstr(&w, "apiVersion", m->kind->api_version);
    jout_kstr(&w, "kind", slice_of(m->kind->name));
    jout_kobject(&w, "metadata");
    jout_kstr(&w, "name", m->name);
    jout_kstr(&w, "namespace", istr_slice(c->ns));
    if (!slice_empty(uid))
        jout_kstr(&w, "uid", uid); /* another object of this name is a conflict */
    jout_kobject(&w, "labels");
    jout_kstr(&w, "app.kubernetes.io/managed-by", SLICE("mobula"));
    jout_kstr(&w, WORKLOAD_LABEL_UID, slice_of(c->uid));
    write_members(&w, m->labels);
    jout_end(&w);
    jout_kobject(&w, "annotations");
    jout_kstr(&w, WORKLOAD_ANNOTATION_GENERATION, slice_of(generation));
    jout_kstr(&w, WORKLOAD_ANNOTATION_PROJECT, istr_slice(c->ns));
    jout_kstr(&w, WORKLOAD_ANNOTATION_NAME, slice_of(c->name));
    write_members(&w, m->annotations);
    jout_end(&w);
    jout_end(&w);
    jout_kraw(&w, "spec", m->spec);
    jout_end(&w);
    return !out->full;
}

int64_t workload_generation(struct jval meta, struct arena *a)
{
    int64_t n = 0;
    struct slice text = json_str(json_key(json_key(meta, SLICE("annotations")), SLICE(WORKLOAD_ANNOTATION_GENERATION)), a);
    return slice_int(text, &n) && n > 0 ? n : 0;
}
