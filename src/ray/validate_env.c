/* Errors for which Ray itself refuses a runtime environment, minutes later, when a cluster has been made for it. */
#include "build.h"

static const char *const schemes[] = {"http", "https", "s3", "gs", "azure", "abfss", "file", "gcs", "local"};
enum { REMOTE = 7 }; /* the first so many of schemes[] are downloaded, and unpacked by file ending */

bool ray_package_check(struct slice uri, bool module, struct err *e)
{
    static const char *const endings[] = {".whl", ".zip", ".tar.gz", ".tgz",
                                          ".tar.xz"}; /* of all Ray versions together; .whl for py_modules only */
    struct slice rest = uri, scheme = slice_cut(&rest, ':'), path = rest;
    size_t known = 0;
    while (known < COUNT_OF(schemes) && !slice_eq_nocase(scheme, slice_of(schemes[known])))
        known++;
    if (known == COUNT_OF(schemes))
        return err_set(e, ERR_CONFIG,
                       "\"%.*s\" is of a scheme that Ray does not take: http, https, s3, gs, azure, abfss, file, gcs or local",
                       SLICE_ARG(slice_head(uri, 128)));
    path = slice_cut(&path, '#');
    path = slice_cut(&path, '?');
    bool archive = false;
    for (size_t i = !module; i < COUNT_OF(endings); i++)
        archive |= slice_ends(path, slice_of(endings[i]));
    if (known < REMOTE && !archive)
        return err_set(e, ERR_CONFIG, "\"%.*s\" does not end with %s.zip, .tar.gz, .tgz or .tar.xz: Ray unpacks nothing else",
                       SLICE_ARG(slice_head(uri, 128)), module ? ".whl, " : "");
    if (slice_eq_nocase(scheme, SLICE("local")) && (!slice_starts(path, SLICE("///")) || archive))
        return err_set(e, ERR_CONFIG, "\"%.*s\" must be the absolute path of a folder in the image: local:///app",
                       SLICE_ARG(slice_head(uri, 128)));
    return true;
}

/* Checks a URI of working_dir or py_modules. Texts without a scheme are not checked here. */
static void check_package(struct reader *r, const struct place *at, const char *field, struct jval v)
{
    struct slice text = json_str(v, r->arena);
    struct err e = {0};
    if (json_type(v) != JSON_STRING)
        place_bad(r, at, "%s is %s: must be a string", field, value_type_name(json_type(v)));
    else if (slice_has(text, "://") && !ray_package_check(text, *field == 'p', &e))
        place_bad(r, at, "%s: %s", field, e.text);
}

/* Ray takes only one of pip, uv and conda. */
static void check_installers(struct reader *r, const struct place *at, struct jval doc)
{
    static const char *const names[] = {"pip", "uv", "conda"};
    const char *first = NULL;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (!value_given(json_get(doc, names[i])))
            continue;
        if (first)
            place_bad(r, at, "has %s and %s: Ray takes one of them", first, names[i]);
        first = names[i];
    }
}

void check_runtime_env(struct reader *r, const struct place *at, struct slice json)
{
    struct jval doc;
    struct jval k, v;
    if (!json_read(&doc, json, r->arena, NULL))
        return; /* the error text comes from the submission */
    struct jval variables = json_get(doc, "env_vars"), folder = json_get(doc, "working_dir"), modules = json_get(doc, "py_modules");
    if (value_given(variables) && json_type(variables) != JSON_OBJECT)
        place_bad(r, at, "env_vars is %s: must be names with texts", value_type_name(json_type(variables)));
    if (value_given(folder))
        check_package(r, at, "working_dir", folder);
    if (value_given(modules) && json_type(modules) != JSON_ARRAY)
        place_bad(r, at, "py_modules is %s: must be a list of strings", value_type_name(json_type(modules)));
    for (struct jiter it = json_iter(modules); json_type(modules) == JSON_ARRAY && json_next(&it, &k, &v);)
        check_package(r, at, "py_modules", v);
    check_installers(r, at, doc);
    for (struct jiter it = json_iter(variables); json_type(variables) == JSON_OBJECT && json_next(&it, &k, &v);) {
        struct slice name = json_str(k, r->arena);
        if (json_type(v) != JSON_STRING)
            place_bad(r, at, "env_vars.%.*s is %s: Ray takes strings alone, put it in quotes", SLICE_ARG(slice_head(name, 128)),
                      value_type_name(json_type(v)));
    }
}
