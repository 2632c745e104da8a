/* The code of a service's applications: a working directory and packages that the file names once, for all of them. */
#include <mobula/work.h>

/* Ray takes packages from one of them only. */
static bool has_packages(struct jval env)
{
    static const char *const from[] = {"pip", "uv", "conda"};
    for (size_t i = 0; i < COUNT_OF(from); i++)
        if (json_type(json_get(env, from[i])) > JSON_NULL)
            return true;
    return false;
}

static void write_env(struct jval env, const struct work_code *code, struct jout *w)
{
    struct jval k, v;
    bool dir = code->dir.len && json_type(json_get(env, "working_dir")) <= JSON_NULL, pip = json_len(code->pip) && !has_packages(env);
    jout_kobject(w, "runtime_env");
    for (struct jiter it = json_iter(env); json_next(&it, &k, &v);) {
        if ((dir && json_is(k, "working_dir")) || (pip && json_is(k, "pip")))
            continue; /* null */
        jout_key(w, json_str(k, code->a));
        jout_val(w, v);
    }
    if (dir)
        jout_kstr(w, "working_dir", code->dir);
    if (pip)
        jout_kval(w, "pip", code->pip);
    jout_end(w);
}

/* Other elements are copied, and refused where all applications are checked. */
static bool is_application(struct jval app)
{
    enum json_type env = json_type(json_get(app, "runtime_env"));
    return json_type(app) == JSON_OBJECT && (env <= JSON_NULL || env == JSON_OBJECT);
}

void work_applications_write(struct jval list, const struct work_code *code, struct jout *w)
{
    struct jval i, app, k, v;
    if (json_type(list) != JSON_ARRAY) {
        jout_kval(w, "applications", list);
        return;
    }
    jout_karray(w, "applications");
    for (struct jiter each = json_iter(list); json_next(&each, &i, &app);) {
        if (!is_application(app)) {
            jout_val(w, app);
            continue;
        }
        jout_object(w);
        for (struct jiter it = json_iter(app); json_next(&it, &k, &v);)
            if (!json_is(k, "runtime_env")) {
                jout_key(w, json_str(k, code->a));
                jout_val(w, v);
            }
        write_env(json_get(app, "runtime_env"), code, w);
        jout_end(w);
    }
    jout_end(w);
}
