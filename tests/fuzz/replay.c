/* Runs a fuzz target once over its corpus, without clang: each file under tests/fuzz/corpus/NAME, NAME being this program's own, and the
 * empty input. Every input ends at a page that cannot be read. */
#include "../unit/test.h"

#include <dirent.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay(struct slice input)
{
    struct slice copy = guarded(input);
    CHECK(LLVMFuzzerTestOneInput((const uint8_t *)copy.ptr, copy.len) == 0);
}

int main(int argc, char **argv)
{
    (void)argc;
    const char *name = strrchr(argv[0], '/');
    char folder[512], path[1024];
    snprintf(folder, sizeof folder, "tests/fuzz/corpus/%s", name ? name + 1 : argv[0]);
    struct dirent **entries;
    int n = scandir(folder, &entries, NULL, alphasort);
    replay(SLICE(""));
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        test_case("%s", path);
        struct arena a = {0};
        if (entries[i]->d_name[0] != '.')
            replay(read_file(path, &a));
        arena_free(&a);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return test_done();
}
