/* mobula egress: the flags, and the printing of list and notes. */
#include "egress.h"

#include <stdio.h>

static const struct flag list[] = {
#define AT(field) offsetof(struct egress_options, field)
    {"format", FLAG_TEXT, AT(format), "text|networkpolicy|cilium|azure-firewall|squid|nftables"},
    {"namespace", FLAG_TEXT, AT(ns), "NS"},
    {"watch-namespace", FLAG_LIST, AT(watch), "NS[,NS...]"},
    {"all-namespaces", FLAG_SWITCH, AT(all_namespaces), NULL},
    {"ray-access", FLAG_TEXT, AT(ray_access), "direct|service|proxy"},
    {"head-ports", FLAG_LIST, AT(head_ports), "PORT[,PORT...]"},
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE"},
    {"context", FLAG_TEXT, AT(context), "NAME"},
    {"api-server", FLAG_TEXTS, AT(api_servers), "HOST[:PORT]"},
    {"control-plane-url", FLAG_TEXT, AT(plane_url), "URL"},
    {"sts-url", FLAG_TEXT, AT(sts), "URL"},
    {"proxy", FLAG_TEXT, AT(proxies.https), "URL"},
    {"no-proxy", FLAG_LIST, AT(proxies.none), "LIST"},
    {"proxies", FLAG_LIST, AT(proxies.table), "ENTRY=URL|direct[,...]"},
    {"bucket", FLAG_TEXT, AT(bucket.url), "URL"},
    {"bucket-endpoint", FLAG_TEXT, AT(bucket.endpoint), "URL"},
    {"bucket-region", FLAG_TEXT, AT(bucket.region), "NAME"},
    {"bucket-virtual-host", FLAG_SWITCH, AT(bucket.virtual_host), NULL},
    {"bucket-secret", FLAG_TEXT, AT(bucket.secret), "NAME"},
    {"egress-allow", FLAG_TEXTS, AT(entries), "HOST[:PORT][,...]"},
    {"profile", FLAG_TEXTS, AT(profiles), "NAME"},
    {"cloud-id", FLAG_TEXTS, AT(cloud_ids), "ID[,ID...]"},
    {"ray-version", FLAG_TEXT, AT(ray_version), "VERSION"},
    {"strict", FLAG_SWITCH, AT(strict), NULL},
    {"source", FLAG_TEXTS, AT(sources), "CIDR[,CIDR...]"},
#undef AT
};

const struct flags egress_flags = {
    .usage = "mobula egress [--format FORMAT] [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
};

int cli_egress(int argc, char **argv)
{
    struct egress_options o = egress_defaults();
    int status;
    if (!flags_parse(&egress_flags, argc, argv, &o, &status))
        return status;
    struct err e = {0};
    __attribute__((cleanup(buf_free))) struct buf out, notes;
    buf_init(&out, MIB);
    buf_init(&notes, MIB);
    if (!egress_write(&o, &out, &notes, &e))
        return slice_starts(slice_of(e.text), SLICE("--")) ? flags_wrong(&egress_flags, "%s", e.text) : cli_fail(&e);
    for (struct slice rest = buf_slice(&notes); !slice_empty(rest);) {
        struct slice line = slice_cut(&rest, '\n');
        fprintf(stderr, "mobula: %.*s\n", SLICE_ARG(line));
    }
    return cli_print(buf_slice(&out)) ? STATUS_OK : STATUS_ERROR;
}
