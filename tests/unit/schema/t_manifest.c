#include "../test.h"

#include <mobula/schema.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* What -f names, in a folder of its own. */

static char folder[] = "/tmp/mobula-manifest-XXXXXX";

static void make(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    CHECK(fd >= 0);
    close(fd);
}

static void clean(unsigned count)
{
    char path[128];
    static const char *const names[] = {"b.yaml", "a.yml", "c.json", "d.txt"};
    for (unsigned i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%u.yaml", folder, i);
        unlink(path);
    }
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/e.yaml.d", folder);
    rmdir(path);
}

static void folders(struct arena *a)
{
    char path[128];
    struct err e = {0};
    struct manifest_files files;
    struct flag_texts given = {.list = {SLICE("-"), slice_of(folder), SLICE("/nowhere.yaml")}, .count = 3};
    test_case("an empty folder");
    CHECK(!manifest_files(&given, a, &files, &e));
    CHECK(slice_ends(slice_of(e.text), SLICE(": no *.yaml, *.yml or *.json in this folder")));
    test_case("a folder between files");
    make("b.yaml");
    make("a.yml");
    make("c.json");
    make("d.txt");
    snprintf(path, sizeof path, "%s/e.yaml.d", folder);
    CHECK(mkdir(path, 0700) == 0);
    if (!CHECK(manifest_files(&given, a, &files, &e)) || !CHECK_INT(files.count, 5))
        return;
    CHECK_SLICE(files.list[0], SLICE("-"));
    CHECK_SLICE(files.list[1], arena_printf(a, "%s/a.yml", folder));
    CHECK_SLICE(files.list[2], arena_printf(a, "%s/b.yaml", folder));
    CHECK_SLICE(files.list[3], arena_printf(a, "%s/c.json", folder));
    CHECK_SLICE(files.list[4], SLICE("/nowhere.yaml"));
    clean(0);
}

static void limit(struct arena *a)
{
    char name[32];
    struct err e = {0};
    struct manifest_files files;
    struct flag_texts given = {.list = {slice_of(folder), SLICE("-")}, .count = 1};
    test_case("LIMIT_CLI_FILES");
    for (unsigned i = 0; i < LIMIT_CLI_FILES; i++) {
        snprintf(name, sizeof name, "%u.yaml", i);
        make(name);
    }
    CHECK(manifest_files(&given, a, &files, &e));
    CHECK_INT(files.count, LIMIT_CLI_FILES);
    given.count = 2;
    CHECK(!manifest_files(&given, a, &files, &e));
    CHECK(slice_starts(slice_of(e.text), SLICE("-: more than 4096 files (LIMIT_CLI_FILES)")));
    clean(LIMIT_CLI_FILES);
}

int main(void)
{
    struct arena a = {0};
    if (!CHECK(mkdtemp(folder)))
        return test_done();
    folders(&a);
    limit(&a);
    rmdir(folder);
    arena_free(&a);
    return test_done();
}
