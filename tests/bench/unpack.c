/* Writes the program in a carried form (src/artifact/carry.c) to a file.
 *   build/unpack CARRIED TO */
#include <mobula/carried.h>

#include <stdio.h>

enum { FILE_MAX = 4 * MIB };

static size_t read_file(const char *path, char *to)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(to, 1, FILE_MAX, f) : 0;
    if (f)
        fclose(f);
    return n;
}

int main(int argc, char **argv)
{
    static char carried[FILE_MAX + sizeof(uint32_t)], program[FILE_MAX];
    size_t n = argc == 3 ? read_file(argv[1], carried) : 0;
    uint32_t begin = 0, size = 0;
    uint16_t machine = 0;
    memcpy(&machine, carried + offsetof(Elf64_Ehdr, e_machine), sizeof machine);
    memcpy(&begin, carried + EI_PAD, sizeof begin);
    if (begin < n)
        memcpy(&size, carried + begin, sizeof size);
    size_t at = begin + sizeof size < n ? begin + sizeof size : n;
    FILE *out = argc == 3 ? fopen(argv[2], "wb") : NULL;
    if (size == 0 || size > FILE_MAX || !out || !carried_unpack((struct slice){carried + at, n - at}, machine, program, size)) {
        fprintf(stderr, "unpack: %s is no carried form, or %s cannot be written\n", argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
        return 1;
    }
    branches_turn(program, size, machine, true);
    return fwrite(program, 1, size, out) != size || fclose(out) != 0;
}
