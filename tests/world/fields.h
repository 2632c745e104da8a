/* Every field of a definition's spec as an edit of an object: read from the definition itself (airgap/crds), so a new field is in by
 * itself. Members of opaque parts (pod templates, rayStartParams, headService …) that matter for reaching a cluster are listed here by
 * hand. */
#ifndef MOBULA_TEST_FIELDS_H
#define MOBULA_TEST_FIELDS_H

#include "scene.h"

#include <mobula/yaml.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

enum { FIELDS_MAX = 800, FIELD_VARIANTS = 160 };

/* A JSON Patch `add` of value at path. */
struct field_edit {
    struct slice path, value;
};
struct fields {
    struct arena *a;
    struct field_edit list[FIELDS_MAX];
    uint32_t count;
};

/* in: the member that is opaque; below: a pointer inside of it, empty: the member itself. */
static const struct {
    const char *in, *below, *value;
} field_hints[] = {
    {"template", "/metadata/labels/app.kubernetes.io~1name", "\"mine\""},
    {"template", "/metadata/labels/app.kubernetes.io~1created-by", "\"me\""},
    {"template", "/metadata/labels/ray.io~1identifier", "\"mine\""},
    {"template", "/metadata/labels/ray.io~1cluster", "\"mine\""},
    {"template", "/metadata/labels/ray.io~1node-type", "\"mine\""},
    {"template", "/metadata/annotations/ray.io~1overwrite-container-cmd", "\"true\""},
    {"template", "/metadata/name", "\"mine\""},
    {"template", "/spec/containers/0/name", "\"mine\""},
    {"template", "/spec/containers/0/image", "\"ray:2\""},
    {"template", "/spec/containers/0/command", "[\"sleep\",\"1\"]"},
    {"template", "/spec/containers/0/args", "[\"echo hello\"]"},
    {"template", "/spec/containers/0/ports",
     "[{\"containerPort\":9265,\"name\":\"dashboard\"},{\"containerPort\":7379,\"name\":\"gcs-server\"}]"},
    {"template", "/spec/containers/0/env",
     "[{\"name\":\"RAY_ADDRESS\",\"value\":\"elsewhere:1\"},{\"name\":\"RAY_PORT\",\"value\":\"7\"}]"},
    {"template", "/spec/containers/0/env", "[{\"name\":\"FQ_RAY_IP\",\"value\":\"elsewhere\"},{\"name\":\"A\",\"value\":\"b\"}]"},
    {"template", "/spec/containers/0/resources", "{\"limits\":{\"cpu\":\"2\",\"memory\":\"4Gi\"}}"},
    {"template", "/spec/containers/0/readinessProbe", "{\"tcpSocket\":{\"port\":9}}"},
    {"template", "/spec/containers/0/livenessProbe", "{\"tcpSocket\":{\"port\":9}}"},
    {"template", "/spec/containers/0/securityContext", "{\"runAsUser\":1000}"},
    {"template", "/spec/containers/0/volumeMounts", "[{\"name\":\"v\",\"mountPath\":\"/v\"}]"},
    {"template", "/spec/containers/0", "{\"name\":\"first\",\"image\":\"sidecar:1\"}"},
    {"template", "/spec/containers/-", "{\"name\":\"second\",\"image\":\"sidecar:1\"}"},
    {"template", "/spec/initContainers", "[{\"name\":\"early\",\"image\":\"sidecar:1\"}]"},
    {"template", "/spec/serviceAccountName", "\"mine\""},
    {"template", "/spec/nodeSelector", "{\"a\":\"b\"}"},
    {"template", "/spec/tolerations", "[{\"key\":\"a\",\"operator\":\"Exists\"}]"},
    {"template", "/spec/hostNetwork", "true"},
    {"template", "/spec/hostname", "\"mine\""},
    {"template", "/spec/subdomain", "\"mine\""},
    {"template", "/spec/restartPolicy", "\"Never\""},
    {"template", "/spec/schedulerName", "\"mine\""},
    {"template", "/spec/priorityClassName", "\"mine\""},
    {"template", "/spec/terminationGracePeriodSeconds", "5"},
    {"template", "/spec/volumes", "[{\"name\":\"v\",\"emptyDir\":{}}]"},
    {"template", "/spec", "{\"containers\":[]}"},
    {"rayStartParams", "/port", "\"7000\""},
    {"rayStartParams", "/dashboard-port", "\"9000\""},
    {"rayStartParams", "/dashboard-host", "\"127.0.0.1\""},
    {"rayStartParams", "/dashboard-agent-listen-port", "\"9003\""},
    {"rayStartParams", "/ray-client-server-port", "\"9001\""},
    {"rayStartParams", "/metrics-export-port", "\"9002\""},
    {"rayStartParams", "/node-manager-port", "\"9004\""},
    {"rayStartParams", "/min-worker-port", "\"20000\""},
    {"rayStartParams", "/address", "\"elsewhere:1\""},
    {"rayStartParams", "/num-cpus", "\"3\""},
    {"rayStartParams", "/port", "\"no port\""},
    {"rayStartParams", "/node-ip-address", "\"10.9.9.9\""},
    {"rayStartParams", "", "{\"port\":\"no port\",\"dashboard-port\":\"9000\"}"}, /* invalid, and another port */
    {"headService", "", "{\"metadata\":{\"name\":\"other\"}}"},
    {"headService", "",
     "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"type\":\"LoadBalancer\",\"ports\":[{\"name\":\"dashboard\",\"port\":80,"
     "\"targetPort\":8265}]}}"},
    {"headService", "", "{\"spec\":{\"selector\":{\"a\":\"b\"},\"ports\":[{\"name\":\"gcs-server\",\"port\":7,\"targetPort\":6379}]}}"},
    {"serviceType", "", "\"NodePort\""},
    {"serviceType", "", "\"ClusterIP\""},
    {"resources", "", "{\"CPU\":\"3\"}"},
    {"labels", "", "{\"ray.io/market\":\"spot\"}"},
    {"managedBy", "", "\"kueue.x-k8s.io/multikueue\""},
    {"secretName", "", "\"another-secret\""},
    {"podConfig", "/metadata/labels/a", "\"mine\""},
    {"podConfig", "/metadata/generateName", "\"mine-\""},
    {"podConfig", "/spec/containers/0/image", "\"ray:2\""},
    {"podConfig", "/spec/containers/0/name", "\"mine\""},
    {"podConfig", "/spec/containers/0/ports", "[{\"containerPort\":9265,\"name\":\"dashboard\"}]"},
    {"podConfig", "/spec/containers/0/resources", "{\"limits\":{\"cpu\":\"2\"}}"},
    {"podConfig", "/spec/containers/-", "{\"name\":\"second\",\"image\":\"sidecar:1\"}"},
    {"podConfig", "/spec/serviceAccountName", "\"mine\""},
    {"headStartRayCommands", "", "[\"ulimit -n 65536; ray start --head --port=7000 --dashboard-host=0.0.0.0 --dashboard-port=9000\"]"},
    {"workerStartRayCommands", "", "[\"ray start --address=$RAY_HEAD_IP:6379\"]"},
    {"headServicePorts", "", "[{\"name\":\"dashboard\",\"port\":80,\"targetPort\":8265}]"},
    {"headPodType", "", "\"worker\""},
};

