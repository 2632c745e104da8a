/* Tells AddressSanitizer, where it is built in, which bytes of an arena or a slab nobody may touch now. */
#ifndef MOBULA_BASE_POISON_H
#define MOBULA_BASE_POISON_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BASE_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define BASE_ASAN
#endif

#ifdef BASE_ASAN
#include <sanitizer/asan_interface.h>
#endif

static inline void poison(void *p, size_t size)
{
#ifdef BASE_ASAN
    __asan_poison_memory_region(p, size);
#else
    (void)p;
    (void)size;
#endif
}

static inline void unpoison(void *p, size_t size)
{
#ifdef BASE_ASAN
    __asan_unpoison_memory_region(p, size);
#else
    (void)p;
    (void)size;
#endif
}

#endif
