/* What `mobula uninstall` names, and the rights that an operator with given flags needs: both follow from what `mobula install` makes. */
#include "install.h"

static void uninstalled(struct arena *a)
{
    struct err e = {0};
    struct buf out;
    struct uninstall_options o = {.ns = SLICE("ray"), .watch = SLICE("a,b"), .kinds = SLICE("ray.io")};
    buf_init(&out, MIB);
    test_case("what install has made, and never a definition unless that is said");
    CHECK(uninstall_write(&o, &out, &e));
    struct slice text = arena_dup(a, buf_slice(&out));
    CHECK(slice_starts(text, SLICE("---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: mobula\n  namespace: \"ray\"\n")));
    CHECK(strstr(text.ptr, "kind: ConfigMap\nmetadata:\n  name: mobula-tools\n  namespace: \"b\"\n"));
    CHECK(!strstr(text.ptr, "CustomResourceDefinition") && !strstr(text.ptr, "kind: Namespace"));
    buf_clear(&out);
    o.crds = true;
    CHECK(uninstall_write(&o, &out, &e));
    text = arena_dup(a, buf_slice(&out));
    CHECK(strstr(text.ptr, "  name: rayclusters.ray.io\n") && strstr(text.ptr, "  name: rayjobs.ray.io\n"));
    CHECK(!strstr(text.ptr, "cluster.ray.io"));
    o.ns = SLICE("Ray");
    CHECK(!uninstall_write(&o, &out, &e) && strstr(e.text, "--namespace"));
    buf_free(&out);
}

static void finalizers(struct arena *a)
{
    static const char *const headers[] = {"include/mobula/ray.h", "include/mobula/hub.h"};
    uint32_t count = 0;
    test_case("--purge removes each finalizer that a header names, and no other");
    for (size_t i = 0; i < COUNT_OF(headers); i++)
        for (struct slice text = read_file(headers[i], a); text.ptr;) {
            struct slice line = slice_cut(&text, '\n');
            ptrdiff_t at = slice_find_text(line, "_FINALIZER");
            if (!slice_starts(line, SLICE("#define ")) || at < 0)
                continue;
            ptrdiff_t quote = slice_find(line, '"');
            struct slice name = quote < 0 ? slice_trim(slice_cut(&text, '\n')) : slice_skip(line, (size_t)quote);
            name = slice_skip(name, 1);
            CHECK(purge_strips(slice_cut(&name, '"')));
            count++;
        }
    CHECK_INT(count, 4);
    CHECK(!purge_strips(SLICE("foregroundDeletion")) && !purge_strips(SLICE("")));
}

static void arguments(struct arena *a)
{
    struct json doc;
    struct err e = {0};
    static const struct {
        const char *flag;
        bool list;
        const char *value;
    } cases[] = {{"--namespace", true, "a,b,c"},
                 {"--namespace", false, "c"},
                 {"--kinds", false, "legacy"},
                 {"--shapes", false, ""},
                 {"--kind", false, NULL}};
    CHECK(json_parse(&doc,
                     SLICE("{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"args\":[\"operator\",\"--namespace=a,b\","
                           "\"--kinds=all\",\"--namespace=c\",\"--kinds=legacy\",\"--shapes\"]}]}}}}"),
                     a, &e));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("an argument of a Deployment, %zu", i);
        struct slice value = inventory_argument(inventory_arguments(json_root(&doc)), cases[i].flag, cases[i].list, a);
        CHECK_STR(value, cases[i].value);
        CHECK((value.ptr == NULL) == (cases[i].value == NULL));
    }
    CHECK(!inventory_argument(inventory_arguments(NO_VALUE), "--kinds", false, a).ptr);
}

