#include "schedule.h"

enum { MINUTE_S = 60, HOUR_S = 3600, DAY_S = 24 * HOUR_S, EVERY_MAX_YEARS = 100 };
#define EVERY_MAX_S ((int64_t)EVERY_MAX_YEARS * 366 * DAY_S)

/* ---- reading ---- */

struct field {
    const char *what;
    int least, most;
    const char *const *names; /* of least and what follows; NULL: none */
};

static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const weekday_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};
static const struct field fields[] = {{"minute", 0, 59, NULL},
                                      {"hour", 0, 23, NULL},
                                      {"day of the month", 1, 31, NULL},
                                      {"month", 1, 12, month_names},
                                      {"day of the week", 0, 6, weekday_names}};

/* Digits and nothing else; leading zeros are usual here. */
static bool read_number(struct slice text, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < text.len && i <= 9; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        *out = *out * 10 + (text.ptr[i] - '0');
    }
    return text.len > 0 && text.len <= 9;
}

static bool read_value(const struct field *f, struct slice text, int64_t *out)
{
    for (int i = 0; f->names && f->names[i]; i++)
        if (slice_eq_nocase(text, slice_of(f->names[i]))) {
            *out = f->least + i;
            return true;
        }
    return read_number(text, out);
}

/* "a-b/n": one piece of a list. */
static bool read_range(const struct field *f, struct slice piece, uint64_t *bits, bool *any, struct err *e)
{
    struct slice rest = piece, range = slice_cut(&rest, '/');
    bool stepped = rest.ptr != NULL, all = slice_is(range, "*") || slice_is(range, "?");
    struct slice high = range, low = slice_cut(&high, '-');
    int64_t from = f->least, to = f->most, step = 1;
    bool well = all || read_value(f, low, &from);
    if (!all && high.ptr)
        well = well && read_value(f, high, &to);
    else if (!all && !stepped)
        to = from;
    if (stepped)
        well = well && read_number(rest, &step) && step > 0;
    if (!well)
        return err_set(e, ERR_SYNTAX, "the %s \"%.*s\" cannot be read: write *, a number, a-b, a-b/n, */n or a list of these", f->what,
                       SLICE_ARG(piece));
    if (from < f->least || to > f->most || from > to)
        return err_set(e, ERR_SYNTAX, "the %s \"%.*s\" is not within %d-%d%s", f->what, SLICE_ARG(piece), f->least, f->most,
                       from > to && to >= f->least && from <= f->most ? ": it ends before it begins"
                       : to == 7 && f->most == 6                      ? ": Sunday is 0"
                                                 : "; the fields are minute, hour, day of the month, month, day of the week");
    *any |= all && step == 1;
    for (int64_t i = from; i <= to; i += step)
        *bits |= UINT64_C(1) << i;
    return true;
}

static bool read_field(const struct field *f, struct slice text, uint64_t *bits, bool *any, struct err *e)
{
    *any = false;
    *bits = 0;
    for (struct slice rest = text; rest.ptr;) {
        struct slice piece = slice_cut(&rest, ',');
        if (!read_range(f, piece, bits, any, e))
            return false;
    }
    return true;
}

static struct slice next_word(struct slice *rest)
{
    *rest = slice_trim(*rest);
    size_t n = 0;
    while (n < rest->len && rest->ptr[n] != ' ' && rest->ptr[n] != '\t')
        n++;
    struct slice word = slice_head(*rest, n);
    *rest = slice_skip(*rest, n);
    return word;
}

static bool read_fields(struct slice text, struct schedule *out, struct err *e)
{
    uint64_t bits[COUNT_OF(fields)];
    bool any[COUNT_OF(fields)];
    struct slice rest = text;
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        struct slice word = next_word(&rest);
        if (slice_empty(word))
            return err_set(e, ERR_SYNTAX, "has %zu fields and must have 5: minute, hour, day of the month, month, day of the week", i);
        if (!read_field(&fields[i], word, &bits[i], &any[i], e))
            return false;
    }
    if (!slice_empty(slice_trim(rest)))
        return err_set(e, ERR_SYNTAX, "has more than 5 fields: minute, hour, day of the month, month, day of the week");
    *out = (struct schedule){.minutes = bits[0],
                             .hours = (uint32_t)bits[1],
                             .days = (uint32_t)bits[2],
                             .months = (uint16_t)bits[3],
                             .weekdays = (uint8_t)bits[4],
                             .any_day = any[2],
                             .any_weekday = any[4]};
    return true;
}

