/* Clusters of the new kind with authOptions, in half of the seeds that scale: their heads answer nobody who does not bring what their
 * Secret held when they were made. Some Secrets are the operator's, some a user's. What they hold stands in Secrets, and nowhere else. */
#include "fakeray.h"
#include "sim.h"

#define USERS_SECRET "mine"
#define USERS_TOKEN "sim-users-token-71c05be86d3f92"

enum { SIM_TOKEN_MAX = 128 };

/* That a Secret holds, or has held. */
struct token {
    struct token *next;
    char ns[16], secret[64], text[SIM_TOKEN_MAX];
};

void tokens_create(struct sim *s, const struct want *c)
{
    if (c->token != TOKEN_USERS)
        return;
    struct slice path = arena_printf(&s->w.arena, "/api/v1/namespaces/%s/secrets", c->ns);
    world_call(&s->w, "POST", path.ptr, "application/json",
               SLICE("{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"" USERS_SECRET
                     "\"},\"stringData\":{\"auth_token\":\"" USERS_TOKEN "\"}}"));
}

void tokens_write(struct buf *b, const struct want *c)
{
    if (c->token != TOKEN_NONE)
        buf_printf(b, "\"rayVersion\":\"2.60.0\",\"authOptions\":{\"mode\":\"token\"%s},",
                   c->token == TOKEN_USERS ? ",\"secretName\":\"" USERS_SECRET "\"" : "");
}

/* The last that it held, as a container that begins now is given it. */
static const struct token *token_of(const struct sim *s, const struct want *c)
{
    const char *secret = c->token == TOKEN_USERS ? USERS_SECRET : c->name;
    const struct token *t = s->tokens;
    while (t && !(strcmp(t->ns, c->ns) == 0 && strcmp(t->secret, secret) == 0))
        t = t->next;
    return t;
}

static void secret_changed(struct sim *s, const struct apiserver_change *c)
{
    struct buf text;
    struct slice token;
    struct err e = {0};
    if (c->what == APISERVER_DELETED)
        return;
    buf_init(&text, LIMIT_KUBE_TOKEN);
    if (!ray_auth_read(c->json, &text, &token, &s->arena, &e) || token.len >= SIM_TOKEN_MAX)
        fatal("sim: Secret %.*s holds no token", SLICE_ARG(c->name));
    struct token *t = mem_alloc(sizeof *t);
    *t = (struct token){.next = s->tokens};
    slice_copy(c->ns, t->ns, sizeof t->ns);
    slice_copy(c->name, t->secret, sizeof t->secret);
    slice_copy(token, t->text, sizeof t->text);
    s->tokens = t;
    buf_free(&text);
}

static void head_made(struct sim *s, const struct seen_pod *p)
{
    for (const struct want *c = s->want; c < s->want + SIM_CLUSTERS; c++)
        if (c->kind == RAY_V1 && c->there && strcmp(c->uid, p->owner) == 0) {
            const struct token *t = c->token == TOKEN_NONE ? NULL : token_of(s, c);
            fakeray_of(&s->w, "ray.io", c->ns, c->name)->fake.token = t ? t->text : NULL;
            if (c->token != TOKEN_NONE && !t)
                sim_violation(s, "no head without its token", "%s/%s has no Secret yet", c->ns, c->name);
        }
}

/* After pods_changed. */
void tokens_changed(struct sim *s, const struct apiserver_change *c)
{
    if (!s->plan->setup.tokens)
        return;
    if (slice_eq(c->plural, SLICE("secrets"))) {
        secret_changed(s, c);
        return;
    }
    const struct seen_pod *p = slice_eq(c->plural, SLICE("pods")) ? pods_find(s, c->ns, c->name) : NULL;
    if (p && p->head && c->what == APISERVER_ADDED)
        head_made(s, p);
    tokens_look(s, c->json, c->plural);
}

void tokens_look(struct sim *s, struct slice text, struct slice where)
{
    for (const struct token *t = s->tokens; t && text.len; t = t->next)
        if (memmem(text.ptr, text.len, t->text, strlen(t->text)))
            sim_violation(s, "no secret", "the token of Secret %s/%s is in %.*s", t->ns, t->secret, SLICE_ARG(where));
}

void tokens_end(struct sim *s)
{
    for (struct token *t = s->tokens, *next; t; t = next) {
        next = t->next;
        mem_free(t);
    }
    s->tokens = NULL;
}
