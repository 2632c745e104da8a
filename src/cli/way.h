/* Connection settings of a server that a command calls: trusted CAs, proxy and entry in the allowlist. */
#ifndef MOBULA_CLI_WAY_H
#define MOBULA_CLI_WAY_H

#include <mobula/net.h>

/* Loads trusted CAs from a PEM file; empty: this machine's. flag: the setting's name, for the error. NULL with *e. */
struct tls_trust *way_trust(struct slice file, const char *flag, struct arena *a, struct err *e);
/* Adds the server to the allowlist, finds its proxy in the environment, parses it into *proxy and adds it, too. setting: the server's, for
 * the error. Texts lie in a. */
bool way_find(struct net_allow *allow, struct endpoint *at, struct net_proxy *proxy, const char *setting, struct arena *a, struct err *e);

#endif
