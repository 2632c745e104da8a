/* Conditions of a Cloud: Connected, whether its operator calls; Healthy, whether all that the operator checks is well. */
#include "private.h"

static void write_condition(struct jout *w, struct cloud_condition *before, const char *type, const char *status, const char *reason,
                            struct slice message, int64_t now_us)
{
    char time[TIME_TEXT_MAX];
    bool same = before->since_us && strcmp(before->status, status) == 0;
    struct slice since = time_format(same ? before->since_us : now_us, time);
    jout_form(w, "{type:'%s',status:'%s',reason:'%s',message:'%.*s',lastTransitionTime:'%.*s'}", type, status, reason, SLICE_ARG(message),
              SLICE_ARG(since));
}

void conditions_write(struct cloud *c, const char *healthy, struct slice failed, struct slice silent, int64_t now_us, struct jout *w)
{
    bool calls = slice_empty(silent);
    const char *reason = !calls            ? "OperatorSilent"
                         : *healthy == 'F' ? "ComponentsFailed"
                         : *healthy == 'T' ? "NothingFailed"
                                           : "NotReported";
    jout_karray(w, "conditions");
    write_condition(w, &c->connected, "Connected", calls ? "True" : "False", calls ? "OperatorCalls" : "OperatorSilent",
                    calls ? SLICE("the operator calls") : silent, now_us);
    write_condition(w, &c->healthy, "Healthy", healthy, reason, calls ? failed : silent, now_us);
    jout_end(w);
}

void conditions_read(struct cloud *c, struct jval status, struct arena *a)
{
    struct jval key, one;
    c->connected = c->healthy = (struct cloud_condition){0};
    for (struct jiter it = json_iter(json_get(status, "conditions")); json_next(&it, &key, &one);) {
        bool healthy = json_is(json_get(one, "type"), "Healthy");
        struct cloud_condition *to = healthy ? &c->healthy : &c->connected;
        slice_copy(json_get_str(one, "status", a), to->status, sizeof to->status);
        time_parse(json_get_str(one, "lastTransitionTime", a), &to->since_us, NULL);
    }
    c->silent = strcmp(c->connected.status, "False") == 0;
}
