/* The client with identities of Azure and Google, against scripted stores. */
#include "script.h"

#define JSON(text) "HTTP/1.1 200 OK\r\n\r\n" text
#define REFUSED(status, text) "HTTP/1.1 " status " X\r\n\r\n" text
#define TOKEN(name, seconds) JSON("{\"access_token\":\"" name "\",\"expires_in\":" seconds ",\"token_type\":\"Bearer\"}")
#define KEY(until)                                                                                                                         \
    JSON("<UserDelegationKey><SignedOid>oid</SignedOid><SignedTid>tid</SignedTid><SignedStart>2013-05-23T23:55:00Z</SignedStart>"          \
         "<SignedExpiry>" until "</SignedExpiry><SignedService>b</SignedService><SignedVersion>2018-11-09</SignedVersion>"                 \
         "<Value>aHVzaA==</Value></UserDelegationKey>")

static const struct cloud_store_options
    pod = {.protocol = &cloud_azure,
           .settings = {.keys = {.id = SLICE("acc")}, .identity = SLICE("x"), .token_file = SLICE("/t"), .role = SLICE("cid")}},
    sas = {.protocol = &cloud_azure,
           .settings = {.keys = {.id = SLICE("acc"), .session = SLICE("sv=2018-11-09&se=2013-05-24T01%3A00%3A00Z&sr=c&sig=x%3D")}}},
    sas_minute = {.protocol = &cloud_azure, .settings = {.keys = {.id = SLICE("acc"), .session = SLICE("se=2013-05-24T00:30Z&sig=x")}}},
    sas_date = {.protocol = &cloud_azure, .settings = {.keys = {.id = SLICE("acc"), .session = SLICE("?sig=x&se=2013-05-25")}}},
    machine = {.protocol = &cloud_azure, .settings = {.keys = {.id = SLICE("acc")}, .identity = SLICE("x"), .role = SLICE("cid")}},
    metadata = {.protocol = &cloud_gcs, .settings = {.identity = SLICE("x"), .region = SLICE("auto")}},
    federation = {.protocol = &cloud_gcs,
                  .settings = {.keys = {.id = SLICE("a@b.c")},
                               .identity = SLICE("x"),
                               .token_file = SLICE("/t"),
                               .role = SLICE("//aud"),
                               .session_name = SLICE("urn:jwt"),
                               .region = SLICE("auto")}},
    alone = {.protocol = &cloud_gcs, .settings = {.identity = SLICE("x"), .token_file = SLICE("/t"), .role = SLICE("//aud")}};

