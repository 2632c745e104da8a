/* Packed bytes give a text of the size that was asked for, the same each time, or are refused; a text comes back as it was packed. The
 * first byte selects the machine, the next two the size. */
#include <mobula/carried.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 3, PACKED_MAX = 256 /* bytes of a text that is packed: packing takes a thousand times as long as unpacking */ };

static void check_same(struct slice packed, uint16_t machine, size_t size)
{
    char *text = calloc(2, size + 1);
    if (!text)
        abort();
    bool well = carried_unpack(packed, machine, text, size);
    if (well != carried_unpack(packed, machine, text + size + 1, size) || memcmp(text, text + size + 1, size) != 0)
        abort();
    free(text);
}

static void check_back(struct slice text, uint16_t machine)
{
    struct buf packed, out;
    buf_init(&packed, MIB);
    buf_init(&out, MIB);
    if (!carried_pack(text, machine, &packed) || !carried_unpack(buf_slice(&packed), machine, buf_room(&out, text.len + 1), text.len) ||
        memcmp(out.ptr, text.ptr, text.len) != 0)
        abort();
    buf_free(&packed);
    buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint16_t machines[] = {EM_X86_64, EM_AARCH64, EM_NONE};
    if (size <= HEAD)
        return 0;
    uint16_t machine = machines[data[0] % COUNT_OF(machines)];
    struct slice rest = {(const char *)data + HEAD, size - HEAD};
    check_same(rest, machine, data[1] | (size_t)data[2] << 8);
    if (rest.len <= PACKED_MAX)
        check_back(rest, machine);
    return 0;
}
