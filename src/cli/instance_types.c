/* mobula instance-types: lists them, or suggests those that fill the nodes of a cluster. */
#include "cli.h"
#include "shapes.h"

#include <mobula/explain.h>
#include <mobula/yaml.h>

#include <stdio.h>

struct shapes_options {
    struct slice kubeconfig, context, ns, name, file, reserve;
    int64_t timeout_ms;
};

static const struct flag list[] = {
#define AT(field) offsetof(struct shapes_options, field)
    {"f", FLAG_TEXT, AT(file), "FILE"},
    {"namespace", FLAG_TEXT, AT(ns), "NS"},
    {"configmap", FLAG_TEXT, AT(name), "NAME"},
    {"reserve", FLAG_TEXT, AT(reserve), "cpu=N,memory=N"},
    TLS_FLAG,
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE"},
    {"context", FLAG_TEXT, AT(context), "NAME"},
    ASK_TIMEOUT_FLAG(AT(timeout_ms)),
#undef AT
};

static const struct flags flags = {
    .usage = "mobula instance-types list|suggest [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
};

struct job {
    const struct shapes_options *o;
    struct ask ask;
    struct arena a;
    struct shapes found;
    struct buf out, notes;
    struct err e;
};

static bool fetch(struct job *j, struct slice path, struct slice *body)
{
    struct ask_answer answer;
    char words[ASK_WORDS];
    if (!ask_get(&j->ask, path, NULL, &j->a, &answer, &j->e))
        return false;
    *body = answer.body;
    return answer.code < 300 || err_set(&j->e, ERR_STATUS, "%.*s: %s", SLICE_ARG(path), ask_words(&answer, words));
}

/* A list of nodes, or one: JSON, or YAML as kubectl prints it. */
static bool add_nodes(struct job *j, struct slice text, const struct shapes_reserve *reserve, struct slice *more)
{
    struct yaml_docs docs;
    struct json *doc = arena_new(&j->a, struct json);
    struct jval k, node;
    if (!yaml_parse(text, &j->a, &docs, &j->e) || docs.count == 0 || !json_parse(doc, docs.docs[0].json, &j->a, &j->e))
        return j->e.code == ERR_NONE ? err_set(&j->e, ERR_SYNTAX, "there is no list of nodes") : false;
    for (struct jiter it = json_iter(json_key(json_root(doc), SLICE("items"))); json_next(&it, &k, &node);)
        shapes_add_node(&j->found, node, reserve, &j->a);
    *more = json_get_str(json_root(doc), "metadata.continue", &j->a);
    return true;
}

static bool suggest(struct job *j)
{
    struct ray_tools_resources r = {0};
    struct shapes_reserve reserve = {0};
    struct slice text, more = SLICE("");
    if (!ray_tools_resources(j->o->reserve, &r, &j->e) || (r.cpu.len && !quantity_parse(r.cpu, 3, &reserve.cpu, &j->e)) ||
        (r.memory.len && !quantity_parse(r.memory, 0, &reserve.memory, &j->e)))
        return err_wrap(&j->e, "--reserve");
    if (!slice_empty(j->o->file)) {
        if (!cli_read_file(j->o->file, &j->a, &text, &j->e) || !add_nodes(j, text, &reserve, &more))
            return false;
    } else {
        __attribute__((cleanup(buf_free))) struct buf path;
        buf_init(&path, LIMIT_HTTP_URL);
        do {
            buf_clear(&path);
            buf_put(&path, SLICE("/api/v1/nodes?limit=50")); /* a node of many images has tens of KiB */
            if (!slice_empty(more))
                kube_query(&path, "continue", more);
            if (!fetch(j, buf_slice(&path), &text) || !add_nodes(j, text, &reserve, &more))
                return false;
        } while (!slice_empty(more));
    }
    shapes_suggest(&j->found, &j->out);
    return true;
}

static bool list_types(struct job *j)
{
    struct slice text;
    struct shape_types types;
    if (slice_empty(j->o->file) ? !shapes_fetch(&j->ask, j->o->ns, j->o->name, true, &j->a, &text, &j->e)
                                : !cli_read_file(j->o->file, &j->a, &text, &j->e))
        return false;
    const char *from = slice_empty(j->o->file) ? arena_dup(&j->a, j->o->name).ptr : j->o->file.ptr;
    bool well = explain_types(from, text, &j->a, &types, &j->notes);
    shapes_list(&types, &j->a, &j->out);
    return well;
}

int cli_instance_types(int argc, char **argv)
{
    struct shapes_options o = {.ns = SLICE("mobula"), .name = SLICE("instance-types"), .reserve = SLICE("cpu=500m,memory=1Gi")};
    struct slice what = argc > 1 ? slice_of(argv[1]) : SLICE("");
    bool lists = slice_eq(what, SLICE("list")), suggests = slice_eq(what, SLICE("suggest")), named = lists || suggests;
    int status;
    if (!flags_parse(&flags, argc - named, argv + named, &o, &status))
        return status;
    if (!named)
        return flags_wrong(&flags, "list or suggest?");
    struct job *j = mem_alloc(sizeof *j);
    j->o = &o;
    j->ask.timeout_ms = o.timeout_ms;
    buf_init(&j->out, MIB);
    buf_init(&j->notes, MIB);
    bool opened = slice_empty(o.file), well = !opened || ask_open(&j->ask, o.kubeconfig, o.context, &j->e);
    well = well && (lists ? list_types(j) : suggest(j));
    fwrite(j->notes.ptr, 1, j->notes.len, stderr);
    well = cli_print(buf_slice(&j->out)) && well;
    status = well ? STATUS_OK : j->e.code ? cli_fail(&j->e) : STATUS_ERROR;
    if (opened)
        ask_close(&j->ask);
    buf_free(&j->out);
    buf_free(&j->notes);
    arena_free(&j->a);
    mem_free(j);
    return status;
}
