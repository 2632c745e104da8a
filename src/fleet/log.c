/* The log of a job: its end as the control plane has it, and what of it was not shown before. */
#include <mobula/fleet.h>

bool fleet_job_log_tail(struct desk *d, struct slice version, struct slice *text, struct err *e)
{
    struct ask_answer a;
    struct buf path;
    buf_init(&path, LIMIT_HTTP_URL);
    buf_printf(&path, "%.*s/logs?lines=%lld", SLICE_ARG(d->way->path(d, d->o.name)), (long long)d->o.lines);
    if (!slice_empty(version))
        kube_query(&path, "version", version);
    bool asked = ask_get(&d->ask, buf_slice(&path), NULL, &d->a, &a, e);
    buf_free(&path);
    *text = a.body;
    if (!asked)
        d->way->silent(d, e);
    else if (a.code != 200)
        d->way->refused(d, &a, e);
    return asked && a.code == 200;
}

struct slice fleet_job_log_behind(struct slice window, struct slice known)
{
    while (!slice_starts(window, known))
        slice_cut(&known, '\n');
    return slice_skip(window, known.len);
}

bool fleet_job_log_kept(struct slice message, struct slice known, int64_t most, struct slice *rest)
{
    ptrdiff_t log = slice_find_text(message, "log:\n");
    struct slice kept = slice_skip(message, log < 0 ? message.len : (size_t)log + 5);
    *rest = fleet_job_log_behind(kept, known);
    if (log < 0 || (known.len && rest->len == kept.len))
        return false;
    for (size_t at = rest->len, lines = 0; at-- > 0;)
        if (rest->ptr[at] == '\n' && ++lines == (size_t)most) {
            *rest = slice_skip(*rest, at + 1);
            break;
        }
    return true;
}
