/* Batches of a log file against a store that answers as a case says, in virtual time. tests/e2e/test_shipped_logs.py has real stores. */
#include "../test.h"

#include <mobula/ship.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define EMPTY "<EnumerationResults/>"

struct fake {
    struct link l; /* first */
    struct net net;
    struct slice in;
    struct buf one; /* the request that is being received */
    unsigned puts, heads;
    const char *put, *head; /* answers */
    char text[256], room[LIMIT_HTTP_HEAD];
};

static struct fake *of(struct link *l)
{
    return (struct fake *)l;
}

static struct slice peek(struct link *l)
{
    return of(l)->in;
}

static void used(struct link *l, size_t n)
{
    of(l)->in = slice_skip(of(l)->in, n);
}

static char *room(struct link *l, size_t *n)
{
    *n = sizeof of(l)->room;
    return of(l)->room;
}

/* The answer comes when the end of the head was received; bodies are short, and come with it. */
static void wrote(struct link *l, size_t n)
{
    struct fake *f = of(l);
    buf_put(&f->one, (struct slice){f->room, n});
    struct slice one = buf_slice(&f->one);
    ptrdiff_t end = slice_find_text(one, "\r\n\r\n");
    bool put = slice_starts(one, SLICE("PUT ")), head = slice_starts(one, SLICE("HEAD "));
    if (end < 0 || (put && one.len == (size_t)end + 4))
        return;
    f->puts += put;
    f->heads += head;
    snprintf(f->text, sizeof f->text, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s",
             put    ? f->put
             : head ? f->head
                    : "200 OK",
             put || head ? (size_t)0 : strlen(EMPTY), put || head ? "" : EMPTY);
    f->in = slice_of(f->text);
    buf_clear(&f->one);
    net_wake(l);
}

static void close_link(struct link *l)
{
    net_forget(l);
}

static struct link *open_link(struct net *n, const struct endpoint *to, struct link_owner *owner, int64_t deadline_ms, struct err *e)
{
    static const struct link_ops ops = {peek, used, room, wrote, close_link};
    struct fake *f = (struct fake *)((char *)n - offsetof(struct fake, net));
    (void)to;
    (void)e;
    f->l = (struct link){.ops = &ops, .net = n, .owner = owner, .state = LINK_OPEN, .deadline_ms = deadline_ms};
    return &f->l;
}

/* A folder of Ray with one log of one line. */
static void make_log(char *root, size_t size)
{
    static const char *const folders[] = {"session_1", "session_1/logs"};
    char path[128];
    snprintf(root, size, "/tmp/mobula-ship-XXXXXX");
    if (!CHECK(mkdtemp(root) != NULL))
        exit(1);
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        mkdir(path, 0755);
    }
    snprintf(path, sizeof path, "%s/session_1/logs/a.log", root);
    FILE *f = fopen(path, "w");
    if (!CHECK(f && fputs("line\n", f) > 0 && fclose(f) == 0))
        exit(1);
}

static void remove_log(const char *root)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    CHECK_INT(system(command), 0);
}

static void run(struct fake *f, struct ship *s, struct now *now, int64_t until_ms)
{
    while (now->mono_ms < until_ms) {
        int64_t next = ship_step(s, *now);
        while (net_dispatch(&f->net, *now))
            next = ship_step(s, *now);
        now->mono_ms = next > now->mono_ms ? earlier(next, until_ms) : now->mono_ms + 1;
    }
}

/* An object that is there, as the store says, and is not: a container that is being deleted. */
static void test_conflict(void)
{
    static const struct net_ops ops = {open_link};
    static struct fake f;
    static const struct cloud_surroundings surroundings = {0};
    char root[64];
    make_log(root, sizeof root);
    f = (struct fake){.net.ops = &ops, .put = "409 Conflict", .head = "404 Not Found", .one = {.max = MIB}};
    const struct cloud_store_options o = {
        .protocol = &cloud_azure,
        .from = &surroundings,
        .settings = {.keys = {SLICE("acc"), SLICE("a2V5"), SLICE("")}, .region = SLICE("auto"), .source = "the case"},
        .store = {.authority = SLICE("store:9000"), .path = SLICE("")},
        .bucket = SLICE("logs"),
        .path_style = true,
        .seed = 1};
    struct cloud_store *store = cloud_store_new(&f.net, &o);
    struct ship *s =
        ship_new(store, &(struct ship_options){.protocol = &cloud_azure, .root = slice_of(root), .prefix = SLICE("p/"), .flush_ms = 100});
    struct now now = {.mono_ms = 1000, .wall_us = 1000000};
    test_case("409 for a PUT and 404 for the HEAD that follows are not repeated at the pace of the network");
    run(&f, s, &now, now.mono_ms + 10 * 1000);
    CHECK(f.puts > 1 && f.puts < 12 && f.heads < 12);
    ship_free(s);
    cloud_store_free(store);
    buf_free(&f.one);
    remove_log(root);
}

int main(void)
{
    log_global.level = LOG_ERROR + 1;
    test_conflict();
    return test_done();
}
