#include "private.h"

#include <mobula/kind_raycluster.h>

#include <stdio.h>

struct job {
    struct seek *seek;
    struct slice name;
    struct err e;
};

/* ---- its pods ---- */

static bool page_query(struct slice more, struct buf *path, struct err *e)
{
    char page[16];
    snprintf(page, sizeof page, "%d", EXPLAIN_PAGE);
    kube_query(path, "limit", slice_of(page));
    if (more.len)
        kube_query(path, "continue", more);
    return !path->full || err_set(e, ERR_LIMIT, "the API server's list goes on at more than %d bytes (LIMIT_HTTP_URL)", LIMIT_HTTP_URL);
}

bool explain_page_path(struct slice ns, struct slice cluster, struct slice more, struct buf *path, struct err *e)
{
    char selector[128];
    snprintf(selector, sizeof selector, RAY_LABEL_CLUSTER "=%.*s", SLICE_ARG(cluster));
    kube_path(path, &kube_pods, ns, SLICE_NONE, SLICE_NONE);
    kube_query(path, "labelSelector", slice_of(selector));
    return page_query(more, path, e);
}

/* A page is gone when the next one comes: of a hundred thousand pods all that is kept is what is said of them. */
static bool find_page(struct job *j, struct explain_facts *f, struct slice *more)
{
    struct ask_answer answer;
    __attribute__((cleanup(buf_free))) struct buf path;
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    buf_init(&path, LIMIT_HTTP_URL);
    if (!explain_page_path(j->seek->ns, j->name, *more, &path, &j->e) ||
        !ask_get(&j->seek->ask, buf_slice(&path), NULL, &a, &answer, &j->e))
        return false;
    if (answer.code != 200)
        return seek_refused(&answer, "its pods cannot be read", &j->e);
    return explain_add_pods(f, answer.body, more, j->seek->a, &j->e);
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

/* ---- clusters that are served earlier ---- */

/* Counts the clusters that are served earlier. If clusters cannot be listed, no wait is reported. */
static void count_ahead(struct job *j, struct explain_facts *f)
{
    struct slice version = json_get_str(f->object, "apiVersion", j->seek->a), more = SLICE("");
    bool legacy = slice_starts(version, SLICE("cluster.ray.io/"));
    explain_wait(f, j->seek->a);
    f->pages = 0;
    do {
        struct err e = {0};
        struct ask_answer answer;
        __attribute__((cleanup(buf_free))) struct buf path;
        __attribute__((cleanup(arena_free))) struct arena a = {0};
        buf_init(&path, LIMIT_HTTP_URL);
        kube_path(&path, &ray_resources[legacy], j->seek->ns, SLICE_NONE, SLICE_NONE);
        f->waits = f->waits && page_query(more, &path, &e) && ask_get(&j->seek->ask, buf_slice(&path), NULL, &a, &answer, &e) &&
                   answer.code == 200 && explain_add_clusters(f, answer.body, &more, j->seek->a, &e);
    } while (f->waits && more.len);
}

/* ---- answers of Ray ---- */

/* Through the API server: the way that whoever may read the cluster has, wherever they sit. */
static void hear_head(struct job *j, struct explain_facts *f)
{
    struct seek *s = j->seek;
    struct seek_head head;
    struct ask_answer answer = {0};
    char words[ASK_WORDS];
    if (!seek_head_of(s, f, &head)) {
        f->silence = SLICE("no head runs");
        return;
    }
    if (!slice_empty(head.secret) && !seek_token(s, head.secret, &head.token, &j->e)) {
        f->silence = slice_of(j->e.text);
        return;
    }
    struct slice path = arena_printf(s->a, "%.*s/api/cluster_status?format=1", SLICE_ARG(head.path));
    bool heard = ask_get(&s->ask, path, &head.token, s->a, &answer, &j->e);
    mem_wipe((char *)(uintptr_t)head.token.value.ptr, head.token.value.len);
    if (!heard)
        f->silence = slice_of(j->e.text);
    else if (answer.code == 200 && !explain_said(answer.body, s->a, &f->said))
        f->silence = SLICE("its dashboard answers with something else");
    else if (answer.code != 200)
        f->silence = arena_printf(s->a, "%s%s", ask_words(&answer, words),
                                  answer.reason == KUBE_FORBIDDEN ? " (it is asked through the API server's pods/proxy)" : "");
}

/* ---- the RayJob that owns the cluster ---- */

/* Reads why the owning RayJob, which has ended, keeps the cluster. Without the right to read RayJobs the reason stays empty. */
static void find_kept(struct job *j, struct explain_facts *f)
{
    int code;
    struct jval job;
    struct slice silence,
        name = json_get_str(list_find(json_get(f->object, "metadata.ownerReferences"), "kind", SLICE("RayJob")), "name", j->seek->a);
    if (!slice_empty(name) && explain_find(j->seek, seek_path(j->seek, &ray_job_resource, name, SLICE_NONE), &job, &silence, &code))
        f->kept = json_get_str(status_condition(json_get(job, "status"), SLICE("ClusterKept")), "message", j->seek->a);
}

bool explain_cluster_named(struct seek *s, struct slice name, struct buf *out, struct err *e)
{
    struct job j = {.seek = s, .name = name};
    struct explain_facts f = {0};
    bool absent, well = seek_cluster(s, name, &f.object, &absent, &j.e) && find_pods(&j, &f);
    *e = j.e;
    if (!well)
        return false;
    find_kept(&j, &f);
    count_ahead(&j, &f);
    f.unwatched = explain_unwatched(s, f.object);
    hear_head(&j, &f);
    f.now = clock_now();
    explain_words(&f, s->a, out);
    return true;
}
