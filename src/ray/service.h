/* Shared by the builders of services. */
#ifndef MOBULA_RAY_SERVICE_H
#define MOBULA_RAY_SERVICE_H

#include "build.h"

/* Ports of a service. Neither a name nor a number may appear twice in one; who comes first stays. */
struct service_port {
    struct slice name;
    int32_t port;
    struct jval target;    /* not there: the same as port */
    struct slice protocol; /* empty: TCP */
    struct slice raw;      /* the user's own text for it, or empty */
};

struct service_ports {
    struct arena *arena;
    struct service_port *list;
    uint32_t count;
};

struct service_ports ports_new(struct arena *a, size_t most);
bool ports_add(struct service_ports *p, struct service_port port); /* false: name or number is taken */
void ports_sort(struct service_ports *p);                          /* by name */
/* app_protocol: "tcp" or NULL */
void ports_write(const struct service_ports *p, const char *app_protocol, struct jout *w);

/* service.c: writes the whole Service with its hash as RAY_ANNOTATION_HASH, so that a user's change is noticed although the server's copy
 * has more fields than were sent. */
bool service_finish(const struct owner *owner, struct slice name, struct jval metadata, const struct pairs *labels,
                    struct pairs *annotations, struct slice spec, struct arena *a, struct buf *out, struct err *e);

/* service_v1.c, service_legacy.c: the members of the service's spec, and its labels and annotations. */
void v1_head_service(struct jout *w, const struct ray_cluster *c, struct pairs *labels, struct pairs *annotations);
void legacy_head_service(struct jout *w, const struct ray_cluster *c, struct arena *a);
struct service_ports v1_ports(const struct ray_cluster *c, struct arena *a);
struct service_ports legacy_ports(const struct ray_cluster *c, struct arena *a);

#endif
