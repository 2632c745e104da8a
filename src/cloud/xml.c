/* Reads the XML answers of S3 and STS: elements with text. DOCTYPE, CDATA, comments and custom entities are refused, because no store sends
 * them. */
#include <mobula/cloud.h>

#include <stdio.h>

_Static_assert(COUNT_OF(((struct cloud_xml *)0)->open) == LIMIT_CLOUD_XML, "the limit is the array's length");

static bool bad(struct err *e, const char *why)
{
    return err_set(e, ERR_SYNTAX, "the store's answer is not valid XML: %s; is a proxy or another program answering?", why);
}

/* Cuts an entity such as "&amp;" or "&#x2F;" off the front of *s and writes its character. False: it is unknown or invalid. */
static bool decode_entity(struct slice *s, struct buf *out)
{
    static const struct {
        const char *name;
        char c;
    } named[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    char utf8[4];
    struct slice rest = *s, name = slice_cut(&rest, ';');
    if (!rest.ptr || name.len > 9)
        return false;
    name = slice_skip(name, 1);
    *s = rest;
    for (size_t i = 0; i < COUNT_OF(named); i++)
        if (slice_is(name, named[i].name))
            return buf_putc(out, named[i].c);
    bool hex = slice_starts(name, SLICE("#x"));
    if (!slice_starts(name, SLICE("#")) || name.len == 1U + hex)
        return false;
    uint32_t point = 0;
    for (size_t i = 1U + hex; i < name.len; i++) {
        char c = name.ptr[i], low = (char)(c | 0x20);
        bool digit = c >= '0' && c <= '9';
        if (!digit && (!hex || low < 'a' || low > 'f'))
            return false;
        point = point * (hex ? 16 : 10) + (uint32_t)(digit ? c - '0' : low - 'a' + 10);
    }
    if (point == 0 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
        return false;
    return buf_put(out, (struct slice){utf8, utf8_encode(point, utf8)});
}

static bool decode_text(struct slice raw, struct arena *a, struct slice *out)
{
    __attribute__((cleanup(buf_free))) struct buf b = {.max = raw.len + 1};
    *out = raw;
    if (slice_find(raw, '&') < 0)
        return true;
    while (!slice_empty(raw)) {
        if (raw.ptr[0] == '&' && !decode_entity(&raw, &b))
            return false;
        ptrdiff_t n = slice_find(raw, '&');
        struct slice plain = slice_head(raw, n < 0 ? raw.len : (size_t)n);
        buf_put(&b, plain);
        raw = slice_skip(raw, plain.len);
    }
    *out = arena_dup(a, buf_slice(&b));
    return true;
}

/* Cuts a tag off the front, up to its ">", which may also occur in quoted attribute values. False: it is unterminated. */
static bool cut_tag(struct slice *rest, struct slice *tag)
{
    char quote = '\0';
    for (size_t i = 0; i < rest->len; i++) {
        char c = rest->ptr[i];
        if (quote ? c == quote : c == '"' || c == '\'')
            quote = quote ? '\0' : c;
        else if (!quote && c == '<')
            return false;
        else if (!quote && c == '>') {
            *tag = slice_head(*rest, i);
            *rest = slice_skip(*rest, i + 1);
            return true;
        }
    }
    return false;
}

static struct slice name_of(struct slice tag)
{
    size_t n = 0;
    while (n < tag.len && (unsigned char)tag.ptr[n] > ' ')
        n++;
    return slice_head(tag, n);
}

static struct slice without_prefix(struct slice name)
{
    struct slice rest = name, prefix = slice_cut(&rest, ':');
    return rest.ptr ? rest : prefix;
}

static enum cloud_xml_step open_element(struct cloud_xml *x, struct slice tag, struct slice *name, struct err *e)
{
    x->empty = slice_ends(tag, SLICE("/"));
    tag.len -= x->empty;
    struct slice whole = name_of(tag);
    if (slice_empty(whole) || (x->depth == 0 && x->begun)) {
        bad(e, "an element has no name, or there is more than one root");
        return CLOUD_XML_BAD;
    }
    if (x->depth == LIMIT_CLOUD_XML) {
        err_put(e, ERR_LIMIT, "elements of the store's answer are nested more than %d deep (LIMIT_CLOUD_XML)", LIMIT_CLOUD_XML);
        return CLOUD_XML_BAD;
    }
    x->begun = true;
    x->open[x->depth++] = whole;
    *name = without_prefix(whole);
    return CLOUD_XML_OPEN;
}

enum cloud_xml_step cloud_xml_next(struct cloud_xml *x, struct arena *a, struct slice *name, struct slice *text, struct err *e)
{
    struct slice tag;
    *text = SLICE("");
    if (x->empty) {
        x->empty = false;
        *name = without_prefix(x->open[--x->depth]);
        return CLOUD_XML_CLOSE;
    }
    for (;;) {
        ptrdiff_t at = slice_find(x->rest, '<');
        struct slice before = slice_head(x->rest, at < 0 ? x->rest.len : (size_t)at);
        if (x->depth == 0 && !slice_empty(slice_trim(before)) && !slice_is(slice_trim(before), "\xef\xbb\xbf"))
            break;
        if (at < 0 && x->depth == 0 && x->begun)
            return CLOUD_XML_END;
        x->rest = slice_skip(x->rest, before.len + (at >= 0));
        if (at < 0 || !cut_tag(&x->rest, &tag) || slice_empty(tag) || tag.ptr[0] == '!' || !decode_text(before, a, text))
            break;
        if (tag.ptr[0] == '?') {
            if (x->begun)
                break;
            continue;
        }
        if (tag.ptr[0] != '/')
            return open_element(x, tag, name, e);
        if (x->depth == 0 || !slice_eq(slice_trim(slice_skip(tag, 1)), x->open[x->depth - 1]))
            break;
        *name = without_prefix(x->open[--x->depth]);
        return CLOUD_XML_CLOSE;
    }
    bad(e, x->depth ? "it is cut off, or a closing tag differs from its opening tag"
                    : "it has text, or a second element, outside of the root element");
    return CLOUD_XML_BAD;
}

struct slice cloud_xml_text(struct slice document, const char *wanted, struct arena *a)
{
    struct cloud_xml x = {.rest = document};
    struct slice name, text;
    struct err e = {0};
    for (enum cloud_xml_step step; (step = cloud_xml_next(&x, a, &name, &text, &e)) < CLOUD_XML_END;)
        if (step == CLOUD_XML_CLOSE && slice_is(name, wanted))
            return text;
    return SLICE_NONE;
}

/* ---- lists of objects ---- */

/* Azure's dates are those of HTTP. */
static struct slice read_date(struct slice text, struct arena *a)
{
    char out[TIME_TEXT_MAX];
    int64_t us;
    return http_date(text, &us) ? arena_dup(a, time_format(us, out)) : text;
}

static void take_field(struct cloud_object *o, struct slice name, struct slice text, struct arena *a, bool *well)
{
    if (slice_is(name, "Key") || slice_is(name, "Prefix") || slice_is(name, "Name"))
        o->key = text;
    else if (slice_is(name, "Size") || slice_is(name, "Content-Length"))
        *well &= slice_int(text, &o->size) && o->size >= 0;
    else if (slice_is(name, "LastModified"))
        o->modified = text;
    else if (slice_is(name, "Last-Modified"))
        o->modified = read_date(text, a);
}

/* Names come from the store: an object without one, or one that cannot be decoded, makes the list invalid. */
bool cloud_list_read(struct slice document, struct arena *a, struct cloud_list *out, struct err *e)
{
    struct cloud_xml x = {.rest = document};
    struct cloud_object one = {0};
    struct slice name, text;
    uint32_t room = 0;
    bool well = true, truncated = false, list = false, encoded = false, azure = false;
    enum cloud_xml_step step;
    *out = (struct cloud_list){0};
    while ((step = cloud_xml_next(&x, a, &name, &text, e)) < CLOUD_XML_END) {
        bool item =
            slice_is(name, "Contents") || slice_is(name, "CommonPrefixes") || slice_is(name, "Blob") || slice_is(name, "BlobPrefix");
        azure |= slice_is(name, "EnumerationResults");
        list |= azure || slice_is(name, "ListBucketResult");
        if (step == CLOUD_XML_OPEN && item)
            one = (struct cloud_object){.key = SLICE(""), .modified = SLICE("")};
        if (step != CLOUD_XML_CLOSE)
            continue;
        if (x.depth >= 2)
            take_field(&one, name, text, a, &well);
        else if (slice_is(name, "IsTruncated"))
            truncated = slice_is(text, "true");
        else if (slice_is(name, "NextContinuationToken") || slice_is(name, "NextMarker"))
            out->next = text;
        else if (slice_is(name, "EncodingType")) /* some stores ignore encoding-type=url: names are encoded only if the answer says so */
            encoded = slice_is(text, "url");
        if (!item || x.depth != 1U + azure)
            continue;
        if (out->count == room) {
            struct cloud_object *more = arena_array(a, room = room ? 2 * room : 64, sizeof *more);
            if (out->count)
                memcpy(more, out->objects, out->count * sizeof *more);
            out->objects = more;
        }
        well &= !slice_empty(one.key);
        out->objects[out->count++] = one;
    }
    if (step == CLOUD_XML_BAD)
        return false;
    for (uint32_t i = 0; encoded && i < out->count; i++)
        well &= http_query_decode(out->objects[i].key, a, &out->objects[i].key);
    return (well && list && (azure || truncated == !slice_empty(out->next))) ||
           err_set(e, ERR_SYNTAX,
                   "the store's answer is not a list of objects: an object has no name, or a page has no token of the next one");
}
