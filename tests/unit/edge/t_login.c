/* The login page, its cookie, and which requests of a browser that is signed in are believed. */
#include "auth.h"

static const struct {
    const char *cookies, *ours, *rest; /* rest NULL: none is left */
} jars[] = {
    {"mobula-edge=a.b", "a.b", NULL},
    {"x=1; mobula-edge=t; y=2", "t", "x=1; y=2"},
    {"x=1;y=2", "", "x=1;y=2"},
    {" mobula-edge = t ;x=1", "t ", "x=1"},
    {"mobula-edge=a; mobula-edge=b", "a", NULL},
    {"mobula-edge=", "", NULL},
    {"mobula-edge=a; __Host-mobula-edge=b; mobula-edge=c; d=e", "b", "d=e"},
    {"mobula-edges=a", "", "mobula-edges=a"},
    {"x=mobula-edge=a", "", "x=mobula-edge=a"},
    {";;", "", ";;"},
};

static void test_cookies(void)
{
    for (size_t i = 0; i < COUNT_OF(jars); i++) {
        struct arena a = {0};
        struct http_reader r = {.header_count = 1};
        test_case("%s", jars[i].cookies);
        struct slice in = guarded(slice_of(jars[i].cookies));
        r.headers[0] = (struct http_header){SLICE("Cookie"), in};
        CHECK_SLICE(slice_trim(login_cookie(&r)), slice_trim(slice_of(jars[i].ours)));
        struct slice rest = login_strip(in, &a);
        CHECK((rest.ptr != NULL) == (jars[i].rest != NULL));
        if (jars[i].rest && rest.ptr)
            CHECK_STR(rest, jars[i].rest);
        arena_free(&a);
    }
}

static void test_login(void)
{
    struct end second = {0};
    begin("a form with a token becomes a cookie", USERS);
    rig_say(&rig, &client, "GET / HTTP/1.1\r\nHost: h\r\nAccept: text/html\r\n\r\n");
    struct slice page = rig_hear(&client);
    CHECK(slice_starts(page, SLICE("HTTP/1.1 401 ")) && slice_has(page, "<form method=\"post\" action=\"/.mobula/login\">"));
    rig_say(&rig, &client,
            "POST /.mobula/login HTTP/1.1\r\nHost: h\r\nOrigin: http://h\r\nContent-Length: 24\r\n\r\ntoken=a.b%2D&to=%2Fx%3Fy");
    answer("\"token\":\"a.b-\"", ACCEPTED);
    struct slice said = rig_hear(&client);
    CHECK(slice_starts(said, SLICE("HTTP/1.1 303 ")) && slice_has(said, "\r\nLocation: /x?y\r\n"));
    CHECK(slice_has(said, "\r\nSet-Cookie: mobula-edge=a.b-; Path=/; HttpOnly; SameSite=Lax\r\n"));
    over();
    begin("over TLS no page of another host can set the cookie", USERS);
    rig_say(&rig, &client, "POST /.mobula/login HTTP/1.1\r\nHost: h\r\nX-Forwarded-Proto: https\r\nContent-Length: 7\r\n\r\ntoken=a");
    answer("\"token\":\"a\"", ACCEPTED);
    CHECK(slice_has(rig_hear(&client), "\r\nSet-Cookie: mobula-edge=a; Path=/;"));
    rig_enter(&rig, &second);
    rig.edge->o.behind_proxy = true;
    rig_say(&rig, &second, "POST /.mobula/login HTTP/1.1\r\nHost: h\r\nX-Forwarded-Proto: https\r\nContent-Length: 7\r\n\r\ntoken=a");
    CHECK(slice_has(rig_hear(&second), "\r\nSet-Cookie: __Host-mobula-edge=a; Path=/; HttpOnly; SameSite=Lax; Secure\r\n"));
    rig_leave(&second);
    over();
    begin("a form past its limit", USERS);
    rig_say(&rig, &client, "POST /.mobula/login HTTP/1.1\r\nHost: h\r\nContent-Length: 20000\r\n\r\n");
    for (int i = 0; i < 17; i++) {
        char kib[KIB + 1];
        memset(kib, 'a', KIB);
        kib[KIB] = '\0';
        rig_say(&rig, &client, kib);
    }
    CHECK_INT(rig_status(&client), 413);
    over();
}