/* Every flag that brings something. */
static void everything(struct install_options *o, bool plane)
{
    *o = install_defaults;
    o->ns = SLICE("ray");
    o->watch = SLICE("a,b");
    o->plane = plane;
    o->no_crds = false;
    o->replicas = 2;
    o->program.bytes = SLICE("\177ELF");
    o->program.arch = SLICE("arm64");
    o->image = SLICE("r.example/pause:1");
    o->args.kinds = SLICE("all");
    if (plane)
        return;
    o->with.shapes = o->with.agent = o->with.report_nodes = o->with.ray_auth = true;
    o->args.autoscaler = SLICE("sidecar");
    o->hub.url = SLICE("https://hub.example");
    o->hub.cloud = SLICE("cldrsrc_abcdefghijklmnopqrstuvwx");
}

static struct apply objects_of(struct slice text, struct arena *a)
{
    struct err e = {0};
    struct apply p = {.a = a};
    CHECK(apply_read(&p, text, &e));
    return p;
}

static bool is_listed(const struct apply *p, const struct apply_object *o)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (slice_eq(p->list[i].kind, o->kind) && slice_eq(p->list[i].name, o->name) && slice_eq(p->list[i].ns, o->ns))
            return true;
    return false;
}

static void all_is_uninstalled(struct arena *a)
{
    for (int plane = 0; plane < 2; plane++)
        for (int cluster = 0; cluster < 2; cluster++) {
            struct err e = {0};
            struct install_options in;
            everything(&in, plane);
            in.all_namespaces = cluster;
            in.watch = cluster ? SLICE_NONE : in.watch;
            struct uninstall_options out = {
                .ns = in.ns, .watch = in.watch, .kinds = in.args.kinds, .program = in.program.bytes, .crds = true, .plane = plane};
            struct buf b;
            test_case("uninstall names all that install makes%s%s", plane ? ", of a control plane" : "", cluster ? ", all namespaces" : "");
            struct apply made = objects_of(written(&in, a, &e), a);
            CHECK_STR(slice_of(e.text), "");
            buf_init(&b, MIB);
            CHECK(uninstall_write(&out, &b, &e));
            struct apply gone = objects_of(buf_slice(&b), a);
            CHECK(made.count > 15 - 4 * (unsigned)plane);
            for (uint32_t i = 0; i < made.count; i++)
                if (!CHECK(is_listed(&gone, &made.list[i])))
                    printf("  %.*s %.*s\n", SLICE_ARG(made.list[i].kind), SLICE_ARG(made.list[i].name));
            bool of_cluster = false;
            test_case("the Deployment first, what is the cluster's last, and nothing twice");
            CHECK_STR(gone.list[0].kind, "Deployment");
            for (uint32_t i = 0; i < gone.count; i++) {
                of_cluster |= slice_empty(gone.list[i].ns);
                CHECK(slice_empty(gone.list[i].ns) == of_cluster);
                struct apply before = {.list = gone.list, .count = i};
                CHECK(!is_listed(&before, &gone.list[i]));
            }
            buf_free(&b);
        }
}

/* As one says that is started with these flags. */
static struct slice given(const void *of, const char *flag)
{
    const char *const *list = of;
    for (; *list; list++) {
        struct slice value = slice_of(*list);
        if (slice_eq(slice_cut(&value, '='), slice_of(flag)))
            return value.ptr ? value : SLICE("");
    }
    return SLICE_NONE;
}

