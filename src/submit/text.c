/* Turns the arguments of a submission into its request. */
#include <mobula/submit.h>

enum { DASHBOARD_PORT = 8265 };

/* ---- where the dashboard is ---- */

static bool read_host(struct slice text, struct slice *host, struct slice *port)
{
    *port = SLICE_NONE;
    if (slice_starts(text, SLICE("["))) {
        ptrdiff_t close = slice_find(text, ']');
        if (close < 0)
            return false;
        *host = (struct slice){text.ptr + 1, (size_t)close - 1};
        *port = slice_skip(text, (size_t)close + 1);
        return slice_find(*host, ':') >= 0 && (slice_empty(*port) || slice_starts(*port, SLICE(":")));
    }
    ptrdiff_t colon = slice_find(text, ':');
    *host = slice_head(text, colon < 0 ? text.len : (size_t)colon);
    *port = slice_skip(text, host->len);
    return slice_find(slice_skip(text, colon < 0 ? text.len : (size_t)colon + 1), ':') < 0;
}

bool submit_address(struct slice text, const char *setting, struct slice *host, uint16_t *port, struct err *e)
{
    struct slice rest = text, number;
    int64_t n = DASHBOARD_PORT;
    if (slice_starts(text, SLICE("ray://")) || slice_eq(text, SLICE("auto")))
        return err_set(e, ERR_CONFIG, "%s: \"%.*s\" is for a driver: jobs go to the dashboard, http://HOST:8265", setting, SLICE_ARG(text));
    if (slice_starts(text, SLICE("https://")))
        return err_set(e, ERR_CONFIG, "%s: \"%.*s\": Ray's dashboard speaks http only; inside the cluster it is http://HEAD-SERVICE:8265",
                       setting, SLICE_ARG(text));
    if (slice_starts(rest, SLICE("http://")))
        rest = slice_skip(rest, 7);
    if (slice_ends(rest, SLICE("/")))
        rest.len--;
    bool well = read_host(rest, host, &number) && !slice_empty(*host) && slice_find(*host, '/') < 0 && slice_find(*host, '@') < 0 &&
                host->len <= LIMIT_NET_HOST;
    if (well && !slice_empty(number))
        well = slice_int(slice_skip(number, 1), &n) && n >= 1 && n <= UINT16_MAX;
    if (!well)
        return err_set(e, ERR_CONFIG, "%s: \"%.*s\" is not http://HOST:PORT", setting, SLICE_ARG(text));
    *port = (uint16_t)n;
    return true;
}

/* ---- the command that runs ---- */

static bool is_plain(struct slice word)
{
    static const char safe[] = "@%+=:,./-_";
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && !memchr(safe, c, sizeof safe - 1))
            return false;
    }
    return !slice_empty(word);
}

static void quote(struct slice word, struct buf *out)
{
    buf_putc(out, '\'');
    for (; !slice_empty(word); word = slice_skip(word, 1)) {
        if (word.ptr[0] == '\'')
            buf_put(out, SLICE("'\\''"));
        else
            buf_putc(out, word.ptr[0]);
    }
    buf_putc(out, '\'');
}

bool submit_entrypoint(const struct slice *words, size_t count, struct buf *out, struct err *e)
{
    for (size_t i = 0; i < count; i++) {
        struct slice word = words[i];
        if (!utf8_valid(word))
            return err_set(e, ERR_SYNTAX, "the entrypoint is no UTF-8, and Ray takes no other text");
        if (i)
            buf_putc(out, ' ');
        if (count == 1 || is_plain(word))
            buf_put(out, word);
        else
            quote(word, out);
    }
    if (out->full)
        return err_set(e, ERR_LIMIT, "the entrypoint is longer than %zu bytes", out->max);
    return !slice_empty(slice_trim(buf_slice(out))) || err_set(e, ERR_CONFIG, "there is no entrypoint: put it behind \"--\"");
}
