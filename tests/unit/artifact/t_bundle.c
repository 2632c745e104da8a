/* What is no bundle, or another one than was signed, is refused; what a signer should not have signed, too. */
#include "../test.h"

#include <mobula/artifact.h>

#include <bearssl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FLIPS = 10000 };

static unsigned char secret[32] = {[31] = 7};
static const br_ec_private_key private_key = {.curve = BR_EC_secp256r1, .x = secret, .xlen = sizeof secret};
static struct tls_key key;
static struct bundle bundle;

/* ---- writing ---- */

static void put_member(struct buf *out, const char *name, char type, size_t size, struct slice content)
{
    char block[TAR_BLOCK] = {0};
    unsigned sum = 0;
    snprintf(block, 100, "%s", name);
    snprintf(block + 124, 13, "%011zo", size);
    memset(block + 148, ' ', 8);
    block[156] = type;
    memcpy(block + 257, "ustar\00000", 8);
    for (size_t i = 0; i < sizeof block; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
    buf_put(out, (struct slice){block, sizeof block});
    buf_put(out, content);
    while (out->len % TAR_BLOCK)
        buf_putc(out, '\0');
}

static void put_end(struct buf *out)
{
    static const char zeros[2 * TAR_BLOCK];
    buf_put(out, (struct slice){zeros, sizeof zeros});
}

/* As openssl dgst -sha256 -sign makes it. */
static struct slice signature_of(struct slice body, char signature[80])
{
    unsigned char digest[br_sha256_SIZE];
    br_sha256_context h;
    br_sha256_init(&h);
    br_sha256_update(&h, body.ptr, body.len);
    br_sha256_out(&h, digest);
    return (struct slice){signature,
                          br_ecdsa_sign_asn1_get_default()(br_ec_get_default(), &br_sha256_vtable, digest, &private_key, signature)};
}

/* The signature of body in front of it. */
static void put_signed(struct buf *out, struct slice body)
{
    char bytes[80];
    struct slice signature = signature_of(body, bytes);
    buf_clear(out);
    put_member(out, "SIGNATURE", '0', signature.len, signature);
    buf_put(out, body);
}

static const char *const parts[] = {"LICENSE",      "bin/amd64/mobula",    "bin/arm64/mobula",        "image/mobula.tar",
                                    "images.txt",   "manifests/crds.yaml", "manifests/operator.yaml", "sbom.spdx.json",
                                    "sbom.cdx.json"};

/* A sound body without its end: each part holds its own name. without: that part is left out; unlisted: but SHA256SUMS has it. */
static void put_body(struct buf *out, size_t without, bool unlisted)
{
    char hex[TLS_SHA256_HEX], name[64];
    struct buf sums;
    buf_init(&sums, MIB);
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        tls_sha256_hex(slice_of(parts[i]), hex);
        if (i != without || unlisted)
            buf_printf(&sums, "%s  %s\n", hex, parts[i]);
    }
    put_member(out, "m/SHA256SUMS", '0', sums.len, buf_slice(&sums));
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        snprintf(name, sizeof name, "m/%s", parts[i]);
        if (i != without)
            put_member(out, name, '0', strlen(parts[i]), slice_of(parts[i]));
    }
    buf_free(&sums);
}

/* ---- reading ---- */

static bool opens(struct slice bytes, const char *why)
{
    struct err e = {0};
    bool well = bundle_open(guarded(bytes), &key, &bundle, &e);
    CHECK(well == (e.code == ERR_NONE));
    if (why && !CHECK(slice_has(slice_of(e.text), why)))
        printf("  says \"%s\", want \"%s\"\n", e.text, why);
    return well;
}

static void keys(void)
{
    static const char head[] = "\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";
    unsigned char point[TLS_P256_POINT];
    br_ec_public_key public;
    struct err e = {0}, none = {0}, other = {0};
    struct buf der, pem;
    buf_init(&der, KIB);
    buf_init(&pem, KIB);
    CHECK_INT(br_ec_compute_pub(br_ec_get_default(), &public, point, &private_key), sizeof point);
    buf_put(&der, (struct slice){head, sizeof head - 1});
    buf_put(&der, (struct slice){(const char *)point, sizeof point});
    buf_put(&pem, SLICE("-----BEGIN PUBLIC KEY-----\n"));
    base64_encode(buf_slice(&der), &pem);
    buf_put(&pem, SLICE("\n-----END PUBLIC KEY-----\n"));
    CHECK(tls_key_load(buf_slice(&pem), &key, &e));
    CHECK_INT(strlen(key.fingerprint), 64);
    CHECK(!tls_key_load(SLICE("hello"), &key, &none) && slice_has(slice_of(none.text), "no public key found"));
    CHECK(!tls_key_load(SLICE("-----BEGIN PUBLIC KEY-----\nMAAA\n-----END PUBLIC KEY-----\n"), &key, &other));
    CHECK(slice_has(slice_of(other.text), "want one on P-256"));
    buf_free(&der);
    buf_free(&pem);
}

