/* The folder that comes with a job. PUT: whoever submits the job stores it, in a ConfigMap that the Workload owns; a folder whose SHA-256
 * the Workload does not name is refused. GET: the operator of the Workload's cloud fetches it. */
#include "private.h"

#include <mobula/tls.h>
#include <mobula/work.h>

struct folder {
    struct slice hash, base64;
};

static struct slice map_path(struct call *c, struct slice name)
{
    return hub_path(c->hub, &kube_configmaps, c->project, name, SLICE_NONE);
}

/* ---- stored ---- */

static void on_map_created(struct call *c)
{
    const struct kube_answer *a = c->answer;
    if (a->outcome == KUBE_OK || (a->outcome == KUBE_REFUSED && a->status.code == 409)) /* its name has the hash in it */
        call_answer(c, 200, SLICE("{}"));
    else
        call_refuse_as(c, a);
}

static void create_map(struct call *c)
{
    static const struct refusal other = {422, "Invalid", "create the workload with workingDir: upload: and SHA-256 of the zip file", 0};
    struct hub *h = c->hub;
    struct arena *a = &c->arena;
    struct jval doc;
    struct err e = {0};
    struct slice hash;
    const struct folder *given = c->folder;
    if (c->answer->outcome != KUBE_OK) {
        call_refuse_as(c, c->answer);
        return;
    }
    if (!json_read(&doc, c->answer->body, a, &e) || !work_folder_hash(json_get_str(doc, "spec.workingDir", a), &hash) ||
        !slice_eq(hash, given->hash)) {
        call_refuse(c, &other, "workload %.*s does not name this folder: it has SHA-256 %.*s", SLICE_ARG(c->name), SLICE_ARG(given->hash));
        return;
    }
    struct slice uid = json_get_str(doc, "metadata.uid", a);
    struct work_folder f = {.ns = c->project,
                            .name = work_folder_map(identity_of_workload(h, doc, a), hash, a),
                            .uid = uid,
                            .owner_version = SLICE("mobula.dev/v1"),
                            .owner_kind = SLICE("Workload"),
                            .owner_name = c->name,
                            .owner_uid = uid,
                            .hash = hash,
                            .base64 = given->base64};
    buf_clear(&h->body);
    work_folder_write(&f, a, &h->body);
    struct kube_request r = {
        .method = SLICE("POST"), .path = map_path(c, SLICE_NONE), .content_type = SLICE(KUBE_TYPE_JSON), .body = buf_slice(&h->body)};
    c->then = on_map_created;
    call_ask(c, &r);
}

static void take_folder(struct call *c)
{
    __attribute__((cleanup(buf_free))) struct buf zip = {.max = LIMIT_WORK_FOLDER};
    struct folder *f = arena_new(&c->arena, struct folder);
    char hex[TLS_SHA256_HEX];
    struct jval doc;
    struct err e = {0};
    bool read = json_read(&doc, c->ask->body, &c->arena, &e);
    f->base64 = read ? json_get_str(doc, "data", &c->arena) : SLICE("");
    if (!read || !base64_decode(f->base64, &zip, &e) || slice_empty(f->base64)) {
        call_refuse(c, &refuse_bad, "data is no zip file in base64 of at most %d bytes (LIMIT_WORK_FOLDER): %s", LIMIT_WORK_FOLDER, e.text);
        return;
    }
    tls_sha256_hex(buf_slice(&zip), hex);
    f->hash = arena_dup(&c->arena, slice_of(hex));
    c->folder = f;
    struct kube_request r = {
        .method = SLICE("GET"), .path = hub_path(c->hub, &hub_workloads, c->project, c->name, SLICE_NONE), .again = true};
    c->then = create_map;
    call_ask(c, &r);
}

void folder_put_begin(struct call *c)
{
    project_may(c, take_folder);
}

/* ---- given ---- */

static const struct refusal missing = {404, "FolderUnknown", "mobula job submit --working-dir stores it when it has created the workload",
                                       0};

static void on_map_read(struct call *c)
{
    const struct folder *f = c->folder;
    struct arena *a = &c->arena;
    struct jval doc;
    struct err e = {0};
    if (c->answer->outcome == KUBE_REFUSED && c->answer->status.code == 404) {
        call_refuse(c, &missing, "the folder of this workload is not stored yet");
        return;
    }
    if (c->answer->outcome != KUBE_OK || !json_read(&doc, c->answer->body, a, &e)) {
        call_refuse_as(c, c->answer);
        return;
    }
    struct slice base64 = json_str(json_child(json_get(doc, "binaryData"), work_folder_key(f->hash, a).ptr), a);
    struct jout w;
    struct buf b;
    buf_init(&b, LIMIT_JSON_ITEM);
    jout_init(&w, &b);
    jout_form(&w, "{data:'%.*s'}", SLICE_ARG(base64));
    call_answer(c, 200, buf_slice(&b));
    buf_free(&b);
}

static void read_map(struct call *c)
{
    struct kube_request r = {.method = SLICE("GET"), .path = map_path(c, c->uid), .again = true};
    c->then = on_map_read;
    call_ask(c, &r);
}

static void refuse_unknown_folder(struct call *c)
{
    call_refuse(c, &missing, "there is no workload in this project with a folder that you may fetch");
}

/* The caller must be the operator of the workload's cloud, and is checked as for /v1/sync: by the verb sync on that cloud. Other callers
 * get the same answer for a folder that exists and for one that does not. */
void folder_get_begin(struct call *c)
{
    struct hub *h = c->hub;
    struct arena *a = &c->arena;
    struct workload *w = workload_named(h, c->project, c->name);
    struct folder *f = arena_new(a, struct folder);
    struct jval spec;
    struct err e = {0};
    c->hide = refuse_unknown_folder;
    c->resource = hub_clouds.plural;
    if (!w || !w->of->present || !json_read(&spec, w->spec, a, &e) || !work_folder_hash(json_get_str(spec, "workingDir", a), &f->hash)) {
        c->name = SLICE("");
        auth_may(c, refuse_unknown_folder); /* so that the answer takes as long as one about a folder that exists */
        return;
    }
    f->hash = arena_dup(a, f->hash);
    c->folder = f;
    c->uid = work_folder_map(w->uid, f->hash, a);
    c->cloud = w->of;
    w->of->calls++;
    c->name = arena_dup(a, w->of->name);
    operator_may(c, read_map);
}
