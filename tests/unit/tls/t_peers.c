/* Sessions with OpenSSL's programs at the other end: every version, group, suite, kind of certificate and of client certificate. */
#include "program.h"

/* ---- OpenSSL as the server ---- */

#define ED25519 " (AES-GCM or ChaCha20-Poly1305; X25519MLKEM768, X25519, P-256/384/521; ECDSA or RSA, not Ed25519)"

static const struct {
    const char *name, *args, *client;
    const char *want; /* version, group, suite; NULL: the session fails */
    const char *error;
} servers[] = {
    {"both", "", NULL, "TLS 1.3 X25519 " AES128, NULL},
    {"rsa", "", NULL, "TLS 1.3 X25519 " AES128, NULL},
    {"p384", "", NULL, "TLS 1.3 X25519 " AES128, NULL},
    {"both", "-groups P-256", NULL, "TLS 1.3 secp256r1 " AES128, NULL},
    {"both", "-groups P-384", NULL, "TLS 1.3 secp384r1 " AES128, NULL},
    {"both", "-groups P-521", NULL, "TLS 1.3 secp521r1 " AES128, NULL},
    {"both", "-groups X448", NULL, NULL, "server has no cipher suite, group or signature in common with ours"},
    {"ed25519", "", NULL, NULL,
     "server has no cipher suite, group or signature in common with ours" ED25519 ": alert 40 handshake_failure"},
    {"ed25519", "-tls1_2", NULL, NULL,
     "server has no cipher suite, group or signature in common with ours" ED25519 ": alert 40 handshake_failure"},
    {"ed25519-signed", "", NULL, NULL,
     "a certificate of the server's chain uses an algorithm that is not known here: want RSA or EC on P-256/384/521, signed with ECDSA, "
     "PKCS#1 or PSS (salt as long as the hash) and SHA-2, not Ed25519"},
    {"both", "-ciphersuites TLS_AES_256_GCM_SHA384", NULL, "TLS 1.3 X25519 TLS_AES_256_GCM_SHA384", NULL},
    {"both", "-ciphersuites TLS_CHACHA20_POLY1305_SHA256", NULL, "TLS 1.3 X25519 TLS_CHACHA20_POLY1305_SHA256", NULL},
    {"both", "-groups P-384 -ciphersuites TLS_AES_256_GCM_SHA384", NULL, "TLS 1.3 secp384r1 TLS_AES_256_GCM_SHA384", NULL},
    {"rsa", "-sigalgs rsa_pss_rsae_sha512", NULL, "TLS 1.3 X25519 " AES128, NULL},
    {"rsa", "-sigalgs rsa_pss_rsae_sha384", NULL, "TLS 1.3 X25519 " AES128, NULL},
    {"rsa8192", "", NULL, "TLS 1.3 X25519 " AES128, NULL},
    {"pss384", "", NULL, "TLS 1.3 X25519 " AES128, NULL},
    {"rsa8192", "-tls1_2", NULL, "TLS 1.2 X25519 ECDHE_RSA_AES_128_GCM_SHA256", NULL},
    {"pss512", "-tls1_2", NULL, "TLS 1.2 X25519 ECDHE_RSA_AES_128_GCM_SHA256", NULL},
    {"both", "-Verify 1 -verify_return_error -CAfile " PKI "/rsa8192-ca.pem", "client-rsa8192", "TLS 1.3 X25519 " AES128, NULL},
    {"both", "-stateless", NULL, "TLS 1.3 X25519 " AES128, NULL}, /* a HelloRetryRequest with a cookie */
    {"both", "-stateless -groups P-256", NULL, "TLS 1.3 secp256r1 " AES128, NULL},
    {"both", "-record_padding 512", NULL, "TLS 1.3 X25519 " AES128, NULL},
    {"both", "-max_send_frag 512 -split_send_frag 512", NULL, "TLS 1.3 X25519 " AES128, NULL},
    {"both", "-Verify 1 -verify_return_error -CAfile " PKI "/ca.pem", "client-ec", "TLS 1.3 X25519 " AES128, NULL},
    {"both", "-Verify 1 -verify_return_error -CAfile " PKI "/ca.pem", "client-p384", "TLS 1.3 X25519 " AES128, NULL},
    {"both", "-Verify 1 -verify_return_error -CAfile " PKI "/ca.pem", "client-rsa", "TLS 1.3 X25519 " AES128, NULL},
    {"both", "-verify 1 -CAfile " PKI "/ca.pem", NULL, "TLS 1.3 X25519 " AES128, NULL},
    {"both", "-tls1_2", NULL, "TLS 1.2 X25519 ECDHE_ECDSA_AES_128_GCM_SHA256", NULL},
    {"rsa", "-tls1_2", NULL, "TLS 1.2 X25519 ECDHE_RSA_AES_128_GCM_SHA256", NULL},
    {"rsa", "-tls1_2 -serverpref", NULL, "TLS 1.2 X25519 ECDHE_RSA_AES_256_GCM_SHA384", NULL},
    {"rsa", "-tls1_2 -sigalgs rsa_pss_rsae_sha384", NULL, "TLS 1.2 X25519 ECDHE_RSA_AES_128_GCM_SHA256", NULL},
    {"rsa", "-tls1_2 -sigalgs rsa_pkcs1_sha512", NULL, "TLS 1.2 X25519 ECDHE_RSA_AES_128_GCM_SHA256", NULL},
    {"rsa", "-tls1_2 -cipher ECDHE-RSA-CHACHA20-POLY1305", NULL, "TLS 1.2 X25519 ECDHE_RSA_CHACHA20_POLY1305_SHA256", NULL},
    {"both", "-tls1_2 -groups P-384", NULL, "TLS 1.2 secp384r1 ECDHE_ECDSA_AES_128_GCM_SHA256", NULL},
    {"both", "-tls1_2 -Verify 1 -verify_return_error -CAfile " PKI "/ca.pem", "client-rsa", "TLS 1.2 X25519 ECDHE_ECDSA_AES_128_GCM_SHA256",
     NULL},
    {"both", "-tls1_1 -cipher ALL:@SECLEVEL=0", NULL, NULL, "server does not speak TLS 1.3 or 1.2, which were offered"},
};

