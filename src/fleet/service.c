/* A VersionedService: reading it, writing to it, and waiting until its rollout is over. */
#include <mobula/kind_rayservice.h>
#include <mobula/kind_versioned.h>
#include <mobula/service.h>

enum { LOOK_MS = 1000 };

bool service_send(struct service_desk *d, service_call *call, struct slice path, struct slice body, struct err *e)
{
    struct ask_answer answer;
    char words[ASK_WORDS];
    if (!call(&d->seek.ask, path, body, d->seek.a, &answer, e))
        return false;
    d->conflict = answer.code == 409 && answer.reason == KUBE_CONFLICT;
    return answer.code / 100 == 2 || err_set(e, ERR_STATUS, "%s %.*s: %s", VERSIONED_KIND, SLICE_ARG(d->o.name), ask_words(&answer, words));
}

bool service_find(struct service_desk *d, const struct kube_resource *r, struct slice name, struct jval *out, bool *absent, struct err *e)
{
    struct ask_answer answer;
    char words[ASK_WORDS];
    *out = NO_VALUE;
    if (!ask_get(&d->seek.ask, seek_path(&d->seek, r, name, SLICE_NONE), NULL, d->seek.a, &answer, e))
        return false;
    *absent = answer.code == 404;
    if (answer.code == 200)
        return json_read(out, answer.body, d->seek.a, e);
    if (*absent && answer.object && slice_find_text(answer.message, "not found") >= 0)
        return true;
    return err_set(e, ERR_STATUS, "%.*s %.*s cannot be read: %s (mobula install --%s brings definition and operator)", SLICE_ARG(r->plural),
                   SLICE_ARG(name), ask_words(&answer, words), kind_versioned.optional.flag);
}

bool service_find_child(struct service_desk *d, struct slice version, struct jval *out, bool *absent, struct err *e)
{
    return service_find(d, kind_rayservice.resource, versioned_child_name(d->o.name, version, d->seek.a), out, absent, e);
}

bool service_find_live(struct service_desk *d, struct err *e)
{
    bool absent = false;
    if (!service_find(d, kind_versioned.resource, d->o.name, &d->live, &absent, e))
        return false;
    return !absent || err_set(e, ERR_MISSING, "there is no " VERSIONED_KIND " %.*s in namespace %.*s (mobula service list)",
                              SLICE_ARG(d->o.name), SLICE_ARG(d->seek.ns));
}

static void tell(struct service_desk *d, struct slice text)
{
    if (d->told)
        d->told(text);
}

static bool look_rollout(struct service_desk *d, bool *over, struct err *e)
{
    if (!service_find_live(d, e))
        return false;
    struct jval rollout = json_get(d->live, "status.rollout"), told = status_condition(json_get(d->live, "status"), SLICE("Progressing"));
    struct jval valid = status_condition(json_get(d->live, "status"), SLICE("Valid"));
    bool now = json_get_int(d->live, "metadata.generation", 0) == json_get_int(rollout, "generation", -1);
    struct slice phase = json_get_str(rollout, "phase", d->seek.a),
                 words = arena_clean(d->seek.a, json_get_str(told, "message", d->seek.a), LIMIT_JOB_MESSAGE);
    *over = now && !d->back && slice_is(phase, "Complete");
    if (d->back && json_get_int(d->live, "metadata.generation", 0) != d->back)
        return err_set(e, ERR_STATUS, "%.*s was changed before the rollback: mobula service status", SLICE_ARG(d->o.name));
    if (json_is(json_get(valid, "status"), "False"))
        return err_set(e, ERR_STATUS, "the spec is not carried out: %.*s", SLICE_ARG(json_get_str(valid, "message", d->seek.a)));
    *over |= now && d->back && slice_is(phase, "RolledBack") && json_there(json_get(rollout, "endTime"));
    if (now && !d->back && slice_is(phase, "RolledBack"))
        return err_set(e, ERR_STATUS, "%.*s", SLICE_ARG(words));
    if (*over)
        return true;
    if (words.len && hash64(words, 0) != d->said)
        tell(d, arena_printf(d->seek.a, "service %.*s: %.*s\n", SLICE_ARG(d->o.name), SLICE_ARG(words)));
    d->said = hash64(words, 0);
    return true;
}

