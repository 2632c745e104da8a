/* A time that is understood is written in UTC and understood again as the same instant. */
#include <mobula/base.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t us, back;
    char text[TIME_TEXT_MAX];
    struct err e = {0};
    if (!time_parse((struct slice){(const char *)data, size}, &us, &e)) {
        if (e.code == ERR_NONE)
            abort();
        return 0;
    }
    /* An offset may lead out of the four digits of a year, where the text is cut to what can be said. */
    bool sayable = us >= -62167219200000000 && us < 253402300800000000;
    if (!time_parse(time_format_micro(us, text), &back, NULL) || (sayable && back != us))
        abort();
    if (!time_parse(time_format(us, text), &back, NULL))
        abort();
    return 0;
}
