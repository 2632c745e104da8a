/* Answers of a dashboard that the API server has passed on. */
#include <mobula/heads.h>

static bool is_status(struct slice body, struct arena *a)
{
    struct jval doc;
    struct err e = {0};
    return json_read(&doc, body, a, &e) && json_is(json_get(doc, "kind"), "Status");
}

void ray_dash_read_proxied(enum ray_dash_call call, const struct kube_answer *answer, struct slice log, bool log_cut, const char *right,
                           struct arena *a, struct ray_dash_answer *out)
{
    const struct kube_status *status = &answer->status;
    bool gathered = call == RAY_DASH_LOG && answer->outcome == KUBE_OK;
    *out = (struct ray_dash_answer){
        .call = call, .outcome = answer->outcome == KUBE_UNSENT ? RAY_DASH_UNSENT : RAY_DASH_LOST, .err = answer->err};
    if (answer->outcome == KUBE_OK || answer->outcome == KUBE_REFUSED)
        ray_dash_read(call, status->code, gathered ? log : answer->body, log_cut, a, out);
    if (answer->outcome != KUBE_REFUSED || !is_status(answer->body, a))
        return;
    out->outcome = status->code < 500 ? RAY_DASH_UNSENT : RAY_DASH_FAILED;
    out->http_status = 0;
    out->err = (struct err){0};
    err_set(&out->err, ERR_STATUS, "the API server%s: %d %s: %s", status->code == 403 ? right : "", status->code,
            kube_reason_text(status->reason), status->message);
}
