/* The policy's rule "sources": checks the URLs from which Ray fetches code before a program runs, which are the working directory, modules
 * and requirements of a runtime environment. The image rule does not cover this code. */
#include "policy.h"

#include <mobula/compute.h>
#include <mobula/net.h>

#include <arpa/inet.h>

enum { SHOWN = 60 };

static void refuse(struct checker *c, const struct place *at, struct slice text, const char *why)
{
    bool told = c->r.errors->count == LIMIT_SPEC_ERRORS; /* no text is made that would not be kept */
    policy_refuse(c, WORK_RULE_SOURCES, at,
                  told ? why : arena_printf(c->r.arena, "\"%.*s\" %s", SLICE_ARG(slice_head(text, SHOWN)), why).ptr);
}

/* Whether the host is the pod itself or its node (loopback, link-local), or where clouds give out credentials (metadata services). */
static bool is_near(struct slice host)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const char *const names[] = {"localhost", "metadata", "metadata.google.internal", "instance-data", "fd00:ec2::254"};
    unsigned char ip[16] = {0};
    char text[INET6_ADDRSTRLEN];
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (slice_eq_nocase(host, slice_of(names[i])))
            return true;
    struct slice tail = host;
    while (slice_find(tail, '.') >= 0)
        slice_cut(&tail, '.');
    if (slice_eq_nocase(tail, SLICE("localhost")) || !slice_copy(host, text, sizeof text))
        return slice_eq_nocase(tail, SLICE("localhost"));
    memcpy(ip, mapped, sizeof mapped);
    if (inet_pton(AF_INET, text, ip + 12) != 1 && inet_pton(AF_INET6, text, ip) != 1)
        return false;
    if (memcmp(ip, mapped, sizeof mapped) == 0)
        return ip[12] == 0 || ip[12] == 127 || (ip[12] == 169 && ip[13] == 254);
    unsigned sum = 0; /* ::, ::1 and deprecated IPv4-compatible addresses (::a.b.c.d) */
    for (int i = 0; i < 12; i++)
        sum |= ip[i];
    return !sum || (ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80);
}

/* Finds the host in SCHEME://[USER@]HOST[:PORT][/PATH]. False: there is none, or clients may disagree about it. */
static bool host_of(struct slice url, struct slice *host)
{
    struct slice rest = slice_skip(url, (size_t)slice_find_text(url, "://") + 3);
    size_t end = 0;
    while (end < rest.len && !strchr("/?#\\", rest.ptr[end]))
        end++;
    struct slice port = slice_head(rest, end), last;
    while (slice_find(port, '@') >= 0)
        slice_cut(&port, '@');
    if (slice_starts(port, SLICE("["))) {
        port = slice_skip(port, 1);
        *host = slice_cut(&port, ']');
    } else {
        *host = slice_cut(&port, ':');
    }
    if (slice_ends(*host, SLICE(".")))
        host->len--;
    last = *host;
    while (slice_find(last, '.') >= 0)
        slice_cut(&last, '.');
    bool odd = slice_starts(last, SLICE("0x")) || slice_starts(last, SLICE("0X")); /* some resolvers read this as an IPv4 address */
    return net_is_host(*host) && !odd && slice_find(url, '\\') < 0;
}

static bool is_own_folder(struct slice url)
{
    struct slice name = slice_skip(url, slice_starts(url, SLICE("file://" COMPUTE_FILES "/")) ? sizeof "file://" COMPUTE_FILES : url.len);
    return !slice_empty(name) && slice_find(name, '/') < 0 && slice_find(name, '%') < 0;
}

/* Copies a URL with its scheme in lower case, as the policy's patterns are compared. */
static struct slice lowered(struct slice url, struct arena *a)
{
    char *copy = arena_alloc(a, url.len + 1);
    bool scheme = true;
    for (size_t i = 0; i < url.len; i++) {
        scheme &= url.ptr[i] != ':';
        copy[i] = scheme && url.ptr[i] >= 'A' && url.ptr[i] <= 'Z' ? (char)(url.ptr[i] | 0x20) : url.ptr[i];
    }
    return (struct slice){copy, url.len};
}

