#include "config.h"

#include <unistd.h>

#include <mobula/yaml.h>

#include <stdio.h>

/* One file of the list, as JSON. */
struct file {
    const char *path;
    struct slice dir; /* the folder that relative paths in it start from */
    struct json doc;
};

struct files {
    struct file list[LIMIT_KUBE_CONFIG_FILES];
    uint32_t count;
    struct arena scratch; /* holds keys: its documents are wiped */
};

/* An entry of clusters, users or contexts, and the file that it stands in. */
struct entry {
    struct jval value;
    const struct file *file;
};

static struct slice dir_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return SLICE(".");
    return slash == path ? SLICE("/") : (struct slice){path, (size_t)(slash - path)};
}

/* Nothing that stands in a kubeconfig is quoted: what YAML takes for something else than a string may be a password. */
static bool unquoted(struct err *e)
{
    char *quote = strstr(e->text, " \"");
    if (quote)
        snprintf(quote, sizeof e->text - (size_t)(quote - e->text), " \"…\"");
    return false;
}

static bool index_file(struct files *fs, struct file *f, struct slice text, struct err *e)
{
    struct yaml_docs docs;
    if (!yaml_parse(text, &fs->scratch, &docs, e))
        return unquoted(e);
    if (docs.count == 0) /* empty, or comments alone: as if it did not exist */
        return err_set(e, ERR_MISSING, "holds no document: a kubeconfig is one");
    if (docs.count != 1)
        return err_set(e, ERR_CONFIG, "holds %u documents: a kubeconfig is one", docs.count);
    return json_parse(&f->doc, docs.docs[0].json, &fs->scratch, e);
}

static bool read_one(struct files *fs, const char *path, bool must, struct err *e)
{
    struct buf text;
    struct err why = {0};
    buf_init(&text, LIMIT_YAML_INPUT + 1);
    bool ok = kube_file_read(path, &text, &why);
    if (ok) {
        struct file *f = &fs->list[fs->count];
        *f = (struct file){.path = path, .dir = dir_of(path)};
        ok = index_file(fs, f, buf_slice(&text), &why);
        fs->count += ok;
        if (!ok)
            err_wrap(&why, "%s", path);
    }
    ok |= why.code == ERR_MISSING && !must;
    buf_wipe(&text);
    return ok || err_set(e, why.code, "%s", why.text);
}

static bool read_list(struct files *fs, struct slice paths, bool must, struct arena *a, struct err *e)
{
    struct slice rest = paths;
    while (rest.ptr) {
        struct slice path = must ? rest : slice_cut(&rest, ':');
        if (must)
            rest = SLICE_NONE;
        if (slice_empty(path))
            continue;
        if (fs->count == LIMIT_KUBE_CONFIG_FILES)
            return err_set(e, ERR_LIMIT, "KUBECONFIG lists more than %d files (LIMIT_KUBE_CONFIG_FILES)", LIMIT_KUBE_CONFIG_FILES);
        if (!read_one(fs, arena_dup(a, path).ptr, must, e))
            return false;
    }
    return fs->count > 0 || err_set(e, ERR_CONFIG, "none of the files in KUBECONFIG=%.*s exists and holds anything", SLICE_ARG(paths));
}

static bool find_entry(const struct files *fs, const char *section, const char *member, struct slice name, struct entry *out)
{
    for (uint32_t i = 0; i < fs->count; i++) {
        struct jval none, x;
        for (struct jiter it = json_iter(json_get(json_root(&fs->list[i].doc), section)); json_next(&it, &none, &x);) {
            if (!json_str_eq(json_get(x, "name"), name))
                continue;
            *out = (struct entry){.value = json_get(x, member), .file = &fs->list[i]};
            return true;
        }
    }
    return false;
}

/* A string, copied; absent and empty are the same to a kubeconfig. */
static struct slice text_of(const struct entry *from, const char *key, struct arena *a)
{
    struct arena scratch = {0};
    struct slice s = json_get_str(from->value, key, &scratch);
    s = slice_empty(s) ? SLICE_NONE : arena_dup(a, s);
    arena_free(&scratch);
    return s;
}

static const char *path_of(const struct entry *from, const char *key, struct arena *a)
{
    struct slice path = text_of(from, key, a);
    if (slice_empty(path) || path.ptr[0] == '/')
        return path.ptr;
    return arena_printf(a, "%.*s/%.*s", SLICE_ARG(from->file->dir), SLICE_ARG(path)).ptr;
}

