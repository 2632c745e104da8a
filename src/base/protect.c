/* Tables with addresses are corrected by the program itself when it starts, and are read-only before main runs. musl leaves them writable
 * in a static program: only its dynamic linker does what the header asks for (GNU_RELRO). */
#include <mobula/base.h>

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#ifdef MOBULA_PRODUCT

/* The ELF header stands before the others, at the address 0 of the file. A kernel that refuses leaves the pages writable: that is no reason
 * not to start. */
__attribute__((constructor)) static void protect_tables(void)
{
    const Elf64_Phdr *p = (const Elf64_Phdr *)getauxval(AT_PHDR);
    uintptr_t base = (uintptr_t)p - sizeof(Elf64_Ehdr), page = getauxval(AT_PAGESZ);
    for (unsigned long n = getauxval(AT_PHNUM); n > 0; n--, p++)
        if (p->p_type == PT_GNU_RELRO) {
            uintptr_t begin = (base + p->p_vaddr) / page * page;
            mprotect((void *)begin, (base + p->p_vaddr + p->p_memsz) / page * page - begin, PROT_READ);
        }
}

#endif
