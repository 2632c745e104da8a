/* `mobula install` and `mobula upgrade`: the manifests of an installation, printed or applied. */
#include "cli.h"
#include "failed.h"

#include <mobula/artifact.h>
#include <mobula/kinds.h>
#include <mobula/release.h>

#include <stdio.h>

static const struct flag list[] = {
#define AT(field) offsetof(struct install_options, field)
    {"print", FLAG_SWITCH, AT(mode.print), NULL},
    {"apply", FLAG_SWITCH, AT(mode.apply), NULL},
    {"dry-run", FLAG_SWITCH, AT(mode.dry_run), NULL},
    {"timeout", FLAG_DURATION, AT(timeout_ms), "TIME"},
    TLS_FLAG,
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE"},
    {"context", FLAG_TEXT, AT(context), "NAME"},
    {"namespace", FLAG_TEXT, AT(ns), "NS"},
    {"watch-namespace", FLAG_LIST, AT(watch), "NS[,NS...]"},
    {"create-namespace", FLAG_SWITCH, AT(create_namespace), NULL},
    {"all-namespaces", FLAG_SWITCH, AT(all_namespaces), NULL},
    {"crds-only", FLAG_SWITCH, AT(crds_only), NULL},
    {"no-crds", FLAG_SWITCH, AT(no_crds), NULL},
    {"kinds", FLAG_TEXT, AT(args.kinds), "ray.io|legacy|all"},
    {NULL, FLAG_EACH, AT(optional), NULL},
    POD_FLAGS(0),
    {"registryless", FLAG_SWITCH, AT(program.registryless), NULL},
    {"program", FLAG_TEXT, AT(program.file), "FILE"},
    {"values", FLAG_TEXT, AT(values), "FILE"},
    {"proxy", FLAG_TEXT, AT(proxy.url), "URL"},
    {"no-proxy", FLAG_LIST, AT(proxy.no_proxy), "LIST"},
    {"proxies", FLAG_LIST, AT(proxy.proxies), "ENTRY=URL|direct[,...]"},
    {"proxy-secret", FLAG_TEXT, AT(proxy.secret), "SECRET[/KEY]"},
    {"no-network-policy", FLAG_SWITCH, AT(with.no_network_policy), NULL},
    {"no-admission-policy", FLAG_SWITCH, AT(with.no_admission_policy), NULL},
    {"leader-elect", FLAG_SWITCH, AT(leader_elect), NULL},
    {"tools", FLAG_TEXT, AT(args.tools), "configmap|image:REF|none"},
    {"tools-resources", FLAG_TEXT, AT(args.tools_resources), "cpu=N,memory=N"},
    {"agent-resources", FLAG_TEXT, AT(args.agent_resources), "cpu=N,memory=N"},
    {"autoscaler", FLAG_TEXT, AT(args.autoscaler), "operator|sidecar|off"},
    {"submitter", FLAG_TEXT, AT(args.submitter), "operator|pod"},
    {"ray-access", FLAG_TEXT, AT(args.ray_access), "direct|service|proxy"},
    {"egress-allow", FLAG_LIST, AT(args.egress), "HOST[:PORT][,...]"},
    {"egress-strict", FLAG_SWITCH, AT(args.egress_strict), NULL},
    {"shapes", FLAG_SWITCH, AT(with.shapes), NULL},
    DEFAULT_PATCHES_FLAGS(AT(defaults)),
    {"control-plane-url", FLAG_TEXT, AT(hub.url), "URL"},
    {"cloud-deployment-id", FLAG_TEXT, AT(hub.cloud), "ID"},
    {"control-plane-token", FLAG_TEXT, AT(hub.token), "SECRET[/KEY]"},
    {"sts-url", FLAG_TEXT, AT(hub.sts), "URL"},
    {"control-plane-ca", FLAG_TEXT, AT(hub.ca), "CONFIGMAP[/KEY]"},
    {"egress-ca", FLAG_TEXT, AT(args.egress_ca), "CONFIGMAP[/KEY]"},
    {"default-image", FLAG_TEXT, AT(hub.default_image), "REF"},
    {"bucket", FLAG_TEXT, AT(bucket.url), "URL"},
    {"bucket-endpoint", FLAG_TEXT, AT(bucket.endpoint), "URL"},
    {"bucket-region", FLAG_TEXT, AT(bucket.region), "NAME"},
    {"bucket-virtual-host", FLAG_SWITCH, AT(bucket.virtual_host), NULL},
    {"bucket-retention", FLAG_TEXT, AT(bucket.keep), "TIME"},
    {"bucket-retention-bytes", FLAG_TEXT, AT(bucket.keep_bytes), "QUANTITY"},
    {"bucket-secret", FLAG_TEXT, AT(bucket.secret), "NAME"},
    {"bucket-ca", FLAG_TEXT, AT(bucket.ca), "CONFIGMAP[/KEY]"},
    {"report-nodes", FLAG_SWITCH, AT(with.report_nodes), NULL},
    {"control-plane", FLAG_SWITCH, AT(plane), NULL},
    {"tls-secret", FLAG_TEXT, AT(tls.secret), "NAME"},
    {"tls-self-made", FLAG_TEXT, AT(tls.made), "NAME"},
    {"tls-name", FLAG_LIST, AT(tls.names), "NAME[,...]"},
    {"agent", FLAG_SWITCH, AT(with.agent), NULL},
    {"agent-direct", FLAG_SWITCH, AT(with.agent_direct), NULL},
    {"drop-flags", FLAG_SWITCH, AT(mode.drop_flags), NULL},
    {"ray-auth", FLAG_SWITCH, AT(with.ray_auth), NULL},
    {"route-ca", FLAG_TEXT, AT(args.route_ca), "NAME"},
    {"route-hosts", FLAG_LIST, AT(args.route_hosts), "HOST[,HOST]"},
    {"service-auth", FLAG_TEXT, AT(args.service_auth), "TIME"},
    {"gateway-name", FLAG_TEXT, AT(args.gateway), "NAME"},
    {"gateway-namespace", FLAG_TEXT, AT(args.gateway_ns), "NS"},
    {"ingress-class", FLAG_TEXT, AT(args.ingress_class), "NAME"},
#undef AT
};

