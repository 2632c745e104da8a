/* TokenReview and SubjectAccessReview: their bodies, and what their answers say. */
#include <mobula/kube.h>

enum { SUBJECT_MAX = 64 * KIB };

/* Whether an array of texts, or a text, has the audience. */
static bool has_audience(struct jval audiences, const char *audience)
{
    struct jval k, one;
    bool has = json_is(audiences, audience);
    for (struct jiter it = json_iter(audiences); json_type(audiences) == JSON_ARRAY && json_next(&it, &k, &one);)
        has |= json_is(one, audience);
    return has;
}

bool kube_token_is_for(struct slice token, const char *audience, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_KUBE_TOKEN};
    struct slice rest = token;
    struct jval doc;
    struct err e = {0};
    slice_cut(&rest, '.');
    struct slice claims = slice_cut(&rest, '.');
    if (slice_empty(claims) || !rest.ptr || claims.len > LIMIT_KUBE_TOKEN)
        return false;
    char *padded = arena_alloc(a, claims.len + 3);
    size_t len = claims.len;
    for (size_t i = 0; i < len; i++)
        padded[i] = claims.ptr[i] == '-' ? '+' : claims.ptr[i] == '_' ? '/' : claims.ptr[i];
    while (len % 4)
        padded[len++] = '=';
    return base64_decode((struct slice){padded, len}, &text, &e) && json_read(&doc, buf_slice(&text), a, &e) &&
           has_audience(json_get(doc, "aud"), audience);
}

void kube_token_review(struct buf *b, struct slice token, const char *audience)
{
    struct jout w;
    jout_init(&w, b);
    jout_form(&w, "{apiVersion:'authentication.k8s.io/v1',kind:'TokenReview',spec:{token:'%.*s'", SLICE_ARG(token));
    if (audience)
        jout_form(&w, "audiences:['%s']", audience);
    jout_end(&w);
    jout_end(&w);
}

/* {"user":…,"groups":…,"uid":…,"extra":…} of a TokenReview stand in a SubjectAccessReview under the same names but for the first. */
static struct slice subject_of(struct jval user, struct arena *a)
{
    struct buf b;
    struct jout w;
    buf_init(&b, SUBJECT_MAX);
    jout_init(&w, &b);
    static const char *const members[][2] = {{"user", "username"}, {"uid", "uid"}, {"groups", "groups"}, {"extra", "extra"}};
    jout_object(&w);
    for (size_t i = 0; i < COUNT_OF(members); i++)
        jout_kval(&w, members[i][0], json_get(user, members[i][1]));
    jout_end(&w);
    struct slice out = arena_dup(a, b.full ? SLICE("{}") : buf_slice(&b));
    buf_free(&b);
    return out;
}

void kube_token_reviewed(struct jval status, const char *audience, struct arena *a, struct kube_review *out)
{
    struct jval user = json_get(status, "user");
    out->user = json_get_str(user, "username", a);
    out->reason = json_get_str(status, "error", a);
    /* A server that does not support audiences leaves them out, and accepts a token for any of them. */
    out->yes = json_get_bool(status, "authenticated", false) && !slice_empty(out->user) &&
               (!audience || has_audience(json_get(status, "audiences"), audience));
    out->subject = out->yes ? subject_of(user, a) : SLICE_NONE;
}

void kube_access_review(struct buf *b, struct slice subject, struct slice attributes)
{
    buf_printf(b,
               "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\",\"spec\":%.*s%s\"resourceAttributes\":%.*s}}",
               SLICE_ARG(slice_head(subject, subject.len - 1)), subject.len > 2 ? "," : "", SLICE_ARG(attributes));
}

void kube_access_reviewed(struct jval status, struct arena *a, struct kube_review *out)
{
    *out = (struct kube_review){.yes = json_get_bool(status, "allowed", false) && !json_get_bool(status, "denied", false),
                                .reason = json_get_str(status, "reason", a)};
}
