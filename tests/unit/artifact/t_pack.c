/* A folder as a zip file, and what is left out of it. */
#include "../json/cases.h"

#include "../../../src/artifact/private.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is left out ---- */

static void expect_paths(const struct ignore *g, struct slice paths, bool out)
{
    for (struct slice rest = paths; rest.ptr && !slice_empty(rest);) {
        struct slice line = slice_cut(&rest, '\n'), path = line;
        bool folder = slice_ends(path, SLICE("/"));
        path.len -= folder;
        if (!slice_empty(path) && !CHECK((ignore_look(g, path, folder) == IGNORE_LEAVES_OUT) == out))
            printf("  %.*s\n", SLICE_ARG(line));
    }
}

static void test_cases(void)
{
    struct arena files = {0};
    struct slice file = read_file("tests/data/cli/ignore.case", &files);
    for (struct case_text c; case_next(&file, &c);) {
        struct ignore g = {NULL, 0, 0};
        struct err e = {0};
        CHECK(ignore_add(&g, SLICE(""), case_part(&c, "rules"), &e));
        if (case_part(&c, "src").ptr)
            CHECK(ignore_add(&g, SLICE("src/"), case_part(&c, "src"), &e));
        expect_paths(&g, case_part(&c, "out"), true);
        expect_paths(&g, case_part(&c, "in"), false);
        ignore_free(&g);
    }
    arena_free(&files);
}

static void test_limits(void)
{
    struct ignore g = {NULL, 0, 0};
    struct buf text;
    struct err e = {0};
    test_case("as many patterns as there may be, and one more");
    buf_init(&text, MIB);
    for (int i = 0; i < LIMIT_PACK_RULES; i++)
        buf_printf(&text, "a%d\n", i);
    CHECK(ignore_add(&g, SLICE(""), buf_slice(&text), &e));
    CHECK_INT(ignore_look(&g, SLICE("a7"), false), IGNORE_LEAVES_OUT);
    CHECK(!ignore_add(&g, SLICE(""), SLICE("b"), &e));
    CHECK_INT(e.code, ERR_LIMIT);
    ignore_free(&g);
    test_case("a pattern as long as it may be, and one byte longer");
    for (size_t more = 0; more < 2; more++) {
        buf_clear(&text);
        for (size_t i = 0; i < LIMIT_PACK_PATTERN + more; i++)
            buf_putc(&text, 'x');
        CHECK(ignore_add(&g, SLICE(""), buf_slice(&text), &e) == !more);
    }
    ignore_free(&g);
    buf_free(&text);
}

/* ---- zip files ---- */

static char root[64];
static struct arena texts;

static const char *place(const char *name)
{
    return arena_printf(&texts, "%s/%s", root, name).ptr;
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    FILE *f = fopen(place(name), "w");
    if (CHECK(f != NULL)) {
        fputs(text, f);
        fclose(f);
        CHECK(chmod(place(name), mode) == 0);
    }
}

static uint32_t number(struct slice zip, size_t at, unsigned bytes)
{
    uint32_t n = 0;
    for (unsigned i = 0; i < bytes; i++)
        n |= (uint32_t)(unsigned char)zip.ptr[at + i] << 8 * i;
    return n;
}

/* Its directory: "NAME MODE TEXT" of each file, a line each, as unpacked from where the directory says that it is. */
static void list(struct slice zip, struct buf *out)
{
    size_t end = zip.len - 22, at = number(zip, end + 16, 4);
    CHECK_INT(number(zip, end, 4), 0x06054b50);
    for (uint32_t i = 0; i < number(zip, end + 10, 2); i++) {
        size_t name = number(zip, at + 28, 2), from = number(zip, at + 42, 4);
        struct slice packed = {zip.ptr + from + 30 + name, number(zip, at + 20, 4)};
        struct buf text = {.max = MIB};
        struct err e = {0};
        CHECK_INT(number(zip, at, 4), 0x02014b50);
        CHECK_INT(number(zip, from, 4), 0x04034b50);
        CHECK(number(zip, at + 10, 2) ? inflate(packed, &text, &e) : buf_put(&text, packed));
        CHECK_INT(number(zip, at + 24, 4), text.len);
        CHECK_INT(number(zip, at + 16, 4), crc32(buf_slice(&text)));
        buf_printf(out, "%.*s %o %.*s\n", (int)name, zip.ptr + at + 46, number(zip, at + 38, 4) >> 16, (int)(text.len < 20 ? text.len : 20),
                   text.ptr ? text.ptr : "");
        buf_free(&text);
        at += 46 + name;
    }
    CHECK_INT(at, end);
}

