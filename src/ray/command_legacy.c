/* The old operator ran these commands in a sleeping container, one after the other, by exec. Here they are the container's command, so
 * that the container ends when Ray does, and restarts and pod phases tell the truth. */
#include "build.h"
#include "shell.h"

static const char ray_start[] = "ray start";

static void put_list(struct buf *b, struct jval commands, struct arena *a)
{
    struct jval k, v;
    for (struct jiter it = json_iter(commands); json_next(&it, &k, &v);)
        shell_append(b, slice_trim(json_str(v, a)));
}

/* Setup: what every node runs, then the head's own or the workers', a type's list replacing the cluster's. */
static void put_setup(struct buf *b, const struct ray_cluster *c, const struct ray_group *g, struct arena *a)
{
    put_list(b, json_get(c->spec, "SetupCommands"), a);
    if (g->head)
        put_list(b, json_get(c->spec, "headSetupCommands"), a);
    else if (!value_given(g->setup_commands))
        put_list(b, json_get(c->spec, "workerSetupCommands"), a);
    put_list(b, g->setup_commands, a);
}

static void put_default(struct buf *b, const struct ray_cluster *c, const struct ray_group *g)
{
    shell_append(b, SLICE("ray stop; ulimit -n 65536"));
    if (g->head)
        buf_printf(b, "; ray start --head --port=%d --no-monitor --dashboard-host=0.0.0.0", (int)c->ports.gcs);
    else
        buf_printf(b, "; ray start --address=$RAY_HEAD_IP:%d", (int)c->ports.gcs);
}

struct slice legacy_command(const struct ray_cluster *c, const struct ray_group *g, struct arena *a)
{
    struct buf b;
    buf_init(&b, LIMIT_JSON_ITEM);
    put_setup(&b, c, g, a);
    if (value_given(g->start_commands))
        put_list(&b, g->start_commands, a);
    else
        put_default(&b, c, g);
    struct slice text = arena_dup(a, buf_slice(&b));
    buf_free(&b);
    ptrdiff_t at = shell_find_last(text, ray_start);
    if (at < 0)
        return text;
    struct slice last = slice_skip(text, (size_t)at);
    bool block = !slice_has(last, "--block"), no_monitor = g->head && c->scale.on && !slice_has(last, "--no-monitor");
    /* Flags stand right behind "ray start": behind the command's end there may be a redirection, a pipe or a further command. */
    size_t flags = (size_t)at + strlen(ray_start);
    return arena_printf(a, "%.*s%s%s%.*s", (int)flags, text.ptr, block ? " --block" : "", no_monitor ? " --no-monitor" : "",
                        SLICE_ARG(slice_skip(text, flags)));
}

bool legacy_gcs_port(struct jval start_commands, struct arena *a, int32_t *out)
{
    static const char flag[] = "--port";
    *out = RAY_GCS_PORT;
    struct jval k, v;
    for (struct jiter it = json_iter(start_commands); json_next(&it, &k, &v);) {
        struct slice text = json_str(v, a);
        ptrdiff_t found = slice_find_text(text, flag);
        if (found < 0)
            continue;
        struct slice rest = slice_skip(text, (size_t)found + strlen(flag));
        if (slice_empty(rest) || (rest.ptr[0] != '=' && rest.ptr[0] != ' '))
            continue;
        rest = slice_trim(slice_skip(rest, 1));
        size_t n = 0;
        while (n < rest.len && rest.ptr[n] >= '0' && rest.ptr[n] <= '9')
            n++;
        if (!read_port(slice_head(rest, n), out))
            return false;
    }
    return true;
}
