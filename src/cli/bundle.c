/* `mobula bundle`: what arrives in a room without a way out is looked at before it is unpacked. */
#include "cli.h"

#include <mobula/artifact.h>

struct bundle_options {
    struct slice file, key, to, user, password_file, ca, from, signature;
    struct flag_texts images;
    int64_t timeout_ms;
};

static const struct flag list[] = {
#define AT(field) offsetof(struct bundle_options, field)
    {"f", FLAG_TEXT, AT(file), "FILE"},
    {"key", FLAG_TEXT, AT(key), "FILE"},
    {"to", FLAG_TEXT, AT(to), "FOLDER|URL"},
    {"image", FLAG_TEXTS, AT(images), "FILE"},
    {"from", FLAG_TEXT, AT(from), "FOLDER"},
    {"signature", FLAG_TEXT, AT(signature), "FILE"},
    {"registry-user", FLAG_TEXT, AT(user), "NAME"},
    {"registry-password-file", FLAG_TEXT, AT(password_file), "FILE"},
    {"registry-ca", FLAG_TEXT, AT(ca), "FILE"},
    {"timeout", FLAG_DURATION, AT(timeout_ms), "TIME"},
#undef AT
};

static const struct flags flags = {
    .usage = "mobula bundle verify|list|load|create -f FILE --key FILE [--to FOLDER|URL [--image FILE…]]",
    .list = list,
    .count = COUNT_OF(list),
};

static bool read_bundle(const struct bundle_options *o, struct arena *a, struct tls_key *key, struct bundle *b, struct slice *bytes,
                        struct err *e)
{
    struct slice pem;
    if (!cli_read_file(o->key, a, &pem, e))
        return false;
    if (!tls_key_load(pem, key, e))
        return err_wrap(e, "%s", o->key.ptr);
    return cli_read_most(o->file, LIMIT_BUNDLE, "LIMIT_BUNDLE", a, bytes, e) &&
           (bundle_open(*bytes, key, b, e) || err_wrap(e, "%s", o->file.ptr));
}

/* ---- to a registry ---- */

static bool push(const struct bundle_options *o, const struct bundle *b, struct arena *a, struct buf *out, struct err *e)
{
    struct registry_options to = {.to = o->to, .user = o->user, .ca = o->ca, .timeout_ms = o->timeout_ms};
    if (!slice_empty(o->password_file) && !cli_read_file(o->password_file, a, &to.password, e))
        return err_wrap(e, "--registry-password-file");
    struct registry *r = registry_open(&to, e);
    bool well = r && registry_push(r, bundle_find(b, SLICE("image/mobula.tar"))->content, "image/mobula.tar", out, e);
    for (uint32_t i = 0; well && i < o->images.count; i++)
        well = registry_push_file(r, o->images.list[i], out, e);
    registry_close(r);
    return well;
}

static void put_list(const struct bundle *b, struct buf *out)
{
    for (uint32_t i = 0; i < b->count; i++)
        buf_printf(out, "%10zu  %.*s/%.*s\n", b->files[i].content.len, SLICE_ARG(b->folder), SLICE_ARG(b->files[i].name));
}

/* Writes the bytes to be signed; with --signature the bundle, once it opens with --key. */
static bool create(const struct bundle_options *o, struct arena *a, struct buf *said, struct err *e)
{
    struct tls_key key;
    struct slice signature, pem;
    __attribute__((cleanup(buf_free))) struct buf body, all;
    buf_init(&body, LIMIT_BUNDLE - BUNDLE_SIGNED);
    buf_init(&all, LIMIT_BUNDLE);
    if (!bundle_body(o->from, a, &body, e))
        return false;
    if (slice_empty(o->signature)) {
        buf_printf(said, "%s: to be signed: openssl dgst -sha256 -sign KEY -out SIGNATURE %s, then create --signature SIGNATURE\n",
                   o->file.ptr, o->file.ptr);
        return bundle_write(o->file.ptr, buf_slice(&body), e);
    }
    struct bundle *b = arena_new(a, struct bundle);
    if (!cli_read_file(o->signature, a, &signature, e) || !cli_read_file(o->key, a, &pem, e) || !tls_key_load(pem, &key, e) ||
        !bundle_sign(buf_slice(&body), signature, &all, e) || !bundle_open(buf_slice(&all), &key, b, e))
        return false;
    buf_printf(said, "%s: %u files, %zu bytes\n", o->file.ptr, b->count, all.len);
    return bundle_write(o->file.ptr, buf_slice(&all), e);
}

int cli_bundle(int argc, char **argv)
{
    struct bundle_options o = {.timeout_ms = 60 * 1000};
    struct slice what = argc > 1 ? slice_of(argv[1]) : SLICE_NONE;
    bool verify = slice_eq(what, SLICE("verify")), show = slice_eq(what, SLICE("list")), load = slice_eq(what, SLICE("load"));
    bool make = slice_eq(what, SLICE("create")), named = verify || show || load || make;
    int status;
    if (!flags_parse(&flags, argc - named, argv + named, &o, &status))
        return status;
    if (!named)
        return flags_wrong(&flags, "bundle: want verify, list, load or create");
    if (make == slice_empty(o.from) || (make && (slice_empty(o.file) || slice_empty(o.key) != slice_empty(o.signature))))
        return flags_wrong(&flags, "create needs --from and -f, no other verb takes --from; --signature and --key go together");
    if (!make && (slice_empty(o.file) || slice_empty(o.key) || load == slice_empty(o.to)))
        return flags_wrong(&flags, load ? "load needs -f, --key and --to" : "-f and --key are needed, and --to is for load");
    bool registry = registry_is_url(o.to);
    if (o.images.count > 0 && !registry)
        return flags_wrong(&flags, "--image is for load to a registry: --to http[s]://HOST[:PORT][/PREFIX]");
    struct err e = {0};
    struct tls_key key;
    struct slice bytes;
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    __attribute__((cleanup(buf_free))) struct buf out;
    struct bundle *b = arena_new(&a, struct bundle);
    buf_init(&out, MIB);
    if (make)
        return create(&o, &a, &out, &e) ? cli_print(buf_slice(&out)) ? STATUS_OK : STATUS_ERROR : cli_fail(&e);
    if (!read_bundle(&o, &a, &key, b, &bytes, &e) || (load && !registry && !bundle_unpack(b, o.to, &e)))
        return cli_fail(&e);
    if (registry && !push(&o, b, &a, &out, &e)) {
        cli_print(buf_slice(&out)); /* received bytes */
        return cli_fail(&e);
    }
    if (show)
        put_list(b, &out);
    else
        buf_printf(&out, "%s: %.*s, %u files, %zu bytes, signed by the key with SHA-256 %s\n", o.file.ptr, SLICE_ARG(b->folder), b->count,
                   bytes.len, key.fingerprint);
    return cli_print(buf_slice(&out)) ? STATUS_OK : STATUS_ERROR;
}
