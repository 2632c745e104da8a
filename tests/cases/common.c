#include "cases.h"

#include <stdio.h>
#include <stdlib.h>

__attribute__((format(printf, 2, 0))) static struct slice format(struct arena *a, const char *fmt, va_list ap)
{
    char text[1000];
    vsnprintf(text, sizeof text, fmt, ap);
    return arena_dup(a, slice_of(text));
}

void kase_skip(struct kase *k, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (slice_empty(k->skip))
        k->skip = format(k->a, fmt, ap);
    va_end(ap);
}

void kase_wrong(struct kase *k, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (slice_empty(k->wrong))
        k->wrong = format(k->a, fmt, ap);
    va_end(ap);
}

void kase_known(struct kase *k, struct jval object, const char *what, const char *const *words)
{
    struct jval key, v;
    for (struct jiter it = json_iter(object); json_next(&it, &key, &v);) {
        const char *const *word = words;
        while (*word && !json_str_eq(key, slice_of(*word)))
            word++;
        if (!*word)
            kase_skip(k, "%s has \"%.*s\", which this program does not know", what, SLICE_ARG(json_str(key, k->a)));
    }
}

int64_t kase_int(struct jval object, const char *key, const char *other, int64_t otherwise)
{
    int64_t n = otherwise;
    if (!json_int(json_key(object, slice_of(key)), &n) && other)
        json_int(json_key(object, slice_of(other)), &n);
    return n;
}

static int by_name(const void *a, const void *b)
{
    return slice_cmp(((const struct ray_amount *)a)->name, ((const struct ray_amount *)b)->name);
}

struct ray_bundle kase_bundle(struct kase *k, struct jval shape)
{
    struct ray_amount *list = arena_array(k->a, json_len(shape), sizeof *list);
    struct ray_bundle b = {.list = list};
    struct jval key, v;
    for (struct jiter it = json_iter(shape); json_next(&it, &key, &v);) {
        double n = 0;
        if (!json_num(v, &n))
            kase_skip(k, "an amount is no number");
        if (n != 0)
            list[b.count++] = (struct ray_amount){json_str(key, k->a), (int64_t)(n * RAY_QUANTUM + 0.5)};
    }
    qsort(list, b.count, sizeof *list, by_name);
    return b;
}

void kase_learn(struct kase *k, struct ray_pack *p, struct jval list)
{
    struct jval key, v;
    for (struct jiter it = json_iter(list); json_next(&it, &key, &v);) {
        struct ray_bundle b = kase_bundle(k, json_key(v, SLICE("shape")));
        ray_pack_learn(p, &b);
    }
}

struct scale_wants kase_wants(struct kase *k, struct ray_pack *p, struct jval list)
{
    static const char *const words[] = {"shape", "count", NULL};
    struct scale_wants wants = {.list = arena_array(k->a, json_len(list), sizeof *wants.list)};
    struct jval key, v;
    for (struct jiter it = json_iter(list); json_next(&it, &key, &v);) {
        struct ray_request *r = arena_new(k->a, struct ray_request);
        kase_known(k, v, "a demand", words);
        r->bundle = kase_bundle(k, json_key(v, SLICE("shape")));
        wants.list[wants.count].count = kase_int(v, "count", NULL, 1);
        if (!ray_pack_shape(p, r, &wants.list[wants.count++].shape, NULL))
            kase_skip(k, "a demand that is out of range");
    }
    return wants;
}

bool kase_same_bundle(const struct ray_bundle *a, const struct ray_bundle *b)
{
    bool same = a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++)
        same = slice_eq(a->list[i].name, b->list[i].name) && a->list[i].amount == b->list[i].amount;
    return same;
}

static struct jval total_of(const struct kase *k, const char *name)
{
    return json_key(k->expected, arena_printf(k->a, "%s_count", name));
}

bool kase_expects(const struct kase *k, const char *name)
{
    return json_there(json_key(k->expected, slice_of(name))) || json_there(total_of(k, name));
}

void kase_check_total(struct kase *k, int64_t got, const char *what)
{
    int64_t want;
    if (json_int(total_of(k, what), &want) && want != got)
        kase_wrong(k, "%s: got %lld in all, want %lld", what, (long long)got, (long long)want);
}

