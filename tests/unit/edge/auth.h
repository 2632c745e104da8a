/* An edge with an API server that the test plays. */
#ifndef MOBULA_TEST_EDGE_AUTH_H
#define MOBULA_TEST_EDGE_AUTH_H

#include "rig.h"

#define USERS "routes: [{auth: users, cluster: rag, upstream: 'u:1'}]"
#define ACCEPTED "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"ann\",\"groups\":[\"g\"]}}}"
#define REJECTED "{\"status\":{\"authenticated\":false,\"error\":\"unknown\"}}"
#define ALLOWED "{\"status\":{\"allowed\":true}}"
#define DENIED "{\"status\":{\"allowed\":false,\"reason\":\"no role\"}}"
enum { API_PORT = 6443 };

static struct rig rig;
static struct end client;
static struct kube_config *config;

__attribute__((unused)) static void begin(const char *what, const char *routes)
{
    struct err e = {0};
    test_case("%s", what);
    config = kube_config_url(&(struct kube_config_url){.url = "http://127.0.0.1:6443", .token = SLICE("edge"), .name = "API server"}, &e);
    if (!CHECK(config))
        printf("  %s\n", e.text);
    rig_start(&rig, config, routes);
    rig_enter(&rig, &client);
}

__attribute__((unused)) static void over(void)
{
    rig_stop(&rig, &client);
    kube_config_free(config);
}

__attribute__((unused)) static void ask_for(struct end *v, const char *method, const char *path, const char *token, const char *more)
{
    struct buf b = {.max = MIB};
    buf_printf(&b, "%s %s HTTP/1.1\r\nHost: h\r\n", method, path);
    if (token)
        buf_printf(&b, "Authorization: Bearer %s\r\n", token);
    buf_printf(&b, "%s\r\n", more);
    buf_putc(&b, '\0');
    rig_say(&rig, v, b.ptr);
    buf_free(&b);
}

__attribute__((unused)) static void ask(struct end *v, const char *method, const char *token, const char *more)
{
    ask_for(v, method, "/", token, more);
}

/* The connection on which the edge has asked the API server something new; its question is in *question. */
__attribute__((unused)) static struct end *asked(struct slice *question)
{
    for (unsigned i = 0; i < rig.ups; i++)
        if (rig.up[i].port == API_PORT && !rig.up[i].closed && rig.up[i].out.len > rig.up[i].got) {
            *question = rig_hear(&rig.up[i]);
            rig.up[i].room = RIG_ROOM;
            return &rig.up[i];
        }
    return NULL;
}

/* Answers the API server's part; words must stand in the question. */
__attribute__((unused)) static void answer(const char *words, const char *json)
{
    struct slice question;
    struct buf b = {.max = MIB};
    struct end *api = asked(&question);
    if (!CHECK(api))
        return;
    if (!CHECK(slice_has(question, words)))
        printf("  %.*s\n", SLICE_ARG(question));
    buf_printf(&b, "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", strlen(json), json);
    buf_putc(&b, '\0');
    rig_say(&rig, api, b.ptr);
    buf_free(&b);
}

__attribute__((unused)) static struct end *upstream(void)
{
    for (unsigned i = rig.ups; i > 0; i--)
        if (rig.up[i - 1].port == 1)
            return &rig.up[i - 1];
    return NULL;
}

__attribute__((unused)) static bool nothing_asked(void)
{
    struct slice question;
    return !asked(&question);
}

/* The upstream's part. */
__attribute__((unused)) static struct slice served(void)
{
    struct end *u = upstream();
    if (!CHECK(u))
        return SLICE("");
    struct slice heard = rig_hear(u);
    rig_say(&rig, u, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    CHECK_INT(rig_status(&client), 200);
    return heard;
}

#endif
