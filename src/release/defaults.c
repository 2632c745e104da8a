/* Patches that lie below the user's: files of airgap/patches/ that are part of the program, chosen by flags, and what other flags ask for.
 * Lines "# PART: …" of a file begin a part of it. A part that is not wanted is blanked, so that lines keep their numbers. */
#include <mobula/net.h>
#include <mobula/release.h>
#include <mobula/schema.h>

#include <stdio.h>

static const char *const all_parts[] = {"market", "zone", "accelerator", "identity", NULL};

static bool is_part(struct slice word)
{
    size_t i = 0;
    while (all_parts[i] && !slice_eq(word, slice_of(all_parts[i])))
        i++;
    return all_parts[i] != NULL;
}

/* Characters that go into a quoted string of YAML as they are. */
static bool is_plain(struct slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~' || strchr("\"\\", text.ptr[i]))
            return false;
    return true;
}

/* The volume source of --shared-storage, as YAML; SLICE_NONE: the flag is malformed. */
static struct slice shared_volume(struct slice text, struct arena *a)
{
    struct slice rest = text, kind = slice_cut(&rest, ':'), path = rest, host = slice_cut(&path, ':');
    if (slice_is(kind, "pvc") && name_dns1123_subdomain(rest))
        return arena_printf(a, "persistentVolumeClaim: {claimName: \"%.*s\"}", SLICE_ARG(rest));
    if (slice_is(kind, "csi") && name_dns1123_subdomain(rest))
        return arena_printf(a, "csi: {driver: \"%.*s\"}", SLICE_ARG(rest));
    if (slice_is(kind, "nfs") && net_is_host(host) && slice_starts(path, SLICE("/")) && is_plain(path))
        return arena_printf(a, "nfs: {server: \"%.*s\", path: \"%.*s\"}", SLICE_ARG(host), SLICE_ARG(path));
    return SLICE_NONE;
}

bool defaults_check(const struct default_patches *o, struct err *e)
{
    __attribute__((cleanup(arena_free))) struct arena mem = {0};
    struct slice parts = o->parts, secrets = o->pull_secrets, name;
    if (!slice_empty(o->provider) && !slice_listed(SLICE("aws,gcp,azure,generic"), o->provider))
        return err_set(e, ERR_CONFIG, "--cloud-provider is \"%.*s\": want aws, gcp, azure or generic", SLICE_ARG(o->provider));
    while (!slice_empty(parts))
        if (!is_part(name = slice_trim(slice_cut(&parts, ','))))
            return err_set(e, ERR_CONFIG, "--default-patches: \"%.*s\" is not one of " DEFAULT_PARTS, SLICE_ARG(name));
    if (o->internal && !slice_listed(SLICE("aws,gcp,azure"), o->provider))
        return err_set(e, ERR_CONFIG,
                       "--internal-load-balancers needs --cloud-provider=aws, gcp or azure: elsewhere set the annotations of your load "
                       "balancers by patches of kind Service and Gateway");
    if (!slice_empty(o->address) && !net_is_host(o->address))
        return err_set(e, ERR_CONFIG, "--route-address is \"%.*s\": want an IP address or a DNS name, without port",
                       SLICE_ARG(slice_head(o->address, 80)));
    if (!slice_empty(o->account) && !name_dns1123_subdomain(o->account))
        return err_set(e, ERR_CONFIG, "--workload-service-account: \"%.*s\" is not the name of one", SLICE_ARG(o->account));
    if (!is_plain(o->proxy) || !is_plain(o->no_proxy))
        return err_set(e, ERR_CONFIG,
                       "--workload-proxy, --workload-no-proxy: a blank, a quote or another character that a URL does not have");
    if (!slice_empty(o->no_proxy) && slice_empty(o->proxy))
        return err_set(e, ERR_CONFIG, "--workload-no-proxy needs --workload-proxy");
    if (!slice_empty(o->ca) && !name_dns1123_subdomain(o->ca))
        return err_set(e, ERR_CONFIG, "--workload-ca: \"%.*s\" is not the name of a ConfigMap", SLICE_ARG(o->ca));
    if (!slice_empty(o->shared) && !shared_volume(o->shared, &mem).ptr)
        return err_set(e, ERR_CONFIG, "--shared-storage is \"%.*s\": want pvc:NAME, nfs:HOST:/PATH or csi:DRIVER", SLICE_ARG(o->shared));
    while (!slice_empty(secrets))
        if (!name_dns1123_subdomain(name = slice_trim(slice_cut(&secrets, ','))))
            return err_set(e, ERR_CONFIG, "--workload-pull-secrets: \"%.*s\" is not the name of a Secret", SLICE_ARG(name));
    return true;
}

