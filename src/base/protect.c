/* Makes relocated tables read-only before main runs (GNU_RELRO). In a static program musl relocates them and leaves them writable: only its
 * dynamic linker heeds that header. */
#include <mobula/base.h>

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#ifdef MOBULA_PRODUCT

/* The ELF header is at address 0 of the program, directly before the program headers. If mprotect fails, the program runs with writable
 * tables. */
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
