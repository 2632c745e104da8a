/* An operator that has gone silent cannot report so: the control plane writes it to the Cloud's conditions once the session is over, with
 * the time of the last call. */
#include "private.h"

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
    struct kube_request r = cloud_patch(h, c);
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
