/* What is typed for mobula submit, and the whole command against a dashboard on loopback. */
#include "../heads/fakehead.h"
#include "../ports.h"
#include "said.h"

#include "../../../src/cli/cli.h"
#include <mobula/submit.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>

/* ---- what is typed ---- */

static void addresses(void)
{
    static const struct {
        const char *text, *host;
        uint16_t port; /* 0: refused */
    } cases[] = {
        {"http://head:8265", "head", 8265},
        {"http://head:80/", "head", 80},
        {"head", "head", 8265},
        {"a-head-svc.ns.svc.cluster.local:1", "a-head-svc.ns.svc.cluster.local", 1},
        {"http://[fd00::1]:65535", "fd00::1", 65535},
        {"[fd00::1]", "fd00::1", 8265},
        {"10.0.0.1:8265", "10.0.0.1", 8265},
        {"", NULL, 0},
        {"http://", NULL, 0},
        {"https://head:8265", NULL, 0},
        {"ray://head:10001", NULL, 0},
        {"auto", NULL, 0},
        {":8265", NULL, 0},
        {"head:", NULL, 0},
        {"head:0", NULL, 0},
        {"head:65536", NULL, 0},
        {"head:x", NULL, 0},
        {"fd00::1:8265", NULL, 0},
        {"[fd00::1", NULL, 0},
        {"[fd00::1]8265", NULL, 0},
        {"[head]:1", NULL, 0},
        {"http://head:8265/path", NULL, 0},
        {"http://user@head:8265", NULL, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("address \"%s\"", cases[i].text);
        struct slice host = SLICE_NONE;
        uint16_t port = 0;
        struct err e = {0};
        bool well = submit_address(guarded(slice_of(cases[i].text)), "--address", &host, &port, &e);
        CHECK_INT(well, cases[i].port != 0);
        CHECK(well ? slice_eq(host, slice_of(cases[i].host)) && port == cases[i].port
                   : slice_starts(slice_of(e.text), SLICE("--address: \"")));
    }
}

static void entrypoints(void)
{
    static const struct {
        const char *words[4];
        const char *line; /* NULL: refused */
    } cases[] = {
        {{"python x.py --lr=$LR | tee log"}, "python x.py --lr=$LR | tee log"},
        {{"python", "x.py", "--lr=0.1"}, "python x.py --lr=0.1"},
        {{"echo", "a b", "$HOME"}, "echo 'a b' '$HOME'"},
        {{"echo", "it's", ""}, "echo 'it'\\''s' ''"},
        {{"echo", "\xc3\xa4\n"}, "echo '\xc3\xa4\n'"},
        {{NULL}, NULL},
        {{""}, NULL},
        {{" \t"}, NULL},
        {{"echo", "\xff"}, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf line;
        struct err e = {0};
        struct slice words[COUNT_OF(cases[i].words)];
        size_t count = 0;
        for (; count < COUNT_OF(cases[i].words) && cases[i].words[count]; count++)
            words[count] = slice_of(cases[i].words[count]);
        test_case("entrypoint %zu", i);
        buf_init(&line, 64);
        CHECK_INT(submit_entrypoint(words, count, &line, &e), cases[i].line != NULL);
        CHECK(cases[i].line ? slice_eq(buf_slice(&line), slice_of(cases[i].line)) : e.text[0] != 0);
        buf_free(&line);
    }
    test_case("an entrypoint at the limit, and one past it");
    struct buf line;
    struct err e = {0};
    const struct slice word = SLICE("0123456789");
    buf_init(&line, 10);
    CHECK(submit_entrypoint(&word, 1, &line, &e));
    buf_free(&line);
    buf_init(&line, 9);
    CHECK(!submit_entrypoint(&word, 1, &line, &e) && strstr(e.text, "longer than 9 bytes"));
    buf_free(&line);
}

/* ---- the command ---- */

/* A head on a port of its own, one connection after another. */
struct server {
    struct fakehead head;
    int listener;
    uint16_t port;
    pthread_t thread;
    bool there;
    char body[1024], id[64];
};

static void converse(struct server *s, int fd)
{
    char bytes[4096];
    ssize_t n;
    struct fakehead_conn *c = fakehead_connect(&s->head, 8265);
    while (!c->ended && (n = recv(fd, bytes, sizeof bytes, 0)) > 0)
        fakehead_feed(c, (struct slice){bytes, (size_t)n});
    for (struct slice out = buf_slice(&c->out); !slice_empty(out); out = slice_skip(out, (size_t)n))
        if ((n = send(fd, out.ptr, out.len, MSG_NOSIGNAL)) <= 0)
            break;
    fakehead_disconnect(c);
    close(fd);
}

static void *serve(void *arg)
{
    struct server *s = arg;
    int fd;
    while ((fd = accept(s->listener, NULL, NULL)) >= 0)
        converse(s, fd);
    return NULL;
}

/* A job that has ended by the time it is looked at. */
static int ended_job(struct fakehead *h, struct slice method, struct slice target, struct slice body, struct buf *out)
{
    struct server *s = h->owner;
    if (slice_eq(target, SLICE("/api/version")))
        buf_put(out, SLICE("{\"ray_version\": \"2.60.0\", \"session_name\": \"s\"}"));
    else if (slice_eq(method, SLICE("POST"))) {
        snprintf(s->body, sizeof s->body, "%.*s", SLICE_ARG(body));
        buf_put(out, SLICE("{\"submission_id\": \"x\"}"));
    } else if (slice_ends(target, SLICE("/logs")))
        buf_put(out, SLICE("{\"logs\": \"one\\ntwo\\n\"}"));
    else {
        snprintf(s->id, sizeof s->id, "%.*s", SLICE_ARG(slice_skip(target, strlen("/api/jobs/"))));
        buf_put(out, SLICE("{\"submission_id\": \"x\", \"status\": \"SUCCEEDED\"}"));
    }
    return 200;
}

static void server_start(struct server *s)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    *s = (struct server){.head = {.dash = ended_job, .owner = s}, .listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (s->listener < 0 || bind(s->listener, (struct sockaddr *)&a, len) != 0 || listen(s->listener, 8) != 0 ||
        getsockname(s->listener, (struct sockaddr *)&a, &len) != 0)
        fatal("cannot listen");
    s->port = ntohs(a.sin_port);
}

static void server_run(struct server *s)
{
    if (pthread_create(&s->thread, NULL, serve, s) != 0)
        fatal("no thread");
}

static void server_stop(struct server *s)
{
    shutdown(s->listener, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->listener);
}

struct heard {
    char out[4096], err[8192];
};

/* mobula submit WORDS…, the list ended by NULL. */
static int command(struct heard *h, const char *const *words)
{
    char texts[24][256], *argv[COUNT_OF(texts) + 1] = {texts[0]};
    int argc = 1;
    snprintf(texts[0], sizeof texts[0], "submit");
    for (; words[argc - 1] && argc < (int)COUNT_OF(texts); argc++) {
        snprintf(texts[argc], sizeof texts[argc], "%s", words[argc - 1]);
        argv[argc] = texts[argc];
    }
    fflush(stdout);
    FILE *out = tmpfile(), *err = tmpfile();
    int kept_out = divert(STDOUT_FILENO, out), kept_err = divert(STDERR_FILENO, err);
    int status = cli_submit(argc, argv);
    fflush(stdout);
    restore(STDOUT_FILENO, kept_out, out, h->out, sizeof h->out);
    restore(STDERR_FILENO, kept_err, err, h->err, sizeof h->err);
    return status;
}
#define COMMAND(h, ...) command(h, (const char *const[]){__VA_ARGS__, NULL})

static void usage(void)
{
    static const struct {
        const char *flag, *value, *says;
    } cases[] = {
        {"--address", "ray://x:10001", "mobula: --address: \"ray://x:10001\" is for a driver"},
        {"--runtime-env-json", "{", "mobula: --runtime-env-json: "},
        {"--runtime-env-json", "[]", "mobula: --runtime-env-json: wants a JSON object\n"},
        {"--metadata-json", "{\"a\":1}", "mobula: --metadata-json: wants a JSON object of strings\n"},
        {"--entrypoint-num-cpus", "-1", "mobula: --entrypoint-num-cpus: wants a number of at least 0\n"},
        {"--entrypoint-num-gpus", "\"1\"", "mobula: --entrypoint-num-gpus: wants a number of at least 0\n"},
        {"--entrypoint-memory", "1.5", "mobula: --entrypoint-memory: wants a whole number of bytes\n"},
        {"--entrypoint-resources", "{\"a\":\"1\"}", "mobula: --entrypoint-resources: wants a JSON object of numbers\n"},
        {"--runtime-env-json", "{\"working_dir\":\".\"}", "mobula: --runtime-env-json: \".\" is a path, and nothing is uploaded from here"},
        {"--runtime-env-json", "{\"working_dir\":\"/app\"}", "\"/app\" is a path"},
        {"--runtime-env-json", "{\"py_modules\":[\"s3://b/a.zip\",\"lib\"]}", "\"lib\" is a path"},
        {"--cluster", "c", "mobula: --cluster and --address: give one of them"},
        {"--submission-id", "", "mobula: --submission-id: is empty"},
        {"--submission-id", "\xff", "mobula: --submission-id: is empty, or no UTF-8"},
        {"--timeout", "soon", "mobula: --timeout"},
        {"--adress", "x", "did you mean --address?"},
    };
    struct heard h;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s %s", cases[i].flag, cases[i].value);
        bool address = strcmp(cases[i].flag, "--address") == 0;
        CHECK_INT(COMMAND(&h, "--address", address ? cases[i].value : "x", cases[i].flag, cases[i].value, "--", "true"), STATUS_USAGE);
        CHECK(strstr(h.err, cases[i].says) && strstr(h.err, "\nsee: mobula help submit\n") && !strstr(h.err, "usage:"));
        CHECK(h.out[0] == 0);
    }
    test_case("nothing to run, nowhere to go");
    CHECK_INT(COMMAND(&h, "--address", "x"), STATUS_USAGE);
    CHECK(strstr(h.err, "there is no entrypoint: put it behind \"--\""));
    CHECK_INT(COMMAND(&h, "--", "true"), STATUS_USAGE);
    CHECK(strstr(h.err, "--cluster NAME or --address http://HOST:8265 is needed"));
    test_case("a token that is not there");
    CHECK_INT(COMMAND(&h, "--address", "x", "--token-file", "/nowhere/token", "--", "true"), STATUS_ERROR);
    CHECK(strstr(h.err, "mobula: the token: /nowhere/token: No such file"));
}

static void whole(void)
{
    struct server s;
    struct heard h;
    char address[64];
    server_start(&s);
    snprintf(address, sizeof address, "http://127.0.0.1:%u", s.port);
    server_run(&s);
    test_case("to its end");
    CHECK_INT(COMMAND(&h, "--address", address, "--submission-id=a/b", "--runtime-env-json", "{\"pip\": []}", "--metadata-json",
                      "{\"k\":\"v\"}", "--entrypoint-num-cpus=0.5", "--entrypoint-num-gpus=1", "--entrypoint-memory=100",
                      "--entrypoint-resources={\"r\":2}", "--", "python", "a b.py", "--", "x"),
              STATUS_OK);
    CHECK_STR(slice_of(h.out), "one\ntwo\n");
    CHECK(strstr(h.err, "submit: job a/b is submitted\nsubmit: job a/b SUCCEEDED after "));
    CHECK_STR(slice_of(s.id), "a%2Fb");
    CHECK_STR(slice_of(s.body),
              "{\"entrypoint\":\"python 'a b.py' -- x\",\"submission_id\":\"a/b\",\"runtime_env\":{\"pip\": []},\"metadata\":{\"k\":\"v\"},"
              "\"entrypoint_num_cpus\":0.5,\"entrypoint_num_gpus\":1,\"entrypoint_memory\":100,\"entrypoint_resources\":{\"r\":2}}");
    test_case("without waiting");
    CHECK_INT(COMMAND(&h, "--address", address, "--no-wait", "--", "true"), STATUS_OK);
    CHECK(slice_starts(slice_of(h.out), SLICE("raysubmit_")) && strlen(h.out) == strlen("raysubmit_\n") + 3 * (size_t)NAME_SUFFIX);
    CHECK_INT(COMMAND(&h, "--address", address, "--no-wait", "--submission-id", "mine", "--", "true"), STATUS_OK);
    CHECK_STR(slice_of(h.out), "mine\n");
    test_case("from the environment of a submitter pod");
    setenv("RAY_DASHBOARD_ADDRESS", address + strlen("http://"), 1);
    setenv("RAY_JOB_SUBMISSION_ID", "theirs", 1);
    CHECK_INT(COMMAND(&h, "--no-wait", "--", "true"), STATUS_OK);
    CHECK_STR(slice_of(h.out), "theirs\n");
    unsetenv("RAY_DASHBOARD_ADDRESS");
    unsetenv("RAY_JOB_SUBMISSION_ID");
    server_stop(&s);
    test_case("nobody there");
    int closed = closed_port(&s.port);
    snprintf(address, sizeof address, "http://127.0.0.1:%u", s.port);
    CHECK_INT(COMMAND(&h, "--address", address, "--dashboard-timeout=1ms", "--", "true"), STATUS_ERROR);
    CHECK(strstr(h.err, "nothing was submitted") && h.out[0] == 0);
    close(closed);
}

/* The token comes from a file, and is never said. */
static void with_token(void)
{
    struct server s;
    struct heard h;
    char address[64], path[] = "/tmp/mobula-token-XXXXXX";
    int fd = mkstemp(path);
    server_start(&s);
    s.head.token = "secret-word";
    snprintf(address, sizeof address, "http://127.0.0.1:%u", s.port);
    server_run(&s);
    test_case("a token from a file");
    CHECK(fd >= 0 && write(fd, "secret-word\n", 12) == 12);
    CHECK_INT(COMMAND(&h, "--address", address, "--token-file", path, "--", "true"), STATUS_OK);
    CHECK_STR(slice_of(h.out), "one\ntwo\n");
    CHECK(!strstr(h.err, "secret"));
    test_case("a token from the environment");
    setenv("RAY_AUTH_TOKEN", "secret-word", 1);
    CHECK_INT(COMMAND(&h, "--address", address, "--", "true"), STATUS_OK);
    setenv("RAY_AUTH_TOKEN", "secret-slip", 1);
    CHECK_INT(COMMAND(&h, "--address", address, "--", "true"), STATUS_ERROR);
    CHECK(strstr(h.err, "HTTP status 401") && !strstr(h.err, "secret") && !strstr(h.out, "secret"));
    test_case("a token with a line's end, as in many a Secret");
    setenv("RAY_AUTH_TOKEN", " secret-word\r\n", 1);
    CHECK_INT(COMMAND(&h, "--address", address, "--", "true"), STATUS_OK);
    test_case("a token that no header may have");
    setenv("RAY_AUTH_TOKEN", "secret\nX-Word: a", 1);
    CHECK_INT(COMMAND(&h, "--address", address, "--", "true"), STATUS_USAGE);
    CHECK(strstr(h.err, "RAY_AUTH_TOKEN is empty, longer than") && !strstr(h.err, "secret"));
    setenv("RAY_AUTH_TOKEN", "\n", 1);
    CHECK_INT(COMMAND(&h, "--address", address, "--", "true"), STATUS_USAGE);
    unsetenv("RAY_AUTH_TOKEN");
    test_case("an empty token");
    CHECK(ftruncate(fd, 0) == 0);
    CHECK_INT(COMMAND(&h, "--address", address, "--token-file", path, "--", "true"), STATUS_USAGE);
    CHECK(strstr(h.err, "is empty, longer than"));
    server_stop(&s);
    close(fd);
    unlink(path);
}

int main(void)
{
    addresses();
    entrypoints();
    usage();
    whole();
    with_token();
    return test_done();
}
