#include <mobula/base.h>

#include "poison.h"

#include <stdlib.h>

/* A page is aligned to its own size, so that a record's address leads to its page. Pages stand in a ring: those with a free place
 * first, full ones last, so that the first page tells whether there is room. Places that were never used are not touched, because a
 * touched page of memory counts. */
enum {
    SLAB_PAGE = 64 * KIB,
    SLAB_ALIGN = 16,
    SLAB_LARGEST = SLAB_PAGE / 8,
};

struct slab_page {
    struct slab_page *next, *prev;
    void *free;     /* places given back, each holding the address of the next */
    uint32_t fresh; /* places never used begin at this index */
    uint32_t live;
    _Alignas(SLAB_ALIGN) char places[];
};

static size_t place_size(const struct slab *s)
{
    return (s->size + SLAB_ALIGN - 1) & ~(size_t)(SLAB_ALIGN - 1);
}

static uint32_t places(const struct slab *s)
{
    return (uint32_t)((SLAB_PAGE - sizeof(struct slab_page)) / place_size(s));
}

static void ring_cut(struct slab *s, struct slab_page *page)
{
    page->prev->next = page->next;
    page->next->prev = page->prev;
    if (s->pages == page)
        s->pages = page->next == page ? NULL : page->next;
}

/* Behind all others, which in a ring is also before the first. */
static void ring_append(struct slab *s, struct slab_page *page)
{
    struct slab_page *first = s->pages ? s->pages : page;
    page->next = first;
    page->prev = s->pages ? first->prev : page;
    page->prev->next = page;
    first->prev = page;
    s->pages = first;
}

static void ring_prepend(struct slab *s, struct slab_page *page)
{
    ring_append(s, page);
    s->pages = page;
}

static struct slab_page *page_new(struct slab *s)
{
    if (s->size == 0 || s->size > SLAB_LARGEST)
        fatal("a slab's records have %zu bytes: want 1 to %d", s->size, SLAB_LARGEST);
    struct slab_page *page = aligned_alloc(SLAB_PAGE, SLAB_PAGE);
    if (!page)
        fatal("out of memory for a slab");
    *page = (struct slab_page){0};
    poison(page->places, SLAB_PAGE - sizeof *page);
    ring_prepend(s, page);
    return page;
}

static void page_free(struct slab_page *page)
{
    unpoison(page, SLAB_PAGE);
    free(page);
}

void *slab_alloc(struct slab *s)
{
    struct slab_page *page = s->pages;
    if (!page || page->live == places(s))
        page = page_new(s);
    void *record = page->free;
    if (record) {
        unpoison(record, sizeof page->free);
        memcpy(&page->free, record, sizeof page->free);
        poison(record, sizeof page->free);
    } else {
        record = page->places + page->fresh++ * place_size(s);
    }
    unpoison(record, s->size);
    s->count++;
    if (++page->live == places(s)) {
        ring_cut(s, page);
        ring_append(s, page);
    }
    return memset(record, 0, s->size);
}

void slab_free(struct slab *s, void *record)
{
    if (!record)
        return;
    struct slab_page *page = (struct slab_page *)((uintptr_t)record & ~(uintptr_t)(SLAB_PAGE - 1));
    bool was_full = page->live == places(s);
    s->count--;
    if (--page->live == 0) {
        ring_cut(s, page);
        page_free(page);
        return;
    }
    unpoison(record, sizeof page->free);
    memcpy(record, &page->free, sizeof page->free);
    page->free = record;
    poison(record, place_size(s));
    if (was_full) {
        ring_cut(s, page);
        ring_prepend(s, page);
    }
}

void slab_destroy(struct slab *s)
{
    while (s->pages) {
        struct slab_page *page = s->pages;
        ring_cut(s, page);
        page_free(page);
    }
    s->count = 0;
}