/* "1h30m", as Go writes durations; parts below a second are not looked at. */
static bool read_every(struct slice text, struct schedule *out, struct err *e)
{
    static const struct {
        char unit;
        int64_t s;
    } units[] = {{'h', HOUR_S}, {'m', MINUTE_S}, {'s', 1}};
    int64_t total = 0, n;
    struct slice rest = text;
    bool well = !slice_empty(rest);
    while (well && rest.len) {
        size_t digits = 0, u = 0;
        while (digits < rest.len && rest.ptr[digits] >= '0' && rest.ptr[digits] <= '9')
            digits++;
        struct slice number = slice_head(rest, digits);
        rest = slice_skip(rest, digits);
        while (u < COUNT_OF(units) && !(rest.len && rest.ptr[0] == units[u].unit))
            u++;
        well = u < COUNT_OF(units) && read_number(number, &n);
        total += well ? n * units[u].s : 0;
        rest = slice_skip(rest, 1);
        well &= total <= EVERY_MAX_S;
    }
    if (total > EVERY_MAX_S)
        return err_set(e, ERR_SYNTAX, "\"@every %.*s\" is more than %d years", SLICE_ARG(slice_head(text, 80)), EVERY_MAX_YEARS);
    if (!well)
        return err_set(e, ERR_SYNTAX, "\"@every %.*s\" cannot be read: write a duration such as 1h30m", SLICE_ARG(text));
    if (total < MINUTE_S)
        return err_set(e, ERR_SYNTAX, "\"@every %.*s\" is less than a minute: a RayCronJob starts one job a minute at most",
                       SLICE_ARG(text));
    *out = (struct schedule){.every_s = total};
    return true;
}

bool schedule_parse(struct slice text, struct schedule *out, struct err *e)
{
    static const struct {
        const char *word, *fields;
    } words[] = {{"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
                 {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@hourly", "0 * * * *"}};
    text = slice_trim(text);
    if (slice_starts(text, SLICE("TZ=")) || slice_starts(text, SLICE("CRON_TZ=")))
        return err_set(e, ERR_SYNTAX, "names a time zone: write it into spec.timeZone");
    if (slice_starts(text, SLICE("@every ")))
        return read_every(slice_trim(slice_skip(text, sizeof "@every")), out, e);
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (slice_is(text, words[i].word))
            return read_fields(slice_of(words[i].fields), out, e);
    if (text.len && text.ptr[0] == '@')
        return err_set(e, ERR_SYNTAX,
                       "\"%.*s\" is unknown: write @yearly, @monthly, @weekly, @daily, @hourly, @every 1h30m, or five fields",
                       SLICE_ARG(text));
    return read_fields(text, out, e);
}

/* ---- when ---- */

static bool day_is_due(const struct schedule *s, struct time_civil day, int64_t days)
{
    bool of_month = s->days >> day.day & 1, of_week = s->weekdays >> ((days % 7 + 11) % 7) & 1; /* 1970-01-01 was a Thursday */
    return s->any_day || s->any_weekday ? of_month && of_week : of_month || of_week;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* How long from a local time until it is worth looking again; 0: it is due. */
static int64_t until_maybe(const struct schedule *s, int64_t local_s)
{
    int64_t days = floor_div(local_s, DAY_S), second = local_s - days * DAY_S;
    struct time_civil day = time_civil(days);
    if (!(s->months >> day.month & 1) || !day_is_due(s, day, days))
        return DAY_S - second;
    if (!(s->hours >> (second / HOUR_S) & 1))
        return HOUR_S - second % HOUR_S;
    return s->minutes >> (second / MINUTE_S % 60) & 1 ? 0 : MINUTE_S - second % MINUTE_S;
}

int64_t schedule_next(const struct schedule *s, const struct zone *z, int64_t from_s, int64_t after_s)
{
    if (s->every_s)
        return after_s < from_s ? from_s + s->every_s : from_s + ((after_s - from_s) / s->every_s + 1) * s->every_s;
    int64_t at = (floor_div(after_s, MINUTE_S) + 1) * MINUTE_S, last = at + (int64_t)SCHEDULE_YEARS * 366 * DAY_S;
    while (at < last) {
        int64_t until_s, wait = until_maybe(s, at + zone_offset(z, at, &until_s));
        if (wait == 0)
            return at;
        /* Where the clock is put in between, its time is looked at again. */
        at = at < until_s && until_s < at + wait ? (floor_div(until_s - 1, MINUTE_S) + 1) * MINUTE_S : at + wait;
    }
    return INT64_MAX;
}

struct schedule_due schedule_due(const struct schedule *s, const struct zone *z, int64_t from_s, int64_t after_s, int64_t until_s)
{
    struct schedule_due due = {.last_s = INT64_MIN};
    int64_t at = schedule_next(s, z, from_s, after_s);
    for (; at <= until_s && due.count < SCHEDULE_MISSED_MAX; at = schedule_next(s, z, from_s, at)) {
        due.last_s = at;
        due.count++;
    }
    due.more = at <= until_s;
    /* The last one stands near the end: backwards in steps that double, until one is found. */
    for (int64_t back = HOUR_S; due.more && at <= until_s; back *= 2) {
        int64_t from = until_s - back > at ? until_s - back : at - 1;
        int64_t found = INT64_MIN;
        for (int64_t t = schedule_next(s, z, from_s, from); t <= until_s; t = schedule_next(s, z, from_s, t))
            found = t;
        if (found != INT64_MIN) {
            due.last_s = found;
            break;
        }
    }
    due.next_s = schedule_next(s, z, from_s, until_s);
    return due;
}
