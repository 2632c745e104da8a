/* Certificates of the host names of routes (--route-ca): a Secret for each owner, and a ReferenceGrant where a Gateway of another namespace
 * reads it. Both are read by name, at once for an owner that asks for another one and then every ROUTE_TLS_LOOK_MS, so that the operator
 * needs no watch of Secrets. An object is written only after it was read: created if it does not exist, replaced if it is ours and outdated
 * (the precondition is its resourceVersion). A Secret of another owner is only checked. */
#include "certificate.h"

#include <mobula/status.h>

enum { PEM_MAX = LIMIT_TLS_PEM, NAMES_MAX = 32, SOON_MS = 200 };

static const struct kube_resource grants = {SLICE("gateway.networking.k8s.io"), SLICE("v1beta1"), SLICE("referencegrants")};
static const struct {
    const struct kube_resource *resource;
    const char *kind;
} objects[] = {[TLS_SECRET] = {&kube_secrets, "Secret"}, [TLS_GRANT] = {&grants, "ReferenceGrant"}};

/* ---- state ---- */

int64_t certificates_look_ms(const struct op *op)
{
    int64_t all_ms = (int64_t)certificates_of(op)->by_owner.count * ROUTE_TLS_PACE_MS;
    return all_ms > ROUTE_TLS_LOOK_MS ? all_ms : ROUTE_TLS_LOOK_MS;
}

static struct route_tls *find(const struct op *op, const struct record *c)
{
    return slice_empty(op->o.route_ca) ? NULL : map_get(&certificates_of(op)->by_owner, slice_of(c->uid));
}

static void free_tls(struct op *op, struct route_tls *t)
{
    const struct istr *const held[] = {
        t->ns, t->name, t->hosts, t->field, t->gateway_ns, t->part[TLS_SECRET].trouble, t->part[TLS_GRANT].trouble};
    for (size_t i = 0; i < COUNT_OF(held); i++)
        intern_drop(&op->strings, held[i]);
    mem_free(t);
}

void route_tls_drop(struct op *op, const struct record *c)
{
    struct route_tls *t = find(op, c);
    if (t)
        free_tls(op, map_del(&certificates_of(op)->by_owner, slice_of(c->uid)));
}

void certificates_free(struct op *op, struct certificates *all)
{
    struct route_tls *t;
    for (uint32_t i = 0; all && (t = map_next(&all->by_owner, &i)) != NULL;)
        free_tls(op, t);
    if (!all)
        return;
    map_free(&all->by_owner);
    kube_ca_wipe(&all->ca.pem);
    intern_drop(&op->strings, all->ca.trouble);
    mem_free(all);
}

static void touch(struct op *op, const struct route_tls *t)
{
    struct record *c = record_get(op, slice_of(t->owner), istr_slice(t->ns));
    if (c)
        record_touch(op, c);
}

void certificates_touch(struct op *op)
{
    struct route_tls *t;
    for (uint32_t i = 0; (t = map_next(&certificates_of(op)->by_owner, &i)) != NULL;) {
        t->part[TLS_SECRET].again_ms = 0;
        touch(op, t);
    }
}

void route_tls_figures(const struct op *op, struct buf *b)
{
    const struct route_tls *t;
    int64_t first_us = INT64_MAX;
    if (slice_empty(op->o.route_ca))
        return;
    for (uint32_t i = 0; (t = map_next(&certificates_of(op)->by_owner, &i)) != NULL;)
        first_us = t->ends_us && t->ends_us < first_us ? t->ends_us : first_us;
    const int64_t ends_us[] = {first_us, certificates_of(op)->ca.known ? certificates_of(op)->ca.ends_us : INT64_MAX};
    static const char *const of[] = {"hosts", "ca"};
    buf_printf(b, "# HELP mobula_route_certificate_expiry_timestamp_seconds When the first certificate of a route, and its CA, expire, in "
                  "seconds since 1970.\n# TYPE mobula_route_certificate_expiry_timestamp_seconds gauge\n");
    for (size_t i = 0; i < COUNT_OF(of); i++)
        if (ends_us[i] != INT64_MAX)
            buf_printf(b, "mobula_route_certificate_expiry_timestamp_seconds{of=\"%s\"} %lld\n", of[i], (long long)(ends_us[i] / 1000000));
}