static struct slice last_name(struct slice path)
{
    struct slice rest = path, name = path;
    while (!slice_empty(rest))
        name = slice_cut(&rest, '/');
    return name;
}

static void edit_add(struct fields *f, struct slice path, struct slice value)
{
    if (!CHECK(f->count < FIELDS_MAX))
        return;
    f->list[f->count++] = (struct field_edit){arena_dup(f->a, path), arena_dup(f->a, value)};
}

/* Adds the edits listed by hand for this member; returns their number. */
static uint32_t edit_hints(struct fields *f, struct slice path)
{
    uint32_t n = 0;
    for (size_t i = 0; i < COUNT_OF(field_hints); i++)
        if (slice_is(last_name(path), field_hints[i].in)) {
            edit_add(f, arena_printf(f->a, "%.*s%s", SLICE_ARG(path), field_hints[i].below), slice_of(field_hints[i].value));
            n++;
        }
    return n;
}

static uint32_t sample_all(struct fields *f, struct jval schema, struct slice *out, uint32_t most);

/* "b":1,"c":2, : first values of the required members, without this one. */
static struct slice sample_required(struct fields *f, struct jval schema, struct slice but)
{
    struct jval k, r;
    struct slice all = SLICE("");
    for (struct jiter it = json_iter(json_get(schema, "required")); json_next(&it, &k, &r);) {
        struct slice one[1], name = json_str(r, f->a);
        if (!slice_eq(name, but) && sample_all(f, json_key(json_get(schema, "properties"), name), one, 1))
            all = arena_printf(f->a, "%.*s\"%.*s\":%.*s,", SLICE_ARG(all), SLICE_ARG(name), SLICE_ARG(one[0]));
    }
    return all;
}

