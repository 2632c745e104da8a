#include "explain_cluster.h"
#include "ask.h"
#include "cli.h"

#include <mobula/heads.h>

#include <stdio.h>

enum { DASHBOARD_PORT = 8265 };

struct cluster_options {
    struct slice name; /* "[cluster.]ray.io" or empty: of which of the two kinds */
    struct slice ns, group, kubeconfig, context;
};

static const struct flag list[] = {
#define AT(field) offsetof(struct cluster_options, field)
    {"n", FLAG_TEXT, AT(ns), "NS", "its namespace (default: that of the context or service account)"},
    {"namespace", FLAG_TEXT, AT(ns), "NS", "the same"},
    {"group", FLAG_TEXT, AT(group), "GROUP", "ray.io or cluster.ray.io, when there is one of each kind by that name"},
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE",
     "how to reach the API server (default: $KUBECONFIG, else in-cluster, else ~/.kube/config)"},
    {"context", FLAG_TEXT, AT(context), "NAME", "of the kubeconfig (default: its current-context)"},
#undef AT
};

static const struct flags flags = {
    .usage = "mobula explain cluster NAME [-n NS] [FLAG...]",
    .about =
        "Says why a RayCluster is as it is: its groups and what keeps their pods, what the autoscaler decided last and by which rules,\n"
        "and what Ray says of itself at this moment. Needs get on rayclusters and list on pods; get on pods/proxy for the last part, and "
        "on\n"
        "the Secret of a cluster with authOptions.",
    .list = list,
    .count = COUNT_OF(list),
};

struct job {
    const struct cluster_options *o;
    struct ask ask;
    struct slice ns;
    struct arena *a;
    struct err e;
};

static struct slice path_of(struct job *j, const struct kube_resource *r, struct slice name)
{
    __attribute__((cleanup(buf_free))) struct buf b;
    buf_init(&b, LIMIT_HTTP_URL);
    kube_path(&b, r, j->ns, name, SLICE_NONE);
    return arena_dup(j->a, buf_slice(&b));
}

/* ---- the cluster ---- */

struct found {
    struct ask_answer answers[2]; /* by enum ray_kind */
    bool asked[2];
};

static bool of_group(const struct cluster_options *o, enum ray_kind kind)
{
    return slice_empty(o->group) || slice_eq(o->group, ray_resources[kind].group);
}

static bool none_found(struct job *j, const struct found *f)
{
    struct slice name = j->o->name;
    for (int k = 0; k < 2; k++)
        if (f->asked[k] && f->answers[k].code != 404)
            return err_set(&j->e, ERR_STATUS, "RayCluster %.*s cannot be read: %d %s: %.*s", SLICE_ARG(name), f->answers[k].code,
                           kube_reason_text(f->answers[k].reason), SLICE_ARG(f->answers[k].message));
    return err_set(&j->e, ERR_STATUS,
                   "there is no RayCluster %.*s in namespace %.*s (kubectl get rayclusters.ray.io,rayclusters.cluster.ray.io -A "
                   "lists them)",
                   SLICE_ARG(name), SLICE_ARG(j->ns));
}

/* The one of that name, of whichever kind. */
static bool find_cluster(struct job *j, struct jval *object)
{
    struct found f = {0};
    int at = -1, count = 0;
    for (int k = 0; k < 2; k++) {
        f.asked[k] = of_group(j->o, (enum ray_kind)k);
        if (!f.asked[k])
            continue;
        if (!ask_get(&j->ask, path_of(j, &ray_resources[k], j->o->name), NULL, j->a, &f.answers[k], &j->e))
            return false;
        if (f.answers[k].code != 200)
            continue;
        at = k;
        count++;
    }
    if (count == 0)
        return none_found(j, &f);
    if (count > 1)
        return err_set(&j->e, ERR_CONFIG, "there are two RayClusters %.*s: add --group=ray.io or --group=cluster.ray.io",
                       SLICE_ARG(j->o->name));
    struct json *doc = arena_new(j->a, struct json);
    if (!json_parse(doc, f.answers[at].body, j->a, &j->e))
        return err_wrap(&j->e, "the API server's answer");
    *object = json_root(doc);
    return true;
}

/* ---- its pods ---- */

bool explain_page_path(struct slice ns, struct slice cluster, struct slice more, struct buf *path, struct err *e)
{
    char page[16], selector[128];
    snprintf(page, sizeof page, "%d", EXPLAIN_PAGE);
    snprintf(selector, sizeof selector, RAY_LABEL_CLUSTER "=%.*s", SLICE_ARG(cluster));
    kube_path(path, &kube_pods, ns, SLICE_NONE, SLICE_NONE);
    kube_query(path, "labelSelector", slice_of(selector));
    kube_query(path, "limit", slice_of(page));
    if (more.len)
        kube_query(path, "continue", more);
    return !path->full ||
           err_set(e, ERR_LIMIT, "the API server's list of pods goes on at more than %d bytes (LIMIT_HTTP_URL)", LIMIT_HTTP_URL);
}

