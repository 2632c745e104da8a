/* Inside work: what the files that render workloads share. */
#ifndef MOBULA_WORK_RENDER_H
#define MOBULA_WORK_RENDER_H

#include <mobula/compute.h>
#include <mobula/work.h>

struct rendering {
    struct reader r;
    const struct workload_in *in;
    const struct work_options *o;
    const struct place *spec; /* of the workload */
    struct compute_config config;
    struct compute_pods pods;
    struct slice labels, files; /* a JSON object: of every object; a ConfigMap that the pods mount, or empty */
    struct spec_errors *notes;
};

/* Refuses unknown members instead of ignoring them: a member of a newer version may restrict the others. known: ended by NULL. */
void work_check_members(struct rendering *x, const struct place *object, const char *const *known);
/* The spec of a RayCluster, JSON in the arena. part: has compute config, image and environment, or else the workload's spec has them. form:
 * may have `suspend`. False: there were errors. */
bool work_render_cluster(struct rendering *x, const struct place *part, const struct place *form, struct slice *out);
/* service.c: the spec of a VersionedService. */
void work_put_service(struct rendering *x, const struct place *service, struct jout *w);

#endif
