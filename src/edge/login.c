/* The login page: it takes a token, which a cookie brings back with each request of the browser. */
#include "private.h"

#define COOKIE "mobula-edge"
#define HOST "__Host-" /* browsers take a cookie with this prefix over TLS from its own host alone, not from pages of sibling hosts */
#define LOGIN EDGE_PATH "login"
#define LOGOUT EDGE_PATH "logout"
enum { PAGE_MAX = 32 * KIB, TARGET_MAX = 2 * KIB };

bool login_is(struct slice path)
{
    return slice_starts(path, SLICE(EDGE_PATH));
}

/* ---- cookies ---- */

/* Takes the next cookie off the front of *rest: whole, and its value when it is ours. */
static bool next_cookie(struct slice *rest, struct slice *whole, struct slice *ours)
{
    *whole = slice_trim(slice_cut(rest, ';'));
    *ours = *whole;
    struct slice name = slice_trim(slice_cut(ours, '='));
    if (!slice_is(slice_starts(name, SLICE(HOST)) ? slice_skip(name, sizeof HOST - 1) : name, COOKIE))
        *ours = SLICE_NONE;
    return whole->ptr != NULL;
}

struct slice login_cookie(const struct http_reader *r)
{
    struct slice first = SLICE_NONE;
    for (uint32_t i = 0; i < r->header_count; i++) {
        struct slice rest = r->headers[i].value, whole, ours;
        if (!slice_eq_nocase(r->headers[i].name, SLICE("cookie")))
            continue;
        while (rest.ptr && next_cookie(&rest, &whole, &ours))
            if (!slice_empty(ours) && (!first.ptr || slice_starts(whole, SLICE(HOST))))
                first = ours;
    }
    return first;
}

struct slice login_strip(struct slice cookies, struct arena *a)
{
    struct slice rest = cookies, whole, ours;
    char *to = arena_alloc(a, cookies.len + 2);
    size_t len = 0;
    bool found = false;
    while (rest.ptr && next_cookie(&rest, &whole, &ours)) {
        found |= ours.ptr != NULL;
        if (ours.ptr || slice_empty(whole))
            continue;
        if (len) {
            to[len++] = ';';
            to[len++] = ' ';
        }
        memcpy(to + len, whole.ptr, whole.len);
        len += whole.len;
    }
    if (!found)
        return cookies;
    return len ? (struct slice){to, len} : SLICE_NONE;
}

/* A URL of the request's own host. A proxy may send another Host than the browser's and name that one in X-Forwarded-Host, which pages of
 * other sites cannot set. */
static bool is_own(const struct call *c, struct slice url)
{
    struct slice host = http_header_get(&c->request, SLICE("host"));
    struct slice forwarded = c->front->edge->o.behind_proxy ? http_header_get(&c->request, SLICE("x-forwarded-host")) : SLICE_NONE;
    ptrdiff_t at = slice_find_text(url, "://");
    struct slice rest = at > 0 ? slice_skip(url, (size_t)at + 3) : SLICE_NONE, from = slice_cut(&rest, '/');
    return !slice_empty(from) && (slice_eq_nocase(from, host) || slice_eq_nocase(from, slice_trim(forwarded)));
}

/* Browsers name the page that sends a request in Origin; but not for a GET of an image or a link. For a GET that changes something the sign
 * is Sec-Fetch-Site (over TLS; "none": the user typed the URL), else Referer. */
bool login_same_origin(const struct call *c)
{
    struct slice origin = http_header_get(&c->request, SLICE("origin")), site = http_header_get(&c->request, SLICE("sec-fetch-site"));
    if (origin.ptr)
        return is_own(c, origin);
    if (c->reading || !(slice_is(c->request.method, "GET") || slice_is(c->request.method, "HEAD")))
        return true;
    return site.ptr ? slice_is(site, "same-origin") || slice_is(site, "none") : is_own(c, http_header_get(&c->request, SLICE("referer")));
}

/* ---- pages ---- */

static void put_escaped(struct buf *b, struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'')
            buf_printf(b, "&#%d;", c);
        else
            buf_putc(b, c);
    }
}

/* Where the browser goes after the login: a path of this host, or "/". */
static struct slice safe_target(struct slice to)
{
    bool path =
        to.len <= TARGET_MAX && slice_starts(to, SLICE("/")) && !slice_starts(to, SLICE("//")) && slice_find(to, '\\') < 0 && !login_is(to);
    for (size_t i = 0; i < to.len; i++)
        path = path && to.ptr[i] > ' ' && to.ptr[i] <= '~';
    return path ? to : SLICE("/");
}

static const struct http_header page_headers[] = {
    {SLICE("Content-Type"), SLICE("text/html; charset=utf-8")},
    {SLICE("Cache-Control"), SLICE("no-store")},
    {SLICE("Content-Security-Policy"), SLICE("default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")},
    {SLICE("Referrer-Policy"), SLICE("same-origin")},
    {SLICE("X-Content-Type-Options"), SLICE("nosniff")},
};

