/* Checks of the way to the API server and to what else must be reached: version, certificate, clock, proxy, DNS. */
#include <mobula/check.h>

#include <stdio.h>

enum { CERTIFICATE_DAYS = 30, SKEW_WARN_S = 5, SKEW_FAIL_S = 60, REACH_MS = 10 * 1000 };
static const int64_t DAY_US = 24LL * 3600 * 1000000;

/* ---- the API server ---- */

/* The remedy for a connection that failed, by the step that failed. */
static const char *remedy_of(enum err_code code)
{
    switch (code) {
    case ERR_DNS:
        return "the name has no address here: ask the name server of this machine, and its search list";
    case ERR_CONNECT:
    case ERR_TIMEOUT:
        return "nobody listens there, or a firewall, security group or NetworkPolicy stops it: open this address and port (mobula egress "
               "prints rules)";
    case ERR_PROXY:
        return "the proxy said no: allow this name there, or list it in NO_PROXY";
    case ERR_TLS_TRUST:
    case ERR_TLS_NAME:
        return "the certificate is not the one expected: a proxy that inspects TLS, a wrong certificate-authority, or a wrong clock";
    case ERR_TLS:
        return "docs/security.md lists what TLS servers must offer";
    case ERR_DENIED:
        return "the operator would refuse it, too: list it in --egress-allow";
    default:
        return NULL;
    }
}

void check_server(struct check *c)
{
    const struct kube_config *k = c->ask.config;
    struct ask_answer answer = {0};
    struct json doc;
    struct err e = {0};
    if (!ask_get(&c->ask, SLICE("/version"), NULL, c->a, &answer, &e)) {
        c->unreachable = true;
        check_say(c, CHECK_FAIL, remedy_of(e.code), "%.*s:%u (%.*s): %s", SLICE_ARG(k->host), k->port, SLICE_ARG(k->source), e.text);
        return;
    }
    if (answer.code == 401) {
        c->unreachable = true;
        check_say(c, CHECK_FAIL, "the token or client certificate is unknown to this server or has expired: get a new one", "401: %.*s",
                  SLICE_ARG(answer.message));
        return;
    }
    if (answer.code >= 300 || !json_parse(&doc, answer.body, c->a, &e)) {
        check_say(c, CHECK_FAIL, "something between here and the API server answers in its place", "/version: %d %.*s", answer.code,
                  SLICE_ARG(answer.message));
        return;
    }
    struct slice version = json_get_str(json_root(&doc), "gitVersion", c->a);
    bool old = health_minor(json_root(&doc), c->a) < HEALTH_OLDEST_MINOR;
    check_say(c, old ? CHECK_FAIL : CHECK_PASS, old ? "upgrade the cluster to Kubernetes 1.24 or later" : NULL, "%.*s at %.*s:%u (%.*s)",
              SLICE_ARG(version), SLICE_ARG(k->host), k->port, SLICE_ARG(k->source));
}

/* The end of a certificate's life, as a row. */
static void say_expiry(struct check *c, const char *what, struct slice name, int64_t expires_us)
{
    char text[TIME_TEXT_MAX];
    int64_t days = (expires_us - c->wall_us) / DAY_US;
    bool over = expires_us <= c->wall_us, soon = days < CERTIFICATE_DAYS;
    check_say(c,
              over   ? CHECK_FAIL
              : soon ? CHECK_WARN
                     : CHECK_PASS,
              over || soon ? "renew it" : NULL, "%s%.*s %s %.*s (%lld days)", what, SLICE_ARG(name), over ? "expired" : "expires",
              SLICE_ARG(time_format(expires_us, text)), (long long)days);
}

/* Reports TLS version, group, suite and kind of certificate of a connection. The row names a server without TLS 1.3, because
 * --tls-min-version 1.3 would exclude it. */
static void say_version(struct check *c, const char *const tls[4], const char *peer)
{
    if (!tls[0])
        return;
    bool old = strcmp(tls[0], "TLS 1.3") != 0;
    check_say(c, CHECK_PASS, NULL, "%s, %s, %s with the %s (certificate: %s)%s", tls[0], tls[1], tls[2], peer, tls[3],
              old ? ": it does not speak TLS 1.3, which mobula offered" : "");
}

