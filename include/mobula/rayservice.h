/* rayservice: names and times of a RayService that its decisions and the command line compute alike. Pure. */
#ifndef MOBULA_RAYSERVICE_FACTS_H
#define MOBULA_RAYSERVICE_FACTS_H

#include <mobula/spec.h>

#define RAYSERVICE_TIMEOUT "ray.io/initializing-timeout" /* annotation: a duration, or seconds */
enum { RAYSERVICE_DELETION_S = 60 };                     /* default of rayClusterDeletionDelaySeconds */

/* The name of the Service that clients of a RayService use; serve_service: spec.serveService. */
struct slice rayservice_serve_name(struct slice name, struct jval serve_service, struct arena *a);
/* Reads the value of RAYSERVICE_TIMEOUT. False: it is not a time above 0. */
bool rayservice_timeout_parse(struct slice text, int64_t *ms);
/* Wall time in microseconds at which that timeout begins: the RayService was created, was resumed, or lost its active cluster. */
int64_t rayservice_timeout_begin(int64_t created_us, struct jval status, struct arena *a);

/* A RayServiceSpec as another kind needs it that makes RayServices. */
struct rayservice_facts {
    struct slice config; /* serveConfigV2 as JSON; empty: none */
    uint64_t
        config_hash; /* of it, as status.*ServiceStatus.serveConfigHash tells once the applications in that status are of it; 0: none */
    int32_t port;    /* of its serve Service */
    bool in_steps;   /* its upgradeStrategy asks for routes of its own */
};
/* Collects all errors of the spec at this place. Returns whether there were none. */
bool rayservice_facts_read(const struct place *spec, struct arena *a, struct rayservice_facts *out, struct spec_errors *errors);
/* Notes on fields of the spec at this place that are accepted and have no effect; annotations: of the resource. */
void rayservice_spec_notes(const struct place *spec, struct jval annotations, struct arena *a, struct spec_errors *notes);
/* The configuration with target_capacity (below 0: without), in a. config: a RayService's, or what a head has told. */
struct slice rayservice_with_capacity(struct slice config, int32_t capacity, struct arena *a);

#endif
