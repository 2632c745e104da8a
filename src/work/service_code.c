/* The code of a service's applications: a working directory and packages that the file names once, for all of them. */
#include <mobula/work.h>

static void write_env(struct jval env, const struct work_code *code, struct jout *w)
{
    struct jval k, v;
    jout_kobject(w, "runtime_env");
    for (struct jiter it = json_iter(env); json_next(&it, &k, &v);) {
        jout_key(w, json_str(k, code->a));
        jout_val(w, v);
    }
    if (code->dir.len && !json_there(json_get(env, "working_dir")))
        jout_kstr(w, "working_dir", code->dir);
    if (json_len(code->pip) && !json_there(json_get(env, "pip")))
        jout_kval(w, "pip", code->pip);
    jout_end(w);
}

void work_applications_write(struct jval list, const struct work_code *code, struct jout *w)
{
    struct jval i, app, k, v;
    jout_karray(w, "applications");
    for (struct jiter each = json_iter(list); json_next(&each, &i, &app);) {
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
