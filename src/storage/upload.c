/* Uploads of files, in parts if large. An upload that is broken off leaves its parts in the store, and an object NOTE beside the one to
 * store: the CRC-32C and size of the content, and the store's id of the upload. The next upload of the same content goes on with them. */
#include <mobula/storage.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HASH_PIECE = 64 * KIB };
#define NOTE ".mobula-upload"

struct part {
    int fd;
    uint64_t from;
};

struct upload {
    struct storage *s;
    const struct cloud_upload *how;
    struct slice key, id;  /* id: of the upload, by the store, or made of the content where no call begins it */
    struct slice sum;      /* CRC-32C of the file, in hexadecimal */
    uint64_t size, part;   /* bytes of the file, and of each of its parts but the last */
    const char **stored;   /* by number - 1: ETags of parts that are in the store; NULL: it is not */
    uint32_t parts, count; /* count: those that are in the store */
    bool over;             /* a part is stored, or not, since the last wait */
    bool gone;             /* the store does not have the upload */
    struct err e;          /* of the first part that was not stored */
};

/* Parts are sent by several connections: the store checks one while another is on its way. */
struct lane {
    struct upload *u;
    struct cloud_store *store;
    struct part part;
    uint32_t number; /* of the part in flight; 0: none */
};

static bool read_part(void *owner, uint64_t at, char *to, size_t n, struct err *e)
{
    const struct part *p = owner;
    while (n > 0) {
        ssize_t got = pread(p->fd, to, n, (off_t)(p->from + at));
        if (got <= 0)
            return err_set(e, ERR_IO, "the file %s", got ? strerror(errno) : "became shorter while it was sent");
        to += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return true;
}

/* parts: as in struct storage_sum. */
static bool sum_file(int fd, uint64_t size, bool parts, char hex[TLS_SHA256_HEX], struct err *e)
{
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    char *room = arena_alloc(&a, HASH_PIECE);
    struct part p = {.fd = fd};
    struct storage_sum m;
    storage_sum_begin(&m, parts);
    for (uint64_t at = 0, n; at < size; at += n) {
        n = size - at < HASH_PIECE ? size - at : HASH_PIECE;
        if (!read_part(&p, at, room, (size_t)n, e))
            return false;
        storage_sum_add(&m, (struct slice){room, (size_t)n});
    }
    storage_sum_end(&m, hex);
    return true;
}

/* ---- parts in the store ---- */

static uint64_t size_of(const struct upload *u, uint64_t number)
{
    uint64_t rest = u->size - (number - 1) * u->part;
    return rest < u->part ? rest : u->part;
}

static void keep_part(struct upload *u, uint32_t number, struct slice etag)
{
    const char **stored = &u->stored[number - 1];
    if (etag.len >= CLOUD_ETAG_MAX || (slice_empty(etag) && !u->how->no_etag))
        return;
    u->count += !*stored;
    *stored = arena_dup(&u->s->a, etag).ptr;
}

/* A part of another size is sent again. False: the store does not have the upload, or does not say. */
static bool list_parts(struct upload *u)
{
    struct cloud_call c = {.method = "GET", .right = CLOUD_READ, .key = u->key};
    struct slice name, text, id = SLICE(""), etag = SLICE("");
    struct err e = {0};
    int64_t size = 0;
    u->how->parts(&c, u->id);
    if (!storage_call(u->s, &c, &e))
        return false;
    struct cloud_xml x = {.rest = u->s->answer.body};
    for (enum cloud_xml_step step; (step = cloud_xml_next(&x, &u->s->a, &name, &text, &e)) < CLOUD_XML_END;) {
        if (step != CLOUD_XML_CLOSE)
            continue;
        if (slice_is(name, "PartNumber") || slice_is(name, "Name"))
            id = text;
        else if (slice_is(name, "ETag"))
            etag = text;
        else if (slice_is(name, "Size"))
            slice_int(text, &size);
        uint32_t number = slice_is(name, "Part") || slice_is(name, "Block") ? u->how->number(id, u->id) : 0;
        if (number && number <= u->parts && (uint64_t)size == size_of(u, number))
            keep_part(u, number, etag);
    }
    return true;
}

/* ---- sending parts ---- */

/* One line, which each part overwrites. */
static void show_progress(const struct upload *u)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\rstored: %u %% of %llu MiB%s", u->count * 100 / u->parts, (unsigned long long)(u->size / MIB),
                u->e.code != ERR_NONE || u->count == u->parts ? "\n" : "");
}

