/* carried: turns the operands of branch instructions from distances into addresses and back, between carry.c and the stub: calls of one
 * function have the same bytes then, and the program compresses to 95 % of what it would. Nothing else in the file changes its length or
 * place. */
#ifndef MOBULA_CARRIED_H
#define MOBULA_CARRIED_H

#include <mobula/base.h>

#include <elf.h>

/* Begins a stub inside a program, in place of ELFMAG. Older programs, which pack for other stubs (deflate_far), do not find it then. */
#define CARRIED_MAGIC "\177MOB"

/* squeeze.c: appends the text, less than 2 GiB, in a form that unpack.c reads. False: out is full. */
bool carried_pack(struct slice text, uint16_t machine, struct buf *out);
/* Unpacks to `size` bytes of text. False: `packed` is damaged. */
bool carried_unpack(struct slice packed, uint16_t machine, char *text, size_t size);

static inline uint32_t branch_load(const char *from)
{
    uint32_t word = 0;
    memcpy(&word, from, sizeof word);
    return word;
}

static inline void branch_store(char *to, uint32_t word)
{
    memcpy(to, &word, sizeof word);
}

/* call (0xe8) and jmp (0xe9), then a distance of 32 bits. Distances from -at to size - 1 become numbers of the same range, each another
 * one; the rest stays, so that each step can be undone. */
static inline void branches_amd64(char *code, size_t size, bool back)
{
    for (size_t at = 0; size >= 5 && at <= size - 5; at++) {
        if (((unsigned char)code[at] & 0xfe) != 0xe8)
            continue;
        int64_t n = (int32_t)branch_load(code + at + 1), place = (int64_t)at, end = (int64_t)size;
        if (n >= -place && n < end && back)
            branch_store(code + at + 1, (uint32_t)(n < 0 ? n + end : n - place));
        else if (n >= -place && n < end)
            branch_store(code + at + 1, (uint32_t)(n < end - place ? n + place : n - end));
        at += 4;
    }
}

/* bl: six bits of the instruction, then a distance of 26 bits in words. adrp: a distance of 21 bits in pages, the lowest two of them in
 * bits 29 and 30, the rest from bit 5 on. */
static inline void branches_arm64(char *code, size_t size, bool back)
{
    enum { BL = 0x25, BITS = 26, MASK = (1 << BITS) - 1, PAGES = 0x1fffff };
    const uint32_t adrp = 0x90000000, adrp_mask = 0x9f000000, adrp_rest = 0x9f00001f;
    for (size_t at = 0; size >= 4 && at <= size - 4; at += 4) {
        uint32_t word = branch_load(code + at), place = (uint32_t)(at / 4), page = (uint32_t)(at / 4096);
        if (word >> BITS == BL) {
            branch_store(code + at, (uint32_t)BL << BITS | ((back ? word - place : word + place) & MASK));
        } else if ((word & adrp_mask) == adrp) {
            uint32_t n = (word >> 29 & 3) | (word >> 5 & 0x7ffff) << 2;
            n = (back ? n - page : n + page) & PAGES;
            branch_store(code + at, (word & adrp_rest) | (n & 3) << 29 | n >> 2 << 5);
        }
    }
}

/* machine: e_machine of the program; of another one nothing changes. back: undoes it. */
static inline void branches_turn(char *code, size_t size, uint16_t machine, bool back)
{
    if (machine == EM_X86_64)
        branches_amd64(code, size, back);
    else if (machine == EM_AARCH64)
        branches_arm64(code, size, back);
}

#endif
