/* Leader election against a server that says anything, in virtual time. The input is what the server sends on the newest connection; behind
 * a NUL stands what happens next, as in f_kube_watch. What must hold: the lease is never held for longer than its renew deadline after
 * the last request of ours was made, and while it is held, the holder is us. */
#include "tests/unit/kube/fakenet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RENEW_MS = 3000 };

struct rig {
    struct fake f;
    struct kube_lease *lease;
    int64_t asked_ms; /* when the last bytes left us */
};

static void check(struct rig *r)
{
    kube_lease_tick(r->lease, r->f.now);
    for (uint32_t i = 0; i < r->f.count; i++)
        if (r->f.links[i]->out.len) {
            r->asked_ms = r->f.now.mono_ms;
            buf_clear(&r->f.links[i]->out);
        }
    if (!kube_lease_held(r->lease, r->f.now))
        return;
    struct now late = {.mono_ms = r->asked_ms + RENEW_MS};
    if (kube_lease_held(r->lease, late) || !slice_eq(kube_lease_holder(r->lease), SLICE("me")))
        abort();
}

static void happen(struct rig *r, char what)
{
    struct fakelink *l = r->f.count ? fake_last(&r->f) : NULL;
    if (l && what == 'e')
        fake_end(l);
    else if (l && what == 'f')
        fake_fail(l, ERR_CLOSED, "reset");
    else
        fake_run(&r->f, what == 't' ? 1000 : 7000);
    check(r);
    fake_run(&r->f, 0);
    check(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct kube_lease_options o = {SLICE("n"), SLICE("mobula"), SLICE("me"), 5000, RENEW_MS, 1000};
    struct rig r = {.asked_ms = 0};
    struct err e = {0};
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    fake_init(&r.f);
    r.lease = kube_lease_start(r.f.client, &o, &e);
    happen(&r, 't');
    for (struct slice rest = {(const char *)data, size}; rest.ptr;) {
        struct slice said = slice_cut(&rest, '\0');
        if (r.f.count)
            fake_put(fake_last(&r.f), said);
        check(&r);
        happen(&r, rest.len ? rest.ptr[0] : 't');
        rest = rest.len ? slice_skip(rest, 1) : SLICE_NONE;
    }
    kube_lease_release(r.lease, r.f.now);
    if (kube_lease_held(r.lease, r.f.now))
        abort();
    kube_lease_free(r.lease);
    fake_free(&r.f);
    return 0;
}
