/* base: what every room stands on. Bytes, memory, errors, time, chance, the log, and the text formats that Kubernetes writes numbers
 * and times in. Nothing here knows a protocol. */
#ifndef MOBULA_BASE_H
#define MOBULA_BASE_H

#include <mobula/limits.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The room a file belongs to, for log lines; the build sets it per folder. */
#ifndef MOBULA_ROOM
#define MOBULA_ROOM "mobula"
#endif

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
/* base/format.c has no conversion of floating point, so functions with a format need not save floating-point registers: on amd64 60 bytes
 * less for each. */
#if defined MOBULA_PRODUCT && !defined __clang__
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first), target("general-regs-only")))
#else
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#endif

/* ---- slices: a view of bytes that somebody else owns. Passed by value, never freed; nothing promises a NUL behind it. ---- */

struct slice {
    const char *ptr; /* NULL means "absent", which differs from "empty" only where a comment says so */
    size_t len;
};

#define SLICE(literal) ((struct slice){"" literal, sizeof(literal) - 1})
#define SLICE_NONE ((struct slice){NULL, 0})
/* For printf: printf("%.*s", SLICE_ARG(s)). What is absent has no byte, and neither musl nor glibc looks at the pointer for none. */
#define SLICE_ARG(s) (int)(s).len, (s).ptr

struct slice slice_of(const char *nul_terminated); /* NULL gives SLICE_NONE */
int slice_cmp(struct slice a, struct slice b);     /* bytewise, shorter first */
bool slice_starts(struct slice s, struct slice prefix);
bool slice_ends(struct slice s, struct slice suffix);
bool slice_is(struct slice s, const char *words);     /* the same bytes */
bool slice_eq_nocase(struct slice a, struct slice b); /* ASCII only */
struct slice slice_trim(struct slice s);              /* without ASCII white space at both ends */
/* Index of the first byte c, or -1. */
ptrdiff_t slice_find(struct slice s, char c);
/* Where words stand for the first or the last time; -1 when they do not. */
ptrdiff_t slice_find_text(struct slice s, const char *words);
ptrdiff_t slice_find_text_last(struct slice s, const char *words);
bool slice_has(struct slice s, const char *words);
/* Cuts s at the first sep: returns what stands before it and leaves what stands behind it in *s (SLICE_NONE when there was no sep). */
struct slice slice_cut(struct slice *s, char sep);
/* Whether entry is one of "a, b, c". */
bool slice_listed(struct slice list, struct slice entry);
/* A decimal integer and nothing else: an optional minus, digits, no leading zeros, no overflow. */
bool slice_int(struct slice s, int64_t *out);
/* Into a field of so many bytes, with NULs up to its end; false, and nothing is written, when there is no room for one. */
bool slice_copy(struct slice s, char *to, size_t size);
struct slice slice_behind(char **at, struct slice s); /* copies it to *at, which moves behind it; SLICE_NONE of an empty one */

