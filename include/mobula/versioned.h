/* versioned: names and values of a VersionedService that its decisions and the command line compute alike. Pure. */
#ifndef MOBULA_VERSIONED_FACTS_H
#define MOBULA_VERSIONED_FACTS_H

#include <mobula/base.h>

#define VERSIONED_API "mobula.dev/v1"
#define VERSIONED_KIND "VersionedService"
#define VERSIONED_LABEL "mobula.dev/versioned-service" /* label of the RayServices and routes of one: its name */
#define VERSIONED_HASH "mobula.dev/version-hash"       /* annotation of its RayServices: hash of the spec that they were given */
/* Annotation: the generation whose rollout is to be rolled back. One of another generation has no effect. */
#define VERSIONED_BACK "mobula.dev/rollback"
/* Annotation: another value asks for another token. The service's Secret has the hash of the value that was carried out last. */
#define VERSIONED_ROTATE "mobula.dev/rotate-token"
#define TOKEN_NOTE "mobula.dev/token-step"        /* annotation of that Secret: hash of VERSIONED_ROTATE, and time of the last step */
#define TOKEN_SUFFIX "-token"                     /* of its name, behind the service's */
#define VERSIONED_ISTIO_LIST "gateways"           /* of spec.istio */
#define VERSION_HEADER "X-Mobula-Version"         /* a request with it gets the version that it names … */
#define VERSION_HEADER_OTHER "X-ANYSCALE-VERSION" /* … and so does one with this */

/* Name of the RayService of a version. */
struct slice versioned_child_name(struct slice service, struct slice version, struct arena *a);

#endif
