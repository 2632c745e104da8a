#include <mobula/base.h>

#include <stdio.h>
#include <time.h>

/* Days are counted in the proleptic Gregorian calendar, with years that begin in March: the leap day is then the last of its year, and
 * a month's first day is a linear function of its number. An era is 400 years, after which everything repeats. */
enum {
    DAYS_PER_ERA = 146097,
    DAYS_TO_1970 = 719468, /* from 0000-03-01 */
    SECONDS_PER_DAY = 86400,
};
static const int64_t US = 1000000;
static const int64_t FIRST_US = -62167219200 * 1000000;    /* 0000-01-01T00:00:00Z */
static const int64_t LAST_US = 253402300800 * 1000000 - 1; /* the end of the year 9999 */

int64_t time_days(struct time_civil c)
{
    int64_t year = c.month > 2 ? c.year : c.year - 1;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (c.month > 2 ? c.month - 3 : c.month + 9) + 2) / 5 + c.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * DAYS_PER_ERA + day_of_era - DAYS_TO_1970;
}

struct time_civil time_civil(int64_t days)
{
    days += DAYS_TO_1970;
    int64_t era = (days >= 0 ? days : days - (DAYS_PER_ERA - 1)) / DAYS_PER_ERA;
    int64_t day_of_era = days - era * DAYS_PER_ERA;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / (DAYS_PER_ERA - 1)) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t march_month = (5 * day_of_year + 2) / 153;
    int month = (int)(march_month < 10 ? march_month + 3 : march_month - 9);
    return (struct time_civil){
        .year = (int)(year_of_era + era * 400) + (month <= 2),
        .month = month,
        .day = (int)(day_of_year - (153 * march_month + 2) / 5) + 1,
    };
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

struct now clock_now(void)
{
    struct timespec mono, wall;
    if (clock_gettime(CLOCK_MONOTONIC, &mono) != 0 || clock_gettime(CLOCK_REALTIME, &wall) != 0)
        fatal("the system has no clock");
    return (struct now){
        .mono_ms = (int64_t)mono.tv_sec * 1000 + mono.tv_nsec / 1000000,
        .wall_us = (int64_t)wall.tv_sec * US + wall.tv_nsec / 1000,
    };
}

static struct slice format(int64_t us, bool micro, char out[TIME_TEXT_MAX])
{
    us = us < FIRST_US ? FIRST_US : us > LAST_US ? LAST_US : us; /* the range of a year with four digits */
    int64_t since = us - FIRST_US, fraction = since % US, second = since / US % SECONDS_PER_DAY;
    struct time_civil c = time_civil((since + FIRST_US - fraction - second * US) / US / SECONDS_PER_DAY);
    int n = snprintf(out, TIME_TEXT_MAX, "%04d-%02d-%02dT%02d:%02d:%02d", c.year, c.month, c.day, (int)(second / 3600),
                     (int)(second / 60 % 60), (int)(second % 60));
    n += snprintf(out + n, TIME_TEXT_MAX - (size_t)n, micro ? ".%06dZ" : "Z", (int)fraction);
    return (struct slice){out, (size_t)n};
}

struct slice time_format(int64_t wall_us, char out[TIME_TEXT_MAX])
{
    return format(wall_us, false, out);
}

struct slice time_format_micro(int64_t wall_us, char out[TIME_TEXT_MAX])
{
    return format(wall_us, true, out);
}

/* Exactly `count` digits off the front of *s; -1 when they are not there. */
static int take_digits(struct slice *s, size_t count)
{
    if (s->len < count)
        return -1;
    int value = 0;
    for (size_t i = 0; i < count; i++) {
        if (s->ptr[i] < '0' || s->ptr[i] > '9')
            return -1;
        value = value * 10 + (s->ptr[i] - '0');
    }
    *s = slice_skip(*s, count);
    return value;
}

static bool take(struct slice *s, char c)
{
    if (slice_empty(*s) || s->ptr[0] != c)
        return false;
    *s = slice_skip(*s, 1);
    return true;
}

/* ".123456789": digits finer than a microsecond are read and dropped. */
static bool take_fraction(struct slice *s, int64_t *us)
{
    *us = 0;
    if (!take(s, '.'))
        return true;
    int digits = 0;
    for (int digit; (digit = take_digits(s, 1)) >= 0; digits++)
        if (digits < 6)
            *us = *us * 10 + digit;
    for (int i = digits; i < 6; i++)
        *us *= 10;
    return digits >= 1 && digits <= 9;
}

/* "Z", "+05:30" */
static bool take_offset(struct slice *s, int *seconds)
{
    *seconds = 0;
    if (take(s, 'Z') || take(s, 'z'))
        return true;
    int sign = take(s, '-') ? -1 : take(s, '+') ? 1 : 0;
    int hours = take_digits(s, 2);
    int minutes = take(s, ':') ? take_digits(s, 2) : -1;
    *seconds = sign * (hours * 3600 + minutes * 60);
    return sign != 0 && hours >= 0 && hours < 24 && minutes >= 0 && minutes < 60;
}

