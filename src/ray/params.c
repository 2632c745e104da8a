/* Checks rayStartParams as `ray start` of Ray 2.60 does: values, ports used twice, and parameters that the Ray version does not know. With
 * a value that Ray refuses, the container would fail at every start. Values with a shell variable are not checked: only the container knows
 * them. */
#include "build.h"
#include "shell.h"

#define BYTES_MOST INT64_C(100000000000000) /* Ray's MAX_RESOURCE_QUANTITY */

enum value {
    ANY,       /* text */
    SWITCH,    /* a flag without a value, written if "true" */
    TRUTH,     /* true or false, written as a value */
    WHOLE,     /* a whole number from least to most */
    MAYBE,     /* the same, or 0: Ray chooses */
    OURS,      /* a port that the operator must know, too */
    REAL,      /* a number with a fraction */
    PORTS,     /* a list of ports */
    RESOURCES, /* a JSON object of whole numbers */
    OBJECT     /* a JSON object */
};

/* since, until: the first and the last Ray version that has the parameter, as ray_version_number; 0: no bound. */
struct param {
    const char *name;
    enum value value;
    bool head; /* refused on workers */
    int64_t least, most;
    uint16_t since, until;
    bool component; /* the value is the port of a Ray component … */
    int32_t port;   /* … and this is its default; 0: Ray picks a free port */
};
enum { PORT_MOST = 65535, PORT_LEAST = 1024, WORKER_LEAST = 10002, WORKER_MOST = 19999 };

static const struct param table[] = {
    {"node-ip-address", .value = ANY},
    {"address", .value = ANY},
    {"port", .value = OURS, .head = true, .component = true, .port = RAY_GCS_PORT},
    {"node-name", .value = ANY},
    {"redis-username", .value = ANY, .since = 2041},
    {"redis-password", .value = ANY},
    {"redis-shard-ports", .value = ANY, .head = true},
    {"object-manager-port", .value = WHOLE, .most = INT32_MAX, .component = true},
    {"node-manager-port", .value = WHOLE, .most = INT32_MAX, .component = true},
    {"min-worker-port", .value = MAYBE, .least = PORT_LEAST, .most = PORT_MOST},
    {"max-worker-port", .value = MAYBE, .least = PORT_LEAST, .most = PORT_MOST},
    {"worker-port-list", .value = PORTS},
    {"ray-client-server-port", .value = WHOLE, .least = PORT_LEAST, .most = PORT_MOST, .component = true, .port = 10001},
    {"memory", .value = WHOLE, .most = BYTES_MOST},
    {"object-store-memory", .value = WHOLE, .least = 75 * MIB, .most = BYTES_MOST},
    {"num-cpus", .value = WHOLE, .most = BYTES_MOST},
    {"num-gpus", .value = WHOLE, .most = BYTES_MOST},
    {"resources", .value = RESOURCES},
    {"head", .value = SWITCH},
    {"include-dashboard", .value = TRUTH, .head = true},
    {"dashboard-host", .value = ANY},
    {"dashboard-port", .value = OURS, .component = true, .port = RAY_DASHBOARD_PORT},
    {"dashboard-agent-listen-port", .value = OURS, .component = true, .port = RAY_AGENT_PORT},
    {"dashboard-agent-grpc-port", .value = WHOLE, .most = PORT_MOST, .component = true},
    {"dashboard-grpc-port", .value = WHOLE, .most = PORT_MOST, .until = 2047},
    {"gcs-server-port", .value = WHOLE, .most = PORT_MOST, .until = 2047},
    {"runtime-env-agent-port", .value = MAYBE, .least = PORT_LEAST, .most = PORT_MOST, .component = true},
    {"block", .value = SWITCH},
    {"plasma-directory", .value = ANY},
    {"object-spilling-directory", .value = ANY, .since = 2045},
    {"autoscaling-config", .value = ANY},
    {"no-redirect-output", .value = SWITCH},
    {"plasma-store-socket-name", .value = ANY, .until = 2047},
    {"raylet-socket-name", .value = ANY, .until = 2047},
    {"temp-dir", .value = ANY},
    {"storage", .value = ANY, .until = 2047},
    {"redis-max-memory", .value = WHOLE, .until = 2043, .most = BYTES_MOST},
    {"system-config", .value = OBJECT, .head = true},
    {"enable-object-reconstruction", .value = SWITCH},
    {"metrics-export-port", .value = OURS, .component = true, .port = RAY_METRICS_PORT},
    {"no-monitor", .value = SWITCH},
    {"tracing-startup-hook", .value = ANY},
    {"ray-debugger-external", .value = SWITCH},
    {"disable-usage-stats", .value = SWITCH},
    {"labels", .value = ANY},
    {"labels-file", .value = ANY, .since = 2045},
    {"include-log-monitor", .value = TRUTH, .since = 2041},
    {"enable-resource-isolation", .value = SWITCH, .since = 2045},
    {"system-reserved-cpu", .value = REAL, .since = 2045},
    {"system-reserved-memory", .value = WHOLE, .most = BYTES_MOST, .since = 2045},
    {"cgroup-path", .value = ANY, .since = 2045},
    {"proxy-server-url", .value = ANY, .since = 2055},
    {"log-style", .value = ANY},
    {"log-color", .value = ANY},
    {"verbose", .value = ANY},
};

