/* Names of stored objects: which of them are segments of logs, and which the options ask for. */
#include "../test.h"

#include "../../../src/logs/stored.h"

#define BATCH "/00000000000000ab-000000000123.gz"

static void segments(void)
{
    static const struct {
        const char *key, *cluster, *node, *file; /* cluster NULL: no segment */
    } cases[] = {
        {"logs/ns/c/pod/raylet.out" BATCH, "c", "pod", "raylet.out"},
        {"logs/ns/c/pod/old/raylet.out" BATCH, "c", "pod", "old/raylet.out"},
        {"logs/ns/c/pod/../raylet.out" BATCH, NULL, NULL, NULL},
        {"logs/ns/../pod/raylet.out" BATCH, NULL, NULL, NULL},
        {"logs/ns/c/raylet.out" BATCH, NULL, NULL, NULL},
        {"logs/ns//pod/raylet.out" BATCH, NULL, NULL, NULL},
        {"logs/ns/c//raylet.out" BATCH, NULL, NULL, NULL},
        {"logs/other/c/pod/raylet.out" BATCH, NULL, NULL, NULL},
        {"logs/ns/c/pod/raylet.out", NULL, NULL, NULL},
        {"logs/ns/c/pod", NULL, NULL, NULL},
        {"logs/ns/", NULL, NULL, NULL},
        {"", NULL, NULL, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct cloud_object o = {.key = guarded(slice_of(cases[i].key)), .modified = SLICE("2027-01-15T01:00:00Z"), .size = 7};
        struct logs_segment one;
        test_case("object %s", cases[i].key);
        CHECK_INT(logs_segment_read(&o, SLICE("logs/ns/"), &one), cases[i].cluster != NULL);
        if (!cases[i].cluster)
            continue;
        CHECK_STR(one.cluster, cases[i].cluster);
        CHECK_STR(one.node, cases[i].node);
        CHECK_STR(one.file, cases[i].file);
        CHECK_STR(one.key, cases[i].key);
        CHECK_STR(one.modified, "2027-01-15T01:00:00Z");
        CHECK_INT(one.generation, 0xab);
        CHECK_INT(one.start, 123);
        CHECK_INT(one.size, 7);
    }
}

#define UID "01234567-89ab-cdef-0123-456789abcdef"

static void wanted(void)
{
    static const struct {
        bool (*is)(struct slice name, struct slice wanted);
        const char *name, *wanted;
        bool is_it;
    } cases[] = {
        {logs_is_node, "pod-1", "", true},
        {logs_is_node, "pod-1", "pod-1", true},
        {logs_is_node, "pod-1." UID, "pod-1", true},
        {logs_is_node, "pod-1." UID, "pod-1." UID, true},
        {logs_is_node, "pod-1-" UID, "pod-1", false},
        {logs_is_node, "pod-1." UID "0", "pod-1", false},
        {logs_is_node, "pod-10", "pod-1", false},
        {logs_is_node, "pod", "pod-1", false},
        {logs_is_file, "raylet.out", "", true},
        {logs_is_file, "raylet.out", "raylet.out", true},
        {logs_is_file, "raylet.out.1", "raylet.out", false},
        {logs_is_file, "raylet.out", "raylet.out.1", false},
        {logs_is_file, "raylet.out", "*", true},
        {logs_is_file, "raylet.out", "raylet*", true},
        {logs_is_file, "raylet.out", "*.out", true},
        {logs_is_file, "raylet.out", "*.err", false},
        {logs_is_file, "worker-1-2.out", "worker-*-2.*", true},
        {logs_is_file, "worker-1-2.out", "worker-*-3.*", false},
        {logs_is_file, "old/raylet.out", "*/raylet.out", true},
        {logs_is_file, "", "*", true},
        {logs_is_file, "", "?", false},
        {logs_is_made_by, "train-abcde", "train", true},
        {logs_is_made_by, "train-abcd", "train", false},
        {logs_is_made_by, "train-abcdef", "train", false},
        {logs_is_made_by, "train.abcde", "train", false},
        {logs_is_made_by, "other-abcde", "train", false},
        {logs_is_made_by, "", "train", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s for %s", cases[i].name, cases[i].wanted);
        CHECK_INT(cases[i].is(guarded_n(0, slice_of(cases[i].name)), guarded_n(1, slice_of(cases[i].wanted))), cases[i].is_it);
    }
}

/* The driver's log needs no more than a bucket; each of the other options asks for files. */
static void asked(void)
{
    static const struct logs_bucket_options cases[] = {
        {.url = {"s3://b", 6}}, {.node = {"pod", 3}}, {.file = {"*", 1}}, {.download = {"dir", 3}}, {.since_ms = 1}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("options %zu", i);
        CHECK_INT(logs_bucket_asked(&cases[i]), i > 0);
    }
}

int main(void)
{
    segments();
    wanted();
    asked();
    return test_done();
}
