/* The requests of an installation: a dry run of everything, then everything. */
#include <mobula/release.h>
#include <mobula/yaml.h>

#include <stdio.h>

enum { POLL_MS = 250, PATH_MAX_BYTES = 2 * KIB, TAKEOVER_TRIES = 8 };

static void show(const struct apply *p, const struct apply_object *o, const char *what)
{
    if (p->say)
        p->say(arena_printf(p->a, "%.*s/%.*s%s%.*s %s", SLICE_ARG(o->kind), SLICE_ARG(o->name), slice_empty(o->ns) ? "" : " in ",
                            SLICE_ARG(o->ns), what));
}

/* ---- reading ---- */

/* "deployments", "networkpolicies": the kinds that an installation has follow this rule. */
static struct slice plural(struct slice kind, struct arena *a)
{
    struct slice lower = slice_lower(kind, a);
    if (slice_ends(lower, SLICE("y")))
        return arena_printf(a, "%.*sies", SLICE_ARG(slice_head(lower, lower.len - 1)));
    return arena_printf(a, "%.*ss", SLICE_ARG(lower));
}

/* Core objects have the version alone as their apiVersion. */
struct slice apply_path(const struct apply_object *o, struct arena *a)
{
    bool core = slice_find(o->api_version, '/') < 0;
    bool in_ns = !slice_empty(o->ns);
    struct slice many = plural(o->kind, a);
    return arena_printf(a, "/%s/%.*s%s%.*s/%.*s/%.*s", core ? "api" : "apis", SLICE_ARG(o->api_version), in_ns ? "/namespaces/" : "",
                        SLICE_ARG(o->ns), SLICE_ARG(many), SLICE_ARG(o->name));
}

bool apply_has(const struct apply *p, struct slice path)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (slice_eq(p->list[i].path, path))
            return true;
    return false;
}

bool apply_read(struct apply *p, struct slice text, struct err *e)
{
    struct yaml_docs docs;
    if (!yaml_parse(text, p->a, &docs, e))
        return false;
    if (docs.count > APPLY_OBJECTS_MAX)
        return err_set(e, ERR_LIMIT, "more than %d objects (APPLY_OBJECTS_MAX)", APPLY_OBJECTS_MAX);
    p->list = arena_array(p->a, APPLY_OBJECTS_MAX, sizeof p->list[0]);
    p->count = docs.count;
    for (uint32_t i = 0; i < docs.count; i++) {
        struct apply_object *o = &p->list[i];
        struct json doc;
        if (!json_parse(&doc, docs.docs[i].json, p->a, e))
            return false;
        *o = (struct apply_object){.json = docs.docs[i].json,
                                   .api_version = json_get_str(json_root(&doc), "apiVersion", p->a),
                                   .kind = json_get_str(json_root(&doc), "kind", p->a),
                                   .name = json_get_str(json_root(&doc), "metadata.name", p->a),
                                   .ns = json_get_str(json_root(&doc), "metadata.namespace", p->a)};
        if (slice_empty(o->api_version) || slice_empty(o->kind) || slice_empty(o->name))
            return err_set(e, ERR_SYNTAX, "document %u has no apiVersion, kind or name", (unsigned)i + 1);
        o->path = apply_path(o, p->a);
    }
    return true;
}

/* ---- one request ---- */

void apply_fail(struct apply *p, struct slice text)
{
    if (p->failed < APPLY_FAILURES_MAX)
        p->failures[p->failed] = text;
    p->failed++;
}

static bool send(struct apply *p, const struct apply_object *o, bool dry, struct ask_answer *answer, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf path;
    buf_init(&path, PATH_MAX_BYTES);
    buf_put(&path, o->path);
    kube_query(&path, "fieldManager", SLICE(APPLY_MANAGER));
    if (o->force)
        kube_query(&path, "force", SLICE("true"));
    if (dry)
        kube_query(&path, "dryRun", SLICE("All"));
    return ask_apply(p->ask, buf_slice(&path), o->json, p->a, answer, e);
}

