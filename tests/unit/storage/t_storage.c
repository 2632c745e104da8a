/* Sizes of parts. tests/e2e/test_storage.py has the commands against real stores. */
#include "../test.h"

#include <mobula/storage.h>

int main(void)
{
    static const uint64_t sizes[] = {CLOUD_PART + 1, (uint64_t)CLOUD_PART * LIMIT_CLOUD_PARTS, (uint64_t)CLOUD_PART * LIMIT_CLOUD_PARTS + 1,
                                     5ull * 1024 * 1024 * MIB, 5ull * 1024 * 1024 * MIB - 1};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        uint64_t part = storage_part(sizes[i]), parts = (sizes[i] + part - 1) / part;
        test_case("a file of %llu bytes", (unsigned long long)sizes[i]);
        CHECK(parts <= LIMIT_CLOUD_PARTS && part >= CLOUD_PART);
        CHECK(part == CLOUD_PART || sizes[i] > (uint64_t)CLOUD_PART * LIMIT_CLOUD_PARTS);
    }
    test_case("the largest file that goes in parts of the least size");
    CHECK_INT(storage_part((uint64_t)CLOUD_PART * LIMIT_CLOUD_PARTS), CLOUD_PART);
    CHECK(storage_part((uint64_t)CLOUD_PART * LIMIT_CLOUD_PARTS + 1) > CLOUD_PART);
    return test_done();
}
