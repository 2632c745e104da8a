/* Likely mistakes in the groups of a ray.io/v1 cluster, although each field is right. */
#include "build.h"

static const struct place *first_container(const struct place *containers)
{
    return place_element(containers, 0, json_at(containers->value, 0));
}

/* ---- versions ---- */

static void note_version(struct reader *r, const struct place *spec, const struct place *container)
{
    const struct place *version = place_key(spec, "rayVersion"), *image = place_key(container, "image");
    struct slice said = json_str(version->value, r->arena), text = json_str(image->value, r->arena);
    int64_t of_image = ray_image_version(text), of_spec = ray_version_number(said);
    if (of_image && of_spec && of_image != of_spec)
        place_bad(r, image, "is Ray %lld.%lld by its tag, and rayVersion is %.*s, by which flags are chosen: make them the same",
                  (long long)(of_image / 1000), (long long)(of_image % 1000), SLICE_ARG(slice_head(said, 32)));
}

/* ---- ports ---- */

static bool has_port(struct jval list, const char *key, int32_t port)
{
    struct jval k, v;
    for (struct jiter it = json_iter(list); json_next(&it, &k, &v);)
        if (json_get_int(v, key, 0) == port)
            return true;
    return false;
}

/* A service with an address of its own has the ports that are named, and no other. */
static void note_gcs_port(struct reader *r, const struct place *head, const struct place *container)
{
    const struct place *type = place_key(head, "serviceType"), *service = place_key(head, "headService"),
                       *service_spec = place_key(service, "spec");
    const struct place *ports = place_key(container, "ports"), *params = place_key(head, "rayStartParams");
    struct slice kind = json_str(type->value, r->arena);
    int32_t gcs = RAY_GCS_PORT;
    bool custom = place_given(service);
    bool headless = custom ? json_is(json_get(service_spec->value, "clusterIP"), "None") : slice_empty(kind) || slice_is(kind, "ClusterIP");
    read_port(json_str(json_get(params->value, "port"), r->arena), &gcs);
    if (headless || json_len(ports->value) == 0 || has_port(ports->value, "containerPort", gcs) ||
        has_port(json_get(service_spec->value, "ports"), "port", gcs))
        return;
    place_bad(r, ports,
              "lack %d, by which workers reach the head, and the head's service has these ports alone: add containerPort %d, "
              "name gcs-server",
              (int)gcs, (int)gcs);
}

/* ---- numbers, flags, GPUs ---- */

static void note_replicas(struct reader *r, const struct place *group)
{
    const struct place *replicas = place_key(group, "replicas"), *min = place_key(group, "minReplicas"),
                       *max = place_key(group, "maxReplicas");
    int64_t n, least = 0, most = INT32_MAX;
    json_int(min->value, &least);
    json_int(max->value, &most);
    if (!json_int(replicas->value, &n) || least > most)
        return;
    if (n > most)
        place_bad(r, replicas, "is %lld, above maxReplicas: there will be %lld", (long long)n, (long long)most);
    if (n < least)
        place_bad(r, replicas, "is %lld, below minReplicas: there will be %lld", (long long)n, (long long)least);
}

static void note_worker_flags(struct reader *r, const struct place *group)
{
    const struct place *params = place_key(group, "rayStartParams"), *head = place_key(params, "head"),
                       *address = place_key(params, "address");
    if (place_given(head) && !json_is(head->value, "false"))
        place_bad(r, head, "makes a head of each worker: remove it");
    if (place_given(address))
        place_bad(r, address, "is given to workers anyway, as the address of their head: remove it");
}

static void note_gpus(struct reader *r, const struct place *container)
{
    const struct place *resources = place_key(container, "resources"), *limits = place_key(resources, "limits");
    struct slice least = SLICE_NONE;
    uint32_t kinds = 0;
    struct jval k, v;
    for (struct jiter it = json_iter(limits->value); json_next(&it, &k, &v);) {
        struct slice key = json_str(k, r->arena);
        if (!is_gpu_key(key))
            continue;
        kinds++;
        if (!least.ptr || slice_cmp(key, least) < 0)
            least = key;
    }
    if (kinds > 1)
        place_bad(r, limits, "have more than one kind of GPU: Ray sees %.*s alone, as it counts GPUs as one kind",
                  SLICE_ARG(slice_head(least, 64)));
}

/* ---- annotations, of which the API server knows nothing ---- */

static bool is_time(struct slice text)
{
    int64_t ms;
    return duration_parse(text, &ms, NULL);
}

static bool is_truth(struct slice text)
{
    return slice_is(text, "true") || slice_is(text, "false");
}

bool ray_market_known(struct slice market)
{
    return slice_is(market, "ON_DEMAND") || slice_is(market, "SPOT") || slice_is(market, "PREFER_SPOT");
}

/* Each zone becomes a label. */
static bool is_zones(struct slice text)
{
    while (!slice_empty(text)) {
        struct slice zone = slice_trim(slice_cut(&text, ','));
        if (!name_label_value(zone))
            return false;
    }
    return true;
}

