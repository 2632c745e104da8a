#include "failed.h"
#include "install_command.h"

#include <stdio.h>

/* Prints the commands that undo the changes. */
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

int install_apply(struct apply *p, const struct install_options *o, struct slice manifests)
{
    struct install_change c;
    struct err e = {0};
    bool well = install_change_read(&c, p, o, manifests, &e);
    if (well && o->mode.dry_run)
        return show_diff(p, &c.gone, &e);
    if (well && install_change_apply(&c, p, o, &e)) {
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
