/* Checks of the operator: its Deployment and KubeRay's, what its arguments let it contact, its control plane, its sandbox. */
#include <mobula/check.h>
#include <mobula/command.h>
#include <mobula/release.h>

/* ---- its arguments ---- */

struct slice check_argument(const struct check *c, const char *flag)
{
    return inventory_argument(c->args, flag, false, c->a);
}

/* A variable of its environment, as the Deployment gives it. */
static struct slice environment_value(const struct check *c, const char *name)
{
    struct jval list = json_get(json_at(json_get(c->deployment, "spec.template.spec.containers"), 0), "env");
    return json_get_str(list_find(list, "name", slice_of(name)), "value", c->a);
}

/* ---- operators ---- */

static void on_kuberay(struct check *c, void *state, struct jval deployment)
{
    (void)state;
    if (json_get_int(deployment, "spec.replicas", 1) > 0)
        check_say(c, CHECK_WARN, "two operators must not look after one cluster: scale it to 0, or give each namespaces of its own",
                  "KubeRay's operator is installed: Deployment %.*s in namespace %.*s",
                  SLICE_ARG(json_get_str(deployment, "metadata.name", c->a)),
                  SLICE_ARG(json_get_str(deployment, "metadata.namespace", c->a)));
}

/* A place that --reach names is as a rule for nodes or people, a registry for one. So a place that the operator may not contact is no
 * fault. */
static void hold_against(struct check *c, const struct net_allow *allow)
{
    struct slice host;
    uint16_t port;
    for (struct slice rest = c->o->reach; !slice_empty(rest);) {
        struct slice item = slice_trim(slice_cut(&rest, ','));
        if (net_place(item, &host, &port) && !net_allow_check(allow, host, port, NULL)) /* check_reach reports a text that is no place */
            check_say(c, CHECK_PASS, "mobula install --egress-allow=HOST:PORT,... where the operator itself has to",
                      "%.*s is not on the operator's allowlist: right where only nodes or people go there", SLICE_ARG(item));
    }
}

void check_allowlist(struct check *c)
{
    struct net_allow *allow = net_allow_new();
    struct jval key, arg;
    struct err e = {0};
    struct slice host;
    uint16_t port;
    uint32_t entries = 0;
    if (cli_plane_url(check_argument(c, "--control-plane-url"), &host, &port, NULL))
        net_allow_add(allow, host, port, "--control-plane-url", NULL);
    for (struct jiter it = json_iter(c->args); json_next(&it, &key, &arg);) {
        struct slice text = json_str(arg, c->a);
        if (!slice_starts(text, SLICE("--egress-allow=")))
            continue;
        for (text = slice_skip(text, strlen("--egress-allow=")); !slice_empty(text); entries++)
            net_allow_text(allow, slice_trim(slice_cut(&text, ',')), false, "--egress-allow", &e);
    }
    if (e.code != ERR_NONE)
        check_say(c, CHECK_FAIL, "mobula install --egress-allow=HOST:PORT,... sets it", "the operator's allowlist: %s", e.text);
    else if (entries > 0)
        check_say(c, CHECK_PASS, NULL, "the operator may contact %u places beside the API server, heads and control plane", entries);
    hold_against(c, allow);
    net_allow_free(allow);
}

/* Says how many of its pods are ready, if it is there. */
static bool get_deployment(struct check *c, const char *name, struct slice ns, struct jval *deployment, bool *absent)
{
    struct slice path = arena_printf(c->a, "/apis/apps/v1/namespaces/%.*s/deployments/%s", SLICE_ARG(ns), name);
    if (!check_get(c, path, deployment, absent))
        return false;
    int64_t want = json_get_int(*deployment, "spec.replicas", 1), ready = json_get_int(*deployment, "status.readyReplicas", 0);
    check_say(c, ready < want ? CHECK_FAIL : CHECK_PASS,
              ready < want ? "kubectl describe pods -l app.kubernetes.io/name=NAME, and kubectl logs, say why" : NULL,
              "Deployment %s in namespace %.*s: %lld of %lld ready", name, SLICE_ARG(ns), (long long)ready, (long long)want);
    return true;
}

/* A Deployment with the operator's labels and another name: the rest of the manifests holds the name that they were printed with. */
static void on_renamed(struct check *c, void *state, struct jval deployment)
{
    *(bool *)state = true;
    struct slice name = json_get_str(deployment, "metadata.name", c->a), ns = json_get_str(deployment, "metadata.namespace", c->a);
    check_say(c, CHECK_FAIL, "apply the manifests as mobula install --print writes them, and remove these: kubectl delete -k FOLDER",
              "the operator's Deployment in namespace %.*s is called %.*s, as by kustomize's namePrefix or nameSuffix: the admission "
              "policy does not restrict its account, and upgrade, rollback and uninstall do not find it",
              SLICE_ARG(ns), SLICE_ARG(name));
}

static bool look_for_renamed(struct check *c, struct slice ns)
{
    bool renamed = false;
    check_list(
        c, arena_printf(c->a, "/apis/apps/v1/namespaces/%.*s/deployments?labelSelector=app.kubernetes.io%%2Fname%%3Dmobula", SLICE_ARG(ns)),
        on_renamed, &renamed);
    return renamed;
}

/* The operator's Deployment is looked for where the clusters are, then in namespace mobula; --operator-namespace names another one. A
 * control plane may be there beside it. */
