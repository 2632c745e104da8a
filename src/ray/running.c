/* Reads from a head's pod how clients and workers reach that head: labels, ports and token Secret. An edit of the spec is for the next head
 * and must not cut them off from the running one. Pods made by KubeRay or by an earlier version are read alike. */
#include "build.h"
#include "shell.h"

static const char *const ports_of_ray[] = {"port", "dashboard-port", "dashboard-agent-listen-port", "ray-client-server-port",
                                           "metrics-export-port"};

/* The command text with `ray start`: KUBERAY_GEN_RAY_START_CMD, else an argument of the container. SLICE_NONE: none. */
static struct slice started_by(struct jval container, struct arena *a)
{
    static const char *const parts[] = {"args", "command"};
    struct jval k, v;
    struct slice text = json_get_str(list_find(json_get(container, "env"), "name", SLICE("KUBERAY_GEN_RAY_START_CMD")), "value", a);
    if (!slice_empty(text))
        return text;
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        for (struct jiter it = json_iter(json_get(container, parts[i])); json_next(&it, &k, &v);)
            if (shell_find_last(json_str(v, a), "ray start") >= 0)
                return json_str(v, a);
    return SLICE_NONE;
}

static bool ends_word(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|';
}

/* The port in --flag=7 or --flag 7, with or without quotes; the last one counts, as for Ray. 0: no such flag, or no port. */
static int32_t flag_port(struct slice command, const char *flag, struct arena *a)
{
    int32_t port = 0;
    struct slice word = arena_printf(a, "--%s", flag);
    for (size_t at = 0; at + word.len < command.len; at++) {
        struct slice rest = slice_skip(command, at);
        bool begins = at && ends_word(command.ptr[at - 1]) && slice_starts(rest, word);
        if (!begins || (rest.ptr[word.len] != '=' && rest.ptr[word.len] != ' '))
            continue;
        rest = slice_trim(slice_skip(rest, word.len + 1));
        size_t n = 0;
        while (n < rest.len && !ends_word(rest.ptr[n]))
            n++;
        struct slice value = slice_head(rest, n), plain;
        if (shell_unquote(value, a, &plain))
            value = plain;
        if (!read_port(value, &port))
            port = 0;
    }
    return port;
}

static void write_params(struct jout *w, struct jval container, struct arena *a)
{
    struct slice text = started_by(container, a);
    ptrdiff_t at = text.ptr ? shell_find_last(text, "ray start") : -1;
    if (at < 0)
        return;
    jout_kobject(w, "params");
    for (size_t i = 0; i < COUNT_OF(ports_of_ray); i++) {
        int32_t port = flag_port(slice_skip(text, (size_t)at), ports_of_ray[i], a);
        if (port)
            jout_kstr(w, ports_of_ray[i], arena_printf(a, "%d", (int)port));
    }
    jout_end(w);
}

static void write_secret(struct jout *w, struct jval container, struct arena *a)
{
    struct jval env = json_get(container, "env"), ref = json_get(list_find(env, "name", SLICE(RAY_AUTH_TOKEN)), "valueFrom.secretKeyRef");
    bool token = json_is(json_get(list_find(env, "name", SLICE(RAY_AUTH_MODE)), "value"), "token");
    if (token && json_is(json_get(ref, "key"), RAY_AUTH_KEY))
        jout_kstr(w, "secret", json_get_str(ref, "name", a));
}

/* Notes the Secret of the CA, if the head has the init container ray-cert: a volume of that name alone may be the user's. */
static void write_ca(struct jout *w, struct jval pod, struct arena *a)
{
    struct jval volume = list_find(json_get(pod, "spec.volumes"), "name", SLICE(RAY_CA_VOLUME));
    struct slice name = json_get_str(volume, "secret.secretName", a);
    if (!slice_empty(name) && list_has(json_get(pod, "spec.initContainers"), "name", SLICE(RAY_TLS_INIT_CONTAINER)))
        jout_kstr(w, "ca", name);
}

void ray_running_read(struct jval pod, struct arena *a, struct buf *out)
{
    struct jval container = ray_live_container(pod), ports = json_get(container, "ports"), k, v;
    struct pairs labels = pairs_new(a);
    struct jout w;
    pairs_set_all(&labels, json_get(pod, "metadata.labels"));
    pairs_sort(&labels);
    jout_init(&w, out);
    jout_object(&w);
    write_params(&w, container, a);
    write_secret(&w, container, a);
    write_ca(&w, pod, a);
    jout_form(&w, "template:{metadata:{labels:");
    pairs_write(&labels, &w);
    jout_form(&w, "},spec:{containers:[{ports:[");
    for (struct jiter it = json_iter(ports); json_next(&it, &k, &v);) {
        struct slice name = json_get_str(v, "name", a), protocol = json_get_str(v, "protocol", a);
        jout_form(&w, "{containerPort:%d,name?:'%.*s',protocol?:'%.*s'}", (int)json_get_int(v, "containerPort", 0), SLICE_ARG(name),
                  SLICE_ARG(protocol));
    }
    jout_form(&w, "]}]}}}");
}

