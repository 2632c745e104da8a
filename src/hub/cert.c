/* The certificate of the API. It is given (hub_certify), or kept here: a CA of our own in one Secret, the server's certificate by it in
 * another, and the CA's certificate, which operators need, in a ConfigMap. All three are read every minute. What is missing or will end
 * soon is written, one object at a time, as a create or an update of the version that was read: of several replicas one writes, and the
 * others find what it has written. */
#include "private.h"

enum { TEXT_MAX = LIMIT_TLS_PEM, SOON_MS = 200, TROUBLE_MS = 5 * 1000 };
#define MADE_BY "mobula-control-plane"

enum part_name { PART_TLS, PART_CA, PART_PUBLIC, PARTS };

/* One of the three objects, as it was read. */
struct part {
    struct slice name;
    bool there, ours;
    char version[32];
    struct buf cert, key, ca;
};

struct keeper {
    struct part part[PARTS];
    uint32_t pending;
    int64_t next_ms;
    bool looking;
    struct err trouble, said; /* of this look; of the last look that had one: /readyz says it */
    struct log_limit log;
};

static const struct {
    const struct kube_resource *resource;
    const char *kind, *members, *type;
    const char *cert, *key; /* names of the data; NULL: none */
} parts[PARTS] = {
    [PART_TLS] = {&kube_secrets, "Secret", "stringData", "kubernetes.io/tls", "tls.crt", "tls.key"},
    [PART_CA] = {&kube_secrets, "Secret", "stringData", "Opaque", NULL, "ca.key"},
    [PART_PUBLIC] = {&kube_configmaps, "ConfigMap", "data", "", NULL, NULL},
};

/* ---- the certificate that is used ---- */

bool hub_certify(struct hub *h, struct slice cert, struct slice key, struct slice ca, struct err *e)
{
    uint64_t what = hash64(key, hash64(cert, hash64(ca, 1)));
    struct tls_leaf leaf;
    char end[TIME_TEXT_MAX];
    if (h->tls.identity && what == h->tls.certified)
        return true;
    struct tls_identity *id = tls_identity_load(cert, key, e);
    if (!id)
        return false;
    tls_identity_drop(h->tls.identity);
    h->tls.identity = id;
    h->tls.certified = what;
    tls_mac(key, SLICE("mobula.dev/credential"), h->secret);
    buf_clear(&h->tls.trusted);
    buf_put(&h->tls.trusted, cert);
    buf_put(&h->tls.trusted, ca);
    if (!tls_identity_leaf(id, SLICE("localhost"), &leaf))
        return true;
    struct slice names = slice_of(leaf.first_name), first = slice_cut(&names, ',');
    slice_copy(first, h->tls.name, sizeof h->tls.name);
    if (h->tls.name[0] == '*')
        h->tls.name[0] = 'x'; /* any name that the wildcard is for */
    log_info("the server's certificate was read", LF_CSTR("names", leaf.first_name), LF_CSTR("issuer", leaf.issuer),
             LF("ends", time_format(leaf.not_after_us, end)));
    return true;
}

struct tls_identity *const *hub_identity(const struct hub *h)
{
    return &h->tls.identity;
}

/* ---- reading ---- */

static void forget(struct keeper *k)
{
    for (int i = 0; i < PARTS; i++) {
        struct part *p = &k->part[i];
        buf_wipe(&p->cert);
        buf_wipe(&p->key);
        buf_wipe(&p->ca);
        p->there = p->ours = false;
    }
}

/* A value that is no base64 counts as missing. A server's certificate of our own is then made again; of any other the error tells. */
static void read_data(struct jval object, const char *name, bool encoded, struct buf *to, struct arena *a)
{
    if (encoded)
        kube_secret_data(object, name, true, to, a, NULL);
    else
        buf_put(to, json_str(json_child(json_get(object, "data"), name), a));
}

static void read_part(struct hub *h, enum part_name i, struct slice body)
{
    struct part *p = &h->tls.keeper->part[i];
    struct jval object;
    bool secret = parts[i].key != NULL;
    if (!json_read(&object, body, &h->event, &h->tls.keeper->trouble))
        return;
    p->there = true;
    p->ours = json_is(json_child(json_get(object, "metadata.labels"), "app.kubernetes.io/managed-by"), MADE_BY);
    slice_copy(json_get_str(object, "metadata.resourceVersion", &h->event), p->version, sizeof p->version);
    read_data(object, "ca.crt", secret, &p->ca, &h->event);
    if (parts[i].cert)
        read_data(object, parts[i].cert, secret, &p->cert, &h->event);
    if (secret)
        read_data(object, parts[i].key, secret, &p->key, &h->event);
}

static void trouble(struct hub *h, enum part_name i, const char *what, const struct kube_answer *a)
{
    err_set(&h->tls.keeper->trouble, ERR_STATUS, "%s %.*s cannot be %s: %s", parts[i].kind, SLICE_ARG(h->tls.keeper->part[i].name), what,
            a->outcome == KUBE_REFUSED ? a->status.message : a->err.text);
}

