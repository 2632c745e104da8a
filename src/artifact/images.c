/* The images that manifests of any kind need. */
#include <mobula/artifact.h>
#include <mobula/json.h>
#include <mobula/yaml.h>

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