static const struct param *find_param(struct slice name)
{
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (slice_is(name, table[i].name))
            return &table[i];
    return NULL;
}

/* The value as the shell passes it to Ray. False: it depends on the container's variables. */
static bool value_of(const struct place *at, struct arena *a, struct slice *out)
{
    *out = json_str(at->value, a);
    return !shell_is_word(*out) || shell_unquote(*out, a, out);
}

/* As Python's int() reads it. */
static bool python_int(struct slice text, struct arena *a, int64_t *out)
{
    struct slice s = slice_trim(text);
    char *bare = arena_alloc(a, s.len + 1);
    size_t n = 0;
    for (size_t i = s.len && s.ptr[0] == '+'; i < s.len; i++)
        if (s.ptr[i] != '_')
            bare[n++] = s.ptr[i];
    return slice_int((struct slice){bare, n}, out);
}

static bool is_truth(struct slice s)
{
    static const char *const words[] = {"true", "false", "1", "0", "t", "f", "yes", "no", "y", "n", "on", "off"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (slice_eq_nocase(s, slice_of(words[i])))
            return true;
    return false;
}

/* ---- one value ---- */

static void check_number(struct reader *r, const struct place *at, const struct param *p, struct slice text)
{
    int64_t n, amount;
    if (p->value == OURS) {
        int32_t port;
        if (!read_port(json_str(at->value, r->arena), &port))
            place_bad(r, at, "is no port: must be a number from 1 to 65535, as the operator itself must know it");
    } else if (!python_int(text, r->arena, &n)) {
        bool said = quantity_parse(text, 0, &amount, NULL) && amount >= p->least && amount <= p->most;
        struct slice hint = said ? arena_printf(r->arena, ": write %lld", (long long)amount) : SLICE("");
        place_bad(r, at, "is \"%.*s\": ray start takes a whole number without a unit%.*s", SLICE_ARG(slice_head(text, 64)),
                  SLICE_ARG(hint));
    } else if ((n < p->least || n > p->most) && (n != 0 || p->value != MAYBE)) {
        place_bad(r, at, "is %lld: ray start takes %s%lld to %lld", (long long)n, p->value == MAYBE ? "0, or " : "", (long long)p->least,
                  (long long)p->most);
    }
}

static void check_ports(struct reader *r, const struct place *at, struct slice text)
{
    while (text.ptr) {
        int64_t n;
        struct slice one = slice_cut(&text, ',');
        if (!python_int(one, r->arena, &n) || n < PORT_LEAST || n > PORT_MOST) {
            place_bad(r, at, "has \"%.*s\": ray start takes ports from %d to %d with commas between them", SLICE_ARG(slice_head(one, 64)),
                      PORT_LEAST, PORT_MOST);
            return;
        }
    }
}

static void check_object(struct reader *r, const struct place *at, const struct param *p, struct slice text)
{
    static const struct {
        const char *resource, *param;
    } own[] = {{"CPU", "num-cpus"}, {"GPU", "num-gpus"}, {"memory", "memory"}, {"object_store_memory", "object-store-memory"}};
    struct jval doc, k, v;
    if (!json_read(&doc, text, r->arena, NULL) || json_type(doc) != JSON_OBJECT) {
        place_bad(r, at, "is no JSON object: ray start takes one, such as '{\"name\": 1}'");
        return;
    }
    for (struct jiter it = json_iter(doc); p->value == RESOURCES && json_next(&it, &k, &v);) {
        struct slice name = slice_head(json_str(k, r->arena), 64);
        double n;
        for (size_t i = 0; i < COUNT_OF(own); i++)
            if (slice_is(name, own[i].resource))
                place_bad(r, at, "has %s: ray start takes it as %s alone", own[i].resource, own[i].param);
        if (!json_num(v, &n) || n < 0 || n > (double)BYTES_MOST || n != (double)(int64_t)n)
            place_bad(r, at, "has %.*s, which is %.*s: ray start takes whole numbers alone", SLICE_ARG(name), SLICE_ARG(json_raw(v)));
    }
}

static void check_value(struct reader *r, const struct place *at, const struct param *p, struct slice text)
{
    static const char *const colors[] = {"auto", "true", "false", NULL}, *const styles[] = {"auto", "record", "pretty", NULL};
    const char *const *words = strcmp(p->name, "log-color") == 0 ? colors : strcmp(p->name, "log-style") == 0 ? styles : NULL;
    bool on = slice_eq_nocase(text, SLICE("true")), off = slice_eq_nocase(text, SLICE("false"));
    struct jval doc;
    double n;
    if (words) {
        while (*words && !slice_eq_nocase(text, slice_of(*words)))
            words++;
        if (!*words)
            place_bad(r, at, "is \"%.*s\": ray start takes %s", SLICE_ARG(slice_head(text, 64)),
                      p->name[4] == 'c' ? "auto, true or false" : "auto, record or pretty");
    } else if (p->value == SWITCH ? !on && !off : p->value == TRUTH && !is_truth(text)) {
        place_bad(r, at, "is \"%.*s\": must be true or false", SLICE_ARG(slice_head(text, 64)));
    } else if (p->value == SWITCH || p->value == TRUTH || off || strcmp(p->name, "verbose") == 0) {
        return; /* "false" leaves the parameter out */
    } else if (on) {
        place_bad(r, at, "is true: ray start takes a value");
    } else if (p->value == WHOLE || p->value == MAYBE || p->value == OURS) {
        check_number(r, at, p, text);
    } else if (p->value == REAL) {
        if (!json_read(&doc, text, r->arena, NULL) || !json_num(doc, &n) || n < 0)
            place_bad(r, at, "is \"%.*s\": ray start takes a number", SLICE_ARG(slice_head(text, 64)));
    } else if (p->value == PORTS) {
        check_ports(r, at, text);
    } else if (p->value == RESOURCES || p->value == OBJECT) {
        check_object(r, at, p, text);
    } else if (strcmp(p->name, "temp-dir") == 0 && !slice_starts(text, SLICE("/"))) {
        place_bad(r, at, "is no absolute path: ray start takes no other");
    }
}

/* ---- ports that two components use ---- */

struct ports {
    struct reader *r;
    const struct place *params;
    int64_t taken[COUNT_OF(table)];
    const char *owners[COUNT_OF(table)];
    uint32_t count;
};

static bool number_of(const struct ports *p, const char *name, int64_t otherwise, const struct place **at, int64_t *out)
{
    struct slice text;
    *at = place_key(p->params, name);
    *out = otherwise;
    return !place_given(*at) || (value_of(*at, p->r->arena, &text) && python_int(text, p->r->arena, out));
}

static void clash(const struct ports *p, const struct place *at, const char *name, int64_t low, int64_t high)
{
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->taken[i] < low || p->taken[i] > high)
            continue;
        const struct place *other = place_key(p->params, p->owners[i]);
        bool mine = place_given(at);
        place_bad(p->r, mine ? at : other, "%s %lld, which is %s, too: ray start refuses a port that two components have",
                  low == high ? "is" : "and the other bound include", (long long)p->taken[i], mine ? p->owners[i] : name);
        return;
    }
}

