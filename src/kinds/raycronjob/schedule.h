/* When a RayCronJob is due: its schedule, five fields as cron has them, in its time zone. Pure functions of bytes and a time.
 *
 * The language is that of Kubernetes' CronJobs (robfig/cron, ParseStandard): minute, hour, day of the month, month, day of the week; each
 * `*`, `?`, a number, a range a-b, a step n of all, a-b/n or a/n (to the end of the range), or a list of these; months and days of the week
 * by their first three letters too; @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly; @every 1h30m. When both days are
 * given (neither begins with * or ?), either of them will do.
 *
 * A time is due when the clock in the zone shows it. So what falls into the hour that is left out in spring is not due that day, and what
 * falls into the hour that comes twice in autumn is due twice, as with Kubernetes' CronJobs. */
#ifndef MOBULA_RAYCRONJOB_SCHEDULE_H
#define MOBULA_RAYCRONJOB_SCHEDULE_H

#include <mobula/base.h>

/* ---- time zones ---- */

enum { ZONE_CHANGES_MAX = 2048, ZONE_TYPES_MAX = 256, ZONE_NAME_MAX = 64, ZONE_FILE_MAX = 64 * KIB };

/* One rule of a POSIX TZ text: when daylight-saving time begins, or ends. */
struct zone_rule {
    enum { ZONE_RULE_NONE, ZONE_RULE_JULIAN, ZONE_RULE_DAY, ZONE_RULE_WEEKDAY } how;
    int month, week, day; /* WEEKDAY: 1-12, 1-5 (5: the last one), 0-6; JULIAN: 1-365, never a leap day; DAY: 0-365 */
    int32_t at_s;         /* seconds after local midnight; may be negative or more than a day */
};

struct zone {
    uint32_t change_count;
    int64_t change_s[ZONE_CHANGES_MAX]; /* seconds since 1970, rising: from then on … */
    int32_t offset_s[ZONE_CHANGES_MAX]; /* … the zone is so much ahead of UTC */
    int32_t first_s;                    /* before the first change */
    bool rules;                         /* behind the last change the following hold; false: as after the last change */
    int32_t standard_s, summer_s;
    struct zone_rule begins, ends; /* NONE: no daylight-saving time */
};

/* "Europe/Berlin": letters, digits, _ + - and single slashes, no part that begins with a dot. */
bool zone_name_valid(struct slice name);
/* A file of the time zone database (TZif, RFC 8536, version 2 to 4). What is malformed anywhere gives nothing. */
bool zone_read(struct slice file, struct zone *out, struct err *e);
void zone_utc(struct zone *out);
/* Seconds ahead of UTC at a time, and until when that is so (INT64_MAX: for ever). */
int32_t zone_offset(const struct zone *z, int64_t s, int64_t *until_s);

/* ---- schedules ---- */

struct schedule {
    uint64_t minutes;          /* bits 0-59 */
    uint32_t hours, days;      /* bits 0-23; 1-31 */
    uint16_t months;           /* bits 1-12 */
    uint8_t weekdays;          /* bits 0-6, from Sunday */
    bool any_day, any_weekday; /* the field begins with * or ? */
    int64_t every_s;           /* @every; 0: none, and the fields above hold */
};

/* False with *e: which field, what stands there, and what would be right. A schedule below a minute is refused: names of jobs have the
 * minute in them. */
bool schedule_parse(struct slice text, struct schedule *out, struct err *e);
/* The first time after after_s at which it is due, in seconds since 1970; from_s: what @every counts from. INT64_MAX: none within
 * SCHEDULE_YEARS, as on the 30th of February. */
enum { SCHEDULE_YEARS = 8 }; /* a 29th of February may be eight years away */
int64_t schedule_next(const struct schedule *s, const struct zone *z, int64_t from_s, int64_t after_s);

/* The runs that are due in (after_s, until_s]: the last one, and how many there are; at most SCHEDULE_MISSED_MAX are counted. */
enum { SCHEDULE_MISSED_MAX = 100 };
struct schedule_due {
    int64_t last_s; /* INT64_MIN: none is due */
    uint32_t count;
    bool more;      /* than were counted: last_s is the last one all the same */
    int64_t next_s; /* the first one after until_s */
};
struct schedule_due schedule_due(const struct schedule *s, const struct zone *z, int64_t from_s, int64_t after_s, int64_t until_s);

#endif