void check_operators(struct check *c)
{
    struct jval deployment, plane;
    bool absent;
    struct slice usual = c->operator_ns, ns = slice_empty(c->o->operator_ns) ? c->ns : usual;
    bool found = get_deployment(c, "mobula", ns, &deployment, &absent), none;
    bool hub = (found || absent) && get_deployment(c, "mobula-control-plane", ns, &plane, &none);
    if (absent && !slice_eq(ns, usual))
        found = get_deployment(c, "mobula", ns = usual, &deployment, &absent);
    if (found) {
        c->operator_ns = ns;
        c->deployment = deployment;
        c->args = inventory_arguments(deployment);
        check_allowlist(c);
    } else if (absent && !hub && !look_for_renamed(c, ns))
        check_say(c, CHECK_SKIP, "mobula install --print --create-namespace | kubectl apply --server-side -f -",
                  "no Deployment mobula in namespace %.*s; if it runs in another one, set --operator-namespace", SLICE_ARG(ns));
    check_list(c, SLICE("/apis/apps/v1/deployments?labelSelector=app.kubernetes.io%2Fname%3Dkuberay-operator"), on_kuberay, NULL);
}

/* ---- its control plane ---- */

/* The certificates that the Deployment mounts for it. False: there is a row that says why there are none. */
static bool plane_trust(struct check *c, struct tls_trust **out)
{
    struct jval key, volume, source, map;
    struct err e = {0};
    uint32_t count, skipped;
    bool absent;
    __attribute__((cleanup(buf_free))) struct buf pem;
    buf_init(&pem, MIB);
    for (struct jiter it = json_iter(json_get(c->deployment, "spec.template.spec.volumes")); json_next(&it, &key, &volume);)
        for (struct jiter k = json_iter(json_get(volume, "projected.sources"));
             json_str_eq(json_key(volume, SLICE("name")), SLICE("control-plane")) && json_next(&k, &key, &source);) {
            struct jval from = json_key(source, SLICE("configMap"));
            struct slice name = json_get_str(from, "name", c->a);
            struct slice entry = json_get_str(json_at(json_key(from, SLICE("items")), 0), "key", c->a);
            struct slice path = arena_printf(c->a, "/api/v1/namespaces/%.*s/configmaps/%.*s", SLICE_ARG(c->operator_ns), SLICE_ARG(name));
            if (slice_empty(name))
                continue; /* a token's Secret */
            struct slice text =
                check_get(c, path, &map, &absent) ? json_str(json_key(json_key(map, SLICE("data")), entry), c->a) : SLICE_NONE;
            if (slice_empty(text)) {
                check_say(c, CHECK_FAIL, "kubectl create configmap NAME --from-file=KEY=FILE makes it: the operator's pod waits for it",
                          "ConfigMap %.*s with the CA of the control plane, key %.*s: there is none", SLICE_ARG(name), SLICE_ARG(entry));
                return false;
            }
            buf_put(&pem, text);
            buf_putc(&pem, '\n');
        }
    *out = pem.len ? tls_trust_load(buf_slice(&pem), &count, &skipped, &e) : NULL;
    if (e.code != ERR_NONE)
        check_say(c, CHECK_FAIL, "put the CA's certificate in PEM form there", "the CA of the control plane: %s", e.text);
    return e.code == ERR_NONE;
}

void check_plane(struct check *c)
{
    struct slice url = check_argument(c, "--control-plane-url"), host;
    const struct net_proxies proxies = {environment_value(c, "HTTPS_PROXY"), environment_value(c, "NO_PROXY"),
                                        environment_value(c, "MOBULA_PROXIES")};
    struct tls_trust *trust = NULL;
    uint16_t port;
    if (slice_empty(url) || !cli_plane_url(url, &host, &port, NULL))
        return; /* the operator runs without one, or does not start */
    if (!c->ask.config->in_cluster && (slice_ends(host, SLICE(".svc")) || slice_has(host, ".svc."))) {
        check_plane_service(c, host, port);
        check_cloud(c);
        return;
    }
    /* The kubelet fills in a user and a password (--proxy-secret), which are not read here; without them the proxy says no. */
    if (slice_has(proxies.https, "$(") || slice_has(proxies.table, "$("))
        check_say(c, CHECK_SKIP, "HTTPS_PROXY=http://USER:PASSWORD@PROXY:PORT mobula check --reach HOST:PORT tries it",
                  "%.*s: the user of the proxy to it is in a Secret, which is not read", SLICE_ARG(url));
    else if (plane_trust(c, &trust))
        check_place(c, url, host, port, &proxies, trust);
    check_cloud(c);
    tls_trust_drop(trust);
}

/* ---- its sandbox ---- */

void check_sandbox(struct check *c)
{
    const char *why = sandbox_impossible();
    struct slice flag = check_argument(c, "--sandbox");
    bool off = slice_eq(flag, SLICE("off"));
    check_say(c, off || why ? CHECK_WARN : CHECK_PASS,
              off   ? "take --sandbox=off out of the operator's arguments"
              : why ? "Linux 4.14 or later has what it needs; without it the operator runs all the same, and warns"
                    : NULL,
              "%s%s%s", off ? "the operator's flags turn its sandbox off; " : "",
              why ? "not possible on this machine: " : "possible on this machine", why ? why : "");
}
