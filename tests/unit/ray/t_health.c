#include "../test.h"

#include <mobula/ray.h>

/* Frames of real answers (Ray 2.60), and what else may come. */
#define SETTINGS_F "000018040000000000000400400000000500400000000600004000fe0300000001"
#define EMPTY_SETTINGS "000000040000000000"
#define WINDOW "000004080000000000003f0001"
#define ACK "000000040100000000"
#define PING "0000080600000000000000000000000000"
#define HEAD                                                                                                                               \
    "00004f0104000000012088400c636f6e74656e742d74797065106170706c69636174696f6e2f677270634014677270632d6163636570742d656e636f64696e671769" \
    "64656e746974792c206465666c6174652c20677a6970"
#define SHORT_HEAD                                                                                                                         \
    "000001010400000001"                                                                                                                   \
    "88"
#define DATA_SERVING "00000700000000000100000000020801"
#define DATA_NOT_SERVING "00000700000000000100000000020802"
#define TRAILER_OK "00000f010500000001400b677270632d7374617475730130"
#define REAL SETTINGS_F WINDOW ACK WINDOW PING HEAD DATA_SERVING TRAILER_OK

static const struct {
    const char *id, *hex;
    enum ray_health want;
    const char *says; /* part of the error, or NULL */
} cases[] = {
    {"the real answer", REAL, RAY_HEALTH_SERVING, NULL},
    {"bytes behind it", REAL PING, RAY_HEALTH_SERVING, NULL},
    {"frames in another order", EMPTY_SETTINGS SHORT_HEAD PING DATA_SERVING WINDOW TRAILER_OK, RAY_HEALTH_SERVING, NULL},
    {"message in two frames",
     EMPTY_SETTINGS SHORT_HEAD "000003000000000001000000"
                               "0000040000000000010002"
                               "0801" TRAILER_OK,
     RAY_HEALTH_SERVING, NULL},
    {"padded data",
     EMPTY_SETTINGS SHORT_HEAD "00000a000800000001"
                               "02"
                               "00000000020801"
                               "0000" TRAILER_OK,
     RAY_HEALTH_SERVING, NULL},
    {"headers with priority",
     EMPTY_SETTINGS "000006012400000001"
                    "0000000010"
                    "88" DATA_SERVING TRAILER_OK,
     RAY_HEALTH_SERVING, NULL},
    {"unknown field first",
     EMPTY_SETTINGS SHORT_HEAD "00000b000000000001"
                               "00"
                               "00000006"
                               "12026869"
                               "0801" TRAILER_OK,
     RAY_HEALTH_SERVING, NULL},
    {"status by literal",
     EMPTY_SETTINGS "000005010400000001"
                    "0803323030" DATA_SERVING TRAILER_OK,
     RAY_HEALTH_SERVING, NULL},
    {"unimplemented: an older Ray",
     EMPTY_SETTINGS "000011010500000001"
                    "88"
                    "400b677270632d737461747573023132",
     RAY_HEALTH_SERVING, NULL},
    {"not serving", EMPTY_SETTINGS SHORT_HEAD DATA_NOT_SERVING TRAILER_OK, RAY_HEALTH_NOT, "not serving (health status 2)"},
    {"no status in the message",
     EMPTY_SETTINGS SHORT_HEAD "000005000000000001"
                               "0000000000" TRAILER_OK,
     RAY_HEALTH_NOT, "health status 0"},
    {"unauthenticated",
     EMPTY_SETTINGS "000023010500000001"
                    "88"
                    "400b677270632d737461747573023136"
                    "400c677270632d6d6573736167650361"
                    "6263",
     RAY_HEALTH_NOT, "gRPC status 16: abc"},
    {"HTTP 404",
     EMPTY_SETTINGS "000001010500000001"
                    "8d",
     RAY_HEALTH_NOT, "HTTP status 404"},
    {"no HTTP status", EMPTY_SETTINGS TRAILER_OK, RAY_HEALTH_NOT, "HTTP status 0"},
    {"stream reset",
     EMPTY_SETTINGS "000004030000000001"
                    "00000008",
     RAY_HEALTH_NOT, "HTTP/2 error 8"},
    {"going away",
     EMPTY_SETTINGS "000008070000000000"
                    "0000000000000000",
     RAY_HEALTH_NOT, "close"},
    {"no grpc-status",
     EMPTY_SETTINGS SHORT_HEAD "000007000100000001"
                               "00000000020801",
     RAY_HEALTH_BAD, "no grpc-status"},
    {"compressed message",
     EMPTY_SETTINGS SHORT_HEAD "000007000000000001"
                               "01000000020801" TRAILER_OK,
     RAY_HEALTH_BAD, "cannot be read"},
    {"message cut short",
     EMPTY_SETTINGS SHORT_HEAD "000006000000000001"
                               "000000000208" TRAILER_OK,
     RAY_HEALTH_BAD, "cannot be read"},
    {"Huffman",
     EMPTY_SETTINGS "00000a010500000001"
                    "0088be5f0b46cafe0130",
     RAY_HEALTH_BAD, "Huffman"},
    {"dynamic table",
     EMPTY_SETTINGS "000001010500000001"
                    "be",
     RAY_HEALTH_BAD, "table that is empty"},
    {"index 0",
     EMPTY_SETTINGS "000001010500000001"
                    "80",
     RAY_HEALTH_BAD, "table that is empty"},
    {"literal of the dynamic table",
     EMPTY_SETTINGS "000004010500000001"
                    "7e013000",
     RAY_HEALTH_BAD, "table that is empty"},
    {"field cut off",
     EMPTY_SETTINGS "000003010500000001"
                    "400b67",
     RAY_HEALTH_BAD, "cut off"},
    {"field without a value",
     EMPTY_SETTINGS "000003010500000001"
                    "400167",
     RAY_HEALTH_BAD, "cut off"},
    {"integer without end",
     EMPTY_SETTINGS "000006010500000001"
                    "ffffffffffff",
     RAY_HEALTH_BAD, "too long"},
    {"integer cut off",
     EMPTY_SETTINGS "000002010500000001"
                    "ffff",
     RAY_HEALTH_BAD, "cut off"},
    {"continuation",
     EMPTY_SETTINGS "000001010000000001"
                    "88",
     RAY_HEALTH_BAD, "second frame"},
    {"padding too long",
     EMPTY_SETTINGS "000002000800000001"
                    "0200",
     RAY_HEALTH_BAD, "padding"},
    {"padding of nothing", EMPTY_SETTINGS "000000000800000001", RAY_HEALTH_BAD, "padding"},
    {"priority of nothing",
     EMPTY_SETTINGS "000001012400000001"
                    "00",
     RAY_HEALTH_BAD, "padding"},
    {"HTTP/1.1", "485454502f312e3120343030204261642052657175657374", RAY_HEALTH_BAD, "SETTINGS"},
    {"Redis", "2d45525220756e6b6e6f776e20636f6d6d616e64", RAY_HEALTH_BAD, "SETTINGS"},
    {"TLS alert",
     "15030100020250"
     "0000000000",
     RAY_HEALTH_BAD, "SETTINGS"},
    {"frame at the limit", "00fff7040000000000", RAY_HEALTH_MORE, NULL},
    {"frame one past the limit", "00fff8040000000000", RAY_HEALTH_BAD, "LIMIT_RAY_HEALTH_ANSWER"},
};

