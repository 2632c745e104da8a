/* Answers of a store and of STS, as list, error document and credentials. Input: the body. */
#include <mobula/cloud.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = {(const char *)data, size};
    struct arena a = {0};
    struct cloud_list list;
    struct cloud_keys keys;
    int64_t expires_us;
    struct err e = {0};
    if (cloud_list_read(in, &a, &list, &e))
        for (uint32_t i = 0; i < list.count; i++)
            if (slice_empty(list.objects[i].key) || list.objects[i].size < 0)
                fatal("an object without a name, or of a size below 0");
    cloud_xml_text(in, "Code", &a);
    cloud_credentials_read(in, &a, &keys, &expires_us, &e);
    arena_free(&a);
    return 0;
}
