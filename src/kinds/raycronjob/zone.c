/* Time zones: files of the time zone database, and the rules at their end for times that the file does not list. Offsets are bounded, so
 * that no sum of them with a time of the calendar overflows. */
#include "schedule.h"

enum { DAY_S = 24 * 3600, OFFSET_MAX_S = 26 * 3600, RULE_AT_MAX_S = 167 * 3600 };
static const int64_t CHANGE_MAX_S = INT64_C(1) << 40; /* some 35,000 years */

bool zone_name_valid(struct slice name)
{
    char before = '/';
    if (slice_empty(name) || name.len > ZONE_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool inner = (c >= '0' && c <= '9') || c == '_' || c == '+' || c == '-' || c == '/';
        if (!letter && !(inner && before != '/'))
            return false;
        before = c;
    }
    return before != '/';
}

void zone_utc(struct zone *out)
{
    *out = (struct zone){.rules = true};
}

/* ---- the rules at the end: "CET-1CEST,M3.5.0,M10.5.0/3" ---- */

static bool take(struct slice *s, char c)
{
    if (slice_empty(*s) || s->ptr[0] != c)
        return false;
    *s = slice_skip(*s, 1);
    return true;
}

static bool take_number(struct slice *s, int64_t least, int64_t most, int64_t *out)
{
    size_t n = 0;
    *out = 0;
    while (n < s->len && n < 4 && s->ptr[n] >= '0' && s->ptr[n] <= '9')
        *out = *out * 10 + (s->ptr[n++] - '0');
    *s = slice_skip(*s, n);
    return n > 0 && *out >= least && *out <= most;
}

/* "[+-]hh[:mm[:ss]]" in seconds. */
static bool take_time(struct slice *s, int64_t most_h, int32_t *out)
{
    int64_t h, m = 0, sec = 0;
    bool minus = take(s, '-');
    if (!minus)
        take(s, '+');
    if (!take_number(s, 0, most_h, &h) || (take(s, ':') && !take_number(s, 0, 59, &m)) || (take(s, ':') && !take_number(s, 0, 59, &sec)))
        return false;
    *out = (int32_t)((h * 3600 + m * 60 + sec) * (minus ? -1 : 1));
    return true;
}

/* "CET" or "<+0330>". */
static bool take_name(struct slice *s)
{
    bool quoted = take(s, '<');
    size_t n = 0;
    while (n < s->len) {
        char c = s->ptr[n];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool inner = quoted && ((c >= '0' && c <= '9') || c == '+' || c == '-');
        if (!letter && !inner)
            break;
        n++;
    }
    *s = slice_skip(*s, n);
    return n >= 3 && (!quoted || take(s, '>'));
}

static bool take_rule(struct slice *s, struct zone_rule *r)
{
    int64_t month = 0, week = 0, day = 0;
    *r = (struct zone_rule){.at_s = 2 * 3600};
    bool well;
    if (take(s, 'M')) {
        r->how = ZONE_RULE_WEEKDAY;
        well = take_number(s, 1, 12, &month) && take(s, '.') && take_number(s, 1, 5, &week) && take(s, '.') && take_number(s, 0, 6, &day);
    } else if (take(s, 'J')) {
        r->how = ZONE_RULE_JULIAN;
        well = take_number(s, 1, 365, &day);
    } else {
        r->how = ZONE_RULE_DAY;
        well = take_number(s, 0, 365, &day);
    }
    r->month = (int)month;
    r->week = (int)week;
    r->day = (int)day;
    return well && (!take(s, '/') || take_time(s, RULE_AT_MAX_S / 3600, &r->at_s));
}

/* Offsets are written with the sign of POSIX: what has to be added to the zone's time to get UTC. */
static bool read_rules(struct slice text, struct zone *out)
{
    int32_t west;
    if (!take_name(&text) || !take_time(&text, 24, &west))
        return false;
    out->rules = true;
    out->standard_s = out->summer_s = -west;
    if (slice_empty(text))
        return true;
    if (!take_name(&text))
        return false;
    out->summer_s = out->standard_s + 3600;
    if (!slice_empty(text) && text.ptr[0] != ',') {
        if (!take_time(&text, 24, &west))
            return false;
        out->summer_s = -west;
    }
    return take(&text, ',') && take_rule(&text, &out->begins) && take(&text, ',') && take_rule(&text, &out->ends) && slice_empty(text);
}

/* When the rule's moment is in a year, by a clock that is so much ahead of UTC. */
static int64_t rule_moment(const struct zone_rule *r, int year, int32_t ahead_s)
{
    int64_t day;
    if (r->how == ZONE_RULE_WEEKDAY) {
        int64_t first = time_days((struct time_civil){year, r->month, 1});
        int64_t next =
            r->month == 12 ? time_days((struct time_civil){year + 1, 1, 1}) : time_days((struct time_civil){year, r->month + 1, 1});
        int weekday = (int)((first % 7 + 11) % 7);
        day = first + (r->day - weekday + 7) % 7 + (r->week - 1) * 7;
        while (day >= next)
            day -= 7;
    } else {
        int64_t first = time_days((struct time_civil){year, 1, 1});
        bool leap = time_days((struct time_civil){year + 1, 1, 1}) - first == 366;
        bool behind = leap && r->how == ZONE_RULE_JULIAN && r->day >= 60;
        day = first + r->day - (r->how == ZONE_RULE_JULIAN) + behind;
    }
    return day * DAY_S + r->at_s - ahead_s;
}

