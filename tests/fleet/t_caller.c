/* Proofs of an identity of AWS: a token that is not exactly a signed GetCallerIdentity, or too old, is refused before STS is asked. */
#include "src/hub/private.h"

#include "tests/unit/test.h"

#include <mobula/cloud.h>

#define CLOUD "cldrsrc_abcdefghijklmnopqrstuvwx"
#define BEGIN "Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%2F20261128%2Feu"
#define DATED "&X-Amz-Date=20261128T093000Z&X-Amz-Expires=900"
#define END "&X-Amz-Signature=00ff&X-Amz-SignedHeaders=host%3Bx-mobula-cloud"

static struct arena mem;
static int64_t made_us;

static struct slice proof(const char *query)
{
    return arena_printf(&mem, CLOUD_PROOF CLOUD ".%s", query);
}

static const char *check(const char *query)
{
    return caller_check(guarded(proof(query)), made_us);
}

static void queries(void)
{
    static const char *const good[] = {BEGIN DATED END, BEGIN DATED "&X-Amz-Security-Token=a%2Bb" END};
    static const char *const bad[] = {
        "",
        BEGIN DATED,
        BEGIN DATED END "&",
        BEGIN DATED END "&X=1",
        BEGIN DATED END "&Action=AssumeRole",
        "Action=AssumeRole&" BEGIN DATED END,
        "Action=AssumeRole&Version=2011-06-15&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=A" DATED END,
        "Version=2011-06-15&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=A" DATED END,
        BEGIN DATED "&X-Amz-Signature=00&X-Amz-SignedHeaders=host",
        BEGIN DATED "&X-Amz-Signature=00&X-Amz-SignedHeaders=host%3Bx-mobula-cloud%3Bx-other",
        BEGIN DATED "&X-Amz-Signature=00&X-Amz-Signature=00&X-Amz-SignedHeaders=host%3Bx-mobula-cloud",
        BEGIN "&X-Amz-Date=20261128T093000Z" END,
        BEGIN "&X-Amz-Date=2026-11-28T09:30:00Z&X-Amz-Expires=900" END,
        BEGIN "&X-Amz-Date=20261328T093000Z&X-Amz-Expires=900" END,
        BEGIN "&X-Amz-Date=&X-Amz-Expires=900" END,
        BEGIN DATED "&X-Amz-Security-Token=a b" END,
        BEGIN DATED "&X-Amz-Security-Token=a\r\nHost:b" END,
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        test_case("a signed request, %zu", i);
        CHECK(check(good[i]) == NULL);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        test_case("not accepted: %s", bad[i]);
        CHECK(check(bad[i]) != NULL);
    }
    test_case("cut off anywhere");
    struct slice whole = proof(good[0]);
    for (size_t n = 0; n < whole.len; n++)
        CHECK(caller_check(guarded(slice_head(whole, n)), made_us) != NULL);
    test_case("another deployment id's length, or another prefix");
    CHECK(caller_check(arena_printf(&mem, CLOUD_PROOF "cldrsrc_a.%s", good[0]), made_us) != NULL);
    CHECK(caller_cloud(SLICE("mobula-aws-v2." CLOUD ".x")).ptr == NULL);
    CHECK_STR(caller_cloud(whole), CLOUD);
}

static void sizes(void)
{
    size_t usual = proof(BEGIN DATED "&X-Amz-Security-Token=" END).len;
    for (size_t more = 0; more < 2; more++) {
        test_case("LIMIT_HUB_PROOF bytes, and %zu", more);
        __attribute__((cleanup(buf_free))) struct buf b = {.max = 2 * LIMIT_HUB_PROOF};
        buf_put(&b, SLICE(BEGIN DATED "&X-Amz-Security-Token="));
        for (size_t n = LIMIT_HUB_PROOF - usual + more; n > 0; n--)
            buf_putc(&b, 'a');
        buf_put(&b, SLICE(END "\0"));
        CHECK((check(b.ptr) == NULL) == (more == 0));
    }
}

static void times(void)
{
    struct slice token = proof(BEGIN DATED END);
    const int64_t second = 1000000;
    test_case("its end");
    CHECK(caller_check(token, made_us + 899 * second) == NULL);
    CHECK(caller_check(token, made_us + 900 * second) != NULL);
    test_case("a clock that is ahead");
    CHECK(caller_check(token, made_us - 300 * second) == NULL);
    CHECK(caller_check(token, made_us - 301 * second) != NULL);
}

static struct slice arn_of(enum kube_outcome outcome, int status, const char *body)
{
    static struct hub hub;
    struct call c = {.hub = &hub};
    const struct kube_answer a = {.outcome = outcome, .status = {.code = status}, .body = slice_of(body)};
    struct slice arn, why;
    CHECK(caller_answer(&c, &a, &arn, &why));
    CHECK(slice_empty(arn) == !slice_empty(why));
    arn = arena_dup(&mem, arn);
    arena_free(&c.arena);
    return arn;
}

#define XML(arn)                                                                                                                           \
    "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><GetCallerIdentityResult><Arn>" arn                    \
    "</Arn><UserId>A</UserId><Account>1</Account></GetCallerIdentityResult></GetCallerIdentityResponse>"

static void answers(void)
{
    test_case("an answer in XML, and in JSON");
    CHECK_STR(arn_of(KUBE_OK, 200, XML("arn:aws:iam::1:user/u")), "arn:aws:iam::1:user/u");
    CHECK_STR(
        arn_of(KUBE_OK, 200, "{\"GetCallerIdentityResponse\":{\"GetCallerIdentityResult\":{\"Arn\":\"arn:aws:sts::1:assumed-role/r/s\"}}}"),
        "arn:aws:iam::1:role/r");
    test_case("the role of a session");
    CHECK_STR(arn_of(KUBE_OK, 200, XML("arn:aws-cn:sts::123456789012:assumed-role/op/i-0")), "arn:aws-cn:iam::123456789012:role/op");
    CHECK_STR(arn_of(KUBE_OK, 200, XML("arn:aws:sts::1:assumed-role/op")), "arn:aws:iam::1:role/op");
    CHECK_STR(arn_of(KUBE_OK, 200, XML("arn:aws:sts::1:federated-user/f")), "arn:aws:sts::1:federated-user/f");
    test_case("answers without an ARN");
    CHECK(slice_empty(arn_of(KUBE_OK, 200, "")) && slice_empty(arn_of(KUBE_OK, 200, "<a><b></a>")) &&
          slice_empty(arn_of(KUBE_OK, 200, "{}")));
    CHECK(slice_empty(arn_of(KUBE_OK, 200, XML(""))));
    CHECK(slice_empty(arn_of(KUBE_REFUSED, 403, "<ErrorResponse/>")));
}

int main(void)
{
    CHECK(time_parse(SLICE("2026-11-28T09:30:00Z"), &made_us, NULL));
    queries();
    sizes();
    times();
    answers();
    arena_free(&mem);
    return test_done();
}
