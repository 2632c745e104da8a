/* Calls of pods. POST /v1/bootstrap: a pod of a workload shows the projected token that its own cluster has issued with the audience
 * REMOTE_BOOTSTRAP_AUDIENCE. Only that cluster's API server can review the token, so the operator is asked; then the pod gets a credential
 * of a few minutes, which names the pod and its workload and carries a MAC by a key that all replicas have. POST /v1/report: with that
 * credential the pod reports on the Ray of its own workload, and may do nothing else. */
#include "private.h"

#include <mobula/work.h>

#define MARK "mobula1"

static const struct refusal nobody = {401, "Unauthorized", "show the pod's projected token with the audience " REMOTE_BOOTSTRAP_AUDIENCE,
                                      0};
static const struct refusal large = {413, "TooLarge", "send the deployment id of the cloud, and nothing else", 0};
static const struct refusal other = {403, "Forbidden", "only a pod of a workload of this cloud gets a credential", 0};

/* ---- credentials: MARK.END.CLOUD.WORKLOAD.POD.MAC, the end in seconds since 1970 ---- */

static void mac_of(const struct hub *h, struct slice text, char out[2 * TLS_MAC + 1])
{
    char mac[TLS_MAC];
    tls_mac((struct slice){h->secret, sizeof h->secret}, text, mac);
    hex_encode((struct slice){mac, sizeof mac}, out);
}

struct slice credential_make(const struct hub *h, const struct credential *c, struct arena *a)
{
    char mac[2 * TLS_MAC + 1];
    struct slice text =
        arena_printf(a, MARK ".%lld.%.*s.%.*s.%.*s", (long long)c->end_s, SLICE_ARG(c->cloud), SLICE_ARG(c->workload), SLICE_ARG(c->pod));
    mac_of(h, text, mac);
    return arena_printf(a, "%.*s.%s", SLICE_ARG(text), mac);
}

const char *credential_read(const struct hub *h, struct slice text, struct credential *out)
{
    static const char foreign[] = "the credential was not given by this control plane, or its certificate has changed since";
    char mac[2 * TLS_MAC + 1];
    unsigned differ = 0;
    if (text.len <= sizeof mac)
        return foreign;
    size_t at = text.len - sizeof mac; /* of the dot before the MAC */
    struct slice rest = slice_head(text, at), said = slice_skip(text, at + 1);
    mac_of(h, rest, mac);
    for (size_t i = 0; i < said.len; i++) /* all of it, however much is right */
        differ |= (unsigned char)(said.ptr[i] ^ mac[i]);
    if (differ || text.ptr[at] != '.' || !slice_is(slice_cut(&rest, '.'), MARK) || !slice_int(slice_cut(&rest, '.'), &out->end_s))
        return foreign;
    out->cloud = slice_cut(&rest, '.');
    out->workload = slice_cut(&rest, '.');
    out->pod = rest;
    return h->now.wall_us / 1000000 >= out->end_s ? "the credential has expired" : NULL;
}

/* ---- the call ---- */

static void give_credential(struct call *c, const struct cloud *of, struct jval answer);

/* The same token again within seconds, as of a pod that retries: the operator's last answer is used again. */
static bool answer_again(struct call *c, const struct cloud *cloud)
{
    struct jval answer;
    char hex[TLS_SHA256_HEX];
    tls_sha256_hex(auth_bearer(c), hex);
    c->token = arena_printf(&c->arena, "%s %s", cloud->id, hex);
    struct slice kept = auth_kept(c, c->token);
    bool known = kept.ptr && json_read(&answer, kept, &c->arena, NULL);
    if (known)
        give_credential(c, cloud, answer);
    return known;
}

/* One with more in it than an operator has to say is not remembered: the next one is asked for again. */
static void bootstrap_answered(struct call *c, const struct cloud *of, struct jval answer)
{
    if (json_raw(answer).len <= 8 * ERR_TEXT_MAX)
        auth_keep(c, c->token, json_get_bool(answer, "ok", false), json_raw(answer));
    give_credential(c, of, answer);
}

