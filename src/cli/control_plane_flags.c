#include "control_plane.h"

#define AT(field) offsetof(struct control_plane_options, field)
static const struct flag list[] = {
    {"namespace", FLAG_LIST, AT(namespaces), "NS[,NS…]"},
    {"all-namespaces", FLAG_SWITCH, AT(all_namespaces), NULL},
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE"},
    {"context", FLAG_TEXT, AT(context), "NAME"},
    {"https-addr", FLAG_TEXT, AT(https), "[HOST]:PORT"},
    {"tls-cert", FLAG_TEXT, AT(cert), "FILE"},
    {"tls-key", FLAG_TEXT, AT(key), "FILE"},
    {"tls-secret", FLAG_TEXT, AT(secret), "NAME"},
    {"tls-name", FLAG_LIST, AT(names), "NAME[,...]"},
    {"replica-addr", FLAG_TEXT, AT(replica), "IP"},
    {"http-addr", FLAG_TEXT, AT(http), "HOST:PORT"},
    {"sts-url", FLAG_TEXT, AT(sts), "URL"},
    {"metrics-addr", FLAG_TEXT, AT(metrics), "[HOST]:PORT"},
    {"identity", FLAG_TEXT, AT(identity), "NAME"},
    TLS_FLAG,
    SANDBOX_FLAG(AT(sandbox)),
    {"log-level", FLAG_TEXT, AT(log_level), "debug|info|warn|error"},
    {"log-format", FLAG_TEXT, AT(log_format), "logfmt|json"},
};
#undef AT
const struct flags control_plane_flags = {
    .usage = "mobula control-plane [--namespace NS[,NS…]] [FLAG…]",
    .list = list,
    .count = COUNT_OF(list),
};

void control_plane_flags_init(struct control_plane_options *o)
{
    *o = (struct control_plane_options){.http = SLICE("127.0.0.1:8480"),
                                        .metrics = SLICE(":8080"),
                                        .sandbox = SLICE("auto"),
                                        .log_level = SLICE("info"),
                                        .log_format = SLICE("logfmt")};
}

/* Tokens do not go over a network in the clear. */
bool control_plane_flags_check(const struct control_plane_options *o, struct err *e)
{
    bool files = !slice_empty(o->cert) && !slice_empty(o->key);
    if (slice_empty(o->cert) != slice_empty(o->key) || (files && !slice_empty(o->secret)) ||
        (!slice_empty(o->https) && !files && slice_empty(o->secret)))
        return err_set(e, ERR_CONFIG,
                       "--https-addr needs --tls-secret, or --tls-cert and --tls-key, PEM files such as those of a mounted Secret of type "
                       "kubernetes.io/tls");
    struct slice address = o->http;
    return slice_empty(address) || slice_starts(address, SLICE("127.")) || slice_starts(address, SLICE("[::1]:")) ||
           slice_starts(address, SLICE("localhost:")) ||
           err_set(e, ERR_CONFIG,
                   "--http-addr: \"%.*s\" is no loopback address (127.0.0.1:PORT, [::1]:PORT), and tokens do not go over a "
                   "network in the clear",
                   SLICE_ARG(address));
}
