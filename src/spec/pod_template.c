/* A pod template is opaque in our CRDs. What of it the builders read or write must have the types of the Kubernetes API, or they would
 * build nonsense; all else is left to the API server, which says it better. */
#include <mobula/spec.h>

typedef void check_one(struct reader *r, const struct place *p);

/* Each element of a list of objects, which may be missing. */
static void each(struct reader *r, const struct place *list, check_one *check)
{
    if (!read_array(r, list, OPTIONAL))
        return;
    size_t i = 0;
    struct jval k, v;
    for (struct jiter it = json_iter(list->value); json_next(&it, &k, &v); i++) {
        const struct place *at = place_element(list, i, v);
        if (read_object(r, at, REQUIRED))
            check(r, at);
    }
}

static void check_member_list(struct reader *r, const struct place *p, const char *key, check_one *check)
{
    const struct place *list = place_key(p, key);
    each(r, list, check);
}

static void need_text(struct reader *r, const struct place *p, const char *key, enum presence presence)
{
    const struct place *at = place_key(p, key);
    struct slice text;
    if (read_text(r, at, presence, &text) && slice_empty(text) && presence == REQUIRED)
        place_bad(r, at, "is empty");
}

static void check_env(struct reader *r, const struct place *p)
{
    need_text(r, p, "name", REQUIRED);
    need_text(r, p, "value", OPTIONAL);
}

static void check_mount(struct reader *r, const struct place *p)
{
    need_text(r, p, "name", REQUIRED);
    need_text(r, p, "mountPath", REQUIRED);
}

static void check_port(struct reader *r, const struct place *p)
{
    static const char *const protocols[] = {"TCP", "UDP", "SCTP", NULL};
    const struct place *port = place_key(p, "containerPort"), *protocol = place_key(p, "protocol");
    struct slice text;
    int64_t n;
    if (!place_given(port))
        place_bad(r, port, "is missing: must be a number");
    read_int(r, port, 1, 65535, &n);
    need_text(r, p, "name", OPTIONAL);
    read_word(r, protocol, protocols, &text);
}

static void check_volumes(struct reader *r, const struct place *spec, const char *volume)
{
    const struct place *list = place_key(spec, "volumes");
    if (!read_array(r, list, OPTIONAL))
        return;
    size_t i = 0;
    struct jval k, v;
    for (struct jiter it = json_iter(list->value); json_next(&it, &k, &v); i++) {
        const struct place *at = place_element(list, i, v), *name = place_key(at, "name");
        if (!read_object(r, at, REQUIRED))
            continue;
        need_text(r, at, "name", REQUIRED);
        if (json_is(name->value, volume))
            place_bad(r, name, "is %s, a volume that the operator adds: choose another", volume);
    }
}

static void check_amounts(struct reader *r, const struct place *resources, const char *side)
{
    const struct place *all = place_key(resources, side);
    if (!read_object(r, all, OPTIONAL))
        return;
    struct jval k, v;
    for (struct jiter it = json_iter(all->value); json_next(&it, &k, &v);) {
        const struct place *at = place_member(all, json_str(k, r->arena), v);
        struct err e = {0};
        int64_t n;
        int decimals = slice_is(at->key, "cpu") ? 3 : 0;
        if (!value_quantity(v, decimals, &n, &e, r->arena))
            place_bad(r, at, "is no amount: %s", e.text);
    }
}

static void check_container(struct reader *r, const struct place *p)
{
    const struct place *resources = place_key(p, "resources");
    need_text(r, p, "name", REQUIRED);
    check_member_list(r, p, "env", check_env);
    check_member_list(r, p, "ports", check_port);
    check_member_list(r, p, "volumeMounts", check_mount);
    if (read_object(r, resources, OPTIONAL)) {
        check_amounts(r, resources, "limits");
        check_amounts(r, resources, "requests");
    }
}

static void check_first(struct reader *r, const struct place *containers)
{
    const struct place *first = place_element(containers, 0, json_at(containers->value, 0));
    if (place_type(first) != JSON_OBJECT)
        return;
    const struct place *command = place_key(first, "command"), *args = place_key(first, "args"),
                       *security = place_key(first, "securityContext");
    need_text(r, first, "image", REQUIRED); /* init containers of ours run in it */
    need_text(r, first, "imagePullPolicy", OPTIONAL);
    read_text_list(r, command);
    read_text_list(r, args);
    read_object(r, security, OPTIONAL);
}

static void check_metadata(struct reader *r, const struct place *template)
{
    const struct place *meta = place_key(template, "metadata");
    if (!read_object(r, meta, OPTIONAL))
        return;
    const struct place *labels = place_key(meta, "labels"), *annotations = place_key(meta, "annotations");
    read_text_map(r, labels);
    read_text_map(r, annotations);
}

void check_pod_template(struct reader *r, const struct place *template, const char *volume)
{
    const struct place *spec = place_key(template, "spec");
    check_metadata(r, template);
    if (!read_object(r, spec, REQUIRED))
        return;
    const struct place *containers = place_key(spec, "containers"), *init = place_key(spec, "initContainers");
    if (read_array(r, containers, REQUIRED)) {
        if (json_len(containers->value) == 0)
            place_bad(r, containers, "is empty: must have one container at least, the first is the one that matters");
        each(r, containers, check_container);
        check_first(r, containers);
    }
    each(r, init, check_container);
    check_volumes(r, spec, volume);
    need_text(r, spec, "restartPolicy", OPTIONAL);
}
