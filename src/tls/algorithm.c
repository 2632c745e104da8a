/* Reads the signature algorithm of a certificate: RSA-PSS and its parameters (RFC 4055 §3.1, RFC 8017 A.2.3). */
#include "check.h"
#include "der.h"

#define OID_PSS SLICE("\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0a")
#define OID_MGF1 SLICE("\x2a\x86\x48\x86\xf7\x0d\x01\x01\x08")
#define OID_SHA2 SLICE("\x60\x86\x48\x01\x65\x03\x04\x02") /* and one more byte: 1 to 3 for SHA-256, SHA-384, SHA-512 */

/* An AlgorithmIdentifier of SHA-256, SHA-384 or SHA-512 that is the whole of `in`, its parameters NULL or absent. Returns BearSSL's number
 * of the hash; 0: it is another one. */
static int read_hash(struct slice in)
{
    struct slice algorithm, oid;
    if (!der_take(&in, DER_SEQUENCE, &algorithm) || in.len || !der_take(&algorithm, DER_OID, &oid) ||
        !(algorithm.len == 0 || slice_eq(algorithm, SLICE("\5\0"))))
        return 0;
    bool sha2 = oid.len == OID_SHA2.len + 1 && slice_starts(oid, OID_SHA2);
    int last = sha2 ? oid.ptr[OID_SHA2.len] : 0;
    return last >= 1 && last <= 3 ? br_sha256_ID + last - 1 : 0;
}

/* RSASSA-PSS-params as TLS 1.3 asks for them (RFC 8446 §4.2.3): one hash for both, the salt as long, and the trailer by default. */
static int read_parameters(struct slice in)
{
    struct slice all, hash, mask, generator, oid, length, salt;
    if (!der_take(&in, DER_SEQUENCE, &all) || in.len || !der_take(&all, DER_CONTEXT_CONSTRUCTED, &hash) ||
        !der_take(&all, DER_CONTEXT_CONSTRUCTED | 1, &mask) || !der_take(&all, DER_CONTEXT_CONSTRUCTED | 2, &length) || all.len)
        return 0;
    if (!der_take(&mask, DER_SEQUENCE, &generator) || mask.len || !der_take(&generator, DER_OID, &oid) || !slice_eq(oid, OID_MGF1) ||
        !der_take(&length, DER_INTEGER, &salt) || length.len || salt.len != 1)
        return 0;
    int id = read_hash(hash);
    return id && read_hash(generator) == id && salt.ptr[0] == 32 + 16 * (id - br_sha256_ID) ? id : 0;
}

/* The signature algorithm within the signed part, which must be the same. */
static bool read_inner(struct slice tbs, struct slice *algorithm)
{
    struct slice skipped;
    if (der_is_next(tbs, DER_CONTEXT_CONSTRUCTED) && !der_take(&tbs, DER_CONTEXT_CONSTRUCTED, &skipped))
        return false;
    return der_take(&tbs, DER_INTEGER, &skipped) && der_take(&tbs, DER_SEQUENCE, algorithm);
}

size_t tls_signature_algorithm(struct slice der, int *hash)
{
    struct slice in = der, body, tbs, algorithm, inner, oid;
    *hash = 0;
    if (!der_take(&in, DER_SEQUENCE, &body) || !der_take(&body, DER_SEQUENCE, &tbs) || !der_take(&body, DER_SEQUENCE, &algorithm))
        return 0;
    struct slice rest = algorithm;
    if (!der_take(&rest, DER_OID, &oid) || oid.len == 0)
        return 0;
    if (slice_eq(oid, OID_PSS) && read_inner(tbs, &inner) && slice_eq(inner, algorithm))
        *hash = read_parameters(rest);
    return (size_t)(oid.ptr + oid.len - der.ptr);
}
