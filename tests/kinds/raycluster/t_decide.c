/* Decisions on pods, from tests/kinds/raycluster/decide.case. */
#include "scene.h"

static const char *group_text(int32_t group)
{
    return group == -1 ? "head" : group == 0 ? "small" : group == 1 ? "big" : "none";
}

static void put_action(struct buf *b, const struct action *act)
{
    const char *market = act->on_demand ? " on demand" : "";
    if (act->verb == &raycluster_create_pod && act->uid.len)
        buf_printf(b, "create %s %d replaces %.*s%s\n", group_text(act->group), act->index, SLICE_ARG(act->uid), market);
    else if (act->verb == &raycluster_create_pod)
        buf_printf(b, "create %s %d%s\n", group_text(act->group), act->index, market);
    else if (act->verb == &raycluster_create_account)
        buf_printf(b, "account %s %d\n", group_text(act->group), act->index);
    else if (act->verb == &raycluster_try_pod)
        buf_printf(b, "try %s\n", group_text(act->group));
    else if (act->verb == &pod_delete)
        buf_printf(b, "delete %.*s%s %.*s\n", SLICE_ARG(act->uid), act->version ? " as seen:" : "",
                   SLICE_ARG(act->text.len ? act->text : slice_of(act->why)));
    else if (act->verb == &raycluster_drain_pod)
        buf_printf(b, "drain %.*s\n", SLICE_ARG(act->uid));
    else if (act->verb == &raycluster_count_failure)
        buf_printf(b, "count %s %.*s\n", group_text(act->group), SLICE_ARG(act->uid));
    else if (act->verb == &raycluster_leave_spot)
        buf_printf(b, "leave spot %s: %.*s\n", group_text(act->group), SLICE_ARG(act->text));
    else if (act->verb == &raycluster_forget_failures)
        buf_printf(b, "forget %s\n", group_text(act->group));
}

static void decide(struct scene *s, struct buf *out)
{
    const struct pod *pods[PODS_MAX];
    struct cluster_view v;
    scene_view(s, pods, &v);
    struct plan p, q;
    raycluster_decide(&v, &s->a, &p);
    raycluster_decide(&v, &s->a, &q);
    CHECK_INT(q.count, p.count); /* the same view gives the same plan */
    for (uint32_t i = 0; i < p.count; i++)
        put_action(out, &p.actions[i]);
    /* a group that is well is looked at again after a minute or more: of no interest here */
    if (p.next_ms < NOW_MS + 60000)
        buf_printf(out, "again %lld\n", (long long)(p.next_ms - NOW_MS));
}

static void run_case(struct slice text)
{
    struct scene s = {.hosts = 1, .max = INT32_MAX};
    read_words(&s, slice_cut(&text, '\n'));
    read_pods(&s, &text);
    read_cluster(&s);
    struct buf out;
    buf_init(&out, MIB);
    decide(&s, &out);
    CHECK_SLICE(slice_trim(buf_slice(&out)), slice_trim(text));
    buf_free(&out);
    arena_free(&s.a);
}

/* When a service is applied: have and the hashes of the last apply are relative to what is wanted (0: the same, 1 and 2: something else).
 */
