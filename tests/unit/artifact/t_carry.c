/* Tests program_carry with made-up programs. tests/tools/check-carried tests the carried form of the real one. */
#include "../test.h"

#include <mobula/artifact.h>
#include <mobula/carried.h>

#include <elf.h>

enum { STUB = 300, MACHINE = EM_X86_64 };

/* Writes an ELF file of `size` bytes with a header and one segment, as the stub has them. */
static void put_elf(struct buf *b, uint16_t type, uint16_t machine, uint64_t segment, size_t size)
{
    Elf64_Ehdr head = {.e_type = type, .e_machine = machine, .e_phoff = sizeof head, .e_phnum = 1, .e_shoff = 7, .e_shnum = 3};
    Elf64_Phdr load = {.p_type = PT_LOAD, .p_filesz = segment, .p_memsz = segment};
    memcpy(head.e_ident, "\177ELF\2\1\1", 7);
    buf_put(b, (struct slice){(const char *)&head, sizeof head});
    buf_put(b, (struct slice){(const char *)&load, sizeof load});
    for (size_t n = sizeof head + sizeof load; n < size; n++)
        buf_putc(b, (char)n);
}

/* Whether the first block behind the stub is of type 3. */
static bool has_lanes(struct slice carried)
{
    return ((unsigned char)carried.ptr[STUB + sizeof(uint32_t)] >> 1 & 3) == 3;
}

static void check_carried(struct slice program, struct slice carried, uint16_t machine)
{
    Elf64_Ehdr head;
    Elf64_Phdr load;
    uint32_t begin, size;
    struct err e = {0};
    struct buf unpacked = {.max = MIB};
    memcpy(&head, carried.ptr, sizeof head);
    memcpy(&load, carried.ptr + sizeof head, sizeof load);
    memcpy(&begin, &head.e_ident[EI_PAD], sizeof begin);
    memcpy(&size, carried.ptr + begin, sizeof size);
    CHECK_INT(begin, STUB);
    CHECK_INT(size, program.len);
    CHECK(head.e_type == ET_EXEC && head.e_shoff == 0 && head.e_shnum == 0);
    CHECK(load.p_filesz == carried.len && load.p_memsz == carried.len);
    CHECK(inflate_far(slice_skip(carried, begin + sizeof size), &unpacked, &e));
    branches_turn(unpacked.ptr, unpacked.len, machine, true);
    CHECK(slice_eq(buf_slice(&unpacked), program));
    buf_free(&unpacked);
}

static const struct {
    const char *name;
    uint16_t type, machine;
    uint64_t segment;
    bool found;
} stubs[] = {
    {"a stub", ET_EXEC, MACHINE, STUB, true},
    {"for another machine", ET_EXEC, EM_AARCH64, STUB, false},
    {"no stub's kind of file", ET_DYN, MACHINE, STUB, false},
    {"longer than the program", ET_EXEC, MACHINE, STUB + 1, false},
    {"shorter than its headers", ET_EXEC, MACHINE, sizeof(Elf64_Ehdr), false},
    {"longer than any stub", ET_EXEC, MACHINE, 16 * KIB + 1, false},
};

/* branches_turn there and back restores random code with many branches, also at both ends. */
static void check_branches(void)
{
    static const uint16_t machines[] = {EM_X86_64, EM_AARCH64, EM_RISCV};
    struct rng rng;
    rng_seed(&rng, 7);
    for (int i = 0; i < 3000; i++) {
        char code[600], was[600];
        size_t size = i < 20 ? (size_t)i : 20 + rng_below(&rng, sizeof code - 20);
        uint16_t machine = machines[i % 3];
        for (size_t at = 0; at < size; at++) {
            uint64_t n = rng_below(&rng, 6);
            code[at] = (char)(n == 0   ? 0xe8 + rng_below(&rng, 2)
                              : n == 1 ? 0x97
                              : n < 4  ? 0xff * rng_below(&rng, 2)
                                       : rng_below(&rng, 256));
        }
        memcpy(was, code, size);
        branches_turn(code, size, machine, false);
        bool same = memcmp(code, was, size) == 0;
        branches_turn(code, size, machine, true);
        CHECK(memcmp(code, was, size) == 0 && (machine != EM_RISCV || same));
    }
}

/* Stubs of older programs, which have no mark, and those of amd64 get blocks of type 2. */
static void check_lanes(uint16_t machine, bool marked)
{
    struct buf program = {.max = MIB}, carried = {.max = MIB};
    test_case("carried: machine %u, stub %s lanes", machine, marked ? "with" : "without");
    put_elf(&program, ET_DYN, machine, 0, 5000);
    size_t stub = program.len;
    put_elf(&program, ET_EXEC, machine, STUB, STUB);
    if (marked)
        memcpy(program.ptr + stub + STUB / 2, CARRIED_LANES, strlen(CARRIED_LANES));
    CHECK(program_carry(buf_slice(&program), &carried));
    CHECK(has_lanes(buf_slice(&carried)) == (marked && machine == EM_AARCH64));
    check_carried(buf_slice(&program), buf_slice(&carried), machine);
    buf_free(&carried);
    buf_free(&program);
}

int main(void)
{
    for (int i = 0; i < 4; i++)
        check_lanes(i / 2 ? EM_AARCH64 : EM_X86_64, i % 2);
    test_case("carried: branches are turned and turned back");
    check_branches();
    for (size_t i = 0; i < COUNT_OF(stubs); i++) {
        test_case("carried: %s", stubs[i].name);
        struct buf program = {.max = MIB}, carried = {.max = MIB};
        put_elf(&program, ET_DYN, MACHINE, 0, 5000);
        buf_put(&program, SLICE("\177ELF\0 words"));
        put_elf(&program, stubs[i].type, stubs[i].machine, stubs[i].segment, STUB);
        CHECK(program_carry(buf_slice(&program), &carried));
        if (stubs[i].found)
            check_carried(buf_slice(&program), buf_slice(&carried), MACHINE);
        else
            CHECK(slice_eq(buf_slice(&carried), buf_slice(&program)));
        struct buf small = {.max = carried.len - 1};
        CHECK(!program_carry(buf_slice(&program), &small));
        buf_free(&small);
        buf_free(&carried);
        buf_free(&program);
    }
    test_case("carried: none of a file without bytes");
    struct buf none = {.max = 10};
    CHECK(program_carry(SLICE(""), &none) && none.len == 0);
    CHECK(program_carry(SLICE("a program"), &none) && slice_eq(buf_slice(&none), SLICE("a program")));
    buf_free(&none);
    return test_done();
}