/* What a running operator needs is what an installation gives to one that is started so. */
static void of_operators(struct arena *a)
{
    static const struct {
        const char *flags[4], *has, *has_not;
    } cases[] = {
        {{NULL}, "raycronjobs", "services/proxy"},
        {{"raycronjobs=false"}, "rayjobs", "raycronjobs"},
        {{"kinds=legacy", "tools=none"}, "cluster.ray.io", "mobula-tools"},
        {{"autoscaler=sidecar"}, "serviceaccounts", "services/proxy"},
        {{"ray-access=proxy", "autoscaler=off"}, "services/proxy", "serviceaccounts"},
        {{"cloud-deployment-id=cldrsrc_abcdefghijklmnopqrstuvwx"}, "\"create\",\"delete\",\"patch\"", "services/proxy"},
        {{"instance-types-configmap=instance-types", "leader-elect"}, "\"instance-types\"", "services/proxy"},
        {{"all-namespaces", "leader-elect=false"}, "rayclusters/status", "leases"},
        {{"cloud-deployment-id=cldrsrc_abcdefghijklmnopqrstuvwx", "agent=operator"}, "tokenreviews", "services/proxy"},
        {{"cloud-deployment-id=cldrsrc_abcdefghijklmnopqrstuvwx", "agent=direct", "all-namespaces"}, "tokenreviews", "services/proxy"},
        {{"cloud-deployment-id=cldrsrc_abcdefghijklmnopqrstuvwx", "agent=off"}, "rayjobs", "tokenreviews"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err e = {0};
        struct install_options o;
        struct slice rules = SLICE_NONE;
        test_case("rights of an operator, %zu", i);
        install_of_operator(&o, given, cases[i].flags);
        CHECK(install_rights(&o, o.all_namespaces ? SLICE_NONE : o.ns, a, &rules, &e));
        CHECK_STR(slice_of(e.text), "");
        CHECK(rules.ptr && strstr(rules.ptr, cases[i].has) && !strstr(rules.ptr, cases[i].has_not));
        test_case("… and in whatever namespace it watches, %zu", i);
        CHECK(install_rights(&o, SLICE_NONE, a, &rules, &e));
        const char *own = strstr(rules.ptr, "rayclusters/status");
        CHECK(own && !strstr(own + 1, "rayclusters/status") && !strstr(rules.ptr, "leases"));
        CHECK(!strstr(rules.ptr, "tokenreviews") == !o.with.agent);
        test_case("… without those of kinds that are needed on demand only, %zu", i);
        struct slice needed = install_rights_needed(given, cases[i].flags, SLICE("mobula"), SLICE("a,b"), a);
        CHECK(needed.ptr && strstr(needed.ptr, "rayclusters/status") && !strstr(needed.ptr, "leases"));
        CHECK(!strstr(needed.ptr, "ingresses") && !strstr(needed.ptr, "httproutes"));
    }
}

/* Names of the definitions in a stream of manifests: "  name: rayclusters.ray.io" after each kind. */
static uint32_t definition_names(struct slice text, struct slice *names, uint32_t most)
{
    uint32_t n = 0;
    bool definition = false;
    while (text.ptr) {
        struct slice line = slice_cut(&text, '\n');
        if (slice_starts(line, SLICE("kind: ")))
            definition = slice_eq(line, SLICE("kind: CustomResourceDefinition"));
        if (definition && slice_starts(line, SLICE("  name: ")) && n < most)
            names[n++] = slice_skip(line, sizeof "  name: " - 1);
    }
    return n;
}

static bool among(struct slice name, const struct slice *names, uint32_t count)
{
    while (count > 0 && !slice_eq(name, names[count - 1]))
        count--;
    return count > 0;
}

static void same_definitions(struct arena *a)
{
    static const char *const kinds[] = {"ray.io", "legacy", "all"};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct err e = {0};
        struct install_options in = install_defaults;
        struct uninstall_options out = {.ns = in.ns, .kinds = slice_of(kinds[i]), .crds = true};
        struct slice made[16], gone[16];
        struct buf b;
        test_case("uninstall --crds --kinds=%s names the definitions that install makes", kinds[i]);
        in.args.kinds = out.kinds;
        in.crds_only = true;
        memset(in.optional, true, sizeof in.optional);
        uint32_t made_count = definition_names(written(&in, a, &e), made, COUNT_OF(made));
        buf_init(&b, MIB);
        CHECK(uninstall_write(&out, &b, &e));
        uint32_t gone_count = definition_names(arena_dup(a, buf_slice(&b)), gone, COUNT_OF(gone));
        CHECK(made_count > 0);
        CHECK_INT(gone_count, made_count);
        for (uint32_t k = 0; k < made_count; k++)
            CHECK(among(made[k], gone, gone_count));
        buf_free(&b);
    }
}

int main(void)
{
    struct arena a = {0};
    uninstalled(&a);
    finalizers(&a);
    arguments(&a);
    same_definitions(&a);
    all_is_uninstalled(&a);
    of_operators(&a);
    arena_free(&a);
    return test_done();
}
