/* `mobula explain cluster|job|service NAME`: why an object of the API server is as it is. */
#include "cli.h"

#include <mobula/explain.h>
#include <mobula/kind_raycluster.h>
#include <mobula/kind_rayjob.h>
#include <mobula/kind_rayservice.h>

struct named_options {
    struct seek_options seek;
    struct slice name;
};

static const struct flag list[] = {SEEK_PLACE_FLAGS(offsetof(struct named_options, seek)),
                                   ASK_TIMEOUT_FLAG(offsetof(struct named_options, seek.timeout_ms))};

static const struct flag cluster_list[] = {SEEK_FLAGS(offsetof(struct named_options, seek)),
                                           ASK_TIMEOUT_FLAG(offsetof(struct named_options, seek.timeout_ms))};

static const struct flags cluster_flags = {
    .usage = "mobula explain cluster NAME [-n NS] [FLAG...]",
    .list = cluster_list,
    .count = COUNT_OF(cluster_list),
    .word = offsetof(struct named_options, name),
};

static const struct flags cli_job_flags = {
    .usage = "mobula explain job NAME [-n NS] [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
    .word = offsetof(struct named_options, name),
};

static const struct flags service_flags = {
    .usage = "mobula explain service NAME [-n NS] [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
    .word = offsetof(struct named_options, name),
};

static int explain_named(const struct flags *flags, const struct kind *kind, int argc, char **argv,
                         bool (*explain)(struct seek *s, struct slice name, struct buf *out, struct err *e))
{
    struct named_options o = {0};
    struct seek s = {0};
    struct err e = {0};
    int status;
    if (!flags_parse(flags, argc, argv, &o, &status))
        return status;
    if (slice_empty(o.name))
        return flags_wrong(flags, "the name of a %s is needed", kind->name);
    if (!name_dns1123_label(o.name))
        return flags_wrong(flags, "\"%.*s\" is not the name of a %s", SLICE_ARG(o.name), kind->name);
    if (!seek_group_known(&o.seek))
        return flags_wrong(flags, "--group is ray.io or cluster.ray.io");
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    __attribute__((cleanup(buf_free))) struct buf out = {.max = EXPLAIN_WORDS_MAX};
    bool well = seek_open(&s, &o.seek, &a, &e) && explain(&s, o.name, &out, &e);
    seek_close(&s);
    if (!well)
        return cli_fail(&e);
    return cli_print(buf_slice(&out)) ? STATUS_OK : STATUS_ERROR;
}

int cli_explain_cluster(int argc, char **argv)
{
    return explain_named(&cluster_flags, &kind_raycluster, argc, argv, explain_cluster_named);
}

int cli_explain_job(int argc, char **argv)
{
    return explain_named(&cli_job_flags, &kind_rayjob, argc, argv, explain_job_named);
}

int cli_explain_service(int argc, char **argv)
{
    return explain_named(&service_flags, &kind_rayservice, argc, argv, explain_service_named);
}