/* ---- writing ---- */

static void written(struct hub *h, struct call *c, void *about, const struct kube_answer *a)
{
    struct keeper *k = h->tls.keeper;
    enum part_name i = (enum part_name)((struct part *)about - k->part);
    (void)c;
    k->looking = false;
    k->next_ms = h->now.mono_ms + SOON_MS; /* also when another replica was first */
    if (a->outcome == KUBE_OK)
        log_info("an object of the control plane's certificate was written", LF_CSTR("kind", parts[i].kind), LF("name", k->part[i].name));
    else if (a->outcome != KUBE_REFUSED || a->status.code != 409)
        trouble(h, i, "written", a);
}

static void write_part(struct hub *h, enum part_name i, struct slice cert, struct slice key, struct slice ca)
{
    struct part *p = &h->tls.keeper->part[i];
    struct jout w;
    buf_clear(&h->body);
    jout_init(&w, &h->body);
    jout_form(&w,
              "{apiVersion:'v1',kind:'%s',metadata:{name:'%.*s',resourceVersion?:'%s',labels:{%s:'" MADE_BY "',%s:'" MADE_BY
              "'}},type?:'%s',%s:{%s:'%.*s'",
              parts[i].kind, SLICE_ARG(p->name), p->there ? p->version : "", "app.kubernetes.io/name", "app.kubernetes.io/managed-by",
              parts[i].type, parts[i].members, "ca.crt", SLICE_ARG(ca));
    if (parts[i].cert)
        jout_kstr(&w, parts[i].cert, cert);
    if (parts[i].key)
        jout_kstr(&w, parts[i].key, key);
    jout_end(&w);
    jout_end(&w);
    struct kube_request r = {
        .method = p->there ? SLICE("PUT") : SLICE("POST"),
        .path = hub_path(h, parts[i].resource, h->o.cert.ns, p->there ? p->name : SLICE_NONE, SLICE_NONE),
        .content_type = SLICE(KUBE_TYPE_JSON),
        .body = buf_slice(&h->body),
        .secret = true,
    };
    h->tls.keeper->looking = true;
    hub_ask(h, NULL, &r, written, p);
    mem_wipe(h->body.ptr, h->body.cap);
    buf_clear(&h->body);
}

/* Issues the server's certificate, or a CA: a new one, or one that renews the old, which stays behind it. */
static void issue(struct hub *h, enum part_name i, const struct tls_identity *old)
{
    struct buf cert, key;
    struct err *e = &h->tls.keeper->trouble;
    const struct part *is = &h->tls.keeper->part[PART_CA];
    struct slice ca = buf_slice(&is->ca), ca_key = buf_slice(&is->key);
    struct tls_issue o = {.names = h->o.cert.names, .name_count = h->o.cert.name_count};
    buf_init(&cert, TEXT_MAX);
    buf_init(&key, TEXT_MAX);
    if (i == PART_TLS && tls_issue_by(ca, ca_key, &o, h->now.wall_us, &cert, &key, e)) {
        write_part(h, i, buf_slice(&cert), buf_slice(&key), ca);
    } else if (i == PART_CA && tls_issue_ca(old, NULL, h->now.wall_us, &cert, &key, e)) {
        buf_put(&cert, ca);
        write_part(h, i, SLICE_NONE, old ? ca_key : buf_slice(&key), buf_slice(&cert));
    }
    buf_wipe(&cert);
    buf_wipe(&key);
}

/* ---- deciding ---- */

/* Whether the server's certificate is kept: it is for all names, and not due. */
static bool is_server_good(struct hub *h, int64_t ca_ends_us)
{
    struct part *p = &h->tls.keeper->part[PART_TLS];
    struct slice ca = buf_slice(&h->tls.keeper->part[PART_CA].ca), cert = buf_slice(&p->cert);
    struct tls_identity *id = tls_identity_load(cert, buf_slice(&p->key), NULL);
    struct tls_leaf leaf = {.not_after_us = 0};
    bool good = id && slice_eq(buf_slice(&p->ca), ca);
    for (uint32_t i = 0; good && i < h->o.cert.name_count; i++)
        good = tls_identity_for(id, h->o.cert.names[i], &leaf);
    tls_identity_drop(id);
    return good && !tls_issue_due(cert, &leaf, ca, ca_ends_us, h->now.wall_us);
}

/* False: the CA cannot sign (the trouble of this look). */
static bool keep_certificate(struct hub *h, const struct tls_identity *ca)
{
    struct keeper *k = h->tls.keeper;
    struct part *public = &k->part[PART_PUBLIC];
    struct slice text = buf_slice(&k->part[PART_CA].ca);
    int64_t ends_us = INT64_MAX;
    if (k->part[PART_CA].ours && tls_ca_due(ca, h->now.wall_us))
        issue(h, PART_CA, ca);
    else if (!tls_identity_valid(ca, true, h->now.wall_us, &ends_us, &k->trouble))
        return false;
    else if (!is_server_good(h, ends_us))
        issue(h, PART_TLS, NULL);
    else if (!public->there || (public->ours && !slice_eq(buf_slice(&public->ca), text)))
        write_part(h, PART_PUBLIC, SLICE_NONE, SLICE_NONE, text);
    return true;
}

