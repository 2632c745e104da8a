/* Reads answers to an installation: functions of them alone. */
#include <mobula/release.h>

bool apply_is(const struct apply_object *o, const char *kind)
{
    return slice_eq(o->kind, slice_of(kind));
}

const char *apply_remedy(const struct apply_object *o, const struct ask_answer *answer)
{
    bool definition = apply_is(o, "CustomResourceDefinition");
    if (answer->manager_conflict)
        return definition ? ": keep it with --no-crds (mobula check says whether it fits), or take it over: mobula install --print "
                            "--crds-only | kubectl apply --server-side --force-conflicts -f -"
                          : ": the tool named there manages these fields: remove them there, or choose another --namespace";
    if (answer->namespace_terminating)
        return ": the namespace is being deleted; wait until it is gone, or choose another";
    if (answer->reason != KUBE_FORBIDDEN)
        return "";
    if (slice_has(answer->message, "exceeded quota"))
        return ": raise the quota";
    if (slice_empty(o->ns))
        return ": let an admin of the cluster apply --crds-only, then go on with --no-crds";
    if (slice_has(answer->message, "not currently held"))
        return ": whoever makes a Role must have every right in it: let a cluster's admin bind these to you, or apply it";
    return ": let an admin of the namespace apply it";
}

struct slice apply_refusal(const struct apply_object *o, const struct ask_answer *answer, struct arena *a)
{
    struct slice said = answer->message, rest;
    struct jval status;
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, APPLY_WORDS_MAX);
    if (answer->object && json_read(&status, answer->body, a, NULL)) /* answer->message is shortened: read all of it */
        said = json_get_str(status, "message", a);
    buf_printf(&out, "%.*s %.*s: ", SLICE_ARG(o->kind), SLICE_ARG(o->name));
    if (answer->object)
        buf_printf(&out, "%d %s: ", answer->code, kube_reason_text(answer->reason));
    for (rest = arena_cut(a, said, APPLY_WORDS_MAX / 2); rest.ptr;) { /* joins the lines of a list of rights or fields */
        buf_put(&out, slice_cut(&rest, '\n'));
        buf_put(&out, slice_empty(rest) ? SLICE_NONE : SLICE(" "));
    }
    buf_put(&out, slice_of(apply_remedy(o, answer)));
    return arena_dup(a, buf_slice(&out));
}

/* ---- existing objects ---- */

static bool is_ours(struct jval there)
{
    struct jval of = json_key(json_get(there, "metadata.labels"), SLICE(APPLY_LABEL));
    return json_str_eq(of, SLICE("mobula")) || json_str_eq(of, SLICE("mobula-control-plane"));
}

struct slice apply_release(struct jval there, struct arena *a)
{
    return json_str(json_key(json_get(there, "metadata.annotations"), SLICE("meta.helm.sh/release-name")), a);
}

bool apply_judge(struct apply_object *o, struct jval there, bool replaces, struct arena *a, struct err *e)
{
    struct slice release = apply_release(there, a);
    struct slice version = json_str(json_key(json_get(there, "metadata.labels"), SLICE(APPLY_VERSION_LABEL)), a);
    bool ours = is_ours(there);
    bool shared = apply_is(o, "Namespace") || apply_is(o, "CustomResourceDefinition");
    o->version = json_get_str(there, "metadata.resourceVersion", a);
    o->force = ours;
    o->rolls = json_there(json_get(there, "spec.strategy.rollingUpdate"));
    if (json_there(json_get(there, "metadata.deletionTimestamp")))
        return err_set(e, ERR_STATUS, "%.*s %.*s is being deleted: wait until it is gone%s", SLICE_ARG(o->kind), SLICE_ARG(o->name),
                       apply_is(o, "Namespace") ? ", or choose another" : "");
    if (!ours && !shared)
        return err_set(e, ERR_STATUS,
                       "%.*s %.*s exists in namespace %.*s and is not of mobula (it has no label " APPLY_LABEL
                       "): delete it, or choose another --namespace",
                       SLICE_ARG(o->kind), SLICE_ARG(o->name), SLICE_ARG(o->ns));
    struct slice owner = owner_of(there, a), wanted = owner_of_text(o->json, a);
    if (!slice_empty(owner) && !slice_empty(wanted) && !slice_eq(owner, wanted))
        return err_set(
            e, ERR_STATUS,
            "%.*s %.*s%s%.*s belongs to the installation in namespace %.*s: mobula upgrade --namespace=%.*s gives it a name of its "
            "own, mobula uninstall takes it away",
            SLICE_ARG(o->kind), SLICE_ARG(o->name), slice_empty(o->ns) ? "" : " in ", SLICE_ARG(o->ns), SLICE_ARG(owner), SLICE_ARG(owner));
    if (ours && !slice_empty(release) && slice_empty(o->release))
        return err_set(e, ERR_STATUS, "%.*s %.*s belongs to the Helm release %.*s: use helm upgrade, or helm uninstall first",
                       SLICE_ARG(o->kind), SLICE_ARG(o->name), SLICE_ARG(release));
    if (apply_is(o, "Deployment") && !replaces && !slice_eq(version, SLICE(MOBULA_VERSION)))
        return err_set(
            e, ERR_STATUS,
            "mobula %.*s is installed in namespace %.*s: mobula upgrade with the flags of its installation replaces it by " MOBULA_VERSION,
            SLICE_ARG(version), SLICE_ARG(o->ns));
    return true;
}

