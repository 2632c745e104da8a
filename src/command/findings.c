#include <mobula/command.h>

#include <stdlib.h>

void findings_clear(struct findings *f)
{
    f->prefix = SLICE("");
    f->count = f->beyond = f->errors = f->warnings = 0;
}

void findings_add(struct findings *f, bool warning, struct slice path, size_t offset, struct slice text)
{
    if (!slice_empty(f->prefix))
        path = arena_printf(f->arena, "%.*s%.*s", SLICE_ARG(f->prefix), SLICE_ARG(path));
    for (uint32_t i = 0; i < f->count; i++)
        if (f->list[i].source != f->source && slice_eq(f->list[i].path, path))
            return;
    f->errors += !warning;
    f->warnings += warning;
    if (f->count == FINDINGS_MAX)
        f->beyond++;
    else
        f->list[f->count++] = (struct finding){warning, f->source, path, text, offset, 0};
}

void findings_add_below(struct findings *f, struct slice path, size_t offset, uint32_t below, struct slice text)
{
    uint32_t before = f->count;
    findings_add(f, false, path, offset, text);
    if (f->count > before)
        f->list[before].below = below;
}

bool findings_full(struct findings *f, bool warning)
{
    if (f->count < FINDINGS_MAX)
        return false;
    f->errors += !warning;
    f->warnings += warning;
    f->beyond++;
    return true;
}

void findings_add_spec(struct findings *f, bool warning, const struct spec_errors *errors)
{
    f->source++;
    for (uint32_t i = 0; i < errors->count; i++)
        findings_add(f, warning, errors->list[i].path, errors->list[i].offset, errors->list[i].text);
    f->beyond += errors->beyond;
    *(warning ? &f->warnings : &f->errors) += errors->beyond;
}

static int compare(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->below != y->below)
        return x->below < y->below ? -1 : 1;
    return slice_cmp(x->path, y->path);
}

void findings_end_line(struct buf *out, size_t from)
{
    for (size_t i = from, step; i < out->len; i += step ? step : 1) {
        char *at = out->ptr + i;
        step = utf8_step((struct slice){at, out->len - i});
        if (step == 0 || utf8_control((struct slice){at, step}))
            memset(at, '?', step ? step : 1);
    }
    buf_putc(out, '\n');
}

void findings_error(const char *file, uint32_t line, const struct err *e, struct buf *out)
{
    size_t from = out->len;
    struct slice text = slice_of(e->text);
    int64_t n = line;
    if (line == 0 && slice_starts(text, SLICE("line "))) {
        struct slice rest = slice_skip(text, strlen("line ")), number = slice_cut(&rest, ',');
        if (slice_int(number, &n))
            text = slice_trim(rest);
    }
    buf_printf(out, "%s:%lld: %.*s", file, (long long)(n ? n : 1), SLICE_ARG(text));
    findings_end_line(out, from);
}

void findings_write(struct findings *f, const char *file, const struct yaml_doc *doc, struct buf *out)
{
    qsort(f->list, f->count, sizeof f->list[0], compare);
    for (uint32_t i = 0; i < f->count; i++) {
        const struct finding *one = &f->list[i];
        size_t from = out->len;
        buf_printf(out, "%s:%u: %s%.*s%s%.*s", file, yaml_line(doc, one->offset) + one->below, one->warning ? "warning: " : "",
                   SLICE_ARG(one->path), one->path.len ? ": " : "", SLICE_ARG(one->text));
        findings_end_line(out, from);
    }
    if (f->beyond > 0)
        buf_printf(out, "%s:%u: and %u more\n", file, doc->line, f->beyond);
}
