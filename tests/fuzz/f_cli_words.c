/* What the environment and the command line of submit and wait-gcs say, a line each: an address, a GCS's address, and the words of an
 * entrypoint. What is taken is a host that can be connected to; and a shell makes of the entrypoint the very words. */
#include <mobula/heads.h>
#include <mobula/submit.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS_MAX = 8 };

static void check_place(bool ok, struct slice host, uint16_t port, const struct err *e)
{
    if (ok != (e->code == ERR_NONE) || (ok && (slice_empty(host) || port == 0)))
        abort();
    if (!ok)
        return;
    struct net_allow *allow = net_allow_new(); /* as the commands do it: it knows what a host may be called */
    bool allowed = net_allow_add(allow, host, port, "--address", NULL);
    for (size_t i = 0; allowed && i < host.len; i++)
        if (host.ptr[i] <= ' ' || host.ptr[i] > '~' || strchr("[]/@?#", host.ptr[i]))
            abort();
    net_allow_free(allow);
}

static void check_addresses(struct slice dashboard, struct slice gcs)
{
    struct err e = {0};
    struct slice host = SLICE_NONE;
    uint16_t port = 0;
    struct endpoint to = {0};
    bool ok = submit_address(dashboard, "--address", &host, &port, &e);
    check_place(ok, host, port, &e);
    e = (struct err){0};
    ok = ray_gcs_address(gcs, &to, &e);
    check_place(ok, to.host, to.port, &e);
}

/* The next word of a line as a shell reads it: plain bytes, '…' and \c, which is all that is written. */
static struct slice next_word(struct slice *line, struct arena *a)
{
    char *to = arena_alloc(a, line->len + 1);
    struct slice word = {to, 0};
    for (bool quoted = false; !slice_empty(*line); *line = slice_skip(*line, 1)) {
        char c = line->ptr[0];
        if (c == '\'') {
            quoted = !quoted;
        } else if (!quoted && c == ' ') {
            *line = slice_skip(*line, 1);
            return word;
        } else if (!quoted && c == '\\') {
            *line = slice_skip(*line, 1);
            to[word.len++] = line->ptr[0];
        } else {
            to[word.len++] = c;
        }
    }
    return word;
}

static void check_entrypoint(const struct slice *words, size_t count)
{
    struct arena a = {0};
    struct buf out;
    struct err e = {0};
    buf_init(&out, MIB);
    bool ok = submit_entrypoint(words, count, &out, &e);
    if (ok != (e.code == ERR_NONE))
        abort();
    struct slice line = buf_slice(&out);
    if (ok && count == 1 && !slice_eq(line, words[0]))
        abort();
    for (size_t i = 0; ok && count > 1 && i < count; i++)
        if (!slice_eq(next_word(&line, &a), words[i]))
            abort();
    if (ok && count > 1 && !slice_empty(line))
        abort();
    buf_free(&out);
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice rest = {(const char *)data, size}, words[WORDS_MAX];
    struct slice dashboard = slice_cut(&rest, '\0'), gcs = slice_cut(&rest, '\0');
    size_t count = 0;
    check_addresses(dashboard, gcs);
    while (rest.ptr && count < WORDS_MAX)
        words[count++] = slice_cut(&rest, '\0');
    check_entrypoint(words, count);
    return 0;
}
