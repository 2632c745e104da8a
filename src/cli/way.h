/* The way to a server that a command calls: the CAs that it is checked against, its proxy, and its place on the allowlist. */
#ifndef MOBULA_CLI_WAY_H
#define MOBULA_CLI_WAY_H

#include <mobula/net.h>

/* Of a file of PEM certificates; empty: the machine's own. NULL with *e. */
struct tls_trust *way_trust(struct slice file, const char *flag, struct arena *a, struct err *e);
/* The server goes on the allowlist, and so does the proxy to it, which is parsed into *proxy; memory in a. */
bool way_find(struct net_allow *allow, struct endpoint *at, struct net_proxy *proxy, const char *setting, struct arena *a, struct err *e);

#endif