static inline bool slice_eq(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool slice_empty(struct slice s)
{
    return s.len == 0;
}

/* Drops the first n bytes; n must not exceed s.len. */
static inline struct slice slice_skip(struct slice s, size_t n)
{
    return (struct slice){n ? s.ptr + n : s.ptr, s.len - n}; /* NULL + 0 is undefined in C17 */
}

static inline struct slice slice_head(struct slice s, size_t n)
{
    return (struct slice){s.ptr, n < s.len ? n : s.len};
}

/* ---- errors ---- */

enum err_code {
    ERR_NONE,
    ERR_SYNTAX,    /* the bytes are not what the format allows */
    ERR_TYPE,      /* well formed, but another kind of value was wanted */
    ERR_RANGE,     /* well formed, but the value does not fit */
    ERR_LIMIT,     /* a named limit was reached */
    ERR_MISSING,   /* something that must be there is not */
    ERR_CONFIG,    /* settings of the user or the environment cannot work */
    ERR_IO,        /* the operating system refused */
    ERR_DENIED,    /* the egress allowlist or a policy says no */
    ERR_DNS,       /* a name has no address */
    ERR_CONNECT,   /* no TCP connection */
    ERR_PROXY,     /* the CONNECT proxy said no */
    ERR_TLS,       /* TLS itself */
    ERR_TLS_NAME,  /* the certificate is for another name */
    ERR_TLS_TRUST, /* the certificate is not signed by a known CA, or expired */
    ERR_CLOSED,    /* the peer ended the connection before the answer was complete */
    ERR_TIMEOUT,   /* a deadline passed */
    ERR_HTTP,      /* the answer breaks HTTP */
    ERR_STATUS,    /* a well-formed answer that says no; the kube room keeps its code and reason */
};

enum { ERR_TEXT_MAX = KIB }; /* of a server's or a kubelet's own words, too: people act on their end as often as on their beginning */

/* The failure, in words for the person who reads the log. The first one wins: setting an error that is set changes nothing, so a chain of
 * calls may be checked once, at its end. Zero-initialise it. */
struct err {
    enum err_code code;
    char text[ERR_TEXT_MAX]; /* NUL-terminated; of a longer one the beginning, and "…" */
};

/* err_set is false, so that a function fails in one line: return err_set(e, ERR_RANGE, …). e may be NULL. The compiler sees that it is
 * false, so what the caller would do otherwise costs no code. */
void err_put(struct err *e, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
static inline bool err_false(void)
{
    return false;
}
#define err_set(e, code, ...) (err_put(e, code, __VA_ARGS__), err_false())
/* Puts "fmt: " before the text of an error that is set; for the caller that knows whose file or which object it was. Returns false. */
bool err_wrap(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
const char *err_code_name(enum err_code code); /* "syntax", "dns", "tls-name" …: a stable word for logs and metrics */

/* ---- memory ---- */

/* An arena gives memory that is freed as a whole. Memory is zeroed and 16-byte aligned. Running out of memory ends the process: all
 * state is in the API server, and inputs are bounded before they get here. Zero-initialise it. */
struct arena_block;
struct arena {
    struct arena_block *first, *last;
    size_t used; /* bytes handed out since the last reset */
};

void *arena_alloc(struct arena *a, size_t size);
void *arena_array(struct arena *a, size_t count, size_t size); /* overflow-checked */
struct slice arena_dup(struct arena *a, struct slice s);       /* the copy has a NUL behind it */
struct slice slice_lower(struct slice s, struct arena *a);     /* a copy with ASCII letters in lower case */
struct slice arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct slice arena_clean(struct arena *a, struct slice text, size_t max); /* text as one line of at most max bytes: utf8_clean */
struct slice arena_cut(struct arena *a, struct slice text, size_t max);   /* at most max bytes of text, cut as utf8_copy does */
#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type)))
/* Everything handed out is gone. At most `keep` bytes of blocks stay for the next round; the rest goes back to the system. */
void arena_reset(struct arena *a, size_t keep);
void arena_free(struct arena *a);
void arena_wipe(struct arena *a); /* zeroes an arena that held secrets, and frees it */

/* Checked malloc family: never NULL. */
void *mem_alloc(size_t size); /* zeroed */
void *mem_resize(void *p, size_t size);
void mem_free(void *p);
void mem_wipe(void *p, size_t size); /* not optimised away: keys and tokens */

/* A byte buffer that grows up to max. Writing past max sets `full`, writes nothing, and keeps every later write from doing anything, so
 * that a chain of writes may be checked once. */
struct buf {
    char *ptr;
    size_t len, cap, max;
    bool full;
};

void buf_init(struct buf *b, size_t max);
void buf_free(struct buf *b);                /* usable again afterwards, with the same max */
void buf_wipe(struct buf *b);                /* buf_free of what held a key or a token */
void buf_clear(struct buf *b);               /* len 0, full false, memory kept */
void buf_shrink(struct buf *b, size_t keep); /* clear, and give memory beyond keep back */
bool buf_put(struct buf *b, struct slice s);
bool buf_putc(struct buf *b, char c);
bool buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Room for at least n more bytes behind ptr + len, or NULL (and full). The caller adds to len what it wrote. */
char *buf_room(struct buf *b, size_t n);
void buf_drop(struct buf *b, size_t n); /* the first n bytes */

static inline struct slice buf_slice(const struct buf *b)
{
    return (struct slice){b->ptr, b->len};
}

/* A hash map from bytes to pointers. The key's bytes are the caller's and must stay as long as the entry; usually they lie inside the
 * value. Keyed with a random seed, so that names chosen by users cannot make it slow. Zero-initialise it. */
struct map_slot;
struct map {
    struct map_slot *slots;
    uint32_t count, used, cap;
};

void *map_get(const struct map *m, struct slice key);        /* NULL when absent */
void *map_put(struct map *m, struct slice key, void *value); /* returns the value replaced, or NULL; value must not be NULL */
void *map_del(struct map *m, struct slice key);              /* returns what was there, or NULL */
/* for (uint32_t i = 0; (v = map_next(&m, &i)) != NULL;) — the map may lose the current entry during the walk, and no other. */
void *map_next(const struct map *m, uint32_t *i);
void map_free(struct map *m);
/* For tests and simulators, before any map is used: the same walk in every run. */
void map_seed_set(uint64_t seed);

/* Interned strings: each text is stored once and counted. */
struct istr {
    uint32_t refs;
    uint32_t len;
    char text[]; /* NUL behind it */
};
struct intern {
    struct map map;
};
const struct istr *intern_get(struct intern *t, struct slice s); /* counts one more user */
const struct istr *intern_keep(const struct istr *s);            /* another user of the same */
void intern_drop(struct intern *t, const struct istr *s);        /* NULL is fine */
void intern_free(struct intern *t);

static inline struct slice istr_slice(const struct istr *s)
{
    return s ? (struct slice){s->text, s->len} : SLICE_NONE;
}

/* Records of one size, in pages. Addresses are stable. Pages that become empty go back to the system. */
struct slab_page;
struct slab {
    size_t size; /* set by the caller before the first use: bytes of one record, 1 to 8192 */
    struct slab_page *pages;
    size_t count;
};
void *slab_alloc(struct slab *s); /* zeroed */
void slab_free(struct slab *s, void *record);
void slab_destroy(struct slab *s);

/* ---- time: read once per step by the loop (or invented by a test) and passed down ---- */

struct now {
    int64_t mono_ms; /* monotonic: every deadline is one of these, absolute */
    int64_t wall_us; /* microseconds since 1970, UTC: only for what people and the API read */
};
#define TIME_NEVER INT64_MAX /* a deadline that does not come */

struct now clock_now(void); /* the only place that asks the system */
/* Of two deadlines the one that comes first. */
static inline int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

enum { TIME_TEXT_MAX = 32 };
#define TIME_DAY_US (INT64_C(86400) * 1000000)
struct slice time_format(int64_t wall_us, char out[TIME_TEXT_MAX]);       /* 2026-11-21T03:04:05Z, metav1.Time */
struct slice time_format_micro(int64_t wall_us, char out[TIME_TEXT_MAX]); /* 2026-11-21T03:04:05.000006Z, metav1.MicroTime */
bool time_parse(struct slice rfc3339, int64_t *wall_us, struct err *e);   /* any offset, 0 to 9 fraction digits */
/* Days since 1970-01-01 and the date that they are, in the proleptic Gregorian calendar. */
struct time_civil {
    int year, month, day; /* month and day from 1 */
};
int64_t time_days(struct time_civil c);
struct time_civil time_civil(int64_t days);
/* "42 s", "3 min 7 s", "5 h 12 min", "3 d 4 h": as precise as an age printed by kubectl. */
struct slice time_format_age(int64_t seconds, char out[TIME_TEXT_MAX]);
bool duration_parse(struct slice text, int64_t *ms, struct err *e); /* "500ms", "5s", "1m30s", "2h", "30d", "0" */

/* ---- chance: one generator per owner, seeded from the system or by a test ---- */

struct rng {
    uint64_t s[4];
};
void rng_seed(struct rng *r, uint64_t seed);
void rng_seed_system(struct rng *r);
uint64_t rng_next(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n); /* 0 … n-1, unbiased; n > 0 */
void random_bytes(void *out, size_t n);        /* from the system, for keys; ends the process when there is none */

/* Exponential backoff with full jitter: the n-th failure (from 0) waits a random time in [cap/2, cap], cap = min(first * 2^n, max). */
int64_t backoff_ms(struct rng *r, unsigned failures, int64_t first_ms, int64_t max_ms);
/* A rate: one in every_ms, after `burst` at once. *full_ms: 0 at first, and then the function's. False: not now. */
bool rate_pays(int64_t *full_ms, int64_t every_ms, int64_t burst, struct now now);

/* ---- hashes: SipHash-1-3; with seed 0 the same on every machine and in every version, so that names may be made of it ---- */

uint64_t hash64(struct slice s, uint64_t seed);
enum { NAME_SUFFIX = 5 };
/* Five characters of the alphabet that Kubernetes uses for generated names (bcdfghjklmnpqrstvwxz2456789), no NUL. */
void hash_suffix(uint64_t hash, char out[NAME_SUFFIX]);

/* ---- words ---- */

/* "did you mean": of the words tried, the one nearest to what was typed, when at most NEAREST_LETTERS letters must be put in, left out or
 * changed. Longer words than NEAREST_MAX are near to nothing. */
enum { NEAREST_MAX = 32, NEAREST_LETTERS = 2 };
struct nearest {
    struct slice typed;
    struct slice best; /* .ptr NULL: none is near */
    unsigned distance;
};
void nearest_try(struct nearest *n, struct slice word);

/* ---- text formats ---- */

bool base64_encode(struct slice in, struct buf *out);
/* Standard alphabet, padding required, white space between lines allowed. */
bool base64_decode(struct slice in, struct buf *out, struct err *e);
/* Two lower-case hexadecimal digits for each byte, and NUL: out has room for 2 * in.len + 1. */
void hex_encode(struct slice in, char *out);

/* A deflate stream (RFC 1951: what stands in gzip behind its header). Appends to out; bytes behind the stream's end are left alone. */
bool inflate(struct slice in, struct buf *out, struct err *e);
/* Appends `in`, which is less than 4 GiB, as such a stream. False: out is full. */
bool deflate(struct slice in, struct buf *out);
bool deflate_quick(struct slice in, struct buf *out); /* in less time, and larger */
/* The stream that stubs of older programs unpack (src/artifact/carry.c): the number of a block's codes for distances has 6 bits instead of
 * 5, because those stubs also read distances up to 2 MiB. */
bool deflate_far(struct slice in, struct buf *out);
bool inflate_far(struct slice in, struct buf *out, struct err *e);
/* A gzip file. gunzip takes only those that gzip writes: one member without a name. */
bool gzip(struct slice in, struct buf *out);
bool gunzip(struct slice in, struct buf *out, struct err *e);
unsigned deflate_nth_length(
    unsigned i); /* for inflate and deflate: the order in which code lengths of the code length alphabet are written, RFC 1951 §3.2.7 */
uint32_t crc32(struct slice in); /* as in zip files */
/* CRC-32C of bytes that follow others whose CRC-32C is crc; 0: none. crc32c_portable: without the processor's instruction, for tests. */
uint32_t crc32c(uint32_t crc, struct slice bytes);
uint32_t crc32c_portable(uint32_t crc, struct slice bytes);

/* Chains: earlier places of a text with the same first bytes, for those who compress it. */
struct chains {
    unsigned bytes, bits; /* how many bytes are hashed, and to how many bits */
    size_t window;        /* bytes, a power of 2 */
    uint32_t *before;     /* for each of the window: the place before it with the same hash, as in head */
    uint32_t head[];      /* 1 + the last place of bytes with this hash; 0: none */
};

/* To be freed with mem_free. */
struct chains *chains_new(unsigned bytes, unsigned bits, size_t window);
/* The next place within the window of `at` that has the same hash: first call: from 0. 1 + the place; 0: none. */
size_t chains_next(const struct chains *c, struct slice in, size_t at, size_t from);
void chains_enter(struct chains *c, struct slice in, size_t at);

/* Kubernetes quantities ("500m", "1.5Gi", "2e3") in units of 10^-decimals: 0 for bytes and counts, 3 for milli-CPU. What is finer than
 * one unit is rounded up, as the API server does. Negative values are refused. *out is written only on success. */
enum { QUANTITY_DIGITS_MAX = 18, QUANTITY_TEXT_MAX = 32 };
bool quantity_parse(struct slice text, int decimals, int64_t *out, struct err *e);
/* How it is written: k M … and m, Ki Mi …, or e3 e6 …. The form of text that quantity_parse takes, which sums keep, as in Kubernetes. */
enum quantity_form { QUANTITY_DECIMAL, QUANTITY_BINARY, QUANTITY_EXPONENT };
enum quantity_form quantity_form(struct slice text);
/* Canonical text of value * 10^-decimals in that form: the largest suffix without a fraction. */
struct slice quantity_format(int64_t value, int decimals, enum quantity_form form, char out[QUANTITY_TEXT_MAX]);

bool utf8_valid(struct slice s);
/* Bytes of the character that s begins with, 1 to 4, or 0 when they are not UTF-8 (or s is empty). */
size_t utf8_step(struct slice s);
/* Of one character, as utf8_step measures it: whether a terminal or a line reader would act on it. C0, DEL, and C1 in its UTF-8 form. */
bool utf8_control(struct slice character);
/* Foreign text as one line: white space and control characters become one space each run, bytes that are not UTF-8 a question mark. Text
 * that has no room is cut off after a whole character, and "…" stands in its place. NUL-terminated; size is at least 1. */
struct slice utf8_clean(struct slice text, char *out, size_t size);
/* The text as it is, up to a byte that is no UTF-8; cut and ended likewise. */
struct slice utf8_copy(struct slice text, char *out, size_t size);
/* Writes a code point, which must be one (no surrogate, at most 0x10ffff), and gives its length. */
size_t utf8_encode(uint32_t point, char out[4]);

/* Kubernetes' own name rules. */
bool name_dns1123_label(struct slice s);     /* [a-z0-9]([-a-z0-9]*[a-z0-9])?, ≤ 63 */
bool name_dns1035_label(struct slice s);     /* the same, starting with a letter */
bool name_dns1123_subdomain(struct slice s); /* labels joined by dots, ≤ 253 */
bool name_dns_host(struct slice s);          /* such a subdomain that DNS can hold: each label ≤ 63, which Kubernetes does not ask */
bool name_qualified(struct slice s);         /* a label or annotation key: [prefix/]name */
bool name_label_value(struct slice s);       /* empty, or ≤ 63 of [A-Za-z0-9._-], alphanumeric at both ends */

/* ---- the log: one line per call, logfmt or JSON ---- */

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* A field of a line is three arguments of log_line: what kind of value, its key, its value. */
enum log_field { LOG_FIELD_NONE, LOG_FIELD_TEXT, LOG_FIELD_CSTR, LOG_FIELD_INT, LOG_FIELD_BOOL };
static inline const char *log_cstr(const char *s)
{
    return s;
}
static inline struct slice log_text(struct slice s)
{
    return s;
}
#define LF(k, v) LOG_FIELD_TEXT, log_cstr(k), log_text(v)
#define LF_CSTR(k, v) LOG_FIELD_CSTR, log_cstr(k), log_cstr(v)
#define LF_INT(k, v) LOG_FIELD_INT, log_cstr(k), (int64_t)(v)
#define LF_BOOL(k, v) LOG_FIELD_BOOL, log_cstr(k), (int)(bool)(v)

struct log {
    enum log_level level;
    bool json;
    int fd;                                       /* -1: lines go to `sink` only */
    void (*sink)(void *owner, struct slice line); /* NULL, or called with each line, without its newline: tests and simulators */
    void *owner;
    int64_t (*wall_us)(void); /* NULL: the system's clock */
};
extern struct log log_global; /* the one log of the process; level LOG_INFO, logfmt, fd 1 */

/* ts=… level=… room=… msg="…" key=value …; values are quoted when they need it, control bytes and invalid UTF-8 are escaped, a line is
 * cut at 4 KiB. */
void log_line(enum log_level level, const char *room, const char *msg, ...); /* LF… for each field, LOG_FIELD_NONE behind them */
#define log_at(level, msg, ...) log_line(level, MOBULA_ROOM, msg, __VA_ARGS__ __VA_OPT__(, ) LOG_FIELD_NONE)
#define log_debug(msg, ...) log_at(LOG_DEBUG, msg __VA_OPT__(, ) __VA_ARGS__)
#define log_info(msg, ...) log_at(LOG_INFO, msg __VA_OPT__(, ) __VA_ARGS__)
#define log_warn(msg, ...) log_at(LOG_WARN, msg __VA_OPT__(, ) __VA_ARGS__)
#define log_error(msg, ...) log_at(LOG_ERROR, msg __VA_OPT__(, ) __VA_ARGS__)
/* A line without time, level or quoting: the legacy kind's "<cluster>:…" lines. It stays one line: control bytes but tabs are escaped. */
void log_raw(struct slice line);

/* Says a thing once, then at most once a minute while it goes on. Zero-initialise it. A call that passes starts a new count, so whoever
 * wants to say how many were held reads `held` before. */
struct log_limit {
    int64_t next_ms;
    uint32_t held; /* lines held back since the last one */
};
bool log_limit_pass(struct log_limit *l, struct now now);

/* The same for many things, which come by turns: `what` is a hash of all that makes one of them the same. When as many as are remembered
 * were said within a minute, others are held back: a thousand peers that are lost together are not a thousand lines. Zero-initialise it. */
struct log_memory {
    struct {
        uint64_t what;
        int64_t next_ms;
    } said[LIMIT_LOG_SAID];
    uint32_t held; /* others that were held back since something passed; read it before, as above */
};
bool log_memory_pass(struct log_memory *m, uint64_t what, struct now now);

/* Prints "mobula: fatal: …" on stderr and aborts. For what cannot be survived: no memory, no randomness, a broken invariant. */
_Noreturn void fatal(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
