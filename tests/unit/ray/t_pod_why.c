/* Why a pod is not ready, from tests/data/ray/pod-why.case, how much of it is kept, and which pod of several is told of. */
#include "tests/kinds/cases.h"

#include <mobula/pod.h>
#include <mobula/yaml.h>

#include <stdio.h>

static struct pod read_pod(struct slice yaml, struct arena *a)
{
    struct yaml_docs docs;
    struct json *doc = arena_new(a, struct json);
    struct err e = {0};
    struct pod p = {.name = ""};
    struct slice text =
        arena_printf(a, "metadata: {name: x-head, namespace: ray, labels: {ray.io/node-type: head}}\n%.*s", SLICE_ARG(yaml));
    if (!CHECK(yaml_parse(text, a, &docs, &e)) || !CHECK(json_parse(doc, docs.docs[0].json, a, &e)))
        printf("  %s\n", e.text);
    else
        pod_read(json_root(doc), a, &p);
    return p;
}

static void run(struct slice text)
{
    struct arena a = {0};
    const char *mark = memmem(text.ptr, text.len, "\n>>>\n", 5);
    struct slice in = slice_head(text, mark ? (size_t)(mark - text.ptr) + 1 : text.len), want = slice_skip(text, in.len + 4);
    struct slice reason = slice_cut(&want, '\n');
    struct pod p = read_pod(in, &a);
    CHECK_SLICE(p.reason, slice_eq(reason, SLICE("-")) ? SLICE("") : reason);
    CHECK_SLICE(p.words, slice_trim(want));
    arena_free(&a);
}

static void check_limit(void)
{
    struct arena a = {0};
    struct buf b;
    buf_init(&b, 16 * KIB);
    test_case("LIMIT_POD_WORDS: a whole log as the last message, names as long as they may be");
    char name[POD_NAME_MAX + 1];
    memset(name, 'n', POD_NAME_MAX);
    name[POD_NAME_MAX] = '\0';
    buf_printf(
        &b,
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"},\"spec\":{\"initContainers\":[{\"name\":\"%s\"}]},\"status\":{"
        "\"initContainerStatuses\":[{\"name\":\"%s\",\"restartCount\":2147483647,\"state\":{\"waiting\":{\"reason\":"
        "\"CrashLoopBackOff\"}},\"lastState\":{\"terminated\":{\"exitCode\":255,\"reason\":\"ContainerStatusUnknown\",\"message\":\"",
        name, name, name, name);
    for (int i = 0; i < 4 * KIB; i++)
        buf_put(&b, SLICE("\xc3\xa9"));
    buf_put(&b, SLICE("\"}}}]}}"));
    struct json doc;
    struct err e = {0};
    struct pod p;
    CHECK(json_parse(&doc, buf_slice(&b), &a, &e));
    pod_read(json_root(&doc), &a, &p);
    CHECK(p.words.len > LIMIT_POD_WORDS * 3 / 4 && p.words.len <= LIMIT_POD_WORDS);
    CHECK(utf8_valid(p.words));
    CHECK(memmem(p.words.ptr, p.words.len, "é…; kubectl", sizeof "é…; kubectl" - 1));
    CHECK(slice_ends(p.words, SLICE("n --previous")));
    buf_free(&b);
    arena_free(&a);
}

static void check_going(void)
{
    struct arena a = {0};
    struct json doc;
    struct err e = {0};
    struct pod p, other = {.name = "other"};
    int64_t again_us, since_us = 0;
    static const char text[] =
        "{\"metadata\":{\"name\":\"x-head\",\"deletionTimestamp\":\"2027-01-15T08:00:30Z\",\"deletionGracePeriodSeconds\":30},"
        "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"ray\"}]},\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":"
        "\"Ready\",\"status\":\"True\"},{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"message\":\"Taint manager: deleting due to "
        "NoExecute taint\"}]}}";
    test_case("a pod that is being deleted: node, since when, and by whom");
    CHECK(json_parse(&doc, slice_of(text), &a, &e));
    pod_read(json_root(&doc), &a, &p);
    CHECK_SLICE(p.reason, SLICE("Terminating"));
    CHECK_SLICE(p.words, SLICE("Terminating on node n1 since 2027-01-15T08:00:00Z: Taint manager: deleting due to NoExecute taint"));
    CHECK(time_parse(SLICE("2027-01-15T08:00:00Z"), &since_us, NULL) && p.going_s == since_us / 1000000);
    test_case("… it hangs after POD_HANGS_MS, and not before");
    const struct pod *const all[] = {&other, &p};
    int64_t hangs_us = since_us + POD_HANGS_MS * INT64_C(1000);
    struct slice text_before = pods_going_text(all, 2, hangs_us - 1, &a, &again_us);
    CHECK(again_us == hangs_us && slice_has(text_before, "; 1 more pod is left") && !slice_has(text_before, "out-of-service"));
    CHECK(slice_has(pods_going_text(all, 2, hangs_us, &a, &again_us), "out-of-service") && again_us == 0);
    CHECK_STR(pods_going_text(all, 1, hangs_us, &a, &again_us), "");
    arena_free(&a);
}

static void check_trouble(void)
{
    struct arena a = {0};
    struct pod starts = {.name = "starts", .words = SLICE("Init: waits for the head")};
    struct pod waits = {.name = "waits", .reason = SLICE("Unschedulable"), .words = SLICE("Unschedulable: full")};
    struct pod more = {.name = "more", .reason = SLICE("Unschedulable"), .words = SLICE("Unschedulable: full")};
    struct pod ready = {.name = "ready", .ready = true, .phase = POD_RUNNING, .words = SLICE("stale")};
    struct pod goes = {.name = "goes", .deleting = true, .reason = SLICE("Error"), .words = SLICE("ended")};
    struct pod head = {.name = "head", .head = true, .words = SLICE("containers with unready status: [ray]")};
    const struct pod *const all[] = {&ready, &goes, &starts, &waits, &more, &head};
    test_case("nothing keeps them");
    CHECK_STR(pods_trouble(all, 2, &a), "");
    test_case("one that starts");
    CHECK_STR(pods_trouble(all, 3, &a), "pod starts: Init: waits for the head");
    test_case("the first that cannot comes before those that start");
    CHECK_STR(pods_trouble(all, 5, &a), "pod waits: Unschedulable: full");
    test_case("the head comes first");
    CHECK_STR(pods_trouble(all, 6, &a), "pod head: containers with unready status: [ray]");
    arena_free(&a);
}

int main(void)
{
    run_cases("tests/data/ray/pod-why.case", run);
    check_limit();
    check_going();
    check_trouble();
    return test_done();
}
