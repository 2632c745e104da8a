/* A mutator for targets whose input is JSON: it changes values, members and elements, so that most of what it makes is JSON again and gets
 * past the parser to what reads documents. A NUL separates parts of an input, and what stands in a part before its first brace stays; one
 * part is changed at a time. Whatever is no JSON, and every fourth input anyway, is left to libFuzzer's own mutations. */
#include <mobula/json.h>

#include <stdlib.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

enum { VALUES_MAX = 4096 };

/* Values at the edges of what readers expect. */
static const char *const values[] = {
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1",
    "2147483647",
    "2147483648",
    "-9223372036854775808",
    "9223372036854775808",
    "1e9",
    "0.5",
    "\"\"",
    "\"0\"",
    "\"-1\"",
    "\"1Gi\"",
    "\"500m\"",
    "\"1e3\"",
    "\"9999999999999999999\"",
    "\"a\"",
    "\"A b\"",
    "\"\\u0000\"",
    "\"$(X)\"",
    "\"'\\\"'\"",
    "\"\xc3\xa9\"",
    "\"2020-01-01T00:00:00Z\"",
    "\"head\"",
    "\"worker\"",
    "\"Never\"",
    "\"Failed\"",
    "\"True\"",
    "[]",
    "{}",
    "[{}]",
    "[null]",
    "{\"a\":{}}",
    "{\"name\":\"a\"}",
    "[{\"name\":\"a\",\"value\":\"b\"}]",
};

/* Names of members that somebody reads. */
static const char *const names[] = {
    "apiVersion",
    "kind",
    "metadata",
    "name",
    "namespace",
    "uid",
    "generation",
    "resourceVersion",
    "labels",
    "annotations",
    "deletionTimestamp",
    "ownerReferences",
    "controller",
    "spec",
    "status",
    "rayVersion",
    "headGroupSpec",
    "workerGroupSpecs",
    "groupName",
    "replicas",
    "minReplicas",
    "maxReplicas",
    "numOfHosts",
    "idleTimeoutSeconds",
    "suspend",
    "scaleStrategy",
    "workersToDelete",
    "rayStartParams",
    "resources",
    "template",
    "containers",
    "initContainers",
    "image",
    "command",
    "args",
    "env",
    "envFrom",
    "value",
    "valueFrom",
    "ports",
    "containerPort",
    "limits",
    "requests",
    "cpu",
    "memory",
    "nvidia.com/gpu",
    "volumes",
    "volumeMounts",
    "mountPath",
    "livenessProbe",
    "readinessProbe",
    "restartPolicy",
    "serviceAccountName",
    "headService",
    "headServiceAnnotations",
    "selector",
    "clusterIP",
    "enableInTreeAutoscaling",
    "autoscalerOptions",
    "upgradeStrategy",
    "type",
    "managedBy",
    "gcsFaultToleranceOptions",
    "podTypes",
    "headPodType",
    "podConfig",
    "minWorkers",
    "maxWorkers",
    "rayResources",
    "headStartRayCommands",
    "workerStartRayCommands",
    "setupCommands",
    "headServicePorts",
    "phase",
    "conditions",
    "containerStatuses",
    "state",
    "terminated",
    "waiting",
    "reason",
    "exitCode",
    "groups",
    "failures",
    "lastFailureTime",
    "op",
    "path",
    "from",
    "num-cpus",
    "block",
    "port",
    "0",
    "-",
    "",
};

/* Every value of a document, members' keys with them. */
struct all {
    struct jval value[VALUES_MAX], key[VALUES_MAX];
    size_t count;
};

static void collect(struct all *all, struct jval key, struct jval v)
{
    if (all->count == VALUES_MAX)
        return;
    all->key[all->count] = key;
    all->value[all->count++] = v;
    struct jval k, x;
    for (struct jiter it = json_iter(v); json_next(&it, &k, &x);)
        collect(all, k, x);
}

#define PICK(rng, list) slice_of((list)[rng_below((rng), COUNT_OF(list))])

/* A value for the place of another: one of the edges, or one of the document's own. */
static struct slice other_value(const struct all *all, struct rng *rng)
{
    return rng_below(rng, 2) ? PICK(rng, values) : json_raw(all->value[rng_below(rng, all->count)]);
}

/* The inside of a string or number as libFuzzer mutates it; what does not fit into a string any more is left out. */
static struct slice bent(struct slice raw, struct arena *a, struct rng *rng)
{
    bool text = raw.ptr[0] == '"';
    struct slice inside = text ? (struct slice){raw.ptr + 1, raw.len - 2} : raw;
    size_t max = inside.len + 8;
    char *p = arena_alloc(a, max + 2);
    p[0] = '"';
    if (inside.len)
        memcpy(p + 1, inside.ptr, inside.len);
    size_t n = LLVMFuzzerMutate((uint8_t *)p + 1, inside.len, max), kept = 1;
    for (size_t i = 1; i <= n; i++)
        if (p[i] != '"' && p[i] != '\\' && (unsigned char)p[i] >= ' ' && (unsigned char)p[i] < 0x7f)
            p[kept++] = p[i];
    p[kept] = '"';
    return text || rng_below(rng, 4) == 0 ? (struct slice){p, kept + 1} : (struct slice){p + 1, kept - 1};
}

