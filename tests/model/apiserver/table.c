/* as=Table: what kubectl get prints. Built-in kinds have their columns here, custom ones in their CRD. */
#include "request.h"

#include <stdio.h>

typedef void (*cell_writer)(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w);

struct column {
    const char *name, *type;
    int priority;      /* above 0: only with -o wide */
    const char *path;  /* a string or number of the object … */
    cell_writer write; /* … or something made of it */
};

/* kubectl writes 3m7s for 3 min 7 s. */
static struct slice kubectl_age(struct slice age, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < age.len; i++)
        if (!strchr(" in", age.ptr[i]))
            out[n++] = age.ptr[i];
    return (struct slice){out, n};
}

static void cell_age_of(struct apiserver *s, struct slice time, struct jout *w)
{
    char text[TIME_TEXT_MAX];
    int64_t then;
    if (!time.len || !time_parse(time, &then, NULL)) {
        jout_str(w, SLICE("<unknown>"));
        return;
    }
    int64_t age = (s->now.wall_us - then) / 1000000;
    jout_str(w, kubectl_age(time_format_age(age > 0 ? age : 0, text), text));
}

static void cell_age(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)a;
    cell_age_of(s, dom_str(o, "metadata.creationTimestamp"), w);
}

static void cell_or(struct jout *w, struct slice text, const char *otherwise)
{
    jout_str(w, text.len ? text : slice_of(otherwise));
}

/* ---- pods ---- */

static void cell_ready(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    size_t ready = 0;
    const struct node *list = dom_get(o, "status.containerStatuses");
    for (const struct node *c = list ? list->child : NULL; c; c = c->next)
        ready += dom_true(c, "ready");
    jout_str(w, arena_printf(a, "%zu/%zu", ready, dom_len(dom_get(o, "spec.containers"))));
}

static void cell_pod_status(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    (void)a;
    struct slice reason = dom_str(o, "status.reason"), phase = dom_str(o, "status.phase");
    const struct node *list = dom_get(o, "status.containerStatuses");
    for (const struct node *c = list ? list->child : NULL; c && !reason.len; c = c->next) {
        reason = dom_str(c, "state.waiting.reason");
        if (!reason.len)
            reason = dom_str(c, "state.terminated.reason");
    }
    if (dom_get(o, "metadata.deletionTimestamp"))
        reason = SLICE("Terminating");
    cell_or(w, reason.len ? reason : phase, "");
}

static void cell_restarts(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    int64_t restarts = 0;
    const struct node *list = dom_get(o, "status.containerStatuses");
    for (const struct node *c = list ? list->child : NULL; c; c = c->next)
        restarts += dom_int(c, "restartCount", 0);
    jout_str(w, arena_printf(a, "%lld", (long long)restarts));
}

static void cell_ip(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    (void)a;
    cell_or(w, dom_str(o, "status.podIP"), "<none>");
}

static void cell_node(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    (void)a;
    cell_or(w, dom_str(o, "spec.nodeName"), "<none>");
}

static void cell_none(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    (void)o;
    (void)a;
    jout_str(w, SLICE("<none>"));
}

static const struct column pod_columns[] = {
    {"Name", "string", 0, "metadata.name", NULL},
    {"Ready", "string", 0, NULL, cell_ready},
    {"Status", "string", 0, NULL, cell_pod_status},
    {"Restarts", "string", 0, NULL, cell_restarts},
    {"Age", "string", 0, NULL, cell_age},
    {"IP", "string", 1, NULL, cell_ip},
    {"Node", "string", 1, NULL, cell_node},
    {"Nominated Node", "string", 1, NULL, cell_none},
    {"Readiness Gates", "string", 1, NULL, cell_none},
    {NULL, NULL, 0, NULL, NULL},
};

/* ---- services ---- */

static void cell_cluster_ip(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    (void)a;
    cell_or(w, dom_str(o, "spec.clusterIP"), "<none>");
}

static void cell_external_ip(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    (void)a;
    bool balanced = slice_eq(dom_str(o, "spec.type"), SLICE("LoadBalancer"));
    cell_or(w, dom_str(o, "spec.externalName"), balanced ? "<pending>" : "<none>");
}