static unsigned short wait_port(struct child *c)
{
    return (unsigned short)strtol(wait_for(c, "ACCEPT 127.0.0.1:", "\n"), NULL, 10);
}

static void talk_to_server(size_t i)
{
    char command[512];
    test_case("s_server %s %s, client %s", servers[i].name, servers[i].args, servers[i].client ? servers[i].client : "none");
    snprintf(command, sizeof command, "exec openssl s_server -accept 127.0.0.1:0 -rev -cert " PKI "/%s.pem -key " PKI "/%s.key %s",
             servers[i].name, servers[i].name, servers[i].args);
    struct child c = spawn(command);
    int fd = dial(wait_port(&c));
    talk(&c, fd, session(servers[i].name, servers[i].client), servers[i].want, servers[i].error, "desserts\n");
}

/* ---- OpenSSL as the client ---- */

static const struct {
    const char *name, *args, *want;
} clients[] = {
    {"both", "", "TLS 1.3 X25519 " AES128},
    {"rsa", "", "TLS 1.3 X25519 " AES128},
    {"p384", "", "TLS 1.3 X25519 " AES128},
    {"both", "-groups P-256", "TLS 1.3 secp256r1 " AES128},
    {"both", "-groups P-521:P-384", "TLS 1.3 secp521r1 " AES128},
    {"both", "-groups X448:P-384", "TLS 1.3 secp384r1 " AES128}, /* by a HelloRetryRequest */
    {"both", "-ciphersuites TLS_AES_256_GCM_SHA384", "TLS 1.3 X25519 TLS_AES_256_GCM_SHA384"},
    {"both", "-ciphersuites TLS_CHACHA20_POLY1305_SHA256", "TLS 1.3 X25519 TLS_CHACHA20_POLY1305_SHA256"},
    {"rsa", "-sigalgs rsa_pss_rsae_sha384", "TLS 1.3 X25519 " AES128},
    {"rsa8192", "", "TLS 1.3 X25519 " AES128},
    {"pss256", "", "TLS 1.3 X25519 " AES128},
    {"both", "-no_middlebox", "TLS 1.3 X25519 " AES128},
    {"both", "-alpn h2,http/1.1", "TLS 1.3 X25519 " AES128},
    {"both", "-record_padding 1000", "TLS 1.3 X25519 " AES128},
    {"both", "-tls1_2", "TLS 1.2 X25519 ECDHE_ECDSA_AES_128_GCM_SHA256"},
    {"rsa", "-tls1_2", "TLS 1.2 X25519 ECDHE_RSA_AES_128_GCM_SHA256"},
    {"both", "-alpn h2", NULL},
    {"both", "-alpn h2 -tls1_2", NULL},
    {"both", "-alpn h2,http/1.1 -tls1_2", "TLS 1.2 X25519 ECDHE_ECDSA_AES_128_GCM_SHA256"},
    {"both", "-groups X448", NULL},
    {"both", "-sigalgs rsa_pss_rsae_sha256", NULL},
    {"both", "-tls1_1 -cipher ALL:@SECLEVEL=0", NULL},
    {"both", "-tls1_2 -cipher ECDHE-ECDSA-AES128-SHA", NULL},
};

