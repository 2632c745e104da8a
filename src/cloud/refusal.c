/* Error messages for a store's error answers: status, code, message and a remedy. */
#include "store.h"

#include <mobula/json.h>

#include <stdio.h>

enum { WORDS = 200 /* bytes of each text in a message */ };

/* OAuth's {"error": CODE, "error_description": TEXT}, or Google's {"error": {"status": CODE, "message": TEXT}}. */
static void read_json(struct slice body, struct arena *a, struct cloud_refusal *out)
{
    struct jval doc, inner;
    if (!json_read(&doc, body, a, NULL))
        return;
    inner = json_get(doc, "error.status");
    out->code = json_there(inner) ? json_str(inner, a) : json_get_str(doc, "error", a);
    out->message = json_get_str(doc, json_there(inner) ? "error.message" : "error_description", a);
}

void cloud_refusal_read(const struct cloud_store *s, struct arena *a, struct cloud_refusal *out)
{
    struct slice body = buf_slice(&s->answer), none = SLICE("");
    struct slice region = http_header_get(&s->reader, SLICE("x-amz-bucket-region"));
    *out =
        (struct cloud_refusal){s->reader.status, SLICE_NONE, SLICE_NONE, slice_empty(region) ? cloud_xml_text(body, "Region", a) : region};
    if (slice_starts(body, SLICE("{"))) {
        read_json(body, a, out);
    } else {
        out->code = cloud_xml_text(body, "Code", a);
        out->message = cloud_xml_text(body, "Message", a);
    }
    out->code = out->code.ptr ? out->code : none;
    out->message = out->message.ptr ? out->message : none;
    out->region = out->region.ptr ? out->region : none;
}

/* The first match counts. An entry with a status matches any code; one without matches its code. */
static const struct {
    const char *code;
    int status;
    const char *remedy;
} remedies[] = {
    {"RequestTimeTooSkewed", 0, "set this machine's clock right (chronyc tracking, timedatectl)"},
    {"ExpiredToken", 0, "the session token has expired: get new credentials, or give the pod an identity that is renewed"},
    {"InvalidAccessKeyId", 0, "the store does not know this key: check AWS_ACCESS_KEY_ID, and that the endpoint is the right store"},
    {"SignatureDoesNotMatch", 0, "check AWS_SECRET_ACCESS_KEY and AWS_REGION; a proxy that changes paths or headers breaks signatures too"},
    {"InvalidToken", 0, "the session token does not belong to the key: check AWS_SESSION_TOKEN"},
    {"NoSuchBucket", 0, "create the bucket, or correct its name; with an endpoint of your own, check path style against virtual hosts"},
    {"ContainerNotFound", 0, "create the container, or correct its name"},
    {"AuthenticationFailed", 0, "check AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_KEY or the SAS token, and this machine's clock"},
    {"AuthorizationFailure", 0, "check AZURE_STORAGE_KEY, and that the account's firewall admits this machine"},
    {"BlobNotFound", 0, "there is no such object"},
    {"NoSuchUpload", 0, "a rule of the bucket has removed the unfinished upload: try again"},
    {"EntityTooLarge", 0, "the store takes no object of this size"},
    {"QuotaExceeded", 0, "the bucket is full: raise its quota or delete what is not needed"},
    {"XAmzContentSHA256Mismatch", 0, "the body was changed on the way, or the file while it was sent: try again"},
    {"BadDigest", 0, "the body was changed on the way, or the file while it was sent: try again"},
    {"", 403, NULL}, /* remedy_of names the missing right */
    {"NoSuchKey", 0, "there is no such object"},
    {"", 412, "the object was changed while it was read: try again"},
    {"", 416, "the range begins behind the object's end"},
    {"", 413, "the store, or a proxy before it, takes no body of this size"},
    {"", 301, "the bucket is in another region or at another endpoint: set AWS_REGION or --endpoint"},
    {"", 307, "the bucket is in another region or at another endpoint: set AWS_REGION or --endpoint"},
};

static const char *remedy_of(const struct cloud_store *s, const struct cloud_refusal *r, char out[WORDS])
{
    size_t i = 0;
    if (!slice_empty(r->region) && !slice_is(r->region, s->region) && (r->status == 301 || r->status == 307 || r->status == 400)) {
        snprintf(out, WORDS, "the bucket is in region %.*s: set AWS_REGION=%.*s", SLICE_ARG(slice_head(r->region, CLOUD_REGION_MAX)),
                 SLICE_ARG(slice_head(r->region, CLOUD_REGION_MAX)));
        return out;
    }
    if (!slice_empty(s->call.url) && s->call.method[0] == 'G' && (r->status == 403 || slice_is(r->code, "ExpiredToken")))
        return "the signed URL has ended or is not valid yet (compare the clocks), or its signer may not read the object";
    while (i < COUNT_OF(remedies) && !(remedies[i].status ? remedies[i].status == r->status : slice_is(r->code, remedies[i].code)))
        i++;
    if (i < COUNT_OF(remedies) && remedies[i].remedy)
        return remedies[i].remedy;
    if (r->status == 403 && s->errand && s->errand->right) {
        snprintf(out, WORDS, "grant %s", s->errand->right);
        return out;
    }
    if (r->status != 403 || s->errand)
        return r->status == 429 || r->status >= 500 ? "the store is overloaded or broken: try again later" : "";
    bool object = !slice_empty(s->call.key);
    const struct cloud_protocol *p = s->o.protocol;
    if (p->resource) {
        snprintf(out, WORDS, "grant %s on %s%.*s", p->rights[s->call.right], p->resource, SLICE_ARG(s->o.bucket));
        return out;
    }
    snprintf(out, WORDS, "grant %s on arn:%s:s3:::%.*s%s%s", p->rights[s->call.right], cloud_partition(slice_of(s->region)),
             SLICE_ARG(s->o.bucket), object ? "/*" : "",
             s->call.right == CLOUD_READ ? ", or the object does not exist: without s3:ListBucket the store does not say which" : "");
    return out;
}

void cloud_refusal_words(const struct cloud_store *s, const struct cloud_refusal *r, struct err *e)
{
    char words[WORDS], message[WORDS], room[WORDS];
    const char *remedy = remedy_of(s, r, room);
    utf8_clean(r->message, message, sizeof message);
    utf8_clean(slice_empty(r->code) ? slice_of(http_status_text(r->status)) : r->code, words, sizeof words);
    err_put(e, ERR_STATUS, "%d %s%s%s%s%s", r->status, words, message[0] ? ": " : "", message, remedy[0] ? ": " : "", remedy);
}
