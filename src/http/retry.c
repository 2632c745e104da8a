#include <mobula/http.h>

#include <stdio.h>

enum { RETRY_MAX_MS = 60 * 60 * 1000 };

static const char days[] = "ThuFriSatSunMonTueWed", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec"; /* 1970 began on a Thursday */

void http_date_write(int64_t wall_us, char out[HTTP_DATE])
{
    char text[TIME_TEXT_MAX];
    struct slice t = time_format(wall_us, text); /* 1994-11-06T08:49:37Z */
    int64_t day = wall_us / 1000000 / (24 * 3600) % 7;
    int month = (t.ptr[5] - '0') * 10 + t.ptr[6] - '1';
    snprintf(out, HTTP_DATE, "%.3s, %.2s %.3s %.4s %.8s GMT", days + 3 * day, t.ptr + 8, months + 3 * month, t.ptr, t.ptr + 11);
}

/* "Sun, 06 Nov 1994 08:49:37 GMT", the one form that RFC 9110 lets a sender write. It is rewritten as RFC 3339, which base reads. */
bool http_date(struct slice s, int64_t *wall_us)
{
    enum { LEN = 29, DAY = 5, MONTH = 8, YEAR = 12, CLOCK = 17 };
    if (s.len != LEN || !slice_ends(s, SLICE(" GMT")) || s.ptr[3] != ',')
        return false;
    for (size_t m = 0; m < 12; m++) {
        if (memcmp(s.ptr + MONTH, months + 3 * m, 3) != 0)
            continue;
        char text[TIME_TEXT_MAX];
        int len = snprintf(text, sizeof text, "%.4s-%02zu-%.2sT%.8sZ", s.ptr + YEAR, m + 1, s.ptr + DAY, s.ptr + CLOCK);
        return len > 0 && time_parse((struct slice){text, (size_t)len}, wall_us, NULL);
    }
    return false;
}

int64_t http_retry_after_ms(const struct http_reader *r, int64_t wall_us)
{
    struct slice value = http_header_get(r, SLICE("retry-after"));
    int64_t seconds = 0, at_us = 0;
    if (slice_int(value, &seconds) && seconds >= 0)
        return seconds < RETRY_MAX_MS / 1000 ? seconds * 1000 : RETRY_MAX_MS;
    if (!http_date(value, &at_us))
        return -1;
    int64_t ms = (at_us - wall_us) / 1000;
    if (ms < 0)
        return 0;
    return ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS;
}
