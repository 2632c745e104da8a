/* A workload as the object that runs it. */
#include "render.h"

#include <mobula/ray.h>

enum { RETRIES = 1, RETRIES_MOST = 1000 };

/* ---- reading ---- */

static bool is_variable(struct slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i], lower = (char)(c | 0x20);
        if (!((lower >= 'a' && lower <= 'z') || c == '_' || (i && c >= '0' && c <= '9')))
            return false;
    }
    return name.len > 0;
}

static void read_env(struct rendering *x, const struct place *at)
{
    struct jval k, v;
    if (!read_text_map(&x->r, at))
        return;
    if (json_len(at->value) > LIMIT_WORK_ENV)
        place_bad(&x->r, at, "has %zu variables: at most %d (LIMIT_WORK_ENV)", json_len(at->value), LIMIT_WORK_ENV);
    for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v);) {
        const struct place *one = place_member(at, json_str(k, x->r.arena), v);
        if (!is_variable(one->key))
            place_bad(&x->r, one, "is no name of a variable: must be letters, digits and underscores, with no digit first");
    }
    x->pods.env = at->value;
}

static void read_tags(struct rendering *x, const struct place *spec, struct jout *w)
{
    const struct place *at = place_key(spec, "tags");
    struct jval k, v;
    if (!read_text_map(&x->r, at))
        return;
    if (json_len(at->value) > LIMIT_WORK_TAGS) {
        place_bad(&x->r, at, "has %zu tags: at most %d (LIMIT_WORK_TAGS)", json_len(at->value), LIMIT_WORK_TAGS);
        return;
    }
    for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v);) {
        const struct place *one = place_member(at, json_str(k, x->r.arena), v);
        struct slice text = json_str(v, x->r.arena);
        if (slice_empty(one->key) || !name_label_value(one->key) || !name_label_value(text)) {
            place_bad(&x->r, one,
                      "is no tag: name and value are at most 63 letters, digits, - _ and ., with a letter or digit at both ends");
            continue;
        }
        jout_kstr(w, arena_printf(x->r.arena, WORK_LABEL_TAG "%.*s", SLICE_ARG(one->key)).ptr, text);
    }
}

static void read_labels(struct rendering *x, const struct place *spec)
{
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    struct jout w;
    jout_init(&w, &text);
    jout_form(&w, "{" WORK_LABEL_MANAGED_BY ":'" WORK_MANAGED_BY "'," WORK_LABEL_UID ":'%.*s'," WORK_LABEL_PROJECT ":'%.*s'",
              SLICE_ARG(x->in->uid), SLICE_ARG(x->in->project));
    read_tags(x, spec, &w);
    jout_end(&w);
    x->labels = arena_dup(x->r.arena, buf_slice(&text));
}

/* A member of `part`, or of the workload itself where `part` has none. */
static const struct place *find_member(const struct rendering *x, const struct place *part, const char *key)
{
    const struct place *own = place_key(part, key);
    return part == x->spec || place_given(own) ? own : place_key(x->spec, key);
}

static void read_config(struct rendering *x, const struct place *part)
{
    const struct place *at = find_member(x, part, "computeConfig"), *name = place_key(at, "name"), *config = place_key(at, "inline"),
                       *cloud = place_key(x->spec, "cloud"), *its = place_key(config, "cloud");
    static const char *const members[] = {"name", "inline", NULL};
    struct slice mine;
    compute_default(&x->config, x->r.arena);
    work_check_members(x, at, members);
    if (!read_object(&x->r, at, OPTIONAL))
        return;
    if (place_given(config))
        compute_read(&x->r, config, x->o->types, &x->config, x->notes);
    else
        place_bad(&x->r, name, "names a compute config that did not come with the workload");
    if (read_text(&x->r, cloud, OPTIONAL, &mine) && !slice_empty(x->config.cloud) && !slice_eq(mine, x->config.cloud))
        place_bad(&x->r, its, "is %.*s, and the workload is for cloud %.*s", SLICE_ARG(x->config.cloud), SLICE_ARG(slice_head(mine, 64)));
}