static void cell_ports(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    struct slice text = SLICE("");
    const struct node *list = dom_get(o, "spec.ports");
    for (const struct node *p = list ? list->child : NULL; p; p = p->next) {
        int64_t node_port = dom_int(p, "nodePort", 0);
        struct slice protocol = dom_str(p, "protocol");
        struct slice outside = node_port ? arena_printf(a, ":%lld", (long long)node_port) : SLICE("");
        text = arena_printf(a, "%.*s%s%lld%.*s/%.*s", SLICE_ARG(text), text.len ? "," : "", (long long)dom_int(p, "port", 0),
                            SLICE_ARG(outside), SLICE_ARG(protocol));
    }
    cell_or(w, text, "<none>");
}

/* The member whose key comes next behind last; the first when there is none. */
static const struct node *next_key(const struct node *map, const struct node *last)
{
    const struct node *best = NULL;
    for (const struct node *c = map ? map->child : NULL; c; c = c->next)
        if ((!last || slice_cmp(c->key, last->key) > 0) && (!best || slice_cmp(c->key, best->key) < 0))
            best = c;
    return best;
}

static void cell_selector(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    struct slice text = SLICE("");
    const struct node *selector = dom_get(o, "spec.selector");
    for (const struct node *l = next_key(selector, NULL); l; l = next_key(selector, l))
        text = arena_printf(a, "%.*s%s%.*s=%.*s", SLICE_ARG(text), text.len ? "," : "", SLICE_ARG(l->key), SLICE_ARG(l->text));
    cell_or(w, text, "<none>");
}

static const struct column service_columns[] = {
    {"Name", "string", 0, "metadata.name", NULL},       {"Type", "string", 0, "spec.type", NULL},
    {"Cluster-IP", "string", 0, NULL, cell_cluster_ip}, {"External-IP", "string", 0, NULL, cell_external_ip},
    {"Port(s)", "string", 0, NULL, cell_ports},         {"Age", "string", 0, NULL, cell_age},
    {"Selector", "string", 1, NULL, cell_selector},     {NULL, NULL, 0, NULL, NULL},
};

/* ---- the others ---- */

static void cell_data(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    (void)a;
    jout_int(w, (int64_t)(dom_len(dom_get(o, "data")) + dom_len(dom_get(o, "binaryData"))));
}

static void cell_secrets(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    (void)a;
    jout_int(w, (int64_t)dom_len(dom_get(o, "secrets")));
}

static void cell_last_seen(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)a;
    static const char *const paths[] = {"series.lastObservedTime", "lastTimestamp", "eventTime", "metadata.creationTimestamp"};
    struct slice time = SLICE_NONE;
    for (size_t i = 0; i < COUNT_OF(paths) && !time.len; i++)
        time = dom_str(o, paths[i]);
    cell_age_of(s, time, w);
}

static void cell_first_seen(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)a;
    struct slice time = dom_str(o, "firstTimestamp");
    cell_age_of(s, time.len ? time : dom_str(o, "eventTime"), w);
}

static void cell_event_source(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    struct slice component = dom_str(o, "source.component"), host = dom_str(o, "source.host");
    component = component.len ? component : dom_str(o, "reportingComponent");
    host = host.len ? host : dom_str(o, "reportingInstance");
    jout_str(w, arena_printf(a, "%.*s%s%.*s", SLICE_ARG(component), host.len ? ", " : "", SLICE_ARG(host)));
}

static void cell_event_count(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    (void)a;
    int64_t series = dom_int(o, "series.count", 0), count = dom_int(o, "count", 0);
    jout_int(w, series ? series : count ? count : 1);
}

static void cell_event_object(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    struct slice kind = dom_str(o, "involvedObject.kind"), name = dom_str(o, "involvedObject.name");
    char *lower = arena_alloc(a, kind.len + 1);
    for (size_t i = 0; i < kind.len; i++)
        lower[i] = (char)(kind.ptr[i] | (kind.ptr[i] >= 'A' && kind.ptr[i] <= 'Z' ? 0x20 : 0));
    jout_str(w, arena_printf(a, "%s/%.*s", lower, SLICE_ARG(name)));
}