static void flips(struct slice good)
{
    struct rng r;
    struct buf copy;
    unsigned taken = 0;
    rng_seed(&r, 1);
    buf_init(&copy, MIB);
    for (unsigned i = 0; i < FLIPS; i++) {
        buf_clear(&copy);
        buf_put(&copy, good);
        /* half of them among the bytes that the signature does not cover */
        uint64_t bit = rng_below(&r, (i % 2 ? BUNDLE_SIGNED : good.len) * 8);
        copy.ptr[bit / 8] = (char)(copy.ptr[bit / 8] ^ (1 << bit % 8));
        struct err e = {0};
        taken += bundle_open(buf_slice(&copy), &key, &bundle, &e);
    }
    test_case("flips");
    CHECK_INT(taken, 0);
    for (size_t n = 0; n < good.len; n += 97)
        taken += opens(slice_head(good, n), NULL);
    CHECK_INT(taken, 0);
    buf_free(&copy);
}

static mode_t mode_of(const char *folder, const char *name)
{
    char path[256];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return lstat(path, &st) == 0 ? st.st_mode & (S_IFMT | 0777) : 0;
}

/* `bundle` is the sound one. */
static void unpacked(void)
{
    char folder[] = "/tmp/mobula-bundle-XXXXXX", to[64], file[64], command[64];
    struct arena a = {0};
    struct err e = {0};
    mode_t mask = umask(022);
    if (!mkdtemp(folder))
        fatal("no folder in /tmp");
    snprintf(to, sizeof to, "%s/to", folder);
    snprintf(file, sizeof file, "%s/to/bin/arm64/mobula", folder);
    test_case("unpacked");
    CHECK(bundle_unpack(&bundle, slice_of(to), &e) || !printf("  %s\n", e.text));
    CHECK_STR(read_file(file, &a), "bin/arm64/mobula");
    CHECK_INT(mode_of(to, "bin/arm64/mobula"), S_IFREG | 0755);
    CHECK_INT(mode_of(to, "manifests/crds.yaml"), S_IFREG | 0644);
    test_case("into a folder that exists");
    CHECK(!bundle_unpack(&bundle, slice_of(to), &e));
    CHECK(slice_has(slice_of(e.text), "File exists: want a folder that is not there yet"));
    test_case("a file where a folder is needed");
    struct bundle *bad = arena_new(&a, struct bundle);
    bad->files[bad->count++] = (struct tar_file){SLICE("a"), SLICE("x")};
    bad->files[bad->count++] = (struct tar_file){SLICE("a/b"), SLICE("x")};
    snprintf(to, sizeof to, "%s/bad", folder);
    e = (struct err){0};
    CHECK(!bundle_unpack(bad, slice_of(to), &e));
    CHECK(slice_has(slice_of(e.text), "/bad is not complete: delete it, and load again. What was in the way: a/b: Not a directory"));
    test_case("a file that exists stays");
    e = (struct err){0};
    CHECK(!bundle_write(file, SLICE("other"), &e) && slice_has(slice_of(e.text), "File exists"));
    CHECK_STR(read_file(file, &a), "bin/arm64/mobula");
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK_INT(system(command), 0);
    umask(mask);
    arena_free(&a);
}

