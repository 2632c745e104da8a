/* Requests for the tokens of Azure's and Google's identities, and for what signs URLs in their name. */
#include "store.h"

#include <mobula/json.h>

enum { BODY_MAX = 4 * LIMIT_HTTP_HEAD, GOOGLE_URL_S = 12 * 3600 /* Google replaces the keys of service accounts */ };
#define FORM "application/x-www-form-urlencoded"
#define JSON "application/json"

/* ---- requests and answers ---- */

static bool post(struct cloud_store *s, const struct cloud_host *to, struct slice path, const char *type, struct slice body, struct err *e)
{
    const struct http_header headers[] = {{SLICE("Content-Type"), slice_of(type)},
                                          {SLICE("x-ms-version"), SLICE(CLOUD_AZURE_VERSION)}, /* others ignore it */
                                          {SLICE("Authorization"), arena_printf(&s->a, "Bearer %s", s->keys.session)}};
    return http_write_request(&s->head, SLICE("POST"), path, to->authority, headers, strcmp(type, FORM) == 0 ? 1 : 3, &body) ||
           err_set(e, ERR_CONFIG, "its URL or a token is too long, or has a control character");
}

/* Of a body that has the pod's token, which is wiped. */
static bool post_form(struct cloud_store *s, struct slice path, struct buf *body, struct err *e)
{
    bool well = post(s, &s->o.identity, path, FORM, buf_slice(body), e);
    mem_wipe(body->ptr, body->len);
    return well;
}

static bool get(struct cloud_store *s, const char *flavor, const char *value, struct slice path, struct err *e)
{
    const struct http_header header = {slice_of(flavor), slice_of(value)};
    return http_write_request(&s->head, SLICE("GET"), path, s->o.identity.authority, &header, 1, NULL) ||
           err_set(e, ERR_CONFIG, "its URL or a token is too long, or has a control character");
}

/* Appends a text that is encoded already, and a value that is not. */
static void put_pair(struct buf *out, const char *text, struct slice value)
{
    buf_put(out, slice_of(text));
    http_percent_encode(value, out);
}

/* Keeps the token of an answer, in which it has this name. */
static bool keep_token(struct cloud_store *s, struct jval doc, const char *name, int64_t expires_us, struct err *e)
{
    struct slice token = json_get_str(doc, name, &s->a);
    s->keys.expires_us = expires_us;
    s->keys.fresh = !slice_empty(token) && slice_copy(token, s->keys.session, sizeof s->keys.session);
    return s->keys.fresh ||
           err_set(e, ERR_STATUS, "the answer has no %s, or one of more than %d bytes (LIMIT_CLOUD_TOKEN)", name, LIMIT_CLOUD_TOKEN);
}

static bool take_token(struct cloud_store *s, struct now now, struct err *e)
{
    struct jval doc;
    int64_t seconds = 0;
    if (!json_read(&doc, buf_slice(&s->answer), &s->a, e))
        return false;
    struct jval valid = json_get(doc, "expires_in"); /* a number, or at Azure's machines a text */
    if (!json_int(valid, &seconds))
        slice_int(json_str(valid, &s->a), &seconds);
    seconds = seconds < 0 || seconds > CLOUD_URL_S ? 0 : seconds;
    return keep_token(s, doc, "access_token", now.wall_us + s->skew_us + seconds * 1000000, e);
}

/* ---- Azure ---- */

static bool write_entra(struct cloud_store *s, struct now now, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf body = {.max = BODY_MAX};
    struct slice token;
    (void)now;
    if (!cloud_pod_token(s, &token, e))
        return false;
    put_pair(&body,
             "grant_type=client_credentials&scope=https%3A%2F%2Fstorage.azure.com%2F.default&client_assertion_type="
             "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_id=",
             s->o.settings.role);
    put_pair(&body, "&client_assertion=", token);
    return post_form(s, arena_printf(&s->a, "%.*s/oauth2/v2.0/token", SLICE_ARG(s->o.identity.path)), &body, e);
}

