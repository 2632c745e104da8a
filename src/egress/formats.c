/* The table of formats. */
#include "formats.h"

static const struct egress_format formats[] = {
    {"text", "", true, true, true, NULL},
    {"networkpolicy",
     "For the operator's pod: mobula egress --format networkpolicy | kubectl apply -f -\n"
     "Most network plugins compare the address behind a Service, not the Service's own: name both with --api-server.",
     true, false, false, egress_put_networkpolicy},
    {"cilium", "For the operator's pod: mobula egress --format cilium | kubectl apply -f -", true, true, true, egress_put_cilium},
    {"azure-firewall", NULL, false, true, false, egress_put_azure},
    {"squid",
     "For squid.conf, before its other http_access lines. A star stands for characters of one label.\n"
     "With --source, the last line refuses these machines all else.",
     false, true, true, egress_put_squid},
    {"nftables",
     "For the machine that the nodes' packets pass: nft -f FILE. With --source, all else from there is rejected.\n"
     "Name servers are not in it: nodes need theirs.",
     false, false, false, egress_put_nftables},
};

const struct egress_format *egress_format(struct slice name, struct err *e)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        if (slice_eq(name, slice_of(formats[i].name)))
            return &formats[i];
    err_set(e, ERR_CONFIG, "--format is \"%.*s\": want text, networkpolicy, cilium, azure-firewall, squid or nftables", SLICE_ARG(name));
    return NULL;
}
