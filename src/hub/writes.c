/* Requests that change the status or the finalizers of our objects, and those of them that the control plane sends on its own. Their bodies
 * are in hub.body. */
#include "private.h"

#include <mobula/work.h>

struct kube_request hub_patch(struct hub *h, const struct kube_resource *of, struct slice ns, struct slice name, const char *sub)
{
    return (struct kube_request){.method = SLICE("PATCH"),
                                 .path = hub_path(h, of, ns, name, slice_of(sub)),
                                 .content_type = SLICE(KUBE_TYPE_MERGE_PATCH),
                                 .body = buf_slice(&h->body)};
}

struct kube_request cloud_patch(struct hub *h, const struct cloud *c)
{
    return hub_patch(h, &hub_clouds, c->ns, c->name, "status");
}

struct kube_request workload_patch(struct hub *h, const struct workload *w, const char *sub, const char *type)
{
    struct kube_request r = hub_patch(h, &hub_workloads, w->ns, w->name, sub);
    r.content_type = slice_of(type);
    return r;
}

static void finalizer_patch(struct hub *h, const struct workload *w, bool add)
{
    char version[KUBE_VERSION_TEXT];
    buf_clear(&h->body);
    buf_printf(&h->body, "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"%.*s\"},", SLICE_ARG(w->object_uid));
    if (add) {
        buf_printf(&h->body, "{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\",\"value\":\"%.*s\"}",
                   SLICE_ARG(kube_version_format(w->version, version)));
        if (w->finalizer < 0)
            buf_printf(&h->body, ",{\"op\":\"add\",\"path\":\"/metadata/finalizers%s",
                       w->other_finalizers ? "/-\",\"value\":\"" HUB_FINALIZER "\"}" : "\",\"value\":[\"" HUB_FINALIZER "\"]}");
        if (!w->marks.identified) {
            buf_putc(&h->body, ',');
            identity_put(w, &h->body);
        }
        buf_putc(&h->body, ']');
    } else {
        buf_printf(&h->body,
                   "{\"op\":\"test\",\"path\":\"/metadata/finalizers/%d\",\"value\":\"" HUB_FINALIZER "\"},{\"op\":\"remove\",\"path\":"
                   "\"/metadata/finalizers/%d\"}]",
                   w->finalizer, w->finalizer);
    }
}

struct kube_request finalizer_request(struct hub *h, const struct workload *w, bool add)
{
    finalizer_patch(h, w, add);
    return workload_patch(h, w, "", KUBE_TYPE_JSON_PATCH);
}

/* The fields that a report may hold, as a patch of the workload's status; its body is h->body. */
struct kube_request ray_request(struct call *c, const struct workload *of, struct jval ray)
{
    struct hub *h = c->hub;
    char time[TIME_TEXT_MAX];
    struct jout w;
    buf_clear(&h->body);
    jout_init(&w, &h->body);
    jout_form(&w, "{status:{ray:{");
    work_ray_write(ray, &c->arena, &w);
    jout_form(&w, "reportTime:'%.*s'", SLICE_ARG(time_format(h->now.wall_us, time)));
    jout_end(&w);
    jout_end(&w);
    jout_end(&w);
    return workload_patch(h, of, "status", KUBE_TYPE_MERGE_PATCH);
}

/* ---- writes of the control plane ---- */

static void on_own_write(struct hub *h, struct call *c, void *about, const struct kube_answer *a)
{
    (void)c;
    (void)about;
    if (a->outcome == KUBE_REFUSED && a->status.code == 403 && log_memory_pass(&h->said, hash64(slice_of(a->status.message), 0), h->now))
        log_error("the control plane may not write its objects: give its account the role of the installation",
                  LF_CSTR("error", a->status.message));
}

void finalizer_write(struct hub *h, const struct workload *w, bool add)
{
    struct kube_request r = finalizer_request(h, w, add);
    hub_ask(h, NULL, &r, on_own_write, NULL);
}

/* Of a workload that is hidden, or is no more: that it is said makes a new version, which tells every replica's operators of it. */
void hidden_write(struct hub *h, const struct workload *w, const char *why)
{
    char time[TIME_TEXT_MAX];
    struct jout j;
    struct slice now = time_format(h->now.wall_us, time), message;
    if (why == HUB_UNFIT)
        message = arena_printf(&h->event,
                               "with its compute config it has more than %d KiB, %d values or %d levels, which no operator reads: make it "
                               "smaller",
                               LIMIT_HUB_SPEC / KIB, LIMIT_HUB_TOKENS, LIMIT_HUB_DEPTH);
    else
        message = arena_printf(
            &h->event, why ? "there is no compute config %.*s in this project (%.*s): make it" : "compute config %.*s is there since %.*s",
            SLICE_ARG(w->config), SLICE_ARG(now));
    buf_clear(&h->body);
    jout_init(&j, &h->body);
    jout_form(&j, "{status:{state:'%s',reason:'%s',message:'%.*s'}}", why == HUB_UNFIT ? "REFUSED" : "PENDING", why ? why : "",
              SLICE_ARG(message));
    struct kube_request r = workload_patch(h, w, "status", KUBE_TYPE_MERGE_PATCH);
    hub_ask(h, NULL, &r, on_own_write, NULL);
}

void end_write(struct hub *h, const struct workload *w)
{
    struct jout j;
    buf_clear(&h->body);
    jout_init(&j, &h->body);
    jout_form(
        &j,
        "{status:{state:'%s',reason:'Restored',message:'it ended before it was restored, and is not run again: submit it under another "
        "name',observedGeneration:%lld}}",
        w->over, (long long)(w->observed - w->base));
    struct kube_request r = workload_patch(h, w, "status", KUBE_TYPE_MERGE_PATCH);
    hub_ask(h, NULL, &r, on_own_write, NULL);
}

void deployment_id_write(struct hub *h, const struct cloud *c)
{
    buf_clear(&h->body);
    buf_printf(&h->body, "{\"status\":{\"deploymentId\":\"%s\"}}", c->id);
    struct kube_request r = cloud_patch(h, c);
    hub_ask(h, NULL, &r, NULL, NULL);
}
