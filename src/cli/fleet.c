/* mobula cloud, compute-config, job and node: the objects of a control plane. Each command is a table of verbs over one kind of object. */
#include "fleet.h"

#include "cli.h"
#include "compute.h"
#include "submit.h"

#include <mobula/remote.h>
#include <mobula/yaml.h>

#include <stdio.h>

enum { CELL_MAX = 256, TRIES = 5 };

/* ---- printing ---- */

bool fleet_is_silent(struct desk *d, struct jval cloud)
{
    int64_t until_us = 0;
    struct jval key, one;
    struct slice text = json_get_str(cloud, "status.session.expiryTime", &d->a);
    for (struct jiter it = json_iter(json_get(cloud, "status.conditions")); json_next(&it, &key, &one);)
        if (json_is(json_get(one, "type"), "Connected") && json_is(json_get(one, "status"), "False"))
            return true;
    if (!text.ptr || !time_parse(text, &until_us, NULL))
        return false;
    if (!d->asked_now) /* once, whatever the answer is */
        d->now_us = d->way->now_us(d);
    d->asked_now = true;
    return until_us <= d->now_us;
}

static struct slice shown(struct desk *d, struct slice name)
{
    return d->noun->resource == &hub_configs ? config_shown(name, &d->a) : name;
}

/* Others have written the texts: nothing in them is for a terminal to act on. Of a list its texts, with commas between. */
static struct slice cell(struct desk *d, struct jval object, const char *path, char out[CELL_MAX])
{
    struct arena *a = &d->a;
    struct jval value = json_get(object, path), key, one;
    struct slice text = json_str(value, a);
    for (struct jiter it = json_iter(value); json_next(&it, &key, &one);)
        text = arena_printf(a, "%.*s%s%.*s", SLICE_ARG(text), text.len ? "," : "", SLICE_ARG(json_str(one, a)));
    if (strcmp(path, FLEET_HEALTH) == 0 && fleet_is_silent(d, object))
        text = SLICE("UNKNOWN");
    if (strcmp(path, FLEET_STATE) == 0) {
        if (json_there(json_get(object, "metadata.deletionTimestamp")))
            text = SLICE("DELETING");
        else if (slice_empty(text))
            text = SLICE("PENDING"); /* not looked at yet */
    }
    if (strcmp(path, FLEET_HEAD) == 0 && slice_empty(text))
        text = json_raw(json_get(object, "spec.head_node.required_resources"));
    if (strcmp(path, FLEET_NAME) == 0)
        text = shown(d, text);
    return slice_empty(text) ? SLICE("-") : utf8_clean(text, out, CELL_MAX);
}

struct table {
    const struct column *columns;
    struct desk *desk;
    struct buf *out; /* NULL: the columns become as wide as what stands in them */
    size_t widths[FLEET_COLUMNS];
};

static void put_row(struct table *t, struct jval object)
{
    char clean[CELL_MAX];
    size_t pad = 0;
    for (int i = 0; i < FLEET_COLUMNS && t->columns[i].head; i++) {
        struct slice text = json_there(object) ? cell(t->desk, object, t->columns[i].path, clean) : slice_of(t->columns[i].head);
        if (t->out)
            buf_printf(t->out, "%*s%.*s", (int)pad, "", SLICE_ARG(text));
        else if (t->widths[i] < text.len)
            t->widths[i] = text.len;
        pad = t->widths[i] - text.len + 2;
    }
    if (t->out)
        buf_putc(t->out, '\n');
}

/* Heads of the columns, and a row for the first object and each of the list; either may be absent. */
static bool print_table(struct desk *d, const struct column columns[FLEET_COLUMNS], struct jval first, struct jval list)
{
    __attribute__((cleanup(buf_free))) struct buf out = {.max = 64 * MIB};
    struct table t = {.columns = columns, .desk = d};
    struct jval key, one;
    for (int i = 0; i < 2; i++, t.out = &out) {
        put_row(&t, (struct jval){.at = -1});
        if (json_there(first))
            put_row(&t, first);
        for (struct jiter it = json_iter(list); json_next(&it, &key, &one);)
            put_row(&t, one);
    }
    return cli_print(buf_slice(&out));
}

static bool print_name(struct desk *d, struct jval object)
{
    struct slice name = shown(d, json_get_str(object, FLEET_NAME, &d->a));
    if (slice_empty(name))
        name = json_get_str(object, "name", &d->a); /* a row of a table that is no object of its own */
    return !json_there(object) || (cli_print(name) && cli_print(SLICE("\n")));
}