static bool write_machine(struct cloud_store *s, struct now now, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf query = {.max = BODY_MAX};
    (void)now;
    buf_printf(&query, "%.*s/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%%3A%%2F%%2Fstorage.azure.com%%2F",
               SLICE_ARG(s->o.identity.path));
    if (!slice_empty(s->o.settings.role))
        put_pair(&query, "&client_id=", s->o.settings.role);
    return get(s, "Metadata", "true", buf_slice(&query), e);
}

static bool write_delegation(struct cloud_store *s, struct now now, struct err *e)
{
    char from[TIME_TEXT_MAX], until[TIME_TEXT_MAX];
    int64_t at_us = now.wall_us + s->skew_us - (int64_t)CLOUD_RENEW_S * 1000000; /* the store's clock may be behind ours */
    time_format(at_us, from);
    time_format(at_us + (int64_t)CLOUD_URL_S * 1000000, until);
    struct slice body = arena_printf(
        &s->a, "<?xml version=\"1.0\" encoding=\"utf-8\"?><KeyInfo><Start>%s</Start><Expiry>%s</Expiry></KeyInfo>", from, until);
    return post(s, &s->o.store, arena_printf(&s->a, "%.*s/?restype=service&comp=userdelegationkey", SLICE_ARG(s->o.store.path)),
                "application/xml", body, e);
}

static bool take_delegation(struct cloud_store *s, struct now now, struct err *e)
{
    static const char *const names[] = {"SignedOid", "SignedTid", "SignedStart", "SignedExpiry", "SignedService", "SignedVersion", "Value"};
    struct cloud_delegation *d = &s->keys.delegation;
    (void)now;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct slice text = cloud_xml_text(buf_slice(&s->answer), names[i], &s->a);
        if (slice_empty(text) || !slice_copy(text, d->texts[i], sizeof d->texts[i]))
            return err_set(e, ERR_STATUS, "the answer has no %s, or a too long one", names[i]);
    }
    s->keys.delegated = time_parse(slice_of(d->texts[CLOUD_DELEGATION_EXPIRY]), &d->until_us, e);
    return s->keys.delegated;
}

const struct cloud_errand *cloud_errand_azure(const struct cloud_store *s, struct now now)
{
    static const struct cloud_errand entra = {"a token", NULL, CLOUD_TO_IDENTITY, write_entra, take_token},
                                     machine = {"a token", NULL, CLOUD_TO_IDENTITY, write_machine, take_token},
                                     delegation = {"a key to sign URLs", "role Storage Blob Delegator on the account", CLOUD_TO_STORE,
                                                   write_delegation, take_delegation};
    if (cloud_credentials_due(s, now))
        return slice_empty(s->o.settings.token_file) ? &machine : &entra;
    bool sign = s->call.sign_s && s->keys.expires_us != TIME_NEVER && !s->keys.delegated;
    return sign && s->keys.delegation.until_us < now.wall_us + s->skew_us + s->call.sign_s * 1000000 ? &delegation : NULL;
}

/* ---- Google ---- */

static bool write_metadata(struct cloud_store *s, struct now now, struct err *e)
{
    (void)now;
    return get(s, "Metadata-Flavor", "Google",
               arena_printf(&s->a, "%.*s/%s", SLICE_ARG(s->o.identity.path), cloud_credentials_due(s, now) ? "token" : "email"), e);
}

static bool take_email(struct cloud_store *s, struct now now, struct err *e)
{
    struct slice email = slice_trim(buf_slice(&s->answer));
    (void)now;
    return (!slice_empty(email) && slice_copy(email, s->keys.id, sizeof s->keys.id)) ||
           err_set(e, ERR_STATUS, "the answer is no account, or a too long one");
}