static void test_services(void)
{
    static const struct {
        const char *id;
        bool there, deleting;
        int have, wanted, became;
        int64_t ago_ms; /* since the last apply; 0: there was none */
        bool applies;
        int64_t again_ms;
    } cases[] = {
        {"not there", false, false, 0, 0, 0, 0, true, 0},
        {"not there, and the last one has not stayed", false, false, 0, 0, 0, 0, false, 7000},
        {"as it should be", true, false, 0, 0, 0, 0, false, 0},
        {"edited", true, false, 1, 0, 0, 0, true, 0},
        {"edited long after we applied it", true, false, 1, 0, 0, 5000, true, 0},
        {"edited right after we applied it", true, false, 1, 0, 0, 4000, false, 1000},
        {"as the server makes it of what we apply", true, false, 1, 0, 1, 100, false, 0},
        {"as the server made it, and then edited", true, false, 2, 0, 1, 9000, true, 0},
        {"the spec changed right after we applied it", true, false, 1, 1, 1, 100, true, 0},
        {"going away", true, true, 1, 0, 0, 0, false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("service %s", cases[i].id);
        struct scene s = {.hosts = 1, .max = 1};
        struct cluster_view v;
        struct plan p;
        read_cluster(&s);
        scene_view(&s, NULL, &v);
        uint64_t want = s.own[RAY_SERVICE_HEAD].hash;
        s.own[RAY_SERVICE_HEAD].hash += (uint64_t)cases[i].have;
        s.own[RAY_SERVICE_HEAD].deleting = cases[i].deleting;
        s.own[RAY_SERVICE_HEAD].wanted = cases[i].ago_ms ? want + (uint64_t)cases[i].wanted : 0;
        s.own[RAY_SERVICE_HEAD].became = cases[i].ago_ms ? want + (uint64_t)cases[i].became : 0;
        s.own[RAY_SERVICE_HEAD].applied_ms = cases[i].ago_ms ? NOW_MS - cases[i].ago_ms : 0;
        if (!cases[i].there)
            v.own[RAY_SERVICE_HEAD] = NULL;
        if (!cases[i].there && !cases[i].applies)
            v.services_from_ms[0] = NOW_MS + cases[i].again_ms;
        raycluster_decide(&v, &s.a, &p);
        CHECK_INT(p.actions[0].verb == &raycluster_apply_head_service, cases[i].applies); /* before the pods that need it */
        CHECK_INT(p.next_ms == TIME_NEVER ? 0 : p.next_ms - NOW_MS, cases[i].again_ms);
        arena_free(&s.a);
    }
}

/* Services that cannot become what is wanted, and those that an earlier spec asked for. */
static void test_deleted_services(void)
{
    static const struct {
        const char *id, *ip, *other; /* the head service's address; the name of another service, "": there is none */
        bool there, other_ours, deleting;
        const char *deleted; /* uid; "": none */
    } cases[] = {
        {"headless as wanted", "None", "", true, false, false, ""},
        {"with an address, and headless is wanted", "10.0.0.1", "", true, false, false, "su"},
        {"that, and it goes already", "10.0.0.1", "", true, false, true, ""},
        {"of no address at all", "", "", true, false, false, ""},
        {"one more of ours", "None", "old", true, true, false, "ou"},
        {"one more of somebody else's", "None", "old", true, false, false, ""},
        {"one more of ours, and the wanted one is not there", "None", "old", false, true, false, ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("service %s", cases[i].id);
        struct scene s = {.hosts = 1, .max = 1};
        struct cluster_view v;
        struct plan p;
        read_cluster(&s);
        scene_view(&s, NULL, &v);
        struct slice name = ray_head_service_name(&s.cluster, &s.a);
        slice_copy(name, s.own[RAY_SERVICE_HEAD].name, sizeof s.own[RAY_SERVICE_HEAD].name);
        slice_copy(slice_of(cases[i].ip), s.own[RAY_SERVICE_HEAD].ip, sizeof s.own[RAY_SERVICE_HEAD].ip);
        s.own[RAY_SERVICE_HEAD].ours = true;
        s.own[RAY_SERVICE_HEAD].deleting = cases[i].deleting;
        struct service other = {.uid = "ou", .ip = "None", .ours = cases[i].other_ours};
        slice_copy(slice_of(cases[i].other), other.name, sizeof other.name);
        const struct service *all[] = {&s.own[RAY_SERVICE_HEAD], &other};
        v.own[RAY_SERVICE_HEAD] = cases[i].there ? &s.own[RAY_SERVICE_HEAD] : NULL;
        v.services = cases[i].there ? all : all + 1;
        v.service_count = (uint32_t)cases[i].there + (other.name[0] != '\0');
        raycluster_decide(&v, &s.a, &p);
        struct slice deleted = SLICE("");
        for (uint32_t k = 0; k < p.count; k++)
            if (p.actions[k].verb == &kservice_delete)
                deleted = p.actions[k].uid;
        CHECK_SLICE(deleted, slice_of(cases[i].deleted));
        arena_free(&s.a);
    }
}

/* At the limit and one past it: what has no room comes with the next plan. */
static void test_limit(void)
{
    for (int32_t workers = PLAN_ACTIONS - 1; workers <= PLAN_ACTIONS + 1; workers++) {
        test_case("%d workers", workers);
        struct scene s = {.hosts = 1, .max = INT32_MAX, .workers = workers};
        const struct pod *pods[PODS_MAX];
        struct cluster_view v;
        struct plan p;
        read_pod(&s, SLICE("head 0 ready"));
        read_cluster(&s);
        scene_view(&s, pods, &v);
        raycluster_decide(&v, &s.a, &p);
        CHECK_INT(p.count, workers < PLAN_ACTIONS ? workers : PLAN_ACTIONS);
        CHECK_INT(p.actions[p.count - 1].index, p.count - 1);
        arena_free(&s.a);
    }
}

int main(void)
{
    test_services();
    test_deleted_services();
    test_limit();
    run_cases("tests/kinds/raycluster/decide.case", run_case);
    run_cases("tests/kinds/raycluster/roll.case", run_case);
    return test_done();
}
