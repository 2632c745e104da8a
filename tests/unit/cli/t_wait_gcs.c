/* mobula wait-gcs: its lines and exit statuses. tests/unit/heads/t_gcs_wait.c has the attempts. */
#include "../gcs.h"
#include "../ports.h"
#include "said.h"

#include "../../../src/cli/cli.h"

static int command(const char *address, const char *timeout, char *said, size_t size)
{
    char name[] = "wait-gcs", first[64], second[64], *argv[] = {name, first, second, NULL};
    snprintf(first, sizeof first, "--address=%s", address);
    snprintf(second, sizeof second, "--timeout=%s", timeout);
    return run_said(cli_wait_gcs, argv, said, size);
}

static void commands(void)
{
    char said[4096], address[32];
    uint16_t port;
    struct canned g;
    struct canned_answer answers[] = {gcs_not_serving, gcs_serving};
    test_case("command: it answers");
    canned_start(&g, answers, 2);
    snprintf(address, sizeof address, "127.0.0.1:%u", g.port);
    CHECK_INT(command(address, "60s", said, sizeof said), STATUS_OK);
    CHECK(strstr(said, "wait-gcs: asking 127.0.0.1:"));
    CHECK(strstr(said, "wait-gcs: not yet after "));
    CHECK(strstr(said, "s: 127.0.0.1:"));
    CHECK(strstr(said, "wait-gcs: the GCS answers after "));
    canned_stop(&g);
    test_case("command: reasons that take turns are told once each");
    struct canned_answer turns[] = {gcs_not_serving, gcs_http1, gcs_not_serving, gcs_serving};
    canned_start(&g, turns, COUNT_OF(turns));
    snprintf(address, sizeof address, "127.0.0.1:%u", g.port);
    CHECK_INT(command(address, "60s", said, sizeof said), STATUS_OK);
    int told = 0;
    for (const char *at = said; (at = strstr(at, "not yet after")) != NULL; at++)
        told++;
    CHECK_INT(told, 2);
    canned_stop(&g);
    test_case("command: it gives up");
    int closed = closed_port(&port);
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    CHECK_INT(command(address, "100ms", said, sizeof said), STATUS_ERROR);
    CHECK(strstr(said, "wait-gcs: gave up after "));
    CHECK(strstr(said, "s: no connection to 127.0.0.1:"));
    close(closed);
    test_case("command: usage");
    CHECK_INT(command("nonsense", "1s", said, sizeof said), STATUS_USAGE);
    CHECK(strstr(said, "mobula: --address: \"nonsense\" is not HOST:PORT\nsee: mobula help wait-gcs\n"));
    CHECK_INT(command(address, "0", said, sizeof said), STATUS_USAGE);
}

int main(void)
{
    commands();
    return test_done();
}