/* "password: 12345" is a number to YAML. Taken for absent it would make an anonymous user of a known one. */
static bool check_strings(const struct entry *from, struct err *e)
{
    static const char *const strings[] = {
        "server",
        "certificate-authority",
        "certificate-authority-data",
        "tls-server-name",
        "proxy-url",
        "client-certificate",
        "client-certificate-data",
        "client-key",
        "client-key-data",
        "token",
        "tokenFile",
        "username",
        "password",
        "as",
        "as-uid",
        "cluster",
        "user",
        "namespace",
        "command",
        "apiVersion",
    };
    for (size_t i = 0; i < COUNT_OF(strings); i++) {
        enum json_type type = json_type(json_child(from->value, strings[i]));
        if (type != JSON_NONE && type != JSON_NULL && type != JSON_STRING)
            return err_set(e, ERR_CONFIG, "%s must be a string: put quotes around it", strings[i]);
    }
    return true;
}

/* The same of what stands in a list. */
static bool check_items(struct jval list, const char *what, struct err *e)
{
    struct jval none, x;
    for (struct jiter it = json_iter(list); json_next(&it, &none, &x);)
        if (json_type(x) != JSON_STRING)
            return err_set(e, ERR_CONFIG, "%s must be strings: put quotes around each", what);
    return true;
}

/* certificate-authority and certificate-authority-data, and so on. */
static bool secret_of(const struct entry *from, const char *key, struct arena *a, struct kube_secret *out, struct err *e)
{
    char data_key[64];
    snprintf(data_key, sizeof data_key, "%s-data", key);
    struct slice encoded = text_of(from, data_key, a);
    out->path = path_of(from, key, a);
    if (slice_empty(encoded))
        return true;
    struct buf plain;
    buf_init(&plain, LIMIT_TLS_PEM);
    buf_room(&plain, encoded.len);
    bool ok = base64_decode(encoded, &plain, e) || err_wrap(e, "%s", data_key);
    out->data = ok ? arena_dup(a, buf_slice(&plain)) : SLICE_NONE;
    out->path = NULL;
    buf_wipe(&plain);
    kube_slice_wipe(encoded);
    return ok;
}

static bool read_cluster(const struct entry *from, struct arena *a, struct kube_settings *out, struct err *e)
{
    if (!check_strings(from, e))
        return false;
    out->server = text_of(from, "server", a);
    out->tls_name = text_of(from, "tls-server-name", a);
    out->proxy_url = text_of(from, "proxy-url", a);
    out->insecure = json_get_bool(from->value, "insecure-skip-tls-verify", false);
    if (slice_empty(out->server))
        return err_set(e, ERR_CONFIG, "the cluster has no server");
    if (!secret_of(from, "certificate-authority", a, &out->ca, e))
        return false;
    if (out->insecure && (out->ca.data.ptr || out->ca.path))
        return err_set(e, ERR_CONFIG, "the cluster has a certificate-authority and insecure-skip-tls-verify: want one of them");
    return true;
}

/* as-user-extra: {key: [values]} becomes one header per value. */
static bool read_extra(struct jval extra, struct arena *a, struct kube_settings *out, struct err *e)
{
    out->as_extra = arena_array(a, LIMIT_KUBE_IMPERSONATE, sizeof *out->as_extra);
    struct jval key, values, none, value;
    for (struct jiter it = json_iter(extra); json_next(&it, &key, &values);) {
        if (!check_items(values, "the values of as-user-extra", e))
            return false;
        struct buf name;
        buf_init(&name, KIB);
        buf_put(&name, SLICE("Impersonate-Extra-"));
        http_percent_encode(json_str(key, a), &name);
        struct slice header = arena_dup(a, buf_slice(&name));
        buf_free(&name);
        for (struct jiter each = json_iter(values); json_next(&each, &none, &value);) {
            if (out->as_extra_count == LIMIT_KUBE_IMPERSONATE)
                return err_set(e, ERR_LIMIT, "as-user-extra has more than %d values (LIMIT_KUBE_IMPERSONATE)", LIMIT_KUBE_IMPERSONATE);
            out->as_extra[out->as_extra_count++] = (struct http_header){header, arena_dup(a, json_str(value, a))};
        }
    }
    return true;
}