static bool print_names(struct desk *d, struct jval first, struct jval list)
{
    struct jval key, one;
    bool well = print_name(d, first);
    for (struct jiter it = json_iter(list); well && json_next(&it, &key, &one);)
        well = print_name(d, one);
    return well;
}

/* Without the names of the programs that wrote each field; of a list, what is of the cloud that --cloud names. */
static bool tidy(struct desk *d, struct slice *body, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf out = {.max = 64 * MIB};
    struct json doc;
    struct jout w;
    struct jval key, one;
    if (!json_parse(&doc, *body, &d->a, e))
        return false;
    struct jval items = json_get(json_root(&doc), "items");
    jout_init(&w, &out);
    jout_form(&w, "{apiVersion:'mobula.dev/v1',kind:'%sList',items:[", d->noun->kind);
    for (struct jiter it = json_iter(items); json_next(&it, &key, &one);)
        if (slice_empty(d->o.cloud) || json_str_eq(json_get(one, "spec.cloud"), d->o.cloud))
            jout_raw(&w, json_without(json_raw(one), KUBE_UNREAD, &d->a));
    jout_end(&w);
    jout_end(&w);
    *body = json_type(items) == JSON_ARRAY ? arena_dup(&d->a, buf_slice(&out)) : json_without(*body, KUBE_UNREAD, &d->a);
    return true;
}

static bool print_as(struct desk *d, const struct column columns[FLEET_COLUMNS], struct slice body, struct jval one, struct jval list,
                     struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf out = {.max = 64 * MIB};
    if (slice_is(d->o.output, "json"))
        return cli_print(body) && cli_print(SLICE("\n"));
    if (slice_is(d->o.output, "yaml"))
        return yaml_write(body, &out, e) && cli_print(buf_slice(&out));
    return slice_is(d->o.output, "name") ? print_names(d, one, list) : print_table(d, columns, one, list);
}

bool fleet_rows(struct desk *d, const struct column columns[FLEET_COLUMNS], struct jval list, struct err *e)
{
    return print_as(d, columns, json_raw(list), (struct jval){.at = -1}, list, e);
}

bool fleet_print(struct desk *d, struct slice body, struct err *e)
{
    struct json doc;
    if (!tidy(d, &body, e) || !json_parse(&doc, body, &d->a, e))
        return false;
    struct jval one = json_root(&doc), items = json_get(one, "items");
    if (json_type(items) == JSON_ARRAY)
        one.at = -1;
    return print_as(d, d->noun->columns, body, one, items, e);
}

/* ---- asking ---- */

static bool well(struct desk *d, bool asked, const struct ask_answer *a, struct err *e)
{
    if (asked && a->code < 300)
        return true;
    if (asked)
        d->way->refused(d, a, e);
    else
        d->way->silent(d, e);
    return err_wrap(e, "%s%s%.*s", d->noun->word, slice_empty(d->o.name) ? "" : " ", SLICE_ARG(d->o.name));
}

static bool list(struct desk *d, struct json *doc, struct jiter *objects, struct err *e)
{
    struct ask_answer a;
    if (!fleet_get(d, SLICE_NONE, &a, e) || !json_parse(doc, a.body, &d->a, e))
        return false;
    *objects = json_iter(json_get(json_root(doc), "items"));
    return true;
}

/* Which name was meant: of a compute config perhaps one of its versions. False: they cannot be listed. */
static bool names_nearest(struct desk *d, struct slice name, struct err *e)
{
    struct json doc;
    struct jiter it;
    struct jval key, one;
    struct nearest n = {.typed = name};
    if (!list(d, &doc, &it, &(struct err){0}))
        return false;
    while (json_next(&it, &key, &one)) {
        struct slice there = json_get_str(one, "metadata.name", &d->a);
        nearest_try(&n, there);
        if (slice_starts(there, name)) {
            n.best = there;
            n.distance = 0;
        }
    }
    err_set(e, ERR_STATUS, n.best.ptr ? "there is no %s %.*s in project %.*s; did you mean %.*s?" : "there is no %s %.*s in project %.*s",
            d->noun->word, SLICE_ARG(shown(d, name)), SLICE_ARG(d->o.ns), SLICE_ARG(shown(d, n.best)));
    return true;
}

