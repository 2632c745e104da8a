/* mobula cloud, compute-config, job and node: the objects of a control plane. Each command is a table of verbs over one kind of object. */
#include "fleet.h"

#include "cli.h"
#include "compute.h"

#include <mobula/remote.h>
#include <mobula/submit.h>
#include <mobula/yaml.h>

#include <stdio.h>

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

bool fleet_remove(struct desk *d, struct err *e)
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
        return fleet_remove(d, e);
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
               : fleet_remove(d, e);
}

/* ---- the tables ---- */

static const struct flag cloud_list[] = {
    {"f", FLAG_TEXT, FLEET_AT(file), "FILE"},
    {"provider", FLAG_TEXT, FLEET_AT(site.provider), "aws|gcp|azure|generic"},
    {"compute-stack", FLAG_TEXT, FLEET_AT(site.stack), "k8s"},
    {"region", FLAG_TEXT, FLEET_AT(site.region), "NAME"},
    {"kubernetes-zones", FLAG_LIST, FLEET_AT(site.zones), "ZONE[,…]"},
    {"kubernetes-namespaces", FLAG_TEXT, FLEET_AT(site.spaces), "NS"},
    {"kubernetes-ingress-external-address", FLAG_TEXT, FLEET_AT(site.address), "HOST"},
    {"networking-mode", FLAG_TEXT, FLEET_AT(site.networking), "private|public"},
    {"cloud-storage-bucket-name", FLAG_TEXT, FLEET_AT(site.bucket), "s3://NAME"},
    {"s3-bucket-id", FLAG_TEXT, FLEET_AT(site.bucket), "NAME"},
    {"cloud-storage-bucket-endpoint", FLAG_TEXT, FLEET_AT(site.endpoint), "URL"},
    {"file-storage-id", FLAG_TEXT, FLEET_AT(site.storage), "ID"},
    {"efs-id", FLAG_TEXT, FLEET_AT(site.storage), "ID"},
    {"filestore-instance-id", FLAG_TEXT, FLEET_AT(site.storage), "ID"},
    {"nfs-mount-target", FLAG_TEXT, FLEET_AT(site.nfs_server), "HOST"},
    {"nfs-mount-path", FLAG_TEXT, FLEET_AT(site.nfs_path), "PATH"},
    {"operator-identity", FLAG_TEXT, FLEET_AT(site.identity), "USER"},
    {"force", FLAG_SWITCH, FLEET_AT(force), NULL},
};
static const struct flag config_list[] = {{"f", FLAG_TEXT, FLEET_AT(file), "FILE"}};
static const struct flag node_list_flags[] = {{"cloud", FLAG_TEXT, FLEET_AT(cloud), "NAME"}};

static const struct noun cloud = {
    "Cloud",
    "cloud",
    &hub_clouds,
    NULL,
    {{"NAME", FLEET_NAME},
     {"PROVIDER", "spec.provider"},
     {"REGION", "spec.region"},
     {"HEALTH", FLEET_HEALTH},
     {"LAST CONTACT", "status.lastContactTime"},
     {"DEPLOYMENT ID", "status.deploymentId"}},
    {"mobula cloud register|list|get|update|verify|delete|config get|config update [[--name] NAME] [FLAG…]", cloud_list, fleet_flags,
     COUNT_OF(cloud_list), FLEET_FLAGS, FLEET_AT(word), NULL, NULL},
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
    NULL,
    {{"NAME", FLEET_NAME}, {"CLOUD", "spec.cloud"}, {"HEAD", FLEET_HEAD}, {"CREATED", "metadata.creationTimestamp"}},
    {"mobula compute-config create|list|get|archive|render|check [[--name] NAME] [FLAG…]", config_list, fleet_flags, COUNT_OF(config_list),
     FLEET_FLAGS, FLEET_AT(word), NULL, "compute-config create"},
    {{"create", config_create}, {"list", fleet_show}, {"get", config_get}, {"archive", config_archive}},
};
static const struct noun job = {
    "Workload",
    "job",
    &hub_workloads,
    NULL,
    {{"NAME", FLEET_NAME},
     {"CLOUD", "spec.cloud"},
     {"STATE", FLEET_STATE},
     {"REASON", "status.reason"},
     {"RAY", "status.ray.health"},
     {"CREATED", "metadata.creationTimestamp"}},
    {"mobula job submit|list|status|logs|wait|terminate|delete [[--name] NAME] [FLAG…] [-- COMMAND…]", job_flags, fleet_flags, JOB_FLAGS,
     FLEET_FLAGS, FLEET_AT(word), NULL, NULL},
    {{"submit", job_submit},
     {"list", fleet_show},
     {"status", job_status},
     {"logs", job_logs},
     {"wait", job_wait},
     {"terminate", job_terminate},
     {"delete", fleet_remove}},
};
static const struct noun node = {
    .kind = "Cloud",
    .word = "cloud",
    .resource = &hub_clouds,
    .flags = {"mobula node list [--cloud] NAME", node_list_flags, fleet_flags, COUNT_OF(node_list_flags), FLEET_FLAGS, FLEET_AT(word), NULL,
              NULL},
    .verbs = {{"list", node_list}},
};

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