static void read_pods(struct rendering *x, const struct place *part)
{
    const struct place *image = find_member(x, part, "image"), *secret = find_member(x, part, "imagePullSecret"),
                       *version = find_member(x, part, "rayVersion");
    struct compute_pods *p = &x->pods;
    *p = (struct compute_pods){.image = x->o->image,
                               .ray_version = SLICE(""),
                               .pull_secret = SLICE(""),
                               .env = NO_VALUE,
                               .labels = x->labels,
                               .files = x->files,
                               .tokenless = true};
    read_text(&x->r, image, OPTIONAL, &p->image);
    if (slice_empty(p->image))
        place_bad(&x->r, image, "is missing, and this cloud has no default: name an image of Ray");
    else if (image_reference_bad(p->image))
        place_bad(&x->r, image, "%s", image_reference_bad(p->image));
    if (read_text(&x->r, secret, OPTIONAL, &p->pull_secret) && !name_dns1123_subdomain(p->pull_secret))
        place_bad(&x->r, secret, "is no name of a Secret");
    read_text(&x->r, version, OPTIONAL, &p->ray_version);
    read_env(x, find_member(x, part, "env"));
}

bool work_render_cluster(struct rendering *x, const struct place *part, const struct place *form, struct slice *out)
{
    const struct place *suspend = place_key(form, "suspend");
    struct err e = {0};
    uint32_t before = spec_errors_count(x->r.errors);
    read_config(x, part);
    read_pods(x, part);
    read_flag(&x->r, suspend, &x->pods.suspend);
    if (spec_errors_count(x->r.errors) > before)
        return false;
    if (!compute_render(&x->config, &x->pods, x->r.arena, out, &e))
        place_bad(&x->r, part, "cannot be carried out: %s", e.text);
    return spec_errors_count(x->r.errors) == before;
}

/* ---- a job ---- */

/* The environment that Ray sets up before the program, as JSON in YAML's place. */
static void put_runtime_env(struct rendering *x, const struct place *spec, struct jout *w)
{
    static const struct {
        const char *ours, *ray;
    } lists[] = {{"requirements", "pip"}, {"pyModules", "py_modules"}};
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    const struct place *dir = place_key(spec, "workingDir");
    struct slice url, hash;
    struct jout inner;
    bool any = false;
    jout_init(&inner, &text);
    jout_object(&inner);
    if (read_text(&x->r, dir, OPTIONAL, &url)) {
        any = true;
        if (work_folder_hash(url, &hash))
            url = arena_printf(x->r.arena, "file://" COMPUTE_FILES "/%.*s", SLICE_ARG(work_folder_key(hash, x->r.arena)));
        else if (!slice_has(url, "://"))
            place_bad(&x->r, dir, "is no URL: a folder of your own is packed and stored by the command that submits");
        jout_kstr(&inner, "working_dir", url);
    }
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const struct place *list = place_key(spec, lists[i].ours);
        if (!read_text_list(&x->r, list) || json_len(list->value) == 0)
            continue;
        any = true;
        jout_kval(&inner, lists[i].ray, list->value);
    }
    jout_end(&inner);
    if (any)
        jout_kstr(w, "runtimeEnvYAML", buf_slice(&text));
}

static void put_number(struct rendering *x, const struct place *job, const char *ours, const char *ray, struct jout *w)
{
    const struct place *at = place_key(job, ours);
    double n;
    if (!place_given(at))
        return;
    if (!json_num(at->value, &n) || n < 0)
        place_bad(&x->r, at, "is %.*s: must be a number, 0 or more", SLICE_ARG(slice_head(json_raw(at->value), 40)));
    else
        jout_kval(w, ray, at->value);
}

static void put_job(struct rendering *x, const struct place *job, struct jout *w)
{
    const struct place *entrypoint = place_key(job, "entrypoint"), *retries = place_key(job, "maxRetries"),
                       *timeout = place_key(job, "timeoutSeconds"), *starting = place_key(job, "startingTimeoutSeconds"),
                       *keep = place_key(job, "keepSeconds");
    struct slice text = SLICE("");
    int64_t n = RETRIES, kept = 0;
    struct slice cluster = SLICE("null");
    jout_object(w);
    work_render_cluster(x, x->spec, x->spec, &cluster);
    if (read_text(&x->r, entrypoint, REQUIRED, &text) && slice_empty(slice_trim(text)))
        place_bad(&x->r, entrypoint, "is empty: must be the shell command that the job runs");
    read_int(&x->r, retries, 0, RETRIES_MOST, &n);
    /* The operator submits: there is no further pod. */
    jout_form(w, "entrypoint:'%.*s',submissionMode:'HTTPMode',backoffLimit:%lld", SLICE_ARG(text), (long long)n);
    if (read_int(&x->r, timeout, 1, INT32_MAX, &n))
        jout_kint(w, "activeDeadlineSeconds", n);
    n = x->config.starting_s > 0 ? x->config.starting_s : WORK_STARTING_S;
    read_int(&x->r, starting, 1, INT32_MAX, &n);
    read_int(&x->r, keep, 0, INT32_MAX, &kept);
    jout_form(w, "preRunningDeadlineSeconds:%lld,shutdownAfterJobFinishes:true,ttlSecondsAfterFinished:%lld", (long long)n,
              (long long)kept);
    put_number(x, job, "numCPUs", "entrypointNumCpus", w);
    put_number(x, job, "numGPUs", "entrypointNumGpus", w);
    put_runtime_env(x, x->spec, w);
    jout_kraw(w, "rayClusterSpec", cluster);
    jout_end(w);
}