/* ---- judging ---- */

static void set_trouble(struct op *op, struct route_tls *t, enum tls_object i, const char *why, const char *remedy)
{
    char text[2 * ERR_TEXT_MAX];
    struct slice field = i == TLS_SECRET ? istr_slice(t->field) : SLICE("");
    snprintf(text, sizeof text, "%s %.*s%s%.*s%s: %s%s", objects[i].kind, SLICE_ARG(istr_slice(t->name)), field.len ? " (" : "",
             SLICE_ARG(field), field.len ? ")" : "", why, remedy);
    keep_interned(op, &t->part[i].trouble, intern_get(&op->strings, slice_of(text)));
}

/* A DNS name; or *. before one of two labels and more, because clients accept no certificate for *.com. No IP address. */
static bool is_certifiable(struct slice host)
{
    struct slice name = slice_starts(host, SLICE("*.")) ? slice_skip(host, 2) : host, last = name;
    size_t digits = 0;
    for (ptrdiff_t dot; (dot = slice_find(last, '.')) >= 0;)
        last = slice_skip(last, (size_t)dot + 1);
    while (digits < last.len && last.ptr[digits] >= '0' && last.ptr[digits] <= '9')
        digits++;
    return name_dns1123_subdomain(name) && digits < last.len && (name.len == host.len || last.len < name.len);
}

/* Whether one of the patterns is the host, or is "*.NAME" and the host is below NAME. */
static bool is_allowed(struct slice patterns, struct slice host)
{
    bool any = slice_empty(patterns);
    while (!any && patterns.len) {
        struct slice one = slice_cut(&patterns, ',');
        any = slice_eq(one, host) || (slice_starts(one, SLICE("*.")) && slice_ends(host, slice_skip(one, 1)));
    }
    return any;
}

/* Whether a certificate can be made for the hosts of the route. */
static bool check_hosts(const struct op *op, struct slice hosts, struct err *e)
{
    int count = 0;
    for (; !slice_empty(hosts); count++) {
        struct slice one = slice_cut(&hosts, ',');
        if (!is_allowed(op->o.route_hosts, one))
            return err_set(
                e, ERR_CONFIG,
                "no certificate is made for host \"%.*s\": the operator's --route-hosts has %.*s; use such a host, name a Secret "
                "of yours in the route, or have the host added",
                SLICE_ARG(slice_head(one, 80)), SLICE_ARG(slice_head(op->o.route_hosts, 200)));
        if (!is_certifiable(one))
            return err_set(e, ERR_CONFIG,
                           "no certificate is made for host \"%.*s\": use a DNS name, or *. before one that has a dot, in the route",
                           SLICE_ARG(slice_head(one, 80)));
    }
    return count <= NAMES_MAX || err_set(e, ERR_LIMIT, "its route has more than 32 hosts (NAMES_MAX)");
}

static bool check_names(const struct tls_identity *id, struct slice hosts, struct tls_leaf *leaf, struct err *e)
{
    while (!slice_empty(hosts)) {
        struct slice one = slice_cut(&hosts, ',');
        if (!tls_identity_for(id, one, leaf))
            return err_set(e, ERR_TLS_NAME, "its certificate is for %s, not for host %.*s", leaf->first_name, SLICE_ARG(one));
    }
    return true;
}

static bool check_pair(struct op *op, struct route_tls *t, struct jval object, struct buf *cert, struct tls_leaf *leaf, struct err *e)
{
    struct arena *a = &op->arenas.event;
    struct buf key;
    buf_init(&key, PEM_MAX);
    bool read = kube_secret_data(object, "tls.crt", false, cert, a, e) && kube_secret_data(object, "tls.key", false, &key, a, e);
    struct tls_identity *id = read ? tls_identity_load(buf_slice(cert), buf_slice(&key), e) : NULL;
    int64_t ends_us = INT64_MAX;
    bool well = id && tls_identity_valid(id, false, op->now.wall_us, &ends_us, e) && check_names(id, istr_slice(t->hosts), leaf, e);
    t->ends_us = well ? ends_us : 0;
    tls_identity_drop(id);
    buf_wipe(&key);
    return well;
}

