/* Tests program_carry with made-up programs. tests/tools/check-carried tests the carried form of the real one. */
#include "../texts.h"

#include <mobula/artifact.h>
#include <mobula/carried.h>

#include <elf.h>

#define OLD "\177ELF\2\1\1"
#define NEW CARRIED_MAGIC "\2\1\1"
enum { STUB = 300, MACHINE = EM_X86_64 };

/* Writes an ELF file of `size` bytes with a header and one segment, as the stub has them. ident: its first bytes. */
static void put_elf(struct buf *b, const char *ident, uint16_t type, uint16_t machine, uint64_t segment, size_t size)
{
    Elf64_Ehdr head = {.e_type = type, .e_machine = machine, .e_phoff = sizeof head, .e_phnum = 1, .e_shoff = 7, .e_shnum = 3};
    Elf64_Phdr load = {.p_type = PT_LOAD, .p_filesz = segment, .p_memsz = segment};
    memcpy(head.e_ident, ident, 7);
    buf_put(b, (struct slice){(const char *)&head, sizeof head});
    buf_put(b, (struct slice){(const char *)&load, sizeof load});
    for (size_t n = sizeof head + sizeof load; n < size; n++)
        buf_putc(b, (char)n);
}

static void check_carried(struct slice program, struct slice carried, uint16_t machine, bool old)
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
    CHECK(memcmp(head.e_ident, ELFMAG, SELFMAG) == 0);
    CHECK(head.e_type == ET_EXEC && head.e_shoff == 0 && head.e_shnum == 0);
    CHECK(load.p_filesz == carried.len && load.p_memsz == carried.len);
    struct slice packed = slice_skip(carried, begin + sizeof size);
    CHECK(old ? inflate_far(packed, &unpacked, &e) : carried_unpack(packed, machine, buf_room(&unpacked, program.len), program.len));
    unpacked.len = program.len;
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

/* The packed program is one that this stub unpacks: those of older programs read deflate_far. */
static void check_stub(uint16_t machine, bool old)
{
    struct buf program = {.max = MIB}, carried = {.max = MIB};
    test_case("carried: machine %u, %s stub", machine, old ? "old" : "new");
    put_elf(&program, OLD, ET_DYN, machine, 0, 5000);
    put_elf(&program, old ? OLD : NEW, ET_EXEC, machine, STUB, STUB);
    CHECK(program_carry(buf_slice(&program), &carried));
    check_carried(buf_slice(&program), buf_slice(&carried), machine, old);
    buf_free(&carried);
    buf_free(&program);
}

/* ---- the packed text ---- */

enum { SEGMENT = 32 * KIB, TEXT = 2 * SEGMENT + 1 };

/* Copies from just inside the near window and from just outside it. */
static unsigned char far_back(size_t i, struct rng *r)
{
    unsigned char n = (unsigned char)rng_next(r);
    return (i % 32768 < 20 || i % 32769 < 4) ? (unsigned char)(i % 32768) : n;
}

/* Words of 4 bytes, each byte of another range, as in instructions of arm64. */
static unsigned char instructions(size_t i, struct rng *r)
{
    return (unsigned char)(64 * (i % 4) + rng_below(r, 64));
}

static const struct {
    const char *name;
    unsigned char (*at)(size_t i, struct rng *r);
    size_t most; /* percent of TEXT that are left */
} texts[] = {{"zeros", text_zeros, 1},
             {"noise", text_noise, 105},
             {"words", text_words, 15},
             {"far back", far_back, 105},
             {"instructions", instructions, 79}};

static void put_text(struct buf *b, size_t t, size_t size)
{
    struct rng rng;
    rng_seed(&rng, t);
    for (size_t i = 0; i < size; i++)
        buf_putc(b, (char)texts[t].at(i, &rng));
}

static void there_and_back(size_t t, size_t size, uint16_t machine)
{
    struct buf text = {.max = TEXT}, packed = {.max = 2 * TEXT};
    char *again = mem_alloc(size);
    put_text(&text, t, size);
    CHECK(carried_pack(buf_slice(&text), machine, &packed));
    CHECK(carried_unpack(guarded(buf_slice(&packed)), machine, again, size));
    CHECK(slice_eq((struct slice){again, size}, buf_slice(&text)));
    if (size == TEXT)
        CHECK(packed.len <= TEXT * texts[t].most / 100);
    if (packed.len) {
        struct buf small = {.max = packed.len - 1};
        CHECK(!carried_pack(buf_slice(&text), machine, &small));
        buf_free(&small);
    }
    mem_free(again);
    buf_free(&packed);
    buf_free(&text);
}

