/* Any JSON, and any text as a JSON string, can be written as YAML and read again. */
#include "yaml_steps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = {(const char *)data, size};
    struct arena a = {0};
    struct json doc;
    struct buf text;
    struct jout w;
    if (json_parse(&doc, in, &a, NULL))
        check_round_trip(in, &a);
    buf_init(&text, 20 * size + KIB); /* each byte up to six, three times */
    jout_init(&w, &text);
    jout_array(&w);
    jout_str(&w, in);
    jout_object(&w);
    jout_key(&w, in);
    jout_str(&w, in);
    jout_end(&w);
    jout_end(&w);
    check_round_trip(buf_slice(&text), &a);
    buf_free(&text);
    arena_free(&a);
    return 0;
}
