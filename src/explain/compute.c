/* Reads a compute config without a control plane, and renders the RayCluster that it makes. */
#include <mobula/explain.h>
#include <mobula/schema.h>

/* The place in the config that a field of the RayCluster comes from: its group, as near as can be told. */
static size_t source_of(struct jval config, struct slice path)
{
    static const char groups[] = "spec.workerGroupSpecs[";
    struct jval from = config;
    if (slice_starts(path, slice_of(groups))) {
        struct slice rest = slice_skip(path, strlen(groups));
        int64_t i = 0;
        if (slice_int(slice_cut(&rest, ']'), &i) && i >= 0)
            from = json_at(json_key(config, SLICE("worker_nodes")), (size_t)i);
    } else if (slice_starts(path, SLICE("spec.headGroupSpec"))) {
        from = json_key(config, SLICE("head_node"));
    }
    return json_offset(json_there(from) ? from : config);
}

/* An error of the RayCluster is an error of the pods that the config describes. */
static bool check_cluster(struct slice cluster, struct jval config, struct findings *f, struct err *e)
{
    struct findings *made = arena_new(f->arena, struct findings);
    struct spec_errors *errors = arena_new(f->arena, struct spec_errors);
    struct ray_cluster model;
    struct json json;
    *made = (struct findings){.arena = f->arena, .prefix = SLICE("")};
    if (!json_parse(&json, cluster, f->arena, e))
        return false;
    ray_read(json_root(&json), f->arena, &model, errors);
    findings_add_spec(made, false, errors);
    schema_check("rayclusters.ray.io", json_root(&json), made);
    for (uint32_t i = 0; i < made->count; i++)
        findings_add(f, made->list[i].warning, arena_printf(f->arena, "makes %.*s", SLICE_ARG(made->list[i].path)),
                     source_of(config, made->list[i].path), made->list[i].text);
    return true;
}

static bool write_cluster(const struct compute_how *how, struct slice spec, struct arena *a, struct slice *out, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    struct jout w;
    jout_init(&w, &text);
    jout_object(&w);
    jout_kstr(&w, "apiVersion", SLICE("ray.io/v1"));
    jout_kstr(&w, "kind", SLICE("RayCluster"));
    jout_kobject(&w, "metadata");
    jout_kstr(&w, "name", how->name);
    jout_end(&w);
    jout_kraw(&w, "spec", spec);
    jout_end(&w);
    *out = arena_dup(a, buf_slice(&text));
    return !text.full || err_set(e, ERR_LIMIT, "the cluster is larger than %zu bytes", text.max);
}

/* Patches the objects of the rendered cluster. A patch that does not apply is an error with the document's name and line. */
static bool patch_cluster(const char *file, struct slice cluster, const struct compute_how *how, struct arena *a, struct buf *notes)
{
    __attribute__((cleanup(buf_free))) struct buf objects = {.max = 8 * LIMIT_JSON_ITEM};
    struct explain_how explain = {
        .ray = {.tools = RAY_TOOLS_NONE, .cluster_domain = SLICE("cluster.local"), .version = SLICE(MOBULA_VERSION)},
        .types = how->types,
        .patches = how->patches};
    return explain_text(file, cluster, &explain, a, &objects, notes);
}

static bool render(struct jval root, const struct compute_how *how, struct findings *f, struct buf *out, struct err *e)
{
    struct spec_errors *errors = arena_new(f->arena, struct spec_errors), *odd = arena_new(f->arena, struct spec_errors);
    struct reader r = {.arena = f->arena, .errors = errors};
    const struct place *at = place_root(root, f->arena);
    struct compute_config config;
    struct compute_pods pods = {.image = how->image, .ray_version = how->ray_version, .env = NO_VALUE};
    struct slice spec, cluster;
    bool well = compute_read(&r, at, how->types, &config, odd);
    findings_add_spec(f, false, errors);
    findings_add_spec(f, true, odd);
    if (!well)
        return true;
    if (!compute_render(&config, &pods, f->arena, &spec, e) || !write_cluster(how, spec, f->arena, &cluster, e) ||
        !check_cluster(cluster, root, f, e))
        return false;
    return f->errors > 0 || yaml_write(cluster, out, e);
}

bool compute_text(const char *file, struct slice text, const struct compute_how *how, struct arena *a, struct buf *out, struct buf *notes)
{
    struct yaml_docs docs;
    struct json json;
    struct err e = {0};
    if (!yaml_parse(text, a, &docs, &e)) {
        findings_error(file, 0, &e, notes);
        return false;
    }
    if (docs.count != 1) {
        err_set(&e, ERR_CONFIG, docs.count ? "holds a second document: a compute config is one" : "holds no compute config");
        findings_error(file, docs.count ? docs.docs[1].line : 1, &e, notes);
        return false;
    }
    struct findings *f = arena_new(a, struct findings);
    *f = (struct findings){.arena = a, .prefix = SLICE("")};
    if (!json_parse(&json, docs.docs[0].json, a, &e) || !render(json_root(&json), how, f, out, &e))
        findings_error(file, docs.docs[0].line, &e, notes);
    findings_write(f, file, &docs.docs[0], notes);
    bool well = f->errors == 0 && e.code == ERR_NONE;
    return well && (!how->patches || patch_cluster(file, buf_slice(out), how, a, notes));
}
