/* The flags of mobula operator. */
#ifndef MOBULA_CLI_OPERATOR_FLAGS_H
#define MOBULA_CLI_OPERATOR_FLAGS_H

#include "cli.h"
#include "operator_bucket.h"

#include <mobula/kinds.h>
#include <mobula/operator.h>
#include <mobula/release.h>
#include <mobula/settings.h>

struct operator_flags {
    struct slice namespaces, kubeconfig, context, kinds, tools, tools_resources, autoscaler, submitter, ray_access, cluster_domain,
        zoneinfo;
    struct {
        struct slice health, status, metrics; /* addresses; empty: nowhere */
    } serve;
    struct {
        struct slice level, format;
    } log;
    struct slice sandbox;
    struct {
        struct slice ns, name, identity;
        int64_t lease_ms, renew_ms, retry_ms;
        bool elect;
    } lease;
    struct operator_configmap settings[LIMIT_SETTINGS]; /* by place in setting_kinds[] */
    struct default_patches defaults;
    struct {
        struct slice url, cloud, token, sts, ca, policy_file, image;
        struct slice agent, agent_addr, agent_url, agent_resources; /* of head pods */
        bool own;
    } plane; /* the control plane that is called */
    struct slice egress_ca;
    struct {
        struct slice gateway, gateway_ns, ingress_class, ca, hosts, domain;
        int64_t service_auth_ms;
    } route; /* of dashboards and services */
    struct bucket_options bucket;
    struct flag_texts egress, excluded;
    struct {
        int64_t spot_fallback_ms, spot_retry_ms, unscheduled_ms, zone_ms, starting_ms;
    } wait;
    bool all_namespaces, egress_strict;
    bool optional[LIMIT_KINDS]; /* by place in kinds[]: of optional kinds, whether they are run */
};

extern const struct flags operator_flags;           /* of a struct operator_flags */
void operator_flags_init(struct operator_flags *o); /* the defaults */
/* Errors that do not depend on the cluster: reported before any is looked for. */
bool operator_flags_check(const struct operator_flags *o, struct err *e);

#endif
