/* Sessions with GnuTLS's programs at the other end: every version, group, suite, signature, kind of certificate and of client certificate
 * that it has. */
#include "program.h"

#define ONLY(list, item) "-" list "-ALL:+" item
#define GROUP(g) ONLY("GROUP", "GROUP-" g)
#define SIGN(s) ONLY("SIGN", "SIGN-" s)
#define CIPHER(c) ONLY("CIPHER", c)
#define OLD "-VERS-ALL:+VERS-TLS1.2"
#define DEMAND "--require-client-cert --verify-client-cert --x509cafile " PKI "/"

static const struct {
    const char *name, *priority, *args, *client;
    const char *want; /* version, group, suite; NULL: the session fails */
} servers[] = {
    {"both", "+GROUP-X25519", "", NULL, "TLS 1.3 X25519 " AES128},
    {"both", GROUP("X25519"), "", NULL, "TLS 1.3 X25519 " AES128},
    {"both", GROUP("SECP256R1"), "", NULL, "TLS 1.3 secp256r1 " AES128},
    {"both", GROUP("SECP384R1"), "", NULL, "TLS 1.3 secp384r1 " AES128},
    {"both", GROUP("SECP521R1"), "", NULL, "TLS 1.3 secp521r1 " AES128},
    {"both", GROUP("X448"), "", NULL, NULL},
    {"both", GROUP("X25519") ":" CIPHER("AES-256-GCM"), "", NULL, "TLS 1.3 X25519 TLS_AES_256_GCM_SHA384"},
    {"both", GROUP("X25519") ":" CIPHER("CHACHA20-POLY1305"), "", NULL, "TLS 1.3 X25519 TLS_CHACHA20_POLY1305_SHA256"},
    {"both", GROUP("SECP384R1") ":" CIPHER("AES-256-GCM"), "", NULL, "TLS 1.3 secp384r1 TLS_AES_256_GCM_SHA384"},
    {"p384", GROUP("X25519"), "", NULL, "TLS 1.3 X25519 " AES128},
    {"rsa", GROUP("X25519") ":" SIGN("RSA-PSS-RSAE-SHA256"), "", NULL, "TLS 1.3 X25519 " AES128},
    {"rsa", GROUP("X25519") ":" SIGN("RSA-PSS-RSAE-SHA384"), "", NULL, "TLS 1.3 X25519 " AES128},
    {"rsa", GROUP("X25519") ":" SIGN("RSA-PSS-RSAE-SHA512"), "", NULL, "TLS 1.3 X25519 " AES128},
    {"pss256", GROUP("X25519"), "", NULL, "TLS 1.3 X25519 " AES128},
    {"rsa8192", GROUP("X25519"), "", NULL, "TLS 1.3 X25519 " AES128},
    {"both", GROUP("X25519"), DEMAND "ca.pem", "client-ec", "TLS 1.3 X25519 " AES128},
    {"both", GROUP("X25519"), DEMAND "ca.pem", "client-p384", "TLS 1.3 X25519 " AES128},
    {"both", GROUP("X25519"), DEMAND "ca.pem", "client-rsa", "TLS 1.3 X25519 " AES128},
    {"both", OLD ":" GROUP("X25519") ":" CIPHER("AES-128-GCM"), "", NULL, "TLS 1.2 X25519 ECDHE_ECDSA_AES_128_GCM_SHA256"},
    {"both", OLD ":" GROUP("SECP384R1") ":" CIPHER("AES-256-GCM"), "", NULL, "TLS 1.2 secp384r1 ECDHE_ECDSA_AES_256_GCM_SHA384"},
    {"rsa", OLD ":" GROUP("X25519") ":" CIPHER("AES-128-GCM"), "", NULL, "TLS 1.2 X25519 ECDHE_RSA_AES_128_GCM_SHA256"},
    {"rsa", OLD ":" GROUP("X25519") ":" CIPHER("CHACHA20-POLY1305"), "", NULL, "TLS 1.2 X25519 ECDHE_RSA_CHACHA20_POLY1305_SHA256"},
    {"rsa", OLD ":" GROUP("X25519") ":" CIPHER("AES-128-GCM") ":" SIGN("RSA-PSS-RSAE-SHA256"), "", NULL,
     "TLS 1.2 X25519 ECDHE_RSA_AES_128_GCM_SHA256"},
    {"both", OLD ":" GROUP("X25519") ":" CIPHER("AES-128-GCM"), DEMAND "ca.pem", "client-rsa",
     "TLS 1.2 X25519 ECDHE_ECDSA_AES_128_GCM_SHA256"},
    {"both", OLD ":" ONLY("KX", "RSA"), "", NULL, NULL},
    {"both", "-VERS-ALL:+VERS-TLS1.1", "", NULL, NULL},
};

/* A port that nothing listens on: gnutls-serv cannot choose one itself. */
static unsigned short free_port(void)
{
    unsigned short port;
    close(listener_on(&port));
    return port;
}