static bool pack(const struct flag_texts *excludes, struct buf *zip, struct pack_result *r, struct err *e)
{
    *e = (struct err){0};
    buf_init(zip, LIMIT_PACK_SIZE);
    return pack_folder(slice_of(root), excludes, &texts, zip, -1, 0, r, e);
}

static void make_folder(void)
{
    static const char *const folders[] = {"src", "src/deep", ".git", "venv", "empty", "logs", "r\xe9sum\xe9"};
    snprintf(root, sizeof root, "/tmp/t_pack-XXXXXX");
    CHECK(mkdtemp(root) != NULL);
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        CHECK(mkdir(place(folders[i]), 0755) == 0);
    write_file("main.py", "print('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')", 0640);
    write_file("run.sh", "#!/bin/sh", 0755);
    write_file("src/a.py", "", 0644);
    write_file("src/deep/b.py", "b", 0644);
    write_file("src/deep/c.log", "c", 0644);
    write_file("secret.txt", "password", 0644);
    write_file(".gitignore", "*.log\nsecret.txt\n", 0644);
    write_file(".git/config", "", 0644);
    write_file("logs/a.log", "", 0644);
    write_file("r\xe9sum\xe9/a", "", 0644);
    write_file("src/\xe9", "", 0644);
    write_file("src/\xc3\xa9", "", 0644);
    write_file("venv/python", "", 0644);
    CHECK(symlink("src/deep/b.py", place("inside")) == 0);
    CHECK(symlink("/etc/passwd", place("outside")) == 0);
    CHECK(symlink("secret.txt", place("ignored")) == 0);
    CHECK(symlink("src", place("folder")) == 0);
    CHECK(symlink("nowhere", place("broken")) == 0);
    CHECK(mkfifo(place("pipe"), 0600) == 0);
}

/* Reads the archive with Python's zipfile, which Ray unpacks with, too. */
static void read_by_python(struct slice zip)
{
    static const char program[] =
        "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\n"
        "assert [n for n in z.namelist() if z.getinfo(n).is_dir()] == ['dir/empty/']\n"
        "assert 'dir/src/\\u00e9' in z.namelist() and z.read('dir/run.sh') == b'#!/bin/sh' and len(z.namelist()) == 8, z.namelist()\n";
    const char *path = arena_printf(&texts, "%s.zip", root).ptr;
    FILE *f = fopen(path, "w");
    if (CHECK(f != NULL)) {
        CHECK_INT(fwrite(zip.ptr, 1, zip.len, f), zip.len);
        fclose(f);
    }
    test_case("what is written is read by Python's zipfile");
    CHECK(system(arena_printf(&texts, "python3 -c \"%s\" '%s'", program, path).ptr) == 0);
}

/* Packs the same folder into a file (spill) instead of memory. */
static void test_spill(void)
{
    enum { LARGE = 5 * MIB };
    struct buf zip, small = {.max = 12 * MIB};
    struct pack_result r, spilled;
    struct flag_texts none = {.count = 0};
    struct err e;
    struct arena a = {0};
    char *noise = arena_alloc(&a, LARGE + 1);
    uint64_t state = 1;
    for (size_t i = 0; i < LARGE; i++)
        noise[i] = (char)('0' + (state = state * 6364136223846793005u + 1) / (1ull << 40) % 64);
    write_file("src/large", noise, 0644);
    test_case("an archive that goes to a file has the same bytes");
    CHECK(pack(&none, &zip, &r, &e));
    FILE *f = tmpfile();
    if (CHECK(f != NULL)) {
        CHECK(pack_folder(slice_of(root), &none, &texts, &small, fileno(f), zip.len, &spilled, &e));
        CHECK(!spilled.over);
        CHECK_INT(spilled.spilled, zip.len);
        CHECK_INT(small.len, 0);
        char *back = arena_alloc(&a, zip.len);
        CHECK_INT(pread(fileno(f), back, zip.len, 0), zip.len);
        CHECK_SLICE(((struct slice){back, zip.len}), buf_slice(&zip));
        test_case("... and is too large by a byte");
        CHECK(pack_folder(slice_of(root), &none, &texts, &small, fileno(f), zip.len - 1, &spilled, &e) && spilled.over);
        fclose(f);
    }
    CHECK(unlink(place("src/large")) == 0);
    buf_free(&zip);
    buf_free(&small);
    arena_free(&a);
}

