#include "private.h"

#include <mobula/kind_rayservice.h>
#include <mobula/rayservice.h>

static void find_rest(struct seek *s, struct slice name, struct explain_service *f)
{
    int code;
    struct arena *a = s->a;
    struct slice selector = arena_printf(a, RAY_LABEL_MAKER_NAME "=%.*s," RAY_LABEL_MAKER_KIND "=RayService", SLICE_ARG(name));
    __attribute__((cleanup(buf_free))) struct buf path = {.max = LIMIT_HTTP_URL};
    f->serve_name = rayservice_serve_name(name, json_get(f->object, "spec.serveService"), a);
    if (!explain_find(s, seek_path(s, &kube_services, f->serve_name, SLICE_NONE), &f->serve, &f->serve_silence, &code) && code == 404)
        f->serve_silence = SLICE_NONE;
    kube_path(&path, &ray_resources[RAY_V1], s->ns, SLICE_NONE, SLICE_NONE);
    kube_query(&path, "labelSelector", selector);
    struct jval all;
    f->clusters = explain_find(s, buf_slice(&path), &all, &f->clusters_silence, &code) ? json_get(all, "items") : NO_VALUE;
}

bool explain_service_named(struct seek *s, struct slice name, struct buf *out, struct err *e)
{
    struct explain_service f = {.serve = NO_VALUE, .clusters = NO_VALUE};
    struct err other = {0};
    if (!explain_find_object(s, &kind_rayservice, name, &f.object, e))
        return explain_versioned_named(s, name, out, &other) && (*e = (struct err){0}, true);
    find_rest(s, name, &f);
    f.unwatched = explain_unwatched(s, f.object);
    f.now_us = clock_now().wall_us;
    explain_service_words(&f, s->a, out);
    return true;
}
