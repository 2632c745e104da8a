/* The table of subcommands: `mobula NAME …` runs one of them. Exit statuses: 0 well, 1 an error that was printed, 2 wrong usage. */
#include "cli.h"

#include <errno.h>
#include <stdio.h>

static int run_help(int argc, char **argv);
static int run_version(int argc, char **argv);

static const struct subcommand {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the subcommand's name */
} subcommands[] = {
    {"operator", "run the controller, which makes and keeps the pods of RayClusters", cli_operator},
    {"control-plane", "run the control plane that operators of other clusters call", cli_control_plane},
    {"edge", "run a reverse proxy for dashboards and services that asks who calls", cli_edge},
    {"agent", "report the state of Ray from a head pod to the control plane", cli_agent},
    {"login", "use a control plane, and keep a token for it", cli_login},
    {"logout", "forget it", cli_logout},
    {"cloud", "register clouds at a control plane, list, verify and delete them", cli_cloud},
    {"job", "submit jobs to the clouds of a control plane, list, follow and end them", cli_job},
    {"node", "list the nodes of a cloud", cli_node},
    {"service", "deploy versions of a service of Ray Serve, move requests between them, and back", cli_service},
    {"install", "print or apply the manifests of an installation", cli_install},
    {"upgrade", "replace an installation of another version", cli_upgrade},
    {"rollback", "go back to what an installation was before", cli_rollback},
    {"uninstall", "delete what an installation has made, or print its names", cli_uninstall},
    {"crds", "rewrite objects that are stored in an older version of their definition", cli_crds},
    {"check", "check a cluster and the way to it, before an installation or after", cli_check},
    {"images", "print the images that manifests need", cli_images},
    {"bundle", "verify, list, unpack or push an air-gap bundle", cli_bundle},
    {"validate", "check manifests without a cluster", cli_validate},
    {"explain", "print what would be made from a manifest, or say why a cluster, job or service is as it is", cli_explain},
    {"compute-config", "check compute configs, print their RayClusters, keep them at a control plane", cli_compute},
    {"instance-types", "list the instance types of a cluster, or suggest some that fill its nodes", cli_instance_types},
    {"policy", "say what a policy refuses of what a control plane asks for", cli_policy},
    {"egress", "print what the operator contacts, for firewalls", cli_egress},
    {"dns", "print the DNS records that host names of routes need", cli_dns},
    {"storage", "check a bucket, list, read and write its objects, sign URLs", cli_storage},
    {"logs", "print what a job has printed, or follow it", cli_logs},
    {"ray-cert", "make a Ray pod's certificate, signed by its cluster's CA", cli_ray_cert},
    {"wait-gcs", "wait until the control service of a Ray cluster answers", cli_wait_gcs},
    {"submit", "submit a job to a Ray cluster and follow it", cli_submit},
    {"completion", "print the completion of these commands for bash, zsh or fish", cli_completion},
    {"version", "print the version of this binary", run_version},
    {"help", "print this list, or the flags of one command", run_help},
};

static void print_list(FILE *to)
{
    fputs("usage: mobula COMMAND [FLAG…]\n\n", to);
    for (size_t i = 0; i < COUNT_OF(subcommands); i++)
        fprintf(to, "  %-14s %s\n", subcommands[i].name, subcommands[i].summary);
    fputs("\n`mobula help COMMAND` lists its flags. Exit status: 0 well, 1 an error that was printed, 2 wrong usage.\n", to);
}

static const struct subcommand *find(struct slice name)
{
    for (size_t i = 0; i < COUNT_OF(subcommands); i++)
        if (slice_eq(name, slice_of(subcommands[i].name)))
            return &subcommands[i];
    return NULL;
}

static int unknown(struct slice name)
{
    struct nearest n = {.typed = name};
    for (size_t i = 0; i < COUNT_OF(subcommands); i++)
        nearest_try(&n, slice_of(subcommands[i].name));
    fprintf(stderr, "mobula: no command \"%.*s\"", SLICE_ARG(name));
    if (n.best.ptr)
        fprintf(stderr, "; did you mean %.*s?", SLICE_ARG(n.best));
    fputs("\nsee: mobula help\n", stderr);
    return STATUS_USAGE;
}

static int run_help(int argc, char **argv)
{
    struct slice name = argc > 1 ? slice_of(argv[1]) : SLICE("help");
    if (slice_eq(name, SLICE("help")) || slice_eq(name, SLICE("--help"))) {
        print_list(stdout);
        return STATUS_OK;
    }
    const struct subcommand *c = find(name);
    if (!c)
        return unknown(name);
    /* `mobula help explain cluster` is `mobula explain cluster --help` */
    char help[] = "--help", *with_help[] = {argv[1], argc > 2 ? argv[2] : help, help, NULL};
    return c->run(3, with_help);
}

static int run_version(int argc, char **argv)
{
    static const struct flags flags = {
        .usage = "mobula version",
    };
    int status;
    if (!flags_parse(&flags, argc, argv, NULL, &status))
        return status;
    printf("mobula %s\n", MOBULA_VERSION);
    return STATUS_OK;
}

/* Global flags before the word start: the command line of the Anyscale operator. */
static bool is_start(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (slice_eq(slice_of(argv[i]), SLICE("start")))
            return true;
        else if (!slice_starts(slice_of(argv[i]), SLICE("--")))
            return false;
    return false;
}

int main(int argc, char **argv)
{
    struct err e = {0};
    if (!cli_hold_standard(&e))
        return cli_fail(&e);
    if (argc < 2) {
        print_list(stderr);
        return STATUS_USAGE;
    }
    struct slice name = slice_of(argv[1]);
    if (slice_eq(name, SLICE("--help")) || slice_eq(name, SLICE("-h")))
        name = SLICE("help");
    if (slice_eq(name, SLICE("--version")))
        name = SLICE("version");
    if (is_start(argc, argv))
        return cli_start(argc - 1, argv + 1);
    const struct subcommand *c = find(name);
    int status = c ? c->run(argc - 1, argv + 1) : unknown(name);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "mobula: standard output: %s\n", strerror(errno));
    return status == STATUS_OK ? STATUS_ERROR : status;
}