/* How the error of the last row begins; 0xc009 is its suite. */
#define NOTHING_IN_COMMON                                                                                                                  \
    "client speaks TLS 1.2 and has no cipher suite or group in common with ours (AES-GCM or ChaCha20-Poly1305; X25519, P-256/384/521); "   \
    "it sent 0xc009"

static void talk_to_client(size_t i, int listener, unsigned short port)
{
    char command[512];
    test_case("s_client %s to %s", clients[i].args, clients[i].name);
    snprintf(
        command, sizeof command,
        "exec openssl s_client -connect 127.0.0.1:%u -verify_return_error -verify_quiet -servername kubernetes.default.svc -CAfile " PKI
        "/%s %s 2>&1",
        port, ca_of(clients[i].name), clients[i].args);
    struct child c = spawn(command);
    int fd = accept(listener, NULL, NULL);
    struct tls *t = serve(clients[i].name);
    move(t, fd, true);
    CHECK_INT(tls_state(t), clients[i].want ? TLS_OPEN : TLS_FAILED);
    if (i == COUNT_OF(clients) - 1)
        CHECK_STR(slice_head(slice_of(tls_error(t)->text), strlen(NOTHING_IN_COMMON)), NOTHING_IN_COMMON);
    if (tls_state(t) == TLS_OPEN && clients[i].want) {
        check_info(t, clients[i].want);
        CHECK(write(c.in, "hello\n", 6) == 6);
        hears(t, fd, "hello\n");
        /* For a line "K", s_client sends a KeyUpdate that asks for one in return. */
        for (int k = 0; k < 3 && strncmp(clients[i].want, "TLS 1.3", 7) == 0; k++) {
            CHECK(write(c.in, "K\n", 2) == 2);
            usleep(20000);
            CHECK(write(c.in, "more\n", 5) == 5);
            hears(t, fd, "more\n");
        }
        say(t, "answer\n");
        move(t, fd, true);
        tls_close(t);
        move(t, fd, false);
        shutdown(fd, SHUT_WR);
        char text[16384];
        size_t used = 0;
        for (ssize_t n; used < sizeof text - 1 && (n = read(c.out, text + used, sizeof text - 1 - used)) > 0;)
            used += (size_t)n;
        text[used] = '\0';
        CHECK(strstr(text, "answer\n") != NULL);
        CHECK(!strstr(clients[i].args, "alpn") || strstr(text, "ALPN protocol: http/1.1"));
    } else if (clients[i].want) {
        printf("  %s\n", tls_error(t)->text);
    }
    hang_up(&c, fd, t);
}

/* --tls-min-version 1.3, on either side. */
static void insist(int listener, unsigned short port)
{
    static const char *const args[] = {"-tls1_2", "-tls1_3"};
    tls_insist_on_13(true);
    for (int modern = 0; modern < 2; modern++) {
        char command[256];
        test_case("TLS 1.3 is insisted on, s_server %s", args[modern]);
        snprintf(command, sizeof command, "exec openssl s_server -accept 127.0.0.1:0 -cert " PKI "/both.pem -key " PKI "/both.key %s",
                 args[modern]);
        struct child c = spawn(command);
        int fd = dial(wait_port(&c));
        struct tls *t = session("both", NULL);
        move(t, fd, true);
        CHECK_INT(tls_state(t), modern ? TLS_OPEN : TLS_FAILED);
        CHECK_STR(slice_of(tls_error(t)->text),
                  modern ? "" : "server does not speak TLS 1.3, which --tls-min-version asks for: alert 70 protocol_version");
        hang_up(&c, fd, t);
        test_case("TLS 1.3 is insisted on, s_client %s", args[modern]);
        snprintf(command, sizeof command, "exec openssl s_client -connect 127.0.0.1:%u %s", port, args[modern]);
        c = spawn(command);
        fd = accept(listener, NULL, NULL);
        t = serve("both");
        move(t, fd, true);
        CHECK_INT(tls_state(t), modern ? TLS_OPEN : TLS_FAILED);
        CHECK_STR(slice_of(tls_error(t)->text),
                  modern ? "" : "client does not speak TLS 1.3, which --tls-min-version asks for; it sent 0x0303");
        hang_up(&c, fd, t);
    }
    tls_insist_on_13(false);
}

int main(void)
{
    unsigned short port;
    int listener = begin(&port);
    for (size_t i = 0; i < COUNT_OF(servers); i++)
        talk_to_server(i);
    for (size_t i = 0; i < COUNT_OF(clients); i++)
        talk_to_client(i, listener, port);
    insist(listener, port);
    close(listener);
    return test_done();
}
