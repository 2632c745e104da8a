/* The record of a session in Cloud.status, as watches and answers show it. */
#include "private.h"

void session_read(const struct hub *h, struct cloud *c, struct jval status, struct arena *a)
{
    struct jval s = json_get(status, "session");
    struct session *to = &c->session, before = *to;
    struct slice url = json_get_str(s, "url", a);
    *to = (struct session){.renewals = json_get_int(s, "renewals", 0)};
    time_parse(json_get_str(s, "since", a), &to->since_us, NULL);
    slice_copy(json_get_str(status, "lastContactTime", a), to->last, sizeof to->last);
    if (!slice_copy(json_get_str(s, "instance", a), to->instance, sizeof to->instance) ||
        !slice_copy(json_get_str(s, "lease", a), to->lease, sizeof to->lease))
        to->instance[0] = to->lease[0] = '\0'; /* no control plane has written it */
    if (!slice_copy(url, to->url, sizeof to->url))
        to->url[0] = '\0';
    to->here = slice_eq(json_get_str(s, "replica", a), h->o.replica) && slice_eq(url, h->o.url);
    to->hash = json_there(s) ? hub_hash(s) | 1 : 0;
    to->seen_ms = to->hash == before.hash ? before.seen_ms : h->now.mono_ms;
    to->wrote_ms = strcmp(to->instance, before.instance) == 0 ? before.wrote_ms : 0;
}

bool session_silent(const struct hub *h, const struct cloud *c)
{
    return h->now.mono_ms - c->session.seen_ms >= HUB_SESSION_MS;
}

int64_t session_sure_ms(const struct cloud *c)
{
    return c->session.wrote_ms + HUB_SURE_MS;
}
