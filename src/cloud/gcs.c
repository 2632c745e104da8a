/* Google Cloud Storage by its XML API, which resembles S3's. With a key file every call is a signed URL, which needs no exchange for a
 * token. */
#include "store.h"

#include <mobula/json.h>

enum { CALL_S = 15 * 60 /* validity of the URL of one call, which may take long */ };

static void list(struct cloud_call *c, struct slice prefix, bool deep, struct slice more)
{
    cloud_s3.list(c, prefix, deep, more);
}

static void sign(struct cloud_request *r, const struct cloud_signer *s, struct arena *a)
{
    if (s->bearer)
        r->headers[r->header_count++] =
            (struct http_header){SLICE("Authorization"), arena_printf(a, "Bearer %.*s", SLICE_ARG(s->keys.session))};
    else
        cloud_sign_google(r, s, CALL_S, a);
}

#define ACCOUNTS "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts"

/* Pods of GKE and machines of Google: a token of the metadata server. */
static bool read_metadata(const struct cloud_surroundings *from, struct arena *a, struct cloud_settings *out)
{
    struct slice host = slice_trim(from->get(from->owner, "GCE_METADATA_HOST"));
    host = slice_empty(host) ? SLICE("metadata.google.internal") : host;
    out->source = "the metadata server: no GOOGLE_APPLICATION_CREDENTIALS is set";
    out->signer = SLICE(ACCOUNTS);
    out->identity = arena_printf(a, "http://%.*s/computeMetadata/v1/instance/service-accounts/default", SLICE_ARG(host));
    return true;
}

/* A pod outside of Google: its token is exchanged at STS, and the result perhaps for a service account's. */
static bool read_federation(struct jval doc, struct arena *a, struct cloud_settings *out, struct err *e)
{
    struct slice account = json_get_str(doc, "service_account_impersonation_url", a);
    ptrdiff_t at = slice_find_text(account, "/serviceAccounts/");
    out->identity = json_get_str(doc, "token_url", a);
    out->role = json_get_str(doc, "audience", a);
    out->session_name = json_get_str(doc, "subject_token_type", a);
    out->token_file = json_get_str(doc, "credential_source.file", a);
    if (at >= 0) {
        size_t n = (size_t)at + strlen("/serviceAccounts/");
        struct slice id = slice_skip(account, n);
        out->signer = slice_head(account, n);
        out->keys.id = slice_cut(&id, ':');
    }
    return (!slice_empty(out->identity) && !slice_empty(out->role) && !slice_empty(out->token_file) &&
            (slice_empty(account) || !slice_empty(out->keys.id))) ||
           err_set(e, ERR_CONFIG,
                   "of type external_account token_url, audience and credential_source.file are needed; other sources of "
                   "tokens are not supported");
}

static bool read_key(struct jval doc, struct arena *a, struct cloud_settings *out, struct err *e)
{
    char signature[TLS_RSA_MAX];
    size_t len;
    out->keys = (struct cloud_keys){json_get_str(doc, "client_email", a), json_get_str(doc, "private_key", a), SLICE("")};
    if (slice_empty(out->keys.id) || slice_empty(out->keys.secret))
        return err_set(e, ERR_CONFIG,
                       "it has no client_email or no private_key: the key file of a service account is needed, or one of type "
                       "external_account");
    return tls_rsa_sign(out->keys.secret, SLICE(""), signature, &len, e) || err_wrap(e, "private_key");
}

static bool read_settings(const struct cloud_surroundings *from, struct arena *a, struct cloud_settings *out, struct err *e)
{
    struct slice file = slice_trim(from->get(from->owner, "GOOGLE_APPLICATION_CREDENTIALS")), text;
    struct jval doc;
    *out = (struct cloud_settings){.source = "GOOGLE_APPLICATION_CREDENTIALS", .region = SLICE("auto")};
    out->endpoint = slice_trim(from->get(from->owner, "STORAGE_EMULATOR_HOST"));
    if (slice_empty(file))
        return read_metadata(from, a, out);
    bool well = from->read(from->owner, file, a, &text, e) && json_read(&doc, text, a, e) &&
                (json_is(json_get(doc, "type"), "external_account") ? read_federation : read_key)(doc, a, out, e);
    return well || err_wrap(e, "GOOGLE_APPLICATION_CREDENTIALS %.*s", SLICE_ARG(file));
}

const struct cloud_protocol cloud_gcs = {
    .scheme = "gs",
    .sha256 = "x-goog-meta-sha256",
    .crc32c = "x-goog-meta-crc32c",
    .size = "x-goog-meta-size",
    .absent = {SLICE("x-goog-if-generation-match"), SLICE("0")},
    .rights = {[CLOUD_READ] = "storage.objects.get",
               [CLOUD_LIST] = "storage.objects.list",
               [CLOUD_WRITE] = "storage.objects.create",
               [CLOUD_DELETE] = "storage.objects.delete",
               [CLOUD_ABORT] = "storage.objects.delete"},
    .resource = "bucket ",
    .settings = read_settings,
    .list = list,
    .list_read = cloud_list_read,
    .sign = sign,
    .sign_url = cloud_sign_google,
    .errand = cloud_errand_google,
};
