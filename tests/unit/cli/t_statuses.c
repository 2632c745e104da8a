#include "../test.h"

#include "../../../src/cli/cli.h"

#include <fcntl.h>
#include <unistd.h>

/* Exit statuses of the commands that read files. */
static void statuses(void)
{
    static const struct {
        int (*run)(int argc, char **argv);
        const char *flag;
        int status;
        const char *also; /* another flag */
    } cases[] = {
        {cli_validate, "-f=tests/data/cli/good.yaml", STATUS_OK, NULL},
        {cli_validate, "-f=tests/data/cli/bad-ray.yaml", STATUS_ERROR, NULL},
        {cli_validate, "-f=/no/such/file", STATUS_ERROR, NULL},
        {cli_validate, "--help", STATUS_OK, NULL},
        {cli_validate, "--nonsense", STATUS_USAGE, NULL},
        {cli_validate, NULL, STATUS_USAGE, NULL},
        {cli_explain, "-f=tests/data/cli/legacy.yaml", STATUS_OK, NULL},
        {cli_explain, "-f=tests/data/cli/bad-legacy.yaml", STATUS_ERROR, NULL},
        {cli_explain, "-f=/no/such/file", STATUS_ERROR, NULL},
        {cli_explain, "--output=xml", STATUS_USAGE, "-f=tests/data/cli/legacy.yaml"},
        {cli_explain, "--cluster-domain=cluster.local.", STATUS_USAGE, "-f=tests/data/cli/legacy.yaml"},
        {cli_operator, "--cluster-domain=cluster.local.", STATUS_USAGE, NULL},
        {cli_explain, NULL, STATUS_USAGE, NULL},
        {cli_install, "--print", STATUS_OK, NULL},
        {cli_install, NULL, STATUS_USAGE, NULL},
        {cli_wait_gcs, NULL, STATUS_USAGE, NULL},
    };
    int kept[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)}, nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), got[COUNT_OF(cases)];
    fflush(stdout);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char name[] = "command", flag[64], also[64], *argv[] = {name, flag, also, NULL};
        snprintf(flag, sizeof flag, "%s", cases[i].flag ? cases[i].flag : "");
        snprintf(also, sizeof also, "%s", cases[i].also ? cases[i].also : "");
        got[i] = cases[i].run(1 + (cases[i].flag != NULL) + (cases[i].also != NULL), argv);
    }
    fflush(stdout);
    dup2(kept[0], STDOUT_FILENO);
    dup2(kept[1], STDERR_FILENO);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("status of command %zu", i);
        CHECK_INT(got[i], cases[i].status);
    }
    close(nowhere);
    close(kept[0]);
    close(kept[1]);
}

/* The definitions would wait for finalizers that --leave-work removes only afterwards. */
static void excluded(void)
{
    static char command[] = "uninstall", apply[] = "--apply", crds[] = "--crds", leave[] = "--leave-work";
    char *argv[] = {command, apply, crds, leave, NULL};
    test_case("--crds and --leave-work exclude each other");
    CHECK_INT(cli_uninstall(4, argv), STATUS_USAGE);
}

int main(void)
{
    statuses();
    excluded();
    return test_done();
}
