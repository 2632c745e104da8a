/* Changes of an installation as a whole, against canned answers. tests/e2e/test_apply.py has them against a real API server. */
#include "asked.h"

/* An answer to requests whose first line has this in it. */
#define TO(path, status, body)                                                                                                             \
    {                                                                                                                                      \
        .bytes = SLICE("HTTP/1.1 " status "\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n" body), .to = (path)            \
    }
#define EMPTY(path) TO(path, "200 OK", "{\"items\":[]}")
#define ABSENT                                                                                                                             \
    CANNED_HTTP("404 Not Found", "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"NotFound\",\"message\":\"none\",\"code\":404}")
#define LISTS EMPTY("?labelSelector")
#define NAMESPACE TO("GET /api/v1/namespaces/ray HTTP", "200 OK", "{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"ray\"}}")
#define DEPLOYMENT                                                                                                                         \
    TO("GET /apis/apps/v1/namespaces/ray/deployments/mobula", "200 OK",                                                                    \
       "{\"metadata\":{\"resourceVersion\":\"5\",\"uid\":\"u\",\"labels\":{\"app.kubernetes.io/"                                           \
       "name\":\"mobula\"}},\"spec\":{\"template\":"                                                                                       \
       "{\"spec\":{\"containers\":[{\"args\":[\"operator\"]}]}}},\"status\":{\"readyReplicas\":1}}")

static const struct uninstall_options usual = {.ns = SLICE("ray"), .kinds = SLICE("ray.io"), .timeout_ms = 20 * 1000};

static bool uninstalls(struct asked *k, struct apply *p, struct uninstall_options o, struct err *e)
{
    *p = (struct apply){.ask = &k->ask, .say = asked_say, .note = asked_note, .a = &k->a, .spares = true, .installation = o.ns};
    *e = (struct err){0};
    return uninstall_apply(&o, p, e);
}

static void uninstall(void)
{
    static const struct canned_answer none[] = {ABSENT, LISTS};
    static const struct canned_answer work[] = {ABSENT,
                                                LISTS,
                                                DEPLOYMENT,
                                                EMPTY("/cluster.ray.io/"),
                                                TO("/rayclusters?", "200 OK", "{\"items\":[{\"metadata\":{\"name\":\"a\"}}]}"),
                                                EMPTY("?limit=")};
    static const struct canned_answer blind[] = {ABSENT, LISTS, TO("?limit=", "403 Forbidden", "{}")};
    struct asked k;
    struct apply p;
    struct err e;
    test_case("nothing is installed");
    asked_open(&k, none, COUNT_OF(none));
    if (!CHECK(uninstalls(&k, &p, usual, &e)))
        printf("  %s\n", e.text);
    CHECK_STR(buf_slice(&k.said), "note: no installation in namespace ray: there was nothing to delete\n");
    asked_close(&k);
    test_case("work that would be left without an operator");
    asked_open(&k, work, COUNT_OF(work));
    CHECK(!uninstalls(&k, &p, usual, &e));
    CHECK_STR(slice_of(e.text),
              "nothing was deleted: --purge deletes that first, --leave-work leaves it without anything that looks after it");
    CHECK_INT(p.failed, 1);
    CHECK_STR(p.failures[0], "namespace ray: 1 RayCluster left");
    CHECK(!strstr(k.server.heard, "DELETE"));
    asked_close(&k);
    test_case("--leave-work: the finalizers of work that may not be changed");
    struct uninstall_options leave = usual;
    leave.leave_work = true;
    asked_open(&k, blind, COUNT_OF(blind));
    if (!CHECK(uninstalls(&k, &p, leave, &e)))
        printf("  %s\n", e.text);
    CHECK(slice_starts(buf_slice(&k.said),
                       SLICE("note: --leave-work: finalizers may be left in namespace ray, and deletions there wait for")));
    asked_close(&k);
}

/* ---- mobula install --apply ---- */

