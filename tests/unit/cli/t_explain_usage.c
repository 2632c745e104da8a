#include "../test.h"

#include "../../../src/cli/cli.h"

#include <fcntl.h>
#include <unistd.h>

static int explain(const char *const *words, size_t count)
{
    char *argv[8] = {0};
    size_t n = 0;
    for (; n < count; n++)
        argv[n] = (char *)(uintptr_t)words[n];
    return cli_explain((int)n, argv);
}

static void usage(void)
{
    static const char *const none[] = {"explain", "cluster"}, *const bad[] = {"explain", "cluster", "A_b"},
                             *const group[] = {"explain", "cluster", "c", "--group=apps"},
                             *const config[] = {"explain", "cluster", "c", "--kubeconfig=/nowhere"},
                             *const behind[] = {"explain", "cluster", "--kubeconfig=/nowhere", "c"},
                             *const help[] = {"explain", "cluster", "--help"};
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), kept[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    fflush(stdout);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    const int got[] = {explain(none, COUNT_OF(none)),     explain(bad, COUNT_OF(bad)),   explain(group, COUNT_OF(group)),
                       explain(config, COUNT_OF(config)), explain(help, COUNT_OF(help)), explain(behind, COUNT_OF(behind))};
    fflush(stdout);
    dup2(kept[0], STDOUT_FILENO);
    dup2(kept[1], STDERR_FILENO);
    test_case("usage");
    CHECK_INT(got[0], STATUS_USAGE);
    CHECK_INT(got[1], STATUS_USAGE);
    CHECK_INT(got[2], STATUS_USAGE);
    CHECK_INT(got[3], STATUS_ERROR);
    CHECK_INT(got[4], STATUS_OK);
    CHECK_INT(got[5], STATUS_ERROR);
    close(nowhere);
    close(kept[0]);
    close(kept[1]);
}

int main(void)
{
    usage();
    return test_done();
}
