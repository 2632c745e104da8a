/* What one user, one operator or one pod may send to a control plane, and what others have of it. */
#include "hubworld.h"

#include <mobula/remote.h>

#include <stdio.h>

/* The answer as its operator reads it. */
static bool is_readable(struct hubworld *h)
{
    struct remote_answer a;
    struct err e = {0};
    bool ok = h->status == 200 && remote_read(h->doc.text, &h->w.arena, &a, &e) && a.bad == 0;
    if (!ok)
        printf("  %d: %zu bytes: %s\n", h->status, h->doc.text.len, e.text);
    return ok;
}

/* count times one piece, between two texts. */
static const char *repeated(struct hubworld *h, const char *before, const char *piece, size_t count, const char *after)
{
    struct buf b;
    buf_init(&b, 4 * MIB);
    buf_put(&b, slice_of(before));
    for (size_t i = 0; i < count; i++)
        buf_put(&b, slice_of(piece));
    buf_put(&b, slice_of(after));
    const char *text = arena_dup(&h->w.arena, buf_slice(&b)).ptr;
    buf_free(&b);
    return text;
}

static const char *nested(struct hubworld *h, size_t depth)
{
    return repeated(h, "", "[", depth, repeated(h, "", "]", depth, ""));
}

static const char *inlined(struct hubworld *h, const char *value)
{
    return arena_printf(&h->w.arena, ",\"computeConfig\":{\"inline\":{\"head_node\":%s}}", value).ptr;
}

static struct slice state_of(struct hubworld *h, const char *name, const char *field_name)
{
    return field(h, "workloads", name, arena_printf(&h->w.arena, "status.%s", field_name).ptr);
}

/* Walks a full answer to its end. Returns how many workloads it had. */
static size_t read_all(struct client *c)
{
    struct hubworld *h = c->of;
    size_t count = 0;
    const char *from = "";
    for (int i = 0; i < 100; i++) {
        CHECK_INT(sync_ask(c, "edge", "one", from, ",\"wait\":0"), 200);
        if (!CHECK(is_readable(h)))
            break;
        count += workloads(h);
        from = revision(h);
        if (!json_get_bool(json_root(&h->doc), "more", false))
            break;
    }
    return count;
}

static void test_unfit(void)
{
    struct hubworld h;
    test_case("a workload that no operator could read is refused, and does not keep the others from theirs");
    start(&h);
    make_cloud(&h, "edge");
    make_job(&h, "train", "edge", "");
    make_job(&h, "still", "edge", inlined(&h, nested(&h, LIMIT_HUB_DEPTH - 3)));
    make_job(&h, "deep", "edge", inlined(&h, nested(&h, LIMIT_HUB_DEPTH - 2)));
    make_job(&h, "wide", "edge", inlined(&h, repeated(&h, "[0", ",0", 180 * 1000, "]")));
    make_job(&h, "long", "edge", inlined(&h, repeated(&h, "\"", "x", LIMIT_HUB_SPEC, "\"")));
    make(&h, "ComputeConfig", "computeconfigs", "large-v1", repeated(&h, "{\"x\":\"", "x", LIMIT_HUB_SPEC, "\"}"));
    make_job(&h, "config", "edge", ",\"computeConfig\":{\"name\":\"large\"}");
    run(&h, 11 * 1000);
    struct client *c = client_new(&h);
    CHECK_INT(read_all(c), 2);
    const char *const refused[] = {"deep", "wide", "long", "config"};
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        CHECK_STR(state_of(&h, refused[i], "state"), "REFUSED");
        CHECK_STR(state_of(&h, refused[i], "reason"), "SpecTooLarge");
    }
    CHECK_STR(state_of(&h, "train", "state"), "");
    CHECK_STR(state_of(&h, "still", "state"), "");
    finish(&h);
}

static void test_pages(void)
{
    struct hubworld h;
    test_case("large workloads come one to a page");
    start(&h);
    make_cloud(&h, "edge");
    for (int i = 0; i < 3; i++)
        make_job(&h, arena_printf(&h.w.arena, "large-%d", i).ptr, "edge", inlined(&h, repeated(&h, "\"", "x", 380 * KIB, "\"")));
    for (int i = 0; i < 3; i++)
        make_job(&h, arena_printf(&h.w.arena, "wide-%d", i).ptr, "edge", inlined(&h, repeated(&h, "[0", ",0", 95 * 1000, "]")));
    struct client *c = client_new(&h);
    CHECK_INT(read_all(c), 6);
    finish(&h);
}

