/* Status of any kind of resource: its conditions, and what a patch of it says that is new. */
#include <mobula/spec.h>

struct jval status_condition(struct jval status, struct slice type)
{
    return list_find(json_get(status, "conditions"), "type", type);
}

bool condition_is(struct jval status, const char *type, const char *word)
{
    return json_is(json_get(status_condition(status, slice_of(type)), "status"), word);
}

/* reason must be one word for the API server; what a kubelet reports may be anything. */
static bool is_reason(struct slice s)
{
    if (slice_empty(s) || s.len > 128)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (i && c >= '0' && c <= '9')))
            return false;
    }
    return true;
}

void status_write_condition(struct jout *w, const struct condition *c, struct jval prior, struct slice stamp, struct arena *a)
{
    struct slice status = c->yes ? SLICE("True") : SLICE("False");
    struct jval before = status_condition(prior, slice_of(c->type));
    struct slice since = json_get_str(before, "lastTransitionTime", a);
    if (slice_empty(since) || !json_str_eq(json_get(before, "status"), status))
        since = stamp;
    struct slice reason = is_reason(c->reason) ? c->reason : SLICE("Unknown");
    jout_form(w, "{type:'%s',status:'%.*s',reason:'%.*s',message:'%.*s',lastTransitionTime:'%.*s',observedGeneration:%lld}", c->type,
              SLICE_ARG(status), SLICE_ARG(reason), SLICE_ARG(c->message), SLICE_ARG(since), (long long)c->generation);
}

void status_put(struct jout *w, struct jval prior, const char *key, struct slice value)
{
    if (!slice_empty(value)) {
        jout_kstr(w, key, value);
    } else if (json_there(json_get(prior, key)) && json_type(json_get(prior, key)) != JSON_NULL) {
        jout_key(w, slice_of(key));
        jout_null(w);
    }
}

bool status_has(struct jval prior, struct jval next)
{
    struct jval k, v;
    for (struct jiter it = json_iter(next); json_next(&it, &k, &v);) {
        struct arena none = {0};
        struct jval have = json_key(prior, json_str(k, &none)); /* our own keys hold no escapes: nothing is allocated */
        if (json_type(v) == JSON_NULL ? json_there(have) && json_type(have) != JSON_NULL : !json_covers(have, v))
            return false;
    }
    return json_len(json_get(prior, "conditions")) == json_len(json_get(next, "conditions"));
}
