/* Answers of a control plane. What is malformed as a whole is refused as a whole; a workload that is malformed is left out and counted, so
 * that it does not stand in the way of all others. */
#include <mobula/remote.h>

#include <stdio.h>

/* Whether brackets nest no deeper than `most`. Of text that is no JSON the parser says more. */
static bool shallow(struct slice text, int most)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '{' || c == '['))
            depth++;
        else if (!quoted && (c == '}' || c == ']'))
            depth--;
        if (depth > most)
            return false;
    }
    return true;
}

static bool is_printable(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] <= ' ' || s.ptr[i] > '~')
            return false;
    return s.len > 0;
}

static bool is_uid(struct slice s)
{
    return s.len == 36 && name_dns1123_label(s);
}

static const char *const ends[] = {"SUCCEEDED", "FAILED", "TERMINATED"};

const char *remote_ended_word(struct slice state)
{
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (slice_is(state, ends[i]))
            return ends[i];
    return NULL;
}

const char *remote_ended(struct jval state)
{
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (json_is(state, ends[i]))
            return ends[i];
    return NULL;
}

static bool read_item(struct jval v, struct arena *a, struct remote_item *out, struct err *e)
{
    struct jval spec = json_key(v, SLICE("spec"));
    *out = (struct remote_item){.uid = json_get_str(v, "uid", a),
                                .project = json_get_str(v, "project", a),
                                .name = json_get_str(v, "name", a),
                                .generation = json_get_int(v, "generation", 0),
                                .spec = json_raw(spec),
                                .over = remote_ended(json_key(v, SLICE("state"))) ? json_get_int(v, "observedGeneration", 0) : 0,
                                .gone = json_get_bool(v, "delete", false)};
    if (!is_uid(out->uid))
        return err_set(e, ERR_TYPE, "a workload has no uid that is one");
    if (out->gone)
        return true;
    if (!name_dns1123_label(out->project) || !name_dns1123_subdomain(out->name))
        return err_set(e, ERR_TYPE, "workload %.*s: project and name are no namespace and name", SLICE_ARG(out->uid));
    if (out->generation < 1 || json_type(spec) != JSON_OBJECT)
        return err_set(e, ERR_TYPE, "workload %.*s: generation and spec are needed", SLICE_ARG(out->uid));
    return true;
}

static bool read_items(struct jval list, struct arena *a, struct remote_answer *out, struct err *e)
{
    struct jval k, v;
    size_t count = json_len(list);
    if (json_type(list) != JSON_ARRAY || count > LIMIT_REMOTE_ITEMS)
        return err_set(e, ERR_LIMIT, "workloads must be a list of %d at most (LIMIT_REMOTE_ITEMS)", LIMIT_REMOTE_ITEMS);
    out->items = arena_array(a, count + 1, sizeof out->items[0]);
    for (struct jiter it = json_iter(list); json_next(&it, &k, &v);) {
        bool well = read_item(v, a, &out->items[out->count], &out->why);
        out->count += well;
        out->bad += !well;
    }
    return true;
}

/* Questions beyond the limit are not answered: whoever asks, asks again. */
static void read_questions(struct jval list, struct arena *a, struct remote_answer *out)
{
    struct jval k, v;
    out->questions = arena_array(a, LIMIT_REMOTE_QUESTIONS, sizeof out->questions[0]);
    for (struct jiter it = json_iter(list); out->question_count < LIMIT_REMOTE_QUESTIONS && json_next(&it, &k, &v);) {
        struct remote_question q = {json_get_str(v, "id", a), json_get_str(v, "kind", a), v};
        if (is_printable(q.id) && q.id.len <= LIMIT_REMOTE_REVISION)
            out->questions[out->question_count++] = q;
    }
}

static void read_wants(struct jval list, struct remote_answer *out)
{
    struct jval k, v;
    for (struct jiter it = json_iter(list); json_next(&it, &k, &v);) {
        out->wants_types |= json_str_eq(v, SLICE("instanceTypes"));
        out->wants_nodes |= json_str_eq(v, SLICE("nodes"));
    }
}

/* Without more, a page would pass for the last one, and what the others name would be deleted. */
static bool read_pages(struct jval root, struct remote_answer *out, struct err *e)
{
    struct jval full = json_key(root, SLICE("full")), more = json_key(root, SLICE("more"));
    if (json_type(full) != JSON_BOOL || json_type(more) != JSON_BOOL)
        return err_set(e, ERR_TYPE, "full and more must be true or false");
    out->full = json_bool(full, false);
    out->more = json_bool(more, false);
    return true;
}