bool apply_send(struct apply *p, const struct apply_object *o, struct ask_answer *answer, struct err *e)
{
    return send(p, o, false, answer, e);
}

bool apply_dry(struct apply *p, const struct apply_object *o, struct ask_answer *answer, struct err *e)
{
    return send(p, o, true, answer, e);
}

/* From RollingUpdate to Recreate: the API server's defaults of the former belong to no manager, so an apply leaves them, and they are
 * refused beside the latter. */
static bool stops_rolling(const struct apply_object *o)
{
    return o->rolls && slice_has(o->json, "\"type\":\"Recreate\"");
}

static bool stop_rolling(struct apply *p, const struct apply_object *o, struct ask_answer *answer, struct err *e)
{
    return ask_merge(p->ask, o->path, SLICE("{\"spec\":{\"strategy\":{\"type\":\"Recreate\",\"rollingUpdate\":null}}}"), p->a, answer, e);
}

static bool parse(struct apply *p, const struct ask_answer *answer, struct jval *out, struct err *e)
{
    struct json *doc = arena_new(p->a, struct json);
    if (!json_parse(doc, answer->body, p->a, e))
        return err_wrap(e, "something between here and the API server answers in its place");
    *out = json_root(doc);
    return true;
}

/* ---- existing objects ---- */

/* A flag that was left out by mistake would show only in functions that the operator no longer has. */
static bool keeps_flags(const struct apply *p, const struct apply_object *o, struct jval there, struct err *e)
{
    struct json *doc = arena_new(p->a, struct json);
    if (!p->keeps_flags || !apply_is(o, "Deployment"))
        return true;
    if (!json_parse(doc, o->json, p->a, e))
        return false;
    struct slice dropped = apply_dropped(there, json_root(doc), p->roles, p->a),
                 more = apply_dropped_elsewhere(p, there, json_root(doc), p->a);
    dropped = arena_printf(p->a, "%.*s%s%.*s", SLICE_ARG(dropped), slice_empty(dropped) || slice_empty(more) ? "" : ", ", SLICE_ARG(more));
    return slice_empty(dropped) ||
           err_set(e, ERR_STATUS,
                   "Deployment %.*s in namespace %.*s runs with flags that would go: %.*s. Give again what sets them, or "
                   "take them away with --drop-flags",
                   SLICE_ARG(o->name), SLICE_ARG(o->ns), SLICE_ARG(dropped));
}

/* False: no answer. */
static bool look(struct apply *p, struct apply_object *o, bool *well, struct err *e)
{
    struct ask_answer answer = {0};
    struct jval there;
    struct err why = {0};
    *well = true;
    if (!ask_get(p->ask, o->path, NULL, p->a, &answer, e))
        return false;
    if (answer.code == 404 && slice_starts(o->kind, SLICE("ValidatingAdmissionPolicy")) && !answer.object) {
        o->passed = "passed over: this API server does not know the kind (Kubernetes 1.30 does)";
        return true;
    }
    if (answer.code == 401) { /* of every object the same */
        char words[ASK_WORDS];
        return err_set(e, ERR_STATUS, "%s: the API server does not know the token or certificate of the kubeconfig: get a new one",
                       ask_words(&answer, words));
    }
    if (answer.code >= 300) /* not there; or it may not be read, and the dry run tells */
        return true;
    if (!parse(p, &answer, &there, e))
        return false;
    if (p->definitions && !apply_is(o, "CustomResourceDefinition") && !slice_empty(apply_release(there, p->a))) {
        o->passed = "passed over: it belongs to a Helm release";
        return true;
    }
    if (apply_is(o, "Role") || apply_is(o, "ClusterRole"))
        p->roles = arena_printf(p->a, "%.*s%.*s", SLICE_ARG(p->roles), SLICE_ARG(answer.body));
    o->release = p->shows ? apply_release(there, p->a) : SLICE_NONE;
    *well = apply_judge(o, there, p->replaces, p->a, &why) && keeps_flags(p, o, there, &why);
    if (!*well)
        apply_fail(p, arena_dup(p->a, slice_of(why.text)));
    else if (o->force)
        o->takeover = surplus_takeover(there, p->a);
    return true;
}

