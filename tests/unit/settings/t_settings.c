/* The settings without kinds and without a server: what each takes and refuses, and when kinds hear of it. */
#include "tests/unit/test.h"

#include <mobula/settings.h>

static struct {
    uint32_t count;
    const struct setting *last;
} heard;

static void hear(struct op *op, const struct setting *s)
{
    (void)op;
    heard.count++;
    heard.last = s;
}

static const struct kind deaf = {.name = "Deaf"}, listener = {.name = "Listener", .on_setting = hear};
static const struct kind *const listeners[] = {&deaf, &listener, NULL};
static const struct control_parts parts = {.kinds = listeners, .settings = setting_kinds};

/* As operator_new leaves it, and as if each ConfigMap were watched. */
static struct op *start(const struct operator_plane *plane, bool *ok, struct err *e)
{
    struct op *op = mem_alloc(sizeof *op);
    op->parts = &parts;
    op->o.plane = *plane;
    for (uint32_t i = 0; setting_kinds[i]; i++)
        op->o.settings[i].name = SLICE("map");
    heard.count = 0;
    *ok = settings_init(op, e);
    for (uint32_t i = 0; setting_kinds[i]; i++)
        op->settings[i].watch = (struct kube_watch *)op;
    return op;
}

static struct op *start_plain(void)
{
    struct err e = {0};
    bool ok;
    struct op *op = start(&(struct operator_plane){.config = NULL}, &ok, &e);
    CHECK(ok);
    return op;
}

static void finish(struct op *op)
{
    settings_free(op);
    for (uint32_t i = 0; setting_kinds[i]; i++)
        CHECK(!op->settings[i].taken);
    mem_free(op);
}

static bool take(struct op *op, const struct setting_kind *kind, struct slice text, struct err *e)
{
    struct setting *s = &op->settings[setting_of(op, kind) - op->settings];
    *e = (struct err){0};
    s->known = true;
    s->broken = !kind->on_text(s, text, e);
    s->why = *e;
    return !s->broken;
}

static void test_table(void)
{
    struct op *op = start_plain();
    struct err e;
    for (uint32_t i = 0; setting_kinds[i]; i++) {
        const struct setting_kind *k = setting_kinds[i];
        test_case("--%s: its place, name, flags and key", k->flags[0]);
        CHECK(setting_of(op, k) == &op->settings[i]);
        CHECK_STR(setting_name(&op->settings[i]), "map");
        CHECK(slice_ends(slice_of(k->flags[0]), SLICE("-configmap")) && slice_ends(slice_of(k->flags[1]), SLICE("-key")));
        CHECK(slice_ends(k->key, SLICE(".yaml")));
        test_case("--%s: a text that is broken is refused, and the end of the process frees everything", k->flags[0]);
        CHECK(take(op, k, SLICE_NONE, &e));
        CHECK(!take(op, k, SLICE("{"), &e) && e.code != ERR_NONE && e.text[0]);
    }
    finish(op);
}

static void test_types(void)
{
    struct op *op = start_plain();
    struct err e;
    test_case("instance types: none are known, none exist, one exists");
    CHECK(!types_in_force(op) && types_get_or_empty(op)->count == 0);
    CHECK(take(op, &setting_instance_types, SLICE_NONE, &e) && types_in_force(op)->count == 0);
    CHECK(take(op, &setting_instance_types, SLICE("a: {resources: {CPU: 1, memory: 1Gi}}"), &e) && types_in_force(op)->count == 1);
    test_case("… a broken text changes nothing");
    CHECK(!take(op, &setting_instance_types, SLICE("a: 1"), &e) && types_in_force(op)->count == 1);
    finish(op);
    test_case("… without a ConfigMap there is not even an empty list");
    op = start_plain();
    op->settings[setting_of(op, &setting_instance_types) - op->settings].watch = NULL;
    CHECK(!types_get_or_empty(op));
    finish(op);
}

static void amend(struct op *op, const char *object, const char *want)
{
    struct buf b;
    struct err e = {0};
    buf_init(&b, KIB);
    buf_put(&b, slice_of(object));
    CHECK(patches_amend(op, true, &b, &e) == (want != NULL));
    if (want)
        CHECK_STR(buf_slice(&b), want);
    else
        CHECK(e.code == ERR_CONFIG);
    buf_free(&b);
}

