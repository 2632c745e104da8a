/* `mobula images`: what must be in the registry before manifests are applied where there is no other. */
#include "images.h"
#include "cli.h"
#include "install.h"

#include <mobula/command.h>
#include <mobula/schema.h>

#include <stdlib.h>

bool images_add(struct images *set, struct slice image, struct err *e)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (slice_eq(set->list[i], image))
            return true;
    if (set->count == IMAGES_MAX)
        return err_set(e, ERR_LIMIT, "more than %d images (IMAGES_MAX)", IMAGES_MAX);
    set->list[set->count++] = image;
    return true;
}

/* Every "image" that is a text, wherever it stands, so that kinds that this program does not know are read, too; and the "reference" of an
 * image volume. */
static bool walk(struct jval v, struct arena *a, struct images *set, struct err *e)
{
    struct jval key, one;
    for (struct jiter it = json_iter(v); json_next(&it, &key, &one);) {
        bool named = json_there(key) && json_str_eq(key, SLICE("image"));
        struct jval image = json_type(one) == JSON_OBJECT ? json_key(one, SLICE("reference")) : one;
        if (named && json_type(image) == JSON_STRING) {
            struct slice text = json_str(image, a);
            if (!slice_empty(text) && !images_add(set, text, e))
                return false;
        } else if (!walk(one, a, set, e))
            return false;
    }
    return true;
}

/* Their members are named by users, or describe members: an "image" among them is none. */
static bool holds_images(struct jval object)
{
    static const char *const others[] = {"ConfigMap", "Secret", "CustomResourceDefinition"};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (json_str_eq(json_get(object, "kind"), slice_of(others[i])))
            return false;
    return true;
}

static bool images_of(struct jval object, struct arena *a, struct images *set, struct err *e)
{
    struct jval key, item, items = json_key(object, SLICE("items"));
    if (json_type(items) != JSON_ARRAY)
        return !holds_images(object) || walk(object, a, set, e);
    for (struct jiter it = json_iter(items); json_next(&it, &key, &item);)
        if (holds_images(item) && !walk(item, a, set, e))
            return false;
    return true;
}

bool images_read(struct slice text, struct arena *a, struct images *set, struct err *e)
{
    struct yaml_docs docs;
    if (!yaml_parse(text, a, &docs, e))
        return false;
    for (uint32_t i = 0; i < docs.count; i++) {
        struct json *doc = arena_new(a, struct json);
        if (!json_parse(doc, docs.docs[i].json, a, e) || !images_of(json_root(doc), a, set, e))
            return err_wrap(e, "the document at line %u", docs.docs[i].line);
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

void images_sort(struct images *set)
{
    qsort(set->list, set->count, sizeof set->list[0], compare);
}

/* ---- the command ---- */

struct images_options {
    struct flag_texts files;
    struct slice image;
    bool no_operator;
};

static const struct flag list[] = {
#define AT(field) offsetof(struct images_options, field)
    {"f", FLAG_TEXTS, AT(files), "FILE", "a manifest in YAML or JSON, or a folder of them; - is standard input"},
    {"image", FLAG_TEXT, AT(image), "REF", "the operator's image, as install has it (localhost/mobula:" MOBULA_VERSION ")"},
    {"no-operator", FLAG_SWITCH, AT(no_operator), NULL, "without the operator's own"},
#undef AT
};

static const struct flags flags = {
    .examples = "mobula images -f cluster.yaml -f jobs/",
    .usage = "mobula images [-f FILE...] [FLAG...]",
    .about = "Prints every image that manifests of any kind need, the operator's own included: one a line, sorted, each once.",
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