static unsigned digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static struct slice from_hex(const char *hex, struct arena *a)
{
    size_t n = strlen(hex) / 2;
    char *out = arena_alloc(a, n + 1);
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    return (struct slice){out, n};
}

static void test_answers(void)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct err e = {0};
        test_case("%s", cases[i].id);
        struct slice answer = from_hex(cases[i].hex, &a);
        CHECK_INT(ray_health_read(guarded(answer), &e), cases[i].want);
        CHECK(cases[i].says ? strstr(e.text, cases[i].says) != NULL : e.code == ERR_NONE);
        if (cases[i].says && !strstr(e.text, cases[i].says))
            printf("  says: %s\n", e.text);
        /* Every beginning of an answer is either unfinished or as bad as the whole. */
        for (size_t n = 0; n < answer.len; n++) {
            enum ray_health part = ray_health_read(guarded(slice_head(answer, n)), NULL);
            if (part != RAY_HEALTH_MORE && part != cases[i].want) {
                CHECK_INT(part, cases[i].want);
                break;
            }
        }
        arena_free(&a);
    }
}

/* A message as long as ours may be, and one longer. */
static void test_long_message(void)
{
    static const struct {
        int bytes;
        enum ray_health want;
    } lengths[] = {{64 - 5 - 2 - 2, RAY_HEALTH_SERVING}, {64 - 5 - 2 - 1, RAY_HEALTH_BAD}};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        struct arena a = {0};
        int n = lengths[i].bytes;
        struct slice hex = arena_printf(&a,
                                        "%s%s%06x000000000001"
                                        "00%08x"
                                        "0801"
                                        "12%02x%0*d"
                                        "%s",
                                        EMPTY_SETTINGS, SHORT_HEAD, 5 + 4 + n, 4 + n, n, 2 * n, 0, TRAILER_OK);
        test_case("message of %d bytes", 5 + 4 + n);
        CHECK_INT(ray_health_read(guarded(from_hex(hex.ptr, &a)), NULL), lengths[i].want);
        arena_free(&a);
    }
}

static void test_request(void)
{
    struct arena a = {0};
    test_case("the request is the one that Ray 2.9, 2.40 and 2.60 were seen to answer");
    CHECK_SLICE(
        ray_health_request(),
        from_hex(
            "505249202a20485454502f322e300d0a0d0a534d0d0a0d0a00001204000000000000010000000000020000000000047fffffff0000040800000000003fffff"
            "ff"
            "0000450104000000018386041c2f677270632e6865616c74682e76312e4865616c74682f436865636b01036763730002746508747261696c6572730f1010"
            "6170706c69636174696f6e2f677270630000050001000000010000000000",
            &a));
    arena_free(&a);
}

int main(void)
{
    test_request();
    test_answers();
    test_long_message();
    return test_done();
}
