/* From a workload's spec to the object that runs it. */
#include "workload.h"

enum { PLACE_MAX = 512 };

/* The first error, with its place in the spec, and how many more there are. */
static struct slice first_of(const struct spec_errors *errors, struct arena *a)
{
    uint32_t more = spec_errors_count(errors) - 1;
    struct slice path = errors->list[0].path, text = errors->list[0].text;
    path = arena_cut(a, path, PLACE_MAX); /* it has names that the control plane has chosen */
    text = arena_cut(a, text, ERR_TEXT_MAX);
    if (more)
        return arena_printf(a, "%.*s: %.*s; %u more error%s", SLICE_ARG(path), SLICE_ARG(text), more, more == 1 ? "" : "s");
    return arena_printf(a, "%.*s: %.*s", SLICE_ARG(path), SLICE_ARG(text));
}

/* The last look before the write, at the object itself. */
static bool is_allowed(struct jval object, const struct work_policy *in_force, struct arena *a, struct workload_model *m,
                       struct spec_errors *refused)
{
    struct work_policy policy = *in_force;
    policy.frozen = false; /* it waits then, and is not refused */
    work_size(json_get(object, "spec"), policy.types, a, &m->size);
    return work_policy_check(&policy, object, a, refused, &m->rule);
}

/* Index in workload_forms; -1: such a workload becomes no object. */
static int32_t form_of_work(enum work_kind work)
{
    int32_t form = WORKLOAD_FORMS - 1;
    while (form >= 0 && workload_forms[form].work != work)
        form--;
    return form;
}

void workload_build(const struct record *c, struct jval spec, const struct work_options *o, const struct work_policy *policy,
                    struct arena *a, struct workload_model *out)
{
    struct workload_in in = {
        .uid = slice_of(c->uid), .project = istr_slice(c->ns), .name = slice_of(c->name), .generation = c->seen.generation, .spec = spec};
    struct spec_errors *errors = arena_new(a, struct spec_errors);
    struct work_made work;
    bool well = work_render(&in, o, a, &work, errors, NULL);
    *out = (struct workload_model){
        .form = -1, .terminate = work.terminate, .name = work.name, .object = work.object, .made = work.made, .folder = work.folder};
    if (!well) {
        out->reason = "InvalidSpec";
        out->message = first_of(errors, a);
        if (form_of_work(work.kind) < 0) {
            out->rule = WORK_RULE_KINDS;
            out->message = arena_printf(a, "rule kinds: %.*s", SLICE_ARG(out->message));
        }
    } else if (!work.terminate && !is_allowed(work.made, policy, a, out, errors)) {
        out->reason = "PolicyRefused";
        out->message = first_of(errors, a);
    } else if (!work.terminate) {
        out->form = form_of_work(work.kind);
    }
}

bool workload_write(const struct workload_model *m, struct slice uid, struct arena *a, struct buf *out, struct err *e)
{
    struct slice whole = m->object;
    if (!slice_empty(uid) && /* another object of this name is a conflict then */
        !json_merge_into(m->made, arena_printf(a, "{\"metadata\":{\"uid\":\"%.*s\"}}", SLICE_ARG(uid)), a, &whole, e))
        return false;
    return buf_put(out, whole);
}

int64_t workload_generation(struct jval meta, struct arena *a)
{
    int64_t n = 0;
    struct slice text = json_str(json_child(json_get(meta, "annotations"), WORK_ANNOTATION_GENERATION), a);
    return slice_int(text, &n) && n > 0 ? n : 0;
}