void ray_running_apply(struct ray_cluster *c, struct slice text, struct arena *a)
{
    struct jval doc;
    if (!json_read(&doc, text, a, NULL))
        return;
    struct ray_running *r = arena_new(a, struct ray_running);
    *r = (struct ray_running){.head = c->head,
                              .auth_secret = c->auth.secret,
                              .auth_ca = c->auth.ca,
                              .gcs_port = c->ports.gcs,
                              .dashboard_port = c->ports.dashboard,
                              .dashboard_agent_port = c->ports.dashboard_agent};
    r->head.template = json_get(doc, "template");
    c->running = r;
    if (c->kind == RAY_V1) {
        c->auth.secret = json_get_str(doc, "secret", a);
        c->auth.ca = json_get_str(doc, "ca", a);
    }
    if (!json_there(json_get(doc, "params")))
        return; /* the pod does not show how Ray was started: the spec's ports are used */
    r->head.start_params = json_get(doc, "params");
    c->ports.gcs = start_port(&r->head, "port", RAY_GCS_PORT, a);
    c->ports.dashboard = start_port(&r->head, "dashboard-port", RAY_DASHBOARD_PORT, a);
    c->ports.dashboard_agent = start_port(&r->head, "dashboard-agent-listen-port", RAY_AGENT_PORT, a);
    if (c->ports.gcs == r->gcs_port && slice_eq(c->auth.secret, r->auth_secret) && slice_eq(c->auth.ca, r->auth_ca))
        return;
    for (uint32_t i = 0; i < c->group_count; i++) {
        c->groups[i].hash_now = ray_group_hash(c, &c->groups[i], a);
        if (!c->groups[i].on_demand)
            continue;
        struct ray_group *other = arena_new(a, struct ray_group);
        *other = *c->groups[i].on_demand;
        other->hash_now = c->groups[i].hash_now;
        c->groups[i].on_demand = other;
    }
}

struct ray_cluster ray_next(const struct ray_cluster *c)
{
    struct ray_cluster next = *c;
    if (c->running) {
        next.auth.secret = c->running->auth_secret;
        next.auth.ca = c->running->auth_ca;
        next.ports.gcs = c->running->gcs_port;
        next.ports.dashboard = c->running->dashboard_port;
        next.ports.dashboard_agent = c->running->dashboard_agent_port;
        next.running = NULL;
    }
    return next;
}

static void other_port(const char *what, int32_t runs, int32_t asked, struct slice *text, struct arena *a)
{
    if (runs != asked)
        *text =
            arena_printf(a, "%.*s%s%s port %d runs, %d is asked for", SLICE_ARG(*text), text->len ? "; " : "", what, (int)runs, (int)asked);
}

/* Appends the labels of the template that the running head pod lacks or has with another value. */
static void other_labels(const struct ray_cluster *c, struct slice *text, struct arena *a)
{
    struct pairs asked = pairs_new(a), has = pairs_new(a);
    pod_labels(c, &c->head, 0, &asked);
    pairs_set_all(&has, json_get(c->running->head.template, "metadata.labels"));
    for (uint32_t i = 0; i < asked.count; i++) {
        const struct pair *p = &asked.list[i];
        const struct slice *is = pairs_get(&has, p->key);
        if (!is || !slice_eq(*is, p->value))
            *text = arena_printf(a, "%.*s%slabel %.*s is %.*s, %.*s is asked for", SLICE_ARG(*text), text->len ? "; " : "",
                                 SLICE_ARG(p->key), SLICE_ARG(is ? *is : SLICE("not there")), SLICE_ARG(p->value));
    }
}

struct slice ray_running_drift(const struct ray_cluster *c, struct arena *a)
{
    struct slice text = SLICE("");
    if (!c->running)
        return text;
    other_port("GCS", c->ports.gcs, c->running->gcs_port, &text, a);
    other_port("dashboard", c->ports.dashboard, c->running->dashboard_port, &text, a);
    other_port("agent", c->ports.dashboard_agent, c->running->dashboard_agent_port, &text, a);
    if (!slice_eq(c->auth.secret, c->running->auth_secret))
        text = arena_printf(a, "%.*s%sthe Secret of its token is another", SLICE_ARG(text), text.len ? "; " : "");
    if (!slice_eq(c->auth.ca, c->running->auth_ca))
        text = arena_printf(a, "%.*s%sthe Secret of its CA is another", SLICE_ARG(text), text.len ? "; " : "");
    if (c->kind == RAY_V1)
        other_labels(c, &text, a);
    return arena_cut(a, text, LIMIT_KUBE_EVENT_NOTE / 2);
}
