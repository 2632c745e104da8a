/* mobula cloud, compute-config and job: the objects of a control plane, written straight to its cluster, as kubectl would. Each command is
 * a table of verbs over one kind of object. */
#include "ask.h"
#include "cli.h"
#include "submit.h"

#include <mobula/hub.h>
#include <mobula/yaml.h>

#include <stdio.h>

struct options {
    struct slice kubeconfig, context, ns, name, output;
    struct slice provider, stack, region, zones, networking, bucket, endpoint, identity; /* of a cloud */
    struct slice file;                                                                   /* of a compute config */
    struct slice cloud, config, image, dir;                                              /* of a job */
    struct flag_texts env;
    int64_t retries, timeout_ms;
    bool wait;
};

#define AT(field) offsetof(struct options, field)
#define COMMON                                                                                                                             \
    {"name", FLAG_TEXT, AT(name), "NAME", "of the object"}, {"n", FLAG_TEXT, AT(ns), "NS", "project (default: the context's namespace)"},  \
        {"o", FLAG_TEXT, AT(output), "table|json|yaml|name", "how it is printed"},                                                         \
        {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE", "of the control plane's cluster"},                                               \
    {                                                                                                                                      \
        "context", FLAG_TEXT, AT(context), "NAME", "of the kubeconfig"                                                                     \
    }

static const struct flag cloud_list[] = {
    COMMON,
    {"provider", FLAG_TEXT, AT(provider), "aws|gcp|azure|generic", "whose cluster it is"},
    {"compute-stack", FLAG_TEXT, AT(stack), "k8s", "the only one"},
    {"region", FLAG_TEXT, AT(region), "NAME", "of the provider; for generic a name of your own"},
    {"kubernetes-zones", FLAG_TEXT, AT(zones), "ZONE[,…]", "that compute configs may name"},
    {"networking-mode", FLAG_TEXT, AT(networking), "private|public", "who reaches heads and services"},
    {"cloud-storage-bucket-name", FLAG_TEXT, AT(bucket), "s3://NAME", "for artifacts and logs"},
    {"cloud-storage-bucket-endpoint", FLAG_TEXT, AT(endpoint), "URL", "of an S3-compatible store"},
    {"operator-identity", FLAG_TEXT, AT(identity), "USER", "the only one who may speak as the operator"},
};
static const struct flag config_list[] = {COMMON, {"f", FLAG_TEXT, AT(file), "FILE", "the compute config, in YAML or JSON"}};
static const struct flag job_list[] = {
    COMMON,
    {"cloud", FLAG_TEXT, AT(cloud), "NAME", "where it runs"},
    {"compute-config", FLAG_TEXT, AT(config), "NAME[:N]", "the nodes that it runs on"},
    {"image-uri", FLAG_TEXT, AT(image), "IMAGE", "of Ray's container"},
    {"working-dir", FLAG_TEXT, AT(dir), "URL", "of a zip file, which Ray unpacks; a local folder needs object storage"},
    {"env", FLAG_TEXTS, AT(env), "NAME=VALUE", "environment variable"},
    {"max-retries", FLAG_INT, AT(retries), "N", "further attempts after one that failed"},
    {"wait", FLAG_SWITCH, AT(wait), NULL, "wait for its end"},
    {"timeout", FLAG_DURATION, AT(timeout_ms), "TIME", "of waiting (0: never)"},
};

struct column {
    const char *head, *path;
};
enum { COLUMNS = 5, CELL_MAX = 256, LOOK_MS = 1000 };

struct noun;
struct desk {
    const struct noun *noun;
    struct options o;
    struct ask ask;
    struct arena a;
    struct slice command; /* behind "--" */
};
typedef bool verb_run(struct desk *d, struct err *e);

struct noun {
    const char *kind;
    const struct kube_resource *resource;
    struct column columns[COLUMNS];
    struct flags flags;
    struct {
        const char *name;
        verb_run *run;
        bool named;
    } verbs[6];
};

/* ---- printing ---- */

/* Others have written the texts: nothing in them is for a terminal to act on. */
static struct slice cell(struct jval object, const struct column *c, char out[CELL_MAX], struct arena *a)
{
    struct slice text = json_get_str(object, c->path, a);
    return slice_empty(text) ? SLICE("-") : utf8_clean(text, out, CELL_MAX);
}

/* The heads of the columns where there is no object. */
static void put_row(struct jval object, const struct noun *n, struct arena *a, struct buf *out)
{
    char clean[CELL_MAX];
    for (int i = 0; i < COLUMNS && n->columns[i].head; i++) {
        struct slice text = json_there(object) ? cell(object, &n->columns[i], clean, a) : slice_of(n->columns[i].head);
        buf_printf(out, i == COLUMNS - 1 || !n->columns[i + 1].head ? "%.*s" : "%-18.*s ", SLICE_ARG(text));
    }
    buf_putc(out, '\n');
}

static void put_object(struct desk *d, struct jval object, struct buf *out)
{
    if (slice_eq(d->o.output, SLICE("name")))
        buf_printf(out, "%.*s\n", SLICE_ARG(json_get_str(object, "metadata.name", &d->a)));
    else
        put_row(object, d->noun, &d->a, out);
}

/* The answer is an object, or a list of them. */
static bool put_answer(struct desk *d, struct slice body, struct buf *out, struct err *e)
{
    struct json doc;
    struct jval key, one;
    if (!json_parse(&doc, body, &d->a, e))
        return false;
    if (slice_eq(d->o.output, SLICE("yaml")))
        return yaml_write(body, out, e);
    if (slice_eq(d->o.output, SLICE("json")))
        return buf_put(out, body) && buf_putc(out, '\n');
    if (!slice_eq(d->o.output, SLICE("name")))
        put_row((struct jval){.at = -1}, d->noun, &d->a, out);
    struct jval items = json_get(json_root(&doc), "items");
    if (json_type(items) != JSON_ARRAY)
        put_object(d, json_root(&doc), out);
    for (struct jiter it = json_iter(items); json_next(&it, &key, &one);)
        put_object(d, one, out);
    return true;
}

static bool print_objects(struct desk *d, struct slice body, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf out = {.max = 64 * MIB};
    return put_answer(d, body, &out, e) && cli_print(buf_slice(&out));
}

/* ---- asking ---- */

static struct slice path_of(struct desk *d, struct slice name)
{
    struct buf b;
    buf_init(&b, 2 * KIB);
    kube_path(&b, d->noun->resource, d->o.ns, name, SLICE_NONE);
    struct slice path = arena_dup(&d->a, buf_slice(&b));
    buf_free(&b);
    return path;
}

static bool well(struct desk *d, bool asked, const struct ask_answer *a, struct err *e)
{
    char words[ASK_WORDS];
    return asked && (a->code < 300 || err_set(e, ERR_STATUS, "%s%s%.*s: %s", d->noun->kind, slice_empty(d->o.name) ? "" : " ",
                                              SLICE_ARG(d->o.name), ask_words(a, words)));
}

static bool get(struct desk *d, struct slice name, struct ask_answer *a, struct err *e)
{
    return well(d, ask_get(&d->ask, path_of(d, name), NULL, &d->a, a, e), a, e);
}

static bool create(struct desk *d, struct slice name, struct slice spec, struct err *e)
{
    struct ask_answer a;
    struct slice body =
        arena_printf(&d->a, "{\"apiVersion\":\"mobula.dev/v1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%.*s\"},\"spec\":%.*s}",
                     d->noun->kind, SLICE_ARG(name), SLICE_ARG(spec));
    return well(d, ask_post(&d->ask, path_of(d, SLICE_NONE), body, &d->a, &a, NULL, e), &a, e) && print_objects(d, a.body, e);
}

static bool run_list(struct desk *d, struct err *e)
{
    struct ask_answer a;
    d->o.name = SLICE_NONE;
    return get(d, SLICE_NONE, &a, e) && print_objects(d, a.body, e);
}

static bool run_get(struct desk *d, struct err *e)
{
    struct ask_answer a;
    return get(d, d->o.name, &a, e) && print_objects(d, a.body, e);
}

static bool run_delete(struct desk *d, struct err *e)
{
    struct ask_answer a;
    return well(d, ask_delete(&d->ask, path_of(d, d->o.name), SLICE("{}"), &d->a, &a, e), &a, e);
}

/* ---- clouds ---- */

static void put(struct jout *w, const char *key, struct slice text)
{
    if (!slice_empty(text))
        jout_kstr(w, key, text);
}

static struct slice written(struct desk *d, struct buf *b)
{
    struct slice text = arena_dup(&d->a, buf_slice(b));
    buf_free(b);
    return text;
}

static bool run_register(struct desk *d, struct err *e)
{
    const struct options *o = &d->o;
    struct slice zones = o->zones;
    struct buf b;
    struct jout w;
    if (!slice_empty(o->stack) && !slice_eq_nocase(o->stack, SLICE("k8s")))
        return err_set(e, ERR_CONFIG, "--compute-stack: only k8s is known here");
    buf_init(&b, 64 * KIB);
    jout_init(&w, &b);
    jout_object(&w);
    jout_kstr(&w, "provider", slice_lower(o->provider, &d->a));
    put(&w, "region", o->region);
    put(&w, "networking", slice_lower(o->networking, &d->a));
    put(&w, "operatorIdentity", o->identity);
    if (!slice_empty(zones))
        jout_karray(&w, "zones");
    while (!slice_empty(zones))
        jout_str(&w, slice_cut(&zones, ','));
    if (!slice_empty(o->zones))
        jout_end(&w);
    if (!slice_empty(o->bucket)) {
        jout_kobject(&w, "objectStorage");
        jout_kstr(&w, "bucket", o->bucket);
        put(&w, "endpoint", o->endpoint);
        jout_end(&w);
    }
    jout_end(&w);
    struct ask_answer a;
    struct json doc;
    if (!create(d, o->name, written(d, &b), e) || !get(d, o->name, &a, e) || !json_parse(&doc, a.body, &d->a, e))
        return false;
    char id[HUB_DEPLOYMENT_ID];
    hub_deployment_id(json_get_str(json_root(&doc), "metadata.uid", &d->a), id);
    fprintf(stderr, "cloud deployment id: %.*s\n", HUB_DEPLOYMENT_ID, id);
    return true;
}

/* ---- compute configs ---- */

/* The next version of the name that is free. */
static bool run_create(struct desk *d, struct err *e)
{
    struct yaml_docs docs;
    struct slice text;
    struct ask_answer a;
    struct json doc;
    struct jval k, one;
    int64_t newest = 0, n;
    struct slice stem = arena_printf(&d->a, "%.*s-v", SLICE_ARG(d->o.name));
    if (slice_empty(d->o.file))
        return err_set(e, ERR_CONFIG, "-f FILE is needed: the compute config");
    if (!cli_read_file(d->o.file, &d->a, &text, e) || !yaml_parse(text, &d->a, &docs, e))
        return false;
    if (docs.count != 1)
        return err_set(e, ERR_CONFIG, "%s: holds %u documents, and one is wanted", d->o.file.ptr, docs.count);
    if (!get(d, SLICE_NONE, &a, e) || !json_parse(&doc, a.body, &d->a, e))
        return false;
    for (struct jiter it = json_iter(json_get(json_root(&doc), "items")); json_next(&it, &k, &one);) {
        struct slice name = json_get_str(one, "metadata.name", &d->a);
        if (slice_starts(name, stem) && slice_int(slice_skip(name, stem.len), &n) && n > newest)
            newest = n;
    }
    return create(d, arena_printf(&d->a, "%.*s%lld", SLICE_ARG(stem), (long long)newest + 1), docs.docs[0].json, e);
}

/* ---- jobs ---- */

static bool is_over(struct slice state)
{
    return slice_eq(state, SLICE("SUCCEEDED")) || slice_eq(state, SLICE("FAILED")) || slice_eq(state, SLICE("TERMINATED")) ||
           slice_eq(state, SLICE("REFUSED"));
}

/* One look at the job, with a line on stderr when its state is another one. False: it cannot be read. */
static bool look(struct desk *d, uint64_t *said, bool *over, struct err *e)
{
    struct ask_answer a;
    struct json doc;
    char line[ERR_TEXT_MAX];
    if (!get(d, d->o.name, &a, e) || !json_parse(&doc, a.body, &d->a, e))
        return false;
    struct slice state = json_get_str(json_root(&doc), "status.state", &d->a);
    struct slice message = json_get_str(json_root(&doc), "status.message", &d->a);
    if (hash64(state, 0) != *said)
        fprintf(stderr, "job %.*s: %s\n", SLICE_ARG(d->o.name),
                utf8_clean(arena_printf(&d->a, "%.*s%s%.*s", SLICE_ARG(slice_empty(state) ? SLICE("PENDING") : state),
                                        slice_empty(message) ? "" : ": ", SLICE_ARG(message)),
                           line, sizeof line)
                    .ptr);
    *said = hash64(state, 0);
    *over = is_over(state);
    return !*over || slice_eq(state, SLICE("SUCCEEDED")) ||
           err_set(e, ERR_STATUS, "job %.*s ended: %.*s", SLICE_ARG(d->o.name), SLICE_ARG(state));
}

/* However long it waits, only one answer is kept. */
static bool run_wait(struct desk *d, struct err *e)
{
    int64_t until_ms = d->o.timeout_ms ? clock_now().mono_ms + d->o.timeout_ms : TIME_NEVER;
    struct arena kept = d->a;
    uint64_t said = 0;
    bool well = true;
    d->a = (struct arena){0};
    for (bool over = false; well; arena_reset(&d->a, MIB)) {
        well = look(d, &said, &over, e);
        if (over)
            break;
        if (well && clock_now().mono_ms >= until_ms)
            well = err_set(e, ERR_TIMEOUT, "job %.*s has not ended within --timeout; it goes on", SLICE_ARG(d->o.name));
        if (well && !ask_pause(&d->ask, LOOK_MS))
            well = err_set(e, ERR_CLOSED, "ended by a signal; the job goes on");
    }
    arena_free(&d->a);
    d->a = kept;
    return well;
}

static bool put_env(struct jout *w, const struct flag_texts *env, struct err *e)
{
    jout_kobject(w, "env");
    for (uint32_t i = 0; i < env->count; i++) {
        struct slice value = env->list[i];
        if (slice_find(value, '=') < 1)
            return err_set(e, ERR_CONFIG, "--env: \"%.*s\" is not NAME=VALUE", SLICE_ARG(value));
        jout_key(w, slice_cut(&value, '='));
        jout_str(w, value);
    }
    jout_end(w);
    return true;
}

static bool run_submit(struct desk *d, struct err *e)
{
    const struct options *o = &d->o;
    struct buf b;
    struct jout w;
    if (slice_empty(o->cloud) || slice_empty(d->command))
        return err_set(e, ERR_CONFIG, "--cloud NAME and a command behind -- are needed");
    if (!slice_empty(o->dir) && !slice_has(o->dir, "://"))
        return err_set(e, ERR_CONFIG,
                       "--working-dir: \"%.*s\" is a local folder, and nothing is uploaded from here: give the URL of a zip file",
                       SLICE_ARG(o->dir));
    buf_init(&b, MIB);
    jout_init(&w, &b);
    jout_object(&w);
    jout_kstr(&w, "cloud", o->cloud);
    put(&w, "image", o->image);
    put(&w, "workingDir", o->dir);
    if (!slice_empty(o->config)) {
        jout_kobject(&w, "computeConfig");
        jout_kstr(&w, "name", o->config);
        jout_end(&w);
    }
    if (!put_env(&w, &o->env, e)) {
        buf_free(&b);
        return false;
    }
    jout_kobject(&w, "job");
    jout_kstr(&w, "entrypoint", d->command);
    jout_kint(&w, "maxRetries", o->retries);
    jout_end(&w);
    jout_end(&w);
    return create(d, o->name, written(d, &b), e) && (!o->wait || run_wait(d, e));
}

static bool run_terminate(struct desk *d, struct err *e)
{
    struct ask_answer a;
    return well(d, ask_merge(&d->ask, path_of(d, d->o.name), SLICE("{\"spec\":{\"terminate\":true}}"), &d->a, &a, e), &a, e);
}

/* ---- the tables ---- */

static const struct noun cloud = {
    "Cloud",
    &hub_clouds,
    {{"NAME", "metadata.name"},
     {"PROVIDER", "spec.provider"},
     {"REGION", "spec.region"},
     {"HEALTH", "status.health"},
     {"DEPLOYMENT ID", "status.deploymentId"}},
    {"mobula cloud register|list|get|delete [--name NAME] [FLAG…]", "Clouds of a control plane: places where workloads run.", cloud_list,
     COUNT_OF(cloud_list)},
    {{"register", run_register, true}, {"list", run_list, false}, {"get", run_get, true}, {"delete", run_delete, true}},
};
static const struct noun config = {
    "ComputeConfig",
    &hub_configs,
    {{"NAME", "metadata.name"},
     {"CLOUD", "spec.cloud"},
     {"HEAD", "spec.head_node.instance_type"},
     {"CREATED", "metadata.creationTimestamp"}},
    {"mobula compute-config create|list|get|archive [--name NAME] [FLAG…]",
     "Compute configs of a control plane. create makes the next version NAME-vN; get and archive name one.", config_list,
     COUNT_OF(config_list)},
    {{"create", run_create, true}, {"list", run_list, false}, {"get", run_get, true}, {"archive", run_delete, true}},
};
static const struct noun job = {
    "Workload",
    &hub_workloads,
    {{"NAME", "metadata.name"},
     {"CLOUD", "spec.cloud"},
     {"STATE", "status.state"},
     {"REASON", "status.reason"},
     {"CREATED", "metadata.creationTimestamp"}},
    {"mobula job submit|list|status|wait|terminate|delete [--name NAME] [FLAG…] [-- COMMAND…]",
     "Jobs of a control plane. submit makes one for a cloud; wait ends with 0 when it has succeeded.", job_list, COUNT_OF(job_list)},
    {{"submit", run_submit, true},
     {"list", run_list, false},
     {"status", run_get, true},
     {"wait", run_wait, true},
     {"terminate", run_terminate, true},
     {"delete", run_delete, true}},
};

/* Where the flags end. What stands behind "--" is the command, as `mobula submit` takes it. */
static bool cut_command(int argc, char **argv, struct desk *d, int *end, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf line = {.max = LIMIT_JSON_ITEM};
    for (*end = 1; *end < argc && strcmp(argv[*end], "--") != 0;)
        ++*end;
    size_t count = *end < argc ? (size_t)(argc - *end - 1) : 0;
    struct slice *words = arena_array(&d->a, count, sizeof *words);
    for (size_t i = 0; i < count; i++)
        words[i] = slice_of(argv[*end + 1 + (int)i]);
    bool well = count == 0 || submit_entrypoint(words, count, &line, e);
    d->command = arena_dup(&d->a, buf_slice(&line));
    return well;
}

static int run_noun(const struct noun *n, int argc, char **argv)
{
    struct desk d = {.noun = n, .o = {.output = SLICE("table"), .provider = SLICE("generic"), .retries = 1}, .command = SLICE("")};
    int status, end;
    struct err e = {0};
    size_t v = 0;
    bool named = argc > 1 && argv[1][0] != '-';
    while (v < COUNT_OF(n->verbs) && n->verbs[v].name && (!named || strcmp(argv[1], n->verbs[v].name) != 0))
        v++;
    bool cut = cut_command(argc, argv, &d, &end, &e);
    if (!flags_parse(&n->flags, end - named, argv + named, &d.o, &status))
        return status;
    if (!cut)
        return flags_wrong(&n->flags, "%s", e.text);
    if (!named || v == COUNT_OF(n->verbs) || !n->verbs[v].name)
        return flags_wrong(&n->flags, "which of them? see the usage");
    if (n->verbs[v].named && slice_empty(d.o.name))
        return flags_wrong(&n->flags, "--name NAME is needed");
    bool ok = ask_open(&d.ask, d.o.kubeconfig, d.o.context, &e);
    if (ok && slice_empty(d.o.ns))
        d.o.ns = d.ask.config->namespace_;
    ok = ok && n->verbs[v].run(&d, &e);
    ask_close(&d.ask);
    arena_free(&d.a);
    return ok ? STATUS_OK : e.code == ERR_NONE ? STATUS_ERROR : cli_fail(&e);
}

int cli_cloud(int argc, char **argv)
{
    return run_noun(&cloud, argc, argv);
}

int cli_compute_config(int argc, char **argv)
{
    return run_noun(&config, argc, argv);
}

int cli_job(int argc, char **argv)
{
    return run_noun(&job, argc, argv);
}
