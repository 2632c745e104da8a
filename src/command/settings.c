#include <mobula/command.h>
#include <mobula/kinds.h>
#include <mobula/settings.h>

#include <stdlib.h>

bool cli_tools(struct slice text, struct ray_options *out, struct err *e)
{
    struct slice image = text;
    if (slice_eq(text, SLICE("configmap")))
        out->tools = RAY_TOOLS_CONFIGMAP;
    else if (slice_eq(text, SLICE("none")))
        out->tools = RAY_TOOLS_NONE;
    else if (slice_eq(slice_cut(&image, ':'), SLICE("image")) && !slice_empty(image)) {
        const char *bad = image_reference_bad(image);
        if (bad)
            return err_set(e, ERR_CONFIG, "--tools: image \"%.*s\" %s", SLICE_ARG(slice_head(image, 128)), bad);
        out->tools = RAY_TOOLS_IMAGE;
        out->tools_image = image;
    } else
        return err_set(e, ERR_CONFIG, "--tools is \"%.*s\": want configmap, image:REF or none", SLICE_ARG(text));
    return true;
}

bool cli_resources(const char *flag, struct slice text, struct ray_tools_resources *out, struct err *e)
{
    struct err why = {0};
    return slice_empty(text) || ray_tools_resources(text, out, &why) || err_set(e, ERR_CONFIG, "--%s: %s", flag, why.text);
}

/* One of three words; *out is its place. */
static bool one_of(const char *flag, struct slice text, const char *const words[3], int *out, struct err *e)
{
    for (int i = 0; i < 3; i++)
        if (slice_eq(text, slice_of(words[i]))) {
            *out = i;
            return true;
        }
    return err_set(e, ERR_CONFIG, "%s is \"%.*s\": want %s, %s or %s", flag, SLICE_ARG(text), words[0], words[1], words[2]);
}

bool cli_scaler(struct slice text, enum cli_scaler *out, struct err *e)
{
    static const char *const words[3] = {"operator", "sidecar", "off"};
    int at = 0;
    bool well = one_of("--autoscaler", text, words, &at, e);
    *out = (enum cli_scaler)at;
    return well;
}

const struct kind *cli_kind_switch(size_t n, struct flag *row)
{
    for (uint16_t i = 0; kinds[i]; i++)
        if (kinds[i]->optional.flag && n-- == 0) {
            *row = (struct flag){kinds[i]->optional.flag, FLAG_SWITCH, (uint16_t)(row->at + i * sizeof(bool)), NULL};
            return kinds[i];
        }
    return NULL;
}

bool cli_setting_flag(size_t n, struct flag *row)
{
    const struct setting_kind *s = setting_kinds[n / 2];
    size_t at = row->at + n / 2 * sizeof(struct operator_configmap) + n % 2 * offsetof(struct operator_configmap, key);
    if (s)
        *row = (struct flag){s->flags[n % 2], FLAG_TEXT, (uint16_t)at, n % 2 ? "KEY" : "NAME"};
    return s != NULL;
}

bool cli_kinds(struct slice text, enum operator_kinds *out, struct err *e)
{
    static const char *const words[3] = {[OPERATOR_ALL_KINDS] = "all", [OPERATOR_RAY_IO] = "ray.io", [OPERATOR_LEGACY] = "legacy"};
    int at = 0;
    bool well = one_of("--kinds", text, words, &at, e);
    *out = (enum operator_kinds)at;
    return well;
}

bool cli_plane_url(struct slice url, struct slice *host, uint16_t *port, struct err *e)
{
    static const struct slice scheme = SLICE("https://");
    struct slice place = slice_skip(url, scheme.len);
    return (slice_starts(url, scheme) && net_place(slice_cut(&place, '/'), host, port) && net_is_host(*host)) ||
           err_set(e, ERR_CONFIG, "--control-plane-url: want https://HOST[:PORT], without a user");
}

bool cli_cloud_id(struct slice s, struct err *e)
{
    static const struct slice prefix = SLICE("cldrsrc_");
    bool well = slice_starts(s, prefix) && s.len == prefix.len + 24;
    for (size_t i = prefix.len; well && i < s.len; i++)
        well = (s.ptr[i] >= 'a' && s.ptr[i] <= 'z') || (s.ptr[i] >= '0' && s.ptr[i] <= '9');
    return well ||
           err_set(e, ERR_CONFIG, "--cloud-deployment-id must be cldrsrc_ and 24 letters and digits, as mobula cloud list prints it");
}

bool cli_namespace(struct slice name, const char *flag, struct err *e)
{
    return name_dns1123_label(name) || err_set(e, ERR_CONFIG, "%s: \"%.*s\" is not the name of a namespace", flag, SLICE_ARG(name));
}

