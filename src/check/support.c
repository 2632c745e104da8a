/* `mobula check --support-bundle`: what support asks for, in one tar file, without what may be a secret.
 *
 * Two nets, one behind the other. In objects, values of environment variables, runtime environments, the copy of a manifest that kubectl
 * keeps and members whose names speak of secrets are left out whatever they are. In all text that stays (logs, commands, messages), what
 * follows a telling word, stands in a URL before "@", or has the form of a known kind of token is left out. */
#include <mobula/artifact.h>
#include <mobula/check.h>
#include <mobula/http.h>
#include <mobula/kinds.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { SUPPORT_PART_MAX = 32 * MIB, TOKEN_MIN = 16, USERINFO_MAX = KIB };
static const struct slice redacted = SLICE("REDACTED");

/* ---- text ---- */

static bool telling(struct slice name)
{
    static const char *const words[] = {"password",         "passwd",      "secret",        "token",     "apikey",
                                        "api_key",          "api-key",     "access_key",    "accesskey", "access-key",
                                        "private_key",      "credential",  "authorization", "pwd",       "passphrase",
                                        "connectionstring", "account_key", "accountkey",    "signature", "cookie"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        for (size_t k = 0, n = strlen(words[i]); k + n <= name.len; k++)
            if (slice_eq_nocase((struct slice){name.ptr + k, n}, (struct slice){words[i], n}))
                return true;
    return false;
}

static bool word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* Bytes that tokens and passwords are made of: up to white space, a quote, or what separates one field from the next. */
static bool value_byte(char c)
{
    return (unsigned char)c > ' ' && !strchr("\"'`,;&<>\\", c);
}

static size_t span(struct slice s, bool (*holds)(char))
{
    size_t n = 0;
    while (n < s.len && holds(s.ptr[n]))
        n++;
    return n;
}

/* The prefixes of known kinds of tokens. */
static bool token_form(struct slice word)
{
    static const char *const begins[] = {"eyJ",   "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "hf_",       "sk-",   "xoxb-",
                                         "xoxp-", "AKIA", "ASIA", "AIza", "npm_",        "pypi-",  "dckr_pat_", "aph0_", "SG."};
    for (size_t i = 0; i < COUNT_OF(begins); i++)
        if (word.len >= TOKEN_MIN && slice_starts(word, slice_of(begins[i])))
            return true;
    return false;
}

/* Behind a telling word: '=', ':', '": "', "  " or nothing but a blank and the scheme of a header. */
static size_t separators(struct slice s)
{
    size_t n = 0;
    bool seen = false;
    while (n < s.len && n < 8 && strchr("=: \"'\\\t", s.ptr[n])) {
        seen |= s.ptr[n] == '=' || s.ptr[n] == ':' || s.ptr[n] == ' ';
        n++;
    }
    return seen ? n : 0;
}

static size_t scheme(struct slice s)
{
    static const struct slice schemes[] = {SLICE("Bearer "), SLICE("Basic "), SLICE("token ")};
    for (size_t i = 0; i < COUNT_OF(schemes); i++)
        if (s.len > schemes[i].len && slice_eq_nocase(slice_head(s, schemes[i].len), schemes[i]))
            return schemes[i].len;
    return 0;
}

/* "user:password@" at the beginning of what follows "//"; 0: there is none. */
static size_t userinfo(struct slice s)
{
    size_t end = span(slice_head(s, USERINFO_MAX), value_byte);
    for (size_t i = 0; i < end && s.ptr[i] != '/'; i++)
        if (s.ptr[i] == '@')
            return i;
    return 0;
}

static void leave_out(struct slice *text, size_t n, struct buf *out)
{
    buf_put(out, redacted);
    *text = slice_skip(*text, n);
}

/* A PEM block of a private key, up to its end or the text's. */
static size_t private_key(struct slice s)
{
    if (!slice_starts(s, SLICE("-----BEGIN ")) || !slice_has(slice_head(s, 40), "PRIVATE KEY"))
        return 0;
    ptrdiff_t end = slice_find_text(s, "-----END ");
    return end < 0 ? s.len : (size_t)end;
}

static void redact_word(struct slice *text, struct buf *out)
{
    struct slice word = slice_head(*text, span(*text, word_byte));
    struct slice rest = slice_skip(*text, word.len);
    if (token_form(slice_head(*text, span(slice_head(*text, TOKEN_MIN), value_byte)))) {
        leave_out(text, span(*text, value_byte), out);
        return;
    }
    buf_put(out, word);
    *text = rest;
    size_t gap = scheme((struct slice){word.ptr, word.len + rest.len}) ? 1 : telling(word) ? separators(rest) : 0;
    if (gap == 0)
        return;
    gap += scheme(slice_skip(rest, gap));
    buf_put(out, slice_head(rest, gap));
    *text = slice_skip(rest, gap);
    size_t value = span(*text, value_byte);
    if (value > 0)
        leave_out(text, value, out);
}

void support_redact_text(struct slice text, struct buf *out)
{
    while (!slice_empty(text)) {
        size_t key = private_key(text);
        if (key > 0)
            leave_out(&text, key, out);
        else if (word_byte(text.ptr[0]))
            redact_word(&text, out);
        else if (slice_starts(text, SLICE("//"))) {
            buf_put(out, slice_head(text, 2));
            text = slice_skip(text, 2);
            if (userinfo(text) > 0)
                leave_out(&text, userinfo(text), out);
        } else {
            buf_putc(out, text.ptr[0]);
            text = slice_skip(text, 1);
        }
    }
}

/* ---- objects ---- */

struct redactor {
    struct jout w;
    struct arena a;
    struct buf text;
};

static bool hidden(struct slice key, struct slice above)
{
    static const char *const keys[] = {"runtimeEnvYAML", "runtime_env", "kubectl.kubernetes.io/last-applied-configuration", "stringData"};
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (slice_eq(key, slice_of(keys[i])))
            return true;
    return slice_eq(above, SLICE("env")) && slice_eq(key, SLICE("value"));
}

static void redact_value(struct redactor *r, struct jval v, struct slice key, struct slice above);

/* In a command, the value of "--password" may be the argument behind it. */
static void redact_array(struct redactor *r, struct jval v, struct slice key, struct slice above)
{
    struct jval k, one;
    bool flag = false;
    jout_array(&r->w);
    for (struct jiter it = json_iter(v); json_next(&it, &k, &one);) {
        struct slice text = json_str(one, &r->a);
        if (flag && json_type(one) == JSON_STRING)
            jout_str(&r->w, redacted);
        else
            redact_value(r, one, key, above);
        flag = slice_starts(text, SLICE("-")) && slice_find(text, '=') < 0 && telling(text);
    }
    jout_end(&r->w);
}

static void redact_value(struct redactor *r, struct jval v, struct slice key, struct slice above)
{
    struct jval k, one;
    switch (json_type(v)) {
    case JSON_OBJECT:
        jout_object(&r->w);
        for (struct jiter it = json_iter(v); json_next(&it, &k, &one);) {
            struct slice name = json_str(k, &r->a);
            bool scalar = json_type(one) != JSON_OBJECT && json_type(one) != JSON_ARRAY;
            jout_key(&r->w, name);
            if (hidden(name, key) || (scalar && json_type(one) == JSON_STRING && telling(name)))
                jout_str(&r->w, redacted);
            else
                redact_value(r, one, name, key);
        }
        jout_end(&r->w);
        break;
    case JSON_ARRAY:
        redact_array(r, v, key, above);
        break;
    case JSON_STRING:
        buf_clear(&r->text);
        support_redact_text(json_str(v, &r->a), &r->text);
        jout_str(&r->w, buf_slice(&r->text));
        break;
    default:
        jout_raw(&r->w, json_raw(v));
    }
}

void support_redact_object(struct jval object, struct buf *out)
{
    struct redactor r = {0};
    buf_init(&r.text, LIMIT_JSON_ITEM * 2);
    jout_init(&r.w, out);
    redact_value(&r, object, SLICE(""), SLICE(""));
    buf_putc(out, '\n');
    buf_free(&r.text);
    arena_free(&r.a);
}

/* ---- the file ---- */

struct support {
    struct check *check;
    int fd;
    struct buf part; /* of what is being gathered */
    struct err e;
};

static bool write_all(struct support *s, struct slice bytes)
{
    while (!slice_empty(bytes)) {
        ssize_t n = write(s->fd, bytes.ptr, bytes.len);
        if (n < 0)
            return err_set(&s->e, ERR_IO, "%s: %s", s->check->o->support.ptr, strerror(errno));
        bytes = slice_skip(bytes, (size_t)n);
    }
    return true;
}

/* One file of the tar, in ustar form, and the part is empty again. */
static void put_part(struct support *s, const char *name)
{
    const char blank[TAR_BLOCK] = "";
    char block[TAR_BLOCK], path[TAR_NAME_MAX];
    snprintf(path, sizeof path, "mobula-support/%s", name);
    tar_header(block, path, s->part.len, s->check->wall_us / 1000000, 0600);
    size_t rest = (TAR_BLOCK - s->part.len % TAR_BLOCK) % TAR_BLOCK;
    (void)(write_all(s, (struct slice){block, sizeof block}) && write_all(s, buf_slice(&s->part)) &&
           write_all(s, (struct slice){blank, rest}));
    buf_clear(&s->part);
}

static void on_object(struct check *c, void *state, struct jval object)
{
    struct support *s = state;
    (void)c;
    support_redact_object(object, &s->part);
}

/* ---- logs ---- */

static void on_log(void *owner, uint64_t tag, struct slice piece)
{
    (void)tag;
    buf_put(owner, piece);
}

static void put_log(struct support *s, struct slice ns, struct slice pod, struct slice container)
{
    struct check *c = s->check;
    struct ask_answer answer = {0};
    struct err e = {0};
    __attribute__((cleanup(buf_free))) struct buf raw;
    buf_init(&raw, SUPPORT_PART_MAX / 2);
    struct slice path = arena_printf(c->a, "/api/v1/namespaces/%.*s/pods/%.*s/log?tailLines=5000&limitBytes=4000000&container=%.*s",
                                     SLICE_ARG(ns), SLICE_ARG(pod), SLICE_ARG(container));
    if (!ask_text(&c->ask, path, NULL, on_log, &raw, c->a, &answer, &e) || answer.code >= 300)
        buf_printf(&s->part, "no log: %s%.*s\n", e.text, SLICE_ARG(answer.message));
    support_redact_text(buf_slice(&raw), &s->part);
    put_part(s, arena_printf(c->a, "logs/%.*s_%.*s.log", SLICE_ARG(slice_head(pod, 50)), SLICE_ARG(slice_head(container, 20))).ptr);
}

struct wanted_logs {
    struct slice ns, pod, container;
    struct wanted_logs *next;
};

static void on_pod(struct check *c, void *state, struct jval pod)
{
    struct wanted_logs **list = state;
    struct jval key, one;
    for (struct jiter it = json_iter(json_get(pod, "spec.containers")); json_next(&it, &key, &one);) {
        struct wanted_logs *w = arena_new(c->a, struct wanted_logs);
        *w = (struct wanted_logs){arena_dup(c->a, json_get_str(pod, "metadata.namespace", c->a)),
                                  arena_dup(c->a, json_get_str(pod, "metadata.name", c->a)),
                                  arena_dup(c->a, json_get_str(one, "name", c->a)), *list};
        *list = w;
    }
}

static void put_logs(struct support *s, const char *ns_selector)
{
    struct wanted_logs *list = NULL;
    check_list(s->check, slice_of(ns_selector), on_pod, &list);
    for (; list; list = list->next)
        put_log(s, list->ns, list->pod, list->container);
}

/* ---- all of it ---- */

static void put_objects(struct support *s)
{
    static const struct {
        const char *name, *before, *behind; /* the namespace of clusters */
    } parts[] = {
        {"pods.json", "/api/v1", "pods"},
        {"services.json", "/api/v1", "services"},
        {"events.json", "/apis/events.k8s.io/v1", "events"},
        {"quotas.json", "/api/v1", "resourcequotas"},
    };
    struct check *c = s->check;
    for (size_t i = 0; kinds[i]; i++)
        if (kinds[i]->check) {
            __attribute__((cleanup(buf_free))) struct buf path;
            buf_init(&path, LIMIT_HTTP_URL);
            kube_path(&path, kinds[i]->resource, c->ns, SLICE_NONE, SLICE_NONE);
            check_list(c, buf_slice(&path), on_object, s);
            put_part(s, arena_printf(c->a, "%s.json", kinds[i]->plural).ptr);
        }
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        check_list(c, arena_printf(c->a, "%s/namespaces/%.*s/%s", parts[i].before, SLICE_ARG(c->ns), parts[i].behind), on_object, s);
        put_part(s, parts[i].name);
    }
    struct slice own = arena_printf(c->a, "/apis/apps/v1/namespaces/%.*s/deployments", SLICE_ARG(c->operator_ns));
    check_list(c, own, on_object, s);
    put_part(s, "deployments.json");
}

