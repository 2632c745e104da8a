/* An API server with canned answers, and a conversation with it. */
#ifndef TESTS_UNIT_RELEASE_ASKED_H
#define TESTS_UNIT_RELEASE_ASKED_H

#include "../canned.h"
#include "../test.h"

#include <mobula/release.h>

struct asked {
    struct canned server;
    struct ask ask;
    struct arena a;
    struct buf said; /* lines of apply.say and, behind "note: ", of apply.note */
};

static struct asked *asked_now; /* gets the lines */

__attribute__((unused)) static void asked_say(struct slice line)
{
    buf_printf(&asked_now->said, "%.*s\n", SLICE_ARG(line));
}

__attribute__((unused)) static void asked_note(struct slice line)
{
    buf_printf(&asked_now->said, "note: %.*s\n", SLICE_ARG(line));
}

static void asked_open(struct asked *k, const struct canned_answer *answers, size_t count)
{
    struct err e = {0};
    *k = (struct asked){.ask.timeout_ms = 20 * 1000};
    buf_init(&k->said, MIB);
    canned_start(&k->server, answers, count);
    const char *url = arena_printf(&k->a, "http://127.0.0.1:%u", k->server.port).ptr;
    if (!ask_open_url(&k->ask, &(struct kube_config_url){.url = url, .setting = "--server", .name = "API server", .clear = true}, &e))
        fatal("%s", e.text);
    asked_now = k;
}

static void asked_close(struct asked *k)
{
    ask_close(&k->ask);
    canned_stop(&k->server);
    buf_free(&k->said);
    arena_free(&k->a);
}

#endif
