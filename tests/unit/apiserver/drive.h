/* Drives the model server in-process: requests as bytes, answers read by the product's own reader, time moved by hand. */
#ifndef TEST_APISERVER_DRIVE_H
#define TEST_APISERVER_DRIVE_H

#include "../test.h"
#include "tests/model/apiserver/apiserver.h"

#include <mobula/http.h>
#include <mobula/json.h>

struct world {
    struct apiserver *server;
    struct conn *conn;
    struct now now;
    struct arena mem;
    uint64_t last_rv;
};

struct answer {
    int status;
    struct slice body;
    struct jval json; /* not there when the body is not JSON */
};

void world_open(struct world *w, const struct apiserver_config *config); /* NULL: all defaults, seed 1 */
void world_close(struct world *w);
/* Moves time, a deadline at a time. */
void world_sleep(struct world *w, int64_t ms);

/* One request on the world's own connection; body and type may be NULL. */
struct answer ask(struct world *w, const char *method, const char *target, const char *body);
struct answer ask_typed(struct world *w, const char *method, const char *target, const char *type, const char *body);
struct answer ask_accept(struct world *w, const char *target, const char *accept);
/* Shorter. */
struct slice text(struct answer a, struct world *w, const char *path);
int64_t whole(struct answer a, const char *path);

/* ---- watches ---- */

struct stream {
    struct world *w;
    struct conn *conn;
    struct http_reader reader;
    struct json_slicer slicer;
    struct buf lines; /* "ADDED a\nMODIFIED a\n…": type and name of each event since the last look */
    int status;
    bool ended;
    struct slice last; /* the last event, in the world's arena */
};

void stream_open(struct stream *s, struct world *w, const char *target);
void stream_close(struct stream *s);
/* Reads what has come; the lines since the last look. */
struct slice stream_look(struct stream *s);

#endif
