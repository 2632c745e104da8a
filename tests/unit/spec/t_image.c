/* Image references: valid ones, and the error for each kind of invalid one. */
#include "../test.h"

#include <mobula/spec.h>

#define HEX32 "0123456789abcdef0123456789abcdef"
#define L64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
    const char *text, *bad; /* bad: how the error begins; NULL: the reference is valid */
} rows[] = {
    {"ray", NULL},
    {"rayproject/ray:2.52.0", NULL},
    {"rayproject/ray:2.52.0-py311-cu121", NULL},
    {"registry.example:5000/ray", NULL},
    {"registry.example:5000/a/b/ray:x@sha256:" HEX32 HEX32, NULL},
    {"localhost/ray", NULL},
    {"localhost:5000/ray", NULL},
    {"[fd00::1]:5000/ray:1", NULL},
    {"10.0.0.1:5000/ray", NULL},
    {"REGISTRY.example/ray", NULL},
    {"x/a.b_c__d---e/f", NULL},
    {"ray:_Tag.1-x", NULL},
    {"ray@sha512:" HEX32 HEX32 HEX32 HEX32, NULL},
    {"ray:" L64 L64, NULL},
    {"", "names no image"},
    {":1", "names no image"},
    {"a b;c", "has a blank"},
    {"ray\n", "has a blank"},
    {"r\xc3\xa4y", "has a blank"},
    {"https://registry.example/ray", "is a URL"},
    {"docker://ray", "is a URL"},
    {"Ray", "is no HOST/PATH:TAG"},
    {"rayproject/Ray", "is no HOST/PATH:TAG"},
    {"/ray", "is no HOST/PATH:TAG"},
    {"a//b", "is no HOST/PATH:TAG"},
    {"ray/", "is no HOST/PATH:TAG"},
    {"a..b/c", "begins with something that is no HOST"},
    {"a/b..c", "is no HOST/PATH:TAG"},
    {"a/b___c", "is no HOST/PATH:TAG"},
    {"a/b._c", "is no HOST/PATH:TAG"},
    {"a/-b", "is no HOST/PATH:TAG"},
    {"a/b;id", "is no HOST/PATH:TAG"},
    {"../../etc/x", "begins with something that is no HOST"},
    {"host:0/ray", "begins with something that is no HOST"},
    {"host:65536/ray", "begins with something that is no HOST"},
    {"host:/ray", "begins with something that is no HOST"},
    {"-host.x/ray", "begins with something that is no HOST"},
    {"[fd00::1/ray", "begins with something that is no HOST"},
    {"ray:", "has an empty tag"},
    {"ray:-x", "has a tag that"},
    {"ray:a/b", "begins with something that is no HOST"},
    {"ray:a b", "has a blank"},
    {"ray:" L64 L64 "a", "has a tag of more than 128"},
    {L64 L64 L64 L64, "has a name of more than 255"},
    {"ray@", "has a digest"},
    {"ray@sha256:" HEX32, "has a digest"},
    {"ray@sha256:" HEX32 "0123456789ABCDEF0123456789abcdef", "has a digest"},
    {"ray@sha256:" HEX32 HEX32 "@sha256:" HEX32 HEX32, "has a digest"},
    {"ray@md5:12", "has a digest"},
};

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err e = {0};
        test_case("image \"%s\"", rows[i].text);
        const char *bad = image_reference_bad(slice_of(rows[i].text));
        CHECK_INT(bad != NULL, rows[i].bad != NULL);
        CHECK(!bad || !rows[i].bad || slice_starts(slice_of(bad), slice_of(rows[i].bad)));
        CHECK_INT(image_reference_check(slice_of(rows[i].text), &e), !bad);
        if (bad && rows[i].bad && !slice_starts(slice_of(bad), slice_of(rows[i].bad)))
            printf("  %s: %s\n", rows[i].text, bad);
    }
    return test_done();
}
