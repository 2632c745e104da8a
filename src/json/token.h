/* Shared by the files of json: the token, the scanning of strings, and numbers by value. */
#ifndef MOBULA_JSON_TOKEN_H
#define MOBULA_JSON_TOKEN_H

#include <mobula/json.h>

#include <endian.h>

struct json_token {
    uint32_t start, end; /* the value's bytes in the text; of a string those between its quotes */
    uint32_t next;       /* the first token behind this value and everything in it: what makes skipping a step */
    uint32_t size;       /* members or elements */
    uint8_t type;        /* enum json_type */
    bool escaped;        /* a string with at least one backslash */
};

#define JVAL_NONE ((struct jval){NULL, -1})

static inline const struct json_token *json_token(struct jval v)
{
    return v.at >= 0 && v.doc ? &v.doc->tokens[v.at] : NULL;
}

static inline bool json_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The first byte from p on that is not plain inside a string: a quote, a backslash, a control byte; or end. Eight bytes at a time: in
 * each test the lowest bit that is set marks the first byte that was meant. */
static inline const char *json_plain_end(const char *p, const char *end)
{
    const uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;
    for (; end - p >= 8; p += 8) {
        uint64_t x;
        memcpy(&x, p, sizeof x);
        x = le64toh(x);
        uint64_t quote = x ^ ones * '"', backslash = x ^ ones * '\\';
        uint64_t hit = (((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) | ((x - ones * 0x20) & ~x)) & highs;
        if (hit)
            return p + __builtin_ctzll(hit) / 8;
    }
    while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20)
        p++;
    return p;
}

/* ---- scan.c: one pass before jsmn ---- */

/* Everything that jsmn would be slow on or blind to inside its tokens: depth, count, UTF-8, control bytes, escapes and surrogates. */
bool json_scan(struct slice text, uint32_t *tokens, struct err *e);
/* The output of a change, copied into a if it keeps to the limits of a document: so that a later parse cannot exceed a limit. */
bool json_result(const struct buf *text, struct arena *a, struct slice *out, struct err *e);

/* ---- string.c ---- */

/* Decodes the text between a string's quotes, which json_scan has seen; out has room for raw.len bytes. */
size_t json_unescape(struct slice raw, char *out);
/* A string token's text, decoded into a when it must be. */
struct slice json_token_text(const struct json *doc, const struct json_token *t, struct arena *a);
bool json_token_eq(const struct json *doc, const struct json_token *t, struct slice text);

/* ---- number.c ---- */

bool json_number_valid(struct slice s);

/* A number by value: digits (from the first to the last that is not 0; none for zero) times 10^exp10. */
struct json_decimal {
    struct slice digits; /* a point may lie inside, and counts for nothing */
    size_t count;        /* of digits, without the point */
    int64_t exp10;
    bool negative;
};
struct json_decimal json_decimal(struct slice number);
char json_next_digit(struct slice *digits); /* steps over the point */
bool json_decimal_eq(struct json_decimal a, struct json_decimal b);
/* The one spelling of its value: integers of a usual size in full, everything else as digits and exponent. */
struct slice json_decimal_text(struct json_decimal d, struct arena *a);

/* ---- members.c ---- */

struct json_member {
    struct slice key; /* decoded */
    struct jval value;
};
/* An object's members in the order of their keys' bytes; json_len(object) of them. */
struct json_member *json_members(struct jval object, struct arena *a);
/* The value of a key among sorted members. */
struct jval json_member_find(const struct json_member *members, size_t count, struct slice key);
/* Refuses an object in which a key stands twice. */
bool json_members_unique(struct jval object, struct arena *a, struct err *e);

/* json_equal with the caller's memory. */
bool json_equal_in(struct jval a, struct jval b, struct arena *mem);

#endif
