/* The rules by name, and the administrator's file. */
#include <mobula/policy.h>
#include <mobula/text.h>

const struct work_rule work_rules[WORK_RULES + 1] = {
    [1] = {"namespaces", "objects are made in namespaces of the list alone", true},
    [2] = {"names", "names begin with the prefix, and nothing that is there already is adopted", true},
    [3] = {"privileges", "no privileges, capabilities, host namespaces or host ports", true},
    [4] = {"volumes", "volumes are empty folders, and claims and ConfigMaps of the lists", true},
    [5] = {"accounts", "service accounts are of the list", true},
    [6] = {"secrets", "Secrets and ConfigMaps are of the lists, and no token is mounted", true},
    [7] = {"images", "images match a pattern of the list", true},
    [8] = {"pull-secrets", "pull secrets are of the list", true},
    [9] = {"placement", "nodes, priorities, schedulers and runtimes are of the lists", true},
    [10] = {"resources", "pods and clusters are not larger than the limits", true},
    [11] = {"templates", "no containers, hooks, probes or fields beside those of a Ray pod", true},
    [12] = {"labels", "labels and annotations are mobula's own, or of the list", true},
    [13] = {"services", "Services are of type ClusterIP", true},
    [14] = {"ingresses", "no Ingress is made, but for hosts that the rule hosts allows", true},
    [15] = {"patches", "patches come from the administrator alone", true},
    [16] = {"ownership", "only objects of the same workload are changed or deleted", true},
    [17] = {"reads", "only named fields of its own objects' status go out", false},
    [18] = {"status", "no environment, annotation or node name goes out with a status", false},
    [19] = {"redirects", "redirects, other hosts and plain http are not followed", false},
    [20] = {"replays", "an older generation or revision changes nothing", false},
    [21] = {"messages", "an answer is read whole or not at all, within its limits", false},
    [22] = {"clocks", "no decision depends on the control plane's clock", false},
    [23] = {"floods", "calls and writes have a rate", false},
    [24] = {"kinds", "only RayClusters, RayJobs and VersionedServices are made; no program is fetched or replaced", true},
    [25] = {"freeze", "the administrator's switch stops every write", true},
    [26] = {"audit", "each write is in the log and an event, with its workload", false},
    [27] = {"sources", "code that Ray fetches comes from URLs of the list, and from no address of the node or the pod", true},
    [28] = {"hosts", "services get requests for hosts of the list, through the operator's own Gateway or class of Ingresses", true},
};

void work_policy_default(struct work_policy *out)
{
    static const struct slice any[] = {SLICE("*")}, zone[] = {SLICE("topology.kubernetes.io/zone"), SLICE("kubernetes.io/arch")},
                              sources[] = {SLICE("https://*"), SLICE("git+https://*"), SLICE("s3://*"),
                                           SLICE("gs://*"),    SLICE("azure://*"),     SLICE("abfss://*")};
    *out = (struct work_policy){.prefix = SLICE(""),
                                .pod.pods = LIMIT_WORK_PODS,
                                .logs = true,
                                .messages = true,
                                .writes_a_minute = WORK_WRITES,
                                .grace_s = WORK_GRACE_S};
    out->allowed[WORK_NAMESPACES].list = out->allowed[WORK_IMAGES].list = any;
    out->allowed[WORK_NAMESPACES].count = out->allowed[WORK_IMAGES].count = COUNT_OF(any);
    out->allowed[WORK_SOURCES].list = sources;
    out->allowed[WORK_SOURCES].count = COUNT_OF(sources);
    out->allowed[WORK_NODE_LABELS].list = zone;
    out->allowed[WORK_NODE_LABELS].count = COUNT_OF(zone);
}

static const char *const list_names[WORK_LISTS] = {
    [WORK_NAMESPACES] = "namespaces",
    [WORK_ACCOUNTS] = "serviceAccounts",
    [WORK_SECRETS] = "secrets",
    [WORK_CONFIGMAPS] = "configMaps",
    [WORK_CLAIMS] = "persistentVolumeClaims",
    [WORK_IMAGES] = "images",
    [WORK_PULL_SECRETS] = "imagePullSecrets",
    [WORK_NODE_LABELS] = "nodeLabels",
    [WORK_TOLERATIONS] = "tolerations",
    [WORK_PRIORITY_CLASSES] = "priorityClasses",
    [WORK_SCHEDULERS] = "schedulers",
    [WORK_RUNTIME_CLASSES] = "runtimeClasses",
    [WORK_LABELS] = "labels",
    [WORK_SOURCES] = "sources",
    [WORK_HOSTS] = "hosts",
};

static void read_list(struct reader *r, const struct place *at, enum work_list which, struct work_policy *out)
{
    struct jval k, v;
    if (!read_text_list(r, at))
        return;
    if (json_len(at->value) > LIMIT_WORK_LIST) {
        place_bad(r, at, "has %zu items: at most %d (LIMIT_WORK_LIST)", json_len(at->value), LIMIT_WORK_LIST);
        return;
    }
    struct slice *list = arena_array(r->arena, json_len(at->value) + 1, sizeof *list);
    uint32_t count = 0;
    for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v);)
        list[count++] = json_str(v, r->arena);
    out->allowed[which].list = list;
    out->allowed[which].count = count;
}