bool time_parse(struct slice rfc3339, int64_t *wall_us, struct err *e)
{
    struct slice s = rfc3339;
    struct time_civil c;
    int hour = -1, minute = -1, second = -1, offset = 0;
    int64_t us = 0;
    c.year = take_digits(&s, 4);
    c.month = take(&s, '-') ? take_digits(&s, 2) : -1;
    c.day = take(&s, '-') ? take_digits(&s, 2) : -1;
    if (take(&s, 'T') || take(&s, 't'))
        hour = take_digits(&s, 2);
    if (take(&s, ':'))
        minute = take_digits(&s, 2);
    if (take(&s, ':'))
        second = take_digits(&s, 2);
    bool shape = c.year >= 0 && c.month >= 0 && c.day >= 0 && hour >= 0 && minute >= 0 && second >= 0;
    if (!shape || !take_fraction(&s, &us) || !take_offset(&s, &offset) || !slice_empty(s))
        return err_set(e, ERR_SYNTAX, "time \"%.*s\": want the form 2026-11-21T03:04:05Z", SLICE_ARG(rfc3339));
    if (c.month < 1 || c.month > 12 || c.day < 1 || c.day > days_in_month(c.year, c.month) || hour > 23 || minute > 59 || second > 59)
        return err_set(e, ERR_RANGE, "time \"%.*s\": no such date or time of day", SLICE_ARG(rfc3339));
    *wall_us = (time_days(c) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second - offset) * US + us;
    return true;
}

struct slice time_format_age(int64_t seconds, char out[TIME_TEXT_MAX])
{
    enum { MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR, YEAR = 365 * DAY };
    /* Below each bound: how many of which unit, and of which smaller unit what is left over. */
    static const struct {
        int64_t below;
        int unit, rest;
        char unit_name[4], rest_name[4];
    } rows[] = {
        {2 * MINUTE, 1, 0, "s", ""},          {10 * MINUTE, MINUTE, 1, "min", "s"}, {3 * HOUR, MINUTE, 0, "min", ""},
        {8 * HOUR, HOUR, MINUTE, "h", "min"}, {2 * DAY, HOUR, 0, "h", ""},          {8 * DAY, DAY, HOUR, "d", "h"},
        {2LL * YEAR, DAY, 0, "d", ""},        {8LL * YEAR, YEAR, DAY, "y", "d"},    {INT64_MAX, YEAR, 0, "y", ""},
    };
    seconds = seconds < 0 ? 0 : seconds; /* clocks differ a little */
    size_t i = 0;
    while (i + 1 < COUNT_OF(rows) && seconds >= rows[i].below)
        i++;
    int n = snprintf(out, TIME_TEXT_MAX, "%lld %s", (long long)(seconds / rows[i].unit), rows[i].unit_name);
    int64_t rest = rows[i].rest ? seconds % rows[i].unit / rows[i].rest : 0;
    if (rest > 0)
        n += snprintf(out + n, TIME_TEXT_MAX - (size_t)n, " %lld %s", (long long)rest, rows[i].rest_name);
    return (struct slice){out, (size_t)n};
}

bool duration_parse(struct slice text, int64_t *ms, struct err *e)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 60 * 60 * 1000}, {"d", 24 * 60 * 60 * 1000}};

    int64_t sum = 0;
    struct slice rest = text;
    bool well = !slice_empty(text);
    while (well && !slice_empty(rest)) {
        size_t digits = 0, letters = 0;
        while (digits < rest.len && rest.ptr[digits] >= '0' && rest.ptr[digits] <= '9')
            digits++;
        while (digits + letters < rest.len && rest.ptr[digits + letters] >= 'a' && rest.ptr[digits + letters] <= 'z')
            letters++;
        int64_t n = 0, unit = 0;
        well = slice_int(slice_head(rest, digits), &n);
        for (size_t i = 0; i < COUNT_OF(units); i++)
            if (slice_eq((struct slice){rest.ptr + digits, letters}, slice_of(units[i].unit)))
                unit = units[i].ms;
        bool bare_zero = letters == 0 && n == 0 && digits == text.len;
        well = well && (unit != 0 || bare_zero) && !__builtin_mul_overflow(n, unit, &n) && !__builtin_add_overflow(sum, n, &sum);
        rest = slice_skip(rest, digits + letters);
    }
    if (!well)
        return err_set(e, ERR_SYNTAX, "\"%.*s\" is not a duration such as 500ms, 5s or 1m30s", SLICE_ARG(text));
    *ms = sum;
    return true;
}