/* Values of an object: each member alone beside those that are required. */
static uint32_t sample_object(struct fields *f, struct jval schema, struct slice *out, uint32_t most)
{
    struct jval k, v;
    uint32_t n = 0;
    for (struct jiter it = json_iter(json_get(schema, "properties")); json_next(&it, &k, &v);) {
        struct slice some[8], name = json_str(k, f->a), others = sample_required(f, schema, name);
        uint32_t count = sample_all(f, v, some, COUNT_OF(some));
        for (uint32_t i = 0; i < count && n < most; i++)
            out[n++] = arena_printf(f->a, "{%.*s\"%.*s\":%.*s}", SLICE_ARG(others), SLICE_ARG(name), SLICE_ARG(some[i]));
    }
    return n;
}

/* Values that the schema allows, at most `most`. */
static uint32_t sample_all(struct fields *f, struct jval schema, struct slice *out, uint32_t most)
{
    struct jval k, v;
    struct slice type = json_get_str(schema, "type", f->a);
    uint32_t n = 0;
    for (struct jiter it = json_iter(json_get(schema, "enum")); json_next(&it, &k, &v) && n < most;)
        out[n++] = json_raw(v);
    if (n || !most)
        return n;
    if (slice_is(type, "object") && json_len(json_get(schema, "properties")))
        return sample_object(f, schema, out, most);
    if (slice_is(type, "array")) {
        n = sample_all(f, json_get(schema, "items"), out, most);
        for (uint32_t i = 0; i < n; i++)
            out[i] = arena_printf(f->a, "[%.*s]", SLICE_ARG(out[i]));
        return n;
    }
    if (slice_is(type, "boolean")) {
        out[n++] = SLICE("true");
        if (n < most)
            out[n++] = SLICE("false");
        return n;
    }
    bool number = slice_is(type, "integer") || slice_is(type, "number") || json_get_bool(schema, "x-kubernetes-int-or-string", false);
    out[n++] = number ? SLICE("2") : slice_is(type, "object") ? SLICE("{\"a\":\"b\"}") : SLICE("\"other\"");
    return n;
}

static void edit_walk(struct fields *f, struct jval schema, struct jval base, struct slice path)
{
    struct jval k, v;
    struct slice some[FIELD_VARIANTS];
    uint32_t hints = edit_hints(f, path);
    if (json_type(base) == JSON_ARRAY && json_len(base)) {
        for (size_t i = 0; i < json_len(base); i++)
            edit_walk(f, json_get(schema, "items"), json_at(base, i), arena_printf(f->a, "%.*s/%zu", SLICE_ARG(path), i));
        return;
    }
    if (json_type(base) == JSON_OBJECT && json_len(json_get(schema, "properties"))) {
        for (struct jiter it = json_iter(json_get(schema, "properties")); json_next(&it, &k, &v);) {
            struct slice name = json_str(k, f->a);
            edit_walk(f, v, json_key(base, name), arena_printf(f->a, "%.*s/%.*s", SLICE_ARG(path), SLICE_ARG(name)));
        }
        return;
    }
    uint32_t count = sample_all(f, schema, some, COUNT_OF(some));
    for (uint32_t i = 0; i < count && !(hints && json_there(base)); i++)
        edit_add(f, path, some[i]);
}

static struct slice read_definition(struct arena *a, const char *name)
{
    char path[128], *text = arena_alloc(a, 128 * KIB);
    struct err e = {0};
    struct yaml_docs docs;
    snprintf(path, sizeof path, "airgap/crds/%s.yaml", name);
    FILE *in = fopen(path, "r");
    if (!CHECK(in != NULL))
        return SLICE_NONE;
    size_t len = fread(text, 1, 128 * KIB, in);
    fclose(in);
    if (!CHECK(yaml_parse((struct slice){text, len}, a, &docs, &e)) || !CHECK_INT(docs.count, 1))
        return SLICE_NONE;
    return docs.docs[0].json;
}

/* All edits of the spec of `object`, a whole custom resource of this definition. */
static void fields_read(struct fields *f, struct slice definition, struct slice object)
{
    struct jval crd, base;
    struct err e = {0};
    if (!CHECK(json_read(&crd, definition, f->a, &e)) || !CHECK(json_read(&base, object, f->a, &e)))
        return;
    struct jval schema = json_get(json_at(json_get(crd, "spec.versions"), 0), "schema.openAPIV3Schema.properties.spec");
    edit_walk(f, schema, json_get(base, "spec"), SLICE("/spec"));
}

static void take_definition(struct world *w, struct slice definition)
{
    CHECK_INT(world_call(w, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", definition), 201);
}

#pragma GCC diagnostic pop

#endif
