/* Issues certificates with a CA given as PEM (from files or a Secret), which is checked first. */
#include <mobula/tls.h>

#include "trust.h"

enum { CLOCKS_DAYS = 1 }; /* tolerance for clocks that differ, by a time zone if one runs on local time */

bool tls_identity_valid(const struct tls_identity *id, bool ca, int64_t wall_us, int64_t *not_after_us, struct err *e)
{
    char when[TIME_TEXT_MAX];
    for (size_t i = 0; i < id->count; i++) {
        struct tls_leaf leaf;
        if (!tls_leaf_read(identity_certificate(id, i), SLICE_NONE, &leaf, e))
            return false;
        if ((ca || i > 0) && (!leaf.ca || leaf.no_signer))
            return err_set(e, ERR_CONFIG, "certificate %zu of tls.crt is no CA's: it has no %s", i + 1,
                           leaf.ca ? "keyCertSign in its keyUsage" : "basicConstraints with CA:TRUE");
        if (leaf.not_after_us <= wall_us || leaf.not_before_us > wall_us)
            return err_set(e, ERR_CONFIG, "certificate %zu of tls.crt is valid only %s %.*s", i + 1,
                           leaf.not_after_us <= wall_us ? "until" : "from",
                           SLICE_ARG(time_format(leaf.not_after_us <= wall_us ? leaf.not_after_us : leaf.not_before_us, when)));
        if (leaf.not_after_us < *not_after_us)
            *not_after_us = leaf.not_after_us;
    }
    return true;
}

bool tls_issue_by(struct slice ca_cert, struct slice ca_key, struct tls_issue *o, int64_t wall_us, struct buf *cert_pem,
                  struct buf *key_pem, struct err *e)
{
    struct tls_identity *ca = tls_identity_load(ca_cert, ca_key, e);
    o->ca = ca;
    o->not_before_us = wall_us - CLOCKS_DAYS * TIME_DAY_US;
    o->not_after_us = wall_us + (TLS_ISSUED_DAYS - CLOCKS_DAYS) * TIME_DAY_US;
    bool well = ca && tls_identity_valid(ca, true, wall_us, &o->not_after_us, e) && tls_issue(o, cert_pem, key_pem, e);
    if (well)
        buf_put(cert_pem, ca_cert);
    tls_identity_drop(ca);
    o->ca = NULL;
    return well;
}