static bool write_exchange(struct cloud_store *s, struct now now, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf body = {.max = BODY_MAX};
    struct slice token;
    (void)now;
    if (!cloud_pod_token(s, &token, e))
        return false;
    put_pair(
        &body,
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&requested_token_type="
        "urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token&scope=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform&audience=",
        s->o.settings.role);
    put_pair(&body, "&subject_token_type=", s->o.settings.session_name);
    put_pair(&body, "&subject_token=", token);
    return post_form(s, s->o.identity.path, &body, e);
}

static bool take_exchange(struct cloud_store *s, struct now now, struct err *e)
{
    s->keys.foreign = !slice_empty(s->o.settings.keys.id);
    return take_token(s, now, e);
}

static struct slice path_of(struct cloud_store *s, const char *verb)
{
    return arena_printf(&s->a, "%.*s/%s:%s", SLICE_ARG(s->o.signer.path), s->keys.id, verb);
}

static bool write_account(struct cloud_store *s, struct now now, struct err *e)
{
    (void)now;
    return post(s, &s->o.signer, path_of(s, "generateAccessToken"), JSON,
                SLICE("{\"scope\":[\"https://www.googleapis.com/auth/cloud-platform\"]}"), e);
}

static bool take_account(struct cloud_store *s, struct now now, struct err *e)
{
    struct jval doc;
    int64_t until_us;
    (void)now;
    s->keys.foreign = false;
    return json_read(&doc, buf_slice(&s->answer), &s->a, e) && time_parse(json_get_str(doc, "expireTime", &s->a), &until_us, e) &&
           keep_token(s, doc, "accessToken", until_us, e);
}

static bool write_blob(struct cloud_store *s, struct now now, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf body = {.max = BODY_MAX};
    struct cloud_request r;
    if (!s->keys.id[0])
        return err_set(e, ERR_CONFIG, "only a service account can sign URLs: set service_account_impersonation_url in the file");
    struct cloud_signer signer = cloud_url_begin(s, GOOGLE_URL_S, now, &r);
    buf_put(&body, SLICE("{\"payload\":\""));
    base64_encode(cloud_google_text(&r, &signer, s->url_s, &s->a), &body);
    buf_put(&body, SLICE("\"}"));
    cloud_url_end(s, &r);
    return post(s, &s->o.signer, path_of(s, "signBlob"), JSON, buf_slice(&body), e);
}

static bool take_blob(struct cloud_store *s, struct now now, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf signature = {.max = TLS_RSA_MAX};
    char hex[2 * TLS_RSA_MAX + 1];
    struct jval doc;
    (void)now;
    if (!json_read(&doc, buf_slice(&s->answer), &s->a, e) || !base64_decode(json_get_str(doc, "signedBlob", &s->a), &signature, e))
        return err_wrap(e, "signedBlob");
    hex_encode(buf_slice(&signature), hex);
    s->url = arena_printf(&s->a, "%.*s&X-Goog-Signature=%s", SLICE_ARG(s->url), hex);
    return true;
}

const struct cloud_errand *cloud_errand_google(const struct cloud_store *s, struct now now)
{
#define ACTS "role Service Account Token Creator on the service account"
    static const struct cloud_errand metadata = {"a token", NULL, CLOUD_TO_IDENTITY, write_metadata, take_token},
                                     email = {"the name of the account", NULL, CLOUD_TO_IDENTITY, write_metadata, take_email},
                                     exchange = {"a token", NULL, CLOUD_TO_IDENTITY, write_exchange, take_exchange},
                                     account = {"a token", ACTS, CLOUD_TO_SIGNER, write_account, take_account},
                                     blob = {"a signature", ACTS, CLOUD_TO_SIGNER, write_blob, take_blob};
    bool pod = slice_empty(s->o.settings.token_file);
    if (cloud_credentials_due(s, now))
        return pod ? &metadata : &exchange;
    if (s->keys.foreign)
        return &account;
    if (!s->call.sign_s || s->keys.expires_us == TIME_NEVER)
        return NULL;
    return pod && !s->keys.id[0] ? &email : &blob;
}
