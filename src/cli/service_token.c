/* `mobula service token`: prints the bearer token of a service with `auth: token`, and asks for another one. */
#include "cli.h"
#include "service.h"

#include <mobula/kind_versioned.h>

static bool print_token(struct jval secret, struct arena *a, struct err *e)
{
    struct buf text;
    buf_init(&text, LIMIT_KUBE_TOKEN);
    bool well = kube_secret_data(secret, "token", false, &text, a, e) && buf_put(&text, SLICE("\n")) && cli_print(buf_slice(&text));
    buf_wipe(&text);
    return well;
}

/* Prints the token, if no rotation is waited for. */
static bool look(struct service_desk *d, bool *over, struct err *e)
{
    struct arena *a = d->seek.a;
    struct slice name = arena_printf(a, "%.*s" TOKEN_SUFFIX, SLICE_ARG(d->o.name));
    struct ask_answer answer;
    struct jval secret;
    uint64_t done = 0;
    if (!ask_get(&d->seek.ask, seek_path(&d->seek, &kube_secrets, name, SLICE_NONE), NULL, a, &answer, e))
        return false;
    if (answer.code != 200)
        return seek_refused(&answer, "the token cannot be read (mobula service status tells whether there is one)", e);
    bool well = json_read(&secret, answer.body, a, e);
    if (well) {
        struct slice note = json_str(json_child(json_get(secret, "metadata.annotations"), TOKEN_NOTE), a);
        ray_hash_parse(slice_cut(&note, ' '), &done);
        if (d->rotates && slice_empty(note))
            well = err_set(e, ERR_STATUS, "Secret %.*s is another client's: replace its key token there", SLICE_ARG(name));
        *over = !d->rotates || (done == d->rotates && !json_there(json_get(secret, "data.next")));
        if (well && *over)
            well = print_token(secret, a, e);
    }
    mem_wipe((char *)(uintptr_t)answer.body.ptr, answer.body.len);
    return well;
}

bool service_token(struct service_desk *d, struct err *e)
{
    char stamp[TIME_TEXT_MAX];
    bool over;
    if (!service_find_live(d, e))
        return false;
    if (!json_is(json_get(d->live, "spec.auth"), "token"))
        return err_set(e, ERR_STATUS, "requests to %.*s need no token: mobula service deploy %.*s --auth token", SLICE_ARG(d->o.name),
                       SLICE_ARG(d->o.name));
    if (!d->o.rotate)
        return look(d, &over, e);
    struct slice asked = time_format(clock_now().wall_us, stamp);
    struct slice body = arena_printf(d->seek.a, "{\"metadata\":{\"annotations\":{\"" VERSIONED_ROTATE "\":\"%.*s\"}}}", SLICE_ARG(asked));
    if (!service_send(d, ask_merge, seek_path(&d->seek, kind_versioned.resource, d->o.name, SLICE_NONE), body, e))
        return false;
    d->rotates = hash64(asked, 0);
    /* TOKEN_LEAD_MS after the edge's ConfigMap has it, and then with the next read of the Secret (TOKEN_LOOK_MS) */
    return d->o.wait ? service_wait(d, look, "rotation", e) : cli_print(SLICE("the next token is in use within 3 min\n"));
}