static void cell_role(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    struct slice kind = dom_str(o, "roleRef.kind"), name = dom_str(o, "roleRef.name");
    jout_str(w, arena_printf(a, "%.*s/%.*s", SLICE_ARG(kind), SLICE_ARG(name)));
}

/* The subjects of one kind: accounts with their namespace. */
static void cell_subjects(const struct node *o, const char *kind, struct arena *a, struct jout *w)
{
    struct slice text = SLICE("");
    const struct node *subjects = dom_get(o, "subjects");
    bool account = strcmp(kind, "ServiceAccount") == 0;
    for (const struct node *c = subjects ? subjects->child : NULL; c; c = c->next) {
        struct slice ns = dom_str(c, "namespace"), name = dom_str(c, "name");
        if (slice_eq(dom_str(c, "kind"), slice_of(kind)))
            text = arena_printf(a, "%.*s%s%.*s%s%.*s", SLICE_ARG(text), text.len ? ", " : "", SLICE_ARG(ns), account ? "/" : "",
                                SLICE_ARG(name));
    }
    jout_str(w, text);
}

static void cell_users(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    cell_subjects(o, "User", a, w);
}

static void cell_groups(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    cell_subjects(o, "Group", a, w);
}

static void cell_accounts(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    cell_subjects(o, "ServiceAccount", a, w);
}

static void cell_node_status(struct apiserver *s, const struct node *o, struct arena *a, struct jout *w)
{
    (void)s;
    (void)o;
    (void)a;
    jout_str(w, SLICE("Ready"));
}

static const struct column namespace_columns[] = {
    {"Name", "string", 0, "metadata.name", NULL},
    {"Status", "string", 0, "status.phase", NULL},
    {"Age", "string", 0, NULL, cell_age},
    {NULL, NULL, 0, NULL, NULL},
};
static const struct column data_columns[] = {
    {"Name", "string", 0, "metadata.name", NULL},
    {"Data", "string", 0, NULL, cell_data},
    {"Age", "string", 0, NULL, cell_age},
    {NULL, NULL, 0, NULL, NULL},
};
static const struct column lease_columns[] = {
    {"Name", "string", 0, "metadata.name", NULL},
    {"Holder", "string", 0, "spec.holderIdentity", NULL},
    {"Age", "string", 0, NULL, cell_age},
    {NULL, NULL, 0, NULL, NULL},
};
static const struct column secret_columns[] = {
    {"Name", "string", 0, "metadata.name", NULL}, {"Type", "string", 0, "type", NULL}, {"Data", "string", 0, NULL, cell_data},
    {"Age", "string", 0, NULL, cell_age},         {NULL, NULL, 0, NULL, NULL},
};
static const struct column account_columns[] = {
    {"Name", "string", 0, "metadata.name", NULL},
    {"Secrets", "string", 0, NULL, cell_secrets},
    {"Age", "string", 0, NULL, cell_age},
    {NULL, NULL, 0, NULL, NULL},
};
static const struct column event_columns[] = {
    {"Last Seen", "string", 0, NULL, cell_last_seen},
    {"Type", "string", 0, "type", NULL},
    {"Reason", "string", 0, "reason", NULL},
    {"Object", "string", 0, NULL, cell_event_object},
    {"Subobject", "string", 1, "involvedObject.fieldPath", NULL},
    {"Source", "string", 1, NULL, cell_event_source},
    {"Message", "string", 0, "message", NULL},
    {"First Seen", "string", 1, NULL, cell_first_seen},
    {"Count", "string", 1, NULL, cell_event_count},
    {"Name", "string", 1, "metadata.name", NULL},
    {NULL, NULL, 0, NULL, NULL},
};
static const struct column node_columns[] = {
    {"Name", "string", 0, "metadata.name", NULL},
    {"Status", "string", 0, NULL, cell_node_status},
    {"Age", "string", 0, NULL, cell_age},
    {"Version", "string", 0, "status.nodeInfo.kubeletVersion", NULL},
    {NULL, NULL, 0, NULL, NULL},
};
static const struct column binding_columns[] = {
    {"Name", "string", 0, "metadata.name", NULL},
    {"Role", "string", 0, NULL, cell_role},
    {"Age", "string", 0, NULL, cell_age},
    {"Users", "string", 1, NULL, cell_users},
    {"Groups", "string", 1, NULL, cell_groups},
    {"ServiceAccounts", "string", 1, NULL, cell_accounts},
    {NULL, NULL, 0, NULL, NULL},
};
static const struct column dated_columns[] = {
    {"Name", "string", 0, "metadata.name", NULL},
    {"Created At", "date", 0, "metadata.creationTimestamp", NULL},
    {NULL, NULL, 0, NULL, NULL},
};
static const struct column plain_columns[] = {
    {"Name", "string", 0, "metadata.name", NULL},
    {"Age", "string", 0, NULL, cell_age},
    {NULL, NULL, 0, NULL, NULL},
};