/* ---- the object ---- */

static void put_cluster(struct rendering *x, const struct place *part, struct jout *w)
{
    struct slice cluster = SLICE("null");
    work_render_cluster(x, x->spec, part, &cluster);
    jout_raw(w, cluster);
}

/* The readers of the kinds have the last word: an object that they would refuse is none. */
static void read_cluster(struct jval made, struct arena *a, struct spec_errors *found)
{
    struct ray_cluster model;
    ray_read(made, a, &model, found);
}

static void read_job(struct jval made, struct arena *a, struct spec_errors *found)
{
    struct ray_job model;
    ray_read_job(made, a, &model, found);
}

/* The kinds of workloads, by the member of the spec that each has. */
static const struct form {
    const char *word, *version, *kind;                                          /* kind NULL: no operator carries it out yet */
    const char *const *members;                                                 /* that it may have; ended by NULL */
    void (*put)(struct rendering *x, const struct place *part, struct jout *w); /* the object's spec */
    void (*read)(struct jval made, struct arena *a, struct spec_errors *found); /* NULL: its operator says in status what is wrong */
} forms[] = {
    [WORK_CLUSTER] = {"cluster", "ray.io/v1", "RayCluster", (const char *const[]){"suspend", NULL}, put_cluster, read_cluster},
    [WORK_JOB] = {"job", "ray.io/v1", "RayJob",
                  (const char *const[]){"entrypoint", "maxRetries", "timeoutSeconds", "startingTimeoutSeconds", "numCPUs", "numGPUs",
                                        "keepSeconds", NULL},
                  put_job, read_job},
    [WORK_SERVICE] = {"service", "mobula.dev/v1", "VersionedService",
                      (const char *const[]){"versions", "hostnames", "auth", "rollout", NULL}, work_put_service, NULL},
    [WORK_WORKSPACE] = {"workspace", NULL, NULL, NULL, NULL, NULL},
};

static void check_object(struct rendering *x, const struct form *form, struct work_made *out)
{
    struct spec_errors *found = arena_new(x->r.arena, struct spec_errors);
    struct err e = {0};
    if (!json_read(&out->made, out->object, x->r.arena, &e)) {
        place_bad(&x->r, x->spec, "cannot be carried out: %s", e.text);
        return;
    }
    if (form->read)
        form->read(out->made, x->r.arena, found);
    for (uint32_t i = 0; i < found->count; i++)
        place_bad(&x->r, x->spec, "makes %.*s: %.*s", SLICE_ARG(found->list[i].path), SLICE_ARG(found->list[i].text));
}

static void make_object(struct rendering *x, const struct place *part, struct work_made *out)
{
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    const struct form *form = &forms[out->kind];
    struct jout w;
    uint32_t before = spec_errors_count(x->r.errors);
    jout_init(&w, &text);
    jout_form(&w,
              "{apiVersion:'%s',kind:'%s',metadata:{name:'%.*s',namespace:'%.*s',labels:%.*s,"
              "annotations:{" WORK_ANNOTATION_GENERATION ":'%lld'," WORK_ANNOTATION_WORKLOAD ":'%.*s/%.*s'}}",
              form->version, form->kind, SLICE_ARG(out->name), SLICE_ARG(x->o->ns), SLICE_ARG(x->labels), (long long)x->in->generation,
              SLICE_ARG(x->in->project), SLICE_ARG(x->in->name));
    jout_key(&w, SLICE("spec"));
    form->put(x, part, &w);
    jout_end(&w);
    if (text.full)
        place_bad(&x->r, x->spec, "makes an object of more than %zu bytes", text.max);
    if (spec_errors_count(x->r.errors) > before)
        return;
    out->object = arena_dup(x->r.arena, buf_slice(&text));
    check_object(x, form, out);
}