static void check_worker_ports(struct ports *p)
{
    const struct place *list = place_key(p->params, "worker-port-list"), *from, *to;
    int64_t low, high, n;
    struct slice text;
    if (place_given(list)) {
        if (!value_of(list, p->r->arena, &text))
            return;
        uint8_t *seen = arena_alloc(p->r->arena, (PORT_MOST + 8) / 8);
        while (text.ptr) {
            if (!python_int(slice_cut(&text, ','), p->r->arena, &n) || n < 0 || n > PORT_MOST)
                continue;
            uint8_t bit = (uint8_t)(1 << n % 8), *at = &seen[n / 8];
            if (*at & bit)
                place_bad(p->r, list, "has %lld twice", (long long)n);
            else
                clash(p, list, "worker-port-list", n, n);
            *at |= bit;
        }
        return;
    }
    if (!number_of(p, "min-worker-port", WORKER_LEAST, &from, &low) || !number_of(p, "max-worker-port", WORKER_MOST, &to, &high) ||
        high == 0)
        return;
    if (high <= low)
        place_bad(p->r, place_given(to) ? to : from, "is %lld: max-worker-port, %lld, must be above min-worker-port, %lld",
                  (long long)(place_given(to) ? high : low), (long long)high, (long long)low);
    else
        clash(p, place_given(from) ? from : to, place_given(to) && !place_given(from) ? "max-worker-port" : "min-worker-port", low, high);
}

