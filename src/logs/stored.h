/* Parts of reading stored logs: which objects they are, and what is done with each. */
#ifndef MOBULA_LOGS_STORED_H
#define MOBULA_LOGS_STORED_H

#include <mobula/logs.h>

enum { LOGS_CELL = 128 };

/* One object below logs/NAMESPACE/: a batch of a file. */
struct logs_segment {
    struct slice cluster, node, file, key, modified;
    uint64_t generation, start;
    int64_t size; /* bytes of the object */
};

struct logs_reading {
    const struct logs_bucket_options *o;
    const struct logs_sink *sink;
    struct storage s;
    struct slice prefix; /* of the names of the namespace's logs */
    uint32_t found;
    bool others; /* there are logs, if not those that the options ask for */
    /* the file whose segments are being read; they come in order */
    struct slice path; /* CLUSTER/NODE/FILE */
    uint64_t generation, next;
    struct slice modified;
    int64_t size;
    uint64_t skip; /* bytes that are not shown */
    int fd;        /* of a download; -1: none */
    struct arena a;
    struct buf packed, plain;
};

typedef bool logs_on_segment(struct logs_reading *r, const struct logs_segment *one, struct err *e);

/* names.c: names of stored objects. */

/* The object's name without `prefix` is CLUSTER/NODE/FILE and a batch of it, and is safe as a path. */
bool logs_segment_read(const struct cloud_object *o, struct slice prefix, struct logs_segment *out);
/* The pod's name and its uid are joined by a dot: either the pod's name or both are a node. Wanted is empty: any. */
bool logs_is_node(struct slice node, struct slice wanted);
/* Each star of `wanted` stands for any characters. It is empty: any file. */
bool logs_is_file(struct slice file, struct slice wanted);
/* Clusters of a RayJob or RayService have its name, a hyphen and five characters. */
bool logs_is_made_by(struct slice cluster, struct slice name);

/* segments.c: the objects that the options ask for. */

/* Call logs_reading_close also after a failure. */
bool logs_reading_open(struct logs_reading *r, const struct logs_bucket_options *o, const struct logs_sink *sink, struct slice ns,
                       struct err *e);
void logs_reading_close(struct logs_reading *r);
/* Hands out the segments below CLUSTER/NODE, a prefix of a node's name, that the options ask for, in the order of their files and of the
 * files' lines. */
bool logs_each_segment(struct logs_reading *r, struct slice cluster, const char *node, struct slice file, logs_on_segment *on,
                       struct err *e);
/* The same of all clusters of the job or service. */
bool logs_each_cluster(struct logs_reading *r, struct slice name, struct slice file, logs_on_segment *on, struct err *e);
/* CLUSTER/NODE/FILE of a segment, in r->a. */
struct slice logs_path_of(struct logs_reading *r, const struct logs_segment *one);
/* Whether the segment is of another file than the last one; r->path is set to it. */
bool logs_is_next_file(struct logs_reading *r, const struct logs_segment *one);
/* Replaces a text that outlives the arena of a page. */
void logs_keep(struct slice *to, struct slice text);

/* content.c: the content of segments, to the sink and to files. */
logs_on_segment logs_print_segment, logs_download_segment;

#endif