/* A switch for each optional kind. */
static bool kind_flag(size_t n, struct flag *row, const char **help)
{
    const struct kind *k = cli_kind_switch(n, row);
    if (k)
        *help = k->optional.install;
    return k != NULL;
}

static const struct flags install_flags = {
    .usage = "mobula install --print|--apply [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
    .each = kind_flag,
};

static const struct flags upgrade_flags = {
    .usage = "mobula upgrade [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
    .each = kind_flag,
};

/* ---- applying ---- */

/* The command that undoes the changes. */
static void say_undo(const struct apply *p, const struct install_options *o)
{
    bool any = false;
    for (uint32_t i = 0; i < p->count; i++)
        any |= p->list[i].changed;
    if (!any)
        return;
    struct slice watch = slice_empty(o->watch) ? o->ns : o->watch;
    fprintf(stderr, "mobula: what was done stands above and stays. The same command goes on; this takes it back:\n");
    const char *which = o->plane ? " --control-plane" : "";
    if (!o->crds_only)
        fprintf(stderr, "  mobula rollback%s --namespace=%.*s     (to what was there before, or if nothing was:)\n", which,
                SLICE_ARG(o->ns));
    if (!o->crds_only)
        fprintf(stderr, "  mobula uninstall%s --apply --namespace=%.*s --watch-namespace=%.*s\n", which, SLICE_ARG(o->ns),
                SLICE_ARG(watch));
    for (uint32_t i = 0; i < p->count; i++) {
        const struct apply_object *one = &p->list[i];
        bool stays = slice_eq(one->kind, SLICE("Namespace")) || slice_eq(one->kind, SLICE("CustomResourceDefinition"));
        if (stays && one->changed && slice_empty(one->version))
            fprintf(stderr, "  kubectl delete %.*s %.*s\n", SLICE_ARG(one->kind), SLICE_ARG(one->name));
    }
}

/* The program, and with --apply an image to run it in. */
static bool take_program(struct install_options *o, struct arena *a, struct err *e)
{
    if (!o->program.registryless)
        return slice_empty(o->program.file) || err_set(e, ERR_CONFIG, "--program needs --registryless");
    if (o->registry.ptr || !slice_empty(o->pull_secrets))
        return err_set(e, ERR_CONFIG, "--registryless pulls no image: leave out --registry and --pull-secret");
    if (!o->image.ptr && !o->mode.apply)
        return err_set(e, ERR_CONFIG,
                       "--registryless --print needs --image: an image that is on every node already, such as their pause image");
    return program_read(o->program.file, a, &o->program.bytes, &o->program.arch, e) || err_wrap(e, "--program");
}

/* A user without the right to Secrets installs all the same. */
static void record(struct apply *p, struct revision *r, const struct inventory *now, const struct apply *gone)
{
    struct err e = {0};
    if (revision_read(p, r, &e) && (r->current.ptr || !json_there(now->deployment) || revision_live(p, r, gone, &e))) {
        revision_next(r, revision_text(r, p));
        if (revision_write(p, r, &e))
            return;
    }
    fprintf(stderr, "mobula: this revision is not recorded, and mobula rollback cannot come back to it: %s\n", e.text);
    *r = (struct revision){.ns = r->ns, .name = r->name, .current = revision_text(r, p)};
}

