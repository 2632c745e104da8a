/* The rights that the operator's Role gives, held against what the API server says that we may do. Whoever makes a Role must have every
 * right in it, so before an installation this says whether this user can make it, and in the operator's pod whether it was made. */
#include <mobula/check.h>
#include <mobula/release.h>

#include <stdio.h>

static struct slice flag_of(const void *of, const char *flag)
{
    char name[64];
    snprintf(name, sizeof name, "--%s", flag);
    return check_argument(of, name);
}

/* The options of the installation that is there; else the usual ones. */
static void read_options(const struct check *c, struct install_options *o)
{
    install_of_operator(o, flag_of, c);
    if (!json_there(c->args))
        memset(o->optional, false, sizeof o->optional);
    o->ns = c->operator_ns;
    o->watch = o->all_namespaces ? SLICE_NONE : c->ns;
}

bool check_wanted_rules(struct check *c, struct slice *rules, struct err *e)
{
    struct install_options o;
    read_options(c, &o);
    return install_rights(&o, c->ns, c->a, rules, e);
}

/* The missing rules of the Roles that `mobula install` would make for this namespace, and of a ClusterRole. */
static bool missing_of(struct check *c, struct jval have, struct slice *out, struct err *e)
{
    struct slice rules;
    struct jval want;
    if (!check_wanted_rules(c, &rules, e) || !json_read(&want, rules, c->a, e))
        return false;
    *out = rights_missing(have, want, c->a);
    return true;
}

void check_rights(struct check *c)
{
    static const struct slice path = SLICE("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews");
    struct slice body = rights_review(c->ns, c->a);
    struct ask_answer answer = {0};
    struct json doc;
    struct err e = {0};
    if (!ask_post(&c->ask, path, body, c->a, &answer, NULL, &e) || answer.code >= 300 || !json_parse(&doc, answer.body, c->a, &e)) {
        check_say(c, CHECK_SKIP, NULL, "SelfSubjectRulesReview: %d %.*s%s", answer.code, SLICE_ARG(answer.message), e.text);
        return;
    }
    struct jval status = json_get(json_root(&doc), "status");
    struct slice missing;
    if (!missing_of(c, json_key(status, SLICE("resourceRules")), &missing, &e)) {
        check_say(c, CHECK_SKIP, NULL, "the operator's arguments are none that mobula install writes: %s", e.text);
        return;
    }
    bool incomplete = json_get_bool(status, "incomplete", false);
    if (slice_empty(missing))
        check_say(c, CHECK_PASS, NULL, "all rights of the operator's Roles are held in namespace %.*s", SLICE_ARG(c->ns));
    else
        check_say(c, incomplete ? CHECK_WARN : CHECK_FAIL,
                  c->ask.config->in_cluster
                      ? "mobula install --print --no-crds | kubectl apply -f - makes the Roles; the flags must be the operator's"
                      : "whoever makes the Role must have these rights: let an admin of the namespace apply it",
                  "not held in namespace %.*s: %.*s%s", SLICE_ARG(c->ns), SLICE_ARG(missing),
                  incomplete ? " (the server says that its answer is incomplete)" : "");
}