#define MANIFEST "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mobula-x, namespace: ray, labels: {app.kubernetes.io/name: mobula}}\n"
#define MADE "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"mobula-x\",\"namespace\":\"ray\",\"resourceVersion\":\"1\"}}"

static bool reads(struct asked *k, struct apply *p, struct install_change *c, struct install_options *o, struct err *e)
{
    *o = install_defaults;
    o->ns = SLICE("ray");
    o->timeout_ms = 20 * 1000;
    *p = (struct apply){.ask = &k->ask, .say = asked_say, .note = asked_note, .a = &k->a, .keeps_flags = true};
    *e = (struct err){0};
    return install_change_read(c, p, o, SLICE(MANIFEST), e);
}

static void install(void)
{
    static const struct canned_answer fresh[] = {ABSENT,
                                                 LISTS,
                                                 NAMESPACE,
                                                 TO("PATCH /api/v1/namespaces/ray/configmaps/mobula-x", "201 Created", MADE),
                                                 TO("POST /api/v1/namespaces/ray/secrets", "201 Created", "{}"),
                                                 TO("PATCH /api/v1/namespaces/ray/secrets", "201 Created", "{}")};
    static const struct canned_answer blind[] = {ABSENT, LISTS, NAMESPACE,
                                                 TO("PATCH /api/v1/namespaces/ray/configmaps/mobula-x", "201 Created", MADE),
                                                 TO("/secrets", "403 Forbidden", "{}")};
    static const struct canned_answer refuses[] = {ABSENT, LISTS, NAMESPACE,
                                                   TO("PATCH /api/v1/namespaces/ray/configmaps/mobula-x", "403 Forbidden", "{}")};
    struct asked k;
    struct apply p;
    struct err e;
    struct install_options o;
    static struct install_change c;
    test_case("a first installation: nothing is changed until it was tried and recorded");
    asked_open(&k, fresh, COUNT_OF(fresh));
    if (!CHECK(reads(&k, &p, &c, &o, &e)))
        printf("  %s\n", e.text);
    CHECK_STR(p.installation, "ray");
    CHECK_INT(c.gone.count, 0);
    if (!CHECK(install_change_apply(&c, &p, &o, &e)))
        printf("  %s\n", e.text);
    CHECK(p.list[0].changed);
    ask_close(&k.ask);
    k.ask = (struct ask){0};
    const char *tried = strstr(k.server.heard, "PATCH /api/v1/namespaces/ray/configmaps/mobula-x?fieldManager=mobula&dryRun=All "),
               *recorded = strstr(k.server.heard, "PATCH /api/v1/namespaces/ray/secrets/mobula-revisions?"),
               *made = strstr(k.server.heard, "PATCH /api/v1/namespaces/ray/configmaps/mobula-x?fieldManager=mobula ");
    CHECK(tried && recorded && made && tried < recorded && recorded < made);
    CHECK_STR(buf_slice(&k.said), "ConfigMap/mobula-x in ray created\n");
    asked_close(&k);
    test_case("without the right to Secrets a note says that the revision is not recorded");
    asked_open(&k, blind, COUNT_OF(blind));
    CHECK(reads(&k, &p, &c, &o, &e) && install_change_apply(&c, &p, &o, &e));
    CHECK_STR(buf_slice(&k.said),
              "note: this revision is not recorded, and mobula rollback cannot come back to it: Secret mobula-revisions: "
              "HTTP 403 Forbidden\nConfigMap/mobula-x in ray created\n");
    asked_close(&k);
    test_case("a change that is refused in the dry run");
    asked_open(&k, refuses, COUNT_OF(refuses));
    CHECK(!reads(&k, &p, &c, &o, &e) && p.failed == 1 && !p.list[0].changed);
    CHECK(strstr(k.server.heard, "dryRun=All") && !strstr(k.server.heard, "fieldManager=mobula {") && k.said.len == 0);
    asked_close(&k);
}

int main(void)
{
    uninstall();
    install();
    return test_done();
}