static bool brings_namespace(const struct apply *p, struct slice ns)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (slice_eq(p->list[i].kind, SLICE("Namespace")) && slice_eq(p->list[i].name, ns) && slice_empty(p->list[i].version))
            return true;
    return false;
}

static struct slice own_path(struct apply *p, const char *api_version, const char *kind, struct slice name, struct slice ns)
{
    struct apply_object o = {.api_version = slice_of(api_version), .kind = slice_of(kind), .name = name, .ns = ns};
    return apply_path(&o, p->a);
}

/* Flags that show in objects other than the Deployment: each of them makes an object, or keeps one from being made. */
static bool look_beside(struct apply *p, const struct install_options *o, const struct inventory *now, struct err *e)
{
    struct slice name = install_name(o->plane), nodes = arena_printf(p->a, "mobula.%.*s.nodes", SLICE_ARG(o->ns)),
                 former = arena_printf(p->a, "mobula-%.*s-nodes", SLICE_ARG(o->ns));
    const struct {
        struct slice path;
        bool made; /* the flag makes the object; else it keeps it from being made */
        const char *flag;
    } all[] = {
        {own_path(p, "networking.k8s.io/v1", "NetworkPolicy", name, o->ns), false, "--no-network-policy"},
        {own_path(p, "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", nodes, SLICE_NONE), true, "--report-nodes"},
        {own_path(p, "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", former, SLICE_NONE), true, "--report-nodes"},
    };
    if (!json_there(now->deployment))
        return true;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct ask_answer answer = {0};
        if (apply_has(p, all[i].path) == all[i].made || (all[i].made && (o->plane || o->with.report_nodes)))
            continue;
        if (!ask_get(p->ask, all[i].path, NULL, p->a, &answer, e))
            return false;
        if (all[i].made ? answer.code < 300 : answer.code == 404)
            apply_fail(p, arena_printf(p->a,
                                       "the installation in namespace %.*s has the flag %s, which would go: give it again, or take it away "
                                       "with --drop-flags",
                                       SLICE_ARG(o->ns), all[i].flag));
    }
    return true;
}

/* Reads the existing Deployment. Without the right to do so the dry run follows all the same: it names every right that is missing. */
static bool read_inventory(struct apply *p, bool plane, struct inventory *now, struct err *e)
{
    if (inventory_read(p, plane, now, e))
        return true;
    if (e->code != ERR_STATUS)
        return false;
    if (!slice_has(slice_of(e->text), ": 401 ")) /* the dry run reports 401 with its remedy */
        apply_fail(p, arena_dup(p->a, slice_of(e->text)));
    *e = (struct err){0};
    return true;
}

/* Before anything is changed: adds failures, for apply_try, for namespaces that would no longer be watched or that another installation
 * watches. */
static bool look_around(struct apply *p, const struct install_options *o, struct inventory *now, struct err *e)
{
    return o->crds_only || (read_inventory(p, o->plane, now, e) && inventory_clash(p, o, e) && apply_needs(p, e) &&
                            (!p->keeps_flags || (inventory_given_up(p, now, o, e) && look_beside(p, o, now, e))));
}

/* Deletes objects under the names of earlier versions, after those with the new names exist. */
static bool migrate(struct apply *p, const struct install_options *o, int64_t until_ms, struct err *e)
{
    struct apply gone = {.ask = p->ask, .say = p->say, .a = p->a, .spares = true, .installation = o->ns};
    return apply_read(&gone, SLICE_NONE, e) && owner_find_former(&gone, p, install_name(o->plane), e) && apply_delete(&gone, until_ms, e);
}

/* Lists objects of the installation that the new manifests lack, whether mobula or kubectl applied them. */
static bool find_surplus(struct apply *p, const struct install_options *o, const struct inventory *now, struct apply *gone, struct err *e)
{
    *gone = (struct apply){.ask = p->ask, .say = p->say, .a = p->a, .spares = true, .shows = p->shows, .installation = o->ns};
    return apply_read(gone, SLICE_NONE, e) && (o->crds_only || surplus_find(gone, p, o, now, e));
}

enum { STATUS_DIFFERS = 3, DIFF_MAX = 4 * MIB };

/* The command that makes the changes to the objects of a Helm release. */
static void say_release(const struct apply *p)
{
    const struct apply_object *one = NULL;
    for (uint32_t i = 0; i < p->count; i++)
        one = slice_empty(p->list[i].release) ? one : &p->list[i];
    if (one)
        fprintf(stderr,
                "mobula: the Helm release %.*s owns objects of this installation, and mobula does not change them. This does, with a --set "
                "for each flag given here:\n  helm upgrade %.*s CHART --namespace=%.*s --reset-then-reuse-values\n",
                SLICE_ARG(one->release), SLICE_ARG(one->release), SLICE_ARG(p->installation));
}

