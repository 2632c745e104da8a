/* Reports of an agent, over a network without sockets and in virtual time. */
#include "../kube/fakenet.h"

#include <mobula/remote.h>

enum { EVERY_MS = 30 * 1000 };

struct rig {
    struct fake f;
    struct remote_agent *agent;
};

static const char *token = "token-1\n"; /* of the file; NULL: it is missing */

static bool read_token(struct slice path, struct arena *a, struct slice *out, struct err *e)
{
    CHECK_STR(path, "/token");
    *out = token ? arena_dup(a, slice_of(token)) : SLICE_NONE;
    return token || err_set(e, ERR_IO, "/token: no such file");
}

static void run(struct rig *r, int64_t ms)
{
    r->f.now.mono_ms += ms;
    r->f.now.wall_us += ms * 1000;
    do
        r->f.next_ms = remote_agent_tick(r->agent, r->f.now);
    while (net_dispatch(&r->f.net, r->f.now));
    remote_agent_tick(r->agent, r->f.now);
}

static void start(struct rig *r, const char *cloud)
{
    *r = (struct rig){0};
    fake_init(&r->f);
    r->agent =
        remote_agent_new(&r->f.net, r->f.config,
                         &(struct remote_agent_options){
                             .cloud = slice_of(cloud), .token_file = SLICE("/token"), .every_ms = EVERY_MS, .seed = 7, .read = read_token});
    run(r, 0);
}

static void stop(struct rig *r)
{
    remote_agent_free(r->agent);
    fake_free(&r->f);
}

/* The link on which a request waits for its answer; NULL: there is none. */
static struct fakelink *asked(const struct rig *r)
{
    for (uint32_t i = 0; i < r->f.count; i++)
        if (r->f.links[i]->link && r->f.links[i]->out.len)
            return r->f.links[i];
    return NULL;
}

static void report(struct rig *r, const char *text)
{
    remote_agent_report(r->agent, slice_of(text));
    run(r, 0);
}

/* The request that waits begins with this line and has this token and body; it gets the answer. */
static void expect(struct rig *r, const char *line, const char *bearer, const char *body, int status, const char *answer)
{
    char header[128];
    struct fakelink *l = asked(r);
    if (!CHECK(l != NULL))
        return;
    CHECK_STR(fake_line(l), line);
    snprintf(header, sizeof header, "\r\nAuthorization: Bearer %s\r\n", bearer);
    CHECK(fake_has(l, header));
    CHECK(slice_ends(fake_sent(l), slice_of(body)));
    fake_take(l);
    fake_answer(l, status, "", slice_of(answer));
    run(r, 0);
}

static void through_the_operator(void)
{
    struct rig r;
    test_case("the operator gets reports with the token of the file");
    start(&r, "");
    run(&r, EVERY_MS);
    CHECK(!asked(&r)); /* nothing to report yet */
    report(&r, "{\"a\":1}");
    expect(&r, "POST /v1/report", "token-1", "{\"a\":1}", 200, "{}");
    test_case("a change is reported REMOTE_AGENT_LEAST_MS later, with the token that the file has then");
    token = "token-2";
    report(&r, "{\"a\":2}");
    run(&r, REMOTE_AGENT_LEAST_MS - 1);
    CHECK(!asked(&r));
    run(&r, 1);
    expect(&r, "POST /v1/report", "token-2", "{\"a\":2}", 200, "{}");
    test_case("the same report again after every_ms");
    report(&r, "{\"a\":2}");
    run(&r, EVERY_MS - 1);
    CHECK(!asked(&r));
    run(&r, 1);
    expect(&r, "POST /v1/report", "token-2", "{\"a\":2}", 200, "{}");
    test_case("a refusal is tried again, and so is a file that is missing");
    run(&r, EVERY_MS);
    expect(&r, "POST /v1/report", "token-2", "{\"a\":2}", 503, "{}");
    CHECK(!asked(&r));
    token = NULL;
    run(&r, EVERY_MS);
    CHECK(!asked(&r));
    token = "token-3";
    run(&r, EVERY_MS);
    expect(&r, "POST /v1/report", "token-3", "{\"a\":2}", 200, "{}");
    token = "token-1\n";
    stop(&r);
}

static void to_the_control_plane(void)
{
    struct rig r;
    test_case("the control plane gives a credential for the token, and gets reports with it");
    start(&r, "cldrsrc_a");
    report(&r, "{\"a\":1}");
    expect(&r, "POST /v1/bootstrap", "token-1", "{\"cloud\":\"cldrsrc_a\"}", 200, "{\"credential\":\"c-1\"}");
    expect(&r, "POST /v1/report", "c-1", "{\"a\":1}", 200, "{}");
    run(&r, EVERY_MS);
    expect(&r, "POST /v1/report", "c-1", "{\"a\":1}", 500, "{}");
    run(&r, EVERY_MS);
    test_case("a credential that has ended is replaced");
    expect(&r, "POST /v1/report", "c-1", "{\"a\":1}", 401, "{}");
    expect(&r, "POST /v1/report", "c-1", "{\"a\":1}", 401, "{}"); /* kube has tried it once more */
    run(&r, EVERY_MS);
    expect(&r, "POST /v1/bootstrap", "token-1", "{\"cloud\":\"cldrsrc_a\"}", 200, "{\"other\":1}"); /* no credential in it */
    CHECK(!asked(&r));
    run(&r, EVERY_MS);
    expect(&r, "POST /v1/bootstrap", "token-1", "{\"cloud\":\"cldrsrc_a\"}", 200, "{\"credential\":\"c-2\"}");
    expect(&r, "POST /v1/report", "c-2", "{\"a\":1}", 200, "{}");
    stop(&r);
}

int main(void)
{
    log_global.level = LOG_ERROR + 1;
    through_the_operator();
    to_the_control_plane();
    return test_done();
}