static void test_patches(void)
{
    static const char text[] = "[{kind: Secret, patch: [{op: add, path: /metadata/a, value: b}]}]";
    static const char secret[] = "{\"kind\":\"Secret\",\"metadata\":{},\"stringData\":{\"" RAY_AUTH_KEY "\":\"sesame\"}}";
    static const char patched[] = "{\"kind\":\"Secret\",\"metadata\":{\"a\":\"b\"},\"stringData\":{\"" RAY_AUTH_KEY "\":\"sesame\"}}";
    struct op *op = start_plain();
    struct err e;
    test_case("patches: nothing is written before they are known, nor with a text that is broken from the start");
    amend(op, secret, NULL);
    CHECK(!take(op, &setting_patches, slice_head(slice_of(text), 20), &e) && patches_revision(op) == 0);
    amend(op, secret, NULL);
    test_case("… then objects are patched, a Secret's token as it was");
    CHECK(take(op, &setting_patches, slice_of(text), &e) && patches_revision(op) != 0);
    amend(op, secret, patched);
    test_case("… a broken text changes nothing, and without the text nothing is patched");
    CHECK(!take(op, &setting_patches, SLICE("{"), &e));
    amend(op, secret, patched);
    CHECK(take(op, &setting_patches, SLICE_NONE, &e));
    amend(op, secret, secret);
    arena_free(&op->arenas.body);
    finish(op);
}

static int64_t most_objects(const struct op *op)
{
    struct work_policy policy;
    policy_in_force(op, &policy);
    return policy.objects;
}

static bool is_frozen(const struct op *op, const char *words)
{
    struct arena a = {0};
    struct slice why = policy_frozen(op, &a);
    bool frozen = words ? slice_has(why, words) : why.ptr == NULL;
    arena_free(&a);
    return frozen;
}

static void test_policy(void)
{
    struct op *op = start_plain();
    struct setting *s = &op->settings[setting_of(op, &setting_policy) - op->settings];
    struct err e;
    test_case("policy: frozen until the ConfigMap is known, and while its first text is broken");
    CHECK(policy_awaited(op) && is_frozen(op, "ConfigMap map cannot be read"));
    CHECK(!take(op, &setting_policy, SLICE("a: 1"), &e));
    CHECK(!policy_awaited(op) && is_frozen(op, "ConfigMap map is broken"));
    test_case("… the default is in force without a ConfigMap, then its text");
    CHECK(take(op, &setting_policy, SLICE_NONE, &e) && is_frozen(op, NULL));
    CHECK(take(op, &setting_policy, SLICE("maxObjects: 7"), &e));
    CHECK_INT(most_objects(op), 7);
    test_case("… a text that is broken or deleted changes nothing");
    CHECK(!take(op, &setting_policy, SLICE("a: 1"), &e) && !take(op, &setting_policy, SLICE_NONE, &e));
    CHECK_STR(slice_of(e.text), "it was deleted");
    CHECK(most_objects(op) == 7 && is_frozen(op, NULL));
    test_case("… the annotation freezes");
    s->frozen = true;
    CHECK(is_frozen(op, SETTING_FROZEN));
    CHECK_INT(heard.count, 0);
    finish(op);
}

/* ---- the policy file ---- */

static const char *file_text;

static bool give_file(struct slice path, struct arena *a, struct slice *out, struct err *e)
{
    (void)a;
    *out = slice_of(file_text);
    return file_text || err_set(e, ERR_IO, "%.*s is not there", SLICE_ARG(path));
}

static void look_again(struct op *op)
{
    op->now.mono_ms += POLICY_FILE_MS;
    policy_read_again(op);
}

static void test_file(void)
{
    static struct kube_config config;
    const struct operator_plane plane = {.config = &config, .policy_file = SLICE("f"), .read_file = give_file};
    struct err e = {0};
    bool ok;
    test_case("policy file: the operator does not start with one that is not there, or broken");
    file_text = NULL;
    struct op *op = start(&plane, &ok, &e);
    CHECK(!ok && slice_has(slice_of(e.text), "--policy-file"));
    finish(op);
    file_text = "a: 1";
    op = start(&plane, &ok, &e);
    CHECK(!ok && policy_file_broken(op));
    finish(op);
    test_case("… it is read again every minute, and kinds hear of a change");
    file_text = "maxObjects: 5";
    op = start(&plane, &ok, &e);
    CHECK(ok && heard.count == 1 && heard.last == setting_of(op, &setting_policy));
    look_again(op);
    CHECK_INT(heard.count, 1);
    file_text = "maxObjects: 6";
    policy_read_again(op);
    CHECK_INT(most_objects(op), 5);
    look_again(op);
    CHECK(heard.count == 2 && most_objects(op) == 6);
    file_text = "maxObjects: 7";
    policy_renew(op);
    policy_read_again(op);
    CHECK(heard.count == 3 && most_objects(op) == 7);
    test_case("… a broken one changes nothing until it is mended");
    file_text = "a: 1";
    look_again(op);
    CHECK(heard.count == 3 && most_objects(op) == 7 && policy_file_broken(op));
    file_text = "maxObjects: 8";
    look_again(op);
    CHECK(heard.count == 4 && most_objects(op) == 8 && !policy_file_broken(op));
    test_case("… the ConfigMap has precedence");
    CHECK(take(op, &setting_policy, SLICE("maxObjects: 9"), &e));
    CHECK_INT(most_objects(op), 9);
    finish(op);
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    test_table();
    test_types();
    test_patches();
    test_policy();
    test_file();
    return test_done();
}
