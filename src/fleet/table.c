/* Objects of a control plane as text: as a table, as names, as JSON or YAML. */
#include <mobula/fleet.h>

enum { CELL_MAX = 256 };

bool fleet_is_silent(struct desk *d, struct jval cloud)
{
    int64_t until_us = 0;
    struct jval key, one;
    struct slice text = json_get_str(cloud, "status.session.expiryTime", &d->a);
    for (struct jiter it = json_iter(json_get(cloud, "status.conditions")); json_next(&it, &key, &one);)
        if (json_is(json_get(one, "type"), "Connected") && json_is(json_get(one, "status"), "False"))
            return true;
    if (!text.ptr || !time_parse(text, &until_us, NULL))
        return false;
    if (!d->asked_now) /* once, whatever the answer is */
        d->now_us = d->way->now_us(d);
    d->asked_now = true;
    return until_us <= d->now_us;
}

struct slice fleet_shown(struct desk *d, struct slice name)
{
    return d->noun->resource == &hub_configs ? fleet_config_shown(name, &d->a) : name;
}

/* Others have written the texts: nothing in them is for a terminal to act on. Of a list its texts, with commas between. */
static struct slice cell(struct desk *d, struct jval object, const char *path, char out[CELL_MAX])
{
    struct arena *a = &d->a;
    struct jval value = json_get(object, path), key, one;
    struct slice text = json_str(value, a);
    for (struct jiter it = json_iter(value); json_next(&it, &key, &one);)
        text = arena_printf(a, "%.*s%s%.*s", SLICE_ARG(text), text.len ? "," : "", SLICE_ARG(json_str(one, a)));
    if (strcmp(path, FLEET_HEALTH) == 0 && fleet_is_silent(d, object))
        text = SLICE("UNKNOWN");
    if (strcmp(path, FLEET_STATE) == 0) {
        if (json_there(json_get(object, "metadata.deletionTimestamp")))
            text = SLICE("DELETING");
        else if (slice_empty(text))
            text = SLICE("PENDING"); /* not looked at yet */
    }
    if (strcmp(path, FLEET_HEAD) == 0 && slice_empty(text))
        text = json_raw(json_get(object, "spec.head_node.required_resources"));
    if (strcmp(path, FLEET_NAME) == 0)
        text = fleet_shown(d, text);
    return slice_empty(text) ? SLICE("-") : utf8_clean(text, out, CELL_MAX);
}

struct table {
    const struct column *columns;
    struct desk *desk;
    struct buf *out; /* NULL: the columns become as wide as what stands in them */
    size_t widths[FLEET_COLUMNS];
};

static void put_row(struct table *t, struct jval object)
{
    char clean[CELL_MAX];
    size_t pad = 0;
    for (int i = 0; i < FLEET_COLUMNS && t->columns[i].head; i++) {
        struct slice text = json_there(object) ? cell(t->desk, object, t->columns[i].path, clean) : slice_of(t->columns[i].head);
        if (t->out)
            buf_printf(t->out, "%*s%.*s", (int)pad, "", SLICE_ARG(text));
        else if (t->widths[i] < text.len)
            t->widths[i] = text.len;
        pad = t->widths[i] - text.len + 2;
    }
    if (t->out)
        buf_putc(t->out, '\n');
}

/* Heads of the columns, and a row for the first object and each of the list; either may be absent. */
static void put_table(struct desk *d, const struct column columns[FLEET_COLUMNS], struct jval first, struct jval list, struct buf *out)
{
    struct table t = {.columns = columns, .desk = d};
    struct jval key, one;
    for (int i = 0; i < 2; i++, t.out = out) {
        put_row(&t, (struct jval){.at = -1});
        if (json_there(first))
            put_row(&t, first);
        for (struct jiter it = json_iter(list); json_next(&it, &key, &one);)
            put_row(&t, one);
    }
}

static void put_name(struct desk *d, struct jval object, struct buf *out)
{
    struct slice name = fleet_shown(d, json_get_str(object, FLEET_NAME, &d->a));
    if (slice_empty(name))
        name = json_get_str(object, "name", &d->a); /* a row of a table that is no object of its own */
    if (json_there(object))
        buf_printf(out, "%.*s\n", SLICE_ARG(name));
}

static void put_names(struct desk *d, struct jval first, struct jval list, struct buf *out)
{
    struct jval key, one;
    put_name(d, first, out);
    for (struct jiter it = json_iter(list); json_next(&it, &key, &one);)
        put_name(d, one, out);
}

/* Without the names of the programs that wrote each field; of a list, what is of the cloud that --cloud names. */
static bool tidy(struct desk *d, struct slice *body, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf out = {.max = FLEET_OUTPUT_MAX};
    struct json doc;
    struct jout w;
    struct jval key, one;
    if (!json_parse(&doc, *body, &d->a, e))
        return false;
    struct jval items = json_get(json_root(&doc), "items");
    jout_init(&w, &out);
    jout_form(&w, "{apiVersion:'mobula.dev/v1',kind:'%sList',items:[", d->noun->kind);
    for (struct jiter it = json_iter(items); json_next(&it, &key, &one);)
        if ((slice_empty(d->o.cloud) || json_str_eq(json_get(one, "spec.cloud"), d->o.cloud)) &&
            (!d->noun->part || json_there(json_get(one, d->noun->part))))
            jout_raw(&w, json_without(json_raw(one), KUBE_UNREAD, &d->a));
    jout_end(&w);
    jout_end(&w);
    *body = json_type(items) == JSON_ARRAY ? arena_dup(&d->a, buf_slice(&out)) : json_without(*body, KUBE_UNREAD, &d->a);
    return true;
}

static bool write_as(struct desk *d, const struct column columns[FLEET_COLUMNS], struct slice body, struct jval one, struct jval list,
                     struct buf *out, struct err *e)
{
    if (slice_is(d->o.output, "yaml"))
        return yaml_write(body, out, e);
    if (slice_is(d->o.output, "json"))
        (void)(buf_put(out, body) && buf_putc(out, '\n'));
    else if (slice_is(d->o.output, "name"))
        put_names(d, one, list, out);
    else
        put_table(d, columns, one, list, out);
    return !out->full || err_set(e, ERR_LIMIT, "the output is larger than %zu MiB", out->max / MIB);
}

bool fleet_write_rows(struct desk *d, const struct column columns[FLEET_COLUMNS], struct jval list, struct buf *out, struct err *e)
{
    return write_as(d, columns, json_raw(list), (struct jval){.at = -1}, list, out, e);
}

bool fleet_write(struct desk *d, struct slice body, struct buf *out, struct err *e)
{
    struct json doc;
    if (!tidy(d, &body, e) || !json_parse(&doc, body, &d->a, e))
        return false;
    struct jval one = json_root(&doc), items = json_get(one, "items");
    if (json_type(items) == JSON_ARRAY)
        one.at = -1;
    return write_as(d, d->noun->columns, body, one, items, out, e);
}
