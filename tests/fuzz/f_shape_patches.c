/* The text of patches, and behind a NUL an object: every error has a line and words, what comes of the object is JSON, and what it is
 * recognised by has not changed. */
#include <mobula/patches.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_same(struct jval given, struct jval made, const char *pointer)
{
    struct jval before = json_pointer(given, slice_of(pointer)), after = json_pointer(made, slice_of(pointer));
    if (json_there(before) && !json_equal(before, after))
        abort();
}

static void check_object(const struct shape_patches *patches, struct slice text, struct arena *a)
{
    struct json given, made;
    struct slice out = SLICE_NONE;
    struct err e = {0};
    if (!json_parse(&given, text, a, NULL) || json_type(json_root(&given)) != JSON_OBJECT)
        return;
    bool ok = shape_patches_apply(patches, text, NULL, a, &out, &e);
    if (ok ? !json_parse(&made, out, a, &e) : e.code == ERR_NONE)
        abort();
    if (!ok)
        return;
    check_same(json_root(&given), json_root(&made), "/kind");
    check_same(json_root(&given), json_root(&made), "/metadata/name");
    check_same(json_root(&given), json_root(&made), "/metadata/ownerReferences");
    check_same(json_root(&given), json_root(&made), "/metadata/labels/ray.io~1cluster");
    check_same(json_root(&given), json_root(&made), "/metadata/annotations/mobula.dev~1template-hash");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct shape_patches patches;
    struct spec_errors errors = {0};
    struct slice object = {(const char *)data, size}, text = slice_cut(&object, '\0');
    bool ok = shape_patches_read(text, &a, &patches, &errors);
    if (ok != (errors.count == 0))
        abort();
    for (uint32_t i = 0; i < errors.count; i++)
        if (errors.list[i].line == 0 || slice_empty(errors.list[i].text))
            abort();
    if (ok && object.ptr)
        check_object(&patches, object, &a);
    arena_free(&a);
    return 0;
}