static void on_part(void *owner, const struct cloud_answer *answer, struct now now)
{
    struct lane *l = owner;
    struct upload *u = l->u;
    struct err e = answer->err;
    (void)now;
    if (e.code == ERR_NONE) {
        struct slice etag = http_header_get(answer->reader, SLICE("etag"));
        keep_part(u, l->number, etag.ptr ? etag : SLICE(""));
        if (!u->stored[l->number - 1])
            err_set(&e, ERR_STATUS, "%.*s gave no ETag for part %u of %.*s: the proxy before the store must pass it",
                    SLICE_ARG(u->s->with.store.at.host), l->number, SLICE_ARG(u->key));
    }
    u->gone |= answer->status == 404;
    if (u->e.code == ERR_NONE) {
        u->e = e;
        show_progress(u);
    }
    u->over = true;
    l->number = 0;
}

static void start_part(struct lane *l, uint32_t number)
{
    struct upload *u = l->u;
    struct cloud_call c = {.method = "PUT",
                           .right = CLOUD_WRITE,
                           .key = u->key,
                           .read = read_part,
                           .owner = &l->part,
                           .size = size_of(u, number),
                           .done = on_part,
                           .done_owner = l};
    l->number = number;
    l->part.from = (number - 1) * u->part;
    u->how->part(&c, u->id, number, &u->s->a);
    cloud_store_call(l->store, &c, clock_now());
}

/* Bytes of one part: CLOUD_PART, or as many MiB as keep the number of parts within LIMIT_CLOUD_PARTS. */
uint64_t storage_part(uint64_t size)
{
    return size <= (uint64_t)CLOUD_PART * LIMIT_CLOUD_PARTS ? CLOUD_PART : (size / LIMIT_CLOUD_PARTS / MIB + 1) * MIB;
}

/* After an error no further part is begun; those in flight are finished, so that the next upload need not send them. */
static bool send_parts(struct upload *u, int fd, struct err *e)
{
    struct lane lanes[CLOUD_LANES];
    uint32_t next = 1;
    for (size_t i = 0; i < CLOUD_LANES; i++)
        lanes[i] = (struct lane){.u = u, .store = storage_lane(u->s, i), .part.fd = fd};
    for (;;) {
        bool busy = false;
        for (size_t i = 0; i < CLOUD_LANES; i++) {
            while (next <= u->parts && u->stored[next - 1])
                next++;
            if (!lanes[i].number && next <= u->parts && u->e.code == ERR_NONE)
                start_part(&lanes[i], next++);
            busy |= lanes[i].number != 0;
        }
        if (!busy)
            break;
        u->over = false;
        if (!storage_wait(u->s, &u->over, e)) {
            u->e = *e;
            show_progress(u);
            return false;
        }
    }
    *e = u->e;
    return e->code == ERR_NONE;
}

static bool put_parts(struct upload *u, int fd, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf list = {.max = 4 * MIB};
    char hex[TLS_SHA256_HEX];
    if (!send_parts(u, fd, e))
        return false;
    buf_printf(&list, "<%s>", u->how->root);
    for (uint32_t number = 1; number <= u->parts; number++)
        u->how->put_part(&list, u->id, number, u->stored[number - 1], &u->s->a);
    buf_printf(&list, "</%s>", u->how->root);
    tls_sha256_hex(buf_slice(&list), hex);
    struct cloud_call c = {.right = CLOUD_WRITE, .key = u->key, .body = buf_slice(&list), .size = list.len, .sha256 = slice_of(hex)};
    u->how->complete(&c, u->id);
    if (u->how->metadata_last)
        cloud_add_header(&c, u->s->with.protocol->crc32c, u->sum);
    bool well = storage_call(u->s, &c, e);
    u->gone = !well && u->s->answer.status == 404;
    return well;
}

/* ---- the beginning: a new upload, or the one that was broken off ---- */

static struct slice content_of(const struct upload *u)
{
    return arena_printf(&u->s->a, "%.*s-%llu", SLICE_ARG(u->sum), (unsigned long long)u->size);
}

static struct slice note_of(const struct upload *u)
{
    return arena_printf(&u->s->a, "%.*s" NOTE, SLICE_ARG(u->key));
}

static bool take_note(void *owner, struct slice piece, struct err *e)
{
    return buf_put(owner, piece) || err_set(e, ERR_LIMIT, "it is no note of an upload");
}