static void test_many_deleted(void)
{
    enum { MANY = LIMIT_REMOTE_ITEMS + 10 };
    struct hubworld h;
    test_case("more workloads are deleted at once than an answer may have");
    start(&h);
    make_cloud(&h, "edge");
    make_job(&h, "first", "edge", "");
    struct client *c = client_new(&h);
    CHECK_INT(sync_ask(c, "edge", "one", "", ",\"wait\":0"), 200);
    const char *known = revision(&h);
    for (int i = 0; i < MANY; i++) {
        const char *name = arena_printf(&h.w.arena, "w%d", i).ptr;
        create_hub_object(&h.w, "Workload", "workloads", name, "{\"cloud\":\"edge\",\"job\":{\"entrypoint\":\"x\"}}");
    }
    run(&h, 60 * 1000);
    for (int i = 0; i < MANY; i++)
        world_call(&h.w, "DELETE", path_of(&h, "workloads", arena_printf(&h.w.arena, "w%d", i).ptr).ptr, "application/json", SLICE("{}"));
    run(&h, 10 * 1000);
    size_t count = 0;
    for (int i = 0; i < 10 && count < MANY; i++) {
        CHECK_INT(sync_ask(c, "edge", "one", known, ",\"wait\":0"), 200);
        if (!CHECK(is_readable(&h)))
            break;
        count += workloads(&h);
        known = revision(&h);
    }
    CHECK_INT(count, MANY);
    finish(&h);
}

/* A compute config is needed to begin, and not by what runs. */
static void test_config_gone(void)
{
    struct hubworld h;
    test_case("the compute config of what runs is deleted, and the hub starts anew: the workload stays in a full answer, its status too");
    start(&h);
    make_cloud(&h, "edge");
    make(&h, "ComputeConfig", "computeconfigs", "small-v1", "{\"head_node\":{}}");
    make_job(&h, "train", "edge", ",\"computeConfig\":{\"name\":\"small\"}");
    make_job(&h, "done", "edge", ",\"computeConfig\":{\"name\":\"small\"}");
    struct client *c = client_new(&h);
    CHECK_INT(sync_ask(c, "edge", "one", "", ",\"wait\":0"), 200);
    CHECK_INT(workloads(&h), 2);
    struct slice train = json_get_str(object_of(&h, "workloads", "train"), "metadata.uid", &h.w.arena),
                 done = json_get_str(object_of(&h, "workloads", "done"), "metadata.uid", &h.w.arena);
    CHECK_INT(sync_ask(c, "edge", "one", revision(&h),
                       arena_printf(&h.w.arena,
                                    ",\"wait\":0,\"statuses\":[{\"uid\":\"%.*s\",\"generation\":1,\"state\":\"RUNNING\"},{\"uid\":\"%.*s\","
                                    "\"generation\":1,\"state\":\"SUCCEEDED\"}]",
                                    SLICE_ARG(train), SLICE_ARG(done))
                           .ptr),
              200);
    CHECK_INT(world_call(&h.w, "DELETE", path_of(&h, "computeconfigs", "small-v1").ptr, "application/json", SLICE("{}")), 200);
    run(&h, 1000);
    hub_down(&h);
    hub_up(&h);
    run(&h, 30 * 1000);
    c = client_new(&h);
    CHECK_INT(sync_ask(c, "edge", "one", "", ",\"wait\":0"), 200);
    CHECK(json_get_bool(json_root(&h.doc), "full", false) && is_readable(&h));
    CHECK_INT(workloads(&h), 2);
    CHECK_STR(state_of(&h, "train", "state"), "RUNNING");
    CHECK_STR(state_of(&h, "done", "state"), "SUCCEEDED");
    test_case("… and can be ended");
    const char *known = revision(&h);
    CHECK_INT(world_call(&h.w, "PATCH", path_of(&h, "workloads", "train").ptr, "application/merge-patch+json",
                         SLICE("{\"spec\":{\"terminate\":true}}")),
              200);
    run(&h, 100);
    CHECK_INT(sync_ask(c, "edge", "one", known, ",\"wait\":0"), 200);
    CHECK_INT(workloads(&h), 1);
    CHECK(json_get_bool(workload_at(&h, 0), "spec.terminate", false));
    test_case("… and is stored again");
    make(&h, "ComputeConfig", "computeconfigs", "small-v1", "{\"head_node\":{}}");
    run(&h, 11 * 1000);
    CHECK_STR(state_of(&h, "done", "state"), "SUCCEEDED");
    finish(&h);
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    test_unfit();
    test_pages();
    test_many_deleted();
    test_config_gone();
    return test_done();
}
