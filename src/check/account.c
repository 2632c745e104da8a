/* Checks the rights of the operator's account in the namespace by SubjectAccessReview for that account. The rights of the caller, who may
 * be an admin, say nothing about them. */
#include <mobula/check.h>
#include <mobula/health.h>
#include <mobula/release.h>

#include <stdio.h>

struct asking {
    struct check *c;
    struct buf missing;
    struct slice name; /* of the account */
    bool skipped;      /* not checked; a row has the reason */
};

static void put_reviewed(struct asking *k, struct slice verb, struct slice group, struct slice resource, struct slice object,
                         struct jout *w)
{
    struct check *c = k->c;
    struct slice sub = resource, main = slice_cut(&sub, '/');
    jout_form(w,
              "{apiVersion:'authorization.k8s.io/v1',kind:'SubjectAccessReview',spec:{user:'system:serviceaccount:%.*s:%.*s',groups:["
              "'system:serviceaccounts','system:serviceaccounts:%.*s','system:authenticated'],resourceAttributes:{namespace:'%.*s',"
              "verb:'%.*s',group?:'%.*s',resource:'%.*s',subresource?:'%.*s',name?:'%.*s'}}}",
              SLICE_ARG(c->operator_ns), SLICE_ARG(k->name), SLICE_ARG(c->operator_ns), SLICE_ARG(c->ns), SLICE_ARG(verb), SLICE_ARG(group),
              SLICE_ARG(main), SLICE_ARG(sub), SLICE_ARG(object));
}

/* Reviews one right. False: there was no answer, and a row says so. */
static bool review(struct asking *k, struct slice verb, struct slice group, struct slice resource, struct slice object)
{
    static const struct slice path = SLICE("/apis/authorization.k8s.io/v1/subjectaccessreviews");
    struct check *c = k->c;
    struct ask_answer answer = {0};
    struct jval said;
    struct jout w;
    struct err e = {0};
    char words[ASK_WORDS];
    __attribute__((cleanup(buf_free))) struct buf body;
    buf_init(&body, 4 * KIB);
    jout_init(&w, &body);
    put_reviewed(k, verb, group, resource, object, &w);
    if (!ask_post(&c->ask, path, buf_slice(&body), c->a, &answer, NULL, &e) || answer.code >= 300 ||
        !json_read(&said, answer.body, c->a, &e)) {
        check_say(c, CHECK_SKIP, answer.code == 403 ? "a cluster's admin may ask (create subjectaccessreviews)" : NULL,
                  "rights of account %.*s in namespace %.*s: %s", SLICE_ARG(k->name), SLICE_ARG(c->operator_ns),
                  e.code == ERR_NONE ? ask_words(&answer, words) : e.text);
        k->skipped = true;
        return false;
    }
    if (!json_get_bool(said, "status.allowed", false))
        buf_printf(&k->missing, "%s%.*s %.*s%s%.*s", k->missing.len ? ", " : "", SLICE_ARG(verb), SLICE_ARG(resource),
                   slice_empty(group) ? "" : ".", SLICE_ARG(group));
    return true;
}

static bool review_resource(struct asking *k, struct jval rule, struct slice group, struct slice resource)
{
    struct arena *a = k->c->a;
    struct jval key, verb, name, names = json_key(rule, SLICE("resourceNames"));
    for (struct jiter it = json_iter(json_key(rule, SLICE("verbs"))); json_next(&it, &key, &verb);) {
        struct slice text = json_str(verb, a);
        if (!json_there(names) && !review(k, text, group, resource, SLICE_NONE))
            return false;
        for (struct jiter n = json_iter(names); json_next(&n, &key, &name);)
            if (!review(k, text, group, resource, json_str(name, a)))
                return false;
    }
    return true;
}

static void review_all(struct asking *k, struct jval rules)
{
    struct arena *a = k->c->a;
    struct jval key, rule, group, resource;
    for (struct jiter it = json_iter(rules); json_next(&it, &key, &rule);)
        for (struct jiter g = json_iter(json_key(rule, SLICE("apiGroups"))); json_next(&g, &key, &group);)
            for (struct jiter r = json_iter(json_key(rule, SLICE("resources"))); json_next(&r, &key, &resource);)
                if (!review_resource(k, rule, json_str(group, a), json_str(resource, a)))
                    return;
}

static bool watches(const struct check *c)
{
    struct slice list = inventory_argument(c->args, "--namespace", true, c->a);
    return check_argument(c, "--all-namespaces").ptr || !list.ptr || slice_listed(list, c->ns);
}

void check_account(struct check *c)
{
    struct asking k = {.c = c, .name = install_name(false)};
    struct slice rules;
    struct jval want;
    struct err e = {0};
    if (!json_there(c->deployment))
        return;
    if (!watches(c)) {
        check_say(c, CHECK_WARN, "name it in --watch-namespace of mobula upgrade, beside those that are watched",
                  "the operator in namespace %.*s does not watch namespace %.*s: nothing looks after clusters there",
                  SLICE_ARG(c->operator_ns), SLICE_ARG(c->ns));
        return;
    }
    if (!check_wanted_rules(c, &rules, &e) || !json_read(&want, rules, c->a, &e))
        return; /* check_rights reports the reason */
    buf_init(&k.missing, 4 * KIB);
    review_all(&k, want);
    if (!k.skipped && k.missing.len == 0)
        check_say(c, CHECK_PASS, NULL, "the operator's account in namespace %.*s has its rights in namespace %.*s",
                  SLICE_ARG(c->operator_ns), SLICE_ARG(c->ns));
    else if (!k.skipped)
        check_say(c, CHECK_FAIL, "mobula upgrade with the flags of the installation makes its Roles again",
                  "the operator's account in namespace %.*s has lost rights in namespace %.*s: %.*s", SLICE_ARG(c->operator_ns),
                  SLICE_ARG(c->ns), SLICE_ARG(buf_slice(&k.missing)));
    buf_free(&k.missing);
}