void bootstrap_begin(struct call *c)
{
    struct hub *h = c->hub;
    struct json doc;
    struct err e = {0};
    if (slice_empty(auth_bearer(c))) {
        call_refuse(c, &nobody, "the request carries no bearer token");
        return;
    }
    if (c->ask->body.len > LIMIT_HUB_BOOTSTRAP) { /* no sender is known yet that could be asked to send less */
        call_refuse(c, &large, "the body has more than %d bytes", LIMIT_HUB_BOOTSTRAP);
        return;
    }
    if (!json_parse(&doc, c->ask->body, &c->arena, &e) || json_type(json_root(&doc)) != JSON_OBJECT) {
        call_refuse(c, &refuse_bad, "the body is no JSON object");
        return;
    }
    struct slice id = json_get_str(json_root(&doc), "cloud", &c->arena);
    struct cloud *cloud = hub_store_cloud_by_id(h, id);
    if (!cloud) {
        call_refuse(c, &refuse_cloud, "there is no cloud with the deployment id \"%.*s\"", SLICE_ARG(slice_head(id, HUB_DEPLOYMENT_ID)));
    } else if (!auth_pays(&cloud->full_ms, h->now)) { /* the caller is not known yet: all pods of a cloud share one rate */
        call_refuse(c, &refuse_later, "more than %d calls a second by pods of this cloud", 1000 / HUB_RATE_MS);
    } else if (!answer_again(c, cloud)) {
        c->cloud = cloud;
        cloud->calls++;
        if (peer_holds(h, cloud))
            peer_forward(c, cloud);
        else
            question_put(c, cloud, "tokenReview", bootstrap_answered);
    }
}

static void give_credential(struct call *c, const struct cloud *of, struct jval answer)
{
    struct hub *h = c->hub;
    struct arena *a = &c->arena;
    char time[TIME_TEXT_MAX];
    struct jout w;
    struct slice error = json_get_str(answer, "error", a), uid = json_get_str(answer, "workloadUid", a),
                 pod = json_get_str(answer, "podUid", a), name = json_get_str(answer, "podName", a),
                 ns = json_get_str(answer, "namespace", a);
    const struct workload *work = map_get(&h->workloads, uid);
    if (!json_get_bool(answer, "ok", false)) {
        call_refuse(c, &nobody, "the cluster of cloud %s does not accept the token: %.*s", of->key, SLICE_ARG(error));
        return;
    }
    if (!work || work->of != of || slice_empty(pod) || pod.len > LIMIT_HUB_UID || slice_find(pod, '.') >= 0) {
        call_refuse(c, &other, "the pod %.*s belongs to no workload of cloud %s", SLICE_ARG(slice_head(name, 253)), of->key);
        return;
    }
    const struct credential made = {h->now.wall_us / 1000000 + HUB_CREDENTIAL_S, slice_of(of->id), uid, pod};
    struct slice credential = credential_make(h, &made, a);
    buf_clear(&h->body);
    jout_init(&w, &h->body);
    jout_form(&w, "{podUid:'%.*s',podName:'%.*s',namespace:'%.*s',workloadUid:'%.*s',credential:'%.*s',expiresAt:'%.*s'}", SLICE_ARG(pod),
              SLICE_ARG(name), SLICE_ARG(ns), SLICE_ARG(uid), SLICE_ARG(credential),
              SLICE_ARG(time_format(made.end_s * INT64_C(1000000), time)));
    call_answer(c, 200, buf_slice(&h->body));
}

/* ---- POST /v1/report ---- */

static void on_stored(struct call *c)
{
    if (c->answer->outcome == KUBE_OK)
        call_answer(c, 200, SLICE("{}"));
    else
        call_refuse_as(c, c->answer);
}

void report_begin(struct call *c)
{
    struct hub *h = c->hub;
    struct json doc;
    struct err e = {0};
    struct credential who;
    const char *why = credential_read(h, auth_bearer(c), &who);
    if (why) {
        call_refuse(c, &(struct refusal){401, "Unauthorized", "call POST /v1/bootstrap again", 0}, "%s", why);
        return;
    }
    struct workload *w = map_get(&h->workloads, who.workload);
    if (!w || !slice_is(who.cloud, w->of->id)) {
        call_refuse(c, &refuse_unknown, "the workload of this pod is not there any more");
    } else if (h->now.mono_ms < w->report.ray_ms) {
        call_refuse(c, &refuse_later, "a workload is reported about once in %d s", HUB_REPORT_MS / 1000);
    } else if (c->ask->body.len > LIMIT_HUB_REPORT || !json_parse(&doc, c->ask->body, &c->arena, &e) ||
               json_type(json_get(json_root(&doc), "ray")) != JSON_OBJECT) {
        call_refuse(c, &refuse_bad, "the body is no report: want an object ray, %d bytes at most", LIMIT_HUB_REPORT);
    } else {
        w->report.ray_ms = h->now.mono_ms + HUB_REPORT_MS;
        struct kube_request r = ray_request(c, w, json_get(json_root(&doc), "ray"));
        c->then = on_stored;
        call_ask(c, &r);
    }
}
