/* How an operator proves an identity of AWS to its control plane: --sts-url. */
#ifndef MOBULA_CLI_OPERATOR_CALLER_H
#define MOBULA_CLI_OPERATOR_CALLER_H

#include <mobula/kube.h>
#include <mobula/storage.h>

/* Zero-initialise it. All functions do nothing without a URL. */
struct operator_caller {
    struct storage s; /* signs for STS: credentials, and their renewal, are those of a bucket */
    struct kube_config *plane;
    struct slice cloud;
    int64_t sign_ms; /* the next signature is due; TIME_NEVER: one is being made */
    struct log_limit log;
};
/* Reads credentials, and adds the servers that issue them to `allow`. plane: gets each proof as its token. */
bool operator_caller_read(struct operator_caller *c, struct slice url, struct slice cloud, struct kube_config *plane,
                          struct net_allow *allow, struct err *e);
void operator_caller_start(struct operator_caller *c, struct net *net);
int64_t operator_caller_step(struct operator_caller *c, struct now now); /* after every net_dispatch; returns when to call again */
void operator_caller_free(struct operator_caller *c);

#endif
