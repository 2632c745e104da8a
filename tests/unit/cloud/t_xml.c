/* The reader of XML answers, and lists of objects. */
#include "../json/cases.h"

#include <mobula/cloud.h>

static void expect_list(struct slice xml, const struct case_text *c)
{
    struct arena a = {0};
    struct cloud_list list;
    struct err e = {0};
    struct slice want = case_part(c, "list"), bad = slice_trim(case_part(c, "bad")), text = SLICE("");
    bool read = cloud_list_read(xml, &a, &list, &e);
    CHECK(read == !bad.ptr);
    if (bad.ptr && !CHECK(slice_has(slice_of(e.text), arena_dup(&a, bad).ptr)))
        printf("  %s\n", e.text);
    for (uint32_t i = 0; read && i < list.count; i++)
        text = arena_printf(&a, "%.*s%.*s %lld\n", SLICE_ARG(text), SLICE_ARG(list.objects[i].key), (long long)list.objects[i].size);
    if (read && !slice_empty(list.next))
        text = arena_printf(&a, "%.*snext %.*s\n", SLICE_ARG(text), SLICE_ARG(list.next));
    if (read)
        CHECK_SLICE(slice_trim(text), slice_trim(want));
    arena_free(&a);
}

static void test_cases(void)
{
    struct arena a = {0};
    struct slice file = read_file("tests/data/cloud/xml.case", &a);
    for (struct case_text c; case_next(&file, &c);) {
        struct slice xml = guarded(slice_trim(case_part(&c, "xml"))), value = slice_trim(case_part(&c, "text"));
        struct slice no = slice_trim(case_part(&c, "no"));
        if (case_part(&c, "list").ptr || case_part(&c, "bad").ptr)
            expect_list(xml, &c);
        if (value.ptr) {
            struct slice name = slice_cut(&value, '=');
            CHECK_SLICE(cloud_xml_text(xml, arena_dup(&a, name).ptr, &a), value);
        }
        CHECK(!no.ptr || !cloud_xml_text(xml, arena_dup(&a, no).ptr, &a).ptr);
    }
    arena_free(&a);
}

static void test_depth(void)
{
    struct arena a = {0};
    struct buf b = {.max = KIB};
    test_case("LIMIT_CLOUD_XML nested elements, and one more");
    for (int more = 0; more < 2; more++) {
        struct cloud_xml x = {0};
        struct slice name, text;
        struct err e = {0};
        enum cloud_xml_step step;
        buf_clear(&b);
        for (int i = 0; i < LIMIT_CLOUD_XML + more; i++)
            buf_put(&b, SLICE("<a>"));
        for (int i = 0; i < LIMIT_CLOUD_XML + more; i++)
            buf_put(&b, SLICE("</a>"));
        x.rest = guarded(buf_slice(&b));
        while ((step = cloud_xml_next(&x, &a, &name, &text, &e)) < CLOUD_XML_END)
            ;
        CHECK_INT(step, more ? CLOUD_XML_BAD : CLOUD_XML_END);
        CHECK_INT(e.code, more ? ERR_LIMIT : ERR_NONE);
    }
    buf_free(&b);
    arena_free(&a);
}

int main(void)
{
    test_cases();
    test_depth();
    return test_done();
}
