/* Clusters of the new kind with authOptions, in half of the seeds that scale, and those of jobs in half of the seeds that have some: their
 * heads answer nobody who does not bring what their Secret held when their container began. Some Secrets are the operator's, some a user's.
 * Users put other tokens into them, and sooner or later see to it that the heads have these too. What a Secret holds, or has held, stands
 * in Secrets, and nowhere else. */
#include "jobs.h"

#define USERS_SECRET "mine"
#define USERS_TOKEN "sim-users-token-71c05be86d3f92"

enum { SIM_TOKEN_MAX = 128, CHANGE_MS = 12 * 1000, RESTART_MS = 3000 };

/* How heads come to what their Secret holds: their pods are made again, their containers begin again, or it is told to them, who take
 * either until then. */
enum change { CHANGE_POD, CHANGE_CONTAINER, CHANGE_TOLD, CHANGES };

/* That a Secret holds, or has held. */
struct token {
    struct token *next;
    char ns[16], secret[64], text[SIM_TOKEN_MAX];
    enum change change;
    int64_t due_ms; /* when heads come to it; 0: as they begin again */
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
        buf_put(b, c->token == TOKEN_USERS ? SLICE(TOKENS_OPTIONS(",\"secretName\":\"" USERS_SECRET "\"")) : SLICE(TOKENS_OPTIONS("")));
}

/* That it asks for what is in it; NULL: for none. */
static const char *secret_of(const struct sim *s, const struct fakeray *h)
{
    if (strcmp(h->kind, "ray.io") != 0)
        return NULL;
    for (const struct want *c = s->want; c < s->want + SIM_CLUSTERS; c++)
        if (c->kind == RAY_V1 && strcmp(c->ns, h->ns) == 0 && strcmp(c->name, h->cluster) == 0)
            return c->token == TOKEN_NONE ? NULL : c->token == TOKEN_USERS ? USERS_SECRET : c->name;
    return s->plan->setup.job_tokens ? h->cluster : NULL;
}

static bool is_of(const struct token *t, const char *ns, const char *secret)
{
    return strcmp(t->ns, ns) == 0 && strcmp(t->secret, secret) == 0;
}

/* The last that it held, as a container that begins now is given it. */
static const struct token *token_of(const struct sim *s, const struct fakeray *h)
{
    const char *secret = secret_of(s, h);
    const struct token *t = secret ? s->tokens : NULL;
    while (t && !is_of(t, h->ns, secret))
        t = t->next;
    return t;
}

static void give(const struct sim *s, struct fakeray *h)
{
    const struct token *t = token_of(s, h);
    h->fake.token = t ? t->text : NULL;
    h->fake.also = NULL;
}

static void head_began(struct fakeray *h)
{
    give((struct sim *)((char *)h->world - offsetof(struct sim, w)), h);
}

