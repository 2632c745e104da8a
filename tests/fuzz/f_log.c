/* Foreign text in log lines: whatever it is, a line stays one line, a terminal is not steered by it, and JSON stays JSON with that text in
 * it. */
#include <mobula/json.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINE_LONGEST = 4 * KIB };

struct seen {
    char line[LINE_LONGEST];
    size_t len;
    bool raw;
};

static void take(void *owner, struct slice line)
{
    struct seen *s = owner;
    if (line.len > sizeof s->line || !utf8_valid(line))
        abort();
    memcpy(s->line, line.ptr, line.len);
    s->len = line.len;
    for (size_t i = 0; i < line.len; i++)
        if (((unsigned char)line.ptr[i] < ' ' && !(s->raw && line.ptr[i] == '\t')) || line.ptr[i] == 0x7f)
            abort();
}

static void check_json(const struct seen *s, struct slice text)
{
    struct arena a = {0};
    struct json doc;
    if (!json_parse(&doc, (struct slice){s->line, s->len}, &a, NULL))
        abort();
    struct jval root = json_root(&doc);
    bool cut = json_get_bool(root, "cut", false);
    if (!cut && utf8_valid(text) && !json_str_eq(json_get(root, "text"), text))
        abort();
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen seen = {.len = 0};
    struct slice text = {(const char *)data, size};
    for (int json = 0; json < 2; json++) {
        log_global = (struct log){.level = LOG_DEBUG, .fd = -1, .sink = take, .owner = &seen, .json = json};
        log_warn("something was said", LF("text", text), LF_INT("number", (int64_t)size));
        if (json)
            check_json(&seen, text);
    }
    seen.raw = true;
    log_raw(text);
    return 0;
}