bool fleet_get(struct desk *d, struct slice name, struct ask_answer *a, struct err *e)
{
    bool asked = ask_get(&d->ask, d->way->path(d, name), NULL, &d->a, a, e);
    if (asked && a->code == 404 && !slice_empty(name) && names_nearest(d, name, e))
        return false;
    return well(d, asked, a, e);
}

bool fleet_create(struct desk *d, struct slice name, struct slice spec, struct ask_answer *a, struct err *e)
{
    struct slice body =
        arena_printf(&d->a, "{\"apiVersion\":\"mobula.dev/v1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%.*s\"},\"spec\":%.*s}",
                     d->noun->kind, SLICE_ARG(name), SLICE_ARG(spec));
    return well(d, ask_post(&d->ask, d->way->path(d, SLICE_NONE), body, &d->a, a, NULL, e), a, e);
}

/* A concurrent write by another client is not overruled: the object is read again then. */
bool fleet_update(struct desk *d, struct slice patch, struct ask_answer *a, struct err *e)
{
    struct slice path = d->way->path(d, d->o.name), whole, over = arena_printf(&d->a, "{\"spec\":%.*s}", SLICE_ARG(patch));
    for (int try = 1;; try++) {
        if (!fleet_get(d, d->o.name, a, e) || !json_merge(a->body, over, &d->a, &whole, e))
            return false;
        bool asked = ask_put(&d->ask, path, whole, &d->a, a, e);
        if (!asked || a->code != 409 || try == TRIES)
            return well(d, asked, a, e);
    }
}

bool fleet_file(struct desk *d, struct slice *text, struct slice *json, struct err *e)
{
    struct yaml_docs docs;
    if (!cli_read_file(d->o.file, &d->a, text, e) || !yaml_parse(*text, &d->a, &docs, e))
        return false;
    if (docs.count != 1)
        return err_set(e, ERR_CONFIG, "%s: holds %u documents, and one is wanted", d->o.file.ptr, docs.count);
    *json = docs.docs[0].json;
    return true;
}

/* The one that is named, or all. */
bool fleet_show(struct desk *d, struct err *e)
{
    struct ask_answer a;
    return fleet_get(d, d->o.name, &a, e) && fleet_print(d, a.body, e);
}

/* The values it was registered with, and those its operator is started with. */
static bool run_config_get(struct desk *d, struct err *e)
{
    struct ask_answer a;
    struct json doc;
    if (!fleet_get(d, d->o.name, &a, e) || !json_parse(&doc, a.body, &d->a, e))
        return false;
    struct slice id = json_raw(json_get(json_root(&doc), "status.deploymentId")), spec = json_raw(json_get(json_root(&doc), "spec"));
    if (slice_eq(d->o.output, SLICE("table")))
        d->o.output = SLICE("yaml");
    return fleet_print(
        d, arena_printf(&d->a, "{\"deploymentId\":%.*s,\"spec\":%.*s}", SLICE_ARG(slice_empty(id) ? SLICE("null") : id), SLICE_ARG(spec)),
        e);
}

bool fleet_delete(struct desk *d, struct ask_answer *a, struct err *e)
{
    return well(d, ask_delete(&d->ask, d->way->path(d, d->o.name), SLICE("{}"), &d->a, a, e), a, e);
}

bool fleet_upload(struct desk *d, const struct work_folder *f, struct ask_answer *a, struct err *e)
{
    return well(d, d->way->upload(d, f, a, e), a, e);
}

static bool run_delete(struct desk *d, struct err *e)
{
    struct ask_answer a;
    if (!fleet_delete(d, &a, e))
        return false;
    fprintf(stderr, "%s %.*s is being deleted\n", d->noun->word, SLICE_ARG(d->o.name));
    return true;
}

static const struct noun cloud, job;

/* Jobs that run there would go on without anybody who can see or end them. */
static bool cloud_delete(struct desk *d, struct err *e)
{
    struct ask_answer a;
    struct json doc;
    struct jval k, one;
    uint32_t running = 0;
    struct slice name = d->o.name, first = SLICE("");
    if (d->o.force)
        return run_delete(d, e);
    d->noun = &job;
    d->o.name = SLICE_NONE;
    if (!fleet_get(d, SLICE_NONE, &a, e) || !json_parse(&doc, a.body, &d->a, e))
        return false;
    for (struct jiter it = json_iter(json_get(json_root(&doc), "items")); json_next(&it, &k, &one);) {
        if (!json_str_eq(json_get(one, "spec.cloud"), name) || remote_ended(json_get(one, "status.state")))
            continue;
        first = json_get_str(one, "metadata.name", &d->a);
        running++;
    }
    d->noun = &cloud;
    d->o.name = name;
    return running
               ? err_set(e, ERR_CONFIG,
                         "Cloud %.*s: %u workloads of it have not ended, such as %.*s: end them (mobula job terminate), or give --force, "
                         "and what runs goes on without a control plane",
                         SLICE_ARG(name), running, SLICE_ARG(first))
               : run_delete(d, e);
}

