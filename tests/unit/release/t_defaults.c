/* The default patches: what flags choose of them, and what they make of pods. */
#include "../shape/expect.h"

#include <mobula/release.h>

static const struct flag list[] = {DEFAULT_PATCHES_FLAGS(0)};
static const struct flags flags = {.usage = "mobula test", .list = list, .count = COUNT_OF(list)};

/* words: "--a=b --c", parted by blanks. */
static struct default_patches flagged(struct slice words, struct arena *a)
{
    struct default_patches o = {.karpenter = false};
    char *argv[16] = {NULL};
    int argc = 1;
    bool help;
    struct err e = {0};
    for (struct slice rest = slice_trim(words); !slice_empty(rest) && argc < 16;) {
        struct slice word = slice_cut(&rest, ' ');
        argv[argc] = arena_alloc(a, word.len + 1);
        slice_copy(word, argv[argc++], word.len + 1);
    }
    CHECK(flags_read(&flags, argc, argv, &o, &help, &e));
    return o;
}

static void test_cases(void)
{
    struct arena files = {0};
    struct slice file = read_file("tests/data/cli/defaults.case", &files);
    for (struct case_text c; case_next(&file, &c);) {
        struct arena a = {0};
        const struct shape_patches *set = NULL;
        struct err e = {0};
        struct default_patches o = flagged(case_part(&c, "flags"), &a);
        bool ok = defaults_check(&o, &e) && defaults_read(&o, &a, &set, &e);
        if (!ok || !set) {
            struct slice refused = slice_trim(case_part(&c, "refused"));
            if (!CHECK(refused.ptr && slice_eq(slice_of(e.text), refused)))
                printf("  got %s\n", e.text);
        }
        for (int i = 1; ok && set && i <= 3; i++) {
            struct slice object = slice_trim(case_part(&c, arena_printf(&a, "object %d", i).ptr)), out;
            if (object.ptr)
                expect_document(shape_patches_apply(set, object, NULL, &a, &out, &e), out, &e,
                                case_part(&c, arena_printf(&a, "result %d", i).ptr), SLICE_NONE, &a);
        }
        arena_free(&a);
    }
    arena_free(&files);
}

/* A failure names the file, and the line in it, whatever parts are left out. */
static void test_names(void)
{
    struct arena a = {0};
    struct default_patches o = {.provider = SLICE("aws"), .parts = SLICE("zone, accelerator"), .account = SLICE("ray")};
    const struct shape_patches *set;
    struct err e = {0};
    struct slice out, text = read_file("airgap/patches/aws.yaml", &a);
    test_case("lines");
    CHECK(defaults_read(&o, &a, &set, &e) && set->below && !set->below->below);
    CHECK(!shape_patches_apply(set, SLICE("{\"kind\":\"Pod\",\"metadata\":{\"labels\":{\"anyscale.com/zone\":\"z!\"}}}"), NULL, &a, &out,
                               &e));
    struct slice before = slice_head(text, (size_t)slice_find_text(text, "- {op: copy"));
    uint32_t line = 1;
    for (struct slice rest = before; !slice_empty(rest); line += slice_find(rest, '\n') >= 0, slice_cut(&rest, '\n'))
        ;
    struct slice want = arena_printf(&a, "airgap/patches/aws.yaml: patch 1 (line %u), operation 2 (copy ", line - 4);
    if (!CHECK(slice_starts(slice_of(e.text), want)))
        printf("  got %s\n", e.text);
    arena_free(&a);
}

static void test_arguments(void)
{
    struct arena a = {0};
    static const struct slice words =
        SLICE("--cloud-provider=gcp --karpenter=true --default-patches=zone,market --workload-service-account=s "
              "--workload-pull-secrets=a,b --workload-proxy=http://p:1 --workload-no-proxy=.a,b --workload-ca=c "
              "--shared-storage=pvc:p --process-tracing=true");
    struct default_patches o = flagged(words, &a), none = {.karpenter = false};
    struct slice want = SLICE("");
    test_case("arguments");
    for (struct slice rest = words; !slice_empty(rest);) {
        struct slice word = slice_cut(&rest, ' ');
        want = arena_printf(&a, "%.*s        - %.*s\n", SLICE_ARG(want), SLICE_ARG(word));
    }
    CHECK_SLICE(defaults_arguments(&o, &a), want);
    CHECK_STR(defaults_arguments(&none, &a), "");
    arena_free(&a);
}

int main(void)
{
    test_cases();
    test_names();
    test_arguments();
    return test_done();
}
