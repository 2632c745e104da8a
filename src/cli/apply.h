/* Applying the manifests of an installation: server-side apply of one object after another. Everything is tried in a dry run first, so that
 * a missing right, a foreign object or a namespace that is going away is reported before anything is changed. */
#ifndef MOBULA_CLI_APPLY_H
#define MOBULA_CLI_APPLY_H

#include <mobula/command.h>

#define APPLY_MANAGER "mobula" /* field manager */
#define APPLY_LABEL "app.kubernetes.io/name"
#define APPLY_VERSION_LABEL "app.kubernetes.io/version"

struct apply_object {
    struct slice json, api_version, kind, name, ns; /* ns: empty for objects of the whole cluster */
    struct slice path;                              /* of the object at the API server */
    struct slice version;                           /* resourceVersion before we came; empty: it did not exist, or may not be read */
    struct slice takeover; /* merge patch that moves fields applied by kubectl to our field manager (surplus.h); empty: none */
    bool force;            /* it is ours: fields that others have set on it are taken over */
    bool rolls;            /* a Deployment that is there and rolls: see apply.c */
    const char *passed;    /* why the object is skipped; NULL: it is applied */
    bool changed;          /* it was created, changed or deleted by us */
};

enum { APPLY_OBJECTS_MAX = 128, APPLY_FAILURES_MAX = 16, APPLY_WORDS_MAX = 8 * KIB };
struct apply {
    struct ask *ask;
    struct arena *a;
    struct apply_object *list;
    uint32_t count;
    bool definitions; /* --crds-only: an admission policy of a Helm release is skipped */
    bool replaces;    /* an installation of another version may be replaced */
    bool keeps_flags; /* fails if a flag of the existing Deployment would be dropped */
    bool image_given, resources_given, requests_given,
        replicas_given;        /* the command sets them: they may differ from those of the existing Deployment */
    bool spares;               /* apply_delete leaves objects under a name of ours that lack our label */
    struct slice installation; /* its namespace: apply_delete leaves objects of other installations; empty: owners are not compared */
    struct slice *next;        /* continue token of a list that apply_find reads in pages; NULL: only the first page is wanted */
    struct slice failures[APPLY_FAILURES_MAX];
    uint32_t failed; /* may be more than are kept */
};

/* The URL path of the object at the API server. */
struct slice apply_path(const struct apply_object *o, struct arena *a);
bool apply_has(const struct apply *p, struct slice path);
/* Reads YAML documents into the list. */
bool apply_read(struct apply *p, struct slice text, struct err *e);
/* Adds objects that lie at the API server to the list, at most as many as it holds: those of this kind, in this namespace (empty: in all),
 * with this label selector and this name; NULL: whatever they have. */
bool apply_find(struct apply *p, struct slice api_version, const char *kind, struct slice ns, const char *labels, const char *name,
                struct err *e);
/* Adds a failure for each Secret and ConfigMap that pods of the list's Deployments need and that neither exists nor is in the list. False:
 * the API server did not answer. */
bool apply_needs(struct apply *p, struct err *e);
/* The last warning event of a pod whose containers are being created; empty: none, or it may not be read. */
struct slice apply_pod_event(struct apply *p, struct slice ns, struct jval pod);
/* Looks at what is there and tries everything in a dry run. False: failures say what is wrong, and nothing was changed. */
bool apply_try(struct apply *p, struct err *e);
/* Applies all of it in order; a definition is waited for before the next object. Prints a line for each object. */
bool apply_all(struct apply *p, int64_t until_ms, struct err *e);
/* Waits until the Deployments of the list are available. Prints a line when what it waits for changes. */
bool apply_wait(struct apply *p, int64_t until_ms, struct err *e);
/* Applies one object without a line about it. */
bool apply_send(struct apply *p, const struct apply_object *o, struct ask_answer *answer, struct err *e);
/* Sends the apply of one object as a dry run (dryRun=All). */
bool apply_dry(struct apply *p, const struct apply_object *o, struct ask_answer *answer, struct err *e);
/* An object's JSON without status, managedFields, uid and the other fields that the API server, controllers and kubectl add. */
struct slice apply_plain(struct slice json, struct arena *a);
/* Prints a diff for each object that apply_all would change, and a line for each of `gone` as deleted. *count: the number of both. */
bool apply_diff(struct apply *p, const struct apply *gone, uint32_t *count, struct err *e);
/* Reads the object; NO_VALUE when it is absent. False with *e: no answer, or a refusal. */
bool apply_live(struct apply *p, const struct apply_object *o, struct jval *out, bool *absent, struct err *e);
/* Keeps a line for apply_failed. */
void apply_fail(struct apply *p, struct slice text);
/* Prints failures and *e. Returns the exit status. */
int apply_failed(const struct apply *p, const struct err *e);
/* Deletes all of it at once and then waits: for many objects that do not depend on each other. */
bool apply_purge(struct apply *p, int64_t until_ms, struct err *e);
/* Deletes all of it in order and waits until each is gone. What is not there is passed over. */
bool apply_delete(struct apply *p, int64_t until_ms, struct err *e);

/* ---- reading of answers, as functions of them ---- */

bool apply_is(const struct apply_object *o, const char *kind);
/* The Helm release that an object belongs to; empty: none. */
struct slice apply_release(struct jval there, struct arena *a);
/* Why the object that is there cannot be replaced by ours; false with *e. Sets o->force. */
bool apply_judge(struct apply_object *o, struct jval there, bool replaces, struct arena *a, struct err *e);
/* Whether an object under a name of ours is somebody else's, and so is not to be deleted. False with *e: a Helm release has it. */
bool apply_spared(const struct apply_object *o, struct jval there, struct arena *a, bool *spared, struct err *e);
/* The flags that the Deployment that is there has and the wanted one lacks, whatever their values; empty: none. */
struct slice apply_dropped(struct jval there, struct jval wanted, struct arena *a);
/* The same for flags of `mobula install` that do not become arguments of the operator: pull secrets, proxies, limits, files, image,
 * replicas, user. */
struct slice apply_dropped_elsewhere(const struct apply *p, struct jval there, struct jval wanted, struct arena *a);
/* The path of the list of a Deployment's pods. */
struct slice apply_pods(const struct apply_object *o, struct arena *a);
/* Whether a Deployment is available; *why says what is missing. */
bool apply_available(struct jval deployment, struct arena *a, struct slice *why);
/* The reason why a pod does not run, in the kubelet's words; empty: nothing is known. */
struct slice apply_pod_words(struct jval pod, struct arena *a);
/* The last warning of a list of events. */
struct slice apply_event_words(struct jval events, struct arena *a);
/* "Role mobula: 403 Forbidden: …": the server's whole message on one line, and the remedy. */
struct slice apply_refusal(const struct apply_object *o, const struct ask_answer *answer, struct arena *a);
/* The remedy for a refusal, as words to stand behind it; "" when its own text says it. */
const char *apply_remedy(const struct apply_object *o, const struct ask_answer *answer);

#endif