/* Cut off, longer, with a wrong bit, or unpacked to another size: refused, or another text of that size in a few cases. */
static void check_damaged(uint16_t machine)
{
    struct buf text = {.max = TEXT}, packed = {.max = TEXT};
    char *again = mem_alloc(TEXT + 1);
    put_text(&text, 2, TEXT);
    CHECK(carried_pack(buf_slice(&text), machine, &packed));
    for (size_t i = 0; i < packed.len; i += 977)
        CHECK(!carried_unpack(guarded((struct slice){packed.ptr, i}), machine, again, TEXT));
    CHECK(!carried_unpack(buf_slice(&packed), machine, again, TEXT - 1));
    CHECK(!carried_unpack(buf_slice(&packed), machine, again, TEXT + 1));
    unsigned accepted = 0;
    for (size_t i = 0; i < packed.len; i += 331) {
        packed.ptr[i] ^= 1;
        accepted += carried_unpack(guarded(buf_slice(&packed)), machine, again, TEXT);
        packed.ptr[i] ^= 1;
    }
    CHECK_INT(accepted, 0);
    CHECK(buf_putc(&packed, 0) && !carried_unpack(buf_slice(&packed), machine, again, TEXT));
    mem_free(again);
    buf_free(&packed);
    buf_free(&text);
}

/* Noise, and its first KiB again, from outside the near window. */
static void check_far(void)
{
    enum { PIECE = KIB / 2, DISTANCE = 200 * 1000, SIZE = DISTANCE + PIECE };
    struct buf text = {.max = SIZE}, packed = {.max = 2 * SIZE};
    put_text(&text, 1, DISTANCE);
    for (size_t i = 0; i < PIECE; i++)
        buf_putc(&text, text.ptr[i]);
    CHECK(carried_pack(slice_head(buf_slice(&text), DISTANCE), MACHINE, &packed));
    size_t before = packed.len;
    buf_clear(&packed);
    CHECK(carried_pack(buf_slice(&text), MACHINE, &packed));
    CHECK(packed.len < before + 100);
    buf_free(&packed);
    buf_free(&text);
}

static void check_packing(void)
{
    static const size_t sizes[] = {0, 1, 2, 3, 4, 257, 258, 259, 260, SEGMENT, TEXT};
    static const uint16_t machines[] = {EM_X86_64, EM_AARCH64};
    for (size_t m = 0; m < COUNT_OF(machines); m++) {
        for (size_t t = 0; t < COUNT_OF(texts); t++)
            for (size_t i = m ? COUNT_OF(sizes) - 1 : 0; i < COUNT_OF(sizes); i++) {
                test_case("carried: %s, %zu bytes, machine %u", texts[t].name, sizes[i], machines[m]);
                there_and_back(t, sizes[i], machines[m]);
            }
        test_case("carried: damaged, machine %u", machines[m]);
        check_damaged(machines[m]);
    }
    test_case("carried: copies from far back");
    check_far();
}

int main(void)
{
    for (int i = 0; i < 4; i++)
        check_stub(i / 2 ? EM_AARCH64 : EM_X86_64, i % 2);
    check_packing();
    test_case("carried: branches are turned and turned back");
    check_branches();
    for (size_t i = 0; i < COUNT_OF(stubs); i++) {
        test_case("carried: %s", stubs[i].name);
        struct buf program = {.max = MIB}, carried = {.max = MIB};
        put_elf(&program, OLD, ET_DYN, MACHINE, 0, 5000);
        buf_put(&program, SLICE("\177ELF\0 words" CARRIED_MAGIC "\0 words"));
        put_elf(&program, NEW, stubs[i].type, stubs[i].machine, stubs[i].segment, STUB);
        CHECK(program_carry(buf_slice(&program), &carried));
        if (stubs[i].found)
            check_carried(buf_slice(&program), buf_slice(&carried), MACHINE, false);
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
