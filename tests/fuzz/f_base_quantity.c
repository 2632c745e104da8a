/* A quantity that is understood is written in its canonical form and understood again as the same value. */
#include <mobula/base.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = {(const char *)data, size};
    static const int decimals[] = {0, 3, 9};
    for (size_t i = 0; i < COUNT_OF(decimals); i++) {
        int64_t value, back;
        char text[QUANTITY_TEXT_MAX];
        struct err e = {0};
        if (!quantity_parse(in, decimals[i], &value, &e)) {
            if (e.code == ERR_NONE)
                abort();
            continue;
        }
        for (enum quantity_form form = QUANTITY_DECIMAL; form <= QUANTITY_EXPONENT; form++) {
            struct slice canonical = quantity_format(value, decimals[i], form, text);
            bool long_digits = !quantity_parse(canonical, decimals[i], &back, &e); /* 19 digits can be written, not read */
            if (long_digits ? e.code != ERR_LIMIT : back != value)
                abort();
            e = (struct err){0};
        }
    }
    return 0;
}