static const struct column *columns_of(const struct resource *r)
{
    static const struct {
        const char *plural;
        const struct column *columns;
    } kinds[] = {
        {"pods", pod_columns},
        {"services", service_columns},
        {"namespaces", namespace_columns},
        {"configmaps", data_columns},
        {"secrets", secret_columns},
        {"serviceaccounts", account_columns},
        {"leases", lease_columns},
        {"events", event_columns},
        {"nodes", node_columns},
        {"customresourcedefinitions", dated_columns},
        {"roles", dated_columns},
        {"clusterroles", dated_columns},
        {"rolebindings", binding_columns},
    };
    for (size_t i = 0; i < COUNT_OF(kinds) && !r->custom; i++)
        if (slice_eq(r->plural, slice_of(kinds[i].plural)))
            return kinds[i].columns;
    return plain_columns;
}

/* ---- columns of CRDs ---- */

/* The first element for which ?(@.key=="value") holds. */
static const struct node *filter_step(const struct node *array, struct slice step)
{
    if (!slice_starts(step, SLICE("?(@.")) || !slice_ends(step, SLICE(")")))
        return NULL;
    struct slice value = slice_head(slice_skip(step, 4), step.len - 5), key = slice_trim(slice_cut(&value, '='));
    if (!slice_starts(value, SLICE("=")))
        return NULL;
    value = slice_trim(slice_skip(value, 1));
    if (value.len < 2)
        return NULL;
    value = slice_head(slice_skip(value, 1), value.len - 2); /* without its quotes */
    for (const struct node *c = dom_is(array, JSON_ARRAY) ? array->child : NULL; c; c = c->next) {
        const struct node *k = dom_key(c, key);
        if (k && slice_eq(k->text, value))
            return c;
    }
    return NULL;
}

/* One step of a JSONPath: .name, [3], ['a.b'] or [?(@.type=="Ready")]; the rest of the path stays in *path. */
static const struct node *path_step(const struct node *n, struct slice *path)
{
    struct slice rest = slice_skip(*path, 1);
    if (path->ptr[0] == '[') {
        ptrdiff_t end = slice_find(rest, ']');
        struct slice step = slice_head(rest, end < 0 ? rest.len : (size_t)end);
        *path = end < 0 ? SLICE("") : slice_skip(rest, (size_t)end + 1);
        int64_t number;
        if (slice_int(step, &number))
            return number >= 0 ? dom_at(n, (size_t)number) : NULL;
        if (slice_starts(step, SLICE("'")) && step.len >= 2)
            return dom_key(n, slice_head(slice_skip(step, 1), step.len - 2));
        return filter_step(n, step);
    }
    size_t i = 0;
    while (i < rest.len && rest.ptr[i] != '.' && rest.ptr[i] != '[')
        i++;
    *path = slice_skip(rest, i);
    return dom_key(n, slice_head(rest, i));
}