/* most: of a FIELD_NUMBER, which is 1 or more, the largest value; of a FIELD_AMOUNT (a Kubernetes quantity) the decimals of its unit. */
enum field_type { FIELD_FLAG, FIELD_AMOUNT, FIELD_NUMBER };
static const struct field {
    const char *name;
    size_t at;
    enum field_type type;
    int64_t most;
} fields[] = {
#define AT(member) offsetof(struct work_policy, member)
    {"frozen", AT(frozen), FIELD_FLAG, 0},
    {"sidecars", AT(sidecars), FIELD_FLAG, 0},
    {"requireDigest", AT(digests), FIELD_FLAG, 0},
    {"sendLogs", AT(logs), FIELD_FLAG, 0},
    {"sendMessages", AT(messages), FIELD_FLAG, 0},
    {"maxPodCPU", AT(pod.milli_cpu), FIELD_AMOUNT, 3},
    {"maxPodMemory", AT(pod.memory), FIELD_AMOUNT, 0},
    {"maxPodGPU", AT(pod.gpus), FIELD_AMOUNT, 0},
    {"maxPods", AT(pod.pods), FIELD_NUMBER, LIMIT_RAY_PODS},
    {"maxTotalCPU", AT(all.milli_cpu), FIELD_AMOUNT, 3},
    {"maxTotalMemory", AT(all.memory), FIELD_AMOUNT, 0},
    {"maxTotalGPU", AT(all.gpus), FIELD_AMOUNT, 0},
    {"maxTotalPods", AT(all.pods), FIELD_NUMBER, INT32_MAX},
    {"maxObjects", AT(objects), FIELD_NUMBER, LIMIT_REMOTE_WORKLOADS},
    {"maxProjectObjects", AT(project_objects), FIELD_NUMBER, LIMIT_REMOTE_WORKLOADS},
    {"newPerMinute", AT(new_a_minute), FIELD_NUMBER, LIMIT_WORK_RATE},
    {"maxGracePeriodSeconds", AT(grace_s), FIELD_NUMBER, INT32_MAX},
    {"writesPerMinute", AT(writes_a_minute), FIELD_NUMBER, LIMIT_WORK_RATE},
#undef AT
};
static const char prefix[] = "namePrefix";

static const struct field *field_find(struct slice name)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (slice_is(name, fields[i].name))
            return &fields[i];
    return NULL;
}

static enum work_list list_named(struct slice name)
{
    enum work_list i = 0;
    while (i < WORK_LISTS && !slice_is(name, list_names[i]))
        i++;
    return i;
}

bool work_policy_field(struct slice name)
{
    return field_find(name) || list_named(name) < WORK_LISTS || slice_is(name, prefix);
}

static void read_amount(struct reader *r, const struct place *at, int decimals, int64_t *out)
{
    struct slice text = json_type(at->value) == JSON_STRING ? json_str(at->value, r->arena) : json_raw(at->value);
    struct err e = {0};
    if (!quantity_parse(text, decimals, out, &e))
        place_bad(r, at, "is no amount: %s", e.text);
}

static void read_member(struct reader *r, const struct place *at, struct work_policy *out)
{
    const struct field *f = field_find(at->key);
    enum work_list list = list_named(at->key);
    void *to = f ? (char *)out + f->at : NULL;
    if (slice_is(at->key, prefix))
        read_text(r, at, REQUIRED, &out->prefix);
    else if (list < WORK_LISTS)
        read_list(r, at, list, out);
    else if (!f)
        place_bad(r, at, "is no field of a policy: what nobody knows may be a rule that is misspelt");
    else if (f->type == FIELD_FLAG)
        read_flag(r, at, to);
    else if (f->type == FIELD_AMOUNT)
        read_amount(r, at, (int)f->most, to);
    else
        read_int(r, at, 1, f->most, to);
}

bool work_policy_read(struct reader *r, const struct place *at, struct work_policy *out)
{
    uint32_t before = spec_errors_count(r->errors);
    struct jval k, v;
    work_policy_default(out);
    if (read_object(r, at, REQUIRED))
        for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v);) {
            const struct place *one = place_member(at, json_str(k, r->arena), v);
            if (value_given(v))
                read_member(r, one, out);
        }
    if (spec_errors_count(r->errors) == before)
        return true;
    work_policy_default(out);
    out->frozen = true;
    return false;
}

bool work_policy_text(struct slice text, struct arena *a, struct work_policy *out, struct spec_errors *errors)
{
    struct reader r = {.arena = a, .errors = errors};
    struct yaml_doc doc;
    struct jval root;
    work_policy_default(out);
    out->frozen = true;
    if (!spec_text_open(text, "rules", a, &doc, &root, errors))
        return false;
    const struct place *at = place_root(root, a);
    work_policy_read(&r, at, out);
    return spec_text_lines(&doc, errors);
}