/* These become headers. */
static bool check_header_values(const struct kube_settings *s, struct err *e)
{
    struct slice values[2 + 2 * LIMIT_KUBE_IMPERSONATE] = {s->as, s->as_uid};
    size_t n = 2;
    for (uint32_t i = 0; i < s->as_group_count; i++)
        values[n++] = s->as_groups[i];
    for (uint32_t i = 0; i < s->as_extra_count; i++)
        values[n++] = s->as_extra[i].value;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < values[i].len; k++)
            if ((unsigned char)values[i].ptr[k] < ' ' || values[i].ptr[k] == 0x7f)
                return err_set(e, ERR_CONFIG, "a name to impersonate holds control characters");
    return true;
}

static bool read_impersonation(const struct entry *from, struct arena *a, struct kube_settings *out, struct err *e)
{
    out->as = text_of(from, "as", a);
    out->as_uid = text_of(from, "as-uid", a);
    struct jval groups = json_get(from->value, "as-groups"), none, group;
    if (json_len(groups) > LIMIT_KUBE_IMPERSONATE)
        return err_set(e, ERR_LIMIT, "as-groups has more than %d entries (LIMIT_KUBE_IMPERSONATE)", LIMIT_KUBE_IMPERSONATE);
    if (!check_items(groups, "as-groups", e))
        return false;
    out->as_groups = arena_array(a, json_len(groups), sizeof *out->as_groups);
    for (struct jiter it = json_iter(groups); json_next(&it, &none, &group);)
        out->as_groups[out->as_group_count++] = arena_dup(a, json_str(group, a));
    if (!read_extra(json_get(from->value, "as-user-extra"), a, out, e))
        return false;
    if (slice_empty(out->as) && (!slice_empty(out->as_uid) || out->as_group_count || out->as_extra_count))
        return err_set(e, ERR_CONFIG, "as-uid, as-groups and as-user-extra need \"as\" beside them");
    return check_header_values(out, e);
}

static const char *command_of(const struct entry *exec, struct arena *a)
{
    struct slice command = text_of(exec, "command", a);
    bool bare = slice_find(command, '/') < 0; /* looked up in PATH */
    return bare ? command.ptr : path_of(exec, "command", a);
}

static bool read_exec(const struct entry *exec, struct arena *a, struct kube_exec *out, struct err *e)
{
    if (!check_strings(exec, e))
        return false;
    struct jval args = json_get(exec->value, "args"), env = json_get(exec->value, "env"), none, x;
    const char *command = command_of(exec, a);
    if (!command)
        return err_set(e, ERR_CONFIG, "the exec plugin has no command");
    struct slice mode = text_of(exec, "interactiveMode", a);
    if (!slice_empty(mode) && !slice_is(mode, "Never") && !slice_is(mode, "IfAvailable") && !slice_is(mode, "Always"))
        return err_set(e, ERR_CONFIG, "the exec plugin %s: interactiveMode must be Never, IfAvailable or Always", command);
    out->always = slice_is(mode, "Always");
    out->interactive = !slice_is(mode, "Never") && isatty(STDIN_FILENO);
    if (out->always && !out->interactive)
        return err_set(e, ERR_CONFIG,
                       "the exec plugin %s wants to read from the terminal (interactiveMode: Always), and standard input is none: run the "
                       "command in a terminal, or use a token or a client certificate",
                       command);
    out->hint = text_of(exec, "installHint", a);
    if (json_len(args) > LIMIT_KUBE_EXEC_ARGS || json_len(env) > LIMIT_KUBE_EXEC_ARGS)
        return err_set(e, ERR_LIMIT, "the exec plugin has more than %d arguments or variables", LIMIT_KUBE_EXEC_ARGS);
    if (!check_items(args, "args of the exec plugin", e))
        return false;
    for (struct jiter it = json_iter(env); json_next(&it, &none, &x);)
        if (!check_items(x, "names and values of the exec plugin's env", e))
            return false;
    out->api_version = text_of(exec, "apiVersion", a);
    out->argv = arena_array(a, json_len(args) + 2, sizeof *out->argv);
    out->env = arena_array(a, json_len(env) + 1, sizeof *out->env);
    uint32_t n = 0;
    out->argv[n++] = command;
    for (struct jiter it = json_iter(args); json_next(&it, &none, &x);)
        out->argv[n++] = arena_dup(a, json_str(x, a)).ptr;
    n = 0;
    for (struct jiter it = json_iter(env); json_next(&it, &none, &x);) {
        struct slice name = json_get_str(x, "name", a), value = json_get_str(x, "value", a);
        out->env[n++] = arena_printf(a, "%.*s=%.*s", SLICE_ARG(name), SLICE_ARG(value)).ptr;
    }
    return true;
}

