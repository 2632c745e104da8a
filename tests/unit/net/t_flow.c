/* Bytes of a plain link, and what of them stays behind. */
#include "src/net/flow.h"

#include "../test.h"

#include <malloc.h>
#include <stdlib.h>

/* ---- in the place of base's mem.c ---- */

static uint32_t given_back, unwiped;

void *mem_alloc(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    return p ? p : (fatal("out of memory for %zu bytes", size), NULL);
}

void *mem_resize(void *p, size_t size)
{
    p = realloc(p, size ? size : 1);
    return p ? p : (fatal("out of memory for %zu bytes", size), NULL);
}

void mem_free(void *p)
{
    const char *bytes = p;
    bool clean = true;
    for (size_t i = 0; p && i < malloc_usable_size(p); i++)
        clean &= bytes[i] == 0;
    given_back += p != NULL;
    unwiped += !clean;
    free(p);
}

void mem_wipe(void *p, size_t size)
{
    if (size)
        explicit_bzero(p, size);
}

/* ---- tests ---- */

static void put(struct flow *f, size_t n, char byte)
{
    size_t room;
    char *to = flow_room(f, &room);
    CHECK(room >= n);
    memset(to, byte, n);
    flow_wrote(f, n);
}

static void test_bytes(void)
{
    struct flow f = {0};
    size_t room;
    test_case("bytes come out as they went in, and what was used makes room");
    CHECK(slice_empty(flow_peek(&f)));
    CHECK_INT(flow_space(&f), NET_BUFFER);
    put(&f, NET_BUFFER - 1, 'a');
    put(&f, 1, 'b');
    CHECK_INT(flow_space(&f), 0);
    flow_room(&f, &room);
    CHECK_INT(room, 0);
    flow_used(&f, NET_BUFFER - 2);
    CHECK_SLICE(flow_peek(&f), SLICE("ab"));
    put(&f, 2, 'c');
    CHECK_SLICE(flow_peek(&f), SLICE("abcc"));
    flow_rest(&f);
    CHECK_SLICE(flow_peek(&f), SLICE("abcc"));
    flow_drop(&f);
    CHECK(slice_empty(flow_peek(&f)));
}

static void test_wiped(void)
{
    struct flow f = {0};
    test_case("memory is wiped before it is given back: of bytes that were used");
    given_back = unwiped = 0;
    put(&f, NET_BUFFER, 's');
    flow_used(&f, NET_BUFFER);
    flow_rest(&f);
    CHECK_INT(given_back, 0); /* kept for the next flow */
    flow_keep(0);
    CHECK_INT(given_back, 1);
    CHECK_INT(unwiped, 0);
    test_case("… and of such that were not");
    put(&f, 100, 's');
    flow_used(&f, 10);
    flow_drop(&f);
    flow_keep(0);
    CHECK_INT(given_back, 2);
    CHECK_INT(unwiped, 0);
    flow_drop(&f);
    flow_rest(&f);
    flow_keep(0);
    CHECK_INT(given_back, 2);
    test_case("a buffer of another size is not kept for the next flow");
    put(&f, 1, 's');
    flow_size = NET_BULK;
    flow_rest(&f);
    CHECK_INT(flow_space(&f), NET_BUFFER - 1);
    flow_drop(&f);
    CHECK_INT(given_back, 3);
    put(&f, NET_BULK, 's');
    CHECK_INT(flow_space(&f), 0);
    flow_size = NET_BUFFER;
    flow_drop(&f);
    CHECK_INT(given_back, 4);
    CHECK_INT(unwiped, 0);
    given_back = 2;
    test_case("no more buffers are kept than was said");
    struct flow many[FLOW_KEPT + 2] = {0};
    for (size_t i = 0; i < COUNT_OF(many); i++)
        put(&many[i], 1, 's');
    for (size_t i = 0; i < COUNT_OF(many); i++)
        flow_drop(&many[i]);
    CHECK_INT(given_back, 2 + COUNT_OF(many) - FLOW_KEPT);
    flow_keep(0);
    CHECK_INT(given_back, 2 + COUNT_OF(many));
    CHECK_INT(unwiped, 0);
}

int main(void)
{
    test_bytes();
    test_wiped();
    return test_done();
}
