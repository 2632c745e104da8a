/* The short replies of a head's GCS, to a drain and to a health check: wherever they are cut or bent, an answer or an error in words, and
 * never a yes with an error. */
#include "src/heads/gcs.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = {(const char *)data, size}, words;
    struct err e = {0};
    bool accepted;
    bool ok = gcs_read_drain(in, &accepted, &words, &e);
    if (ok != (e.code == ERR_NONE) || (accepted && !ok))
        abort();
    if (ok && words.len && (words.ptr < in.ptr || words.ptr + words.len > in.ptr + in.len))
        abort();
    e = (struct err){0};
    ok = gcs_read_health(in, &e);
    if (ok != (e.code == ERR_NONE) || (!ok && !e.text[0]))
        abort();
    return 0;
}