static bool read_user(const struct entry *from, bool allow_exec, struct arena *a, struct kube_settings *out, struct err *e)
{
    if (json_there(json_get(from->value, "auth-provider")))
        return err_set(e, ERR_CONFIG, "the user has an auth-provider, which Kubernetes removed in 1.26: use an exec plugin or a token");
    if (!check_strings(from, e))
        return false;
    out->token.data = text_of(from, "token", a);
    out->token.path = path_of(from, "tokenFile", a);
    if (out->token.path)
        out->token.data = SLICE_NONE; /* the one pair in which the file wins */
    out->username = text_of(from, "username", a);
    out->password = text_of(from, "password", a);
    if (!secret_of(from, "client-certificate", a, &out->cert, e) || !secret_of(from, "client-key", a, &out->key, e) ||
        !read_impersonation(from, a, out, e))
        return false;
    struct entry exec = {.value = json_get(from->value, "exec"), .file = from->file};
    if (json_type(exec.value) != JSON_OBJECT)
        return true;
    if (!allow_exec)
        return err_set(e, ERR_CONFIG,
                       "the user has an exec plugin, which a server runs only from a terminal: use a token or a client certificate");
    return read_exec(&exec, a, &out->exec, e);
}

static struct slice current_context(const struct files *fs, struct arena *a)
{
    for (uint32_t i = 0; i < fs->count; i++) {
        struct entry root = {.value = json_root(&fs->list[i].doc), .file = &fs->list[i]};
        struct slice name = text_of(&root, "current-context", a);
        if (!slice_empty(name))
            return name;
    }
    return SLICE_NONE;
}

static bool read_context(const struct files *fs, const struct kube_config_options *o, struct arena *a, struct kube_settings *out,
                         struct err *e)
{
    struct slice name = o->context ? slice_of(o->context) : current_context(fs, a);
    struct entry context, cluster, user;
    out->source = slice_of(fs->list[0].path);
    if (slice_empty(name))
        return err_set(e, ERR_CONFIG, "no current-context: set one or name one with --context");
    if (!find_entry(fs, "contexts", "context", name, &context))
        return err_set(e, ERR_CONFIG, "there is no context \"%.*s\"", SLICE_ARG(name));
    out->source = slice_of(context.file->path);
    if (!check_strings(&context, e))
        return false;
    out->namespace_ = text_of(&context, "namespace", a);
    struct slice cluster_name = text_of(&context, "cluster", a), user_name = text_of(&context, "user", a);
    if (!find_entry(fs, "clusters", "cluster", cluster_name, &cluster))
        return err_set(e, ERR_CONFIG, "context \"%.*s\" names the cluster \"%.*s\", which is not there", SLICE_ARG(name),
                       SLICE_ARG(cluster_name));
    if (!read_cluster(&cluster, a, out, e))
        return err_wrap(e, "cluster \"%.*s\"", SLICE_ARG(cluster_name));
    if (slice_empty(user_name))
        return true; /* anonymous */
    if (!find_entry(fs, "users", "user", user_name, &user))
        return err_set(e, ERR_CONFIG, "context \"%.*s\" names the user \"%.*s\", who is not there", SLICE_ARG(name), SLICE_ARG(user_name));
    return read_user(&user, o->allow_exec, a, out, e) || err_wrap(e, "user \"%.*s\"", SLICE_ARG(user_name));
}

bool kube_kubeconfig_read(struct slice paths, bool must, const struct kube_config_options *o, struct arena *a, struct kube_settings *out,
                          struct err *e)
{
    struct files fs = {0};
    bool ok = read_list(&fs, paths, must, a, e) && read_context(&fs, o, a, out, e);
    for (uint32_t i = 0; i < fs.count; i++)
        kube_slice_wipe(fs.list[i].doc.text);
    arena_free(&fs.scratch);
    return ok;
}
