/* One or two replicas of a hub in a world with the model API server, and clients that speak to them over links of their own, all in virtual
 * time. The first runs on the net of the world's second process, the other one on that of its first. */
#ifndef MOBULA_TEST_HUBWORLD_H
#define MOBULA_TEST_HUBWORLD_H

#include "objects.h"

#include <mobula/hub.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

enum { CLIENTS = 16 };

struct client {
    struct link link; /* first */
    struct hubworld *of;
    struct buf in, out;
    bool closed;
    char scratch[16 * KIB];
};

struct hubworld {
    struct world w;
    struct hub *hub, *second; /* NULL: it does not run */
    struct kube_config *config, *second_config;
    struct client client[CLIENTS];
    uint32_t clients;
    struct hub_cert cert; /* for the next hub_up */
    struct slice url[2];  /* URLs of hub and second for the other replica; empty: it cannot connect */
    struct json doc;      /* of the last answer */
    int status;
};

static struct slice client_peek(struct link *l)
{
    return buf_slice(&((struct client *)l)->in);
}

static void client_used(struct link *l, size_t n)
{
    buf_drop(&((struct client *)l)->in, n);
}

static char *client_room(struct link *l, size_t *n)
{
    *n = sizeof((struct client *)l)->scratch;
    return ((struct client *)l)->scratch;
}

static void client_wrote(struct link *l, size_t n)
{
    buf_put(&((struct client *)l)->out, (struct slice){((struct client *)l)->scratch, n});
    net_wake(l);
}

static void client_close(struct link *l)
{
    net_forget(l);
    ((struct client *)l)->closed = true;
}

static const struct link_ops client_ops = {client_peek, client_used, client_room, client_wrote, client_close};

/* ---- life ---- */

static void hub_up(struct hubworld *h)
{
    static const struct slice namespaces[] = {{"n", 1}};
    struct err e = {0};
    h->config = kube_config_load(&(struct kube_config_options){.kubeconfig = h->w.kubeconfig}, &e);
    h->hub = hub_new(
        &h->w.process[1].net, h->config,
        &(struct hub_options){
            .namespaces = namespaces, .namespace_count = 1, .replica = SLICE("hub-1"), .url = h->url[0], .seed = 1, .cert = h->cert},
        &e);
    if (!CHECK(h->hub))
        printf("  %s\n", e.text);
}

static void hub_down(struct hubworld *h)
{
    hub_free(h->hub);
    kube_config_free(h->config);
    h->hub = NULL;
    h->config = NULL;
}

static void second_up(struct hubworld *h)
{
    static const struct slice namespaces[] = {{"n", 1}};
    struct err e = {0};
    h->second_config = kube_config_load(&(struct kube_config_options){.kubeconfig = h->w.kubeconfig}, &e);
    h->second = hub_new(
        &h->w.process[0].net, h->second_config,
        &(struct hub_options){.namespaces = namespaces, .namespace_count = 1, .replica = SLICE("hub-2"), .url = h->url[1], .seed = 2}, &e);
    if (!CHECK(h->second))
        printf("  %s\n", e.text);
}

static void second_down(struct hubworld *h)
{
    hub_free(h->second);
    kube_config_free(h->second_config);
    h->second = NULL;
    h->second_config = NULL;
}

/* Returns when it wants to be called again, by the world's clock. */
static int64_t step_hub(struct hub *hub, struct process *p)
{
    struct now now = world_process_now(p);
    if (!hub)
        return TIME_NEVER;
    while (net_dispatch(&p->net, now))
        ;
    return hub_step(hub, now) - p->ahead_ms;
}

static void run(struct hubworld *h, int64_t ms)
{
    int64_t until = h->w.now.mono_ms + ms;
    do {
        int64_t next = earlier(step_hub(h->hub, &h->w.process[1]), step_hub(h->second, &h->w.process[0]));
        world_step(&h->w, next < until ? next : until);
    } while (h->w.now.mono_ms < until);
}

static void start(struct hubworld *h)
{
    struct apiserver_config config = {.seed = 1};
    *h = (struct hubworld){0};
    world_init(&h->w, &config);
    make_namespace(&h->w);
    define_hub_kinds(&h->w);
    hub_up(h);
    run(h, 1000);
}

static void finish(struct hubworld *h)
{
    hub_down(h);
    second_down(h);
    for (uint32_t i = 0; i < h->clients; i++) {
        CHECK(h->client[i].closed);
        buf_free(&h->client[i].in);
        buf_free(&h->client[i].out);
    }
    world_free(&h->w);
}

/* ---- objects, as kubectl would make them ---- */

static struct slice path_of(struct hubworld *h, const char *plural, const char *name)
{
    return arena_printf(&h->w.arena, "/apis/mobula.dev/v1/namespaces/n/%s%s%s", plural, *name ? "/" : "", name);
}

static void make(struct hubworld *h, const char *kind, const char *plural, const char *name, const char *spec)
{
    create_hub_object(&h->w, kind, plural, name, spec);
    run(h, 100);
}

static void make_cloud(struct hubworld *h, const char *name)
{
    create_cloud(&h->w, name);
    run(h, 100);
}