bool remote_read(struct slice text, struct arena *a, struct remote_answer *out, struct err *e)
{
    struct json *doc = arena_new(a, struct json);
    *out = (struct remote_answer){0};
    if (text.len > LIMIT_REMOTE_BODY)
        return err_set(e, ERR_LIMIT, "the answer is longer than %d bytes (LIMIT_REMOTE_BODY)", LIMIT_REMOTE_BODY);
    if (!shallow(text, LIMIT_REMOTE_DEPTH))
        return err_set(e, ERR_LIMIT, "the answer is nested deeper than %d (LIMIT_REMOTE_DEPTH)", LIMIT_REMOTE_DEPTH);
    if (!json_parse(doc, text, a, e))
        return err_wrap(e, "the answer is no JSON: is something else than a control plane there?");
    struct jval root = json_root(doc);
    int64_t protocol = json_get_int(root, "protocol", -1), seconds = json_get_int(root, "retryAfter", 0);
    if (protocol < 0)
        return err_set(e, ERR_TYPE, "the answer names no protocol: is something else than a control plane there?");
    if (protocol > REMOTE_PROTOCOL + 1 || protocol < REMOTE_PROTOCOL - 1)
        return err_set(e, ERR_RANGE, "the answer is in protocol %lld, and %d is spoken here: install versions that are one apart at most",
                       (long long)protocol, REMOTE_PROTOCOL);
    out->revision = json_get_str(root, "revision", a);
    if (!is_printable(out->revision) || out->revision.len > LIMIT_REMOTE_REVISION)
        return err_set(e, ERR_TYPE, "revision must be a text of 1 to %d printable characters (LIMIT_REMOTE_REVISION)",
                       LIMIT_REMOTE_REVISION);
    if (!read_pages(root, out, e) || !read_items(json_key(root, SLICE("workloads")), a, out, e))
        return false;
    read_questions(json_key(root, SLICE("questions")), a, out);
    read_wants(json_key(root, SLICE("wants")), out);
    struct slice identity = json_get_str(root, "identity", a);
    out->identity = is_printable(identity) ? slice_head(identity, LIMIT_REMOTE_IDENTITY) : SLICE("");
    out->retry_after_ms = seconds <= 0 ? 0 : (seconds < INT32_MAX ? seconds : INT32_MAX) * 1000;
    return true;
}

/* ---- refusals ---- */

/* The remedy for a status whose body names none. */
static const struct advice {
    int from, to;
    const char *code, *remedy;
} advices[] = {
    {300, 399, "Redirect", "redirects are not followed: --control-plane-url must be the address that answers"},
    {400, 400, "BadRequest", "operator and control plane may be of versions that do not fit together"},
    {401, 401, "Unauthorized", "--control-plane-token-file must hold a token that the control plane accepts"},
    {403, 403, "Forbidden", "whom the token belongs to needs the verb sync on this cloud"},
    {404, 404, "CloudUnknown", "--cloud-deployment-id and --control-plane-url must be those of the cloud"},
    {409, 409, "CloudInUse", "stop the other operator, or give this one a cloud of its own"},
    {413, 413, "TooLarge", "less is reported with each call from now on"},
    {422, 422, "ProtocolUnsupported", "install versions of operator and control plane that are one apart at most"},
    {429, 429, "TooManyRequests", "the call is repeated later"},
    {500, 599, "Unavailable", "the call is repeated later"},
};

void remote_refusal(int status, struct slice body, char out[REMOTE_WORDS])
{
    struct arena a = {0};
    struct json doc;
    struct err ignored = {0}; /* a gateway's page: the status says all that is known */
    struct jval error = {.at = -1};
    struct slice code = SLICE("Unknown"), remedy = SLICE("ask whoever runs the control plane");
    char line[REMOTE_WORDS];
    for (size_t i = 0; i < COUNT_OF(advices); i++)
        if (status >= advices[i].from && status <= advices[i].to) {
            code = slice_of(advices[i].code);
            remedy = slice_of(advices[i].remedy);
        }
    if (body.len <= LIMIT_REMOTE_BODY && shallow(body, LIMIT_REMOTE_DEPTH) && json_parse(&doc, body, &a, &ignored))
        error = json_get(json_root(&doc), "error");
    struct slice said = json_get_str(error, "code", &a), message = json_get_str(error, "message", &a);
    struct slice told = json_get_str(error, "remedy", &a);
    code = slice_empty(said) ? code : slice_head(said, 64);
    message = slice_empty(message) ? slice_of(http_status_text(status)) : slice_head(message, REMOTE_WORDS / 2);
    remedy = slice_empty(told) ? remedy : slice_head(told, REMOTE_WORDS / 4);
    snprintf(line, sizeof line, "%d %.*s: %.*s: %.*s", status, SLICE_ARG(code), SLICE_ARG(message), SLICE_ARG(remedy));
    utf8_clean(slice_of(line), out, REMOTE_WORDS);
    arena_free(&a);
}
