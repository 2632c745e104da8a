#include "submit_flags.h"

static bool is_number(struct jval v)
{
    double n;
    return json_num(v, &n) && n >= 0;
}

static bool is_count(struct jval v)
{
    int64_t n;
    return json_int(v, &n) && n >= 0;
}

static bool is_object(struct jval v)
{
    return json_type(v) == JSON_OBJECT;
}

static bool members(struct jval v, bool (*fits)(struct jval))
{
    struct jval k, x;
    bool well = is_object(v);
    for (struct jiter it = json_iter(v); well && json_next(&it, &k, &x);)
        well = fits(x);
    return well;
}

static bool is_string(struct jval v)
{
    return json_type(v) == JSON_STRING;
}

static bool is_metadata(struct jval v)
{
    return members(v, is_string);
}

static bool is_resources(struct jval v)
{
    return members(v, is_number);
}

/* Ray's own command uploads a folder; here nothing is, and Ray would refuse the path when the job has begun. */
static bool check_paths(struct slice runtime_env, struct arena *a, struct err *e)
{
    struct json doc;
    struct jval k, v;
    if (!runtime_env.ptr || !json_parse(&doc, runtime_env, a, e))
        return e->code == ERR_NONE;
    struct jval modules = json_get(json_root(&doc), "py_modules"), dir = json_get(json_root(&doc), "working_dir");
    bool well = json_type(dir) != JSON_STRING || slice_has(json_str(dir, a), "://");
    if (well && json_type(dir) == JSON_STRING && !ray_package_check(json_str(dir, a), false, e))
        return err_wrap(e, "--runtime-env-json: working_dir");
    for (struct jiter it = json_iter(modules); well && json_type(modules) == JSON_ARRAY && json_next(&it, &k, &v);) {
        dir = v;
        well = json_type(v) != JSON_STRING || slice_has(json_str(v, a), "://");
        if (well && json_type(v) == JSON_STRING && !ray_package_check(json_str(v, a), true, e))
            return err_wrap(e, "--runtime-env-json: py_modules");
    }
    return well ||
           err_set(e, ERR_CONFIG,
                   "--runtime-env-json: \"%.*s\" is a path, and nothing is uploaded from here: give the URI of a .zip that the head can "
                   "reach (https://, s3://, gs://), or leave it out and name files of the image in the entrypoint",
                   SLICE_ARG(json_str(dir, a)));
}

bool submit_values_check(const struct submit_flags *f, struct arena *a, struct err *e)
{
    const struct {
        struct slice text;
        const char *flag, *wants;
        bool (*fits)(struct jval);
    } values[] = {
        {f->runtime_env, "runtime-env-json", "a JSON object", is_object},
        {f->metadata, "metadata-json", "a JSON object of strings", is_metadata},
        {f->num_cpus, "entrypoint-num-cpus", "a number of at least 0", is_number},
        {f->num_gpus, "entrypoint-num-gpus", "a number of at least 0", is_number},
        {f->memory, "entrypoint-memory", "a whole number of bytes", is_count},
        {f->resources, "entrypoint-resources", "a JSON object of numbers", is_resources},
    };
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        struct json doc;
        if (!values[i].text.ptr)
            continue;
        if (!json_parse(&doc, values[i].text, a, e))
            return err_wrap(e, "--%s", values[i].flag);
        if (!values[i].fits(json_root(&doc)))
            return err_set(e, ERR_CONFIG, "--%s: wants %s", values[i].flag, values[i].wants);
    }
    return check_paths(f->runtime_env, a, e);
}
