/* Hosts and addresses of objects: tests/data/dns/records.case. */
#include "found.h"

/* Many addresses of one host: none is added behind LIMIT_DNS_ADDRESSES. */
static void limits(void)
{
    struct arena a = {0};
    struct buf out = {.max = MIB};
    struct err e = {0};
    struct jval object;
    test_case("limits");
    struct dns_options o = {.format = SLICE("zone"), .ttl = 300, .address = SLICE("")};
    for (int i = 0; i < 300; i++)
        o.address = arena_printf(&a, "%.*s%s10.0.%d.%d", SLICE_ARG(o.address), i ? "," : "", 100 + i / 100, 100 + i % 100);
    struct dns_records r = {.o = &o, .a = &a, .say = found_say, .gateway = found_gateway};
    buf_clear(&found_said);
    CHECK(json_read(&object,
                    SLICE("{\"metadata\":{\"namespace\":\"a\",\"name\":\"x\",\"annotations\":{\"mobula.dev/template-hash\":\"1\"}},"
                          "\"spec\":{\"hosts\":[\"x.example.org\"]}}"),
                    &a, &e));
    CHECK(dns_check(&o, &a, &e) && dns_add(&r, "VirtualService", object, &e));
    CHECK(r.first && r.first->to.len > LIMIT_DNS_ADDRESSES && r.first->to.len <= LIMIT_DNS_ADDRESSES + sizeof "10.0.100.100");
    CHECK(slice_has(buf_slice(&found_said), "said: 10.0.102.199 of VirtualService a/x is left out: there are other addresses"));
    CHECK(dns_write(&r, &out, &e) && !r.waits);
    out.max = out.len - 1;
    buf_clear(&out);
    CHECK(!dns_write(&r, &out, &e));
    CHECK_STR(slice_of(e.text), "there are more than 67108864 bytes of records (LIMIT_DNS_OUTPUT)");
    map_free(&r.found);
    buf_free(&out);
    arena_free(&a);
}

int main(void)
{
    run_cases("tests/data/dns/records.case", found_run);
    limits();
    return test_done();
}
