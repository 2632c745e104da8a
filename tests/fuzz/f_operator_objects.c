/* Watch events become records, records decisions. Parts separated by NUL: a letter for what is told (r a RayCluster, l a legacy one, j a
 * RayJob, p a pod, s a service; in capitals: it was deleted; t: time passes) and the object behind it. Everything is told twice, and the
 * second time must change nothing: a record is what its object says. */
#include "op_records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* By a letter of its own, whatever the order of the table. */
static const struct kind *kind_of(char what)
{
    static const struct {
        char letter;
        const struct kind *kind;
    } letters[] = {{'r', &kind_raycluster}, {'l', &kind_raycluster_legacy}, {'j', &kind_rayjob}, {'p', &kind_pod}, {'s', &kind_kservice}};
    for (size_t i = 0; i < COUNT_OF(letters); i++)
        if (letters[i].letter == (what | 0x20))
            return letters[i].kind;
    return NULL;
}

static void tell(struct op *op, char what, struct slice text)
{
    const struct kind *kind = kind_of(what);
    struct json doc;
    uint64_t version = 0;
    arena_reset(&op->event_arena, 64 * KIB);
    if (!kind || !json_parse(&doc, text, &op->event_arena, NULL) || json_type(json_root(&doc)) != JSON_OBJECT)
        return;
    struct source *from = source_of(&op->spaces[0], kind);
    struct jval object = json_root(&doc);
    kube_version_parse(json_get_str(object, "metadata.resourceVersion", &op->event_arena), &version);
    if (what & 0x20)
        kind->keep(op, from, object, version, 1);
    else
        kind->drop(op, from, object);
    check_records(op);
}

static void play(struct fake *f, struct op *op, struct slice in)
{
    for (struct slice rest = in; rest.ptr;) {
        struct slice part = slice_cut(&rest, '\0');
        if (part.len && part.ptr[0] == 't')
            f->now = (struct now){f->now.mono_ms + 1000, f->now.wall_us + 1000000};
        else if (part.len)
            tell(op, part.ptr[0], slice_skip(part, 1));
        for (uint32_t i = 0; i < kind_count(); i++)
            op->spaces[0].source[i].synced = true;
        operator_step(op, f->now);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct slice namespaces[] = {{"n", 1}};
    const struct operator_options o = {.namespaces = namespaces,
                                       .namespace_count = 1,
                                       .ray = {.tools = RAY_TOOLS_NONE, .cluster_domain = SLICE("cluster.local"), .version = SLICE("0")},
                                       .instance = SLICE("fuzz"),
                                       .seed = 1};
    struct fake f;
    struct err e = {0};
    log_global = (struct log){.level = LOG_DEBUG, .fd = -1};
    fake_init(&f);
    f.refuse = "there is no server";
    struct op *op = operator_new(&f.net, f.config, &o, &e);
    struct slice in = {(const char *)data, size};
    play(&f, op, in);
    uint32_t pods = op->pods.count, services = op->services.count;
    bool removes = false;
    for (struct slice rest = in; rest.ptr;) {
        struct slice part = slice_cut(&rest, '\0');
        removes |= part.len && part.ptr[0] >= 'A' && part.ptr[0] <= 'Z';
    }
    play(&f, op, in);
    if (!removes && (pods != op->pods.count || services != op->services.count))
        abort();
    operator_free(op);
    fake_free(&f);
    return 0;
}