void tokens_begin(struct sim *s)
{
    if (s->plan->setup.tokens || s->plan->setup.job_tokens)
        s->w.rays->began = head_began;
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

/* Of the pods of this owner. */
static struct fakeray *ray_of(struct sim *s, const char *uid)
{
    for (const struct want *c = s->want; c < s->want + SIM_CLUSTERS; c++)
        if (c->kind == RAY_V1 && c->there && strcmp(c->uid, uid) == 0)
            return fakeray_of(&s->w, "ray.io", c->ns, c->name);
    for (const struct seen_cluster *c = s->jobs ? s->jobs->clusters : NULL; c; c = c->next)
        if (c->job[0] && strcmp(c->uid, uid) == 0)
            return fakeray_of(&s->w, "ray.io", c->ns, c->name);
    return NULL;
}

static void head_made(struct sim *s, const struct seen_pod *p)
{
    struct fakeray *h = ray_of(s, p->owner);
    if (!h)
        return;
    give(s, h);
    if (secret_of(s, h) && !h->fake.token)
        sim_violation(s, "no head without its token", "%s/%s has no Secret yet", h->ns, h->cluster);
}

/* After pods_changed. */
void tokens_changed(struct sim *s, const struct apiserver_change *c)
{
    if (!s->plan->setup.tokens && !s->plan->setup.job_tokens)
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

/* ---- another token ---- */

static bool is_old(const struct sim *s, const struct fakeray *h)
{
    const struct token *t = h->pod[0] && !h->down && h->fake.token ? token_of(s, h) : NULL;
    return t && strcmp(t->text, h->fake.token) != 0;
}

/* Any head that asks for one. */
static struct fakeray *pick(const struct sim *s, uint32_t dice)
{
    uint32_t count = 0;
    for (const struct fakeray *h = s->w.rays->first; h; h = h->next)
        count += h->pod[0] && token_of(s, h);
    uint32_t left = count ? dice % count : 0;
    for (struct fakeray *h = count ? s->w.rays->first : NULL; h; h = h->next)
        if (h->pod[0] && token_of(s, h) && left-- == 0)
            return h;
    return NULL;
}

void tokens_apply(struct sim *s, const struct sim_entry *e)
{
    struct fakeray *h = s->w.rays ? pick(s, e->dice[0]) : NULL;
    if (!h)
        return;
    const char *secret = secret_of(s, h), *ns = h->ns;
    struct slice path = arena_printf(&s->w.arena, "/api/v1/namespaces/%s/secrets/%s", ns, secret);
    struct slice body = arena_printf(&s->w.arena, "{\"stringData\":{\"auth_token\":\"sim-other-token-%08x%08x\"}}", e->dice[1], e->dice[2]);
    sim_say(s, "of Secret %s/%s", ns, secret);
    if (world_call(&s->w, "PATCH", path.ptr, "application/merge-patch+json", body) != 200)
        return; /* it has gone with its cluster, whose head goes too */
    s->tokens->change = (enum change)(e->dice[1] % CHANGES);
    s->tokens->due_ms = sim_now(s) + 1 + e->dice[2] % CHANGE_MS;
    for (h = s->w.rays->first; h && s->tokens->change == CHANGE_TOLD; h = h->next)
        if (is_old(s, h) && token_of(s, h) == s->tokens)
            h->fake.also = s->tokens->text;
}

static struct seen_pod *head_pod(const struct sim *s, const struct fakeray *h)
{
    struct seen_pod *p = s->pods;
    while (p && strcmp(p->uid, h->pod) != 0)
        p = p->next;
    return p;
}

static void change(struct sim *s, struct fakeray *h, enum change how)
{
    struct seen_pod *p = head_pod(s, h);
    if (how == CHANGE_TOLD)
        give(s, h);
    else if (p && how == CHANGE_CONTAINER)
        troubles_restart(s, p, (int64_t)(hash64(slice_of(p->ns), s->plan->seed) % RESTART_MS));
    else if (p)
        world_call(&s->w, "DELETE", arena_printf(&s->w.arena, "/api/v1/namespaces/%s/pods/%s", p->ns, p->name).ptr, "application/json",
                   SLICE("{}"));
}

void tokens_tick(struct sim *s)
{
    for (struct token *t = s->tokens; t; t = t->next) {
        if (!t->due_ms || sim_now(s) < t->due_ms)
            continue;
        sim_say(s, "move: heads come to what Secret %s/%s holds", t->ns, t->secret);
        t->due_ms = 0;
        for (struct fakeray *h = s->w.rays->first; h; h = h->next)
            if (is_old(s, h) && is_of(t, h->ns, secret_of(s, h)))
                change(s, h, t->change);
    }
}

int64_t tokens_next(const struct sim *s)
{
    int64_t next = TIME_NEVER;
    for (const struct token *t = s->tokens; t; t = t->next)
        next = t->due_ms && t->due_ms < next ? t->due_ms : next;
    return next;
}

/* Some are still to come to it, and some containers were not well enough to begin again. */
void tokens_calm(struct sim *s)
{
    for (struct token *t = s->tokens; t; t = t->next)
        t->due_ms = 0;
    for (struct fakeray *h = s->tokens ? s->w.rays->first : NULL; h; h = h->next)
        if (is_old(s, h))
            change(s, h, CHANGE_POD);
}

void tokens_end(struct sim *s)
{
    for (struct token *t = s->tokens, *next; t; t = next) {
        next = t->next;
        mem_free(t);
    }
    s->tokens = NULL;
}