void check_tls(struct check *c)
{
    const struct kube_config *k = c->ask.config;
    if (!k->tls)
        check_say(c, CHECK_WARN, "use an https:// server", "the API server is spoken to without TLS");
    else if (k->insecure)
        check_say(c, CHECK_WARN, "give its certificate-authority instead", "insecure-skip-tls-verify: whoever answers is believed");
    else if (!c->unreachable && c->ask.client && kube_client_stats(c->ask.client)->server_cert_expires_us != 0)
        say_expiry(c, "the API server's certificate", SLICE_NONE, kube_client_stats(c->ask.client)->server_cert_expires_us);
    if (k->tls && !c->unreachable && c->ask.client)
        say_version(c, kube_client_stats(c->ask.client)->tls, "API server");
}

void check_clock(struct check *c)
{
    struct ask_answer answer = {0};
    struct json doc;
    struct err e = {0};
    int64_t server_us;
    if (!ask_time(&c->ask, c->a, &server_us, &doc, &answer, &e)) {
        check_say(c, CHECK_SKIP, NULL, "the server does not tell its time (SelfSubjectReview: %d %s)", answer.code, e.text);
        return;
    }
    int64_t skew_s = (clock_now().wall_us - server_us) / 1000000;
    int64_t by = skew_s < 0 ? -skew_s : skew_s;
    check_say(c,
              by > SKEW_FAIL_S   ? CHECK_FAIL
              : by > SKEW_WARN_S ? CHECK_WARN
                                 : CHECK_PASS,
              by > SKEW_WARN_S ? "set one of the two clocks by NTP: tokens, certificates and leases depend on them" : NULL,
              "this clock is %lld s %s the API server's; we are \"%.*s\" there", (long long)by, skew_s < 0 ? "behind" : "ahead of",
              SLICE_ARG(json_get_str(json_root(&doc), "status.userInfo.username", c->a)));
}

/* ---- proxies ---- */

void check_proxy(struct check *c)
{
    const struct kube_config *k = c->ask.config;
    const struct net_proxies p = net_proxies_environment();
    struct net_proxy proxy;
    struct err e = {0};
    bool use = false;
    if (k->use_proxy)
        check_say(c, CHECK_PASS, NULL, "the API server is reached through the proxy %.*s:%u", SLICE_ARG(k->proxy.host), k->proxy.port);
    if (!slice_empty(p.table))
        check_say(c, CHECK_PASS, NULL, "MOBULA_PROXIES is asked first: --reach shows what it makes of a destination");
    if (slice_empty(p.https)) {
        check_say(c, CHECK_PASS, NULL, "HTTPS_PROXY is not set: names are connected to directly");
        return;
    }
    if (!net_proxy_for(&p, SLICE("example.com"), NET_ALLOW_PORT, c->a, &proxy, &use, &e)) {
        check_say(c, CHECK_FAIL, "correct the variable", "%s", e.text);
        return;
    }
    check_say(c, CHECK_PASS, NULL, "HTTPS_PROXY is %s", use ? "used for other names than those of NO_PROXY" : "overruled by NO_PROXY");
    if (k->use_proxy && net_is_ip(k->host) && !slice_has(p.none, k->host.ptr))
        check_say(c, CHECK_WARN, "add the cluster's addresses to NO_PROXY",
                  "the API server has an address, and NO_PROXY lists no network with it: watches end when the proxy closes idle tunnels");
}

/* ---- names and places ---- */

struct probe {
    struct link_owner owner;
    bool over;
};

static void on_link(struct link_owner *owner, struct link *l, struct now now)
{
    struct probe *p = (struct probe *)owner;
    (void)now;
    p->over = l->state != LINK_OPENING;
}

/* Opens a connection, through the proxy where there is one, and closes it. *tls is as in struct link. */
static bool probe(struct check *c, const struct endpoint *to, const char *tls[4], struct err *e)
{
    struct probe p = {.owner.step = on_link};
    struct now now = clock_now();
    struct net *net = loop_net(c->ask.loop);
    struct link *l = net_open(net, to, &p.owner, now.mono_ms + REACH_MS, e);
    if (!l)
        return false;
    while (!p.over) {
        now = loop_wait(c->ask.loop, now.mono_ms + REACH_MS);
        net_dispatch(net, now);
    }
    bool well = l->state != LINK_FAILED;
    if (!well)
        *e = l->error;
    memcpy(tls, l->tls, sizeof l->tls);
    link_close(l);
    return well;
}