/* The file with these parts of it. */
static struct slice with_parts(struct slice file, struct slice parts, bool market, struct arena *a)
{
    char *copy = arena_alloc(a, file.len + 1);
    bool wanted = true;
    if (file.len)
        memcpy(copy, file.ptr, file.len);
    for (struct slice rest = {copy, file.len}; !slice_empty(rest);) {
        struct slice line = slice_cut(&rest, '\n'), more = slice_skip(line, slice_starts(line, SLICE("# ")) ? 2 : line.len);
        struct slice word = slice_cut(&more, ':');
        if (is_part(word))
            wanted = (slice_empty(parts) || slice_listed(parts, word)) && (market || !slice_eq(word, SLICE("market")));
        if (!wanted)
            memset(copy + (line.ptr - copy), ' ', line.len);
    }
    return (struct slice){copy, file.len};
}

/* Servers in the cluster are reached without a proxy; the kubelet fills in the variable. */
#define NO_PROXY "localhost,127.0.0.1,::1,.svc,.cluster.local,$(KUBERNETES_SERVICE_HOST)"
#define CA_FOLDER "/etc/mobula-ca"

/* A variable for each container, before those that it has: of two the kubelet takes the last. */
static void put_variable(struct buf *out, const char *names, struct slice value)
{
    static const char *const paths[] = {"containers/*", "initContainers/?"};
    for (struct slice rest = slice_of(names); !slice_empty(rest) && !slice_empty(value);) {
        struct slice name = slice_cut(&rest, ' ');
        for (size_t i = 0; i < COUNT_OF(paths); i++)
            buf_printf(out, "- {kind: Pod, patch: [{op: add, path: /spec/%s/env/0, value: {name: %.*s, value: \"%.*s\"}}]}\n", paths[i],
                       SLICE_ARG(name), SLICE_ARG(value));
    }
}

static void put_ca(struct buf *out, struct slice name)
{
    static const char mount[] = "/volumeMounts/-, value: {name: mobula-ca, mountPath: " CA_FOLDER ", readOnly: true}}";
    if (!slice_empty(name))
        buf_printf(out,
                   "- {kind: Pod, patch: [{op: add, path: /spec/volumes/-, value: {name: mobula-ca, configMap: {name: \"%.*s\"}}},\n"
                   "  {op: add, path: /spec/containers/*%s, {op: add, path: /spec/initContainers/?%s]}\n",
                   SLICE_ARG(name), mount, mount);
    put_variable(out, "SSL_CERT_FILE REQUESTS_CA_BUNDLE", slice_empty(name) ? SLICE_NONE : SLICE(CA_FOLDER "/ca.crt"));
}

/* Mounts the shared volume at /mnt/shared_storage, a folder of it for each cluster at /mnt/cluster_storage, an emptyDir at
 * /mnt/local_storage, and in pods with a user's label a folder for each user at /mnt/user_storage. */
static void put_shared(struct buf *out, struct slice volume)
{
    static const char mount[] = "  {op: add, path: /spec/containers/0/volumeMounts/-, value: {name: mobula-";
    static const char variable[] = "  {op: add, path: /spec/containers/0/env/0, value: {name: MOBULA_";
    if (!slice_empty(volume))
        buf_printf(out,
                   "- {kind: Pod, selector: \"ray.io/node-type,mobula.dev/shared-storage notin (none)\", patch: [\n"
                   "  {op: add, path: /spec/volumes/-, value: {name: mobula-shared, %.*s}},\n"
                   "  {op: add, path: /spec/volumes/-, value: {name: mobula-local, emptyDir: {}}},\n"
                   "%sCLUSTER, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['ray.io/cluster']\"}}}},\n"
                   "%sNAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}},\n"
                   "%sshared, mountPath: /mnt/shared_storage, subPath: shared}},\n"
                   "%sshared, mountPath: /mnt/cluster_storage, subPathExpr: \"clusters/$(MOBULA_NAMESPACE)/$(MOBULA_CLUSTER)\"}},\n"
                   "%slocal, mountPath: /mnt/local_storage}}]}\n"
                   "- {kind: Pod, selector: \"ray.io/node-type,mobula.dev/user,mobula.dev/shared-storage notin (none)\", patch: [\n"
                   "%sUSER, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['mobula.dev/user']\"}}}},\n"
                   "%sshared, mountPath: /mnt/user_storage, subPathExpr: \"users/$(MOBULA_NAMESPACE)/$(MOBULA_USER)\"}}]}\n",
                   SLICE_ARG(volume), variable, variable, mount, mount, mount, variable, mount);
}

/* The patches with the pods' proxy variables, CAs and shared volume. */
static struct slice egress_patches(const struct default_patches *o, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, MIB);
    struct slice none =
        arena_printf(a, "%s%s%.*s", slice_empty(o->proxy) ? "" : NO_PROXY, slice_empty(o->no_proxy) ? "" : ",", SLICE_ARG(o->no_proxy));
    put_variable(&out, "NO_PROXY no_proxy", none);
    put_variable(&out, "HTTP_PROXY http_proxy HTTPS_PROXY https_proxy", o->proxy);
    put_ca(&out, o->ca);
    put_shared(&out, shared_volume(o->shared, a));
    return arena_dup(a, buf_slice(&out));
}

