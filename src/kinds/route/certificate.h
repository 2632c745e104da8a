/* Inside route: certificates of host names. */
#ifndef MOBULA_ROUTE_CERTIFICATE_H
#define MOBULA_ROUTE_CERTIFICATE_H

#include "record.h"

#define ROUTE_MANAGED "app.kubernetes.io/managed-by" /* label of objects that the operator made; its value is the field manager */

enum tls_object { TLS_SECRET, TLS_GRANT, TLS_OBJECTS };

/* The last state of one object of a certificate: the Secret, or the ReferenceGrant for a Gateway of another namespace. */
struct tls_part {
    bool asking, known, there, write; /* write: it is to be created or replaced */
    uint32_t failures;                /* refused calls since it was last as wanted */
    int64_t again_ms;                 /* monotonic: it is read again */
    char version[32];                 /* resourceVersion */
    const struct istr *trouble;       /* NULL: none */
};

/* The certificate of one owner's route. Keys are only in requests and answers, which are wiped. */
struct route_tls {
    char owner[UID_TEXT_MAX + 1];
    const struct istr *ns, *name, *hosts, *field, *gateway_ns; /* as in struct route_tls_want */
    int64_t ends_us;                                           /* of the earliest certificate of the chain; 0: not known */
    bool ours;                                                 /* the operator made the Secret */
    struct tls_part part[TLS_OBJECTS];
};

/* The CA of the installation, in the operator's own namespace. */
struct route_ca {
    bool asking, known; /* known: pem was valid when it was last read */
    uint32_t failures;  /* failed calls since it was last read, and renewed if that was due */
    int64_t again_ms, ends_us;
    struct kube_ca pem;
    const struct istr *trouble;
};

struct certificates {
    struct map by_owner;
    struct route_ca ca;
};
struct certificates *certificates_of(const struct op *op);
void certificates_free(struct op *op, struct certificates *all);
int64_t certificates_look_ms(const struct op *op); /* between two reads of one object */
void certificates_touch(struct op *op);            /* the CA has changed: all that it signs is read again at once */

/* A Secret of type kubernetes.io/tls as JSON. version: of the one to replace; empty: it is created. owner: NULL: none. */
struct tls_secret {
    struct slice ns, name, cert, key, root;
    const char *version;
    const struct owner *owner;
};
void tls_secret_write(const struct tls_secret *s, struct buf *out);

const char *route_tls_hint(const struct kube_answer *a); /* the remedy of a missing right, before the refusal; empty: another failure */

/* authority.c: reads the CA when that is due, and makes the operator's own. Returns it if it can sign. */
const struct route_ca *route_ca_follow(struct op *op);

#endif
