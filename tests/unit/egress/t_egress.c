/* The list of egress from values: tests/unit/cli/t_egress.c has the flags. */
#include "../test.h"

#include <mobula/egress.h>

static const char *const formats[] = {"text", "networkpolicy", "cilium", "azure-firewall", "squid", "nftables"};

static struct buf out, notes;

static struct flag_texts text_of(const char *text)
{
    return text ? (struct flag_texts){.list = {slice_of(text)}, .count = 1} : (struct flag_texts){0};
}

/* Options under which nothing but what a test adds is on the list. */
static struct egress_options nothing(void)
{
    struct egress_options o = egress_defaults();
    o.api_servers = text_of("none");
    o.ray_access = SLICE("proxy");
    return o;
}

static bool put(const struct egress_options *o, struct err *e)
{
    *e = (struct err){0};
    buf_clear(&out);
    buf_clear(&notes);
    return egress_write(o, &out, &notes, e);
}

/* "HOST:PORT HOST:PORT" of the rows of format text. */
static struct slice places(struct arena *a)
{
    struct slice all = SLICE(""), rest = buf_slice(&out);
    while (!slice_empty(rest)) {
        struct slice line = slice_cut(&rest, '\n'), host = slice_cut(&line, ' '), tail = slice_trim(line), port = slice_cut(&tail, ' ');
        if (!slice_starts(host, SLICE("#")))
            all = arena_printf(a, "%.*s%s%.*s:%.*s", SLICE_ARG(all), all.len ? " " : "", SLICE_ARG(host), SLICE_ARG(port));
    }
    return all;
}

static void buckets(void)
{
    static const struct {
        const char *url, *endpoint, *region, *secret;
        bool virtual_host;
        const char *places, *error; /* error: what it begins with */
    } cases[] = {
        {NULL, NULL, NULL, NULL, false, "", NULL},
        {"s3://data", NULL, "eu-west-1", NULL, false,
         "data.s3.eu-west-1.amazonaws.com:443 sts.eu-west-1.amazonaws.com:443 169.254.170.23:80 fd00:ec2::23:80", NULL},
        {"s3://data", NULL, NULL, "keys", false, "data.s3.us-east-1.amazonaws.com:443", NULL},
        {"s3://data", "https://store.corp:9000", NULL, NULL, false, "store.corp:9000", NULL},
        {"s3://data", "https://store.corp:9000", NULL, NULL, true, "data.store.corp:9000", NULL},
        {"gs://data", NULL, NULL, "key", false, "storage.googleapis.com:443", NULL},
        {"azure://data", NULL, NULL, NULL, false, NULL, "--bucket-endpoint is needed"},
        {"ftp://data", NULL, NULL, NULL, false, NULL, "--bucket"},
        {"s3://data", "store.corp", NULL, NULL, false, NULL, "--bucket-endpoint"},
    };
    struct arena a = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct egress_options o = nothing();
        struct err e;
        test_case("bucket %zu", i);
        o.bucket = (struct egress_bucket){slice_of(cases[i].url), slice_of(cases[i].endpoint), slice_of(cases[i].region),
                                          slice_of(cases[i].secret), cases[i].virtual_host};
        CHECK_INT(put(&o, &e), cases[i].error == NULL);
        if (cases[i].error)
            CHECK_STR(slice_head(slice_of(e.text), strlen(cases[i].error)), cases[i].error);
        else
            CHECK_STR(places(&a), cases[i].places);
    }
    arena_free(&a);
}

