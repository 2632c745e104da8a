/* What is done before main runs. Nothing that runs earlier may have literals: those of the libraries are not among these. */
#include <mobula/base.h>

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#ifdef MOBULA_PACKED

#define HIDDEN __attribute__((visibility("hidden")))
extern const char texts_packed[] HIDDEN, texts_packed_end[] HIDDEN; /* texts.s */
extern char texts_begin[] HIDDEN, texts_end[] HIDDEN;               /* texts.ld */
/* With literals alone the section could not be written. */
static char writable[0] __attribute__((section("texts"), used));

/* All pages from the one of begin to the one before end's. */
static void make_constant(uintptr_t begin, uintptr_t end)
{
    uintptr_t page = getauxval(AT_PAGESZ);
    begin = begin / page * page;
    mprotect((void *)begin, end / page * page - begin, PROT_READ);
}

/* Literals are three quarters of the program's constants, and a third of themselves when compressed. The build (Makefile: PACK) leaves the
 * section that holds them without bytes: here they are made. */
static void unpack_texts(void)
{
    uintptr_t begin = (uintptr_t)texts_begin, end = (uintptr_t)texts_end;
    struct buf texts = {.ptr = texts_begin, .cap = end - begin, .max = end - begin};
    struct err e;
    if (!inflate((struct slice){texts_packed, (size_t)((uintptr_t)texts_packed_end - (uintptr_t)texts_packed)}, &texts, &e))
        __builtin_trap();                                 /* there is no text to say it with */
    make_constant(begin + getauxval(AT_PAGESZ) - 1, end); /* before them is something else */
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