static void decide(struct hub *h)
{
    struct keeper *k = h->tls.keeper;
    struct part *p = &k->part[PART_TLS], *is = &k->part[PART_CA];
    struct err unusable = {0};
    if (p->there)
        hub_certify(h, buf_slice(&p->cert), buf_slice(&p->key), buf_slice(&p->ca), &unusable);
    if (p->there && !p->ours) {
        if (unusable.code)
            err_set(&k->trouble, unusable.code, "Secret %.*s: %s", SLICE_ARG(p->name), unusable.text);
        return;
    }
    if (!is->there) {
        issue(h, PART_CA, NULL);
        return;
    }
    struct tls_identity *ca = tls_identity_load(buf_slice(&is->ca), buf_slice(&is->key), &k->trouble);
    if (!ca || !keep_certificate(h, ca))
        err_wrap(&k->trouble, "Secret %.*s, which holds the CA", SLICE_ARG(is->name));
    tls_identity_drop(ca);
}

static void say_trouble(struct hub *h)
{
    struct keeper *k = h->tls.keeper;
    if (k->trouble.code && log_limit_pass(&k->log, h->now))
        log_warn("the control plane's certificate cannot be read or renewed", LF_CSTR("error", k->trouble.text),
                 LF_CSTR("action", h->tls.identity ? "the one in use stays" : "no connection is accepted without one"));
}

static void on_read(struct hub *h, struct call *c, void *about, const struct kube_answer *a)
{
    struct keeper *k = h->tls.keeper;
    enum part_name i = (enum part_name)((struct part *)about - k->part);
    (void)c;
    if (a->outcome == KUBE_OK)
        read_part(h, i, a->body);
    else if (a->outcome != KUBE_REFUSED || a->status.code != 404)
        trouble(h, i, "read", a);
    if (--k->pending)
        return;
    k->looking = false;
    k->next_ms = h->now.mono_ms + HUB_CERT_LOOK_MS;
    if (!k->trouble.code)
        decide(h);
    forget(k);
}

static void look(struct hub *h)
{
    struct keeper *k = h->tls.keeper;
    k->looking = true;
    k->pending = PARTS;
    k->trouble = (struct err){0};
    for (int i = 0; i < PARTS; i++) {
        struct kube_request r = {.method = SLICE("GET"),
                                 .path = hub_path(h, parts[i].resource, h->o.cert.ns, k->part[i].name, SLICE_NONE),
                                 .again = true,
                                 .secret = true};
        hub_ask(h, NULL, &r, on_read, &k->part[i]);
    }
}

int64_t hub_cert_tick(struct hub *h)
{
    struct keeper *k = h->tls.keeper;
    if (!k || k->looking)
        return TIME_NEVER;
    if (k->trouble.code) {
        say_trouble(h);
        k->next_ms = h->now.mono_ms + TROUBLE_MS;
        k->said = k->trouble;
        k->trouble = (struct err){0};
    }
    if (h->now.mono_ms >= k->next_ms)
        look(h);
    return k->looking ? TIME_NEVER : k->next_ms;
}

void hub_cert_renew(struct hub *h)
{
    if (h->tls.keeper)
        h->tls.keeper->next_ms = 0;
}

bool hub_cert_ready(const struct hub *h, struct buf *why)
{
    if (!h->tls.keeper || h->tls.identity)
        return true;
    buf_printf(why, "certificate: %s\n", h->tls.keeper->said.code ? h->tls.keeper->said.text : "there is none yet");
    return false;
}

void hub_cert_start(struct hub *h)
{
    const struct hub_cert *o = &h->o.cert;
    if (slice_empty(o->secret))
        return;
    struct keeper *k = h->tls.keeper = mem_alloc(sizeof *k);
    for (int i = 0; i < PARTS; i++) {
        struct buf *all[] = {&k->part[i].cert, &k->part[i].key, &k->part[i].ca};
        for (size_t n = 0; n < COUNT_OF(all); n++)
            buf_init(all[n], TEXT_MAX);
    }
    k->part[PART_TLS].name = o->secret;
    k->part[PART_CA].name = o->ca_secret;
    k->part[PART_PUBLIC].name = SLICE(HUB_CA_CONFIGMAP);
}

void hub_cert_free(struct hub *h)
{
    if (h->tls.keeper)
        forget(h->tls.keeper);
    mem_free(h->tls.keeper);
    tls_identity_drop(h->tls.identity);
    buf_free(&h->tls.trusted);
    mem_wipe(h->secret, sizeof h->secret);
}
