/* Conditions of a Cloud: whether its operator calls, and whether what that has checked is well. An operator that has gone silent cannot say
 * so: the control plane does, once its session is over, with the time of the last call. */
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

static void write_silence(struct hub *h, struct cloud *c)
{
    char version[KUBE_VERSION_TEXT];
    struct jout w;
    struct slice last = slice_of(c->session.last);
    struct slice words = arena_printf(&h->event, "the operator is silent, see its log; its last call came at %.*s", SLICE_ARG(last));
    struct slice text = kube_version_format(c->version, version);
    buf_clear(&h->body);
    jout_init(&w, &h->body);
    jout_form(&w, "{metadata:{resourceVersion:'%.*s'},status:{health:'UNKNOWN'", SLICE_ARG(text));
    conditions_write(c, "Unknown", SLICE_NONE, words, h->now.wall_us, &w);
    jout_end(&w);
    jout_end(&w);
    struct kube_request r = {.method = SLICE("PATCH"),
                             .path = hub_path(h, &hub_clouds, c->ns, c->name, SLICE("status")),
                             .content_type = SLICE(KUBE_TYPE_MERGE_PATCH),
                             .body = buf_slice(&h->body)};
    log_warn("the operator of a cloud is silent", LF_CSTR("cloud", c->key), LF_CSTR("instance", c->session.instance), LF("last", last));
    hub_ask(h, NULL, &r, NULL, NULL);
}

void silence_care(struct hub *h)
{
    struct cloud *c;
    for (uint32_t i = 0; (c = map_next(&h->clouds, &i)) != NULL;)
        if (c->present && !c->silent && c->session.hash && session_silent(h, c) && !c->calls)
            write_silence(h, c);
}