static const struct {
    const char *name;
    const struct cloud_store_options *of;
    int64_t sign_s; /* a URL is signed, and no object read */
    struct answer script[STEPS];
    unsigned requests;
    const char *err;     /* part of the error's text; NULL: the call succeeds */
    const char *sent[4]; /* parts of the requests */
    const char *url;     /* part of the signed URL */
    int64_t seconds;     /* its validity */
} cases[] = {
    {"Azure: the pod's token for one of Entra ID, by which the object is read",
     &pod,
     0,
     {{TOKEN("T1", "3599"), true, false}, {OK, false, false}},
     2,
     NULL,
     {"POST /id/oauth2/v2.0/token HTTP/1.1\r\nHost: sts\r\n",
      "grant_type=client_credentials&scope=https%3A%2F%2Fstorage.azure.com%2F.default&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3A"
      "client-assertion-type%3Ajwt-bearer&client_id=cid&client_assertion=pod-token",
      "GET /bucket/dir/name HTTP/1.1\r\nHost: store:9000\r\nx-ms-version: 2018-11-09\r\nAuthorization: Bearer T1\r\n"},
     NULL,
     0},
    {"Azure: the managed identity of a machine, whose seconds are a text",
     &machine,
     0,
     {{TOKEN("T1", "\"86399\""), true, false}, {OK, false, false}},
     2,
     NULL,
     {"GET /id/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fstorage.azure.com%2F&client_id=cid HTTP",
      "Metadata: true\r\n", "Authorization: Bearer T1\r\n"},
     NULL,
     0},
    {"Azure: Entra ID refuses the token",
     &pod,
     0,
     {{REFUSED("400", "{\"error\":\"invalid_client\",\"error_description\":\"AADSTS700213: No matching federated identity\"}"), true,
       false}},
     1,
     "a token from sts (the case): 400 invalid_client: AADSTS700213: No matching federated identity",
     {NULL},
     NULL,
     0},
    {"Azure: a token without an end is used for one call",
     &pod,
     0,
     {{JSON("{\"access_token\":\"T1\"}"), true, false}, {OK, false, false}},
     2,
     NULL,
     {"Bearer T1"},
     NULL,
     0},
    {"Azure: an answer without a token", &pod, 0, {{JSON("{}"), true, false}}, 1, "the answer has no access_token", {NULL}, NULL, 0},
    {"Azure: the store has revoked the token: another one is fetched, once",
     &pod,
     0,
     {{TOKEN("T1", "3599"), true, false},
      {NO("401", "", CODE("19", "InvalidToken")), false, false},
      {TOKEN("T2", "3599"), true, false},
      {NO("401", "", CODE("19", "InvalidToken")), false, false}},
     4,
     "401 InvalidToken",
     {"Bearer T2"},
     NULL,
     0},
    {"Azure: a URL is signed by a key of the user's delegation",
     &pod,
     3600,
     {{TOKEN("T1", "3599"), true, false}, {KEY("2013-05-30T23:55:00Z"), true, false}},
     2,
     NULL,
     {"POST /?restype=service&comp=userdelegationkey HTTP/1.1\r\nHost: store:9000\r\n", "Authorization: Bearer T1\r\n",
      "<KeyInfo><Start>2013-05-23T23:55:00Z</Start><Expiry>2013-05-30T23:55:00Z</Expiry></KeyInfo>"},
     "store:9000/bucket/dir/name?se=2013-05-24T01%3A00%3A00Z&sig=",
     3600},
    {"Azure: ... for no longer than the key is valid",
     &pod,
     CLOUD_URL_S,
     {{TOKEN("T1", "3599"), true, false}, {KEY("2013-05-24T02:00:00Z"), true, false}},
     2,
     NULL,
     {NULL},
     "ske=2013-05-24T02%3A00%3A00Z&skoid=oid&sks=b&skt=2013-05-23T23%3A55%3A00Z&sktid=tid&skv=2018-11-09&sp=r&sr=b&sv=2018-11-09",
     7200},
    {"Azure: a URL with a SAS token ends with the token",
     &sas,
     CLOUD_URL_S,
     {{NULL, false, false}},
     0,
     NULL,
     {NULL},
     "/bucket/dir/name?se=2013-05-24T01%3A00%3A00Z&sig=x%3D&sr=c&sv=2018-11-09",
     3600},
    {"Azure: a SAS token until a minute", &sas_minute, CLOUD_URL_S, {{NULL, false, false}}, 0, NULL, {NULL}, "sig=x", 1800},
    {"Azure: a SAS token until a day", &sas_date, CLOUD_URL_S, {{NULL, false, false}}, 0, NULL, {NULL}, "sig=x", 86400},
    {"Azure: no right to a key",
     &pod,
     3600,
     {{TOKEN("T1", "3599"), true, false}, {NO("403", "", CODE("2c", "AuthorizationPermissionMismatch")), false, false}},
     2,
     "a key to sign URLs from store:9000 (the case): 403 AuthorizationPermissionMismatch: grant role Storage Blob Delegator",
     {NULL},
     NULL,
     0},
    {"Azure: half a key",
     &pod,
     60,
     {{TOKEN("T1", "9"), true, false}, {JSON("<A><SignedOid>o</SignedOid></A>"), true, false}},
     2,
     "no SignedTid",
     {NULL},
     NULL,
     0},
    {"Google: a token of the metadata server",
     &metadata,
     0,
     {{TOKEN("T1", "3599"), true, false}, {OK, false, false}},
     2,
     NULL,
     {"GET /id/token HTTP/1.1\r\nHost: sts\r\nMetadata-Flavor: Google\r\n", "GET /bucket/dir/name HTTP/1.1\r\nHost: store:9000\r\n",
      "Authorization: Bearer T1\r\n"},
     NULL,
     0},
    {"Google: the service account signs a URL",
     &metadata,
     CLOUD_URL_S,
     {{TOKEN("T1", "3599"), true, false}, {JSON("a@b.c\n"), true, false}, {JSON("{\"signedBlob\":\"/wA=\"}"), true, false}},
     3,
     NULL,
     {"GET /id/email HTTP/1.1\r\n", "POST /v1/serviceAccounts/a@b.c:signBlob HTTP/1.1\r\nHost: signer\r\n",
      "{\"payload\":\"R09PRzQtUlNBLVNIQTI1Ng"},
     "X-Goog-Credential=a%40b.c%2F20130524%2Fauto%2Fstorage%2Fgoog4_request&X-Goog-Date=20130524T000000Z&X-Goog-Expires=43200&"
     "X-Goog-SignedHeaders=host&X-Goog-Signature=ff00",
     12 * 3600},
    {"Google: the service account may not sign",
     &metadata,
     60,
     {{TOKEN("T1", "3599"), true, false},
      {JSON("a@b.c"), true, false},
      {REFUSED("403", "{\"error\":{\"code\":403,\"message\":\"Permission denied\",\"status\":\"PERMISSION_DENIED\"}}"), true, false}},
     3,
     "a signature from signer (the case): 403 PERMISSION_DENIED: Permission denied: grant role Service Account Token Creator",
     {NULL},
     NULL,
     0},
    {"Google: a pod outside of Google: STS, and then the service account",
     &federation,
     0,
     {{TOKEN("F1", "3599"), true, false},
      {JSON("{\"accessToken\":\"T1\",\"expireTime\":\"2013-05-24T01:00:00Z\"}"), true, false},
      {OK, false, false}},
     3,
     NULL,
     {"grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%"
      "3A"
      "access_token&scope=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform&audience=%2F%2Faud&subject_token_type=urn%3Ajwt&"
      "subject_token=pod-token",
      "POST /v1/serviceAccounts/a@b.c:generateAccessToken HTTP/1.1\r\nHost: signer\r\n", "Authorization: Bearer F1\r\n",
      "Authorization: Bearer T1\r\n"},
     NULL,
     0},
    {"Google: a pod of a federation without a service account reads ...",
     &alone,
     0,
     {{TOKEN("F1", "3599"), true, false}, {OK, false, false}},
     2,
     NULL,
     {"Authorization: Bearer F1\r\n"},
     NULL,
     0},
    {"Google: ... and signs nothing",
     &alone,
     60,
     {{TOKEN("F1", "3599"), true, false}},
     1,
     "only a service account can sign URLs",
     {NULL},
     NULL,
     0},
};