bool cli_namespaces(struct slice text, const char *flag, struct cli_namespaces *out, struct err *e)
{
    out->count = 0;
    do {
        struct slice name = slice_trim(slice_cut(&text, ','));
        if (!cli_namespace(name, flag, e))
            return false;
        for (uint32_t i = 0; i < out->count; i++)
            if (slice_eq(name, out->list[i]))
                return err_set(e, ERR_CONFIG, "%s: \"%.*s\" is named twice", flag, SLICE_ARG(name));
        if (out->count == CLI_NAMESPACES_MAX)
            return err_set(e, ERR_LIMIT, "%s: more than %d namespaces (CLI_NAMESPACES_MAX): mobula operator --all-namespaces watches all",
                           flag, CLI_NAMESPACES_MAX);
        out->list[out->count++] = name;
    } while (text.ptr);
    return true;
}

bool cli_items_next(struct cli_items *it, struct slice *item)
{
    if (!it->rest.ptr) {
        if (it->next == it->of->count)
            return false;
        it->rest = it->of->list[it->next++];
    }
    *item = slice_trim(slice_cut(&it->rest, ','));
    return true;
}

bool cli_egress_entries(const struct flag_texts *given, bool strict, struct net_allow *allow, struct err *e)
{
    struct cli_items it = {.of = given};
    struct slice item;
    while (cli_items_next(&it, &item))
        if (!net_allow_text(allow, item, strict, "--egress-allow", e))
            return false;
    return true;
}

bool cli_domain(struct slice text, struct err *e)
{
    return name_dns1123_subdomain(text) ||
           err_set(e, ERR_CONFIG, "--cluster-domain is \"%.*s\": want a domain such as cluster.local, without dots around it",
                   SLICE_ARG(text));
}

bool cli_route_hosts(struct slice hosts, struct err *e)
{
    while (hosts.len) {
        struct slice one = slice_cut(&hosts, ','), name = slice_starts(one, SLICE("*.")) ? slice_skip(one, 2) : one;
        if (!name_dns1123_subdomain(name))
            return err_set(e, ERR_CONFIG, "--route-hosts has \"%.*s\": want NAME, or *.NAME for every name below it", SLICE_ARG(one));
    }
    return true;
}

bool cli_submitter(struct slice text, const struct ray_options *tools, bool *pods, struct err *e)
{
    *pods = slice_eq(text, SLICE("pod"));
    if (!*pods && !slice_eq(text, SLICE("operator")))
        return err_set(e, ERR_CONFIG, "--submitter is \"%.*s\": want operator or pod", SLICE_ARG(text));
    if (*pods && tools->tools == RAY_TOOLS_NONE)
        return err_set(e, ERR_CONFIG, "--submitter=pod needs this binary in pods: --tools must be configmap or image:REF");
    return true;
}

bool cli_access(struct slice text, enum operator_access *out, struct err *e)
{
    static const char *const words[3] = {[OPERATOR_DIRECT] = "direct", [OPERATOR_SERVICE] = "service", [OPERATOR_PROXY] = "proxy"};
    int at = 0;
    bool well = one_of("--ray-access", text, words, &at, e);
    *out = (enum operator_access)at;
    return well;
}

bool cli_projects(struct slice given, bool all, struct slice otherwise, struct cli_namespaces *out, struct err *e)
{
    *out = (struct cli_namespaces){.list = {SLICE("")}, .count = 1};
    return all || cli_namespaces(slice_empty(given) ? otherwise : given, "--namespace", out, e);
}

bool cli_server_names(struct slice text, struct arena *a, const struct slice **out, uint32_t *count, struct err *e)
{
    struct slice *names = arena_array(a, LIMIT_HUB_NAMES + 1, sizeof *names);
    *out = names;
    names[(*count)++] = SLICE("localhost");
    while (!slice_empty(text)) {
        struct slice name = slice_trim(slice_cut(&text, ','));
        if (!name_dns1123_subdomain(name) && !net_is_ip(name))
            return err_set(e, ERR_CONFIG, "--tls-name: \"%.*s\" is no DNS name and no IP address", SLICE_ARG(name));
        if (*count > LIMIT_HUB_NAMES)
            return err_set(e, ERR_LIMIT, "--tls-name: more than %d names (LIMIT_HUB_NAMES)", LIMIT_HUB_NAMES);
        names[(*count)++] = name;
    }
    return true;
}

bool cli_kuberay_settings(struct operator_options *to, struct err *e)
{
    struct slice silence = slice_of(getenv("RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS")),
                 remove = slice_of(getenv("DELETE_RAYJOB_CR_AFTER_JOB_FINISHES"));
    if (!slice_empty(silence) && (!slice_int(silence, &to->job_silence_s) || to->job_silence_s < 1 || to->job_silence_s > INT32_MAX))
        return err_set(e, ERR_CONFIG, "RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS is \"%.*s\": want a number of seconds", SLICE_ARG(silence));
    to->delete_jobs = slice_eq_nocase(remove, SLICE("true"));
    return true;
}
