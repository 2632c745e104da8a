/* A world of RayJobs that pods submit: who these pods are, and what they do. */
#ifndef MOBULA_TEST_SUBMITTERS_H
#define MOBULA_TEST_SUBMITTERS_H

#include "jobs.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

enum { PODS_MAX = 8 };

struct submitters {
    struct slice names[PODS_MAX];
    uint32_t count;
};

static struct submitters submitters_of(struct world *w, const char *job)
{
    struct submitters out = {0};
    struct slice list, path = arena_printf(&w->arena, "%s?labelSelector=ray.io%%2Foriginated-from-cr-name%%3D%s", pods_path, job);
    struct json *doc = arena_new(&w->arena, struct json);
    struct err e = {0};
    struct jval k, pod;
    CHECK_INT(world_ask(w, "GET", path.ptr, "application/json", SLICE_NONE, &list), 200);
    if (CHECK(json_parse(doc, list, &w->arena, &e)))
        for (struct jiter it = json_iter(json_get(json_root(doc), "items")); json_next(&it, &k, &pod) && out.count < PODS_MAX;)
            if (json_str_eq(json_get(json_at(json_get(pod, "metadata.ownerReferences"), 0), "kind"), SLICE("RayJob")))
                out.names[out.count++] = arena_dup(&w->arena, json_get_str(pod, "metadata.name", &w->arena));
    return out;
}

static struct jval pod_value(struct world *w, struct slice name, const char *path)
{
    struct json *doc = arena_new(&w->arena, struct json);
    struct err e = {0};
    struct slice text = apiserver_get(w->server, SLICE("pods"), SLICE("n"), name, &w->arena);
    return CHECK(json_parse(doc, text, &w->arena, &e)) ? json_get(json_root(doc), path) : (struct jval){.at = -1};
}

/* What `mobula submit` in there would send. */
static void submit_from(struct world *w, const char *job, struct slice pod)
{
    struct jval k, word, command = json_get(json_at(pod_value(w, pod, "spec.containers"), 0), "command");
    struct slice id = SLICE_NONE, entrypoint = SLICE_NONE, text;
    for (struct jiter it = json_iter(command); json_next(&it, &k, &word); entrypoint = text) {
        text = json_str(word, &w->arena);
        if (slice_starts(text, SLICE("--submission-id=")))
            id = slice_skip(text, strlen("--submission-id="));
    }
    struct buf answer;
    buf_init(&answer, MIB);
    CHECK_SLICE(id, job_says(w, job, "jobId"));
    struct slice body =
        arena_printf(&w->arena, "{\"submission_id\":\"%.*s\",\"entrypoint\":\"%.*s\"}", SLICE_ARG(id), SLICE_ARG(entrypoint));
    CHECK_INT(board_submit(ray_of(w, job), body, &answer), 200);
    buf_free(&answer);
}

static void end_pod(struct world *w, struct slice pod, int code)
{
    struct slice path = arena_printf(&w->arena, "%s/%.*s/status", pods_path, SLICE_ARG(pod));
    struct slice name = json_get_str(json_at(pod_value(w, pod, "spec.containers"), 0), "name", &w->arena);
    struct slice patch =
        arena_printf(&w->arena,
                     "{\"status\":{\"phase\":\"%s\",\"containerStatuses\":[{\"name\":\"%.*s\",\"ready\":false,\"image\":\"i\","
                     "\"imageID\":\"\",\"restartCount\":0,\"state\":{\"terminated\":{\"exitCode\":%d,\"reason\":\"%s\"}}}]}}",
                     code ? "Failed" : "Succeeded", SLICE_ARG(name), code, code ? "Error" : "Completed");
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/merge-patch+json", patch), 200);
}

static void make_pod_world(struct world *w)
{
    make_job_world(w, false);
    world_kill_operator(w);
    w->executable = SLICE("\x7f"
                          "ELF");
    w->submitter_pods = true;
    world_start_operator(w, false);
}

#pragma GCC diagnostic pop

#endif