void check_dns(struct check *c)
{
    struct slice name = arena_printf(c->a, "kubernetes.default.svc.%.*s", SLICE_ARG(c->o->cluster_domain));
    const char *tls[4];
    struct err e = {0};
    if (!c->ask.config->in_cluster) {
        check_say(c, CHECK_SKIP, NULL, "names of services have addresses in pods only: run it in a pod of the cluster to check them");
        return;
    }
    if (!net_allow_add(c->ask.allow, name, NET_ALLOW_PORT, "mobula check", &e) ||
        !probe(c, &(struct endpoint){.host = name, .port = NET_ALLOW_PORT}, tls, &e))
        check_say(c, CHECK_FAIL, remedy_of(e.code), "%.*s: %s", SLICE_ARG(name), e.text);
    else
        check_say(c, CHECK_PASS, NULL, "%.*s has an address, and answers", SLICE_ARG(name));
}

void check_place(struct check *c, struct slice text, struct slice host, uint16_t port, const struct net_proxies *proxies,
                 struct tls_trust *trust)
{
    struct net_proxy proxy = {0};
    const char *tls[4];
    struct err e = {0};
    bool use = false;
    bool well = net_allow_add(c->ask.allow, host, port, "--reach", &e) && net_proxy_for(proxies, host, port, c->a, &proxy, &use, &e);
    const struct endpoint to = {.host = host, .port = port, .proxy = use ? &proxy : NULL, .tls = trust != NULL, .trust = trust};
    well = well && (!use || net_allow_add(c->ask.allow, proxy.host, proxy.port, "HTTPS_PROXY or MOBULA_PROXIES", &e)) &&
           probe(c, &to, tls, &e);
    if (well)
        check_say(c, CHECK_PASS, NULL, "%.*s: a connection opens%s%s%.*s", SLICE_ARG(text),
                  trust ? " with a certificate that is trusted" : "", use ? " through the proxy " : "", SLICE_ARG(proxy.host));
    else
        check_say(c, CHECK_FAIL, remedy_of(e.code), "%.*s: %s", SLICE_ARG(text), e.text);
    if (well && trust)
        say_version(c, tls, "control plane");
}

static void reach_one(struct check *c, struct slice item)
{
    const struct net_proxies p = net_proxies_environment();
    struct slice host;
    uint16_t port = 0;
    if (net_place(item, &host, &port))
        check_place(c, item, host, port, &p, NULL);
    else
        check_say(c, CHECK_FAIL, "name it as HOST or HOST:PORT", "%.*s: want HOST or HOST:PORT", SLICE_ARG(item));
}

void check_reach(struct check *c)
{
    struct slice rest = c->o->reach;
    while (!slice_empty(rest))
        reach_one(c, slice_trim(slice_cut(&rest, ',')));
}

/* ---- certificates in Secrets ---- */

/* The first certificate of a PEM text, which is the server's own. */
static bool read_pem(struct slice pem, struct tls_leaf *leaf, struct err *e)
{
    static const char begin[] = "-----BEGIN CERTIFICATE-----", end[] = "-----END CERTIFICATE-----";
    __attribute__((cleanup(buf_free))) struct buf der;
    buf_init(&der, MIB);
    ptrdiff_t from = slice_find_text(pem, begin);
    pem = from < 0 ? SLICE_NONE : slice_skip(pem, (size_t)from + strlen(begin));
    ptrdiff_t to = slice_find_text(pem, end);
    if (to < 0)
        return err_set(e, ERR_SYNTAX, "no certificate in PEM form");
    return base64_decode(slice_head(pem, (size_t)to), &der, e) && tls_leaf_read(buf_slice(&der), SLICE("localhost"), leaf, e);
}

void check_secret_item(struct check *c, void *state, struct jval secret)
{
    struct slice name = json_get_str(secret, "metadata.name", c->a);
    struct tls_leaf leaf;
    struct err e = {0};
    __attribute__((cleanup(buf_free))) struct buf pem;
    buf_init(&pem, MIB);
    (void)state;
    if (!base64_decode(json_str(json_key(json_key(secret, SLICE("data")), SLICE("tls.crt")), c->a), &pem, &e) ||
        !read_pem(buf_slice(&pem), &leaf, &e))
        check_say(c, CHECK_WARN, "create the Secret again", "Secret %.*s: tls.crt: %s", SLICE_ARG(name), e.text);
    else
        say_expiry(c, "the certificate in Secret ", name, leaf.not_after_us);
}

void check_certificates(struct check *c)
{
    __attribute__((cleanup(buf_free))) struct buf path;
    buf_init(&path, LIMIT_HTTP_URL);
    kube_path(&path, &kube_secrets, c->ns, SLICE_NONE, SLICE_NONE);
    kube_query(&path, "fieldSelector", SLICE("type=kubernetes.io/tls"));
    check_list(c, buf_slice(&path), check_secret_item, NULL);
}