static void check_clashes(struct reader *r, const struct place *params, bool head)
{
    struct ports p = {.r = r, .params = params};
    const struct place *at;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        int64_t n;
        if (!table[i].component || (table[i].head && !head) || !number_of(&p, table[i].name, table[i].port, &at, &n) || n == 0)
            continue;
        clash(&p, at, table[i].name, n, n);
        p.owners[p.count] = table[i].name;
        p.taken[p.count++] = n;
    }
    check_worker_ports(&p);
}

/* ---- a group's parameters ---- */

void check_params(struct reader *r, const struct place *group, const struct ray_cluster *c, bool head)
{
    const struct place *params = place_key(group, "rayStartParams");
    bool own = json_is(json_child(c->annotations, RAY_OVERWRITE_COMMAND), "true"),
         resources = json_len(json_get(group->value, "resources"));
    uint32_t before = spec_errors_count(r->errors);
    struct jval k, v;
    if (place_type(params) != JSON_OBJECT)
        return;
    for (struct jiter it = json_iter(params->value); json_next(&it, &k, &v);) {
        const struct place *at = place_member(params, json_str(k, r->arena), v);
        const struct param *p = find_param(at->key);
        struct slice text;
        if (!p || json_type(v) != JSON_STRING || (own && p->value != OURS))
            continue;
        if (p->head && !head && p->value != OURS)
            place_bad(r, at, "is for the head alone: ray start refuses it on a worker");
        else if (p->value == OURS || (value_of(at, r->arena, &text) && !(resources && slice_empty(text))))
            check_value(r, at, p, p->value == OURS ? json_str(v, r->arena) : text);
    }
    if (!own && spec_errors_count(r->errors) == before)
        check_clashes(r, params, head);
}

void note_params(struct reader *r, const struct place *spec, const struct place *group, struct slice image)
{
    const struct place *params = place_key(group, "rayStartParams");
    int64_t of_image = ray_image_version(image);
    int64_t version = of_image ? of_image : ray_version_number(json_str(json_get(spec->value, "rayVersion"), r->arena));
    struct jval k, v;
    for (struct jiter it = json_iter(params->value); place_type(params) == JSON_OBJECT && json_next(&it, &k, &v);) {
        const struct place *at = place_member(params, json_str(k, r->arena), v);
        const struct param *p = find_param(at->key);
        struct nearest n = {.typed = at->key};
        struct slice text;
        int64_t number;
        if (p && p->component && value_of(at, r->arena, &text) && python_int(text, r->arena, &number) && number > PORT_MOST)
            place_bad(r, at, "is no port: Ray takes the rest of it by 65536");
        for (size_t i = 0; !p && i < COUNT_OF(table); i++)
            nearest_try(&n, slice_of(table[i].name));
        if (!p)
            place_bad(r, at, "is no parameter of ray start in Ray 2.9 to 2.60%s%.*s%s: ray start refuses what it does not know",
                      n.best.ptr ? ", did you mean " : "", SLICE_ARG(n.best), n.best.ptr ? "?" : "");
        else if (version && ((p->since && version < p->since) || (p->until && version > p->until)))
            place_bad(r, at, "is known to ray start %s Ray %d.%d, and this is %lld.%lld: remove it", p->since ? "from" : "up to",
                      (p->since ? p->since : p->until) / 1000, (p->since ? p->since : p->until) % 1000, (long long)(version / 1000),
                      (long long)(version % 1000));
    }
}