static void put_page(struct buf *b, const struct call *c, struct slice to, struct slice why, bool signed_in)
{
    struct slice host = http_header_get(&c->request, SLICE("host"));
    buf_put(b, SLICE("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
                     "<title>Sign in</title>\n</head>\n<body>\n<main>\n<h1>Sign in to "));
    put_escaped(b, host);
    buf_put(b, SLICE("</h1>\n"));
    if (!slice_empty(why)) {
        buf_put(b, SLICE("<p role=\"alert\" id=\"why\">Not signed in: "));
        put_escaped(b, why);
        buf_put(b, SLICE("</p>\n"));
    }
    buf_put(b,
            SLICE("<form method=\"post\" action=\"" LOGIN "\">\n<p><label for=\"token\">Token</label><br>\n"
                  "<input id=\"token\" name=\"token\" type=\"password\" required autofocus autocomplete=\"current-password\" size=\"60\""));
    if (!slice_empty(why))
        buf_put(b, SLICE(" aria-invalid=\"true\" aria-describedby=\"why\""));
    buf_put(b, SLICE("></p>\n<input type=\"hidden\" name=\"to\" value=\""));
    put_escaped(b, safe_target(to));
    buf_put(b, SLICE("\">\n<p><button type=\"submit\">Sign in</button></p>\n</form>\n<p>A token of yours that the cluster's API server "
                     "accepts: of a service account, <code>kubectl create token NAME --audience=" EDGE_AUDIENCE "</code>.</p>\n"));
    if (signed_in)
        buf_put(b, SLICE("<form method=\"post\" action=\"" LOGOUT "\"><p><button type=\"submit\">Sign out</button></p></form>\n"));
    buf_put(b, SLICE("</main>\n</body>\n</html>\n"));
}

static void answer_page(struct call *c, int status, struct slice to, struct slice why)
{
    struct http_header headers[COUNT_OF(page_headers) + 1];
    struct buf b = {.max = PAGE_MAX};
    memcpy(headers, page_headers, sizeof page_headers);
    headers[COUNT_OF(page_headers)] = (struct http_header){SLICE("WWW-Authenticate"), SLICE("Bearer")};
    put_page(&b, c, to, why, !slice_empty(login_cookie(&c->request)));
    edge_call_answer(c, status, headers, COUNT_OF(page_headers) + (status == 401), buf_slice(&b));
    buf_free(&b);
}

/* 303, with the cookie set to the token, or ended. */
static void redirect(struct call *c, struct slice to, struct slice token)
{
    const struct edge *g = c->front->edge;
    bool secure = g->o.tls || (g->o.behind_proxy && slice_is(http_header_get(&c->request, SLICE("x-forwarded-proto")), "https"));
    struct slice cookie = arena_printf(&c->arena, "%s" COOKIE "=%.*s; Path=/; HttpOnly; SameSite=Lax%s%s", secure ? HOST : "",
                                       SLICE_ARG(token), slice_empty(token) ? "; Max-Age=0" : "", secure ? "; Secure" : "");
    const struct http_header headers[] = {
        {SLICE("Location"), to}, {SLICE("Set-Cookie"), cookie}, {SLICE("Cache-Control"), SLICE("no-store")}};
    edge_call_answer(c, 303, headers, COUNT_OF(headers), SLICE(""));
}

void login_ask(struct call *c, struct slice why)
{
    bool browser = slice_is(c->request.method, "GET") && slice_has(http_header_get(&c->request, SLICE("accept")), "text/html");
    if (browser)
        answer_page(c, 401, c->request.target, why);
    else if (slice_empty(why))
        edge_call_refuse(c, 401, "send a token of yours: Authorization: Bearer TOKEN");
    else
        edge_call_refuse(c, 401, "the token was not accepted: %.*s", SLICE_ARG(why));
}

/* ---- forms ---- */

/* A cookie's value cannot hold all that a token might. */
static bool fits_cookie(struct slice token)
{
    for (size_t i = 0; i < token.len; i++)
        if (token.ptr[i] <= ' ' || token.ptr[i] > '~' || strchr("\",;\\", token.ptr[i]))
            return false;
    return token.len > 0 && token.len <= LIMIT_EDGE_TOKEN - 200; /* browsers keep 4 KiB with the name and the attributes */
}

static struct slice form_get(struct call *c, struct slice name)
{
    struct slice query = arena_printf(&c->arena, "?%.*s", SLICE_ARG(buf_slice(&c->form))), value;
    return http_query_decode(http_query_get(query, name), &c->arena, &value) ? slice_trim(value) : SLICE("");
}

void login_form(struct call *c)
{
    struct slice token = form_get(c, SLICE("token")), to = safe_target(form_get(c, SLICE("to")));
    struct review *who;
    c->state = CALL_WAITING;
    c->resume = login_form;
    if (!fits_cookie(token)) {
        answer_page(c, 400, to, SLICE("this is no token that a cookie can hold"));
    } else if (edge_auth_who(c, token, &who)) {
        c->own_token = !slice_empty(review_user(who));
        if (c->own_token)
            redirect(c, to, token);
        else
            answer_page(c, 401, to, SLICE("the API server does not accept the token"));
    }
}

void login_begin(struct call *c)
{
    const struct http_reader *r = &c->request;
    struct slice rest = r->target, path = slice_cut(&rest, '?');
    bool get = slice_is(r->method, "GET") || slice_is(r->method, "HEAD"), post = slice_is(r->method, "POST");
    if (!slice_is(path, LOGIN) && !slice_is(path, LOGOUT))
        edge_call_refuse(c, 404, "there is " LOGIN " and " LOGOUT);
    else if (!get && !post)
        edge_call_refuse(c, 405, "want GET or POST");
    else if (get)
        answer_page(c, 200, SLICE("/"), SLICE_NONE);
    else if (!login_same_origin(c))
        edge_call_refuse(c, 403, "a page of another site sent this form: its Origin is not this host");
    else if (slice_is(path, LOGOUT))
        redirect(c, SLICE(LOGIN), SLICE(""));
    else
        c->state = CALL_FORM;
    if (c->state == CALL_FORM)
        c->front->link->deadline_ms = c->front->edge->now.mono_ms + EDGE_HEAD_MS;
}