static bool is_ours(const struct route_tls *t, struct jval object)
{
    return json_is(json_child(json_get(object, "metadata.labels"), ROUTE_MANAGED), RAY_FIELD_MANAGER) &&
           json_is(json_get(json_at(json_get(object, "metadata.ownerReferences"), 0), "uid"), t->owner);
}

/* Returns whether the Secret is wrong in a way that no write can mend: then the part has its trouble. */
static bool judge_secret(struct op *op, struct route_tls *t, struct jval object)
{
    const struct route_ca *ca = &certificates_of(op)->ca;
    struct tls_part *p = &t->part[TLS_SECRET];
    struct tls_leaf leaf = {.not_after_us = 0};
    struct err e = {0};
    struct buf cert;
    buf_init(&cert, PEM_MAX);
    struct err unfit = {0};
    bool well = !p->there || check_pair(op, t, object, &cert, &leaf, &e), bad = true;
    t->ends_us = p->there ? t->ends_us : 0;
    t->ours = p->there && !t->field && is_ours(t, object);
    if (!p->there && t->field)
        set_trouble(op, t, TLS_SECRET, "it does not exist: create it", ", or remove the field: then the operator creates a Secret");
    else if (p->there && !t->ours && !well)
        set_trouble(op, t, TLS_SECRET, e.text,
                    t->field ? ": replace it, or remove the field: then the operator creates a Secret" : ": replace or delete it");
    else if (p->there && !t->ours)
        bad = false;
    else if (!check_hosts(op, istr_slice(t->hosts), &unfit))
        set_trouble(op, t, TLS_SECRET, unfit.text, "");
    else if (!ca->known && (!p->there || !well))
        set_trouble(op, t, TLS_SECRET, "it cannot be written: the CA was not read yet", "");
    else
        bad = false;
    p->write = !bad && ca->known && (t->ours || !p->there) &&
               (!p->there || !well || tls_issue_due(buf_slice(&cert), &leaf, buf_slice(&ca->pem.cert), ca->ends_us, op->now.wall_us));
    buf_free(&cert);
    return bad;
}

static bool judge_grant(struct op *op, struct route_tls *t, struct jval object)
{
    struct tls_part *p = &t->part[TLS_GRANT];
    bool right = p->there && json_str_eq(json_get(json_at(json_get(object, "spec.from"), 0), "namespace"), istr_slice(t->gateway_ns)) &&
                 json_str_eq(json_get(json_at(json_get(object, "spec.to"), 0), "name"), istr_slice(t->name));
    bool bad = p->there && !right && !is_ours(t, object);
    if (bad)
        set_trouble(op, t, TLS_GRANT, "it exists and does not let the Gateway's namespace read the Secret", ": change or delete it");
    p->write = !right && !bad;
    return bad;
}

/* Takes the object as it is on the server; an empty value: it does not exist. A write that was refused before keeps its trouble, and its
 * count of failures, until it is not needed any more. */
static void take(struct op *op, struct route_tls *t, enum tls_object i, struct jval object)
{
    struct tls_part *p = &t->part[i];
    p->known = true;
    p->there = json_type(object) == JSON_OBJECT;
    slice_copy(json_get_str(object, "metadata.resourceVersion", &op->arenas.event), p->version, sizeof p->version);
    p->again_ms = op->now.mono_ms + certificates_look_ms(op);
    bool bad = i == TLS_SECRET ? judge_secret(op, t, object) : judge_grant(op, t, object);
    if (!bad && !(p->write && p->failures))
        keep_interned(op, &p->trouble, NULL);
    if (!p->write)
        p->failures = 0;
}

static void refused(struct op *op, struct route_tls *t, enum tls_object i, const char *words)
{
    struct tls_part *p = &t->part[i];
    p->known = true;
    p->write = false;
    set_trouble(op, t, i, words, "");
    p->again_ms = op->now.mono_ms + backoff_ms(&op->rng, p->failures++, PLAN_BACKOFF_MS, RAY_TOKEN_AGAIN_MAX_MS);
}

