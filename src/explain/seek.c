#include <mobula/explain.h>

#include <stdio.h>

enum { DASHBOARD_PORT = 8265 };

static bool of_group(const struct seek_options *o, enum ray_kind kind)
{
    return slice_empty(o->group) || slice_eq(o->group, ray_resources[kind].group);
}

bool seek_group_known(const struct seek_options *o)
{
    return of_group(o, RAY_V1) || of_group(o, RAY_LEGACY);
}

bool seek_open(struct seek *s, const struct seek_options *o, struct arena *a, struct err *e)
{
    *s = (struct seek){.o = o, .a = a, .ask.timeout_ms = o->timeout_ms};
    if (!ask_open(&s->ask, o->kubeconfig, o->context, e))
        return false;
    s->ns = slice_empty(o->ns) ? s->ask.config->namespace_ : o->ns;
    return name_dns1123_label(s->ns) || err_set(e, ERR_CONFIG, "\"%.*s\" is not the name of a namespace", SLICE_ARG(s->ns));
}

void seek_close(struct seek *s)
{
    ask_close(&s->ask);
}

struct slice seek_path(struct seek *s, const struct kube_resource *r, struct slice name, struct slice sub)
{
    __attribute__((cleanup(buf_free))) struct buf b;
    buf_init(&b, LIMIT_HTTP_URL);
    kube_path(&b, r, s->ns, name, sub);
    return arena_dup(s->a, buf_slice(&b));
}

bool seek_refused(const struct ask_answer *answer, const char *what, struct err *e)
{
    char words[ASK_WORDS];
    return err_set(e, ERR_STATUS, "%s: %s", what, ask_words(answer, words));
}

/* ---- the cluster ---- */

struct found {
    struct ask_answer answers[2]; /* by enum ray_kind */
    bool asked[2];
};

static bool none_found(struct seek *s, struct slice name, const struct found *f, bool *absent, struct err *e)
{
    for (int k = 0; k < 2; k++)
        if (f->asked[k] && f->answers[k].code != 404)
            return seek_refused(&f->answers[k], arena_printf(s->a, "RayCluster %.*s cannot be read", SLICE_ARG(name)).ptr, e);
    *absent = true;
    return err_set(e, ERR_STATUS,
                   "there is no RayCluster %.*s in namespace %.*s (kubectl get rayclusters.ray.io,rayclusters.cluster.ray.io -A "
                   "lists them)",
                   SLICE_ARG(name), SLICE_ARG(s->ns));
}

bool seek_cluster(struct seek *s, struct slice name, struct jval *object, bool *absent, struct err *e)
{
    struct found f = {0};
    int at = -1, count = 0;
    *absent = false;
    for (int k = 0; k < 2; k++) {
        f.asked[k] = of_group(s->o, (enum ray_kind)k);
        if (!f.asked[k])
            continue;
        if (!ask_get(&s->ask, seek_path(s, &ray_resources[k], name, SLICE_NONE), NULL, s->a, &f.answers[k], e))
            return false;
        if (f.answers[k].code != 200)
            continue;
        at = k;
        count++;
    }
    if (count == 0)
        return none_found(s, name, &f, absent, e);
    if (count > 1)
        return err_set(e, ERR_CONFIG, "there are two RayClusters %.*s: add --group=ray.io or --group=cluster.ray.io", SLICE_ARG(name));
    struct json *doc = arena_new(s->a, struct json);
    if (!json_parse(doc, f.answers[at].body, s->a, e))
        return err_wrap(e, "the API server's answer");
    *object = json_root(doc);
    return true;
}

/* ---- its head ---- */

const struct pod *seek_running_head(const struct explain_facts *f)
{
    for (uint32_t i = 0; i < f->pod_count; i++)
        if (f->pods[i].head && !f->pods[i].deleting && f->pods[i].phase == POD_RUNNING)
            return &f->pods[i];
    return NULL;
}

bool seek_token(struct seek *s, struct slice secret, struct http_header *out, struct err *e)
{
    struct ask_answer answer = {0};
    struct slice token = SLICE_NONE;
    char words[ASK_WORDS];
    struct buf text;
    buf_init(&text, LIMIT_KUBE_TOKEN);
    bool read = ask_get(&s->ask, seek_path(s, &kube_secrets, secret, SLICE_NONE), NULL, s->a, &answer, e);
    if (read && answer.code != 200)
        read = err_set(e, ERR_STATUS, "%s", ask_words(&answer, words));
    else if (read)
        read = ray_auth_read(answer.body, &text, &token, s->a, e);
    if (read)
        *out = ray_dash_token(token, true, s->a);
    else
        err_wrap(e, "its dashboard wants the token in Secret %.*s", SLICE_ARG(secret));
    mem_wipe((char *)(uintptr_t)answer.body.ptr, answer.body.len);
    buf_wipe(&text);
    return read;
}

bool seek_head_of(struct seek *s, const struct explain_facts *f, struct seek_head *out)
{
    const struct pod *head = seek_running_head(f);
    struct ray_cluster *c = arena_new(s->a, struct ray_cluster);
    struct spec_errors *errors = arena_new(s->a, struct spec_errors);
    bool read = ray_read(f->object, s->a, c, errors);
    if (f->running.len) /* the spec may have been edited since that head started */
        ray_running_apply(c, f->running, s->a);
    int port = read || c->running ? c->ports.dashboard : DASHBOARD_PORT;
    *out = (struct seek_head){.secret = c->auth.secret};
    if (!head)
        return false;
    struct slice pod = seek_path(s, &kube_pods, slice_of(head->name), SLICE_NONE);
    out->path = arena_printf(s->a, "%.*s:%d/proxy", SLICE_ARG(pod), port);
    return true;
}

static bool list_heads(struct seek *s, struct slice cluster, struct explain_facts *f, struct err *e)
{
    struct ask_answer answer;
    struct slice more;
    char selector[192];
    __attribute__((cleanup(buf_free))) struct buf path;
    buf_init(&path, LIMIT_HTTP_URL);
    snprintf(selector, sizeof selector, RAY_LABEL_CLUSTER "=%.*s," RAY_LABEL_NODE_TYPE "=head", SLICE_ARG(cluster));
    kube_path(&path, &kube_pods, s->ns, SLICE_NONE, SLICE_NONE);
    kube_query(&path, "labelSelector", slice_of(selector));
    if (!ask_get(&s->ask, buf_slice(&path), NULL, s->a, &answer, e))
        return false;
    if (answer.code != 200)
        return seek_refused(&answer, "its head pod cannot be read", e);
    return explain_add_pods(f, answer.body, &more, s->a, e);
}

bool seek_head(struct seek *s, struct slice cluster, struct seek_head *out, bool *absent, struct err *e)
{
    struct explain_facts f = {0};
    if (!seek_cluster(s, cluster, &f.object, absent, e) || !list_heads(s, cluster, &f, e))
        return false;
    if (!seek_head_of(s, &f, out)) {
        *absent = true;
        return err_set(e, ERR_STATUS, "no head of RayCluster %.*s runs: mobula explain cluster %.*s -n %.*s says why", SLICE_ARG(cluster),
                       SLICE_ARG(cluster), SLICE_ARG(s->ns));
    }
    return slice_empty(out->secret) || seek_token(s, out->secret, &out->token, e);
}
