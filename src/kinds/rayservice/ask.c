/* Decides the next request to a cluster's head, and whether the head pod is labelled to take Serve requests. */
#include "decide.h"

/* Whether the head has lost the configuration: an answer newer than our PUT lacks one of its applications, as after a restart of the head.
 */
static bool forgot(const struct service_decision *d, const struct service_cluster *c)
{
    for (uint32_t i = 0; i < d->s->app_count; i++) {
        bool there = false;
        for (uint32_t j = 0; j < c->said.app_count; j++)
            there |= slice_eq(c->said.apps[j].name, d->s->apps[i]);
        if (!there)
            return c->said.answered_ms > c->said.put_ms;
    }
    return false;
}

/* While a second cluster is made, the first one gets its applications again only if the configuration is still the one that it had: an
 * earlier one is not kept. */
static bool must_put(struct service_decision *d, const struct service_cluster *c)
{
    const struct serve_said *said = &c->said;
    bool given = rayservice_given(d, c) == d->s->config_hash, refused = said->refused_hash == d->s->config_hash;
    int64_t from_ms = refused ? said->refused_ms + SERVE_REFUSED_MS : said->put_ms ? said->put_ms + SERVE_TROUBLE_MS : 0;
    if (!(rayservice_wanted(d, c) || (given && d->s->config_hash)) || !said->known || (given && !forgot(d, c)))
        return false;
    if (d->in->now.mono_ms >= from_ms || (!refused && !given))
        return true;
    plan_look_again(d->p, from_ms);
    return false;
}

/* Whether the head is to have another target_capacity. One that it refused is sent again after a minute. */
static bool must_scale(struct service_decision *d, const struct service_cluster *c)
{
    int32_t goal = rayservice_goal(d, c);
    int64_t from_ms = c->said.refused_ms + SERVE_REFUSED_MS;
    if (!c->said.known || !rayservice_given(d, c) || goal == rayservice_capacity(d, c))
        return false;
    if (c->said.refused_hash != serve_scale_id(goal) || d->in->now.mono_ms >= from_ms)
        return true;
    plan_look_again(d->p, from_ms);
    return false;
}

static int64_t next_look_ms(const struct service_decision *d, const struct service_cluster *c)
{
    const struct serve_said *said = &c->said;
    int64_t pause_ms = SERVE_TROUBLE_MS;
    if (!said->failures && !said->known)
        return 0;
    int64_t last_ms = said->answered_ms > said->put_ms ? said->answered_ms : said->put_ms;
    if (!said->failures && d->due)
        return last_ms + SERVE_LOOK_MS;
    if (!said->failures)
        return said->answered_ms + (rayservice_runs(d, c, NULL) ? SERVE_CALM_MS : SERVE_LOOK_MS);
    for (uint32_t i = 1; i < said->failures && pause_ms < SERVE_TROUBLE_MAX_MS; i++)
        pause_ms *= 2;
    return said->failed_ms + (pause_ms < SERVE_TROUBLE_MAX_MS ? pause_ms : SERVE_TROUBLE_MAX_MS);
}

static void label_head(struct service_decision *d, const struct service_cluster *c)
{
    bool serves = !d->s->exclude_head && c->said.head_serves;
    if (!c->head || c->head->deleting || (!c->said.known && !d->s->exclude_head) || c->head->serves == serves)
        return;
    struct action *act = plan_add(d->p, &rayservice_label_head);
    act->name = slice_of(c->head->name);
    act->uid = slice_of(c->head->uid);
    act->index = serves;
}

void rayservice_ask(struct service_decision *d, const struct service_cluster *c)
{
    label_head(d, c);
    if (!c->head_ready || c->said.asking)
        return;
    int64_t next_ms = next_look_ms(d, c);
    bool later = d->in->now.mono_ms < next_ms;
    bool backs_off = later && c->said.failures;
    if (!backs_off && must_put(d, c)) {
        rayservice_add(d, &rayservice_put, c)->index = rayservice_in_steps(d) ? rayservice_capacity(d, c) : -1;
    } else if (!backs_off && must_scale(d, c)) {
        struct action *act = rayservice_add(d, &rayservice_scale, c);
        act->index = rayservice_goal(d, c);
        act->version = rayservice_given(d, c);
    } else if (later) {
        plan_look_again(d->p, next_ms);
    } else {
        rayservice_add(d, &rayservice_look, c);
    }
}