static void sound(void)
{
    struct buf body, all;
    buf_init(&body, MIB);
    buf_init(&all, MIB);
    put_body(&body, COUNT_OF(parts), false);
    put_end(&body);
    put_signed(&all, buf_slice(&body));
    test_case("sound");
    CHECK(opens(buf_slice(&all), NULL));
    CHECK_INT(bundle.count, COUNT_OF(parts) + 1);
    CHECK_STR(bundle_find(&bundle, SLICE("bin/arm64/mobula"))->content, "bin/arm64/mobula");
    unpacked();
    flips(buf_slice(&all));
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        test_case("without %s", parts[i]);
        for (int listed = 0; listed < 2; listed++) {
            buf_clear(&body);
            put_body(&body, i, listed);
            put_end(&body);
            put_signed(&all, buf_slice(&body));
            CHECK(!opens(buf_slice(&all), listed ? "SHA256SUMS" : "is missing"));
            CHECK(!opens(buf_slice(&all), "ask who signed it"));
            if (listed && i == COUNT_OF(parts) - 1)
                CHECK(!opens(buf_slice(&all), parts[i]));
        }
    }
    buf_free(&body);
    buf_free(&all);
}

/* Signed, and still not taken. */
static void strange(void)
{
    static const struct {
        const char *name, *why;
        char type;
        size_t size;
    } cases[] = {
        {"m/../../etc/passwd", "not a name", '0', 0},
        {"/etc/passwd", "not a name", '0', 0},
        {"m/a//b", "not a name", '0', 0},
        {"m/./a", "not a name", '0', 0},
        {"m/a\nb", "not a name", '0', 0},
        {"m/link", "is a link", '2', 0},
        {"m/hard", "is a link", '1', 0},
        {"m/folder/", "is a link", '5', 0},
        {"m/fifo", "is a link", '6', 0},
        {"m/long", "is a link", 'L', 0},
        {"m/bomb", "is larger", '0', 077777777777},
        {"m/LICENSE", "is in it twice", '0', 0},
        {"other/file", "not in the bundle's", '0', 0},
        {"file", "not in the bundle's", '0', 0},
        {"m/extra", "not what SHA256SUMS", '0', 0},
    };
    struct buf body, all;
    buf_init(&body, MIB);
    buf_init(&all, MIB);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("strange %s", cases[i].name);
        buf_clear(&body);
        put_body(&body, COUNT_OF(parts), false);
        put_member(&body, cases[i].name, cases[i].type, cases[i].size, SLICE(""));
        put_end(&body);
        put_signed(&all, buf_slice(&body));
        CHECK(!opens(buf_slice(&all), cases[i].why));
        CHECK(!opens(buf_slice(&all), "ask who signed it"));
    }
    test_case("bytes behind the end");
    buf_clear(&body);
    put_body(&body, COUNT_OF(parts), false);
    put_end(&body);
    buf_put(&body, SLICE("x"));
    put_signed(&all, buf_slice(&body));
    CHECK(!opens(buf_slice(&all), "behind the tar's end"));
    test_case("too many");
    buf_clear(&body);
    for (unsigned i = 0; i <= BUNDLE_FILES_MAX; i++) {
        char name[32];
        snprintf(name, sizeof name, "m/%u", i);
        put_member(&body, name, '0', 0, SLICE(""));
    }
    put_signed(&all, buf_slice(&body));
    CHECK(!opens(buf_slice(&all), "BUNDLE_FILES_MAX"));
    buf_free(&body);
    buf_free(&all);
}

static void archives(void)
{
    struct buf tar;
    buf_init(&tar, MIB);
    test_case("a file of anybody's tar");
    put_member(&tar, "blobs/", '5', 0, SLICE_NONE);
    put_member(&tar, "./blobs/a", '0', 5, SLICE("hello"));
    put_member(&tar, "blobs/b", '0', 600, SLICE_NONE);
    CHECK_STR(tar_find(guarded(buf_slice(&tar)), SLICE("blobs/a")), "hello");
    CHECK(!tar_find(guarded(buf_slice(&tar)), SLICE("blobs/b")).ptr); /* larger than the rest */
    CHECK(!tar_find(guarded(buf_slice(&tar)), SLICE("blobs/")).ptr);
    for (size_t n = 0; n < tar.len; n += 7)
        tar_find(guarded(slice_head(buf_slice(&tar), n)), SLICE("blobs/c"));
    buf_free(&tar);
    static const struct {
        const char *text, *name, *tag;
    } names[] = {{"docker.io/rayproject/ray:2.52.0-py311@sha256:00", "ray", "2.52.0-py311"},
                 {"r:5000/a/mobula:0.1.0", "mobula", "0.1.0"},
                 {"ray:2", "ray", "2"},
                 {"r:5000/ray", NULL, NULL},
                 {"", NULL, NULL},
                 {"a/:1", NULL, NULL}};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct slice name, tag;
        test_case("the name \"%s\"", names[i].text);
        bool well = image_name_split(slice_of(names[i].text), &name, &tag);
        CHECK(well == (names[i].name != NULL));
        if (well) {
            CHECK_STR(name, names[i].name);
            CHECK_STR(tag, names[i].tag);
        }
    }
}