/* Finds the upload that a note names. The parts of one with other content, or whose parts cannot be listed, are deleted, because the store
 * would bill for them, and no note would name them; Azure does so by itself. So are unsigned parts in a store on this machine: versitygw
 * keeps one that was cut off as if it were whole. */
static bool find_upload(struct upload *u)
{
    struct storage *s = u->s;
    __attribute__((cleanup(buf_free))) struct buf note = {.max = KIB};
    struct err e = {0};
    if (!storage_get(s, note_of(u), take_note, &note, &e))
        return false;
    struct slice rest = arena_dup(&s->a, buf_slice(&note)), content = slice_cut(&rest, ' ');
    u->id = rest;
    if (slice_eq(content, content_of(u)) && !s->with.near && list_parts(u))
        return true;
    struct cloud_call c = {.method = "DELETE", .right = CLOUD_ABORT, .key = u->key};
    cloud_add_query(&c, "uploadId", u->id);
    if (u->how->begin && !slice_empty(u->id))
        storage_call(s, &c, &e);
    return false;
}

static bool begin_upload(struct upload *u, struct err *e)
{
    struct storage *s = u->s;
    struct cloud_call c = {.method = "POST", .right = CLOUD_WRITE, .key = u->key};
    if (find_upload(u))
        return true;
    u->id = content_of(u);
    if (u->how->begin) {
        cloud_add_header(&c, s->with.protocol->crc32c, u->sum);
        u->how->begin(&c);
        if (!storage_call(s, &c, e))
            return false;
        u->id = arena_dup(&s->a, cloud_xml_text(s->answer.body, "UploadId", &s->last));
    }
    if (slice_empty(u->id))
        return err_set(e, ERR_STATUS, "the store began no upload: its answer has no UploadId");
    /* without the right to read it, or to write it, the upload merely cannot be continued */
    storage_put(s, note_of(u), arena_printf(&s->a, "%.*s %.*s", SLICE_ARG(content_of(u)), SLICE_ARG(u->id)), &(struct err){0});
    return true;
}

static bool is_stored(struct upload *u)
{
    struct err e = {0};
    return storage_head(u->s, u->key, &e) && u->s->size == (int64_t)u->size && slice_eq(slice_of(u->s->crc), u->sum);
}

/* An upload that is gone, and has left no such object, is begun once more. */
static bool put_in_parts(struct upload *u, int fd, struct err *e)
{
    bool well = begin_upload(u, e) && put_parts(u, fd, e);
    if (!well && u->gone && !(well = is_stored(u))) {
        u->gone = false;
        u->count = 0;
        memset(u->stored, 0, u->parts * sizeof *u->stored);
        *e = u->e = (struct err){0};
        well = begin_upload(u, e) && put_parts(u, fd, e);
    }
    if (well) {
        *e = (struct err){0};
        storage_delete(u->s, note_of(u), &(struct err){0});
    }
    return well;
}

static bool find_size(int fd, uint64_t *size, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return err_set(e, ERR_CONFIG, "only a regular file can be stored");
    *size = (uint64_t)st.st_size;
    return true;
}

bool storage_hash_file(int fd, char hex[TLS_SHA256_HEX], uint64_t *size, struct err *e)
{
    return find_size(fd, size, e) && sum_file(fd, *size, false, hex, e);
}

bool storage_put_file(struct storage *s, struct slice key, int fd, struct err *e)
{
    char hex[TLS_SHA256_HEX];
    struct part p = {.fd = fd};
    struct upload u = {.s = s, .how = s->with.protocol->upload, .key = key};
    if (!find_size(fd, &u.size, e))
        return false;
    bool parts = u.size > CLOUD_PART && u.how;
    if (!sum_file(fd, u.size, parts, hex, e))
        return false;
    u.sum = slice_of(hex);
    if (!parts) {
        struct cloud_call c = {.method = "PUT", .right = CLOUD_WRITE, .key = key, .read = read_part, .owner = &p, .size = u.size};
        c.sha256 = u.sum;
        storage_add_put(s, &c);
        return storage_call(s, &c, e);
    }
    u.part = storage_part(u.size);
    u.parts = (uint32_t)((u.size + u.part - 1) / u.part);
    u.stored = arena_array(&s->a, u.parts, sizeof *u.stored);
    return put_in_parts(&u, fd, e);
}
