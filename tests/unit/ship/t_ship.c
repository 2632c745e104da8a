/* Batches of a log file against a store that answers as a case says, in virtual time. tests/e2e/test_shipped_logs.py has real stores. */
#include "fake.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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
    static struct fake f;
    char root[64];
    make_log(root, sizeof root);
    f = (struct fake){.net.ops = &fake_net, .put = "409 Conflict", .head = "404 Not Found", .one = {.max = MIB}};
    struct cloud_store *store = cloud_store_new(&f.net, &fake_store);
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