/* ---- the tables ---- */

const struct flag fleet_flags[FLEET_FLAGS] = {
    {"server", FLAG_TEXT, FLEET_AT(server), "URL", "of the control plane, https://HOST[:PORT] (default: mobula login's)"},
    {"token-file", FLAG_TEXT, FLEET_AT(token_file), "FILE", "with the token for it (default: mobula login's; of login: standard input)"},
    {"ca-file", FLAG_TEXT, FLEET_AT(ca_file), "FILE", "with the CA of its certificate (default: this machine's CA bundle)"},
    TLS_FLAG,
    {"timeout", FLAG_DURATION, FLEET_AT(timeout_ms), "TIME",
     "of waiting for an answer (15s); of job wait and submit --wait: for the job's end (never)"},
    {"n", FLAG_TEXT, FLEET_AT(ns), "NS", "project (default: mobula login's, or the context's namespace)"},
    {"name", FLAG_TEXT, FLEET_AT(name), "NAME", "of the object"},
    {"o", FLAG_TEXT, FLEET_AT(output), "table|json|yaml|name", "how it is printed"},
    {"kubeconfig", FLAG_TEXT, FLEET_AT(kubeconfig), "FILE", "of its cluster, past the control plane"},
    {"context", FLAG_TEXT, FLEET_AT(context), "NAME", "of the kubeconfig"},
};
static const struct flag cloud_list[] = {
    {"f", FLAG_TEXT, FLEET_AT(file), "FILE", "members of the spec in YAML or JSON; null takes one away"},
    {"provider", FLAG_TEXT, FLEET_AT(provider), "aws|gcp|azure|generic", "whose cluster it is"},
    {"compute-stack", FLAG_TEXT, FLEET_AT(stack), "k8s", "the only one"},
    {"region", FLAG_TEXT, FLEET_AT(region), "NAME", "of the provider; of generic any name"},
    {"kubernetes-zones", FLAG_LIST, FLEET_AT(zones), "ZONE[,…]", "that compute configs may name"},
    {"kubernetes-namespaces", FLAG_TEXT, FLEET_AT(spaces), "NS", "where the operator is installed"},
    {"kubernetes-ingress-external-address", FLAG_TEXT, FLEET_AT(address), "HOST", "for heads and services"},
    {"networking-mode", FLAG_TEXT, FLEET_AT(networking), "private|public", "who reaches heads and services"},
    {"cloud-storage-bucket-name", FLAG_TEXT, FLEET_AT(bucket), "s3://NAME", "for artifacts and logs; gs://, azure://"},
    {"s3-bucket-id", FLAG_TEXT, FLEET_AT(bucket), "NAME", "the same, as a name or ARN"},
    {"cloud-storage-bucket-endpoint", FLAG_TEXT, FLEET_AT(endpoint), "URL", "of the bucket"},
    {"file-storage-id", FLAG_TEXT, FLEET_AT(storage), "ID", "of the provider's file system"},
    {"efs-id", FLAG_TEXT, FLEET_AT(storage), "ID", "the same"},
    {"filestore-instance-id", FLAG_TEXT, FLEET_AT(storage), "ID", "the same"},
    {"nfs-mount-target", FLAG_TEXT, FLEET_AT(nfs_server), "HOST", "NFS server that all pods share"},
    {"nfs-mount-path", FLAG_TEXT, FLEET_AT(nfs_path), "PATH", "of its export"},
    {"operator-identity", FLAG_TEXT, FLEET_AT(identity), "USER", "the only one who may speak as the operator"},
    {"force", FLAG_SWITCH, FLEET_AT(force), NULL, "of delete: also while workloads run there; they go on, and nobody controls them"},
};
static const struct flag config_list[] = {{"f", FLAG_TEXT, FLEET_AT(file), "FILE", "the compute config, in YAML or JSON"}};
static const struct flag node_list_flags[] = {{"cloud", FLAG_TEXT, FLEET_AT(cloud), "NAME", "whose nodes"}};

