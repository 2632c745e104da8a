/* Values of flags and variables that several commands take. */
#include "../test.h"

#include <mobula/command.h>

#include <stdlib.h>

/* Variables of KubeRay's operator. */
static void kuberay(void)
{
    static const struct {
        const char *silence, *remove;
        int64_t seconds; /* -1: refused */
        bool deletes;
    } cases[] = {
        {NULL, NULL, 0, false},  {"300", NULL, 300, false}, {"", "true", 0, true},   {NULL, "TRUE", 0, true},
        {NULL, "yes", 0, false}, {"0", NULL, -1, false},    {"5m", NULL, -1, false}, {"2147483648", NULL, -1, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct operator_options to = {0};
        struct err e = {0};
        test_case("RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS=%s DELETE_RAYJOB_CR_AFTER_JOB_FINISHES=%s", cases[i].silence ? cases[i].silence : "",
                  cases[i].remove ? cases[i].remove : "");
        unsetenv("RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS");
        unsetenv("DELETE_RAYJOB_CR_AFTER_JOB_FINISHES");
        if (cases[i].silence)
            setenv("RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS", cases[i].silence, 1);
        if (cases[i].remove)
            setenv("DELETE_RAYJOB_CR_AFTER_JOB_FINISHES", cases[i].remove, 1);
        CHECK_INT(cli_kuberay_settings(&to, &e), cases[i].seconds >= 0);
        CHECK_INT(e.code, cases[i].seconds >= 0 ? ERR_NONE : ERR_CONFIG);
        if (cases[i].seconds >= 0) {
            CHECK_INT(to.job_silence_s, cases[i].seconds);
            CHECK_INT(to.delete_jobs, cases[i].deletes);
        }
    }
}

int main(void)
{
    kuberay();
    return test_done();
}
