/* Texts of ConfigMaps in the operator's own namespace, those of control_parts.settings. Each ConfigMap is watched by its name. A text that
 * is broken changes nothing: what was taken last stays in force, and the log, a metric and an event name what is wrong.
 */
#include <mobula/control.h>

const struct setting *setting_of(const struct op *op, const struct setting_kind *kind)
{
    const struct setting *s = op->settings;
    while (op->parts->settings[s - op->settings] != kind)
        s++;
    return s;
}

struct slice setting_name(const struct setting *s)
{
    return s->op->o.settings[s - s->op->settings].name;
}

static struct slice key_of(const struct setting *s)
{
    return s->op->o.settings[s - s->op->settings].key;
}

static const struct setting_kind *row_of(const struct setting *s)
{
    return s->op->parts->settings[s - s->op->settings];
}

static void say_broken(const struct setting *s, struct jval configmap)
{
    struct op *op = s->op;
    struct arena *a = &op->arenas.event;
    struct kube_event ev = {.about = {.api_version = SLICE("v1"),
                                      .kind = SLICE("ConfigMap"),
                                      .ns = op->o.settings_ns,
                                      .name = setting_name(s),
                                      .uid = json_get_str(configmap, "metadata.uid", a)},
                            .warning = true,
                            .reason = SLICE("BrokenSetting"),
                            .action = SLICE("Read"),
                            .note = arena_printf(a, "%.*s: %s; what was read last stays in force", SLICE_ARG(key_of(s)), s->why.text)};
    log_warn("a ConfigMap is broken: what was read of it last stays in force", LF("namespace", op->o.settings_ns),
             LF("configmap", setting_name(s)), LF("key", key_of(s)), LF_CSTR("error", s->why.text));
    if (op->phase.leading)
        kube_event_say(op->events, &ev, op->now);
}

void setting_tell(const struct setting *s)
{
    for (const struct kind *const *k = s->op->parts->kinds; *k; k++)
        if ((*k)->on_setting)
            (*k)->on_setting(s->op, s);
}

/* text.ptr is NULL when there is no such ConfigMap or key. */
static void take(struct setting *s, struct jval configmap, struct slice text)
{
    uint64_t hash = text.ptr ? hash64(text, 1) : 0;
    if (s->known && s->hash == hash)
        return; /* a new list shows what is known */
    s->known = true;
    s->hash = hash;
    s->why = (struct err){0};
    s->broken = !row_of(s)->on_text(s, text, &s->why);
    if (s->broken)
        say_broken(s, configmap);
    if (text.ptr || !s->broken) /* else it was deleted, and what was taken last stays in force */
        setting_tell(s);
}

static void take_object(struct setting *s, struct jval configmap)
{
    struct arena *a = &s->op->arenas.event;
    if (!json_str_eq(json_get(configmap, "metadata.name"), setting_name(s)))
        return;
    s->seen = true;
    struct jval mark = json_child(json_get(configmap, "metadata.annotations"), SETTING_FROZEN);
    bool frozen = json_type(mark) == JSON_STRING && !json_is(mark, "false");
    bool turned = frozen != s->frozen && row_of(s)->freezes;
    s->frozen = frozen;
    struct jval text = json_key(json_get(configmap, "data"), key_of(s));
    take(s, configmap, json_type(text) == JSON_STRING ? json_str(text, a) : SLICE_NONE);
    if (turned)
        setting_tell(s);
}

/* Before the first text is known, kinds report the reason that keeps it from being read. */
static void trouble(struct setting *s, const struct kube_watch_event *ev)
{
    uint64_t what = hash64(slice_of(ev->err->text), hash64(setting_name(s), 0));
    bool told = kube_client_stats(s->op->client)->trouble.code != ERR_NONE;
    if (!told && say_once(s->op, SAID_SERVER, what))
        log_warn("a ConfigMap cannot be watched: what was read of it last stays in force", LF("namespace", s->op->o.settings_ns),
                 LF("configmap", setting_name(s)), LF_CSTR("error", ev->err->text));
    if (s->known || !ev->status)
        return; /* a connection that fails is tried again, and nothing can be done meanwhile anyway */
    s->why = *ev->err;
    if (row_of(s)->on_trouble)
        row_of(s)->on_trouble(s);
    setting_tell(s);
}

static void on_watch(void *owner, const struct kube_watch_event *ev, struct now now)
{
    struct setting *s = owner;
    s->op->now = now;
    arena_reset(&s->op->arenas.event, 64 * KIB);
    switch (ev->what) {
    case KUBE_WATCH_RESTART:
        s->seen = false;
        break;
    case KUBE_WATCH_UPSERT:
        take_object(s, ev->item);
        break;
    case KUBE_WATCH_DELETE:
        if (json_str_eq(json_get(ev->item, "metadata.name"), setting_name(s)))
            take(s, ev->item, SLICE_NONE);
        break;
    case KUBE_WATCH_SYNCED:
    case KUBE_WATCH_ABSENT:
        if (!s->seen)
            take(s, (struct jval){.at = -1}, SLICE_NONE);
        break;
    case KUBE_WATCH_PROGRESS:
    case KUBE_WATCH_REWOUND: /* the list that follows shows what there is */
        break;
    case KUBE_WATCH_SKIPPED:
    case KUBE_WATCH_TROUBLE:
        trouble(s, ev);
        break;
    }
}

bool settings_init(struct op *op, struct err *e)
{
    const struct setting_kind *const *kinds = op->parts->settings;
    for (uint32_t i = 0; kinds[i]; i++)
        op->settings[i].op = op;
    for (uint32_t i = 0; kinds[i]; i++)
        if (kinds[i]->start && !kinds[i]->start(&op->settings[i], e))
            return false;
    return true;
}

bool settings_start(struct op *op, struct err *e)
{
    for (uint32_t i = 0; op->parts->settings[i]; i++) {
        struct setting *s = &op->settings[i];
        if (slice_empty(setting_name(s)))
            continue;
        char fields[LIMIT_KUBE_NAME + 16];
        snprintf(fields, sizeof fields, "metadata.name=%.*s", SLICE_ARG(setting_name(s)));
        const struct kube_watch_options o = {.resource = kube_configmaps,
                                             .ns = op->o.settings_ns,
                                             .kind = SLICE("ConfigMap"),
                                             .fields = slice_of(fields),
                                             .on = on_watch,
                                             .owner = s};
        s->watch = kube_watch_start(op->client, &o, e);
        if (!s->watch)
            return false;
    }
    return true;
}

void settings_stop(struct op *op)
{
    for (uint32_t i = 0; i < LIMIT_SETTINGS; i++)
        if (op->settings[i].watch)
            kube_watch_stop(op->settings[i].watch);
}

void settings_free(struct op *op)
{
    for (uint32_t i = 0; op->parts->settings[i]; i++)
        op->parts->settings[i]->free(&op->settings[i]);
}

bool setting_awaited(const struct setting *s)
{
    return s->watch && !s->known && s->why.code == ERR_NONE;
}

bool settings_awaited(const struct op *op)
{
    for (uint32_t i = 0; op->parts->settings[i]; i++)
        if (op->parts->settings[i]->first && setting_awaited(&op->settings[i]))
            return true;
    return false;
}
