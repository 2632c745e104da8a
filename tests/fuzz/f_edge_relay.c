/* A client and upstreams that say anything, in any order. Upstreams hear requests that no reader can take for others, and nothing is left
 * open. In the input, byte 1 makes the client speak, 2 the newest upstream, 3 ends the speaker's side, 4 lets time pass, 5 gives the client
 * room for a few bytes. */
#include "tests/unit/edge/rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROUTES                                                                                                                             \
    "routes:\n"                                                                                                                            \
    "- {auth: none, upstream: 'u:1'}\n"                                                                                                    \
    "- {auth: none, path: /s, strip: true, upstream: 'u:2'}\n"                                                                             \
    "- {auth: token, path: /t, tokenFile: /t, versions: [{name: a, upstream: 'u:3'}, {name: b, upstream: 'u:4'}]}\n"                       \
    "- {auth: none, host: '*.i.org', upstream: '*.x.svc:5'}\n"

static struct rig rig;
static struct end client;

/* All that an upstream has heard are requests, of which the last may be cut. */
static void check_requests(struct slice heard)
{
    struct http_reader r;
    struct slice body;
    struct err e = {0};
    http_reader_init(&r, HTTP_REQUESTS);
    for (enum http_step step = HTTP_HEAD; step != HTTP_MORE;) {
        step = http_read(&r, &heard, &body, &e);
        if (step == HTTP_BAD)
            abort();
        if (step == HTTP_HEAD && (http_header_get(&r, SLICE("forwarded")).ptr || http_header_get(&r, SLICE("te")).ptr ||
                                  !http_header_get(&r, SLICE("x-forwarded-for")).ptr))
            abort();
    }
    http_reader_free(&r);
}

static void act(uint8_t what, struct end *speaker)
{
    if (what == 3)
        rig_end(&rig, speaker);
    else if (what == 4)
        rig_wait(&rig, &client, EDGE_SLOW_MS / 2);
    else if (!client.closed) {
        client.room = 7;
        net_wake(&client.link);
        rig_turn(&rig);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct end *speaker = &client;
    log_global.level = LOG_ERROR + 1;
    rig_start(&rig, NULL, ROUTES);
    rig_enter(&rig, &client);
    for (size_t i = 0, n; i < size; i += n) {
        n = 1;
        if (data[i] == 1 || data[i] == 2) {
            speaker = data[i] == 1 || rig.ups == 0 ? &client : &rig.up[rig.ups - 1];
        } else if (data[i] >= 3 && data[i] <= 5) {
            act(data[i], speaker);
        } else {
            while (i + n < size && (data[i + n] == 0 || data[i + n] > 5))
                n++;
            if (!speaker->closed && speaker->link.state == LINK_OPEN) {
                buf_put(&speaker->in, (struct slice){(const char *)data + i, n});
                net_wake(&speaker->link);
                rig_turn(&rig);
            }
        }
    }
    for (unsigned i = 0; i < rig.ups && rig.edge->stats.codes[101] == 0; i++)
        check_requests(buf_slice(&rig.up[i].out));
    edge_free(rig.edge);
    for (unsigned i = 0; i < rig.ups; i++) {
        if (!rig.up[i].closed)
            abort();
        rig_leave(&rig.up[i]);
    }
    if (!client.closed)
        abort();
    rig_leave(&client);
    return 0;
}
