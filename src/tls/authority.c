/* Makes CAs, issues certificates with a CA given as PEM (from files or a Secret), which is checked first, and decides when each of them is
 * due to be replaced. */
#include <mobula/tls.h>

#include "trust.h"

enum {
    CLOCKS_DAYS = 1,           /* tolerance for clocks that differ, by a time zone if one runs on local time */
    GAIN_US = 60 * 1000 * 1000 /* a successor that lasts only so much longer is not worth it */
};

bool tls_identity_leaf(const struct tls_identity *id, struct slice name, struct tls_leaf *out)
{
    return tls_leaf_read(identity_certificate(id, 0), name, out, NULL);
}

bool tls_identity_for(const struct tls_identity *id, struct slice name, struct tls_leaf *out)
{
    char host[256];
    slice_copy(name, host, sizeof host);
    if (host[0] == '*') /* is for any label there */
        host[0] = 'x';
    return tls_identity_leaf(id, slice_of(host), out) && out->has_name;
}

bool tls_identity_valid(const struct tls_identity *id, bool ca, int64_t wall_us, int64_t *not_after_us, struct err *e)
{
    char when[TIME_TEXT_MAX];
    for (size_t i = 0; i < id->count; i++) {
        struct tls_leaf leaf;
        if (!tls_leaf_read(identity_certificate(id, i), SLICE_NONE, &leaf, e))
            return false;
        if ((ca || i > 0) && (!leaf.ca || leaf.no_signer))
            return err_set(e, ERR_CONFIG, "certificate %zu of the chain is no CA's: it has no %s", i + 1,
                           leaf.ca ? "keyCertSign in its keyUsage" : "basicConstraints with CA:TRUE");
        if (leaf.not_after_us <= wall_us || leaf.not_before_us > wall_us)
            return err_set(e, ERR_CONFIG, "certificate %zu of the chain is valid only %s %.*s", i + 1,
                           leaf.not_after_us <= wall_us ? "until" : "from",
                           SLICE_ARG(time_format(leaf.not_after_us <= wall_us ? leaf.not_after_us : leaf.not_before_us, when)));
        if (leaf.not_after_us < *not_after_us)
            *not_after_us = leaf.not_after_us;
        if (leaf.self_issued)
            break;
    }
    return true;
}

bool tls_issue_ca(const struct tls_identity *old, const char *subject, int64_t wall_us, struct buf *cert_pem, struct buf *key_pem,
                  struct err *e)
{
    const struct tls_issue how = {.ca = old,
                                  .not_before_us = wall_us - CLOCKS_DAYS * TIME_DAY_US,
                                  .not_after_us = wall_us + TLS_CA_DAYS * TIME_DAY_US,
                                  .subject = subject};
    return tls_issue(&how, cert_pem, key_pem, e);
}

bool tls_ca_due(const struct tls_identity *ca, int64_t wall_us)
{
    struct tls_leaf leaf;
    return tls_identity_leaf(ca, SLICE_NONE, &leaf) && leaf.not_after_us - wall_us < TLS_CA_RENEW_DAYS * TIME_DAY_US;
}

bool tls_issue_by(struct slice ca_cert, struct slice ca_key, struct tls_issue *o, int64_t wall_us, struct buf *cert_pem,
                  struct buf *key_pem, struct err *e)
{
    if (!utf8_valid(ca_cert))
        return err_set(e, ERR_CONFIG,
                       "the CA's file holds bytes that are no UTF-8, which a Secret does not keep: leave only the PEM blocks");
    struct tls_identity *ca = tls_identity_load(ca_cert, ca_key, e);
    o->ca = ca;
    o->not_before_us = wall_us - CLOCKS_DAYS * TIME_DAY_US;
    o->not_after_us = wall_us + (TLS_ISSUED_DAYS - CLOCKS_DAYS) * TIME_DAY_US;
    bool well = ca && tls_identity_valid(ca, true, wall_us, &o->not_after_us, e) && tls_issue(o, cert_pem, key_pem, e);
    tls_identity_drop(ca);
    o->ca = NULL;
    if (!well)
        return false;
    buf_put(cert_pem, ca_cert);
    ca = tls_identity_load(buf_slice(cert_pem), buf_slice(key_pem), e);
    tls_identity_drop(ca);
    return ca != NULL;
}

bool tls_issue_due(struct slice cert_pem, const struct tls_leaf *leaf, struct slice ca_cert, int64_t ca_ends_us, int64_t wall_us)
{
    int64_t next_us = wall_us + (TLS_ISSUED_DAYS - CLOCKS_DAYS) * TIME_DAY_US;
    return !slice_ends(cert_pem, ca_cert) || (wall_us - leaf->not_before_us >= (leaf->not_after_us - leaf->not_before_us) / 3 * 2 &&
                                              (ca_ends_us < next_us ? ca_ends_us : next_us) > leaf->not_after_us + GAIN_US);
}
