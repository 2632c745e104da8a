#include "build.h"
#include "shell.h"

/* Switches that Ray wants with a value; of all others "true" is the bare flag and "false" none at all. */
static bool keeps_value(struct slice key)
{
    return slice_is(key, "log-color") || slice_is(key, "include-dashboard") || slice_is(key, "include-log-monitor");
}

static void put_flag(struct buf *b, const struct pair *flag, struct arena *a)
{
    bool on = slice_eq_nocase(flag->value, SLICE("true")), off = slice_eq_nocase(flag->value, SLICE("false"));
    if ((on || off) && !keeps_value(flag->key)) {
        if (on)
            buf_printf(b, " --%.*s ", SLICE_ARG(flag->key));
        return;
    }
    buf_printf(b, " --%.*s=", SLICE_ARG(flag->key));
    buf_put(b, shell_word(flag->value, a));
    buf_putc(b, ' ');
}

bool ray_start_command(const struct ray_cluster *c, const struct ray_group *g, const struct ray_options *o, struct arena *a,
                       struct slice *out, struct err *e)
{
    if (c->kind == RAY_LEGACY) {
        *out = legacy_command(c, g, a);
        return true;
    }
    struct pairs flags = pairs_new(a);
    start_flags(c, g, o, &flags);
    struct buf b;
    buf_init(&b, LIMIT_JSON_ITEM);
    buf_put(&b, g->head ? SLICE("ray start --head ") : SLICE("ray start "));
    for (uint32_t i = 0; i < flags.count; i++)
        put_flag(&b, &flags.list[i], a);
    bool ok = !b.full || err_set(e, ERR_LIMIT, "the ray start command is longer than %d bytes", (int)LIMIT_JSON_ITEM);
    *out = arena_dup(a, buf_slice(&b));
    buf_free(&b);
    return ok;
}

/* -c, -lc, -euxc: the next word is a script. */
static bool takes_script(struct slice word)
{
    if (word.len < 2 || word.ptr[0] != '-' || word.ptr[word.len - 1] != 'c')
        return false;
    for (size_t i = 1; i < word.len; i++)
        if (word.ptr[i] < 'a' || word.ptr[i] > 'z')
            return false;
    return true;
}

/* The user's command and args as one text for a shell: each word with spaces around it, as KubeRay joins them, and a script of an
 * interpreter (bash -c, python -c) in quotes. No space stands at its end, where a here-document's last line may be. */
static struct slice own_command(const struct pod_build *b)
{
    static const char *const parts[] = {"command", "args"};
    struct buf text;
    bool script = false;
    buf_init(&text, LIMIT_JSON_ITEM);
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        struct jval k, v;
        for (struct jiter it = json_iter(json_child(b->container, parts[i])); json_next(&it, &k, &v);) {
            struct slice word = json_str(v, b->arena);
            buf_put(&text, text.len ? SLICE("  ") : SLICE(" "));
            buf_put(&text, script && !slice_is(word, "--") ? shell_word(word, b->arena) : word);
            script = takes_script(word) || (script && slice_is(word, "--"));
        }
    }
    struct slice all = arena_dup(b->arena, buf_slice(&text));
    buf_free(&text);
    return all;
}

bool writes_command(const struct pod_build *b)
{
    if (b->cluster->kind == RAY_LEGACY)
        return true; /* Ray was started by an exec of the 2021 operator, so the template's own command did nothing */
    if (json_is(json_child(b->cluster->annotations, RAY_OVERWRITE_COMMAND), "true"))
        return false;
    return shell_find_last(own_command(b), "ray start") < 0;
}

/* The dashboard of a head asks the metadata services of clouds which cloud it runs in, even with usage statistics off. It does not if this
 * file exists, which otherwise Ray's cluster launcher writes. */
static const char spare_metadata[] =
    "{ [ -e ~/ray_bootstrap_config.yaml ] || echo 'provider: {type: kubernetes}' >~/ray_bootstrap_config.yaml; } 2>/dev/null || :; ";

void write_command(struct jout *w, const struct pod_build *b)
{
    bool legacy = b->cluster->kind == RAY_LEGACY;
    jout_form(w, legacy ? "command:['/bin/bash','-lc']" : "command:['/bin/bash','-c','--']");
    /* The user's command runs first, because `ray start --block` does not return. */
    __attribute__((cleanup(buf_free))) struct buf lines = {.max = 2 * LIMIT_JSON_ITEM};
    if (!legacy)
        buf_put(&lines, own_command(b));
    shell_append(&lines, b->group->head ? slice_of(spare_metadata) : SLICE(""));
    if (!legacy)
        buf_put(&lines, SLICE("ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}; "));
    buf_put(&lines, b->command);
    struct slice text = arena_dup(b->arena, buf_slice(&lines));
    jout_form(w, "args:['%.*s']", SLICE_ARG(text));
}
