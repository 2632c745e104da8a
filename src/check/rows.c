/* Rows of `mobula check`, how they are printed, and the requests to the API server that make a row if they fail. */
#include <mobula/check.h>

#include <stdio.h>

enum { CHECK_PAGES_MAX = 200 };
enum { STATUS_FAILED = 3, STATUS_WARNED = 4 };

/* ---- rows ---- */

void check_say(struct check *c, enum check_result result, const char *remedy, const char *fmt, ...)
{
    char line[ERR_TEXT_MAX], clean[ERR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    c->results[result]++;
    if (c->count == CHECK_ROWS_MAX) {
        c->beyond++;
        return;
    }
    struct slice text = arena_dup(c->a, utf8_clean(slice_of(line), clean, sizeof clean));
    c->rows[c->count++] = (struct check_row){c->current, result, text, remedy};
}

static const char *const result_names[] = {[CHECK_PASS] = "pass", [CHECK_SKIP] = "skip", [CHECK_WARN] = "warn", [CHECK_FAIL] = "fail"};

static void write_json(const struct check *c, struct buf *out)
{
    struct jout w;
    jout_init(&w, out);
    jout_object(&w);
    jout_karray(&w, "checks");
    for (uint32_t i = 0; i < c->count; i++) {
        const struct check_row *row = &c->rows[i];
        jout_object(&w);
        jout_kstr(&w, "check", slice_of(row->check));
        jout_kstr(&w, "result", slice_of(result_names[row->result]));
        jout_kstr(&w, "found", row->text);
        if (row->remedy)
            jout_kstr(&w, "remedy", slice_of(row->remedy));
        jout_end(&w);
    }
    jout_end(&w);
    for (size_t i = 0; i < COUNT_OF(result_names); i++)
        jout_kint(&w, result_names[i], c->results[i]);
    jout_end(&w);
    buf_putc(out, '\n');
}

void check_write(const struct check *c, struct buf *out)
{
    if (slice_eq(c->o->output, SLICE("json"))) {
        write_json(c, out);
        return;
    }
    for (uint32_t i = 0; i < c->count; i++) {
        const struct check_row *row = &c->rows[i];
        buf_printf(out, "%s  %-13s %.*s\n", result_names[row->result], row->check, SLICE_ARG(row->text));
        if (row->remedy)
            buf_printf(out, "      %-13s -> %s\n", "", row->remedy);
    }
    if (c->beyond > 0)
        buf_printf(out, "and %u more rows\n", c->beyond);
    buf_printf(out, "passed: %u, skipped: %u, warnings: %u, failed: %u\n", c->results[CHECK_PASS], c->results[CHECK_SKIP],
               c->results[CHECK_WARN], c->results[CHECK_FAIL]);
}

int check_status(const struct check *c)
{
    return c->results[CHECK_FAIL] ? STATUS_FAILED : c->results[CHECK_WARN] ? STATUS_WARNED : STATUS_OK;
}

/* ---- requests ---- */

/* A status that is not 2xx, and not 404, as a row. A right that is missing is a gap in what was checked, and no fault of the cluster. */
static void say_refused(struct check *c, struct slice path, const struct ask_answer *answer)
{
    char words[ASK_WORDS];
    bool rights = answer->reason == KUBE_FORBIDDEN;
    check_say(c, rights ? CHECK_SKIP : CHECK_FAIL, rights ? "run it as a user who may read this, or leave it to the cluster's admin" : NULL,
              "GET %.*s: %s", SLICE_ARG(path), ask_words(answer, words));
}

bool check_get(struct check *c, struct slice path, struct jval *object, bool *absent)
{
    struct ask_answer answer = {0};
    struct err e = {0};
    *absent = false;
    if (!ask_get(&c->ask, path, NULL, c->a, &answer, &e)) {
        check_say(c, CHECK_FAIL, NULL, "GET %.*s: %s", SLICE_ARG(path), e.text);
        return false;
    }
    *absent = answer.code == 404;
    if (answer.code >= 300) {
        if (!*absent)
            say_refused(c, path, &answer);
        return false;
    }
    struct json *doc = arena_new(c->a, struct json);
    if (!json_parse(doc, answer.body, c->a, &e)) {
        check_say(c, CHECK_FAIL, "something between here and the API server answers in its place", "GET %.*s: no JSON: %s", SLICE_ARG(path),
                  e.text);
        return false;
    }
    *object = json_root(doc);
    return true;
}

bool check_list(struct check *c, struct slice path, check_item *item, void *state)
{
    struct slice more = SLICE_NONE;
    for (unsigned page = 0; page < CHECK_PAGES_MAX; page++) {
        struct jval list, key, one;
        bool absent;
        __attribute__((cleanup(buf_free))) struct buf to;
        buf_init(&to, LIMIT_HTTP_URL);
        buf_put(&to, path);
        kube_query(&to, "limit", SLICE("50"));
        if (!slice_empty(more))
            kube_query(&to, "continue", more);
        if (!check_get(c, buf_slice(&to), &list, &absent)) {
            if (absent)
                check_say(c, CHECK_SKIP, NULL, "GET %.*s: the server does not have this", SLICE_ARG(path));
            return false;
        }
        for (struct jiter it = json_iter(json_key(list, SLICE("items"))); json_next(&it, &key, &one);)
            item(c, state, one);
        more = json_get_str(list, "metadata.continue", c->a);
        if (slice_empty(more))
            return true;
    }
    check_say(c, CHECK_SKIP, NULL, "GET %.*s: only the first %d pages were read", SLICE_ARG(path), CHECK_PAGES_MAX);
    return true;
}
