/* Status patches, from tests/kinds/raycluster/status.case. */
#include "scene.h"

/* What the plan does about status: the patch's status, or not there. */
static struct jval patch_of(struct scene *s, const struct plan *p, struct json *doc)
{
    struct err e = {0};
    for (uint32_t i = 0; i < p->count; i++)
        if (p->actions[i].verb == &verb_status && CHECK(json_parse(doc, p->actions[i].text, &s->a, &e))) {
            CHECK(json_str_eq(json_get(json_root(doc), "metadata.uid"), s->cluster.uid)); /* of this very object */
            return json_get(json_root(doc), "status");
        }
    return (struct jval){.at = -1};
}

/* One of the patch's conditions covers this. */
static bool has_condition(struct jval status, struct jval want, struct arena *a)
{
    struct jval k, c;
    for (struct jiter it = json_iter(json_get(status, "conditions")); json_next(&it, &k, &c);)
        if (slice_eq(json_get_str(c, "type", a), json_get_str(want, "type", a)))
            return json_covers(c, want);
    return false;
}

static bool has_event(const struct plan *p, struct slice reason)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->actions[i].verb == &verb_event && slice_eq(slice_of(p->actions[i].why), reason))
            return true;
    return false;
}

static void check_line(struct scene *s, struct slice line, const struct plan *p, struct jval status)
{
    struct slice rest = line, word = slice_cut(&rest, ' ');
    struct json want;
    struct err e = {0};
    int64_t ms = 0;
    bool ok = false;
    if (slice_eq(word, SLICE("has")))
        ok = json_parse(&want, rest, &s->a, &e) && json_there(status) && json_covers(status, json_root(&want));
    else if (slice_eq(word, SLICE("not")))
        ok = json_there(status) && !json_there(json_get(status, arena_dup(&s->a, rest).ptr));
    else if (slice_eq(word, SLICE("condition")))
        ok = json_parse(&want, rest, &s->a, &e) && has_condition(status, json_root(&want), &s->a);
    else if (slice_eq(word, SLICE("lacks")))
        ok = json_there(status) && !json_there(status_condition(status, rest));
    else if (slice_eq(word, SLICE("event")))
        ok = has_event(p, rest);
    else if (slice_eq(word, SLICE("silent")))
        ok = json_there(status) && !has_event(p, rest);
    else if (slice_eq(word, SLICE("again")))
        ok = slice_int(rest, &ms) && p->next_ms == NOW_MS + ms;
    else if (slice_eq(word, SLICE("nothing")))
        ok = !json_there(status);
    if (!CHECK(ok))
        printf("  line: %.*s\n  status: %.*s\n", SLICE_ARG(line), SLICE_ARG(json_there(status) ? json_raw(status) : SLICE("none")));
}

static void run_case(struct slice text)
{
    struct scene s = {.hosts = 1, .max = 1000};
    read_words(&s, slice_cut(&text, '\n'));
    read_pods(&s, &text);
    read_cluster(&s);
    const struct pod *pods[PODS_MAX];
    struct cluster_view v;
    struct plan p;
    struct json doc;
    scene_view(&s, pods, &v);
    raycluster_decide(&v, &s.a, &p);
    if (s.same) { /* what the server made of it is not what we sent */
        v.status_hash = p.status_hash;
        v.now.wall_us += INT64_C(3600000000);
        raycluster_decide(&v, &s.a, &p);
    }
    struct jval status = patch_of(&s, &p, &doc);
    for (text = slice_trim(text); text.ptr;)
        check_line(&s, slice_cut(&text, '\n'), &p, status);
    arena_free(&s.a);
}

int main(void)
{
    run_cases("tests/kinds/raycluster/status.case", run_case);
    return test_done();
}
