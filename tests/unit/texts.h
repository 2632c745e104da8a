/* Texts for the tests of compression: functions of the place of a byte. */
#ifndef MOBULA_TEST_TEXTS_H
#define MOBULA_TEST_TEXTS_H

#include "test.h"

static unsigned char text_zeros(size_t i, struct rng *r)
{
    (void)i;
    (void)r;
    return 0;
}

static unsigned char text_noise(size_t i, struct rng *r)
{
    (void)i;
    return (unsigned char)rng_next(r);
}

static unsigned char text_words(size_t i, struct rng *r)
{
    static const char text[] = "def main(self, argument): return self.value + argument\n";
    return (unsigned char)(rng_below(r, 20) ? (uint64_t)text[i % (sizeof text - 1)] : 'a' + rng_below(r, 26));
}

#endif