void kase_check_left(struct kase *k, const struct ray_want *wants, uint32_t count, const char *what)
{
    struct jval want = json_key(k->expected, slice_of(what));
    int64_t all = 0, *left = arena_array(k->a, count, sizeof *left);
    for (uint32_t i = 0; i < count; i++)
        all += left[i] = wants[i].count;
    struct jval key, v;
    kase_check_total(k, all, what);
    if (!json_there(want))
        return;
    for (struct jiter it = json_iter(want); json_next(&it, &key, &v);) {
        bool counted = json_there(json_key(v, SLICE("shape")));
        struct ray_bundle b = kase_bundle(k, counted ? json_key(v, SLICE("shape")) : v);
        int64_t n = kase_int(v, "count", NULL, 1);
        for (uint32_t i = 0; i < count; i++)
            if (kase_same_bundle(&wants[i].shape.request->bundle, &b)) {
                int64_t here = left[i] < n ? left[i] : n;
                left[i] -= here;
                n -= here;
            }
        if (n != 0)
            kase_wrong(k, "%s lacks %lld x %.*s", what, (long long)n, SLICE_ARG(scale_bundle_text(&b, k->a)));
    }
    for (uint32_t i = 0; i < count; i++)
        if (left[i] != 0)
            kase_wrong(k, "%s has %lld x %.*s too many", what, (long long)left[i],
                       SLICE_ARG(scale_bundle_text(&wants[i].shape.request->bundle, k->a)));
}

void kase_check_counts(struct kase *k, const struct kase_count *got, uint32_t count, const char *what)
{
    struct jval want = json_key(k->expected, slice_of(what)), key, v;
    int64_t all = 0;
    for (uint32_t i = 0; i < count; i++)
        all += got[i].count;
    kase_check_total(k, all, what);
    if (!json_there(want) && kase_expects(k, what))
        return;
    for (uint32_t i = 0; i < count; i++) {
        int64_t n = 0;
        json_int(json_key(want, got[i].name), &n);
        if (n != got[i].count)
            kase_wrong(k, "%s %.*s: got %lld, want %lld", what, SLICE_ARG(got[i].name), (long long)got[i].count, (long long)n);
    }
    for (struct jiter it = json_iter(want); json_next(&it, &key, &v);) {
        bool there = false;
        for (uint32_t i = 0; i < count; i++)
            there |= json_str_eq(key, got[i].name);
        if (!there)
            kase_wrong(k, "%s lacks %.*s", what, SLICE_ARG(json_str(key, k->a)));
    }
}

static bool near(double a, double b)
{
    return a - b < 1e-9 && b - a < 1e-9;
}

static void check_first(struct kase *k, bool fits, const struct ray_score *got, struct jval want)
{
    int64_t matching = -1;
    bool ok = json_type(want) == JSON_BOOL ? got->gpu_ok == json_bool(want, false) : json_int(want, &matching) && got->matching == matching;
    if (!fits || !ok)
        kase_wrong(k, "the first part of the score differs");
}

void check_score(struct kase *k, bool fits, const struct ray_score *got)
{
    struct jval want = json_key(k->expected, SLICE("score")), first = json_key(k->expected, SLICE("score_first"));
    if (json_there(first)) {
        check_first(k, fits, got, first);
        return;
    }
    double least = 0, mean = 0;
    size_t n = json_len(want), from = n == 4; /* an older tuple has no gpu_ok, and its notes say so */
    if (json_type(want) != JSON_ARRAY) {
        if (fits)
            kase_wrong(k, "has a score, want none");
        return;
    }
    if (n != 3 && n != 4) {
        kase_skip(k, "a score of %zu parts", n);
        return;
    }
    int64_t matching = -1;
    json_int(json_at(want, from), &matching);
    json_num(json_at(want, from + 1), &least);
    json_num(json_at(want, from + 2), &mean);
    bool gpu_ok = n == 3 || json_bool(json_at(want, 0), false);
    if (!fits || (n == 4 && got->gpu_ok != gpu_ok) || got->matching != matching || !near(got->least, least) || !near(got->mean, mean))
        kase_wrong(k, "fits %d, score %d %u %g %g, want %d %lld %g %g", fits, got->gpu_ok, got->matching, got->least, got->mean, gpu_ok,
                   (long long)matching, least, mean);
}