bool service_wait(struct service_desk *d, service_look *look, const char *process, struct err *e)
{
    int64_t until_ms = clock_now().mono_ms + (d->o.wait_ms ? d->o.wait_ms : SERVICE_WAIT_MS);
    struct arena kept = *d->seek.a;
    bool well = true, over = false;
    *d->seek.a = (struct arena){0};
    while (well && !over) {
        arena_reset(d->seek.a, MIB);
        well = look(d, &over, e);
        if (well && !over && clock_now().mono_ms >= until_ms)
            well = err_set(e, ERR_TIMEOUT, "the %s of %.*s has not ended within --wait-timeout; it goes on", process, SLICE_ARG(d->o.name));
        if (well && !over && !ask_pause(&d->seek.ask, LOOK_MS))
            well = err_set(e, ERR_CLOSED, "ended by a signal; the %s goes on", process);
    }
    arena_free(d->seek.a);
    *d->seek.a = kept;
    d->live = NO_VALUE;
    return well;
}

bool service_wait_rollout(struct service_desk *d, struct err *e)
{
    return service_wait(d, look_rollout, "rollout", e);
}

/* The weight of a version in the spec, in percent; a single version has all requests. */
static int64_t wanted_weight(const struct service_desk *d, struct slice name)
{
    struct jval k, v, list = json_get(d->live, "spec.versions");
    for (struct jiter it = json_iter(list); json_next(&it, &k, &v);)
        if (slice_eq(json_get_str(v, "name", d->seek.a), name))
            return json_get_int(v, "weight", json_len(list) == 1 ? 100 : 0);
    return 0;
}

/* Fails if a version that served before this rollout no longer exists. *sum: the weights of those versions together. *differs: the spec has
 * other weights. */
static bool find_previous(struct service_desk *d, int64_t *sum, bool *differs, struct err *e)
{
    struct jval k, v, child;
    for (struct jiter it = json_iter(json_get(d->live, "status.rollout.previous")); json_next(&it, &k, &v);) {
        int64_t weight = json_get_int(v, "weight", 0);
        struct slice name = json_get_str(v, "name", d->seek.a);
        bool absent = false;
        *sum += weight;
        *differs |= weight != wanted_weight(d, name);
        if (weight > 0 && !service_find_child(d, name, &child, &absent, e))
            return false;
        if (absent)
            return err_set(e, ERR_MISSING, "version %.*s was deleted after the rollout: deploy it again with -f and --version-name %.*s",
                           SLICE_ARG(name), SLICE_ARG(name));
    }
    return true;
}

bool service_back(struct service_desk *d, int64_t *asked, struct err *e)
{
    int64_t sum = 0;
    bool differs = false;
    if (!service_find_live(d, e) || !find_previous(d, &sum, &differs, e))
        return false;
    long long generation = json_get_int(d->live, "metadata.generation", 0);
    if (json_get_int(d->live, "status.rollout.generation", -1) != generation || sum == 0)
        return err_set(e, ERR_STATUS, "there is nothing to go back to: no version served before this rollout, or it has not begun yet");
    if (!differs)
        return err_set(e, ERR_STATUS,
                       "there is nothing to go back to: this rollout changes no weight, and a change in place is not rolled back: deploy "
                       "the former file again");
    struct slice body = arena_printf(d->seek.a, "{\"metadata\":{\"annotations\":{\"" VERSIONED_BACK "\":\"%lld\"}}}", generation);
    *asked = generation;
    return service_send(d, ask_merge, seek_path(&d->seek, kind_versioned.resource, d->o.name, SLICE_NONE), body, e);
}
