/* Reads and checks the annotation for rolling updates of workers. */
#include "reader.h"

bool ray_roll_check(const struct ray_roll *roll, bool scaled, struct err *e)
{
    if (scaled && roll->unavailable == 0)
        return err_set(e, ERR_CONFIG,
                       "maxUnavailablePercent is 0: with enableInTreeAutoscaling the autoscaler sets the number of pods, "
                       "so there is no surge: set 1 to 100");
    return roll->surge + roll->unavailable > 0 ||
           err_set(e, ERR_CONFIG, "maxSurgePercent and maxUnavailablePercent are both 0: no pod could be replaced, raise one of them");
}

bool ray_roll_read(struct slice text, bool scaled, struct ray_roll *out, struct err *e)
{
    *out = (struct ray_roll){.on = true, .surge = RAY_ROLL_SURGE};
    do {
        struct slice value = slice_cut(&text, ','), key = slice_trim(slice_cut(&value, '='));
        int64_t n = -1;
        bool surge = slice_is(key, "maxSurgePercent");
        if ((!surge && !slice_is(key, "maxUnavailablePercent")) || !slice_int(slice_trim(value), &n) || n < 0 || n > 100)
            return err_set(e, ERR_CONFIG, "has \"%.*s\": want maxSurgePercent=N,maxUnavailablePercent=N, N from 0 to 100",
                           SLICE_ARG(slice_head(key, 60)));
        *(surge ? &out->surge : &out->unavailable) = (int32_t)n;
    } while (text.ptr);
    return ray_roll_check(out, scaled, e);
}

void read_roll(struct reader *r, const struct place *annotations, bool scaled, struct ray_cluster *c)
{
    const struct place *at = place_key(annotations, RAY_ANNOTATION_ROLL);
    struct err e = {0};
    if (!place_given(at) || c->kind != RAY_V1)
        return;
    if (!ray_roll_read(json_str(at->value, r->arena), scaled, &c->roll, &e))
        place_bad(r, at, "%s", e.text);
}
