#include <mobula/base.h>

#include <errno.h>
#include <sys/random.h>

void random_bytes(void *out, size_t n)
{
    char *p = out;
    while (n > 0) {
        ssize_t got = getrandom(p, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            fatal("the system gives no random bytes (getrandom: errno %d)", errno);
        p += got;
        n -= (size_t)got;
    }
}

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

/* splitmix64: spreads a seed, however plain, over the whole state, and never leaves it all zero. */
void rng_seed(struct rng *r, uint64_t seed)
{
    for (size_t i = 0; i < COUNT_OF(r->s); i++) {
        seed += 0x9e3779b97f4a7c15;
        uint64_t z = seed;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        r->s[i] = z ^ z >> 31;
    }
}

void rng_seed_system(struct rng *r)
{
    uint64_t seed;
    random_bytes(&seed, sizeof seed);
    rng_seed(r, seed);
}

/* xoshiro256** (Blackman, Vigna). */
uint64_t rng_next(struct rng *r)
{
    uint64_t *s = r->s;
    uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    if (n == 0)
        fatal("rng_below: nothing is below 0");
    uint64_t uneven = -n % n; /* 2^64 mod n: so many draws at the low end would make the rest unequal */
    uint64_t draw;
    do
        draw = rng_next(r);
    while (draw < uneven);
    return draw % n;
}

int64_t backoff_ms(struct rng *r, unsigned failures, int64_t first_ms, int64_t max_ms)
{
    int64_t cap = first_ms < max_ms ? first_ms : max_ms;
    for (; failures > 0 && cap < max_ms; failures--)
        cap = cap > max_ms / 2 ? max_ms : cap * 2;
    if (cap <= 0)
        return 0;
    int64_t least = cap - cap / 2;
    return least + (int64_t)rng_below(r, (uint64_t)(cap - least) + 1);
}

bool rate_pays(int64_t *full_ms, int64_t every_ms, int64_t burst, struct now now)
{
    int64_t at = *full_ms > now.mono_ms ? *full_ms : now.mono_ms;
    if (at - now.mono_ms > burst * every_ms)
        return false;
    *full_ms = at + every_ms;
    return true;
}