/* A page is gone when the next one comes: of a hundred thousand pods all that is kept is what is said of them. */
static bool find_page(struct job *j, struct explain_facts *f, struct slice *more)
{
    struct ask_answer answer;
    __attribute__((cleanup(buf_free))) struct buf path;
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    buf_init(&path, LIMIT_HTTP_URL);
    if (!explain_page_path(j->ns, j->o->name, *more, &path, &j->e) || !ask_get(&j->ask, buf_slice(&path), NULL, &a, &answer, &j->e))
        return false;
    if (answer.code != 200)
        return err_set(&j->e, ERR_STATUS, "its pods cannot be read: %d %s: %.*s", answer.code, kube_reason_text(answer.reason),
                       SLICE_ARG(answer.message));
    return explain_add_pods(f, answer.body, more, j->a, &j->e);
}

static bool find_pods(struct job *j, struct explain_facts *f)
{
    struct slice more = SLICE("");
    do
        if (!find_page(j, f, &more))
            return false;
    while (more.len);
    return true;
}

/* ---- what Ray says ---- */

static const struct pod *find_head(const struct explain_facts *f)
{
    for (uint32_t i = 0; i < f->pod_count; i++)
        if (f->pods[i].head && !f->pods[i].deleting && f->pods[i].phase == POD_RUNNING)
            return &f->pods[i];
    return NULL;
}

/* Of a head that asks for one. Who may not read it is told which Secret it is. */
static bool find_token(struct job *j, struct slice name, struct http_header *out, struct explain_facts *f)
{
    struct ask_answer answer = {0};
    struct slice token = SLICE_NONE;
    struct buf text;
    buf_init(&text, LIMIT_KUBE_TOKEN);
    bool read = ask_get(&j->ask, path_of(j, &kube_secrets, name), NULL, j->a, &answer, &j->e);
    if (read && answer.code != 200)
        read = err_set(&j->e, ERR_STATUS, "%d %s: %.*s", answer.code, kube_reason_text(answer.reason), SLICE_ARG(answer.message));
    else if (read)
        read = ray_auth_read(answer.body, &text, &token, j->a, &j->e);
    if (read)
        *out = ray_dash_token(token, true, j->a);
    else
        f->silence = arena_printf(j->a, "its dashboard wants the token in Secret %.*s: %s", SLICE_ARG(name), j->e.text);
    mem_wipe((char *)(uintptr_t)answer.body.ptr, answer.body.len);
    mem_wipe(text.ptr, text.len);
    buf_free(&text);
    return read;
}

/* Through the API server: the way that whoever may read the cluster has, wherever they sit. */
static void hear_head(struct job *j, struct explain_facts *f)
{
    struct http_header token = {SLICE_NONE, SLICE_NONE};
    const struct pod *head = find_head(f);
    struct ray_cluster c;
    struct ray_errors errors = {0};
    struct ask_answer answer = {0};
    int port = ray_read(f->object, j->a, &c, &errors) ? c.dashboard_port : DASHBOARD_PORT;
    if (!head) {
        f->silence = SLICE("no head runs");
        return;
    }
    if (!slice_empty(c.auth_secret) && !find_token(j, c.auth_secret, &token, f))
        return;
    struct slice pod = path_of(j, &kube_pods, slice_of(head->name));
    struct slice path = arena_printf(j->a, "%.*s:%d/proxy/api/cluster_status?format=1", SLICE_ARG(pod), port);
    bool heard = ask_get(&j->ask, path, &token, j->a, &answer, &j->e);
    mem_wipe((char *)(uintptr_t)token.value.ptr, token.value.len);
    if (!heard)
        f->silence = slice_of(j->e.text);
    else if (answer.code == 200 && !explain_said(answer.body, j->a, &f->said))
        f->silence = SLICE("its dashboard answers with something else");
    else if (answer.code != 200)
        f->silence = arena_printf(j->a, "%d %s: %.*s%s", answer.code, kube_reason_text(answer.reason), SLICE_ARG(answer.message),
                                  answer.reason == KUBE_FORBIDDEN ? " (it is asked through the API server's pods/proxy)" : "");
}

/* ---- the command ---- */

static bool explain(struct job *j, struct buf *out)
{
    struct explain_facts f = {0};
    if (!ask_open(&j->ask, j->o->kubeconfig, j->o->context, &j->e))
        return false;
    j->ns = slice_empty(j->o->ns) ? j->ask.config->namespace_ : j->o->ns;
    if (!name_dns1123_label(j->ns))
        return err_set(&j->e, ERR_CONFIG, "\"%.*s\" is not the name of a namespace", SLICE_ARG(j->ns));
    if (!find_cluster(j, &f.object) || !find_pods(j, &f))
        return false;
    hear_head(j, &f);
    f.now = clock_now();
    explain_words(&f, j->a, out);
    return true;
}

int cli_explain_cluster(int argc, char **argv)
{
    struct cluster_options o = {0};
    int status;
    bool named = argc > 1 && argv[1][0] != '-';
    if (!flags_parse(&flags, argc - named, argv + named, &o, &status))
        return status;
    o.name = named ? slice_of(argv[1]) : SLICE_NONE;
    if (!name_dns1123_label(o.name))
        return flags_wrong(&flags, named ? "\"%s\" is not the name of a cluster" : "explain cluster: its name is needed", argv[1]);
    if (!of_group(&o, RAY_V1) && !of_group(&o, RAY_LEGACY))
        return flags_wrong(&flags, "--group is ray.io or cluster.ray.io");
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, EXPLAIN_WORDS_MAX);
    struct job j = {.o = &o, .a = &a};
    bool well = explain(&j, &out);
    ask_close(&j.ask);
    if (!well)
        return cli_fail(&j.e);
    return cli_print(buf_slice(&out)) ? STATUS_OK : STATUS_ERROR;
}
