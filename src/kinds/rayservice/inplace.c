/* Upgrades of a RayService in place (SERVICE_UPGRADE_ROLLING): the running RayCluster gets the new worker groups and RAY_ANNOTATION_ROLL,
 * and its controller rolls the workers. This file decides which changes of the spec can be carried out that way. */
#include "rayservice.h"

struct slice rayservice_roll_text(const struct rayservice *s, struct arena *a)
{
    if (s->upgrade != SERVICE_UPGRADE_ROLLING)
        return json_str(json_child(s->annotations, RAY_ANNOTATION_ROLL), a);
    return arena_printf(a, "maxSurgePercent=%d,maxUnavailablePercent=%d", (int)s->options.roll.surge, (int)s->options.roll.unavailable);
}

/* ---- differences ---- */

/* Appends the path of the first difference between two values. */
static void put_difference(struct jval a, struct jval b, struct buf *path)
{
    struct jval k, v;
    struct arena scratch = {0};
    size_t i = 0, before = path->len;
    bool objects = json_type(a) == JSON_OBJECT && json_type(b) == JSON_OBJECT,
         arrays = json_type(a) == JSON_ARRAY && json_type(b) == JSON_ARRAY;
    for (int turn = 0; turn < 2 && objects && path->len == before; turn++)
        for (struct jiter it = json_iter(turn ? b : a); json_next(&it, &k, &v);) {
            struct slice key = json_str(k, &scratch);
            struct jval x = json_key(a, key), y = json_key(b, key);
            if (json_equal(x, y))
                continue;
            buf_printf(path, ".%.*s", SLICE_ARG(key));
            put_difference(x, y, path);
            break;
        }
    for (struct jiter it = json_iter(a); arrays && json_next(&it, &k, &v); i++)
        if (!json_equal(v, json_at(b, i)) && i < json_len(b)) {
            buf_printf(path, "[%zu]", i);
            put_difference(v, json_at(b, i), path);
            break;
        }
    arena_free(&scratch);
}

/* Why the specs differ outside of their worker groups; empty: they do not. */
static struct slice frame_differs(struct jval live, struct jval want, struct arena *a)
{
    static const char *const whys[][2] = {{".headGroupSpec", "a new head starts without the applications and needs new workers"},
                                          {".rayVersion", "all nodes of a cluster run the same Ray"},
                                          {"", "it applies to the whole cluster"}};
    static const char *const groups[] = {"workerGroupSpecs", "suspend", NULL};
    __attribute__((cleanup(buf_free))) struct buf x = {.max = LIMIT_JSON_ITEM}, y = {.max = LIMIT_JSON_ITEM}, path = {.max = 200};
    struct jout out;
    struct jval one, other;
    struct buf *both[] = {&x, &y};
    for (size_t i = 0; i < COUNT_OF(both); i++) {
        jout_init(&out, both[i]);
        jout_object(&out);
        splice_members(&out, i ? want : live, groups, a);
        jout_end(&out);
    }
    if (!json_read(&one, buf_slice(&x), a, NULL) || !json_read(&other, buf_slice(&y), a, NULL))
        return SLICE("the two specs cannot be compared");
    if (json_equal(one, other))
        return SLICE("");
    put_difference(one, other, &path);
    size_t i = 0;
    while (!slice_starts(buf_slice(&path), slice_of(whys[i][0])))
        i++;
    return arena_printf(a, "spec.rayClusterConfig%.*s has changed: %s", SLICE_ARG(buf_slice(&path)), whys[i][1]);
}

/* ---- worker groups ---- */

static struct slice image_of(struct jval group, struct arena *a)
{
    return json_get_str(json_at(json_get(group, "template.spec.containers"), 0), "image", a);
}

/* From an image tag such as "2.46.0-py310-gpu": "2.46.0", or with python "py310"; empty: the tag has none. */
static struct slice version_in(struct slice image, bool python)
{
    struct slice rest = image, part = rest;
    if (!ray_image_version(image))
        return SLICE("");
    while (rest.ptr)
        part = slice_cut(&rest, '/');
    slice_cut(&part, ':');
    struct slice version = slice_cut(&part, '-');
    while (part.ptr && python) {
        struct slice word = slice_cut(&part, '-');
        if (slice_starts(word, SLICE("py")))
            return word;
    }
    return python ? SLICE("") : version;
}

static struct slice versions_differ(struct jval want, struct jval group, struct slice name, struct arena *a)
{
    struct slice head = image_of(json_get(want, "headGroupSpec"), a), its = image_of(group, a);
    for (int python = 0; python < 2; python++) {
        struct slice x = version_in(head, python), y = version_in(its, python);
        if (!slice_empty(x) && !slice_empty(y) && !slice_eq(x, y))
            return arena_printf(a, "worker group %.*s has an image of %s%.*s and the head one of %s%.*s: Ray needs the same on all nodes",
                                SLICE_ARG(name), python ? "" : "Ray ", SLICE_ARG(y), python ? "" : "Ray ", SLICE_ARG(x));
    }
    return SLICE("");
}

struct slice rayservice_apart(struct jval live, struct jval want, struct arena *a)
{
    struct jval k, group, groups = json_get(want, "workerGroupSpecs");
    struct slice why = frame_differs(live, want, a);
    for (struct jiter it = json_iter(json_get(live, "workerGroupSpecs")); slice_empty(why) && json_next(&it, &k, &group);) {
        struct slice name = json_get_str(group, "groupName", a);
        struct jval next = list_find(groups, "groupName", name);
        if (!json_there(next))
            why = arena_printf(a, "worker group %.*s was removed or renamed: it would lose all pods at once", SLICE_ARG(name));
        else if (json_get_int(group, "numOfHosts", 1) != json_get_int(next, "numOfHosts", 1))
            why = arena_printf(a, "numOfHosts of worker group %.*s has changed: both sizes cannot be mixed", SLICE_ARG(name));
    }
    for (struct jiter it = json_iter(groups); slice_empty(why) && json_next(&it, &k, &group);)
        why = versions_differ(want, group, json_get_str(group, "groupName", a), a);
    return why;
}
