/* Inside ray: the parts that the readers of RayClusters and RayJobs are made of. */
#ifndef MOBULA_RAY_READER_H
#define MOBULA_RAY_READER_H

#include <mobula/ray.h>

/* The model before anything is read: the head's defaults, and ports. */
void cluster_clear(struct ray_cluster *c);

/* ---- the two kinds; each fills *c from spec ---- */

void read_v1(struct reader *r, const struct place *spec, struct ray_cluster *c);
void read_legacy(struct reader *r, const struct place *spec, struct ray_cluster *c);
/* Clamps, suspends, counts: the same for both. spec is where too many pods are complained of. */
void read_desired(struct reader *r, const struct place *spec, struct ray_cluster *c);

/* Rules between fields that only the first kind has. */
void check_v1(struct reader *r, const struct place *spec, struct ray_cluster *c);
void check_v1_features(struct reader *r, const struct place *spec);
void check_auth(struct reader *r, const struct place *spec, struct ray_cluster *c);        /* auth.c; reads it too */
void check_tls_options(struct reader *r, const struct place *spec, struct ray_cluster *c); /* tls.c; likewise */
void check_v1_group(struct reader *r, const struct place *spec, const struct place *group, const struct ray_cluster *c,
                    struct ray_group *g);

/* params.c: errors for rayStartParams that `ray start` refuses; notes on parameters that the group's Ray version does not know. */
void check_params(struct reader *r, const struct place *group, const struct ray_cluster *c, bool head);
void note_params(struct reader *r, const struct place *spec, const struct place *group, struct slice image);
/* Errors for which Ray would refuse a runtime environment, which is JSON here; at: where it stands. */
void check_runtime_env(struct reader *r, const struct place *at, struct slice json);
/* Likely mistakes in the groups of a cluster: for ray_notes. */
void note_groups(struct reader *r, const struct place *spec);
/* Notes on images that cannot be pulled and variables set twice. pod: a PodSpec. */
void note_containers(struct reader *r, const struct place *pod);

/* ingress.c: errors in the options of the head's Ingress, and notes on it. */
void read_ingress(struct reader *r, const struct place *head);
void note_ingress(struct reader *r, const struct place *annotations, const struct place *head);

/* Finds the autoscaler of a cluster: sidecar.c. */
void read_scaler(struct reader *r, const struct place *annotations, struct ray_cluster *c);
void read_tools_resources(struct reader *r, const struct place *annotations);
void read_roll(struct reader *r, const struct place *annotations, bool scaled, struct ray_cluster *c); /* RAY_ANNOTATION_ROLL */

/* The groups' hashes, when everything else is read. */
void hash_groups(struct ray_cluster *c, struct arena *a);

#endif