/* The settings that flags ask for, whatever the provider. Names are checked: they need no escape. */
static struct slice flag_patches(const struct default_patches *o, struct arena *a)
{
    static const char *const reached[] = {"Ingress", "Gateway", "VirtualService"}; /* have an address, or none in their status */
    struct slice rest = o->pull_secrets, text = egress_patches(o, a);
    if (!slice_empty(o->account))
        text = arena_printf(a,
                            "%.*s- {kind: Pod, selector: \"!anyscale.com/iam-mapping\", patch: [{op: add, path: /spec/serviceAccountName, "
                            "value: \"%.*s\"}]}\n",
                            SLICE_ARG(text), SLICE_ARG(o->account));
    while (!slice_empty(rest)) {
        struct slice name = slice_trim(slice_cut(&rest, ','));
        text = arena_printf(a, "%.*s- {kind: Pod, patch: [{op: add, path: /spec/imagePullSecrets/-, value: {name: \"%.*s\"}}]}\n",
                            SLICE_ARG(text), SLICE_ARG(name));
    }
    for (size_t i = 0; i < COUNT_OF(reached) && !slice_empty(o->address); i++)
        text =
            arena_printf(a,
                         "%.*s- {kind: %s, patch: [{op: add, path: /metadata/annotations/anyscale.com~1ingress-address, value: \"%.*s\"},\n"
                         "  {op: add, path: /metadata/annotations/external-dns.alpha.kubernetes.io~1target, value: \"%.*s\"}]}\n",
                         SLICE_ARG(text), reached[i], SLICE_ARG(o->address), SLICE_ARG(o->address));
    if (o->tracing)
        text = arena_printf(a,
                            "%.*s- {kind: Pod, selector: ray.io/node-type, patch: [{op: add, path: "
                            "/spec/containers/0/securityContext/capabilities/add/-, value: SYS_PTRACE}]}\n",
                            SLICE_ARG(text));
    return text;
}

/* One more set, on top of those that there are. */
static bool put_set(const struct shape_patches **top, struct slice text, struct slice name, struct arena *a, struct err *e)
{
    struct shape_patches *set = arena_new(a, struct shape_patches);
    struct spec_errors *errors = arena_new(a, struct spec_errors);
    if (!shape_patches_read(text, a, set, errors))
        return spec_errors_tell(errors, e) || err_wrap(e, "%.*s", SLICE_ARG(name));
    set->name = name;
    shape_patches_above(set, *top);
    *top = set;
    return true;
}

bool defaults_read(const struct default_patches *o, struct arena *a, const struct shape_patches **out, struct err *e)
{
    __attribute__((cleanup(arena_free))) struct arena mem = {0};
    const struct slice names[] = {o->provider, o->karpenter ? SLICE("karpenter") : SLICE(""),
                                  o->internal ? arena_printf(a, "internal-%.*s", SLICE_ARG(o->provider)) : SLICE("")};
    struct slice flagged = flag_patches(o, a), all = embed_all(&mem);
    *out = NULL;
    if (!slice_empty(flagged) && !put_set(out, flagged, SLICE("patches of the flags"), a, e))
        return false;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct slice name = arena_printf(a, "airgap/patches/%.*s.yaml", SLICE_ARG(names[i]));
        if (!slice_empty(names[i]) && !put_set(out, with_parts(embed_file(all, name.ptr), o->parts, i > 0 || !o->karpenter, a), name, a, e))
            return false;
    }
    return true;
}

struct slice defaults_arguments(const struct default_patches *o, struct arena *a)
{
    const struct slice on = SLICE("true"), off = SLICE("");
    const struct {
        const char *flag;
        struct slice value;
    } given[] = {{"cloud-provider", o->provider},
                 {"karpenter", o->karpenter ? on : off},
                 {"default-patches", o->parts},
                 {"workload-service-account", o->account},
                 {"workload-pull-secrets", o->pull_secrets},
                 {"workload-proxy", o->proxy},
                 {"workload-no-proxy", o->no_proxy},
                 {"workload-ca", o->ca},
                 {"shared-storage", o->shared},
                 {"process-tracing", o->tracing ? on : off},
                 {"internal-load-balancers", o->internal ? on : off},
                 {"route-address", o->address}};
    struct slice text = SLICE("");
    for (size_t i = 0; i < COUNT_OF(given); i++)
        if (!slice_empty(given[i].value))
            text = arena_printf(a, "%.*s        - --%s=%.*s\n", SLICE_ARG(text), given[i].flag, SLICE_ARG(given[i].value));
    return text;
}
