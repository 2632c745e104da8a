#include "text.h"

#include <mobula/json.h>

/* Values are met in the order of the text, so lines are counted once. */
struct marker {
    const char *text;
    size_t begin;   /* of the document in it: what is handed out has no white space around it, its lines are those of the whole */
    size_t counted; /* bytes whose newlines are in line */
    uint32_t line;
    struct yaml_mark *marks;
    uint32_t count;
};

static uint32_t line_at(struct marker *m, size_t offset)
{
    for (; m->counted < offset; m->counted++)
        m->line += m->text[m->counted] == '\n';
    return m->line;
}

/* As in YAML: what is behind a key is looked for where the key is. */
static void mark(struct marker *m, struct jval v, uint32_t line)
{
    m->marks[m->count++] = (struct yaml_mark){(uint32_t)(json_offset(v) - m->begin), line};
    struct jval key, value;
    for (struct jiter it = json_iter(v); json_next(&it, &key, &value);)
        mark(m, value, line_at(m, json_offset(json_there(key) ? key : value)));
}

bool text_json(struct slice part, uint32_t line, struct arena *a, struct yaml_doc *out)
{
    struct json doc;
    struct slice text = part;
    if (slice_starts(text, SLICE("---\n"))) {
        text = slice_skip(text, 4);
        line++;
    }
    struct slice trimmed = slice_trim(text);
    if (!slice_starts(trimmed, SLICE("{")) && !slice_starts(trimmed, SLICE("[")))
        return false;
    struct slice copy = arena_dup(a, text);
    if (!json_parse(&doc, copy, a, NULL))
        return false;
    struct jval root = json_root(&doc);
    struct marker m = {.text = copy.ptr, .begin = json_offset(root), .line = line, .marks = arena_array(a, doc.count, sizeof *m.marks)};
    line = line_at(&m, json_offset(root));
    mark(&m, root, line);
    *out = (struct yaml_doc){.json = slice_trim(copy), .marks = m.marks, .mark_count = m.count, .line = line};
    return true;
}