static void signed_done(void *owner, const struct cloud_answer *answer, struct now now)
{
    struct run *r = owner;
    done(owner, answer, now);
    buf_put(&r->got, answer->body);
    r->status = (int)answer->seconds;
}

static void test_cases(void)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct run r;
        struct cloud_call c = {.method = "GET", .right = CLOUD_READ, .key = SLICE("dir/name"), .sign_s = cases[i].sign_s};
        test_case("%s", cases[i].name);
        begin_with(&r, cases[i].script, *cases[i].of);
        wait_for(&r, &c, signed_done);
        CHECK_INT(r.f.requests, cases[i].requests);
        CHECK((r.err.code != ERR_NONE) == (cases[i].err != NULL));
        if (!CHECK(slice_has(slice_of(r.err.text), cases[i].err ? cases[i].err : "")))
            printf("  %s\n", r.err.text);
        for (size_t k = 0; k < COUNT_OF(cases[i].sent); k++)
            if (!CHECK(!cases[i].sent[k] || slice_has(buf_slice(&r.f.sent), cases[i].sent[k])))
                printf("  %s\n%.*s\n", cases[i].sent[k], (int)r.f.sent.len, r.f.sent.ptr);
        if (cases[i].url && !CHECK(slice_has(buf_slice(&r.got), cases[i].url)))
            printf("  %.*s\n", (int)r.got.len, r.got.ptr);
        CHECK(!cases[i].url || r.status == cases[i].seconds);
        CHECK(!slice_has(slice_of(r.err.text), "T1") && !slice_has(slice_of(r.err.text), "pod-token"));
        end(&r);
    }
}

static void test_again(void)
{
    static const struct answer script[] = {{TOKEN("T1", "3599"), true, false},         {KEY("2013-05-30T23:55:00Z"), true, false},
                                           {TOKEN("T2", "3599"), true, false},         {OK, false, false},
                                           {KEY("2013-06-07T00:00:00Z"), true, false}, {NULL, false, false}};
    struct run r;
    struct cloud_call c = {.method = "GET", .right = CLOUD_READ, .key = SLICE("a"), .sign_s = 3600};
    test_case("the delegation's key is kept while URLs end before it, the token until 5 min before its end");
    begin_with(&r, script, pod);
    for (int i = 0; i < 3; i++)
        wait_for(&r, &c, signed_done);
    CHECK_INT(r.f.requests, 2);
    r.now.wall_us += (int64_t)(3599 - CLOUD_RENEW_S) * 1000000;
    c.sign_s = 0;
    wait_for(&r, &c, signed_done);
    CHECK_INT(r.f.requests, 4);
    c.sign_s = CLOUD_URL_S;
    wait_for(&r, &c, signed_done);
    CHECK_INT(r.f.requests, 5);
    CHECK_INT(r.status, CLOUD_URL_S);
    end(&r);
}

static void test_limits(void)
{
    struct buf big = {.max = 64 * KIB};
    for (int more = 0; more < 2; more++) {
        struct run r;
        struct cloud_call c = {.method = "GET", .right = CLOUD_READ, .key = SLICE("a")};
        test_case("a token of LIMIT_CLOUD_TOKEN bytes, and %d bytes longer", more);
        buf_clear(&big);
        buf_printf(&big, "HTTP/1.1 200 OK\r\n\r\n{\"access_token\":\"");
        for (int i = 0; i < LIMIT_CLOUD_TOKEN + more; i++)
            buf_putc(&big, 'x');
        buf_put(&big, SLICE("\"}"));
        buf_putc(&big, '\0');
        const struct answer script[] = {{big.ptr, true, false}, {OK, false, false}, {NULL, false, false}};
        begin_with(&r, script, pod);
        wait_for(&r, &c, signed_done);
        CHECK_INT(r.err.code, more ? ERR_STATUS : ERR_NONE);
        end(&r);
    }
    buf_free(&big);
}

int main(void)
{
    test_cases();
    test_again();
    test_limits();
    return test_done();
}