static void note_annotations(struct reader *r, const struct place *template, bool head)
{
    static const struct {
        const char *key;
        bool (*good)(struct slice text);
        bool head; /* where it counts; others: in each template */
        const char *want;
    } known[] = {{RAY_NOTE_ZONE_TIMEOUT, is_time, true, "a time, such as 10m"},
                 {RAY_NOTE_STARTING_TIMEOUT, is_time, true, "a time, such as 25m"},
                 {RAY_NOTE_CROSS_ZONE, is_truth, true, "true or false"},
                 {RAY_NOTE_FOLLOW, is_truth, false, "true or false"},
                 {RAY_LABEL_MARKET, ray_market_known, false, "ON_DEMAND, SPOT or PREFER_SPOT"},
                 {RAY_LABEL_ZONE, is_zones, false, "zones with commas between them"}};
    const struct place *metadata = place_key(template, "metadata"), *notes = place_key(metadata, "annotations");
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        const struct place *one = place_key(notes, known[i].key);
        struct slice text = json_str(one->value, r->arena);
        if (!text.ptr)
            continue;
        if (known[i].head && !head)
            place_bad(r, one, "has no effect here: it belongs in the head's template");
        else if (!known[i].good(text))
            place_bad(r, one, "is %.*s: write %s", SLICE_ARG(slice_head(text, 64)), known[i].want);
    }
}

/* ---- containers ---- */

static void note_variables(struct reader *r, const struct place *list)
{
    struct jval k, v;
    size_t i = 0;
    if (place_type(list) != JSON_ARRAY)
        return;
    for (struct jiter it = json_iter(list->value); json_next(&it, &k, &v); i++) {
        struct slice name = json_get_str(v, "name", r->arena);
        const struct place *at = place_element(list, i, v);
        for (size_t j = 0; j < i; j++)
            if (!slice_empty(name) && json_str_eq(json_get(json_at(list->value, j), "name"), name)) {
                place_bad(r, at, "sets %.*s a second time: this value counts, remove the other one", SLICE_ARG(slice_head(name, 64)));
                break;
            }
    }
}

void note_containers(struct reader *r, const struct place *pod)
{
    static const char *const lists[] = {"containers", "initContainers"};
    struct jval k, v;
    for (size_t n = 0; n < COUNT_OF(lists); n++) {
        const struct place *list = place_key(pod, lists[n]);
        size_t i = 0;
        if (place_type(list) != JSON_ARRAY)
            continue;
        for (struct jiter it = json_iter(list->value); json_next(&it, &k, &v); i++) {
            const struct place *one = place_element(list, i, v), *image = place_key(one, "image"), *env = place_key(one, "env");
            const char *bad = json_type(image->value) == JSON_STRING ? image_reference_bad(json_str(image->value, r->arena)) : NULL;
            if (bad)
                place_bad(r, image, "%s: no node can pull it", bad);
            note_variables(r, env);
        }
    }
}

/* Values that a shell would run where KubeRay starts Ray; here they are quoted. And a dashboard-host that listens on loopback only. */
static void note_values(struct reader *r, const struct place *group, bool head)
{
    const struct place *params = place_key(group, "rayStartParams"), *host = place_key(params, "dashboard-host");
    struct jval k, v;
    for (struct jiter it = json_iter(params->value); json_next(&it, &k, &v);) {
        const struct place *at = place_member(params, json_str(k, r->arena), v);
        struct slice text = json_str(v, r->arena);
        if (slice_has(text, "$(") || slice_has(text, "`"))
            place_bad(r, at,
                      "holds a command, which is not run: Ray gets the text as it stands. Set a variable in the container's args "
                      "(args: ['export NAME=$(command)']) and write $NAME here");
    }
    struct slice text = json_str(host->value, r->arena);
    if (head && (slice_starts(text, SLICE("127.")) || slice_is(text, "localhost") || slice_is(text, "::1")))
        place_bad(r, host,
                  "is %.*s, at which the dashboard is heard in its own pod alone: probes, jobs and the operator ask it from outside. "
                  "Remove it",
                  SLICE_ARG(text));
}

static void note_group(struct reader *r, const struct place *spec, const struct place *group, bool head)
{
    const struct place *template = place_key(group, "template"), *pod = place_key(template, "spec"),
                       *containers = place_key(pod, "containers");
    const struct place *container = first_container(containers);
    note_version(r, spec, container);
    note_params(r, spec, group, json_get_str(container->value, "image", r->arena));
    note_annotations(r, template, head);
    note_containers(r, pod);
    note_values(r, group, head);
    note_gpus(r, container);
    if (head) {
        note_gcs_port(r, group, container);
        return;
    }
    note_replicas(r, group);
    note_worker_flags(r, group);
}

void note_groups(struct reader *r, const struct place *spec)
{
    const struct place *head = place_key(spec, "headGroupSpec"), *groups = place_key(spec, "workerGroupSpecs");
    note_group(r, spec, head, true);
    for (size_t i = 0; place_type(groups) == JSON_ARRAY && i < json_len(groups->value); i++) {
        const struct place *group = place_element(groups, i, json_at(groups->value, i));
        note_group(r, spec, group, false);
    }
}
