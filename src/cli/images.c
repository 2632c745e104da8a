/* `mobula images`: what must be in the registry before manifests are applied where there is no other. */
#include "cli.h"

#include <mobula/artifact.h>
#include <mobula/release.h>
#include <mobula/schema.h>

struct images_options {
    struct flag_texts files;
    struct slice image;
    bool no_operator;
};

static const struct flag list[] = {
#define AT(field) offsetof(struct images_options, field)
    {"f", FLAG_TEXTS, AT(files), "FILE"},
    {"image", FLAG_TEXT, AT(image), "REF"},
    {"no-operator", FLAG_SWITCH, AT(no_operator), NULL},
#undef AT
};

static const struct flags flags = {
    .usage = "mobula images [-f FILE...] [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
};

int cli_images(int argc, char **argv)
{
    struct images_options o = {.image = SLICE(INSTALL_IMAGE)};
    int status;
    if (!flags_parse(&flags, argc, argv, &o, &status))
        return status;
    struct err e = {0};
    struct manifest_files files = {0};
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    __attribute__((cleanup(buf_free))) struct buf out;
    struct images *set = arena_new(&a, struct images);
    buf_init(&out, MIB);
    if ((o.files.count > 0 && !manifest_files(&o.files, &a, &files, &e)) || (!o.no_operator && !images_add(set, o.image, &e)))
        return cli_fail(&e);
    for (uint32_t i = 0; i < files.count; i++) {
        struct slice text;
        if (!cli_read_file(files.list[i], &a, &text, &e))
            return cli_fail(&e);
        if (!images_read(text, &a, set, &e)) {
            err_wrap(&e, "%s", files.list[i].ptr);
            return cli_fail(&e);
        }
    }
    images_sort(set);
    for (uint32_t i = 0; i < set->count; i++) {
        size_t from = out.len;
        buf_put(&out, set->list[i]);
        findings_end_line(&out, from);
    }
    return cli_print(buf_slice(&out)) ? STATUS_OK : STATUS_ERROR;
}
