/* `mobula validate`: checks manifests without a cluster. */
#include "cli.h"

#include <mobula/schema.h>

#include <stdio.h>

enum { VALIDATE_OUTPUT_MAX = 16 * MIB };

struct validate_options {
    struct flag_texts files;
};

static const struct flag list[] = {
    {"f", FLAG_TEXTS, offsetof(struct validate_options, files), "FILE"},
};

static const struct flags flags = {
    .usage = "mobula validate -f FILE [-f FILE...]",
    .list = list,
    .count = COUNT_OF(list),
};

int cli_validate(int argc, char **argv)
{
    struct validate_options o = {0};
    int status;
    if (!flags_parse(&flags, argc, argv, &o, &status))
        return status;
    if (o.files.count == 0)
        return flags_wrong(&flags, "-f is needed");
    struct validated sum = {0};
    struct manifest_files files;
    struct err e = {0};
    __attribute__((cleanup(arena_free))) struct arena a = {0}, names = {0};
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, VALIDATE_OUTPUT_MAX);
    if (!manifest_files(&o.files, &names, &files, &e))
        return cli_fail(&e);
    for (uint32_t i = 0; i < files.count; i++) {
        struct slice text;
        if (!cli_read_file(files.list[i], &a, &text, &e))
            return cli_fail(&e);
        validate_text(slice_eq(files.list[i], SLICE("-")) ? "stdin" : files.list[i].ptr, text, &a, &sum, &out);
        arena_reset(&a, MIB);
    }
    buf_printf(&out, "%u checked, %u skipped; errors: %u, warnings: %u\n", sum.checked, sum.skipped, sum.errors, sum.warnings);
    if (out.full)
        err_set(&e, ERR_LIMIT, "more than %d bytes of findings (VALIDATE_OUTPUT_MAX)", VALIDATE_OUTPUT_MAX);
    else if (!cli_print(buf_slice(&out)))
        return STATUS_ERROR;
    else if (sum.checked == 0 && sum.errors == 0)
        err_set(&e, ERR_CONFIG, "nothing was checked: there is no %.*s in what was given", SLICE_ARG(manifest_kinds(&names)));
    if (e.code != ERR_NONE)
        return cli_fail(&e);
    return sum.errors == 0 ? STATUS_OK : STATUS_ERROR;
}
