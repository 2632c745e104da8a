/* json: documents stay bytes. A document is indexed once (by jsmn, which only this room knows), read by typed getters, and written by
 * splicing. What the documents mean is somebody else's business. Everything is checked against RFC 8259 in full; keys that appear
 * twice in one object are refused, because two readers might pick different ones. */
#ifndef MOBULA_JSON_H
#define MOBULA_JSON_H

#include <mobula/base.h>

/* ---- documents and values ---- */

struct json_token; /* private */

struct json {
    struct slice text;
    const struct json_token *tokens; /* in the arena given to json_parse */
    uint32_t count;
};

enum json_type { JSON_NONE, JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* A value inside a document; by value, valid as long as text and arena. A value that is not there has type JSON_NONE, and every getter
 * on it gives "nothing" again, so that a chain is checked once at its end. */
struct jval {
    const struct json *doc;
    int32_t at; /* -1: not there */
};

/* Indexes text. Exactly one value with white space around it; depth ≤ LIMIT_JSON_DEPTH, ≤ LIMIT_JSON_TOKENS tokens, valid UTF-8, no
 * duplicate keys. The error names the byte offset. */
bool json_parse(struct json *doc, struct slice text, struct arena *a, struct err *e);
struct jval json_root(const struct json *doc);
/* The same for who only wants the root, and lets the document live in a. json_read says whether there is one. */
struct jval json_document(struct slice text, struct arena *a, struct err *e);
static inline __attribute__((always_inline)) bool json_read(struct jval *root, struct slice text, struct arena *a, struct err *e)
{
    *root = json_document(text, a, e);
    return root->at >= 0;
}

/* An object's text, not parsed yet, without the member at a dotted path of plain names; what is cut is not looked at but for its end. In
 * a, unless there is no such member or the text is broken before its end: then it is the text itself. */
struct slice json_without(struct slice text, const char *path, struct arena *a);

enum json_type json_type(struct jval v);
static inline bool json_there(struct jval v)
{
    return v.at >= 0;
}
/* The value's own bytes, quotes included. SLICE_NONE when not there. */
struct slice json_raw(struct jval v);
size_t json_offset(struct jval v); /* of the first byte of the value in doc->text */

/* Member of an object by name; element of an array. The key is compared with the unescaped text. */
struct jval json_key(struct jval object, struct slice key);
struct jval json_at(struct jval array, size_t index);
struct jval json_child(struct jval object, const char *key); /* as json_key; the name may hold dots */
/* By dotted path of plain names: json_get(v, "spec.template.metadata"). Names that hold a dot need json_key. */
struct jval json_get(struct jval v, const char *path);
size_t json_len(struct jval v); /* members or elements; 0 for anything else */

/* Walks an object or an array:  struct jval k, x; for (struct jiter it = json_iter(v); json_next(&it, &k, &x);)
 * k is the key's string value (not there for arrays). */
struct jiter {
    struct jval of, key, value;
    int32_t next;
    uint32_t left;
};
struct jiter json_iter(struct jval v);
bool json_step(struct jiter *it);
/* In the caller, where both are mere copies, and what nobody looks at is none: shorter than to pass where they go. */
static inline __attribute__((always_inline)) bool json_next(struct jiter *it, struct jval *key, struct jval *value)
{
    bool more = json_step(it);
    *key = it->key;
    *value = it->value;
    return more;
}

/* Typed reads. A value of another type, or none, gives the default (SLICE_NONE, false, the given one). */
struct slice json_str(struct jval v, struct arena *a); /* unescaped; in the document where it has no escapes, else in a */
bool json_int(struct jval v, int64_t *out);            /* integers only: 1 and 1.0 and 1e0, not 1.5, not "1" */
bool json_num(struct jval v, double *out);
/* The double (narrow: the float) nearest to a number, which YAML may have written, too; infinite for a number that is too large. */
double json_double(struct slice number, bool narrow);
/* The value rounded to the smallest number of digits at which json_double reads it back; in the third form, reads the same float. For some
 * powers of two a text of one digit less would be read back as well, but is not the nearest of its length: 2^-44 is written as
 * 5.6843418860808015e-14, not as 5.684341886080802e-14. */
enum { DOUBLE_TEXT_MAX = 32 };
enum double_form {
    DOUBLE_JSON,  /* as JavaScript and Go write JSON: with an exponent below 1e-6 and from 1e+21 on */
    DOUBLE_SHORT, /* with an exponent below 1e-04 and from 1e+06 on, as %g */
    DOUBLE_FLOAT, /* likewise */
};
struct slice json_double_text(double value, enum double_form form, char out[DOUBLE_TEXT_MAX]);
bool json_bool(struct jval v, bool otherwise);
bool json_str_eq(struct jval v, struct slice text); /* without an arena */
bool json_is(struct jval v, const char *words);     /* the same */
/* The same by path from v, the commonest read. */
struct slice json_get_str(struct jval v, const char *path, struct arena *a);
int64_t json_get_int(struct jval v, const char *path, int64_t otherwise);
bool json_get_bool(struct jval v, const char *path, bool otherwise);

/* The same value: objects in any member order, numbers by value, strings unescaped. */
bool json_equal(struct jval a, struct jval b);
/* Everything that `want` says stands in `have` too: members of want exist and cover, arrays are equal in length and cover element by
 * element, scalars are equal. Used to see drift in objects that a server has filled with defaults. */
bool json_covers(struct jval have, struct jval want);
/* Bytes in one spelling (members sorted, no white space, minimal escapes): the same value gives the same bytes. For hashes. */
bool json_canonical(struct jval v, struct buf *out);

/* ---- writing ---- */

/* Writes one document into a buffer; commas and quotes are its business. An unbalanced use is a fatal error. */
struct jout {
    struct buf *to;
    uint64_t comma;  /* bit per depth: a value has been written */
    uint64_t object; /* bit per depth: this level is an object */
    unsigned depth;
    bool keyed;
};
void jout_init(struct jout *w, struct buf *to);
void jout_object(struct jout *w);
void jout_array(struct jout *w);
void jout_end(struct jout *w); /* closes the innermost object or array */
void jout_key(struct jout *w, struct slice key);
void jout_str(struct jout *w, struct slice s); /* invalid UTF-8 becomes U+FFFD */
void jout_int(struct jout *w, int64_t n);
void jout_bool(struct jout *w, bool b);
void jout_null(struct jout *w);
void jout_raw(struct jout *w, struct slice json); /* bytes that are one JSON value already */
void jout_val(struct jout *w, struct jval v);     /* a value as it stands in its document */
/* key and value at once, for objects */
void jout_kstr(struct jout *w, const char *key, struct slice s);
void jout_kint(struct jout *w, const char *key, int64_t n);
void jout_kbool(struct jout *w, const char *key, bool b);
void jout_kraw(struct jout *w, const char *key, struct slice json); /* SLICE_NONE writes nothing at all */
void jout_kval(struct jout *w, const char *key, struct jval v);     /* nothing for a value that is not there */
void jout_kobject(struct jout *w, const char *key);
void jout_karray(struct jout *w, const char *key);
/* Much at once, as JSON whose keys are bare and whose quotes are single; printf's conversions stand for values:
 *     jout_form(w, "{apiVersion:'v1',kind:'Pod',metadata:{name:'%.*s',labels:%.*s},ready:%hhd", SLICE_ARG(name), SLICE_ARG(labels), ready)
 *   '…'      a string, of text and conversions (%.*s %s %d %u %lld %zu)
 *   else     JSON: true, 7, %.*s or %s (JSON already; NULL leaves out the key too), a number's conversion, %hhd (a bool)
 *   key?:    left out when its string is empty
 *   %s:      a key may be a conversion
 * It goes on where the calls before it stopped, and what it leaves open, even a key, the next ones go on with. No white space. */
void jout_form(struct jout *w, const char *form, ...) PRINTF_LIKE(2, 3);
/* One JSON string with its quotes, for places outside a document. */
bool json_quote(struct slice s, struct buf *to);

/* ---- changing ---- */

/* RFC 6902: all operations or none. The result is in a. Errors name the operation's index, its op and path. */
bool json_patch(struct slice document, struct slice patch, struct arena *a, struct slice *out, struct err *e);

/* One operation of RFC 6902, read once and run on many documents. */
enum json_op_what { JSON_OP_ADD, JSON_OP_REMOVE, JSON_OP_REPLACE, JSON_OP_MOVE, JSON_OP_COPY, JSON_OP_TEST };
struct json_op {
    enum json_op_what what;
    struct slice path, from;
    struct jval value;
};
const char *json_op_name(const struct json_op *op);
/* extended: for json_edit_run. Paths are checked too, as nobody will see them fail on a document for a while, and add without a value adds
 * null. */
bool json_op_read(struct jval operation, bool extended, struct arena *a, struct json_op *out, struct err *e);

/* A document that operations change one after the other; it is written once, at the end. Beyond RFC 6902,
 * - add makes the objects and arrays that are missing on its path: an array where "-", "*" or an index is looked for in it, else an object;
 *   null counts as missing. An array's element is made only when it is the first;
 * - in an array, name=ray is the first element with that name;
 * - in a path, * is each element of an array; add makes one in an array that has none; ? is each of those that there are, of an array that
 * is missing none. After an error (in the *e given here) the edit is of no more use. */
struct json_edit;
struct json_edit *json_edit_new(const struct json *doc, struct arena *a, struct err *e);
bool json_edit_run(struct json_edit *x, const struct json_op *op);
/* The text at a path of keys as it is now; SLICE_NONE: there is none. */
struct slice json_edit_str(struct json_edit *x, const struct slice *keys, size_t count);
bool json_edit_text(struct json_edit *x, struct slice *out); /* may be asked for between operations */

/* RFC 7386 */
bool json_merge(struct slice document, struct slice patch, struct arena *a, struct slice *out, struct err *e);
/* The same of a value that is indexed already. */
bool json_merge_into(struct jval document, struct slice patch, struct arena *a, struct slice *out, struct err *e);
/* RFC 6901: the value at "/spec/containers/0"; not there when the path leads nowhere or is malformed. */
struct jval json_pointer(struct jval v, struct slice pointer);

/* ---- slicing streams: lists and watches are cut into items before anything is indexed ---- */

enum json_stream {
    JSON_STREAM_LIST,  /* one object; the elements of its top-level array "items" are the items, wherever "items" stands */
    JSON_STREAM_LINES, /* one JSON object after another, white space between: a watch */
};

enum json_step {
    JSON_MORE, /* all bytes were used; come again with more */
    JSON_ITEM, /* *item is one object, valid until the next call */
    JSON_OVER, /* an item above max_item, or deeper than LIMIT_JSON_DEPTH, was passed over; come again with the rest */
    JSON_DONE, /* LIST: the document is complete; json_slicer_envelope gives the rest of it */
    JSON_BAD,  /* malformed, or a limit of the envelope was reached: *e says what */
};

struct json_slicer {
    enum json_stream stream;
    size_t max_item;
    struct buf item;     /* the item that is being gathered; grows to max_item */
    struct buf envelope; /* LIST: the document with its items taken out: {"kind":…,"metadata":{…},"items":[]} */
    unsigned state, depth;
    uint64_t open;   /* bit per depth: 1 object, 0 array */
    unsigned beyond; /* brackets open below LIMIT_JSON_DEPTH: that item is passed over */
    bool in_string, escaped, over, items_seen;
    unsigned key_len;
    char key[8];
    uint64_t skipped; /* items passed over so far */
};

void json_slicer_init(struct json_slicer *s, enum json_stream stream, size_t max_item);
void json_slicer_free(struct json_slicer *s);
void json_slicer_reset(struct json_slicer *s); /* a new stream of the same kind; memory kept */
/* Uses bytes off the front of *in. Depth and size limits are enforced here, before any token exists. */
enum json_step json_slice(struct json_slicer *s, struct slice *in, struct slice *item, struct err *e);
struct slice json_slicer_envelope(const struct json_slicer *s);
/* The stream ended: true when it ended between items (LINES) or after the document (LIST). */
bool json_slicer_at_rest(const struct json_slicer *s);

#endif