/* The namespace of an object that does not bring it itself. *made: it comes with these manifests, so nothing can be tried in it yet. */
static bool look_at_namespace(struct apply *p, struct slice ns, bool *made, bool *well, struct err *e)
{
    struct apply_object o = {.api_version = SLICE("v1"), .kind = SLICE("Namespace"), .name = ns};
    struct ask_answer answer = {0};
    o.path = apply_path(&o, p->a);
    *made = false;
    *well = true;
    for (uint32_t i = 0; i < p->count; i++)
        if (apply_is(&p->list[i], "Namespace") && slice_eq(p->list[i].name, ns)) {
            *made = slice_empty(p->list[i].version);
            return true;
        }
    if (!ask_get(p->ask, o.path, NULL, p->a, &answer, e))
        return false;
    if (answer.code == 404) {
        apply_fail(p, arena_printf(p->a, "namespace %.*s does not exist: --create-namespace makes it", SLICE_ARG(ns)));
        *well = false;
        return true;
    }
    struct jval there;
    struct err why = {0};
    if (answer.code < 300 && parse(p, &answer, &there, e) && !apply_judge(&o, there, true, p->a, &why)) {
        apply_fail(p, arena_dup(p->a, slice_of(why.text)));
        *well = false;
    }
    return true;
}

/* A namespace is looked at once, for the first object in it. */
static bool first_in_namespace(const struct apply *p, const struct apply_object *o)
{
    for (const struct apply_object *one = p->list; one < o; one++)
        if (slice_eq(one->ns, o->ns))
            return false;
    return true;
}

/* Nothing of a namespace that exists is ours to set. */
static bool is_kept(const struct apply_object *o)
{
    return apply_is(o, "Namespace") && !slice_empty(o->version);
}

static bool try_one(struct apply *p, struct apply_object *o, struct err *e)
{
    struct ask_answer answer = {0};
    bool made = false, well = true;
    if (!look(p, o, &well, e))
        return false;
    if (!slice_empty(o->ns)) {
        bool usable = true;
        uint32_t failed = p->failed;
        if (!look_at_namespace(p, o->ns, &made, &usable, e))
            return false;
        if (!first_in_namespace(p, o))
            p->failed = failed; /* told already */
        well = well && usable;
    }
    if (!well || made || is_kept(o) || o->passed || stops_rolling(o))
        return true;
    if (!send(p, o, true, &answer, e))
        return false;
    if (answer.code >= 300 && answer.code != 404) /* 404: a RoleBinding's Role, which comes before it */
        apply_fail(p, apply_refusal(o, &answer, p->a));
    return true;
}

bool apply_try(struct apply *p, struct err *e)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (!try_one(p, &p->list[i], e))
            return err_wrap(e, "%.*s %.*s", SLICE_ARG(p->list[i].kind), SLICE_ARG(p->list[i].name));
    return p->failed == 0 || err_set(e, ERR_STATUS, "nothing was changed");
}

/* ---- doing ---- */

static bool late(const struct apply *p, int64_t until_ms)
{
    return p->ask->signal != 0 || clock_now().mono_ms >= until_ms;
}

bool apply_live(struct apply *p, const struct apply_object *o, struct jval *out, bool *absent, struct err *e)
{
    struct ask_answer answer = {0};
    char words[ASK_WORDS];
    if (!ask_get(p->ask, o->path, NULL, p->a, &answer, e))
        return false;
    *absent = answer.code == 404;
    if (answer.code >= 300 && !*absent)
        return err_set(e, ERR_STATUS, "%s", ask_words(&answer, words));
    *out = NO_VALUE;
    return *absent || parse(p, &answer, out, e);
}

