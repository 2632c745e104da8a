#include <mobula/artifact.h>

enum { ELF_HEAD = 20, ELF_MACHINE = 18, ELF_AMD64 = 62, ELF_ARM64 = 183, CANDIDATES_MAX = 64 };

bool program_arch(struct slice bytes, struct slice *arch, struct err *e)
{
    const unsigned char *p = (const unsigned char *)bytes.ptr;
    unsigned machine =
        bytes.len < ELF_HEAD || !slice_starts(bytes, SLICE("\177ELF")) ? 0 : p[ELF_MACHINE] | (unsigned)p[ELF_MACHINE + 1] << 8;
    *arch = machine == ELF_AMD64 ? SLICE("amd64") : SLICE("arm64");
    return machine == ELF_AMD64 || machine == ELF_ARM64 || err_set(e, ERR_CONFIG, "not a program for amd64 or arm64");
}

bool program_read(struct slice path, struct arena *a, struct slice *bytes, struct slice *arch, struct err *e)
{
    struct slice file = slice_empty(path) ? SLICE("/proc/self/exe") : path, whole;
    __attribute__((cleanup(buf_free))) struct buf carried;
    buf_init(&carried, INSTALL_PROGRAM_MAX);
    if (!cli_read_most(file, INSTALL_PROGRAM_FILE_MAX, "INSTALL_PROGRAM_FILE_MAX", a, &whole, e))
        return false;
    if (!program_arch(whole, arch, e))
        return err_wrap(e, "%.*s", SLICE_ARG(file));
    if (!program_carry(whole, &carried))
        return err_set(e, ERR_LIMIT, "%.*s: packed, it has more than the %d bytes that a ConfigMap holds (INSTALL_PROGRAM_MAX)",
                       SLICE_ARG(file), INSTALL_PROGRAM_MAX);
    *bytes = arena_dup(a, buf_slice(&carried));
    return true;
}

/* ---- an image that is there already ---- */

/* "registry.k8s.io/pause:3.10", "…/eks/pause@sha256:…": its last part is pause. */
static bool is_pause(struct slice name)
{
    for (ptrdiff_t slash; (slash = slice_find(name, '/')) >= 0;)
        name = slice_skip(name, (size_t)slash + 1);
    return slice_starts(name, SLICE("pause:")) || slice_starts(name, SLICE("pause@")) || slice_starts(name, SLICE("mirrored-pause:"));
}

struct candidate {
    struct slice name;
    uint32_t nodes; /* that have it */
};

static void count_name(struct candidate *list, uint32_t *count, struct slice name)
{
    for (uint32_t i = 0; i < *count; i++)
        if (slice_eq(list[i].name, name)) {
            list[i].nodes++;
            return;
        }
    if (*count < CANDIDATES_MAX)
        list[(*count)++] = (struct candidate){name, 1};
}

static void count_images(struct jval node, struct arena *a, struct candidate *list, uint32_t *count)
{
    struct jval key, image, name;
    for (struct jiter it = json_iter(json_get(node, "status.images")); json_next(&it, &key, &image);)
        for (struct jiter n = json_iter(json_key(image, SLICE("names"))); json_next(&n, &key, &name);)
            if (is_pause(json_str(name, a)))
                count_name(list, count, json_str(name, a));
}

bool program_choose(struct jval nodes, struct slice arch, struct arena *a, struct slice *image, struct err *e)
{
    struct candidate list[CANDIDATES_MAX] = {0}, best = {0};
    uint32_t count = 0, all = 0;
    struct jval key, node;
    for (struct jiter it = json_iter(json_key(nodes, SLICE("items"))); json_next(&it, &key, &node);)
        if (json_str_eq(json_get(node, "status.nodeInfo.architecture"), arch) && condition_is(json_get(node, "status"), "Ready", "True")) {
            count_images(node, a, list, &count);
            all++;
        }
    for (uint32_t i = 0; i < count; i++)
        if (list[i].nodes > best.nodes)
            best = list[i];
    *image = best.name;
    if (all == 0)
        return err_set(e, ERR_STATUS, "no node is ready that runs programs for %.*s: give --program", SLICE_ARG(arch));
    if (best.nodes == 0)
        return err_set(e, ERR_STATUS,
                       "no node says that it has an image called pause: name one that is on every node with --image "
                       "(kubectl get nodes -o jsonpath='{.items[*].status.images[*].names}' lists them)");
    return best.nodes == all ||
           err_set(e, ERR_STATUS, "no pause image is on every node: %.*s is on %u of %u. Name one that is with --image",
                   SLICE_ARG(best.name), (unsigned)best.nodes, (unsigned)all);
}

bool program_image(struct ask *k, struct slice arch, struct arena *a, struct slice *image, struct err *e)
{
    struct ask_answer answer = {0};
    struct json doc;
    char words[ASK_WORDS];
    if (!ask_get(k, SLICE("/api/v1/nodes?limit=500"), NULL, a, &answer, e))
        return false;
    if (answer.code >= 300)
        return err_set(e, ERR_STATUS, "the images of nodes may not be read: %s. Name one that is on every node with --image",
                       ask_words(&answer, words));
    return json_parse(&doc, answer.body, a, e) && program_choose(json_root(&doc), arch, a, image, e);
}
