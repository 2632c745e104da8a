#include <mobula/kube.h>

#include <stdio.h>

/* At most 19 digits: etcd counts revisions in an int64, so a longer number is no resourceVersion of this world. */
enum { VERSION_DIGITS_MAX = 19 };

bool kube_version_parse(struct slice text, uint64_t *out)
{
    if (slice_empty(text) || text.len > VERSION_DIGITS_MAX || text.ptr[0] == '0')
        return false;
    uint64_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    if (n > INT64_MAX)
        return false;
    *out = n;
    return true;
}

struct slice kube_version_format(uint64_t version, char out[KUBE_VERSION_TEXT])
{
    if (version == 0)
        return SLICE("");
    return (struct slice){out, (size_t)snprintf(out, KUBE_VERSION_TEXT, "%llu", (unsigned long long)version)};
}
