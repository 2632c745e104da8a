/* How many URLs of objects one core signs in a second: S3 with and without a session token, and Google's RSA key.
 *
 *   bench-sign [URLS]   the median of RUNS runs of processor time */
#include "measure.h"

#include "../unit/json/cases.h"

#include <mobula/cloud.h>

enum { RUNS = 5 };

static void sign_urls(const char *name, const struct cloud_signer *s, int64_t count,
                      void (*sign)(struct cloud_request *r, const struct cloud_signer *s, int64_t seconds, struct arena *a))
{
    double ms[RUNS];
    struct arena a = {0};
    for (int run = 0; run < RUNS; run++) {
        double from = processor_ms();
        for (int64_t i = 0; i < count; i++) {
            arena_reset(&a, MIB);
            struct cloud_request r = {.method = SLICE("GET"), .host = SLICE("ray.s3.eu-west-1.amazonaws.com")};
            r.path = arena_printf(&a, "/team/logs/ns/cluster/cluster-head.%lld/raylet.out/0123456789abcdef-000000000000.gz", (long long)i);
            sign(&r, s, 3600, &a);
            cloud_target(&r, &a);
        }
        ms[run] = processor_ms() - from;
    }
    printf("%-32s %9.0f a second\n", name, (double)count / median(ms, RUNS) * 1e3);
    arena_free(&a);
}

int main(int argc, char **argv)
{
    struct arena a = {0};
    int64_t count = 20000;
    char token[900];
    memset(token, 't', sizeof token);
    if (argc > 1 && (!slice_int(slice_of(argv[1]), &count) || count < 1))
        fatal("bench-sign: how many URLs?");
    struct cloud_signer s = {.keys = {SLICE("AKIAIOSFODNN7EXAMPLE"), SLICE("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), SLICE("")},
                             .region = SLICE("eu-west-1"),
                             .service = SLICE("s3"),
                             .wall_us = 1369353600LL * 1000000};
    sign_urls("S3, a key", &s, count, cloud_sign_query);
    s.keys.session = (struct slice){token, sizeof token};
    sign_urls("S3, a session token of 900 bytes", &s, count, cloud_sign_query);
    s = (struct cloud_signer){
        .keys = {SLICE("ray@project.iam.gserviceaccount.com"), read_file("tests/data/cloud/google.key", &a), SLICE("")},
        .region = SLICE("auto"),
        .service = SLICE("storage"),
        .wall_us = s.wall_us};
    sign_urls("Google, an RSA key of 2,048 bits", &s, count / 100 + 1, cloud_sign_google);
    arena_free(&a);
    return 0;
}