static void talk_to_server(size_t i)
{
    char command[1024];
    unsigned short port = free_port();
    test_case("gnutls-serv %s %s, client %s", servers[i].name, servers[i].priority, servers[i].client ? servers[i].client : "none");
    snprintf(command, sizeof command,
             "exec stdbuf -oL gnutls-serv --echo --port %u --x509certfile " PKI "/%s.pem --x509keyfile " PKI
             "/%s.key --priority NORMAL:%s %s",
             port, servers[i].name, servers[i].name, servers[i].priority, servers[i].args);
    struct child c = spawn(command);
    wait_for(&c, "done", "");
    talk(&c, dial(port), session(servers[i].name, servers[i].client), servers[i].want, "", "stressed\n");
}

static const struct {
    const char *name, *priority, *want;
} clients[] = {
    {"both", "+GROUP-X25519", "TLS 1.3 X25519 " AES128}, /* it sends key shares for P-256 and X25519 */
    {"both", GROUP("X25519"), "TLS 1.3 X25519 " AES128},
    {"both", GROUP("SECP256R1"), "TLS 1.3 secp256r1 " AES128},
    {"both", GROUP("SECP384R1"), "TLS 1.3 secp384r1 " AES128},
    {"both", GROUP("SECP521R1"), "TLS 1.3 secp521r1 " AES128},
    {"both", GROUP("X448:+GROUP-FFDHE2048:+GROUP-SECP384R1"), "TLS 1.3 secp384r1 " AES128}, /* by a HelloRetryRequest */
    {"both", GROUP("X448"), NULL},
    {"both", GROUP("X25519") ":" CIPHER("AES-256-GCM"), "TLS 1.3 X25519 TLS_AES_256_GCM_SHA384"},
    {"both", GROUP("X25519") ":" CIPHER("CHACHA20-POLY1305"), "TLS 1.3 X25519 TLS_CHACHA20_POLY1305_SHA256"},
    {"both", GROUP("X25519") ":" CIPHER("AES-128-CCM"), NULL},
    {"p384", GROUP("X25519"), "TLS 1.3 X25519 " AES128},
    {"rsa", GROUP("X25519"), "TLS 1.3 X25519 " AES128},
    {"rsa", GROUP("X25519") ":" SIGN("RSA-PSS-RSAE-SHA384:+SIGN-RSA-SHA256"), "TLS 1.3 X25519 " AES128},
    {"rsa", GROUP("X25519") ":" SIGN("RSA-PSS-RSAE-SHA512:+SIGN-RSA-SHA256"), "TLS 1.3 X25519 " AES128},
    {"both", GROUP("X25519") ":" SIGN("RSA-PSS-RSAE-SHA256"), NULL},
    {"both", OLD ":" GROUP("X25519") ":" CIPHER("AES-128-GCM"), "TLS 1.2 X25519 ECDHE_ECDSA_AES_128_GCM_SHA256"},
    {"both", OLD ":" GROUP("SECP384R1") ":" CIPHER("AES-256-GCM"), "TLS 1.2 secp384r1 ECDHE_ECDSA_AES_256_GCM_SHA384"},
    {"rsa", OLD ":" GROUP("X25519") ":" CIPHER("CHACHA20-POLY1305"), "TLS 1.2 X25519 ECDHE_RSA_CHACHA20_POLY1305_SHA256"},
    {"both", OLD ":" CIPHER("AES-128-CBC"), NULL},
    {"both", "-VERS-ALL:+VERS-TLS1.1", NULL},
};

static void talk_to_client(size_t i, int listener, unsigned short port)
{
    char command[1024];
    test_case("gnutls-cli %s to %s", clients[i].priority, clients[i].name);
    snprintf(command, sizeof command,
             "exec stdbuf -oL gnutls-cli --inline-commands --port %u --x509cafile " PKI
             "/%s --sni-hostname kubernetes.default.svc --verify-hostname kubernetes.default.svc --priority NORMAL:%s 127.0.0.1",
             port, ca_of(clients[i].name), clients[i].priority);
    struct child c = spawn(command);
    int fd = accept(listener, NULL, NULL);
    struct tls *t = serve(clients[i].name);
    move(t, fd, true);
    CHECK_INT(tls_state(t), clients[i].want ? TLS_OPEN : TLS_FAILED);
    if (tls_state(t) == TLS_OPEN && clients[i].want) {
        check_info(t, clients[i].want);
        wait_for(&c, "Simple Client Mode", "");
        CHECK(write(c.in, "hello\n", 6) == 6);
        hears(t, fd, "hello\n");
        if (strncmp(clients[i].want, "TLS 1.3", 7) == 0) { /* a KeyUpdate that asks for one in return */
            CHECK(write(c.in, "^rekey^\n", 8) == 8);
            wait_for(&c, "Rekey was completed", "");
            CHECK(write(c.in, "more\n", 5) == 5);
            hears(t, fd, "more\n");
        }
        say(t, "answer\n");
        move(t, fd, true);
        tls_close(t);
        move(t, fd, false);
        wait_for(&c, "answer\n", "");
    } else if (clients[i].want) {
        printf("  %s\n", tls_error(t)->text);
    }
    hang_up(&c, fd, t);
}

int main(void)
{
    unsigned short port;
    int listener = begin(&port);
    for (size_t i = 0; i < COUNT_OF(servers); i++)
        talk_to_server(i);
    for (size_t i = 0; i < COUNT_OF(clients); i++)
        talk_to_client(i, listener, port);
    close(listener);
    return test_done();
}
