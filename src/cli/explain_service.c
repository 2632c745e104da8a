#include "explain_service.h"
#include "cli.h"
#include "seek.h"

#include <mobula/kind_rayservice.h>

#include <stdio.h>

struct service_options {
    struct seek_options seek;
    struct slice name;
};

static const struct flag list[] = {SEEK_PLACE_FLAGS(offsetof(struct service_options, seek)),
                                   ASK_TIMEOUT_FLAG(offsetof(struct service_options, seek.timeout_ms))};

static const struct flags flags = {
    .usage = "mobula explain service NAME [-n NS] [FLAG...]",
    .about =
        "Says why a RayService is as it is: which RayCluster gets its requests, what a second one waits for, how its applications and\n"
        "deployments are, and what happens next and when. Needs get on RayServices, and for the rest get on services and list on\n"
        "rayclusters.",
    .list = list,
    .count = COUNT_OF(list),
    .word = offsetof(struct service_options, name),
};

struct job {
    struct seek seek;
    struct err e;
};

/* Reads the object at the path. False: *silence is the reason, *code the HTTP status; 0: no answer. */
static bool find(struct job *j, struct slice path, struct jval *out, struct slice *silence, int *code)
{
    struct ask_answer answer;
    char words[ASK_WORDS];
    struct err e = {0};
    struct arena *a = j->seek.a;
    *out = NO_VALUE;
    *code = 0;
    bool heard = ask_get(&j->seek.ask, path, NULL, a, &answer, &e);
    if (heard && answer.code == 200 && json_read(out, answer.body, a, &e))
        return true;
    *code = heard ? answer.code : 0;
    *silence = arena_dup(a, slice_of(heard && answer.code != 200 ? ask_words(&answer, words) : e.text));
    return false;
}

static bool find_service(struct job *j, struct slice name, struct explain_service *f)
{
    int code;
    struct slice why;
    if (find(j, seek_path(&j->seek, kind_rayservice.resource, name, SLICE_NONE), &f->object, &why, &code))
        return true;
    if (code != 404)
        return err_set(&j->e, ERR_STATUS, "RayService %.*s cannot be read: %.*s", SLICE_ARG(name), SLICE_ARG(why));
    return err_set(&j->e, ERR_STATUS, "there is no RayService %.*s in namespace %.*s (kubectl get %s -A lists them)", SLICE_ARG(name),
                   SLICE_ARG(j->seek.ns), kind_rayservice.plural);
}

static void find_rest(struct job *j, struct slice name, struct explain_service *f)
{
    int code;
    struct arena *a = j->seek.a;
    struct slice selector = arena_printf(a, RAY_LABEL_MAKER_NAME "=%.*s," RAY_LABEL_MAKER_KIND "=RayService", SLICE_ARG(name));
    __attribute__((cleanup(buf_free))) struct buf path = {.max = LIMIT_HTTP_URL};
    f->serve_name = explain_serve_name(f->object, a);
    if (!find(j, seek_path(&j->seek, &kube_services, f->serve_name, SLICE_NONE), &f->serve, &f->serve_silence, &code) && code == 404)
        f->serve_silence = SLICE_NONE;
    kube_path(&path, &ray_resources[RAY_V1], j->seek.ns, SLICE_NONE, SLICE_NONE);
    kube_query(&path, "labelSelector", selector);
    struct jval all;
    f->clusters = find(j, buf_slice(&path), &all, &f->clusters_silence, &code) ? json_get(all, "items") : NO_VALUE;
}

static bool explain(struct job *j, const struct service_options *o, struct arena *a, struct buf *out)
{
    struct explain_service f = {.serve = NO_VALUE, .clusters = NO_VALUE};
    if (!seek_open(&j->seek, &o->seek, a, &j->e) || !find_service(j, o->name, &f))
        return false;
    find_rest(j, o->name, &f);
    f.now_us = clock_now().wall_us;
    explain_service_words(&f, a, out);
    return true;
}

int cli_explain_service(int argc, char **argv)
{
    struct service_options o = {0};
    int status;
    if (!flags_parse(&flags, argc, argv, &o, &status))
        return status;
    if (!name_dns1123_label(o.name))
        return flags_wrong(&flags, o.name.ptr ? "\"%.*s\" is not the name of a RayService" : "explain service: its name is needed",
                           SLICE_ARG(o.name));
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    __attribute__((cleanup(buf_free))) struct buf out = {.max = EXPLAIN_WORDS_MAX};
    struct job j = {0};
    bool well = explain(&j, &o, &a, &out);
    seek_close(&j.seek);
    if (!well)
        return cli_fail(&j.e);
    return cli_print(buf_slice(&out)) ? STATUS_OK : STATUS_ERROR;
}