static const struct noun cloud = {
    "Cloud",
    "cloud",
    &hub_clouds,
    {{"NAME", FLEET_NAME},
     {"PROVIDER", "spec.provider"},
     {"REGION", "spec.region"},
     {"HEALTH", FLEET_HEALTH},
     {"LAST CONTACT", "status.lastContactTime"},
     {"DEPLOYMENT ID", "status.deploymentId"}},
    {"mobula cloud register|list|get|update|verify|delete|config get|config update [[--name] NAME] [FLAG…]",
     "Clouds of a control plane. verify says what their operators have checked.", cloud_list, fleet_flags, COUNT_OF(cloud_list),
     FLEET_FLAGS, FLEET_AT(word),
     "mobula cloud register --name edge --provider generic --region hall-2 --kubernetes-zones a,b\nmobula cloud config get --name "
     "edge\nmobula cloud verify edge",
     NULL},
    {{"register", cloud_register},
     {"list", fleet_show},
     {"get", fleet_show},
     {"config get", run_config_get},
     {"config update", cloud_update},
     {"update", cloud_update},
     {"verify", cloud_verify},
     {"delete", cloud_delete}},
};
static const struct noun config = {
    "ComputeConfig",
    "compute-config",
    &hub_configs,
    {{"NAME", FLEET_NAME}, {"CLOUD", "spec.cloud"}, {"HEAD", FLEET_HEAD}, {"CREATED", "metadata.creationTimestamp"}},
    {"mobula compute-config create|list|get|archive|render|check [[--name] NAME] [FLAG…]",
     "Compute configs of a control plane. create makes the next version of NAME; get and archive name one, NAME:N, or NAME: the newest.",
     config_list, fleet_flags, COUNT_OF(config_list), FLEET_FLAGS, FLEET_AT(word),
     "mobula compute-config create --name small -f small.yaml\nmobula compute-config get small:1 -o yaml", NULL},
    {{"create", config_create}, {"list", fleet_show}, {"get", config_get}, {"archive", config_archive}},
};
static const struct noun job = {
    "Workload",
    "job",
    &hub_workloads,
    {{"NAME", FLEET_NAME},
     {"CLOUD", "spec.cloud"},
     {"STATE", FLEET_STATE},
     {"REASON", "status.reason"},
     {"RAY", "status.ray.health"},
     {"CREATED", "metadata.creationTimestamp"}},
    {"mobula job submit|list|status|logs|wait|terminate|delete [[--name] NAME] [FLAG…] [-- COMMAND…]",
     "Jobs of a control plane. submit makes one for a cloud; wait ends with 0 when it has succeeded, with 1 when it has ended otherwise, "
     "and\n"
     "with 3 when it goes on: after --timeout, or a signal.",
     job_flags, fleet_flags, JOB_FLAGS, FLEET_FLAGS, FLEET_AT(word),
     "mobula job submit --cloud edge --image-uri rayproject/ray:2.52.0 --working-dir . --wait -- python main.py\nmobula job logs "
     "train -f\nmobula job wait --name train --timeout 1h",
     NULL},
    {{"submit", job_submit},
     {"list", fleet_show},
     {"status", job_status},
     {"logs", job_logs},
     {"wait", job_wait},
     {"terminate", job_terminate},
     {"delete", run_delete}},
};
static const struct noun node = {
    .kind = "Cloud",
    .word = "cloud",
    .resource = &hub_clouds,
    .flags = {"mobula node list [--cloud] NAME", "Nodes of a cloud, as its operator has reported them.", node_list_flags, fleet_flags,
              COUNT_OF(node_list_flags), FLEET_FLAGS, FLEET_AT(word), "mobula node list edge", NULL},
    .verbs = {{"list", node_list}},
};

static bool read_cloud(struct desk *d, struct slice name, struct ask_answer *a, struct err *e)
{
    const struct noun *own = d->noun;
    d->noun = &cloud;
    bool well = fleet_get(d, name, a, e);
    d->noun = own;
    return well;
}

bool fleet_has_cloud(struct desk *d, struct slice name, struct err *e)
{
    struct ask_answer a = {0};
    struct err why = {0};
    bool well = read_cloud(d, name, &a, &why) || (a.code != 0 && a.code != 404); /* 0: no answer */
    if (!well)
        *e = why;
    return well;
}

bool fleet_cloud(struct desk *d, struct slice name, struct slice *body, struct err *e)
{
    struct ask_answer a = {0};
    bool well = read_cloud(d, name, &a, e);
    *body = a.body;
    return well;
}

