/* `mobula logs`: what a job has printed. The head's dashboard has it, asked through the API server's proxy; where a submitter pod shows it,
 * the API server has it from the kubelet. Both give all of it each time: what was shown is passed over. */
#include "cli.h"
#include "logs_std.h"

#include <mobula/submit.h>

#include <signal.h>
#include <stdlib.h>

#define AT(field) offsetof(struct logs_options, field)
static const struct flag list[] = {
    {"f", FLAG_SWITCH, AT(follow), NULL},
    {"follow", FLAG_SWITCH, AT(follow), NULL},
    {"submission-id", FLAG_TEXT, AT(id), "ID"},
    {"bucket", FLAG_TEXT, AT(bucket.url), "URL"},
    {"node", FLAG_TEXT, AT(bucket.node), "POD"},
    {"file", FLAG_TEXT, AT(bucket.file), "NAME"},
    {"since", FLAG_DURATION, AT(bucket.since_ms), "TIME"},
    {"download", FLAG_TEXT, AT(bucket.download), "DIR"},
    STORAGE_FLAGS(AT(bucket.storage)),
    SEEK_FLAGS(AT(seek)),
    ASK_TIMEOUT_FLAG(AT(seek.timeout_ms)),
};
#undef AT

static const struct flags flags = {
    .usage = "mobula logs rayjob|raycluster|rayservice NAME [-n NS] [-f] [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
};

/* A namespace is needed, and the API server only if -n does not name it. */
static int read_bucket(struct logs_live *l)
{
    const struct logs_options *o = l->o;
    struct slice ns = o->seek.ns;
    if (slice_empty(ns) && !seek_open(&l->seek, &o->seek, &l->a, &l->e))
        return cli_fail(&l->e);
    ns = slice_empty(ns) ? l->seek.ns : ns;
    return logs_bucket_read(&o->bucket, &cli_logs_std, ns, o->name,
                            o->cluster   ? NULL
                            : o->service ? "rayservice."
                                         : "rayjob.",
                            &l->e)
               ? STATUS_OK
               : cli_fail(&l->e);
}

static int follow(struct logs_live *l)
{
    enum logs_end end = logs_follow(l);
    if (end != LOGS_FAILED)
        return end == LOGS_SIGNAL ? STATUS_SIGNAL + l->seek.ask.signal : STATUS_OK;
    return l->e.code == ERR_NONE || l->deleted ? STATUS_ERROR : cli_fail(&l->e);
}

/* A RayJob that was deleted, or whose API server is away, may have its log in the bucket. */
static int read_live(struct logs_live *l)
{
    const struct logs_options *o = l->o;
    bool open = seek_open(&l->seek, &o->seek, &l->a, &l->e), bucket = !slice_empty(o->bucket.url) && !o->cluster;
    struct slice ns = open ? l->seek.ns : o->seek.ns;
    struct err why = {0};
    l->deleted = !open && bucket;
    int status = open ? follow(l) : STATUS_ERROR;
    if (l->deleted && !slice_empty(ns) && logs_bucket_driver(&o->bucket, &cli_logs_std, ns, o->name, SLICE(""), 0, &why))
        return STATUS_OK;
    if (why.code != ERR_NONE)
        cli_fail(&why);
    return open && !l->deleted ? status : cli_fail(&l->e);
}

/* "rayjob NAME", as kubectl has it "rayjob/NAME" too. Returns how many arguments that are. */
static int named_by(int argc, char **argv, struct logs_options *o)
{
    struct slice kind = argc > 1 ? slice_of(argv[1]) : SLICE_NONE, name = kind, first = slice_cut(&name, '/');
    int used = name.ptr ? 1 : 2;
    o->cluster = slice_eq(first, SLICE("raycluster")) || slice_eq(first, SLICE("cluster"));
    o->service = slice_eq(first, SLICE("rayservice")) || slice_eq(first, SLICE("service"));
    if (!o->cluster && !o->service && !slice_eq(first, SLICE("rayjob")) && !slice_eq(first, SLICE("job")))
        return 0;
    o->name = name.ptr ? name : argc > 2 ? slice_of(argv[2]) : SLICE_NONE;
    return argc > used ? used : argc - 1;
}

int cli_logs(int argc, char **argv)
{
    struct logs_options o = {0};
    int status, used = named_by(argc, argv, &o);
    bool named = used > 0 || argc == 1 || argv[1][0] == '-';
    if (named && !flags_parse(&flags, argc - used, argv + used, &o, &status))
        return status;
    if (used == 0)
        return flags_wrong(&flags, "logs of what? rayjob NAME, or raycluster NAME --submission-id ID, or raycluster NAME --bucket URL");
    if (!name_dns1123_subdomain(o.name))
        return flags_wrong(&flags, "\"%.*s\" is not the name of a %s", SLICE_ARG(o.name),
                           o.cluster   ? "RayCluster"
                           : o.service ? "RayService"
                                       : "RayJob");
    if (slice_empty(o.bucket.url) && getenv("MOBULA_BUCKET"))
        o.bucket.url = slice_of(getenv("MOBULA_BUCKET"));
    bool stored = o.service || logs_bucket_asked(&o.bucket) || (o.cluster && slice_empty(o.id) && !slice_empty(o.bucket.url));
    if (stored && slice_empty(o.bucket.url))
        return flags_wrong(&flags, "--bucket is needed: which bucket has the operator?");
    if (!stored && o.cluster != !slice_empty(o.id))
        return flags_wrong(&flags, o.cluster ? "--submission-id is needed: of which job? Or --bucket: all logs of the cluster"
                                             : "--submission-id is for raycluster NAME");
    if (!seek_group_known(&o.seek))
        return flags_wrong(&flags, "--group is ray.io or cluster.ray.io");
    signal(SIGPIPE, SIG_IGN); /* a reader that goes away is reported as an error */
    struct logs_live l = {.o = &o, .view.sink = &cli_logs_std};
    status = stored ? read_bucket(&l) : read_live(&l);
    seek_close(&l.seek);
    arena_free(&l.a);
    return status;
}
