/* The text of annotation mobula.dev/rolling-update, which any user of the namespace may write. */
#include "../test.h"

#include <mobula/ray.h>

static void test_text(void)
{
    static const struct {
        const char *text;
        bool scaled, ok;
        int32_t surge, unavailable;
        const char *why; /* a part of the error */
    } cases[] = {
        {"maxSurgePercent=25,maxUnavailablePercent=0", false, true, 25, 0, NULL},
        {" maxUnavailablePercent = 7 , maxSurgePercent = 0 ", false, true, 0, 7, NULL},
        {"maxSurgePercent=100", false, true, 100, 0, NULL},
        {"maxUnavailablePercent=100", false, true, RAY_ROLL_SURGE, 100, NULL},
        {"maxUnavailablePercent=1", true, true, RAY_ROLL_SURGE, 1, NULL},
        {"maxSurgePercent=101", false, false, 0, 0, "N from 0 to 100"},
        {"maxSurgePercent=-1", false, false, 0, 0, "N from 0 to 100"},
        {"maxSurgePercent=18446744073709551617", false, false, 0, 0, "N from 0 to 100"},
        {"maxSurgePercent=", false, false, 0, 0, "N from 0 to 100"},
        {"maxSurgePercent", false, false, 0, 0, "N from 0 to 100"},
        {"maxSurgePercent=25%", false, false, 0, 0, "N from 0 to 100"},
        {"maxSurgePercent=25,", false, false, 0, 0, "has \"\""},
        {"", false, false, 0, 0, "has \"\""},
        {"true", false, false, 0, 0, "has \"true\""},
        {"maxSurgePercent=0", false, false, 0, 0, "both 0"},
        {"maxSurgePercent=25", true, false, 0, 0, "set 1 to 100"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct ray_roll roll;
        struct err e = {0};
        test_case("\"%s\"%s", cases[i].text, cases[i].scaled ? " with an autoscaler" : "");
        CHECK_INT(ray_roll_read(slice_of(cases[i].text), cases[i].scaled, &roll, &e), cases[i].ok);
        if (cases[i].ok) {
            CHECK(roll.on);
            CHECK_INT(roll.surge, cases[i].surge);
            CHECK_INT(roll.unavailable, cases[i].unavailable);
        } else {
            CHECK(slice_find_text(slice_of(e.text), cases[i].why) >= 0);
        }
    }
}

/* An error shows at most 60 bytes of a key. */
static void test_long_key(void)
{
    char text[200];
    struct ray_roll roll;
    struct err e = {0};
    memset(text, 'k', sizeof text);
    CHECK(!ray_roll_read((struct slice){text, sizeof text}, false, &roll, &e));
    text[60] = '\0';
    CHECK(slice_find_text(slice_of(e.text), text) >= 0);
    CHECK(slice_find_text(slice_of(e.text), "kk\": want") >= 0);
    CHECK_INT(slice_find_text(slice_of(e.text), "\": want") - slice_find_text(slice_of(e.text), "k"), 60);
}

int main(void)
{
    test_text();
    test_long_key();
    return test_done();
}