/* Takes a member or element out, with one of the commas beside it. */
static void take_out(struct slice text, struct jval key, struct slice raw, struct buf *out)
{
    const char *from = json_there(key) ? json_raw(key).ptr : raw.ptr, *to = raw.ptr + raw.len;
    const char *end = text.ptr + text.len, *next = to, *before = from;
    while (next < end && strchr(" \t\r\n", *next))
        next++;
    while (before > text.ptr && strchr(" \t\r\n", before[-1]))
        before--;
    if (next < end && *next == ',')
        to = next + 1;
    else if (before > text.ptr && before[-1] == ',')
        from = before - 1;
    buf_put(out, (struct slice){text.ptr, (size_t)(from - text.ptr)});
    buf_put(out, (struct slice){to, (size_t)(end - to)});
}

/* text with `fresh` between its first at bytes and what stands behind `skip` more. */
static void put_between(struct slice text, size_t at, size_t skip, struct slice fresh, struct buf *out)
{
    buf_put(out, slice_head(text, at));
    buf_put(out, fresh);
    buf_put(out, slice_skip(text, at + skip));
}

/* A member more in an object, an element more in an array: before all others. */
static void put_more(struct slice text, const struct all *all, struct jval v, struct arena *a, struct rng *rng, struct buf *out)
{
    struct slice fresh = other_value(all, rng), name = PICK(rng, names);
    const char *comma = json_len(v) ? "," : "";
    if (json_type(v) == JSON_OBJECT)
        fresh = arena_printf(a, "\"%.*s\":%.*s%s", SLICE_ARG(name), SLICE_ARG(fresh), comma);
    else
        fresh = arena_printf(a, "%.*s%s", SLICE_ARG(fresh), comma);
    put_between(text, (size_t)(json_raw(v).ptr - text.ptr) + 1, 0, fresh, out);
}

static void change(struct slice text, const struct all *all, struct arena *a, struct rng *rng, struct buf *out)
{
    size_t which = (size_t)rng_below(rng, all->count);
    struct jval v = all->value[which];
    struct slice raw = json_raw(v);
    size_t at = (size_t)(raw.ptr - text.ptr);
    bool container = json_type(v) == JSON_OBJECT || json_type(v) == JSON_ARRAY;
    switch (rng_below(rng, 4)) {
    case 0:
        put_between(text, at, raw.len, other_value(all, rng), out);
        break;
    case 1:
        if (which > 0)
            take_out(text, all->key[which], raw, out);
        break;
    case 2:
        if (container)
            put_more(text, all, v, a, rng, out);
        else
            put_between(text, at, raw.len, bent(raw, a, rng), out);
        break;
    default:
        if (!container)
            put_between(text, at, raw.len, bent(raw, a, rng), out);
        else
            put_more(text, all, v, a, rng, out);
        break;
    }
}

/* The JSON of one part of the input, by chance: where it lies. */
static struct slice pick_part(struct slice in, struct rng *rng)
{
    size_t parts = 1;
    for (size_t i = 0; i < in.len; i++)
        parts += in.ptr[i] == '\0';
    struct slice part = SLICE_NONE;
    for (size_t n = 1 + (size_t)rng_below(rng, parts); n > 0; n--)
        part = slice_cut(&in, '\0');
    size_t brace = 0;
    while (brace < part.len && part.ptr[brace] != '{' && part.ptr[brace] != '[')
        brace++;
    return slice_skip(part, brace);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static struct all all;
    struct rng rng;
    struct arena a = {0};
    struct json doc;
    struct buf out;
    rng_seed(&rng, seed);
    struct slice in = {(const char *)data, size}, text = pick_part(in, &rng);
    if (rng_below(&rng, 4) == 0 || slice_empty(text) || !json_parse(&doc, text, &a, NULL)) {
        arena_free(&a);
        return LLVMFuzzerMutate(data, size, max);
    }
    all.count = 0;
    collect(&all, (struct jval){.at = -1}, json_root(&doc));
    buf_init(&out, max);
    size_t at = (size_t)(text.ptr - in.ptr);
    buf_put(&out, slice_head(in, at));
    change(text, &all, &a, &rng, &out);
    if (out.len > at)
        buf_put(&out, slice_skip(in, at + text.len));
    size_t n = out.full || out.len <= at ? 0 : out.len;
    if (n)
        memcpy(data, out.ptr, n);
    buf_free(&out);
    arena_free(&a);
    return n ? n : LLVMFuzzerMutate(data, size, max);
}
