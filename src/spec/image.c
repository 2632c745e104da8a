/* Checks references of container images by the rules of registries and kubelets (distribution/reference):
 * [HOST[:PORT]/]PATH[:TAG][@DIGEST]. */
#include <mobula/spec.h>

enum { IMAGE_NAME_MAX = 255, IMAGE_TAG_MAX = 128, IMAGE_SHA256_HEX = 64, IMAGE_HEX_LEAST = 32, IMAGE_SHOWN = 80 };

static bool is_lower(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_word(char c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z') || c == '_';
}

/* [a-z0-9]+ joined by one dot, one or two underscores, or dashes. */
static bool is_path_part(struct slice s)
{
    if (slice_empty(s) || !is_lower(s.ptr[0]) || !is_lower(s.ptr[s.len - 1]))
        return false;
    for (size_t i = 0, run; i < s.len; i += run) {
        char c = s.ptr[i];
        for (run = 1; i + run < s.len && !is_lower(c) && s.ptr[i + run] == c; run++)
            ;
        bool joins = c == '-' || (c == '.' && run == 1) || (c == '_' && run <= 2);
        bool mixed = !is_lower(c) && i + run < s.len && !is_lower(s.ptr[i + run]);
        if (!is_lower(c) && (!joins || mixed))
            return false;
    }
    return true;
}

/* A first part with a dot, a colon or an upper case letter, or "localhost", is a host. */
static bool is_host(struct slice s)
{
    bool host = slice_is(s, "localhost");
    for (size_t i = 0; i < s.len; i++)
        host |= s.ptr[i] == '.' || s.ptr[i] == ':' || (s.ptr[i] >= 'A' && s.ptr[i] <= 'Z');
    return host;
}

static bool host_is_sound(struct slice s)
{
    int64_t port = 1;
    struct slice rest = s, host = slice_cut(&rest, ':');
    if (slice_starts(s, SLICE("["))) { /* an IPv6 address */
        rest = slice_skip(s, 1);
        host = slice_cut(&rest, ']');
        for (size_t i = 0; i < host.len; i++)
            if (host.ptr[i] != ':' && host.ptr[i] != '.' && !strchr("0123456789abcdefABCDEF", host.ptr[i]))
                return false;
        bool behind = slice_starts(rest, SLICE(":")) && slice_int(slice_skip(rest, 1), &port);
        return rest.ptr && host.len && (slice_empty(rest) || behind) && port >= 1 && port <= UINT16_MAX;
    }
    if (rest.ptr && (!slice_int(rest, &port) || port < 1 || port > UINT16_MAX))
        return false;
    while (host.ptr) {
        struct slice label = slice_cut(&host, '.');
        if (slice_empty(label) || label.ptr[0] == '-' || label.ptr[label.len - 1] == '-')
            return false;
        for (size_t i = 0; i < label.len; i++)
            if ((!is_word(label.ptr[i]) || label.ptr[i] == '_') && label.ptr[i] != '-')
                return false;
    }
    return true;
}

static const char *bad_name(struct slice name)
{
    if (slice_empty(name))
        return "names no image";
    if (name.len > IMAGE_NAME_MAX)
        return "has a name of more than 255 bytes";
    struct slice rest = name, first = slice_cut(&rest, '/');
    bool host = rest.ptr && is_host(first);
    if (host && !host_is_sound(first))
        return "begins with something that is no HOST or HOST:PORT of a registry";
    for (rest = host ? rest : name; rest.ptr;)
        if (!is_path_part(slice_cut(&rest, '/')))
            return "is no HOST/PATH:TAG: a path is lower case letters and digits, joined by one dot, one or two underscores, or dashes";
    return NULL;
}

static const char *bad_tag(struct slice tag)
{
    if (slice_empty(tag))
        return "has an empty tag behind its colon";
    if (tag.len > IMAGE_TAG_MAX)
        return "has a tag of more than 128 characters";
    for (size_t i = 0; i < tag.len; i++)
        if (!is_word(tag.ptr[i]) && (i == 0 || (tag.ptr[i] != '.' && tag.ptr[i] != '-')))
            return "has a tag that is not letters, digits, _ . and -";
    return NULL;
}

static const char *bad_digest(struct slice digest)
{
    struct slice hex = digest, algorithm = slice_cut(&hex, ':');
    bool sha256 = slice_is(algorithm, "sha256"), ok = !slice_empty(algorithm) && hex.ptr;
    for (size_t i = 0; i < algorithm.len; i++)
        ok &= is_lower(algorithm.ptr[i]) || strchr("+._-", algorithm.ptr[i]);
    for (size_t i = 0; i < hex.len; i++)
        ok &= (hex.ptr[i] >= '0' && hex.ptr[i] <= '9') || (hex.ptr[i] >= 'a' && hex.ptr[i] <= 'f');
    ok &= sha256 ? hex.len == IMAGE_SHA256_HEX : hex.len >= IMAGE_HEX_LEAST;
    return ok ? NULL : "has a digest that is not sha256: and 64 hexadecimal digits in lower case";
}

const char *image_reference_bad(struct slice text)
{
    struct slice digest = text, name = slice_cut(&digest, '@');
    size_t colon = name.len;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= ' ' || text.ptr[i] >= 0x7f)
            return "has a blank, or a character that no image has";
    if (slice_has(text, "://"))
        return "is a URL: write it without the scheme in front";
    while (colon > 0 && name.ptr[colon - 1] != ':' && name.ptr[colon - 1] != '/')
        colon--;
    bool tagged = colon > 0 && name.ptr[colon - 1] == ':';
    const char *bad = bad_name(tagged ? slice_head(name, colon - 1) : name);
    if (!bad && tagged)
        bad = bad_tag(slice_skip(name, colon));
    return bad ? bad : digest.ptr ? bad_digest(digest) : NULL;
}

bool image_reference_check(struct slice text, struct err *e)
{
    const char *bad = image_reference_bad(text);
    return !bad || err_set(e, ERR_CONFIG, "image \"%.*s\" %s", SLICE_ARG(slice_head(text, IMAGE_SHOWN)), bad);
}
