/* CRC-32C: published sums, and the processor's instruction against the table. */
#include "../test.h"

static const struct {
    const char *name;
    unsigned char first;
    int step;
    uint32_t crc;
} published[] = {
    /* RFC 3720, B.4: 32 bytes each */
    {"zeros", 0, 0, 0x8a9136aa},
    {"ones", 0xff, 0, 0x62a8ab43},
    {"counting up", 0, 1, 0x46dd794e},
    {"counting down", 31, -1, 0x113fdb5c},
};

int main(void)
{
    char bytes[1000];
    uint32_t state = 1;
    for (size_t i = 0; i < COUNT_OF(published); i++) {
        for (int k = 0; k < 32; k++)
            bytes[k] = (char)(published[i].first + k * published[i].step);
        test_case("32 bytes, %s", published[i].name);
        CHECK_INT(crc32c(0, (struct slice){bytes, 32}), published[i].crc);
        CHECK_INT(crc32c_portable(0, (struct slice){bytes, 32}), published[i].crc);
    }
    test_case("\"123456789\", at once and in two pieces; no bytes");
    CHECK_INT(crc32c(0, SLICE("123456789")), 0xe3069283);
    CHECK_INT(crc32c(crc32c(0, SLICE("1234567")), SLICE("89")), 0xe3069283);
    CHECK_INT(crc32c(0, SLICE("")), 0);
    CHECK_INT(crc32c(0xe3069283, SLICE("")), 0xe3069283);
    test_case("random bytes of every length and place: instruction and table agree");
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)((state = state * 1103515245 + 12345) >> 16);
    bool same = true;
    for (size_t n = 0; n < 300; n++)
        for (size_t at = 0; at < 9; at++) {
            struct slice piece = {bytes + at, n};
            same &= crc32c((uint32_t)n * 7919, piece) == crc32c_portable((uint32_t)n * 7919, piece);
        }
    CHECK(same);
    return test_done();
}