const char *route_tls_hint(const struct kube_answer *a)
{
    return a->outcome == KUBE_REFUSED && a->status.code == 403 ? "(mobula install --route-ca prints the right) " : "";
}

/* read: the answer to a GET, where 404 means that the object does not exist. */
static void answered(struct op *op, struct route_tls *t, enum tls_object i, bool read, const struct kube_answer *a)
{
    char words[ANSWER_WORDS], text[ANSWER_WORDS + 80];
    struct jval object = NO_VALUE;
    arena_reset(&op->arenas.event, 64 * KIB);
    bool absent = read && a->outcome == KUBE_REFUSED && a->status.code == 404;
    if (absent || (a->outcome == KUBE_OK && json_read(&object, a->body, &op->arenas.event, NULL))) {
        take(op, t, i, object);
        return;
    }
    snprintf(text, sizeof text, "%s%s", route_tls_hint(a), answer_words(a, words));
    refused(op, t, i, text);
}

/* ---- reading ---- */

static void on_read(void *owner, uint64_t tag, const struct kube_answer *a, struct now now)
{
    struct op *op = owner;
    struct flight *f = (struct flight *)(uintptr_t)tag;
    struct record *c = f->c;
    struct route_tls *t = find(op, c);
    enum tls_object i = (enum tls_object)f->index;
    op->now = now;
    if (t && t->part[i].asking && hash64(istr_slice(t->name), 0) == f->hash) {
        t->part[i].asking = false;
        answered(op, t, i, true, a);
        record_touch(op, c);
    }
    c->in_flight--;
    op->flights--;
    slab_free(&op->slabs.flight, f);
    work_settle(op, c);
}

static void ask(struct op *op, struct record *c, struct route_tls *t, enum tls_object i)
{
    struct err e = {0};
    struct buf path;
    struct flight *f = slab_alloc(&op->slabs.flight);
    *f = (struct flight){.op = op, .c = c, .index = (int32_t)i, .hash = hash64(istr_slice(t->name), 0)};
    buf_init(&path, LIMIT_HTTP_URL);
    kube_path(&path, objects[i].resource, istr_slice(t->ns), istr_slice(t->name), SLICE_NONE);
    const struct kube_request r = {.lane = KUBE_LANE_MAIN,
                                   .method = SLICE("GET"),
                                   .path = buf_slice(&path),
                                   .again = true,
                                   .secret = true,
                                   .done = on_read,
                                   .owner = op,
                                   .about = c,
                                   .tag = (uint64_t)(uintptr_t)f};
    t->part[i].asking = kube_call(op->client, &r, op->now, &e);
    c->in_flight += t->part[i].asking;
    op->flights += t->part[i].asking;
    if (!t->part[i].asking) { /* too many wait already */
        t->part[i].again_ms = op->now.mono_ms + PLAN_BACKOFF_MS;
        slab_free(&op->slabs.flight, f);
    }
    buf_free(&path);
}

/* ---- the view ---- */

static struct route_tls *tls_of(struct op *op, const struct record *c)
{
    struct route_tls *t = find(op, c);
    if (t)
        return t;
    t = mem_alloc(sizeof *t);
    *t = (struct route_tls){.ns = intern_keep(c->ns)};
    slice_copy(slice_of(c->uid), t->owner, sizeof t->owner);
    map_put(&certificates_of(op)->by_owner, slice_of(t->owner), t);
    return t;
}

static void set_want(struct op *op, struct route_tls *t, const struct route_tls_want *w)
{
    const struct {
        const struct istr **held;
        struct slice text;
    } all[] = {{&t->name, w->secret}, {&t->hosts, w->hosts}, {&t->field, w->field}, {&t->gateway_ns, w->gateway_ns}};
    bool changed = false;
    for (size_t i = 0; i < COUNT_OF(all); i++)
        changed |= keep_interned(op, all[i].held, slice_empty(all[i].text) ? NULL : intern_get(&op->strings, all[i].text));
    for (int i = 0; changed && i < TLS_OBJECTS; i++) {
        keep_interned(op, &t->part[i].trouble, NULL);
        t->part[i] = (struct tls_part){.known = false};
    }
    t->ours &= !changed;
}