static void profiles(void)
{
    static const struct {
        const char *name, *cloud_ids;
        bool strict;
        const char *holds, *note, *error;
    } cases[] = {
        {"anyscale", NULL, false, "console.anyscale.com", NULL, NULL},
        {"anyscale", NULL, false, "grafana-*.anyscale-cloud.dev", NULL, NULL},
        {"anyscale", "cld_AbC", false, "grafana-cld-abc.anyscale-cloud.dev", NULL, NULL},
        {"anyscale", "cld_AbC", true, "cld-abc.anyscale-cloud.dev", "*.i.anyscaleuserdata.com", NULL},
        {"anyscale", NULL, true, NULL, NULL, "--strict needs --cloud-id"},
        {"anyscale", "abc", false, NULL, NULL, "--cloud-id: \"abc\""},
        {"other", NULL, false, NULL, NULL, "--profile is \"other\": want one of anyscale, anyscale-azure"},
        {"", NULL, false, NULL, NULL, "--profile"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct egress_options o = nothing();
        struct err e;
        test_case("profile %s %zu", cases[i].name, i);
        o.profiles = text_of(cases[i].name);
        o.cloud_ids = text_of(cases[i].cloud_ids);
        o.strict = cases[i].strict;
        CHECK_INT(put(&o, &e), cases[i].error == NULL);
        if (cases[i].error)
            CHECK_STR(slice_head(slice_of(e.text), strlen(cases[i].error)), cases[i].error);
        CHECK(!cases[i].holds || slice_find_text(buf_slice(&out), cases[i].holds) >= 0);
        CHECK(cases[i].note ? slice_find_text(buf_slice(&notes), cases[i].note) >= 0 : notes.len == 0);
    }
}

static void refused(void)
{
    static const struct {
        const char *format, *ns, *watch, *access, *ports, *source, *entry, *version, *proxy, *error;
    } cases[] = {
        {.format = "iptables", .error = "--format is \"iptables\": want text, networkpolicy"},
        {.ns = "Mobula", .error = "--namespace"},
        {.watch = "a,B", .error = "--watch-namespace"},
        {.access = "tunnel", .error = "--ray-access"},
        {.ports = "0", .error = "--head-ports is \"0\""},
        {.ports = "65536", .error = "--head-ports is \"65536\""},
        {.ports = "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", .error = "--head-ports"},
        {.source = "nodes.corp", .error = "--source: \"nodes.corp\" is not an IP address or CIDR"},
        {.entry = "a b", .error = "--egress-allow"},
        {.version = "new", .error = "--ray-version: \"new\""},
        {.proxy = "http://proxy:3128", .error = "--proxy, --no-proxy and --proxies need --control-plane-url"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct egress_options o = nothing();
        struct err e;
        const struct {
            const char *given;
            struct slice *to;
        } texts[] = {{cases[i].format, &o.format},      {cases[i].ns, &o.ns},
                     {cases[i].watch, &o.watch},        {cases[i].access, &o.ray_access},
                     {cases[i].ports, &o.head_ports},   {cases[i].version, &o.ray_version},
                     {cases[i].proxy, &o.proxies.https}};
        test_case("%s", cases[i].error);
        for (size_t k = 0; k < COUNT_OF(texts); k++)
            if (texts[k].given)
                *texts[k].to = slice_of(texts[k].given);
        o.sources = text_of(cases[i].source);
        o.entries = text_of(cases[i].entry);
        CHECK(!put(&o, &e) && e.code == ERR_CONFIG);
        CHECK_STR(slice_head(slice_of(e.text), strlen(cases[i].error)), cases[i].error);
    }
}

/* The same options give the same bytes, and each entry is in the list or in the notes. */
static void every_format(void)
{
    for (size_t f = 0; f < COUNT_OF(formats); f++) {
        struct egress_options o = nothing();
        struct arena a = {0};
        struct err e;
        test_case("%s", formats[f]);
        o.format = slice_of(formats[f]);
        o.entries = text_of("10.1.2.0/24:8443,name.corp");
        CHECK(put(&o, &e));
        struct slice first = arena_dup(&a, buf_slice(&out)), said = arena_dup(&a, buf_slice(&notes));
        CHECK(slice_find_text(first, "10.1.2.0/24") >= 0 || slice_find_text(said, "10.1.2.0/24") >= 0);
        CHECK(slice_find_text(first, "name") >= 0);
        CHECK(put(&o, &e));
        CHECK_SLICE(buf_slice(&out), first);
        CHECK_SLICE(buf_slice(&notes), said);
        arena_free(&a);
    }
}

static void head_ports(void)
{
    struct egress_options o = nothing();
    struct err e;
    test_case("as many ports of heads as are taken");
    o.ray_access = SLICE("direct");
    o.head_ports = SLICE("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,65535");
    CHECK(put(&o, &e) && slice_find_text(buf_slice(&out), "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,65535") >= 0);
    test_case("nothing is contacted");
    o = nothing();
    CHECK(put(&o, &e));
    CHECK_STR(buf_slice(&out), "# nothing\n");
}

/* As many entries as the list holds, and one more, in every format. */
static void limit(void)
{
    struct buf entries;
    buf_init(&entries, MIB);
    for (size_t f = 0; f < COUNT_OF(formats); f++)
        for (int more = 0; more < 2; more++) {
            struct egress_options o = egress_defaults();
            struct err e;
            buf_clear(&entries);
            for (int i = 0; i < LIMIT_NET_ALLOW + more; i++)
                buf_printf(&entries, "%sa-long-name-for-an-entry-%d.of-a-domain-with-a-long-name.example.com", i ? "," : "", i);
            o.format = slice_of(formats[f]);
            o.api_servers = text_of("none");
            o.entries = (struct flag_texts){.list = {buf_slice(&entries)}, .count = 1};
            test_case("%s of %d entries", formats[f], LIMIT_NET_ALLOW + more);
            CHECK_INT(put(&o, &e), !more);
            CHECK_INT(e.code, more ? ERR_LIMIT : ERR_NONE);
            CHECK(!out.full && !notes.full && more == (out.len == 0));
        }
    buf_free(&entries);
}

int main(void)
{
    buf_init(&out, MIB);
    buf_init(&notes, MIB);
    buckets();
    profiles();
    refused();
    every_format();
    head_ports();
    limit();
    buf_free(&out);
    buf_free(&notes);
    return test_done();
}
