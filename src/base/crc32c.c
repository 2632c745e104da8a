/* CRC-32C of files and objects (RFC 3720, B.4), by the processor's instruction where it has one: 8 GB/s. SHA-256 has 1.3 GB/s by
 * instructions, and a download waits for it. */
#include <mobula/base.h>

#if defined __x86_64__
#include <cpuid.h>
#include <immintrin.h>

static bool has_instruction(void)
{
    enum { SSE42 = 1 << 20 };
    static int known; /* 0: not asked yet; a virtual machine needs 10 us for the answer */
    unsigned a, b, c, d;
    if (!known)
        known = __get_cpuid(1, &a, &b, &c, &d) && (c & SSE42) ? 1 : -1;
    return known > 0;
}

#define FAST __attribute__((target("sse4.2")))
#define ADD_8(crc, word) ((uint32_t)_mm_crc32_u64(crc, word))
#elif defined __aarch64__
#include <arm_acle.h>
#include <sys/auxv.h>

static bool has_instruction(void)
{
    enum { CRC32 = 1 << 7 };
    return (getauxval(AT_HWCAP) & CRC32) != 0;
}

#define FAST __attribute__((target("+crc")))
#define ADD_8(crc, word) __crc32cd(crc, word)
#else
static bool has_instruction(void)
{
    return false;
}

#define FAST
#define ADD_8(crc, word) ((crc) + (uint32_t)(word))
#endif

FAST static uint32_t add_words(uint32_t crc, struct slice *bytes)
{
    uint64_t word;
    for (; bytes->len >= sizeof word; *bytes = slice_skip(*bytes, sizeof word)) {
        memcpy(&word, bytes->ptr, sizeof word);
        crc = ADD_8(crc, word);
    }
    return crc;
}

uint32_t crc32c_portable(uint32_t crc, struct slice bytes)
{
    static uint32_t table[256];
    for (uint32_t i = 0; i < COUNT_OF(table) && !table[255]; i++) {
        uint32_t entry = i;
        for (int bit = 0; bit < 8; bit++)
            entry = entry >> 1 ^ (entry & 1 ? 0x82f63b78u : 0);
        table[i] = entry;
    }
    crc = ~crc;
    for (size_t i = 0; i < bytes.len; i++)
        crc = crc >> 8 ^ table[(crc ^ (unsigned char)bytes.ptr[i]) & 0xff];
    return ~crc;
}

uint32_t crc32c(uint32_t crc, struct slice bytes)
{
    if (has_instruction())
        crc = ~add_words(~crc, &bytes);
    return crc32c_portable(crc, bytes);
}
