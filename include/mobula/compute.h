/* compute: a compute config says which nodes a Ray cluster has; it becomes the spec of a RayCluster. Pure functions of bytes, in the room
 * shape. The format is the documents' own: docs/compute-configs.md. */
#ifndef MOBULA_COMPUTE_H
#define MOBULA_COMPUTE_H

#include <mobula/shape.h>

/* The container that runs Ray; advanced_instance_config calls it so, too. */
#define COMPUTE_CONTAINER "ray"

struct compute_node {
    struct slice name;             /* of its group; unique */
    struct slice type;             /* instance_type; empty: own */
    struct shape_type own;         /* required_resources, as a type of the group's name */
    struct jval resources, labels; /* logical resources and labels of the node in Ray; may be absent */
    struct jval advanced;          /* advanced_instance_config; may be absent */
    struct slice accelerator;      /* from required_labels */
    struct slice topology;
    struct slice market; /* ON_DEMAND, SPOT, PREFER_SPOT */
    int64_t min, max;    /* nodes, which are pods */
    int64_t hosts;       /* of one TPU slice; min and max are multiples of it */
    int64_t idle_s;      /* -1: not given */
};

struct compute_config {
    struct slice cloud;         /* empty: any */
    struct slice zones;         /* "a,b"; empty: any */
    struct slice zone_starting; /* flag zone_starting_timeout; empty: not given */
    bool cross_zone;            /* in all zones at once */
    struct compute_node head, *workers;
    uint32_t worker_count;
    struct jval advanced;       /* for every node; may be absent */
    int64_t idle_s, starting_s; /* -1: not given. The latter is workload_starting_timeout */
};

/* Reads a compute config that stands at `at`: every error at once goes to r->errors; false: there was one. notes: what is accepted and has
 * no effect; may be NULL. types: where hosts of TPU slices come from, and where an unknown instance type is an error; NULL: nothing is
 * known of types. All memory is r->arena's. */
bool compute_read(struct reader *r, const struct place *at, const struct shape_types *types, struct compute_config *out,
                  struct spec_errors *notes);
/* The one of no compute config: a head that does the work itself. */
void compute_default(struct compute_config *out, struct arena *a);

/* A subject that does not belong in a compute config. */
struct compute_pods {
    struct slice image, ray_version, pull_secret; /* the latter two may be empty */
    struct jval env;                              /* an object of texts for Ray's container; may be absent */
    struct slice labels;                          /* a JSON object: of every pod; empty: none */
    struct slice files;                           /* a ConfigMap that Ray's container of every pod mounts at COMPUTE_FILES; empty: none */
    bool suspend;
    bool tokenless; /* pods that name no service account get no token of the namespace's default one */
};
#define COMPUTE_FILES "/mobula/working-dir"
/* The spec of the RayCluster, JSON in a. False with *e: it is larger than LIMIT_JSON_ITEM, or a node's own containers leave nothing for
 * Ray. */
bool compute_render(const struct compute_config *config, const struct compute_pods *pods, struct arena *a, struct slice *out,
                    struct err *e);

#endif