const struct route_tls_view *route_tls_look(struct op *op, struct record *c, const struct route_tls_want *want)
{
    if (slice_empty(op->o.route_ca) || slice_empty(want->secret)) {
        route_tls_drop(op, c);
        return NULL;
    }
    struct route_tls *t = tls_of(op, c);
    struct route_tls_view *v = arena_new(&op->arenas.plan, struct route_tls_view);
    set_want(op, t, want);
    const struct route_ca *ca = t->field ? NULL : route_ca_follow(op);
    *v = (struct route_tls_view){
        .secret = istr_slice(t->name), .known = true, .ends_us = t->ends_us, .look_ms = ca ? ca->again_ms : TIME_NEVER};
    for (enum tls_object i = 0; i < (t->gateway_ns && t->ours ? TLS_OBJECTS : TLS_GRANT); i++) {
        struct tls_part *p = &t->part[i];
        if (!p->asking && op->now.mono_ms >= p->again_ms)
            ask(op, c, t, i);
        v->known &= p->known;
        v->write[i] = p->write && !p->asking;
        if (!v->trouble.len)
            v->trouble = istr_slice(p->trouble);
        if (!p->asking && p->again_ms < v->look_ms)
            v->look_ms = p->again_ms;
    }
    if (v->trouble.len && ca && ca->trouble)
        v->trouble = istr_slice(ca->trouble);
    return v;
}

/* ---- writing ---- */

void tls_secret_write(const struct tls_secret *s, struct buf *out)
{
    struct jout w;
    buf_room(out, 4 * (s->cert.len + s->key.len + s->root.len) + 4 * KIB); /* at once: growing would leave copies of the key behind */
    jout_init(&w, out);
    jout_form(&w,
              "{apiVersion:'v1',kind:'Secret',type:'kubernetes.io/tls',metadata:{name:'%.*s',namespace:'%.*s',resourceVersion?:'%s',"
              "labels:{%s:'" RAY_FIELD_MANAGER "'}",
              SLICE_ARG(s->name), SLICE_ARG(s->ns), s->version, ROUTE_MANAGED);
    if (s->owner)
        write_owner(&w, s->owner);
    jout_form(&w, "},stringData:{%s?:'%.*s',%s:'%.*s',%s:'%.*s'}}", "ca.crt", SLICE_ARG(s->root), "tls.crt", SLICE_ARG(s->cert), "tls.key",
              SLICE_ARG(s->key));
}

static bool write_secret(struct op *op, const struct route_tls *t, const struct owner *owner, struct buf *out, struct err *e)
{
    const struct route_ca *ca = &certificates_of(op)->ca;
    struct slice names[NAMES_MAX], rest = istr_slice(t->hosts);
    struct tls_issue how = {.names = names, .subject = "mobula"};
    struct buf cert, key;
    if (!check_hosts(op, rest, e))
        return false;
    while (!slice_empty(rest))
        names[how.name_count++] = slice_cut(&rest, ',');
    buf_init(&cert, PEM_MAX);
    buf_init(&key, PEM_MAX);
    bool well = tls_issue_by(buf_slice(&ca->pem.cert), buf_slice(&ca->pem.key), &how, op->now.wall_us, &cert, &key, e);
    const struct tls_secret s = {.ns = istr_slice(t->ns),
                                 .name = istr_slice(t->name),
                                 .cert = buf_slice(&cert),
                                 .key = buf_slice(&key),
                                 .root = buf_slice(&ca->pem.root),
                                 .version = t->part[TLS_SECRET].version,
                                 .owner = owner};
    if (well)
        tls_secret_write(&s, out);
    buf_free(&cert);
    buf_wipe(&key);
    return well;
}