/* ---- making one ---- */

static void put_path(const char *folder, const char *name, struct slice content)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    if (!f || fwrite(content.ptr, 1, content.len, f) != content.len || fclose(f) != 0)
        fatal("%s cannot be written", path);
}

/* body and bundle of the folder; what opens it says of it. */
static bool made(const char *folder, struct buf *body, struct buf *all, struct err *e)
{
    struct arena a = {0};
    char bytes[80];
    buf_clear(body);
    buf_clear(all);
    bool well = bundle_body(slice_of(folder), &a, body, e) && bundle_sign(buf_slice(body), signature_of(buf_slice(body), bytes), all, e) &&
                bundle_open(buf_slice(all), &key, &bundle, e);
    arena_free(&a);
    return well;
}

/* Whatever order the folder's files come in, a bundle that is taken; nothing but plain files with short names goes into one. */
static void created(void)
{
    char folder[] = "/tmp/mobula-bundle-XXXXXX", m[64], longest[128], path[256];
    struct buf body, all;
    struct err e = {0};
    buf_init(&body, MIB);
    buf_init(&all, MIB);
    if (!mkdtemp(folder))
        fatal("no folder in /tmp");
    snprintf(m, sizeof m, "%s/m-1/", folder);
    for (size_t i = COUNT_OF(parts); i-- > 0;)
        put_path(m, parts[i], slice_of(parts[i]));
    put_path(m, "SHA256SUMS", SLICE("of another day\n"));
    put_path(m, "z/empty", SLICE(""));
    test_case("of a folder");
    CHECK(made(m, &body, &all, &e) || !printf("  %s\n", e.text));
    CHECK_INT(bundle.count, COUNT_OF(parts) + 2);
    CHECK_STR(bundle.folder, "m-1");
    CHECK_STR(bundle_find(&bundle, SLICE("bin/amd64/mobula"))->content, "bin/amd64/mobula");
    CHECK(bundle_find(&bundle, SLICE("z/empty")) && slice_empty(bundle_find(&bundle, SLICE("z/empty"))->content));
    test_case("a part that is missing");
    snprintf(path, sizeof path, "%sLICENSE", m);
    CHECK(unlink(path) == 0 && !made(m, &body, &all, &e));
    CHECK(slice_has(slice_of(e.text), "LICENSE is missing"));
    test_case("a link");
    e = (struct err){0};
    CHECK(symlink("/etc/hostname", path) == 0 && !made(m, &body, &all, &e) && slice_has(slice_of(e.text), "plain files only"));
    CHECK(unlink(path) == 0);
    for (size_t n = TAR_NAME_MAX - 1; n <= TAR_NAME_MAX; n++) { /* with "m-1/" */
        test_case("a name of %zu bytes", n);
        e = (struct err){0};
        memset(longest, 'n', sizeof longest);
        longest[n - strlen("m-1/")] = '\0';
        put_path(m, longest, SLICE("x"));
        CHECK(!made(m, &body, &all, &e) && slice_has(slice_of(e.text), n < TAR_NAME_MAX ? "LICENSE is missing" : "at most 99 bytes"));
    }
    test_case("no folder, no signature");
    e = (struct err){0};
    CHECK(!made("/tmp/mobula-bundle-none", &body, &all, &e) && slice_has(slice_of(e.text), "No such file"));
    e = (struct err){0};
    buf_clear(&all);
    char more[2 * TAR_BLOCK] = {0};
    CHECK(!bundle_sign(SLICE("x"), (struct slice){more, TAR_BLOCK + 1}, &all, &e) && slice_has(slice_of(e.text), "no signature on P-256"));
    snprintf(path, sizeof path, "rm -r %s", folder);
    CHECK_INT(system(path), 0);
    buf_free(&body);
    buf_free(&all);
}

int main(void)
{
    keys();
    created();
    sound();
    strange();
    archives();
    return test_done();
}
