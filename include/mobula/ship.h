/* ship: stores Ray's log files in a bucket while they are written. `mobula agent` runs it beside Ray.
 *
 * Of each file in ROOT/session_…/logs the bytes beyond those in the bucket are read in batches, compressed and stored, one object a batch:
 * PREFIX FILE/GENERATION-START.gz. START is the offset of the batch in the file, GENERATION stays the same when Ray renames the file. The
 * bucket is the only state: after a restart the objects are listed, and shipping continues at their end. An object is stored only if there
 * is none of its name, so an attempt whose answer was lost, or a second agent, stores no line twice. */
#ifndef MOBULA_SHIP_H
#define MOBULA_SHIP_H

#include <mobula/cloud.h>
#include <mobula/tls.h>

struct ship_file {
    uint64_t generation; /* creation time in seconds, and 32 bits of a hash of inode and nanoseconds; sorts by time */
    char *name;          /* below the logs folder, as it was first seen */
    uint64_t size;       /* bytes of the file */
    uint64_t offset;     /* bytes that are in the bucket; of a recovered file: start of its last object */
    int64_t since_ms;    /* when the first byte beyond offset was seen; 0: there is none */
    int fd;              /* held while bytes are unshipped, so that a file that is removed can still be read; -1: none */
    bool recovered;      /* found in the bucket after a restart: the size of its last object is to be asked for */
    bool seen;           /* by the current scan */
    bool unreadable;
    uint8_t absences; /* scans in a row that have not seen it */
};

/* The table of files: sorted by generation. */
struct ship_files {
    struct slice root; /* Ray's folder, /tmp/ray */
    struct ship_file **list;
    uint32_t count, room, open; /* open: files with a descriptor */
    uint64_t lost_bytes, lost_lines;
    uint32_t left_out; /* files that the last scan left out: LIMIT_SHIP_FILES, or a name that no object can have */
    struct arena a;    /* of one scan */
};

void ship_files_free(struct ship_files *t);
/* Finds new files, new bytes and removed files. What was removed before it was shipped, and is not held open, is counted as lost. */
void ship_files_scan(struct ship_files *t, struct now now);
/* Adds an object found in the bucket: "FILE/GENERATION-START.gz". False: another name, or LIMIT_SHIP_FILES. */
bool ship_files_recover(struct ship_files *t, struct slice name);
/* The file that is to be shipped next: a whole batch is unshipped, or bytes are unshipped since flush_ms, or `all`. The one whose bytes
 * wait longest. NULL: none; *next_ms: when there may be one. */
struct ship_file *ship_files_due(struct ship_files *t, int64_t flush_ms, bool all, struct now now, int64_t *next_ms);
/* Reads the next batch, which ends with a line unless a line is longer than a batch, or the file has no end of line yet. False: the file
 * cannot be read, and its unshipped bytes are counted as lost. */
bool ship_file_read(struct ship_files *t, struct ship_file *f, bool all, struct buf *out);
void ship_file_shipped(struct ship_files *t, struct ship_file *f, uint64_t offset, struct now now);
struct slice ship_object(struct slice prefix, const struct ship_file *f, struct arena *a); /* name of the next batch's object */
/* Parses what ship_object has written behind the prefix. */
bool ship_object_read(struct slice text, struct slice *name, uint64_t *generation, uint64_t *start);

struct ship;
struct ship_options {
    const struct cloud_protocol *protocol;
    struct slice root, prefix; /* prefix: of object names, ends in a slash */
    int64_t flush_ms;          /* how long unshipped bytes wait for more */
};
struct ship *ship_new(struct cloud_store *store, const struct ship_options *o);
void ship_free(struct ship *s);
int64_t ship_step(struct ship *s, struct now now); /* after every net_dispatch; returns the monotonic ms of the next call */
/* The process is to end: ships all that is left. True: done, and no file has grown for SHIP_QUIET_MS. */
bool ship_stop(struct ship *s, struct now now);

/* ---- journals: lines of this process, in files beside those of pods ----
 *
 * Lines of a file wait up to JOURNAL_FLUSH_MS for more, and are one object then: PREFIX FILE/GENERATION-000000000000.gz. */

struct ship_journal;
/* prefix: of object names, ends in a slash; stays the caller's. */
struct ship_journal *ship_journal_new(struct net *net, const struct cloud_store_options *with, struct slice prefix);
void ship_journal_free(struct ship_journal *j);
/* Adds a line without its end. False: it is dropped, because the store does not take earlier ones (LIMIT_JOURNAL_HELD). */
bool ship_journal_add(struct ship_journal *j, struct slice file, struct slice line, struct now now);
int64_t ship_journal_step(struct ship_journal *j, struct now now); /* after every net_dispatch; returns the monotonic ms of the next call */
bool ship_journal_stop(struct ship_journal *j);                    /* stores without waiting for more lines; true: all are stored */

/* ---- retention ---- */

struct ship_expiry;
struct ship_expiry_options {
    const struct cloud_store_options *with;
    struct slice prefix; /* of the names of all logs, ends in a slash */
    int64_t keep_ms;     /* objects that were stored longer ago are deleted; 0: none for their age */
    uint64_t keep_bytes; /* the oldest ones above so many bytes are deleted; 0: none for that */
};
struct ship_expired {
    uint64_t objects, bytes, sweeps; /* deleted so far; bytes: as they are stored */
    struct err trouble;              /* of the last sweep */
};
/* Lists all objects every SHIP_EXPIRE_MS, and deletes one in SHIP_EXPIRE_PACE_MS. What o points at stays the caller's. */
struct ship_expiry *ship_expiry_new(struct net *net, const struct ship_expiry_options *o);
void ship_expiry_free(struct ship_expiry *x);
/* After every net_dispatch; returns the monotonic ms of the next call. lead: false begins no call. */
int64_t ship_expiry_step(struct ship_expiry *x, bool lead, struct now now);
const struct ship_expired *ship_expiry_done(const struct ship_expiry *x);

#endif
