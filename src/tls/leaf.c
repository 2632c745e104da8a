/* Reads a server's certificate: its names, its purpose, its dates and its issuer (RFC 5280 §4).
 *
 * BearSSL has checked signatures before any of this decides something, but the same walk also runs on certificates that failed, for the
 * sake of the error text; so nothing here trusts a byte. */
#include <mobula/tls.h>

#include "der.h"

#include <arpa/inet.h>
#include <stdio.h>

#define OID_COMMON_NAME SLICE("\x55\x04\x03")
#define OID_ORGANIZATION SLICE("\x55\x04\x0a")
#define OID_SUBJECT_ALT_NAME SLICE("\x55\x1d\x11")
#define OID_BASIC_CONSTRAINTS SLICE("\x55\x1d\x13")
#define OID_SUBJECT_KEY_ID SLICE("\x55\x1d\x0e")
#define OID_KEY_USAGE SLICE("\x55\x1d\x0f")
#define OID_EXT_KEY_USAGE SLICE("\x55\x1d\x25")
#define OID_ANY_EKU SLICE("\x55\x1d\x25\x00")
#define OID_SERVER_AUTH SLICE("\x2b\x06\x01\x05\x05\x07\x03\x01")

/* The subject of the search: bytes of an address, or a name. */
struct wanted {
    struct slice name;
    unsigned char address[16];
    size_t address_len; /* 0: a DNS name */
};

static struct wanted wanted_of(struct slice name)
{
    struct wanted w = {.name = name};
    w.address_len = der_address(name, w.address);
    return w;
}

/* ---- names ---- */

static bool dns_name_matches(struct slice pattern, struct slice name)
{
    if (slice_eq_nocase(pattern, name))
        return !slice_empty(name) && slice_find(name, '*') < 0;
    if (!slice_starts(pattern, SLICE("*.")))
        return false;
    struct slice parent = slice_skip(pattern, 2), label = slice_cut(&name, '.');
    ptrdiff_t dot = slice_find(parent, '.');
    bool two_labels = dot > 0 && (size_t)dot + 1 < parent.len; /* *.com would be everybody */
    return two_labels && !slice_empty(label) && slice_eq_nocase(parent, name);
}

/* Adds text to a list of names in out, as far as it has room. Foreign bytes become question marks: this goes into error texts. */
static void append_name(char *out, size_t size, struct slice name)
{
    size_t used = strlen(out), need = name.len + (used ? 2 : 0);
    if (need >= size - used)
        return;
    if (used)
        used += (size_t)snprintf(out + used, size - used, ", ");
    for (size_t i = 0; i < name.len; i++)
        out[used + i] = name.ptr[i] > ' ' - 1 && name.ptr[i] < 0x7f ? name.ptr[i] : '?';
    out[used + name.len] = '\0';
}

static void append_address(char *out, size_t size, struct slice address)
{
    char text[INET6_ADDRSTRLEN];
    if (inet_ntop(address.len == 4 ? AF_INET : AF_INET6, address.ptr, text, sizeof text))
        append_name(out, size, slice_of(text));
}

static bool read_alt_names(struct slice value, const struct wanted *w, struct tls_leaf *out)
{
    struct slice names, content;
    unsigned tag = 0;
    if (!der_take(&value, DER_SEQUENCE, &names) || !slice_empty(value))
        return false;
    while (!slice_empty(names)) {
        if (!der_next(&names, &tag, &content))
            return false;
        if (tag == DER_DNS_NAME) {
            out->has_name |= w->address_len == 0 && dns_name_matches(content, w->name);
            append_name(out->first_name, sizeof out->first_name, content);
        } else if (tag == DER_IP_ADDRESS) {
            if (content.len != 4 && content.len != 16)
                return false;
            out->has_name |= slice_eq(content, (struct slice){(const char *)w->address, w->address_len});
            append_address(out->first_name, sizeof out->first_name, content);
        }
    }
    return true;
}

/* ---- purpose ---- */

static bool read_key_usages(struct slice value, struct tls_leaf *out)
{
    struct slice usages, oid;
    if (!der_take(&value, DER_SEQUENCE, &usages) || !slice_empty(value))
        return false;
    out->has_eku = true;
    while (!slice_empty(usages)) {
        if (!der_take(&usages, DER_OID, &oid))
            return false;
        out->server |= slice_eq(oid, OID_SERVER_AUTH) || slice_eq(oid, OID_ANY_EKU);
    }
    return true;
}

/* BasicConstraints ::= SEQUENCE { cA BOOLEAN DEFAULT FALSE, … }. A malformed one counts as cA FALSE. */
static bool allows_ca(struct slice value)
{
    struct slice constraints, ca;
    return der_take(&value, DER_SEQUENCE, &constraints) && der_take(&constraints, DER_BOOLEAN, &ca) && slice_is(ca, "\xff");
}

/* KeyUsage ::= BIT STRING; keyCertSign is bit 5. */
static bool allows_signing(struct slice value)
{
    struct slice bits;
    return der_take(&value, DER_BITS, &bits) && bits.len >= 2 && (bits.ptr[1] & 0x04);
}

/* Extensions ::= SEQUENCE OF SEQUENCE { OID, critical BOOLEAN OPTIONAL, value OCTET STRING }. One that matters here may stand in it once.
 */