/* ---- running ---- */

/* Flags of the documents that have no meaning here: they and their values are taken out. */
static void drop_unused(int *argc, char **argv)
{
    static const char unused[] = " --anyscale-operator-iam-identity --kubernetes-dataplane-identity --anyscale-iam-role-id "
                                 "--anyscale-service-account-email --provider-name --project-id --vpc-name --filestore-location ";
    int kept = 0;
    for (int i = 0; i < *argc; i++) {
        struct slice rest = slice_of(argv[i]), name = slice_cut(&rest, '=');
        char word[64];
        snprintf(word, sizeof word, " %.*s ", SLICE_ARG(name));
        if (!slice_starts(name, SLICE("--")) || !strstr(unused, word)) {
            argv[kept++] = argv[i];
            continue;
        }
        fprintf(stderr, "mobula: %.*s: of no use here\n", SLICE_ARG(name));
        i += !rest.ptr;
    }
    *argc = kept;
}

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

/* How many of the arguments are the verb; 0: it is none. */
static int find_verb(const struct noun *n, int argc, char **argv, size_t *v)
{
    for (*v = 0; *v < FLEET_VERBS && n->verbs[*v].name; ++*v) {
        struct slice rest = slice_of(n->verbs[*v].name);
        int i = 1;
        while (rest.ptr && i < argc && slice_eq(slice_cut(&rest, ' '), slice_of(argv[i])))
            i++;
        if (!rest.ptr && slice_ends(slice_of(n->verbs[*v].name), slice_of(argv[i - 1])))
            return i - 1;
    }
    return 0;
}

static int wrong_verb(const struct noun *n, const char *typed)
{
    struct slice rest = slice_of(n->flags.usage), verbs;
    slice_cut(&rest, ' ');
    verbs = slice_trim(slice_cut(&rest, '['));
    return flags_wrong(&n->flags, *typed ? "\"%s\": want mobula %.*s" : "%swant mobula %.*s", typed, SLICE_ARG(verbs));
}

/* A word that is no flag is the name of what the command is about. Returns what is wrong, if anything. */
static const char *place_word(const struct noun *n, fleet_verb *run, struct desk *d)
{
    struct fleet_options *o = &d->o;
    struct slice *name = n == &node ? &o->cloud : &o->name;
    if (run == job_submit && (o->word.ptr || slice_empty(o->cloud) || slice_empty(d->command)))
        return "--cloud NAME and a command behind -- are needed";
    if (o->word.ptr)
        *name = o->word;
    if (slice_empty(*name) && run != fleet_show && run != job_submit)
        return "NAME is needed";
    if (run == config_create && slice_empty(o->file))
        return "-f FILE is needed: the compute config";
    return strstr("table json yaml name", o->output.ptr) ? NULL : "-o is table, json, yaml or name";
}

static int run_noun(const struct noun *n, int argc, char **argv)
{
    struct desk d = {.noun = n, .o = {.output = SLICE("table"), .retries = 1, .lines = 1000}, .command = SLICE(""), .status = STATUS_ERROR};
    int status, end;
    struct err e = {0};
    size_t v;
    int words = find_verb(n, argc, argv, &v);
    if (!words && argc > 1 && argv[1][0] != '-')
        return wrong_verb(n, argv[1]);
    bool cut = cut_command(argc, argv, &d, &end, &e);
    end -= words;
    drop_unused(&end, argv + words);
    if (!flags_parse(&n->flags, end, argv + words, &d.o, &status))
        return status;
    if (!cut)
        return flags_wrong(&n->flags, "%s", e.text);
    if (!words)
        return wrong_verb(n, "");
    fleet_verb *run = n->verbs[v].run;
    const char *wrong = place_word(n, run, &d);
    if (wrong)
        return flags_wrong(&n->flags, "%s", wrong);
    bool waits = run == job_wait || (run == job_submit && d.o.wait);
    d.ask.timeout_ms = waits && d.o.timeout_ms > ASK_MS ? ASK_MS : d.o.timeout_ms;
    bool ok = fleet_open(&d, &e) && run(&d, &e);
    ask_close(&d.ask);
    arena_free(&d.a);
    if (!ok && e.code != ERR_NONE)
        cli_fail(&e);
    return ok ? STATUS_OK : d.status;
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

int cli_node(int argc, char **argv)
{
    return run_noun(&node, argc, argv);
}