/* Objects that the program makes, and no installation brings, have no label. */
static bool has_label(const struct apply_object *o)
{
    return !apply_is(o, "ConfigMap") && !apply_is(o, "Secret") && !apply_is(o, "Lease") && !apply_is(o, "CustomResourceDefinition");
}

bool apply_spared(const struct apply_object *o, struct jval there, struct arena *a, bool *spared, struct err *e)
{
    struct slice release = apply_release(there, a);
    *spared = has_label(o) && !is_ours(there);
    return *spared || !has_label(o) || slice_empty(release) ||
           err_set(e, ERR_STATUS, "%.*s %.*s belongs to the Helm release %.*s: helm uninstall %.*s deletes it", SLICE_ARG(o->kind),
                   SLICE_ARG(o->name), SLICE_ARG(release), SLICE_ARG(release));
}

/* ---- waiting ---- */

struct slice apply_pods(const struct apply_object *o, struct arena *a)
{
    return arena_printf(a, "/api/v1/namespaces/%.*s/pods?labelSelector=app.kubernetes.io%%2Fname%%3D%.*s", SLICE_ARG(o->ns),
                        SLICE_ARG(o->name));
}

bool apply_available(struct jval deployment, struct arena *a, struct slice *why)
{
    int64_t want = json_get_int(deployment, "spec.replicas", 1), generation = json_get_int(deployment, "metadata.generation", 0),
            updated = json_get_int(deployment, "status.updatedReplicas", 0),
            available = json_get_int(deployment, "status.availableReplicas", 0), all = json_get_int(deployment, "status.replicas", 0);
    if (json_get_int(deployment, "status.observedGeneration", -1) < generation) {
        *why = SLICE("the controller manager has not looked at it yet");
        return false;
    }
    *why = arena_printf(a, "%lld of %lld pods are ready", (long long)(available < updated ? available : updated), (long long)want);
    return updated >= want && available >= want && all <= updated;
}

struct slice apply_pod_words(struct jval pod, struct arena *a)
{
    struct slice name = json_get_str(pod, "metadata.name", a);
    struct jval status = json_get(pod, "status"), state = json_get(json_at(json_get(status, "containerStatuses"), 0), "state");
    struct jval waiting = json_get(state, "waiting"), ended = json_get(state, "terminated");
    if (json_there(json_get(pod, "metadata.deletionTimestamp")))
        return SLICE_NONE; /* the rollout replaces it */
    if (json_there(waiting))
        return arena_printf(a, "pod %.*s: %.*s %.*s", SLICE_ARG(name), SLICE_ARG(json_get_str(waiting, "reason", a)),
                            SLICE_ARG(json_get_str(waiting, "message", a)));
    if (json_there(ended))
        return arena_printf(a, "pod %.*s ended with status %lld: kubectl logs says why", SLICE_ARG(name),
                            (long long)json_get_int(ended, "exitCode", -1));
    if (!condition_is(status, "PodScheduled", "False"))
        return SLICE_NONE;
    struct slice why = json_get_str(status_condition(status, SLICE("PodScheduled")), "message", a);
    return arena_printf(a, "pod %.*s: %.*s", SLICE_ARG(name), SLICE_ARG(why));
}
