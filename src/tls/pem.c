#include <mobula/tls.h>

#include "pem.h"

#define DASHES SLICE("-----")

/* "-----BEGIN X-----" or "-----END X-----" with the given first word: its X. */
static bool boundary(struct slice line, struct slice word, struct slice *label)
{
    if (slice_starts(line, SLICE("\xef\xbb\xbf")))
        line = slice_skip(line, 3);
    line = slice_trim(line);
    if (line.len < DASHES.len + word.len + DASHES.len || !slice_starts(line, DASHES) || !slice_ends(line, DASHES))
        return false;
    line = slice_head(slice_skip(line, DASHES.len), line.len - 2 * DASHES.len);
    if (!slice_starts(line, word))
        return false;
    *label = slice_skip(line, word.len);
    return true;
}

bool pem_next(struct slice *text, struct pem_block *out, struct err *e)
{
    do {
        if (!text->ptr)
            return false;
    } while (!boundary(slice_cut(text, '\n'), SLICE("BEGIN "), &out->label));
    const char *begin = text->ptr;
    while (text->ptr) {
        struct slice line = slice_cut(text, '\n'), label;
        if (boundary(line, SLICE("BEGIN "), &label))
            break;
        if (!boundary(line, SLICE("END "), &label))
            continue;
        if (!slice_eq(label, out->label))
            break;
        out->body = (struct slice){begin, (size_t)(line.ptr - begin)};
        return true;
    }
    return err_set(e, ERR_SYNTAX, "PEM: BEGIN %.*s without END %.*s", SLICE_ARG(slice_head(out->label, 40)),
                   SLICE_ARG(slice_head(out->label, 40)));
}

bool pem_decode(struct slice body, struct buf *der, struct err *e)
{
    if (!buf_room(der, body.len)) /* all at once, so that a key is not left behind in memory by a growing buffer */
        return err_set(e, ERR_LIMIT, "PEM: block is longer than %zu bytes", der->max);
    return base64_decode(body, der, e) || err_wrap(e, "PEM");
}

bool pem_is_certificate(const struct pem_block *block)
{
    return slice_is(block->label, "CERTIFICATE") || slice_is(block->label, "X509 CERTIFICATE");
}