void work_check_members(struct rendering *x, const struct place *object, const char *const *known)
{
    struct jval k, v;
    if (json_type(object->value) != JSON_OBJECT)
        return;
    for (struct jiter it = json_iter(object->value); json_next(&it, &k, &v);) {
        const struct place *one = place_member(object, json_str(k, x->r.arena), v);
        const char *const *at = known;
        while (*at && !slice_is(one->key, *at))
            at++;
        if (!*at && value_given(v))
            place_bad(&x->r, one, "is no member that this operator knows: remove it, or upgrade the operator");
    }
}

static void check_spec(struct rendering *x, const struct place *part, const struct form *form)
{
    static const char *const whole[] = {
        "cloud",        "computeConfig", "image",     "imagePullSecret", "rayVersion", "env",     "workingDir", "pyModules",
        "requirements", "tags",          "terminate", "cluster",         "job",        "service", "workspace",  NULL};
    work_check_members(x, x->spec, whole);
    work_check_members(x, part, form->members);
}

/* Which of the four it is. */
static bool read_kind(struct rendering *x, const struct place **part, struct work_made *out)
{
    for (enum work_kind k = WORK_CLUSTER; k <= WORK_WORKSPACE; k++) {
        const struct place *at = place_key(x->spec, forms[k].word);
        if (!place_given(at))
            continue;
        if (out->kind != WORK_NONE)
            place_bad(&x->r, at, "stands beside %s: a workload is one of cluster, job, service and workspace", forms[out->kind].word);
        out->kind = k;
        *part = at;
    }
    if (out->kind == WORK_NONE)
        place_bad(&x->r, x->spec, "has none of cluster, job, service and workspace");
    else if (!forms[out->kind].put)
        place_bad(&x->r, *part, "is not carried out by this operator yet: only clusters, jobs and services are");
    else
        read_object(&x->r, *part, REQUIRED);
    return forms[out->kind].put != NULL;
}

/* A name of its own in a namespace that several projects share. What is too long, and what does not begin with a letter, still has one. */
static struct slice object_name(const struct workload_in *in, const struct work_options *o, struct arena *a)
{
    bool own = slice_eq(in->project, o->ns);
    struct slice name = own ? arena_printf(a, "%.*s%.*s", SLICE_ARG(o->prefix), SLICE_ARG(in->name))
                            : arena_printf(a, "%.*s%.*s-%.*s", SLICE_ARG(o->prefix), SLICE_ARG(in->project), SLICE_ARG(in->name));
    if (name.len && name.ptr[0] >= '0' && name.ptr[0] <= '9')
        name = arena_printf(a, "w-%.*s", SLICE_ARG(name));
    if (name.len <= WORK_NAME_MAX)
        return name;
    char five[NAME_SUFFIX];
    hash_suffix(hash64(in->uid, 0), five);
    name = slice_head(name, WORK_NAME_MAX - 1 - NAME_SUFFIX);
    return arena_printf(a, "%.*s-%.*s", SLICE_ARG(name), NAME_SUFFIX, five);
}

bool work_render(const struct workload_in *in, const struct work_options *o, struct arena *a, struct work_made *out,
                 struct spec_errors *errors, struct spec_errors *notes)
{
    const struct place *root = place_root(NO_VALUE, a), *spec = place_member(root, SLICE("spec"), in->spec), *part = spec;
    struct rendering x = {.r = {.arena = a, .errors = errors}, .in = in, .o = o, .spec = spec, .notes = notes};
    uint32_t before = spec_errors_count(errors);
    *out = (struct work_made){
        .name = object_name(in, o, a), .object = SLICE(""), .made = NO_VALUE, .folder = SLICE(""), .folder_map = SLICE("")};
    if (!read_object(&x.r, spec, REQUIRED))
        return false;
    const struct place *terminate = place_key(spec, "terminate");
    read_flag(&x.r, terminate, &out->terminate);
    bool known = read_kind(&x, &part, out);
    struct slice dir = json_str(json_get(in->spec, "workingDir"), a);
    if (out->kind == WORK_JOB && work_folder_hash(dir, &out->folder))
        out->folder_map = work_folder_map(in->uid, arena_printf(a, "%lld", (long long)in->generation), a);
    if (out->terminate || !known)
        return spec_errors_count(errors) == before;
    x.files = out->folder_map;
    check_spec(&x, part, &forms[out->kind]);
    read_labels(&x, spec);
    make_object(&x, part, out);
    return spec_errors_count(errors) == before;
}
