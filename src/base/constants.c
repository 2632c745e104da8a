/* The constructor of the packed program: it unpacks the constants and makes what is constant read-only before main runs. It and whatever
 * runs before it may use no constant of ours, of BearSSL or libyaml, neither a literal nor a table, and of musl's only those that
 * program.ld leaves out. */
#include <mobula/base.h>

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#ifdef MOBULA_PACKED

#define HIDDEN __attribute__((visibility("hidden")))
extern const struct slice constants_packed HIDDEN;                /* constants.s */
extern uint64_t constants_begin[] HIDDEN, constants_end[] HIDDEN; /* program.ld */

/* A kernel that refuses leaves the pages writable: that is no reason not to start. Segments share no page. */
static void make_constant(uintptr_t begin, uintptr_t end)
{
    uintptr_t page = getauxval(AT_PAGESZ);
    begin = begin / page * page;
    mprotect((void *)begin, end - begin, PROT_READ);
}

/* Constants take a third of their room when they are compressed. The build (Makefile: PACK) leaves the section that holds them without
 * bytes: here they are made. An address in them counts from where the program begins, which is what its place holds by now; all else holds
 * 0. */
static void unpack_constants(void)
{
    size_t count = (size_t)(constants_end - constants_begin);
    struct buf unpacked;
    struct err e;
    buf_init(&unpacked, count * sizeof *constants_begin);
    if (!buf_room(&unpacked, unpacked.max) || !inflate(constants_packed, &unpacked, &e) || unpacked.len != unpacked.max)
        __builtin_trap(); /* there are no literals for a message */
    const uint64_t *from = (const void *)unpacked.ptr;
    for (size_t i = 0; i < count; i++)
        constants_begin[i] += from[i];
    buf_free(&unpacked);
    make_constant((uintptr_t)constants_begin, (uintptr_t)constants_end);
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
    unpack_constants();
    protect_tables();
}

#endif
