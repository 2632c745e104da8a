/* A service of a control plane as people have it: the file of `mobula service deploy`, which becomes a version of the Workload, and how far
 * the rollout of a Workload is. */
#include <mobula/work.h>

#define AT(field) offsetof(struct work_service_file, field)
/* Members of the file, and those of a version that they become. spec NULL: of struct work_service_file; empty: read by the caller. */
static const struct {
    const char *file, *spec;
    size_t at; /* in struct work_service_file */
} members[] = {{"applications", "applications", 0},
               {"image_uri", "image", 0},
               {"ray_version", "rayVersion", 0},
               {"registry_login_secret", "imagePullSecret", 0},
               {"env_vars", "env", 0},
               {"name", NULL, AT(name)},
               {"cloud", NULL, AT(cloud)},
               {"version_name", NULL, AT(version)},
               {"compute_config", NULL, AT(config)},
               {"working_dir", NULL, AT(dir)},
               {"requirements", NULL, AT(requirements)},
               {"excludes", "", 0},
               {"query_auth_token_enabled", NULL, AT(token)}};

static bool are_texts(struct jval list)
{
    struct jval k, v;
    for (struct jiter it = json_iter(list); json_next(&it, &k, &v);)
        if (json_type(v) != JSON_STRING)
            return false;
    return json_type(list) == JSON_ARRAY;
}

/* Wrong types in these would leave out code, or store files that were to be left out. */
static bool check_code(struct jval file, const char *path, struct err *e)
{
    struct jval dir = json_get(file, "working_dir"), excludes = json_get(file, "excludes"), needs = json_get(file, "requirements");
    if (json_there(dir) && json_type(dir) != JSON_STRING)
        return err_set(e, ERR_CONFIG, "%s: working_dir is no text: want a folder or the URL of a zip file", path);
    if (json_there(excludes) && !are_texts(excludes))
        return err_set(e, ERR_CONFIG, "%s: excludes is no list of texts: want [\"PATTERN\", …]", path);
    if (json_there(needs) && json_type(needs) != JSON_STRING && !are_texts(needs))
        return err_set(e, ERR_CONFIG, "%s: requirements is neither the name of a file nor a list of packages", path);
    return true;
}

bool work_service_file_read(struct jval file, const char *path, struct arena *a, struct work_service_file *out, struct err *e)
{
    struct jval k, v;
    *out = (struct work_service_file){.token = false};
    for (struct jiter it = json_iter(file); json_next(&it, &k, &v);) {
        size_t i = 0;
        while (i < COUNT_OF(members) && !json_is(k, members[i].file))
            i++;
        if (i == COUNT_OF(members))
            return err_set(e, ERR_CONFIG, "%s: \"%.*s\" is no field that a service can have here: remove it", path,
                           SLICE_ARG(arena_clean(a, json_str(k, a), 64)));
        if (members[i].at == AT(token))
            out->token = json_bool(v, false);
        else if (!members[i].spec)
            *(struct slice *)(void *)((char *)out + members[i].at) = json_str(v, a);
    }
    return check_code(file, path, e);
}

void work_service_version_write(struct jval file, struct slice image, struct jval config, const struct work_code *code, struct jout *w)
{
    bool coded = code && (code->dir.len || json_len(code->pip));
    if (coded)
        work_applications_write(json_get(file, "applications"), code, w);
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        const char *spec = members[i].spec;
        bool elsewhere = spec && ((strcmp(spec, "image") == 0 && image.len) || (strcmp(spec, "applications") == 0 && coded));
        if (spec && spec[0] && !elsewhere)
            jout_kval(w, spec, json_get(file, members[i].file));
    }
    jout_form(w, "image?:'%.*s'", SLICE_ARG(image));
    if (json_there(config)) {
        jout_kobject(w, "computeConfig");
        jout_kval(w, "inline", config);
        jout_end(w);
    }
}

/* Whether the reason means that the new generation is not in force yet, while the former one may serve. */
static bool is_pending(struct slice reason)
{
    static const char *const words[] = {WORK_PROGRESSING, "RollingBack", "QuotaExceeded", "RateLimited", "Frozen", "ApplyRefused"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (slice_is(reason, words[i]))
            return true;
    return false;
}

enum work_rollout work_rollout(struct jval workload, struct slice state, bool ended, struct slice reason)
{
    bool now = json_get_int(workload, "status.observedGeneration", -1) == json_get_int(workload, "metadata.generation", 0);
    if (now && (ended || slice_is(reason, "RolledBack") || slice_is(reason, "InvalidSpec")))
        return WORK_ROLLOUT_FAILED;
    return now && slice_is(state, "RUNNING") && !is_pending(reason) ? WORK_ROLLOUT_OVER : WORK_ROLLOUT_GOES_ON;
}
