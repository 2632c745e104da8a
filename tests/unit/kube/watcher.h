/* A watch whose events are written down as one line of text, so that a test can say what it expects in one string:
 * R restart, +name upsert, -name delete, S<version> synced, P<version> progress, A absent, K skipped, T<code> trouble, W<version> rewound.
 */
#ifndef MOBULA_TEST_WATCHER_H
#define MOBULA_TEST_WATCHER_H

#include "answers.h"

#include "src/kube/watch.h"

struct watcher {
    struct fake f;
    struct kube_watch *w;
    struct buf story;
    char error[ERR_TEXT_MAX];
    uint64_t known;    /* the version that the owner has of each object; 0: none */
    bool stop_at_item; /* the owner stops the watch from inside its callback */
};

static void on_watch(void *owner, const struct kube_watch_event *ev, struct now now)
{
    struct watcher *t = owner;
    struct arena a = {0};
    (void)now;
    struct slice name = json_get_str(ev->item, "metadata.name", &a);
    const char *space = t->story.len ? " " : "";
    static const char letters[] = {'R', '+', '-', 'S', 'P', 'A', 'K', 'T', 'W'};
    switch (ev->what) {
    case KUBE_WATCH_UPSERT:
    case KUBE_WATCH_DELETE:
        buf_printf(&t->story, "%s%c%.*s", space, letters[ev->what], SLICE_ARG(name));
        kube_watch_is_old(t->w, ev->version, t->known);
        if (t->stop_at_item)
            kube_watch_stop(t->w);
        break;
    case KUBE_WATCH_SYNCED:
    case KUBE_WATCH_PROGRESS:
    case KUBE_WATCH_REWOUND:
        buf_printf(&t->story, "%s%c%llu", space, letters[ev->what], (unsigned long long)ev->version);
        break;
    case KUBE_WATCH_TROUBLE:
        buf_printf(&t->story, "%sT%d", space, ev->status ? ev->status->code : 0);
        break;
    case KUBE_WATCH_RESTART:
    case KUBE_WATCH_ABSENT:
    case KUBE_WATCH_SKIPPED:
        buf_printf(&t->story, "%s%c", space, letters[ev->what]);
        break;
    }
    if (ev->err)
        snprintf(t->error, sizeof t->error, "%s", ev->err->text);
    arena_free(&a);
}

/* stream: whether the client tries streaming lists. */
__attribute__((unused)) static void watcher_start(struct watcher *t, bool stream)
{
    *t = (struct watcher){0};
    fake_init(&t->f);
    t->f.client->no_stream = !stream;
    buf_init(&t->story, MIB);
    struct err e = {0};
    struct kube_watch_options o = {.resource = {SLICE(""), SLICE("v1"), SLICE("pods")},
                                   .kind = SLICE("Pod"),
                                   .ns = SLICE("a"),
                                   .labels = SLICE("ray.io/cluster"),
                                   .on = on_watch,
                                   .owner = t};
    t->w = kube_watch_start(t->f.client, &o, &e);
    fake_run(&t->f, 0);
}

__attribute__((unused)) static void watcher_free(struct watcher *t)
{
    fake_free(&t->f);
    buf_free(&t->story);
}

/* What happened since the last time. */
#define CHECK_STORY(t, want)                                                                                                               \
    do {                                                                                                                                   \
        CHECK_STR(buf_slice(&(t)->story), want);                                                                                           \
        buf_clear(&(t)->story);                                                                                                            \
    } while (0)

__attribute__((unused)) static struct fakelink *watcher_link(struct watcher *t)
{
    return fake_last(&t->f);
}

/* Answers the request that stands on the newest link, after checking what it asks for. */
__attribute__((unused)) static void answer_list(struct watcher *t, const char *body)
{
    fake_take(watcher_link(t));
    fake_answer(watcher_link(t), 200, "", slice_of(body));
}

__attribute__((unused)) static void begin_stream(struct watcher *t)
{
    fake_take(watcher_link(t));
    fake_stream(watcher_link(t));
}

/* {"type":"ADDED","object":{"metadata":{"name":NAME,"resourceVersion":"V"}}} */
__attribute__((unused)) static void event(struct watcher *t, const char *type, const char *name, unsigned version)
{
    char text[512];
    int n = snprintf(text, sizeof text,
                     "{\"type\":\"%s\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"%u\"}}}\n", type,
                     name, version);
    fake_chunk(watcher_link(t), (struct slice){text, (size_t)n});
}

__attribute__((unused)) static void initial_end(struct watcher *t, unsigned version)
{
    char text[512];
    int n = snprintf(text, sizeof text,
                     "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"%u\","
                     "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n",
                     version);
    fake_chunk(watcher_link(t), (struct slice){text, (size_t)n});
}

__attribute__((unused)) static void error_event(struct watcher *t, int code, const char *reason)
{
    char text[512];
    int n =
        snprintf(text, sizeof text,
                 "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":%d,\"reason\":\"%s\",\"message\":\"m\"}}\n", code, reason);
    fake_chunk(watcher_link(t), (struct slice){text, (size_t)n});
}

/* A list and a live watch from version 10 with one pod. */
__attribute__((unused)) static void go_live(struct watcher *t)
{
    answer_list(t, "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[{\"metadata\":{\"name\":\"p\","
                   "\"resourceVersion\":\"3\"}}]}");
    begin_stream(t);
    buf_clear(&t->story);
}

__attribute__((unused)) static bool asks(struct watcher *t, const char *part)
{
    struct slice line = fake_line(watcher_link(t));
    return line.len && memmem(line.ptr, line.len, part, strlen(part)) != NULL;
}

#endif