static void custom_cell(struct apiserver *s, const struct node *o, const struct node *column, struct jout *w)
{
    struct slice path = dom_str(column, "jsonPath"), type = dom_str(column, "type");
    const struct node *n = o;
    while (path.len && n)
        n = path_step(n, &path);
    if (!n || n->type == JSON_NULL)
        jout_null(w);
    else if (slice_eq(type, SLICE("date")))
        cell_age_of(s, n->text, w);
    else if (n->type == JSON_NUMBER && !slice_eq(type, SLICE("string")))
        jout_raw(w, n->text);
    else if (n->type == JSON_OBJECT || n->type == JSON_ARRAY)
        jout_str(w, dom_text(n, &s->scratch));
    else
        jout_str(w, n->text);
}

static void definition(struct jout *w, struct slice name, struct slice type, struct slice about, int64_t priority)
{
    jout_object(w);
    jout_kstr(w, "name", name.ptr ? name : SLICE(""));
    jout_kstr(w, "type", type.ptr ? type : SLICE("string"));
    jout_kstr(w, "format", slice_eq(name, SLICE("Name")) ? SLICE("name") : SLICE(""));
    jout_kstr(w, "description", about.ptr ? about : SLICE(""));
    jout_kint(w, "priority", priority);
    jout_end(w);
}

static void custom_definition(struct jout *w, const struct node *c)
{
    char text[256];
    struct slice about = dom_str(c, "description"), path = dom_str(c, "jsonPath");
    snprintf(text, sizeof text, "Custom resource definition column (in JSONPath format): %.*s", SLICE_ARG(path));
    definition(w, dom_str(c, "name"), dom_str(c, "type"), about.ptr ? about : slice_of(text), dom_int(c, "priority", 0));
}

bool table_is_default(const struct api *api)
{
    return columns_of(api->of) == dated_columns;
}

void table_columns(const struct api *api, struct jout *w)
{
    jout_array(w);
    if (api->columns)
        definition(w, SLICE("Name"), SLICE("string"), SLICE(""), 0);
    for (const struct node *c = api->columns ? api->columns->child : NULL; c; c = c->next)
        custom_definition(w, c);
    for (const struct column *c = columns_of(api->of); !api->columns && c->name; c++)
        definition(w, slice_of(c->name), slice_of(c->type), SLICE(""), c->priority);
    jout_end(w);
}

/* Of a pod that has ended. */
static void pod_conditions(struct slice phase, struct jout *w)
{
    bool well = slice_eq(phase, SLICE("Succeeded"));
    if (well)
        jout_kraw(w, "conditions",
                  SLICE("[{\"type\":\"Completed\",\"status\":\"True\",\"reason\":\"Succeeded\",\"message\":\"The pod has completed "
                        "successfully.\"}]"));
    else if (slice_eq(phase, SLICE("Failed")))
        jout_kraw(w, "conditions",
                  SLICE("[{\"type\":\"Completed\",\"status\":\"True\",\"reason\":\"Failed\",\"message\":\"The pod failed.\"}]"));
}

void table_row(const struct api *api, struct apiserver *s, const struct version *v, enum table_object with, struct jout *w)
{
    struct arena *a = &s->scratch;
    const struct node *o = version_tree(v, a);
    jout_object(w);
    jout_karray(w, "cells");
    if (api->columns)
        jout_str(w, v->name);
    for (const struct node *c = api->columns ? api->columns->child : NULL; c; c = c->next)
        custom_cell(s, o, c, w);
    for (const struct column *c = columns_of(api->of); !api->columns && c->name; c++) {
        if (c->write)
            c->write(s, o, a, w);
        else
            cell_or(w, dom_str(o, c->path), "");
    }
    jout_end(w);
    if (api->of->rules == &rules_pod)
        pod_conditions(dom_str(o, "status.phase"), w);
    if (with != TABLE_NONE) {
        struct buf b;
        buf_init(&b, REQUEST_BODY_MAX * 2);
        view_write(api, with == TABLE_OBJECT ? FORMAT_OBJECT : FORMAT_METADATA, TABLE_NONE, s, v, false, false, &b);
        jout_kraw(w, "object", arena_dup(a, buf_slice(&b)));
        buf_free(&b);
    }
    jout_end(w);
}