static bool established(struct jval definition)
{
    return condition_is(json_get(definition, "status"), "Established", "True");
}

/* A RayCluster cannot be listed before this, and the operator would wait half a minute for its next look. */
static bool wait_established(struct apply *p, const struct apply_object *o, int64_t until_ms, struct err *e)
{
    struct jval there;
    bool absent;
    for (;;) {
        if (!apply_live(p, o, &there, &absent, e))
            return false;
        if (established(there))
            return true;
        if (late(p, until_ms) || !ask_pause(p->ask, POLL_MS))
            return err_set(e, ERR_TIMEOUT, "the API server has not established it in time");
    }
}

static bool refused(struct apply *p, const struct apply_object *o, const struct ask_answer *answer, struct err *e)
{
    apply_fail(p, apply_refusal(o, answer, p->a));
    return err_set(e, ERR_STATUS, "%.*s %.*s was refused", SLICE_ARG(o->kind), SLICE_ARG(o->name));
}

/* Moves fields applied by kubectl to our field manager. A 409, from a client that writes the object at the same time, is retried. */
static bool take_over(struct apply *p, struct apply_object *o, struct ask_answer *answer, struct err *e)
{
    for (int tries = 0; !slice_empty(o->takeover); tries++) {
        struct jval there;
        bool absent;
        if (!ask_merge(p->ask, o->path, o->takeover, p->a, answer, e))
            return false;
        if (answer->code != 409 || tries == TAKEOVER_TRIES)
            return true;
        *answer = (struct ask_answer){0};
        if (!apply_live(p, o, &there, &absent, e))
            return false;
        o->takeover = surplus_takeover(there, p->a);
    }
    return true;
}

static bool apply_one(struct apply *p, struct apply_object *o, int64_t until_ms, struct err *e)
{
    struct ask_answer answer = {0};
    struct jval there;
    if (o->passed)
        show(p, o, o->passed);
    if (is_kept(o) || o->passed)
        return true;
    bool ready = take_over(p, o, &answer, e) && (answer.code >= 300 || !stops_rolling(o) || stop_rolling(p, o, &answer, e));
    if (!ready || (answer.code < 300 && !send(p, o, false, &answer, e)))
        return err_wrap(e, "%.*s %.*s", SLICE_ARG(o->kind), SLICE_ARG(o->name));
    if (answer.code >= 300)
        return refused(p, o, &answer, e);
    if (!parse(p, &answer, &there, e))
        return false;
    o->changed = !slice_eq(o->version, json_get_str(there, "metadata.resourceVersion", p->a)) || slice_empty(o->version);
    show(p, o, answer.code == 201 ? "created" : o->changed ? "changed" : "unchanged");
    return !apply_is(o, "CustomResourceDefinition") || wait_established(p, o, until_ms, e) ||
           err_wrap(e, "%.*s %.*s", SLICE_ARG(o->kind), SLICE_ARG(o->name));
}

bool apply_all(struct apply *p, int64_t until_ms, struct err *e)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (!apply_one(p, &p->list[i], until_ms, e))
            return false;
    return true;
}

/* ---- waiting for the Deployment ---- */

/* Why there is no pod, or why it does not run: words for a line of progress. */
static struct slice trouble(struct apply *p, const struct apply_object *o, struct jval deployment)
{
    struct jval status = json_get(deployment, "status"), key, one, pods;
    struct ask_answer answer = {0};
    struct err e = {0};
    if (condition_is(status, "ReplicaFailure", "True"))
        return json_get_str(status_condition(status, SLICE("ReplicaFailure")), "message", p->a);
    if (!ask_get(p->ask, apply_pods(o, p->a), NULL, p->a, &answer, &e) || answer.code >= 300 || !parse(p, &answer, &pods, &e))
        return SLICE_NONE;
    for (struct jiter it = json_iter(json_key(pods, SLICE("items"))); json_next(&it, &key, &one);) {
        struct slice words = apply_pod_words(one, p->a), event = slice_empty(words) ? SLICE_NONE : apply_pod_event(p, o->ns, one);
        if (!slice_empty(words))
            return slice_empty(event) ? words : arena_printf(p->a, "%.*s (%.*s)", SLICE_ARG(words), SLICE_ARG(event));
    }
    return SLICE_NONE;
}

