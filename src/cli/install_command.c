/* `mobula install` and `mobula upgrade`: the manifests of an installation, printed or applied. */
#include "install_command.h"
#include "failed.h"

#include <stdio.h>

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
    return install_apply(p, o, buf_slice(&out));
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
                      .note = cli_apply_note,
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
