#include <mobula/command.h>
#include <mobula/kube.h>

struct tls_trust *way_trust(struct slice file, const char *flag, struct arena *a, struct err *e)
{
    const char *const *bundle = kube_system_bundles;
    struct slice pem, from = slice_empty(file) ? slice_of(*bundle) : arena_dup(a, file);
    uint32_t count, skipped;
    struct err ignored = {0};
    bool read = cli_read_file(from, a, &pem, slice_empty(file) ? &ignored : e);
    while (!read && slice_empty(file) && *++bundle)
        read = cli_read_file(slice_of(*bundle), a, &pem, &ignored);
    if (!read && slice_empty(file))
        err_put(e, ERR_IO, "this machine has no CA bundle");
    struct tls_trust *trust = read ? tls_trust_load(pem, &count, &skipped, e) : NULL;
    if (!trust)
        err_wrap(e, "%s %s", flag, from.ptr);
    return trust;
}

bool way_find(struct net_allow *allow, struct endpoint *at, struct net_proxy *proxy, const char *setting, struct arena *a, struct err *e)
{
    bool use = false;
    struct net_proxies p = net_proxies_environment();
    if (!net_allow_add(allow, at->host, at->port, setting, e) || (at->tls && !net_proxy_for(&p, at->host, at->port, a, proxy, &use, e)))
        return false;
    at->proxy = use ? proxy : NULL;
    return !use || net_allow_add(allow, proxy->host, proxy->port, "HTTPS_PROXY or MOBULA_PROXIES", e);
}
