/* TokenReview, SubjectAccessReview and SelfSubjectRulesReview. There is no authentication here, so a token is the name of its user, and
 * everybody may do everything: but a token that begins with "bad" is nobody's, a user whose name begins with "nobody" may do nothing, and
 * "of-pod-UID" is the token of that pod. Of one
 * that begins with "bad-long" the error has 9,000 bytes. A token that ends in "-unaware" is reviewed as by an API server that does not know
 * audiences. */
#include "request.h"

static void answer(struct request *q, struct jval object, void (*status)(struct request *q, struct jval spec, struct jout *w))
{
    struct jout w;
    jout_init(&w, q->out);
    jout_object(&w);
    jout_kraw(&w, "apiVersion", json_raw(json_get(object, "apiVersion")));
    jout_kraw(&w, "kind", json_raw(json_get(object, "kind")));
    jout_kraw(&w, "metadata", SLICE("{}"));
    jout_kraw(&w, "spec", json_raw(json_get(object, "spec")));
    jout_kobject(&w, "status");
    status(q, json_get(object, "spec"), &w);
    jout_end(&w);
    jout_end(&w);
    q->code = 201;
}

static void token_status(struct request *q, struct jval spec, struct jout *w)
{
    struct slice token = json_get_str(spec, "token", q->a);
    if (slice_empty(token) || slice_starts(token, SLICE("bad"))) {
        jout_kobject(w, "user");
        jout_end(w);
        jout_kstr(w, "error", slice_starts(token, SLICE("bad-long")) ? arena_printf(q->a, "%09000d", 0) : SLICE("invalid bearer token"));
        return;
    }
    jout_kbool(w, "authenticated", true);
    jout_kobject(w, "user");
    jout_kstr(w, "username", token);
    jout_kstr(w, "uid", token);
    jout_kraw(w, "groups", SLICE("[\"system:authenticated\"]"));
    if (slice_starts(token, SLICE("of-pod-"))) {
        jout_kobject(w, "extra");
        jout_karray(w, "authentication.kubernetes.io/pod-uid");
        jout_str(w, slice_skip(token, 7));
        jout_end(w);
        jout_end(w);
    }
    jout_end(w);
    if (!slice_ends(token, SLICE("-unaware"))) /* as an API server that does not know audiences */
        jout_kraw(w, "audiences", json_raw(json_get(spec, "audiences")));
}

static void access_status(struct request *q, struct jval spec, struct jout *w)
{
    bool allowed = !slice_starts(json_get_str(spec, "user", q->a), SLICE("nobody"));
    jout_kbool(w, "allowed", allowed);
    if (!allowed)
        jout_kstr(w, "reason", SLICE("nobody may do anything"));
}

static void rules_status(struct request *q, struct jval spec, struct jout *w)
{
    (void)q, (void)spec;
    jout_form(w, "resourceRules:[{verbs:['*'],apiGroups:['*'],resources:['*']}],nonResourceRules:[],incomplete:false");
}

bool reviews_serve(struct request *q)
{
    bool token = slice_eq(q->path, SLICE("/apis/authentication.k8s.io/v1/tokenreviews"));
    bool access = slice_eq(q->path, SLICE("/apis/authorization.k8s.io/v1/subjectaccessreviews"));
    bool rules = slice_eq(q->path, SLICE("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"));
    struct json doc;
    struct err e = {0};
    if (!slice_eq(q->method, SLICE("POST")) || (!token && !access && !rules))
        return false;
    if (!json_parse(&doc, q->body, q->a, &e))
        status_bad(&q->st, "%s", e.text);
    else
        answer(q, json_root(&doc), token ? token_status : access ? access_status : rules_status);
    return true;
}