/* Origin, Host and X-Forwarded-Host of a form that signs in, with and without --behind-proxy. */
static const struct {
    const char *origin, *host, *forwarded;
    bool believed;
    int status;
} origins[] = {
    {"http://h", "h", NULL, false, 303},
    {"http://H", "h", NULL, false, 303},
    {"http://h", "inner:80", "h", false, 403},
    {"http://h", "inner:80", "h", true, 303},
    {"https://h:8443", "inner", " h:8443", true, 303},
    {"http://evil", "inner:80", "h", true, 403},
    {"http://inner:80", "inner:80", "h", true, 303},
    {"null", "h", "null", true, 403},
    {"http://", "h", "", true, 403},
};

static void test_origins(void)
{
    for (size_t i = 0; i < COUNT_OF(origins); i++) {
        char form[400];
        const char *more = origins[i].forwarded;
        begin(origins[i].origin, USERS);
        rig.edge->o.behind_proxy = origins[i].believed;
        snprintf(form, sizeof form, "POST /.mobula/login HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\n%s%s%sContent-Length: 7\r\n\r\ntoken=a",
                 origins[i].host, origins[i].origin, more ? "X-Forwarded-Host: " : "", more ? more : "", more ? "\r\n" : "");
        rig_say(&rig, &client, form);
        if (origins[i].status == 303)
            answer("\"token\":\"a\"", ACCEPTED);
        CHECK_INT(rig_status(&client), origins[i].status);
        over();
    }
}

/* A GET that changes something, from a browser that is signed in. */
static const struct {
    const char *path, *signs;
    int status; /* 0: the right is asked for */
} signs[] = {
    {"/api/actors/kill?actor_id=1", "", 403},
    {"/api/actors/kill?actor_id=1", "Sec-Fetch-Site: same-site\r\n", 403},
    {"/api/actors/kill?actor_id=1", "Sec-Fetch-Site: cross-site\r\nReferer: http://h/\r\n", 403},
    {"/api/actors/kill?actor_id=1", "Referer: http://evil.h/\r\n", 403},
    {"/api/actors/kill?actor_id=1", "Referer: http://evil/h\r\n", 403},
    {"/api/actors/kill?actor_id=1", "Origin: http://evil\r\nSec-Fetch-Site: same-origin\r\n", 403},
    {"/api/actors/kill?actor_id=1", "Sec-Fetch-Site: same-origin\r\n", 0},
    {"/api/actors/kill?actor_id=1", "Sec-Fetch-Site: none\r\n", 0},
    {"/api/actors/kill?actor_id=1", "Referer: http://h/#/actors\r\n", 0},
    {"/api/actors/kill?actor_id=1", "Referer: http://H\r\n", 0},
    {"/api/actors/kill?actor_id=1", "Origin: http://h\r\n", 0},
    {"/api/jobs/", "", 0},
    {"/api/jobs/", "Sec-Fetch-Site: cross-site\r\n", 0},
};

static void test_signs(void)
{
    for (size_t i = 0; i < COUNT_OF(signs); i++) {
        char more[200];
        begin(signs[i].signs, USERS);
        snprintf(more, sizeof more, "Cookie: mobula-edge=t1\r\n%s", signs[i].signs);
        ask_for(&client, "GET", signs[i].path, NULL, more);
        if (signs[i].status == 0)
            answer("\"token\":\"t1\"", ACCEPTED);
        CHECK_INT(rig_status(&client), signs[i].status);
        CHECK_INT(rig.edge->asked, signs[i].status == 0);
        over();
    }
}

/* Its page would hold five bytes for each. */
static void test_long_target(void)
{
    char path[LIMIT_HTTP_URL - 1];
    begin("a target that is too long for the page: the browser goes to / after the login", USERS);
    memset(path, '&', sizeof path - 1);
    path[0] = '/';
    path[1] = '?';
    path[sizeof path - 1] = 0;
    ask_for(&client, "GET", path, NULL, "Accept: text/html\r\n");
    struct slice page = rig_hear(&client);
    CHECK(slice_starts(page, SLICE("HTTP/1.1 401 ")) && slice_has(page, "name=\"to\" value=\"/\""));
    over();
}

int main(void)
{
    log_global.level = LOG_ERROR + 1;
    test_cookies();
    test_login();
    test_origins();
    test_signs();
    test_long_target();
    return test_done();
}