static void test_folder(void)
{
    static const char want[] = "dir/.gitignore 100644 *.log\nsecret.txt\n\n"
                               "dir/empty/ 40755 \n"
                               "dir/inside 100644 b\n"
                               "dir/main.py 100644 print('aaaaaaaaaaaaa\n"
                               "dir/run.sh 100755 #!/bin/sh\n"
                               "dir/src/a.py 100644 \n"
                               "dir/src/deep/b.py 100644 b\n"
                               "dir/src/\xc3\xa9 100644 \n";
    struct buf zip, again, names = {.max = MIB};
    struct pack_result r;
    struct flag_texts none = {.count = 0};
    struct err e;
    make_folder();
    test_case("a folder, with links, programs and what is left out");
    CHECK(pack(&none, &zip, &r, &e));
    list(buf_slice(&zip), &names);
    CHECK_SLICE(buf_slice(&names), slice_of(want));
    CHECK_INT(r.files, 7);
    CHECK_INT(r.skipped, 7); /* four links, the pipe, and two names that are not UTF-8 */
    CHECK(slice_starts(r.name, SLICE("t_pack-")));
    read_by_python(buf_slice(&zip));
    test_spill();
    test_case("the same again: the same bytes, whenever the files were written");
    write_file("src/a.py", "", 0644);
    CHECK(pack(&none, &again, &r, &e));
    CHECK_SLICE(buf_slice(&again), buf_slice(&zip));
    buf_free(&zip);
    buf_free(&again);
    buf_free(&names);
}

static void test_excludes(void)
{
    struct buf zip, names = {.max = MIB};
    struct pack_result r;
    struct flag_texts keep = {.list = {SLICE("*"), SLICE("!secret.txt")}, .count = 2}, nothing = {.list = {SLICE("*")}, .count = 1};
    struct err e;
    test_case("--exclude counts for more than the files");
    CHECK(pack(&keep, &zip, &r, &e));
    list(buf_slice(&zip), &names);
    CHECK_SLICE(buf_slice(&names), SLICE("dir/secret.txt 100644 password\n"));
    buf_free(&zip);
    test_case("nothing is left");
    CHECK(!pack(&nothing, &zip, &r, &e));
    CHECK(strstr(e.text, "no file in it that is not left out") != NULL);
    buf_free(&zip);
    buf_free(&names);
}

static void test_over(void)
{
    enum { HUGE_FILE = 1024 * MIB }; /* a hole: of no bytes */
    struct buf zip;
    struct pack_result r;
    struct flag_texts none = {.count = 0};
    struct err e = {0};
    test_case("what does not fit any more is counted, and not read");
    write_file("zz", "", 0644);
    CHECK(truncate(place("zz"), HUGE_FILE) == 0);
    buf_init(&zip, 200);
    CHECK(pack_folder(slice_of(root), &none, &texts, &zip, -1, 0, &r, &e));
    CHECK(r.over && zip.len <= 200);
    CHECK_INT(r.files, 8);
    CHECK_STR(r.largest[0].name, "zz");
    CHECK_STR(r.largest[1].name, "main.py");
    CHECK(r.largest[0].size == HUGE_FILE && r.size > HUGE_FILE && r.largest[1].size >= r.largest[2].size);
    buf_free(&zip);
}

static void test_other_rules(void)
{
    struct buf zip, names = {.max = MIB};
    struct pack_result r;
    struct flag_texts none = {.count = 0};
    struct err e;
    test_case("a link to a file that the .gitignore of its own folder leaves out");
    CHECK(unlink(place("zz")) == 0);
    CHECK(mkdir(place("app"), 0755) == 0 && mkdir(place("keys"), 0755) == 0);
    write_file("keys/.gitignore", "*.pem\n", 0644);
    write_file("keys/key.pem", "secret", 0644);
    write_file("keys/key.pub", "public", 0644);
    CHECK(symlink("../keys/key.pem", place("app/key.pem")) == 0);
    CHECK(symlink("../keys/key.pub", place("app/key.pub")) == 0);
    CHECK(pack(&none, &zip, &r, &e));
    list(buf_slice(&zip), &names);
    CHECK(slice_has(buf_slice(&names), "dir/app/key.pub 100644 public\n"));
    CHECK(!slice_has(buf_slice(&names), "key.pem"));
    buf_free(&zip);
    buf_free(&names);
}

int main(void)
{
    test_cases();
    test_limits();
    test_folder();
    test_excludes();
    test_over();
    test_other_rules();
    CHECK(slice_starts(slice_of(root), SLICE("/tmp/t_pack-")));
    CHECK(system(arena_printf(&texts, "rm -r '%s' '%s.zip'", root, root).ptr) == 0);
    arena_free(&texts);
    return test_done();
}
