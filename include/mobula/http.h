/* http: HTTP/1.1 messages, both sides, as pure functions of bytes. Who is on the other end, and how bytes travel, is unknown here.
 *
 * What is ambiguous is refused, because two readers of one stream must never see two messages: Content-Length beside Transfer-Encoding,
 * two different lengths, a bare CR or LF, white space before a colon, folded headers, an unknown transfer coding, a content coding that
 * was not asked for, chunk sizes with signs or junk, chunk extensions without end. */
#ifndef MOBULA_HTTP_H
#define MOBULA_HTTP_H

#include <mobula/base.h>

struct http_header {
    struct slice name, value; /* value trimmed */
};

/* ---- reading ----
 *
 * struct http_reader r; struct slice in = what came, body;
 * for (;;) switch (http_read(&r, &in, &body, &e)) { case HTTP_MORE: wait; case HTTP_HEAD: look at r; case HTTP_BODY: use body; … }
 *
 * Wherever the stream is cut into pieces, the same steps come out, but that body pieces may be smaller. Lines end in CRLF, names are
 * tokens, values hold no control byte but tab, HTTP/1.0 and 1.1 are understood, Transfer-Encoding is "chunked" or absent, trailers are
 * checked for control bytes and passed over. A broken message is ERR_HTTP, one past a limit ERR_LIMIT. */

enum http_side { HTTP_RESPONSES, HTTP_REQUESTS };

enum http_step {
    HTTP_MORE, /* all bytes were used (or kept); come again with more */
    HTTP_HEAD, /* status line or request line and headers are complete: the fields below are set until the message ends */
    HTTP_BODY, /* *body is a piece of the body: bytes of *in as it was, decoded */
    HTTP_END,  /* the message is complete; the next call begins the next one */
    HTTP_BAD,  /* *e says what; nothing more can be read: every later call says HTTP_BAD too */
};

struct http_reader {
    enum http_side side;
    bool encoded; /* responses: set it after http_reader_init, and an answer may have a Content-Encoding, which the caller decodes */
    bool relay;   /* set it there too for a body that is passed on as it comes: LIMIT_HTTP_CHUNK_OVERHEAD holds for each chunk, and not for
                     all of them. Responses: 101 is an answer */
    /* after HTTP_HEAD */
    int status;                  /* responses */
    int minor;                   /* of the version HTTP/1.minor */
    struct slice method, target; /* requests; target is printable ASCII without white space, at most LIMIT_HTTP_URL */
    struct http_header headers[LIMIT_HTTP_HEADERS];
    uint32_t header_count;
    bool keep_alive;       /* the connection may carry another message after this one */
    bool until_close;      /* the body ends with the connection */
    bool expects_continue; /* requests */
    int64_t length;        /* Content-Length, or -1 */
    /* private */
    struct buf head; /* the head's bytes: the slices above point into it */
    int state;
    uint64_t left, overhead, body_bytes;
    unsigned digits, interim;
    bool no_body;
};

void http_reader_init(struct http_reader *r, enum http_side side);
void http_reader_free(struct http_reader *r);
/* Before the answer to a HEAD or CONNECT request: it has no body whatever its headers say. Holds for one answer. */
void http_reader_expect_no_body(struct http_reader *r);
/* Uses bytes off the front of *in. 1xx answers are passed over, at most LIMIT_HTTP_INTERIM; 101 is refused, or with `relay` an answer
 * without a body: what follows it is not HTTP. */
enum http_step http_read(struct http_reader *r, struct slice *in, struct slice *body, struct err *e);
/* The connection ended: HTTP_END when that ends the message rightly (until_close), HTTP_MORE when no message had begun, else HTTP_BAD with
 * ERR_CLOSED. */
enum http_step http_read_end(struct http_reader *r, struct err *e);
/* The first header of this name (any case), trimmed; SLICE_NONE when absent. */
struct slice http_header_get(const struct http_reader *r, struct slice name);
struct slice http_bearer(const struct http_reader *r); /* the token of Authorization: Bearer; SLICE_NONE: none */
/* The text behind "name=" in the target's query, the first time; "" for a bare "name", SLICE_NONE when absent. Not percent-decoded. */
struct slice http_query_get(struct slice target, struct slice name);
bool http_percent_decode(struct slice in, struct arena *a, struct slice *out); /* false: a % without two hexadecimal digits */
bool http_query_decode(struct slice in, struct arena *a, struct slice *out);   /* the same for a query's value: + is a space there */
bool http_percent_encode(struct slice in, struct buf *out);                    /* everything but unreserved characters */
enum { HTTP_DATE = sizeof "Sun, 06 Nov 1994 08:49:37 GMT" };
void http_date_write(int64_t wall_us, char out[HTTP_DATE]);
bool http_date(struct slice s, int64_t *wall_us); /* "Sun, 06 Nov 1994 08:49:37 GMT" */
/* Retry-After in milliseconds: seconds or an HTTP date (a past one is 0); -1 when absent or malformed; never above one hour. */
int64_t http_retry_after_ms(const struct http_reader *r, int64_t wall_us);

/* The texts of Warning headers (RFC 7234) with code 299, which is how an API server says what a user should know of a request that it
 * carried out; what is malformed ends its header. struct http_warnings it = {.reader = r}; *text is written again each time. */
struct http_warnings {
    const struct http_reader *reader;
    uint32_t header;   /* private, and so is the next */
    struct slice rest; /* of the header before it */
};
bool http_warning_next(struct http_warnings *it, struct buf *text);

/* ---- writing ----
 *
 * False when it does not fit, with nothing added and b->full set, so that a chain of writes may be checked once. The same for what would
 * not be one message on the wire: a method or header name that is no token, a target or host with white space or control bytes, a header
 * value with control bytes (that is how headers are injected), and Host, Content-Length or Transfer-Encoding among the headers, which are
 * the writer's own. */

bool http_write_request(struct buf *b, struct slice method, struct slice target, struct slice host, const struct http_header *headers,
                        size_t count, const struct slice *body); /* body NULL: none; else Content-Length is written */
/* The length of a body that the caller sends: it is counted, or there is none, or it goes through http_write_chunk. */
enum { HTTP_NO_BODY = -1, HTTP_CHUNKED = -2 };
/* http_write_request without the body. */
bool http_write_request_head(struct buf *b, struct slice method, struct slice target, struct slice host, const struct http_header *headers,
                             size_t count, int64_t length);
/* body NULL: Content-Length 0, or none with 1xx, 204 and 304. */
bool http_write_response(struct buf *b, int status, const struct http_header *headers, size_t count, const struct slice *body);
/* The same without the body. With HTTP_NO_BODY the connection's end is the body's, or the status has none. */
bool http_write_response_head(struct buf *b, int status, const struct http_header *headers, size_t count, int64_t length);
/* The same without a length: what follows goes through http_write_chunk, and http_write_last_chunk ends it. */
bool http_write_chunked_response(struct buf *b, int status, const struct http_header *headers, size_t count);
bool http_write_chunk(struct buf *b, struct slice data); /* empty data writes nothing */
bool http_write_last_chunk(struct buf *b);
const char *http_status_text(int status); /* "Not Found"; "Unknown" for a number without a name */

#endif
