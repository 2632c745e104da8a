/* Compares what the product takes in place of the C library's functions with those. */
#include "../../../src/base/libc.h"
#include "../test.h"

struct item {
    int key, place;
    char filling[5];
};

static int by_key(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* Sorted by key, and items of the same key in the order in which they were. */
static void sorts(void)
{
    enum { MOST = 130 };
    struct item items[MOST];
    struct rng r;
    rng_seed(&r, 3);
    for (int count = 0; count <= MOST; count++)
        for (int keys = 1; keys <= 64; keys *= 4) {
            int sum = 0, wrong = 0;
            test_case("%d items of %d keys", count, keys);
            for (int i = 0; i < count; i++) {
                items[i] = (struct item){.key = (int)rng_below(&r, (uint64_t)keys), .place = i};
                sum += items[i].key;
            }
            libc_qsort(items, (size_t)count, sizeof *items, by_key);
            for (int i = 0; i < count; i++) {
                sum -= items[i].key;
                if (i)
                    wrong += items[i].key < items[i - 1].key || (items[i].key == items[i - 1].key && items[i].place <= items[i - 1].place);
            }
            CHECK_INT(wrong, 0);
            CHECK_INT(sum, 0);
        }
}

int main(void)
{
    sorts();
    return test_done();
}
