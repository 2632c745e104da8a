#include <mobula/release.h>
#include <mobula/yaml.h>

#include <stdio.h>

const struct install_raw install_raw[INSTALL_RAW] = {
    {"tolerations", true, false},    {"affinity", false, false}, {"topologySpreadConstraints", true, false},
    {"podAnnotations", false, true}, {"podLabels", false, true}, {"serviceAnnotations", false, true},
    {"extraEnv", true, false},
};

/* Values of the chart that the vendor's documents install. airgap/make-chart reads the rows, too. */
enum old_meaning { OLD_RENAMED, OLD_UNUSED, OLD_REFUSED };
static const struct {
    const char *key;
    enum old_meaning meaning;
    const char *text; /* OLD_RENAMED: the value to set; else why it has no effect, or is refused */
} old_values[] = {
    {"workloadServiceAccountName", OLD_RENAMED, "workloadServiceAccount"},
    {"region", OLD_UNUSED, "the region of a cloud is set by mobula cloud register --region"},
    {"operatorIamIdentity", OLD_UNUSED, "the operator shows the token of controlPlaneToken, or one of its service account"},
    {"anyscaleCliToken", OLD_REFUSED, "it would be readable in the release: store it in a Secret, and name that in controlPlaneToken"},
};

struct reading {
    const struct flags *flags;
    struct install_options *o;
    struct arena *a;
    struct buf limits; /* cpu and memory, as --resources has them */
};

/* The key of a value in the form of flag names: "pull-secrets" for "pullSecrets". */
static struct slice flag_name(struct slice key, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, KIB);
    for (size_t i = 0; i < key.len; i++) {
        bool upper = key.ptr[i] >= 'A' && key.ptr[i] <= 'Z';
        buf_printf(&out, "%s%c", upper ? "-" : "", upper ? key.ptr[i] - 'A' + 'a' : key.ptr[i]);
    }
    return arena_dup(a, buf_slice(&out));
}

static struct slice text_of(struct jval v, struct arena *a)
{
    return json_type(v) == JSON_STRING ? json_str(v, a) : json_raw(v);
}

/* The value as text of a flag: list entries joined by commas, members of objects as K=V. False: it has a list or object inside. */
static bool flag_text(struct jval v, struct arena *a, struct slice *out)
{
    struct jval key, one;
    bool flat = true;
    __attribute__((cleanup(buf_free))) struct buf text;
    buf_init(&text, LIMIT_JSON_ITEM);
    *out = text_of(v, a);
    if (json_type(v) != JSON_ARRAY && json_type(v) != JSON_OBJECT)
        return true;
    for (struct jiter it = json_iter(v); json_next(&it, &key, &one);) {
        if (json_type(one) == JSON_NULL) /* the default, as Helm has it */
            continue;
        flat &= json_type(one) != JSON_ARRAY && json_type(one) != JSON_OBJECT;
        buf_printf(&text, "%s%.*s%s%.*s", text.len ? "," : "", SLICE_ARG(json_str(key, a)), json_there(key) ? "=" : "",
                   SLICE_ARG(text_of(one, a)));
    }
    *out = arena_dup(a, buf_slice(&text));
    return flat;
}

static bool set_raw(struct reading *r, size_t n, struct jval v, struct err *e)
{
    const struct install_raw *raw = &install_raw[n];
    struct jval key, one;
    if (json_type(v) != (raw->list ? JSON_ARRAY : JSON_OBJECT))
        return err_set(e, ERR_CONFIG, "must be %s", raw->list ? "a list" : "an object");
    for (struct jiter it = json_iter(v); json_next(&it, &key, &one);)
        if (raw->texts && json_type(one) != JSON_STRING)
            return err_set(e, ERR_CONFIG, "%.*s: must be a string: put it in quotes", SLICE_ARG(json_str(key, r->a)));
        else if (raw->list && json_type(one) != JSON_OBJECT)
            return err_set(e, ERR_CONFIG, "must be a list of objects");
    r->o->place.raw[n] = json_len(v) ? json_raw(v) : SLICE_NONE;
    return true;
}