bool check_support(struct check *c, struct err *e)
{
    struct support s = {.check = c, .fd = open(c->o->support.ptr, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    char end[2 * TAR_BLOCK] = {0};
    if (s.fd < 0)
        return err_set(e, ERR_IO, "%s: %s", c->o->support.ptr, strerror(errno));
    buf_init(&s.part, SUPPORT_PART_MAX);
    check_write(c, &s.part);
    put_part(&s, "check.txt");
    buf_printf(&s.part, "mobula %s\n", MOBULA_VERSION);
    put_part(&s, "version.txt");
    if (!c->unreachable) {
        c->current = "support";
        put_objects(&s);
        put_logs(&s, arena_printf(c->a, "/api/v1/namespaces/%.*s/pods?labelSelector=app.kubernetes.io%%2Fname%%3Dmobula",
                                  SLICE_ARG(c->operator_ns))
                         .ptr);
        put_logs(&s, arena_printf(c->a, "/api/v1/namespaces/%.*s/pods?labelSelector=ray.io%%2Fnode-type%%3Dhead", SLICE_ARG(c->ns)).ptr);
    }
    write_all(&s, (struct slice){end, sizeof end});
    if (close(s.fd) != 0)
        err_set(&s.e, ERR_IO, "%s: %s", c->o->support.ptr, strerror(errno));
    buf_free(&s.part);
    if (s.e.code != ERR_NONE)
        *e = s.e;
    return s.e.code == ERR_NONE;
}