static bool wait_available(struct apply *p, const struct apply_object *o, int64_t until_ms, struct err *e)
{
    struct slice told = SLICE_NONE;
    for (;;) {
        struct jval there;
        struct slice why = SLICE_NONE;
        bool absent;
        if (!apply_live(p, o, &there, &absent, e))
            return false;
        if (absent)
            return err_set(e, ERR_STATUS, "somebody has deleted it");
        if (apply_available(there, p->a, &why)) {
            show(p, o, "is available");
            return true;
        }
        struct slice words = trouble(p, o, there);
        why = slice_empty(words) ? why : arena_printf(p->a, "%.*s: %.*s", SLICE_ARG(why), SLICE_ARG(words));
        if (!slice_eq(why, told))
            show(p, o, arena_printf(p->a, "waits: %.*s", SLICE_ARG(why)).ptr);
        told = why;
        if (late(p, until_ms) || !ask_pause(p->ask, POLL_MS))
            return err_set(e, ERR_TIMEOUT, "not available in time (--timeout): %.*s", SLICE_ARG(why));
    }
}

bool apply_wait(struct apply *p, int64_t until_ms, struct err *e)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (apply_is(&p->list[i], "Deployment") && !wait_available(p, &p->list[i], until_ms, e))
            return err_wrap(e, "Deployment %.*s", SLICE_ARG(p->list[i].name));
    return true;
}

/* ---- taking away ---- */

bool apply_find(struct apply *p, struct slice api_version, const char *kind, struct slice ns, const char *labels, const char *name,
                struct err *e)
{
    struct apply_object o = {.api_version = api_version, .kind = slice_of(kind), .ns = ns};
    struct ask_answer answer = {0};
    struct jval list, key, one;
    char words[ASK_WORDS];
    __attribute__((cleanup(buf_free))) struct buf path;
    buf_init(&path, PATH_MAX_BYTES);
    struct slice of_all = apply_path(&o, p->a);
    buf_put(&path, slice_head(of_all, of_all.len - 1));
    if (labels)
        kube_query(&path, "labelSelector", slice_of(labels));
    if (name)
        kube_query(&path, "fieldSelector", arena_printf(p->a, "metadata.name=%s", name));
    _Static_assert(APPLY_OBJECTS_MAX == 128, "a page is what the list holds");
    kube_query(&path, "limit", SLICE("128"));
    if (p->next && !slice_empty(*p->next))
        kube_query(&path, "continue", *p->next);
    if (!ask_get(p->ask, buf_slice(&path), NULL, p->a, &answer, e))
        return false;
    if (answer.code == 404 || (answer.code == 403 && p->may_lack_right)) /* 404: the server does not know the kind, so no object exists */
        return true;
    if (answer.code >= 300)
        return err_set(e, ERR_STATUS, "list of %ss: %s", kind, ask_words(&answer, words));
    if (!parse(p, &answer, &list, e))
        return false;
    if (p->next)
        *p->next = json_get_str(list, "metadata.continue", p->a);
    for (struct jiter it = json_iter(json_key(list, SLICE("items"))); p->count < APPLY_OBJECTS_MAX && json_next(&it, &key, &one);) {
        o.name = json_get_str(one, "metadata.name", p->a);
        o.ns = json_get_str(one, "metadata.namespace", p->a);
        o.path = apply_path(&o, p->a);
        p->list[p->count++] = o;
    }
    return true;
}

