/* The constructor of the packed program: it unpacks the string literals and makes constant data read-only before main runs. No constructor
 * that runs earlier may use a literal; the libraries' literals are not packed. */
#include <mobula/base.h>

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#ifdef MOBULA_PACKED

#define HIDDEN __attribute__((visibility("hidden")))
extern const char texts_packed[] HIDDEN, texts_packed_end[] HIDDEN; /* texts.s */
extern char texts_begin[] HIDDEN, texts_end[] HIDDEN;               /* texts.ld */
/* Makes the section writable: with literals alone the linker would make it read-only. */
static char writable[0] __attribute__((section("texts"), used));

/* The pages from the one of begin to the one before end's. A kernel that refuses leaves them writable: that is no reason not to start. */
static void make_constant(uintptr_t begin, uintptr_t end)
{
    uintptr_t page = getauxval(AT_PAGESZ);
    begin = begin / page * page;
    end = end / page * page;
    if (begin < end)
        mprotect((void *)begin, end - begin, PROT_READ);
}

/* Literals are three quarters of the program's constants, and a third of themselves when compressed. The build (Makefile: PACK) leaves the
 * section that holds them without bytes: here they are made. */
static void unpack_texts(void)
{
    uintptr_t begin = (uintptr_t)texts_begin, end = (uintptr_t)texts_end;
    struct buf texts = {.ptr = texts_begin, .cap = end - begin, .max = end - begin};
    struct err e;
    if (!inflate((struct slice){texts_packed, (size_t)((uintptr_t)texts_packed_end - (uintptr_t)texts_packed)}, &texts, &e))
        __builtin_trap();                                 /* there are no literals for a message */
    make_constant(begin + getauxval(AT_PAGESZ) - 1, end); /* their first page may hold .bss, too */
}

/* Tables with addresses are corrected by the program itself when it starts. musl leaves them writable afterwards in a static program: only
 * its dynamic linker does what the header asks for (GNU_RELRO). The ELF header stands before the others, at the address 0 of the file. */
static void protect_tables(void)
{
    const Elf64_Phdr *p = (const Elf64_Phdr *)getauxval(AT_PHDR);
    uintptr_t base = (uintptr_t)p - sizeof(Elf64_Ehdr);
    for (unsigned long n = getauxval(AT_PHNUM); n > 0; n--, p++)
        if (p->p_type == PT_GNU_RELRO)
            make_constant(base + p->p_vaddr, base + p->p_vaddr + p->p_memsz);
}

__attribute__((constructor)) static void begin_program(void)
{
    unpack_texts();
    protect_tables();
}

#endif