/* By the rules: of the moments around the year of s, the last one that is not behind it decides, and the next one ends it. */
static int32_t offset_by_rules(const struct zone *z, int64_t s, int64_t *until_s)
{
    int year = time_civil(s / DAY_S - (s % DAY_S < 0)).year;
    int64_t last = INT64_MIN, next = INT64_MAX;
    int32_t offset = z->standard_s;
    if (z->begins.how == ZONE_RULE_NONE) {
        *until_s = INT64_MAX;
        return offset;
    }
    for (int y = year - 1; y <= year + 1; y++) {
        const int64_t at[] = {rule_moment(&z->begins, y, z->standard_s), rule_moment(&z->ends, y, z->summer_s)};
        for (size_t i = 0; i < COUNT_OF(at); i++) {
            if (at[i] <= s && at[i] >= last) {
                last = at[i];
                offset = i == 0 ? z->summer_s : z->standard_s;
            } else if (at[i] > s && at[i] < next) {
                next = at[i];
            }
        }
    }
    *until_s = next;
    return offset;
}

/* ---- the file ---- */

static uint64_t big_endian(const char *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | (unsigned char)p[i];
    return v;
}

enum { HEADER = 44, TYPE = 6 };
struct counts {
    size_t is_utc, is_standard, leaps, changes, types, chars;
};

/* Takes a header and returns how long the data behind it is, with times of so many bytes. */
static bool take_header(struct slice *file, size_t time_size, struct counts *c, size_t *size)
{
    if (file->len < HEADER || memcmp(file->ptr, "TZif", 4) != 0 || file->ptr[4] < '2')
        return false;
    const char *p = file->ptr + 20;
    *c = (struct counts){big_endian(p, 4),      big_endian(p + 4, 4),  big_endian(p + 8, 4),
                         big_endian(p + 12, 4), big_endian(p + 16, 4), big_endian(p + 20, 4)};
    *file = slice_skip(*file, HEADER);
    *size = c->changes * (time_size + 1) + c->types * TYPE + c->chars + c->leaps * (time_size + 4) + c->is_standard + c->is_utc;
    return *size <= file->len && c->changes <= ZONE_CHANGES_MAX && c->types >= 1 && c->types <= ZONE_TYPES_MAX;
}

static bool read_changes(const char *data, const struct counts *c, struct zone *out)
{
    const char *kinds = data + c->changes * 8, *types = kinds + c->changes;
    int32_t offsets[ZONE_TYPES_MAX] = {0};
    for (size_t i = 0; i < c->types; i++) {
        offsets[i] = (int32_t)(uint32_t)big_endian(types + i * TYPE, 4);
        if (offsets[i] < -OFFSET_MAX_S || offsets[i] > OFFSET_MAX_S)
            return false;
    }
    out->first_s = offsets[0];
    for (size_t i = 0; i < c->changes; i++) {
        int64_t at = (int64_t)big_endian(data + i * 8, 8);
        size_t kind = (unsigned char)kinds[i];
        if (kind >= c->types || at > CHANGE_MAX_S || (i > 0 && at <= out->change_s[i - 1]))
            return false;
        out->change_s[i] = at < -CHANGE_MAX_S ? -CHANGE_MAX_S + (int64_t)i : at;
        out->offset_s[i] = offsets[kind];
    }
    out->change_count = (uint32_t)c->changes;
    return true;
}

bool zone_read(struct slice file, struct zone *out, struct err *e)
{
    struct counts c;
    size_t size;
    *out = (struct zone){0};
    bool well = file.len <= ZONE_FILE_MAX && take_header(&file, 4, &c, &size);
    if (well) {
        file = slice_skip(file, size); /* the same with times of 32 bits, for old readers */
        well = take_header(&file, 8, &c, &size) && read_changes(file.ptr, &c, out);
    }
    if (well) {
        struct slice rest = slice_skip(file, size), rules;
        well = take(&rest, '\n') && slice_find(rest, '\n') >= 0;
        rules = slice_head(rest, well ? (size_t)slice_find(rest, '\n') : 0);
        well = well && (slice_empty(rules) || read_rules(rules, out));
    }
    if (!well)
        *out = (struct zone){0};
    return well || err_set(e, ERR_SYNTAX, "is no file of the time zone database (TZif, version 2 or later)");
}

int32_t zone_offset(const struct zone *z, int64_t s, int64_t *until_s)
{
    uint32_t low = 0, high = z->change_count; /* changes before `low` are not behind s */
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (z->change_s[mid] <= s)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == z->change_count && z->rules)
        return offset_by_rules(z, s, until_s);
    *until_s = low < z->change_count ? z->change_s[low] : INT64_MAX;
    return low ? z->offset_s[low - 1] : z->first_s;
}