static void check_url(struct checker *c, const struct place *at, struct slice url)
{
    struct slice host, plain = lowered(url, c->r.arena);
    if (is_own_folder(plain))
        return;
    if (!policy_matches(c->policy, WORK_SOURCES, plain))
        refuse(c, at, url, "does not match the policy's list of sources: the administrator of the cluster can add it there");
    else if (!slice_starts(plain, SLICE("file:")) && (!slice_has(plain, "://") || !host_of(plain, &host)))
        refuse(c, at, url, "names no host");
    else if (!slice_starts(plain, SLICE("file:")) && is_near(host))
        refuse(c, at, url, "is an address of the pod itself, of its node, or of a cloud's metadata service");
}

static bool is_scheme(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
}

/* Checks a line for pip: each URL in it must match, and it may be neither a path in the pod nor an option. */
static void check_line(struct checker *c, const struct place *at, struct slice line)
{
    struct slice rest = slice_trim(line), behind = rest;
    ptrdiff_t found;
    bool any = false;
    while ((found = slice_find_text(rest, ":/")) >= 0) {
        size_t begin = (size_t)found, end = (size_t)found;
        while (begin > 0 && is_scheme(rest.ptr[begin - 1]))
            begin--;
        while (end < rest.len && !strchr(" \t\r\n\"'<>;,", rest.ptr[end]))
            end++;
        check_url(c, at, (struct slice){rest.ptr + begin, end - begin});
        rest = slice_skip(rest, end);
        any = true;
    }
    slice_cut(&behind, '@');
    behind = slice_trim(behind);
    bool path = behind.len && strchr("./~", behind.ptr[0]);
    rest = slice_trim(line);
    if (path || (!any && rest.len && strchr("./~-", rest.ptr[0])))
        refuse(c, at, line, "is a path in the pod, or an option of pip: name packages and URLs");
}

/* Length of a line end at the beginning of the text; 0: there is none. Ray writes the strings into a file of requirements, and pip splits
 * that with Python's splitlines(). */
static size_t line_end(struct slice text)
{
    static const char *const wide[] = {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
    for (size_t i = 0; i < COUNT_OF(wide); i++)
        if (slice_starts(text, slice_of(wide[i])))
            return slice_of(wide[i]).len;
    return strchr("\n\v\f\r\x1c\x1d\x1e", text.ptr[0]) ? 1 : 0;
}

static void check_lines(struct checker *c, const struct place *at, struct slice text)
{
    for (size_t n = 0; n < text.len;) {
        size_t end = line_end(slice_skip(text, n));
        if (end) {
            check_line(c, at, slice_head(text, n));
            text = slice_skip(text, n + end);
        }
        n = end ? 0 : n + 1;
    }
    check_line(c, at, text);
}

/* Checks all strings in a value. urls: each is a URL; else lines for pip. */
static void check_value(struct checker *c, const struct place *at, struct jval v, bool urls)
{
    struct jval k, one;
    if (json_type(v) == JSON_STRING) {
        struct slice text = json_str(v, c->r.arena);
        if (urls)
            check_url(c, at, text);
        else
            check_lines(c, at, text);
        return;
    }
    if (json_type(v) == JSON_ARRAY || json_type(v) == JSON_OBJECT)
        for (struct jiter it = json_iter(v); json_next(&it, &k, &one);)
            check_value(c, at, one, urls);
}

void policy_sources(struct checker *c, const struct place *at, struct jval env)
{
    struct jval k, v;
    for (struct jiter it = json_iter(env); json_type(env) == JSON_OBJECT && json_next(&it, &k, &v);) {
        bool urls = json_is(k, "working_dir") || json_is(k, "py_modules") || json_is(k, "java_jars");
        if (!json_is(k, "env_vars") && !json_is(k, "excludes"))
            check_value(c, at, v, urls);
    }
}