static bool set_flag(struct reading *r, struct slice key, struct jval v, struct err *e)
{
    struct slice name = flag_name(key, r->a), value, less = slice_head(name, name.len - slice_ends(name, SLICE("s"))),
                 no = arena_printf(r->a, "no-%.*s", SLICE_ARG(name));
    bool negated = !flags_has(r->flags, name) && flags_has(r->flags, no), help;
    if (!flag_text(v, r->a, &value))
        return err_set(e, ERR_CONFIG, "must be a text, or a list of texts");
    if (negated && json_type(v) != JSON_BOOL)
        return err_set(e, ERR_CONFIG, "must be true or false");
    if (negated)
        value = json_bool(v, true) ? SLICE("false") : SLICE("true");
    else if (slice_empty(value))
        return true; /* the default */
    name = negated ? no : flags_has(r->flags, name) ? name : less;
    size_t size = name.len + value.len + sizeof "--=";
    char program[] = "mobula", *arg = arena_array(r->a, size, 1), *argv[] = {program, arg}; /* the options point into arg */
    snprintf(arg, size, "--%.*s=%.*s", SLICE_ARG(name), SLICE_ARG(value));
    return flags_read(r->flags, 2, argv, r->o, &help, e);
}

/* Replaces an old name by the new one. False: *used says that nothing is left to do, else *e is set. */
static bool set_old(struct slice *key, bool *used, struct err *e)
{
    *used = false;
    for (size_t i = 0; i < COUNT_OF(old_values); i++) {
        if (!slice_is(*key, old_values[i].key))
            continue;
        *used = old_values[i].meaning == OLD_UNUSED;
        if (old_values[i].meaning == OLD_REFUSED)
            return err_set(e, ERR_CONFIG, "%s", old_values[i].text);
        if (*used)
            fprintf(stderr, "value %s has no effect: %s\n", old_values[i].key, old_values[i].text);
        else
            *key = slice_of(old_values[i].text);
        return !*used;
    }
    return true;
}

static bool set(struct reading *r, struct slice key, struct jval v, struct err *e)
{
    bool used;
    if (!set_old(&key, &used, e))
        return used;
    if (json_type(v) == JSON_NULL || slice_is(key, "enabled") || slice_is(key, "global")) /* enabled and global are Helm's */
        return true;
    for (size_t n = 0; n < INSTALL_RAW; n++)
        if (slice_is(key, install_raw[n].key))
            return set_raw(r, n, v, e);
    if (!slice_is(key, "cpu") && !slice_is(key, "memory"))
        return set_flag(r, key, v, e);
    buf_printf(&r->limits, "%s%.*s=%.*s", r->limits.len ? "," : "", SLICE_ARG(key), SLICE_ARG(text_of(v, r->a)));
    r->o->resources = arena_dup(r->a, buf_slice(&r->limits));
    return true;
}

bool values_read(const struct flags *f, struct slice file, struct install_options *o, struct arena *a, struct err *e)
{
    struct reading r = {.flags = f, .o = o, .a = a};
    struct slice text;
    struct yaml_docs docs;
    struct jval root, key, v;
    bool well = true;
    if (!cli_read_file(file, a, &text, e))
        return false;
    if (!yaml_parse(text, a, &docs, e) || docs.count != 1 || !json_read(&root, docs.docs[0].json, a, e) || json_type(root) != JSON_OBJECT)
        return err_set(e, ERR_CONFIG, "is not an object of values") || err_wrap(e, "%.*s", SLICE_ARG(file));
    buf_init(&r.limits, KIB);
    for (struct jiter it = json_iter(root); well && json_next(&it, &key, &v);)
        well = set(&r, json_str(key, a), v, e) || err_wrap(e, "%.*s:%u: %.*s", SLICE_ARG(file),
                                                           (unsigned)yaml_line(&docs.docs[0], json_offset(v)), SLICE_ARG(json_str(key, a)));
    buf_free(&r.limits);
    return well;
}