static void write_grant(const struct route_tls *t, const struct owner *owner, struct buf *out)
{
    struct slice name = istr_slice(t->name), ns = istr_slice(t->ns), gateway = istr_slice(t->gateway_ns);
    struct jout w;
    jout_init(&w, out);
    jout_form(&w,
              "{apiVersion:'gateway.networking.k8s.io/v1beta1',kind:'ReferenceGrant',metadata:{name:'%.*s',namespace:'%.*s',"
              "resourceVersion?:'%s',labels:{%s:'" RAY_FIELD_MANAGER "'}",
              SLICE_ARG(name), SLICE_ARG(ns), t->part[TLS_GRANT].version, ROUTE_MANAGED);
    write_owner(&w, owner);
    jout_form(&w,
              "},spec:{from:[{group:'gateway.networking.k8s.io',kind:'Gateway',namespace:'%.*s'}],to:[{group:'',kind:'Secret',"
              "name:'%.*s'}]}}",
              SLICE_ARG(gateway), SLICE_ARG(name));
}

bool route_tls_make(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    struct route_tls *tls = find(op, c);
    enum tls_object i = (enum tls_object)act->index;
    struct owner owner = {c->kind->api_version, slice_of(c->kind->name), istr_slice(c->ns), slice_of(c->name), slice_of(c->uid)};
    f->index = act->index;
    slice_copy(act->name, f->name, sizeof f->name);
    if (!tls || !tls->part[i].write || !slice_eq(act->name, istr_slice(tls->name)))
        return err_set(e, ERR_MISSING, "the route no longer asks for it");
    bool there = tls->part[i].there;
    f->fresh = !there;
    *t = (struct call_text){there ? SLICE("PUT") : SLICE("POST"), SLICE(KUBE_TYPE_JSON), there};
    kube_path(&op->out.path, objects[i].resource, istr_slice(c->ns), there ? act->name : SLICE_NONE, SLICE_NONE);
    if (i == TLS_SECRET)
        return write_secret(op, tls, &owner, &op->out.body, e);
    write_grant(tls, &owner, &op->out.body);
    return true;
}

bool route_tls_secret(int32_t index)
{
    return index == TLS_SECRET;
}

void route_tls_failed(struct op *op, struct record *c, const struct action *act, const char *text)
{
    struct route_tls *t = find(op, c);
    if (t)
        refused(op, t, (enum tls_object)act->index, text);
    record_touch(op, c);
}

static void say_written(struct op *op, const struct flight *f)
{
    char note[LIMIT_KUBE_EVENT_NOTE];
    const char *kind = objects[f->index].kind;
    snprintf(note, sizeof note, "%s %s %s%s", f->fresh ? "created" : "replaced", kind, f->name,
             f->index == TLS_SECRET ? ", with the certificate of the route's hosts" : "");
    log_info("certificate of a route written", LF("namespace", istr_slice(f->c->ns)), LF_CSTR(f->c->kind->word, f->c->name),
             LF_CSTR("kind", kind), LF_CSTR("name", f->name));
    say_event(op, f->c, false, f->fresh ? "CreatedCertificate" : "RenewedCertificate", slice_of(note));
}

bool route_tls_answer(struct op *op, struct flight *f, const struct kube_answer *a)
{
    struct route_tls *t = find(op, f->c);
    enum tls_object i = (enum tls_object)f->index;
    bool gone = a->status.code == 404 && !f->fresh;
    bool passes = a->outcome == KUBE_UNKNOWN || (a->outcome == KUBE_REFUSED && (a->status.code == 409 || gone));
    op->stats.refused[verb_number(op, f->verb)] += a->outcome == KUBE_REFUSED;
    op->stats.unknown += a->outcome == KUBE_UNKNOWN;
    record_touch(op, f->c);
    if (a->outcome == KUBE_OK)
        say_written(op, f);
    if (!t || !slice_eq(slice_of(f->name), istr_slice(t->name)))
        return false;
    if (!passes)
        answered(op, t, i, false, a);
    if (a->outcome == KUBE_OK && t->part[i].write)
        refused(op, t, i, "the API server keeps another content than the operator has written");
    t->part[i].write = false; /* not before it was read again */
    if (passes)
        t->part[i].again_ms = op->now.mono_ms + SOON_MS;
    else if (a->outcome != KUBE_OK &&
             say_failed(op, answer_failed(a), verb_number(op, f->verb), said_of(f->c, istr_slice(t->part[i].trouble), i)))
        say_event(op, f->c, true, verb_refusal(f->verb, 0), istr_slice(t->part[i].trouble));
    return false;
}