/* An object outside of all namespaces may not exist at all, and without the right to read it that cannot be known: this is reported, and is
 * no error. The same holds for the Secret of revisions: without the right to read Secrets it could not have been made. */
static bool look_before_delete(struct apply *p, const struct apply_object *o, struct jval *there, bool *absent, struct err *e)
{
    struct ask_answer answer = {0};
    char words[ASK_WORDS];
    if (!ask_get(p->ask, o->path, NULL, p->a, &answer, e))
        return false;
    bool hidden = answer.code == 403 && (slice_empty(o->ns) || apply_is(o, "Secret")), spared = false;
    *absent = answer.code == 404 || hidden;
    if (hidden)
        show(p, o,
             slice_empty(o->ns) ? "is left, if it is there: a cluster's admin may delete it"
                                : "is left, if it is there: who may read Secrets may delete it");
    if (answer.code >= 300 && !*absent)
        return err_set(e, ERR_STATUS, "%.*s %.*s: %s", SLICE_ARG(o->kind), SLICE_ARG(o->name), ask_words(&answer, words));
    if (*absent)
        return true;
    if (!parse(p, &answer, there, e) || (p->spares && !apply_spared(o, *there, p->a, &spared, e)))
        return false;
    if (spared)
        show(p, o, "is left: it is not of mobula (it has no label " APPLY_LABEL ")");
    struct slice other = SLICE_NONE;
    if (!spared && !owner_other(p, o, *there, &other, e))
        return false;
    if (!slice_empty(other))
        show(p, o, arena_printf(p->a, "is left: it belongs to the installation in namespace %.*s", SLICE_ARG(other)).ptr);
    *absent = spared || !slice_empty(other);
    return true;
}

/* By its uid: what has come in its place meanwhile is not ours. *absent: there is nothing to wait for. */
static bool delete_begin(struct apply *p, const struct apply_object *o, bool *absent, struct err *e)
{
    struct ask_answer answer = {0};
    struct jval there;
    __attribute__((cleanup(buf_free))) struct buf body;
    buf_init(&body, KIB);
    if (!look_before_delete(p, o, &there, absent, e))
        return false;
    if (*absent)
        return true;
    kube_delete_options(&body, json_get_str(there, "metadata.uid", p->a), 0, SLICE("Foreground"));
    if (!ask_delete(p->ask, o->path, buf_slice(&body), p->a, &answer, e))
        return false;
    return answer.code < 300 || answer.code == 404 || answer.code == 409 || refused(p, o, &answer, e);
}

static bool delete_end(struct apply *p, const struct apply_object *o, int64_t until_ms, struct err *e)
{
    struct jval there;
    bool absent;
    for (;;) {
        if (!apply_live(p, o, &there, &absent, e))
            return false;
        if (absent) {
            show(p, o, "deleted");
            return true;
        }
        if (late(p, until_ms) || !ask_pause(p->ask, POLL_MS))
            return err_set(e, ERR_TIMEOUT, "%.*s %.*s is not gone in time (--timeout)", SLICE_ARG(o->kind), SLICE_ARG(o->name));
    }
}

bool apply_delete(struct apply *p, int64_t until_ms, struct err *e)
{
    for (uint32_t i = 0; i < p->count; i++) {
        bool absent;
        if (!delete_begin(p, &p->list[i], &absent, e) || (!absent && !delete_end(p, &p->list[i], until_ms, e)))
            return false;
        p->list[i].changed = !absent;
    }
    return true;
}

bool apply_purge(struct apply *p, int64_t until_ms, struct err *e)
{
    bool absent;
    for (uint32_t i = 0; i < p->count; i++)
        if (!delete_begin(p, &p->list[i], &absent, e))
            return false;
    for (uint32_t i = 0; i < p->count; i++)
        if (!delete_end(p, &p->list[i], until_ms, e))
            return false;
    return true;
}
