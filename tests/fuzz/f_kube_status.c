/* Bodies of refusals. The first byte picks the code; the rest is the body. */
#include <mobula/kube.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct kube_status s;
    int code = 300 + data[0];
    kube_status_read(code, (struct slice){(const char *)data + 1, size - 1}, &s);
    if (s.code != code || s.retry_after_ms < -1 || s.retry_after_ms > 3600 * 1000)
        abort();
    if (!memchr(s.message, '\0', sizeof s.message) || !utf8_valid(slice_of(s.message)))
        abort(); /* it goes into conditions, events and log lines */
    return 0;
}