static int show_diff(struct apply *p, const struct apply *gone, struct err *e)
{
    uint32_t count = 0;
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, DIFF_MAX);
    if (!apply_diff(p, gone, &count, &out, e) || !(cli_print(buf_slice(&out)) || err_set(e, ERR_LIMIT, "cannot be printed")))
        return cli_apply_failed(p, e);
    fprintf(stderr, "mobula: %u objects would change\n", (unsigned)count);
    say_release(p);
    return count ? STATUS_DIFFERS : STATUS_OK;
}

static int apply(struct apply *p, const struct install_options *o, struct slice text)
{
    struct inventory now = {.deployment = NO_VALUE};
    struct apply gone;
    struct err e = {0};
    struct revision r = {.ns = o->ns, .name = install_name(o->plane)};
    int64_t until_ms = clock_now().mono_ms + o->timeout_ms;
    p->installation = o->ns;
    bool well = apply_read(p, text, &e) && look_around(p, o, &now, &e) && apply_try(p, &e) && find_surplus(p, o, &now, &gone, &e);
    if (well && o->mode.dry_run)
        return show_diff(p, &gone, &e);
    if (well)
        apply_say_ports(p);
    /* Recorded before anything is changed, so that a change that stops half way can be rolled back. */
    bool fresh = brings_namespace(p, o->ns);
    if (well && !o->crds_only && !fresh)
        record(p, &r, &now, &gone);
    well = well && apply_all(p, until_ms, &e);
    if (well && !o->crds_only && fresh)
        record(p, &r, &now, &gone);
    well = well && apply_wait(p, until_ms, &e) && migrate(p, o, until_ms, &e) && (o->crds_only || revision_prune(p, &r, until_ms, &e)) &&
           apply_delete(&gone, until_ms, &e);
    if (well) {
        if (o->plane && slice_empty(o->tls.secret) && !o->crds_only)
            printf("the control plane's CA, for operators and for mobula login --ca-file:\n"
                   "  kubectl -n %.*s get configmap mobula-control-plane-ca -o jsonpath='{.data.ca\\.crt}' > ca.crt\n",
                   SLICE_ARG(o->ns));
        return STATUS_OK;
    }
    int status = cli_apply_failed(p, &e);
    say_undo(p, o);
    return status;
}

/* Wrong flags are told before a server is asked. */
static int print_or_apply(const struct flags *flags, struct install_options *o, struct apply *p)
{
    struct err e = {0};
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, INSTALL_TEXT_MAX);
    bool find = o->program.registryless && !o->image.ptr;
    if (!take_program(o, p->a, &e) || !install_write(o, &out, &e))
        return flags_wrong(flags, "%s", e.text);
    if (o->mode.print)
        return cli_print(buf_slice(&out)) ? STATUS_OK : STATUS_ERROR;
    if (!ask_open(p->ask, o->kubeconfig, o->context, &e) || (find && !program_image(p->ask, o->program.arch, p->a, &o->image, &e)))
        return cli_fail(&e);
    if (find) {
        printf("runs in %.*s\n", SLICE_ARG(o->image));
        buf_clear(&out);
        if (!install_write(o, &out, &e))
            return cli_fail(&e);
    }
    return apply(p, o, buf_slice(&out));
}

static int run(const struct flags *flags, int argc, char **argv, bool upgrade)
{
    struct install_options o = install_defaults;
    int status;
    if (!flags_parse(flags, argc, argv, &o, &status))
        return status;
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    if (!slice_empty(o.values)) { /* then the flags again, which override the file */
        struct slice file = o.values;
        struct err e = {0};
        bool help;
        o = install_defaults;
        if (!values_read(flags, file, &o, &a, &e) || !flags_read(flags, argc, argv, &o, &help, &e))
            return flags_wrong(flags, "%s", e.text);
    }
    o.mode.apply |= (upgrade || o.mode.dry_run) && !o.mode.print;
    if (o.mode.print == o.mode.apply)
        return flags_wrong(flags, "want --print, which changes nothing, or --apply");
    struct ask ask = {0};
    struct apply p = {.ask = &ask,
                      .say = cli_say,
                      .a = &a,
                      .replaces = upgrade,
                      .shows = o.mode.dry_run,
                      .definitions = o.crds_only,
                      .keeps_flags = !o.mode.drop_flags,
                      .image_given = o.image.ptr || o.registry.ptr || o.program.registryless,
                      .resources_given = !slice_empty(o.resources),
                      .requests_given = !slice_empty(o.place.requests),
                      .replicas_given = o.replicas > 0};
    status = print_or_apply(flags, &o, &p);
    ask_close(&ask);
    return status;
}

int cli_install(int argc, char **argv)
{
    return run(&install_flags, argc, argv, false);
}

int cli_upgrade(int argc, char **argv)
{
    return run(&upgrade_flags, argc, argv, true);
}
