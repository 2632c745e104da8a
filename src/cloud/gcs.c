/* Google Cloud Storage by its XML API, which resembles S3's. Every call is a signed URL: the key file needs no exchange for a token. */
#include "store.h"

#include <mobula/json.h>

enum { CALL_S = 15 * 60 /* validity of the URL of one call, which may take long */ };

static void list(struct cloud_call *c, struct slice prefix, bool deep, struct slice more)
{
    cloud_s3.list(c, prefix, deep, more);
}

static void sign(struct cloud_request *r, const struct cloud_signer *s, struct arena *a)
{
    cloud_sign_google(r, s, CALL_S, a);
}

static bool read_settings(const struct cloud_surroundings *from, struct arena *a, struct cloud_settings *out, struct err *e)
{
    struct slice file = slice_trim(from->get(from->owner, "GOOGLE_APPLICATION_CREDENTIALS")), text;
    char signature[TLS_RSA_MAX];
    size_t len;
    struct jval doc;
    *out = (struct cloud_settings){.source = "GOOGLE_APPLICATION_CREDENTIALS", .region = SLICE("auto")};
    out->endpoint = slice_trim(from->get(from->owner, "STORAGE_EMULATOR_HOST"));
    if (slice_empty(file))
        return err_set(e, ERR_CONFIG,
                       "no credentials for gs://: set GOOGLE_APPLICATION_CREDENTIALS to the JSON key file of a service account");
    if (!from->read(from->owner, file, a, &text, e) || !json_read(&doc, text, a, e))
        return err_wrap(e, "GOOGLE_APPLICATION_CREDENTIALS %.*s", SLICE_ARG(file));
    out->keys = (struct cloud_keys){json_get_str(doc, "client_email", a), json_get_str(doc, "private_key", a), SLICE("")};
    if (slice_empty(out->keys.id) || slice_empty(out->keys.secret))
        return err_set(e, ERR_CONFIG,
                       "%.*s has no client_email or no private_key: the key file of a service account is needed (workload identity is not "
                       "supported yet)",
                       SLICE_ARG(file));
    return tls_rsa_sign(out->keys.secret, SLICE(""), signature, &len, e) || err_wrap(e, "private_key of %.*s", SLICE_ARG(file));
}

const struct cloud_protocol cloud_gcs = {
    .scheme = "gs",
    .sha256 = "x-goog-meta-sha256",
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
};
