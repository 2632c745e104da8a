/* Literals are three quarters of the program's constants, and a third of themselves when compressed. The build (Makefile: PACK) leaves the
 * section that holds them without bytes, and they are made here before main runs. Nothing that runs earlier has any: those of the
 * libraries are not among them. */
#include <mobula/base.h>

#include <sys/mman.h>
#include <unistd.h>

#ifdef MOBULA_PACKED

#define HIDDEN __attribute__((visibility("hidden")))
extern const char texts_packed[] HIDDEN, texts_packed_end[] HIDDEN; /* texts.s */
extern char texts_begin[] HIDDEN, texts_end[] HIDDEN;               /* texts.ld */
/* With literals alone the section could not be written. */
static char writable[0] __attribute__((section("texts"), used));

__attribute__((constructor)) static void unpack_texts(void)
{
    uintptr_t begin = (uintptr_t)texts_begin, end = (uintptr_t)texts_end, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct buf texts = {.ptr = texts_begin, .cap = end - begin, .max = end - begin};
    struct err e;
    if (!inflate((struct slice){texts_packed, (size_t)((uintptr_t)texts_packed_end - (uintptr_t)texts_packed)}, &texts, &e))
        __builtin_trap(); /* there is no text to say it with */
    /* The pages that hold nothing else are constant from now on. */
    begin = (begin + page - 1) / page * page;
    mprotect((void *)begin, end / page * page - begin, PROT_READ);
}

#endif
