/* Makes the carried form of a program: one file that consists of a stub (carried/stub.c) and the compressed program. It runs as the program
 * does and is little more than half as large, so it fits a ConfigMap, which holds 1 MiB. Each of our programs contains the stub for its own
 * architecture, so a program for one architecture can make the carried form of one for another. */
#include <mobula/artifact.h>
#include <mobula/carried.h>

#include <elf.h>

/* The only segment with bytes is set to the length of the whole file, so that the kernel maps the compressed program with the stub. The
 * offset of the compressed program is stored in unused bytes of the ELF header (EI_PAD). */
enum { STUB_MAX = 16 * KIB, SEGMENTS_MAX = 8 };

#ifdef MOBULA_STUB
__asm__(".pushsection .rodata.stub,\"aR\"\n"
        ".ascii \""
        "\\177MOB"
        "\"\n" /* CARRIED_MAGIC */
        ".incbin \"" MOBULA_STUB "\", 4\n"
        ".popsection\n");
#endif

/* The offset of the program header of the stub's segment; 0: no stub begins here. Its first bytes are not looked at. */
static size_t find_segment(struct slice at, uint16_t machine, Elf64_Phdr *load)
{
    static const unsigned char ident[] = {ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
    Elf64_Ehdr head;
    size_t place = sizeof head;
    if (at.len < sizeof head || memcmp(at.ptr + SELFMAG, ident, sizeof ident) != 0)
        return 0;
    memcpy(&head, at.ptr, sizeof head);
    if (head.e_type != ET_EXEC || head.e_machine != machine || head.e_phoff != sizeof head || head.e_phnum > SEGMENTS_MAX)
        return 0;
    for (unsigned n = head.e_phnum; n > 0 && at.len - place >= sizeof *load; n--, place += sizeof *load) {
        memcpy(load, at.ptr + place, sizeof *load);
        if (load->p_type == PT_LOAD)
            return load->p_offset == 0 && load->p_filesz > place && load->p_filesz <= STUB_MAX && load->p_filesz <= at.len ? place : 0;
    }
    return 0;
}

/* The stub within the program that begins with this. A program that was built for tests, or is a carried form itself, contains none. */
static struct slice find_stub(struct slice program, const char *magic)
{
    uint16_t machine;
    Elf64_Phdr load;
    if (program.len < sizeof(Elf64_Ehdr))
        return SLICE_NONE;
    memcpy(&machine, program.ptr + offsetof(Elf64_Ehdr, e_machine), sizeof machine);
    struct slice at = slice_skip(program, 1);
    for (ptrdiff_t next; (next = slice_find_text(at, magic)) >= 0; at = slice_skip(at, 1)) {
        at = slice_skip(at, (size_t)next);
        if (find_segment(at, machine, &load))
            return slice_head(at, load.p_filesz);
    }
    return SLICE_NONE;
}

/* Adapts the ELF headers to the whole file: no sections, one segment of its length, and the offset of the compressed program. */
static void write_headers(struct slice file, uint32_t stub)
{
    char *to = (char *)(uintptr_t)file.ptr;
    Elf64_Ehdr head;
    Elf64_Phdr load;
    memcpy(&head, to, sizeof head);
    size_t place = find_segment(file, head.e_machine, &load);
    memcpy(&head.e_ident[EI_PAD], &stub, sizeof stub);
    head.e_shoff = 0;
    head.e_shnum = head.e_shentsize = head.e_shstrndx = 0;
    load.p_filesz = load.p_memsz = file.len;
    memcpy(to, &head, sizeof head);
    memcpy(to + place, &load, sizeof load);
}

/* Appends the program, compressed, after branches_turn, which makes code compress better. old: for a stub of an older program. */
static bool put_packed(struct slice program, bool old, struct buf *out)
{
    uint16_t machine;
    char *turned = mem_alloc(program.len);
    memcpy(turned, program.ptr, program.len);
    memcpy(&machine, program.ptr + offsetof(Elf64_Ehdr, e_machine), sizeof machine);
    branches_turn(turned, program.len, machine, false);
    struct slice text = {turned, program.len};
    bool done = old ? deflate_far(text, out) : carried_pack(text, machine, out);
    mem_free(turned);
    return done;
}

bool program_carry(struct slice program, struct buf *out)
{
    struct slice stub = find_stub(program, CARRIED_MAGIC);
    bool old = slice_empty(stub);
    if (old)
        stub = find_stub(program, ELFMAG);
    if (slice_empty(stub))
        return buf_put(out, program);
    size_t begin = out->len;
    uint32_t size = (uint32_t)program.len;
    if (!buf_put(out, SLICE(ELFMAG)) || !buf_put(out, slice_skip(stub, SELFMAG)) ||
        !buf_put(out, (struct slice){(const char *)&size, sizeof size}) || !put_packed(program, old, out))
        return false;
    write_headers(slice_skip(buf_slice(out), begin), (uint32_t)stub.len);
    return true;
}