static void make_job(struct hubworld *h, const char *name, const char *cloud, const char *more)
{
    make(h, "Workload", "workloads", name,
         arena_printf(&h->w.arena, "{\"cloud\":\"%s\"%s,\"job\":{\"entrypoint\":\"python main.py\"}}", cloud, more).ptr);
}

static struct jval object_of(struct hubworld *h, const char *plural, const char *name)
{
    struct json *doc = arena_new(&h->w.arena, struct json);
    struct slice body;
    struct err e = {0};
    int status = world_ask(&h->w, "GET", path_of(h, plural, name).ptr, "application/json", SLICE_NONE, &body);
    if (status != 200 || !json_parse(doc, body, &h->w.arena, &e))
        return (struct jval){.at = -1};
    return json_root(doc);
}

static struct slice field(struct hubworld *h, const char *plural, const char *name, const char *path)
{
    return json_get_str(object_of(h, plural, name), path, &h->w.arena);
}

/* ---- calls ---- */

static void client_open(struct client *c, struct hub *hub, struct process *p)
{
    c->link = (struct link){.ops = &client_ops, .net = &p->net, .state = LINK_OPEN};
    c->closed = false;
    buf_clear(&c->in);
    buf_clear(&c->out);
    struct link_accept *a = hub_accept(hub);
    a->accept(a, &c->link, world_process_now(p));
}

static struct client *client_at(struct hubworld *h, bool second)
{
    struct client *c = &h->client[h->clients++];
    *c = (struct client){.of = h};
    buf_init(&c->in, 16 * MIB);
    buf_init(&c->out, 16 * MIB);
    client_open(c, second ? h->second : h->hub, &h->w.process[second ? 0 : 1]);
    return c;
}

static struct client *client_new(struct hubworld *h)
{
    return client_at(h, false);
}

static void send(struct client *c, const char *method, const char *path, const char *token, struct slice body)
{
    struct buf b;
    buf_init(&b, 16 * MIB);
    const struct http_header headers[] = {
        {SLICE("Content-Type"), SLICE("application/json")},
        {SLICE("Authorization"), arena_printf(&c->of->w.arena, "Bearer %s", token)},
    };
    http_write_request(&b, slice_of(method), slice_of(path), SLICE("hub"), headers, *token ? 2 : 1, body.ptr ? &body : NULL);
    buf_put(&c->in, buf_slice(&b));
    buf_free(&b);
    net_wake(&c->link);
}

/* What has come as an answer by now; 0: nothing. */
static int answer(struct client *c)
{
    struct hubworld *h = c->of;
    struct http_reader r;
    struct slice in = buf_slice(&c->out), body, all = SLICE("");
    struct err e = {0};
    h->status = 0;
    h->doc = (struct json){0};
    if (slice_empty(in))
        return 0;
    http_reader_init(&r, HTTP_RESPONSES);
    for (enum http_step step = HTTP_MORE; step != HTTP_END;) {
        step = http_read(&r, &in, &body, &e);
        if (step == HTTP_BODY)
            all = arena_printf(&h->w.arena, "%.*s%.*s", SLICE_ARG(all), SLICE_ARG(body));
        if (!CHECK(step != HTTP_BAD && step != HTTP_MORE))
            break;
    }
    h->status = r.status;
    buf_drop(&c->out, c->out.len - in.len);
    http_reader_free(&r);
    json_parse(&h->doc, arena_dup(&h->w.arena, all), &h->w.arena, &e);
    return h->status;
}

static int ask(struct client *c, const char *method, const char *path, const char *token, const char *body)
{
    send(c, method, path, token, slice_of(body));
    run(c->of, 200);
    return answer(c);
}

static struct slice said(struct hubworld *h, const char *path)
{
    return json_get_str(json_root(&h->doc), path, &h->w.arena);
}

/* more: members of the request behind the usual ones. */
static void sync_send(struct client *c, const char *cloud, const char *instance, const char *revision, const char *more)
{
    struct hubworld *h = c->of;
    struct slice id = field(h, "clouds", cloud, "status.deploymentId");
    send(c, "POST", "/v1/sync", "operator",
         arena_printf(&h->w.arena, "{\"protocol\":1,\"cloud\":\"%.*s\",\"instance\":\"%s\",\"version\":\"0.1.0\",\"revision\":\"%s\"%s}",
                      SLICE_ARG(id), instance, revision, more));
}

static int sync_ask(struct client *c, const char *cloud, const char *instance, const char *revision, const char *more)
{
    sync_send(c, cloud, instance, revision, more);
    run(c->of, 200);
    return answer(c);
}

/* The i-th workload of the last answer. */
static struct jval workload_at(struct hubworld *h, size_t i)
{
    return json_at(json_get(json_root(&h->doc), "workloads"), i);
}

static size_t workloads(struct hubworld *h)
{
    return json_len(json_get(json_root(&h->doc), "workloads"));
}

/* Its revision, as a C string. */
static const char *revision(struct hubworld *h)
{
    return arena_dup(&h->w.arena, said(h, "revision")).ptr;
}

#pragma GCC diagnostic pop

#endif