static bool read_extensions(struct slice in, const struct wanted *w, struct tls_leaf *out)
{
    struct slice extensions, extension, oid, critical, value;
    bool seen_names = false;
    if (!der_take(&in, DER_SEQUENCE, &extensions) || !slice_empty(in))
        return false;
    while (!slice_empty(extensions)) {
        if (!der_take(&extensions, DER_SEQUENCE, &extension) || !der_take(&extension, DER_OID, &oid))
            return false;
        if (der_is_next(extension, DER_BOOLEAN) && !der_take(&extension, DER_BOOLEAN, &critical))
            return false;
        if (!der_take(&extension, DER_OCTETS, &value) || !slice_empty(extension))
            return false;
        if (slice_eq(oid, OID_SUBJECT_ALT_NAME)) {
            if (seen_names || !read_alt_names(value, w, out))
                return false;
            seen_names = true;
        } else if (slice_eq(oid, OID_EXT_KEY_USAGE)) {
            if (out->has_eku || !read_key_usages(value, out))
                return false;
        } else if (slice_eq(oid, OID_BASIC_CONSTRAINTS)) {
            out->ca = allows_ca(value);
        } else if (slice_eq(oid, OID_KEY_USAGE)) {
            out->no_signer = !allows_signing(value);
        } else if (slice_eq(oid, OID_SUBJECT_KEY_ID)) {
            if (!der_take(&value, DER_OCTETS, &out->key_id))
                return false;
        }
    }
    return true;
}

/* ---- dates and issuer ---- */

/* YYMMDDHHMMSSZ (years 1950 to 2049) or YYYYMMDDHHMMSSZ. */
static bool read_time(struct slice *in, int64_t *wall_us)
{
    struct slice t;
    const char *century = "";
    if (der_take(in, DER_UTC_TIME, &t) && t.len == 13)
        century = t.ptr[0] < '5' ? "20" : "19";
    else if (!der_take(in, DER_GENERALIZED_TIME, &t) || t.len != 15)
        return false;
    size_t year = t.len - 11;
    const char *p = t.ptr + year;
    char text[TIME_TEXT_MAX];
    int len = snprintf(text, sizeof text, "%s%.*s-%.2s-%.2sT%.2s:%.2s:%.2sZ", century, (int)year, t.ptr, p, p + 2, p + 4, p + 6, p + 8);
    return t.ptr[t.len - 1] == 'Z' && len > 0 && time_parse((struct slice){text, (size_t)len}, wall_us, NULL);
}

static bool read_validity(struct slice in, struct tls_leaf *out)
{
    return read_time(&in, &out->not_before_us) && read_time(&in, &out->not_after_us) && slice_empty(in);
}

/* Name ::= SEQUENCE OF SET OF SEQUENCE { OID, value }; the last common name is the most specific one. */
static bool read_issuer(struct slice name, struct tls_leaf *out)
{
    struct slice set, pair, oid, value;
    char organization[sizeof out->issuer] = "";
    unsigned tag = 0;
    while (!slice_empty(name)) {
        if (!der_take(&name, DER_SET, &set))
            return false;
        while (!slice_empty(set)) {
            if (!der_take(&set, DER_SEQUENCE, &pair) || !der_take(&pair, DER_OID, &oid) || !der_next(&pair, &tag, &value))
                return false;
            bool common = slice_eq(oid, OID_COMMON_NAME);
            char *to = common ? out->issuer : organization;
            if (!common && !slice_eq(oid, OID_ORGANIZATION))
                continue;
            to[0] = '\0';
            append_name(to, sizeof out->issuer, slice_head(value, sizeof out->issuer - 1));
        }
    }
    if (!out->issuer[0])
        memcpy(out->issuer, organization, sizeof out->issuer);
    return true;
}

/* Certificate ::= SEQUENCE { tbs SEQUENCE { [0] version, serial, algorithm, issuer, validity, subject, key, [1], [2], [3] extensions },
 * algorithm, signature } */
static bool read_certificate(struct slice der, const struct wanted *w, struct tls_leaf *out)
{
    struct slice certificate, tbs, skipped, issuer, validity, subject, extensions;
    if (!der_take(&der, DER_SEQUENCE, &certificate) || !slice_empty(der) || !der_take(&certificate, DER_SEQUENCE, &tbs))
        return false;
    if (der_is_next(tbs, DER_CONTEXT_CONSTRUCTED) && !der_take(&tbs, DER_CONTEXT_CONSTRUCTED, &skipped))
        return false;
    if (!der_take(&tbs, DER_INTEGER, &skipped) || !der_take(&tbs, DER_SEQUENCE, &skipped) || !der_take(&tbs, DER_SEQUENCE, &issuer) ||
        !der_take(&tbs, DER_SEQUENCE, &validity) || !der_take(&tbs, DER_SEQUENCE, &subject) || !der_take(&tbs, DER_SEQUENCE, &skipped))
        return false;
    out->subject = subject;
    out->self_issued = slice_eq(issuer, subject);
    if (!read_issuer(issuer, out) || !read_validity(validity, out))
        return false;
    for (unsigned tag = 0; !slice_empty(tbs);) {
        if (!der_next(&tbs, &tag, &extensions))
            return false;
        if (tag == (DER_CONTEXT_CONSTRUCTED | 3) && (!read_extensions(extensions, w, out) || !slice_empty(tbs)))
            return false;
    }
    return true;
}

bool tls_leaf_read(struct slice der, struct slice name, struct tls_leaf *out, struct err *e)
{
    struct wanted w = wanted_of(name);
    *out = (struct tls_leaf){.has_name = false};
    if (!read_certificate(der, &w, out)) {
        *out = (struct tls_leaf){.has_name = false};
        return err_set(e, ERR_SYNTAX, "certificate is malformed: not the DER that X.509 asks for");
    }
    return true;
}
