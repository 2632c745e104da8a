/* Operators that prove an identity of AWS. The bearer token is a signed request to STS, GetCallerIdentity, in the form PREFIX CLOUD.QUERY
 * (cloud.h). The control plane sends it to its own --sts-url, and STS answers with the ARN of the signer. The header that names the cloud
 * is part of the signature, so the proof is valid for this cloud only. */
#include "private.h"

#include <mobula/cloud.h>

static struct slice split(struct slice token, struct slice *query)
{
    *query = SLICE_NONE;
    if (!slice_starts(token, SLICE(CLOUD_PROOF)))
        return SLICE_NONE;
    *query = slice_skip(token, strlen(CLOUD_PROOF));
    return slice_cut(query, '.');
}

struct slice caller_cloud(struct slice token)
{
    struct slice query;
    return split(token, &query);
}

/* Parameters in the order of the signature; a star is any value, which STS judges. A parameter that is missing, doubled or another one is
 * refused: STS must not be asked for anything else. */
static bool read_query(struct slice query, struct slice *date)
{
    struct slice like = SLICE("Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=*X-Amz-Date=*"
                              "X-Amz-Expires=*X-Amz-Security-Token=*X-Amz-Signature=*X-Amz-SignedHeaders=host%3B" CLOUD_PROOF_SIGNED);
    enum { DATE = 1, OPTIONAL = 3 };
    struct slice value = query;
    for (int i = 0; like.ptr; i++) {
        struct slice part = slice_cut(&like, '*');
        bool there = slice_starts(query, part);
        if (!there && i != OPTIONAL)
            return false;
        if (!there)
            continue;
        query = slice_skip(query, part.len);
        value = slice_cut(&query, '&');
        if (i == DATE)
            *date = value;
    }
    return !query.ptr && slice_empty(value);
}

/* Dates are compared as texts. */
const char *caller_check(struct slice token, int64_t wall_us)
{
    const int64_t second = 1000000;
    char least[CLOUD_STAMP], most[CLOUD_STAMP];
    struct slice query, cloud = split(token, &query), date;
    bool sound = token.len <= LIMIT_HUB_PROOF && cloud.len == HUB_DEPLOYMENT_ID && read_query(query, &date);
    for (size_t i = 0; sound && i < token.len; i++)
        sound = token.ptr[i] > ' ' && token.ptr[i] <= '~';
    if (!sound)
        return "it is no signed GetCallerIdentity of at most LIMIT_HUB_PROOF bytes";
    cloud_stamp(wall_us - CLOUD_PROOF_S * second, least);
    cloud_stamp(wall_us + CLOUD_RENEW_S * second, most);
    return slice_cmp(date, slice_of(least)) <= 0 || slice_cmp(date, slice_of(most)) > 0
               ? "it is older than 15 min, or dated in the future: set the clocks right"
               : NULL;
}

void caller_request(struct hub *h, struct slice token, struct kube_request *r)
{
    struct slice query, cloud = split(token, &query);
    buf_clear(&h->body);
    buf_printf(&h->body, "/?%.*s", SLICE_ARG(query));
    *r = (struct kube_request){.method = SLICE("GET"), .path = buf_slice(&h->body), .header = {SLICE(CLOUD_PROOF_HEADER), cloud}};
}

/* "arn:aws:sts::ACCOUNT:assumed-role/ROLE/SESSION" as "arn:aws:iam::ACCOUNT:role/ROLE", other ARNs unchanged. */
static struct slice role_of(struct slice arn, struct arena *a)
{
    enum { PARTITION = 1, ACCOUNT = 4, PARTS };
    struct slice rest = arn, part[PARTS];
    for (int i = 0; i < PARTS; i++)
        part[i] = slice_cut(&rest, ':');
    struct slice kind = slice_cut(&rest, '/'), role = slice_cut(&rest, '/');
    return slice_is(kind, "assumed-role")
               ? arena_printf(a, "arn:%.*s:iam::%.*s:role/%.*s", SLICE_ARG(part[PARTITION]), SLICE_ARG(part[ACCOUNT]), SLICE_ARG(role))
               : arn;
}

/* The ARN of an answer in XML or JSON: the only text in it that begins so. */
static struct slice find_arn(struct slice body)
{
    ptrdiff_t at = slice_find_text(body, "arn:");
    size_t n = 0;
    body = slice_skip(body, at < 0 ? body.len : (size_t)at);
    while (n < body.len && body.ptr[n] > ' ' && body.ptr[n] != '<' && body.ptr[n] != '"')
        n++;
    return slice_head(body, n);
}

bool caller_answer(struct call *c, const struct kube_answer *a, struct slice *arn, struct slice *why)
{
    bool answered = a->outcome == KUBE_OK || (a->outcome == KUBE_REFUSED && a->status.code / 100 == 4 && a->status.code != 429);
    if (!answered)
        call_refuse(c, &refuse_lost, "STS does not answer: %s", a->outcome == KUBE_REFUSED ? a->status.message : a->err.text);
    *arn = a->outcome == KUBE_OK ? role_of(find_arn(a->body), &c->arena) : SLICE_NONE;
    *why = slice_empty(*arn) ? arena_printf(&c->arena, "STS answered %d without an ARN", a->status.code) : SLICE_NONE;
    return answered;
}
