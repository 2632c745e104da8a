/* Profiles: rows of domains.txt. */
#include "list.h"

/* "cld_AbC" as it stands in host names: cld-abc. */
static bool read_cloud_id(struct egress_gather *g, struct slice text, struct slice *out, struct err *e)
{
    struct slice id = slice_lower(text, g->arena);
    char *label = arena_alloc(g->arena, id.len + 1);
    for (size_t i = 0; i < id.len; i++)
        label[i] = id.ptr[i] == '_' ? '-' : id.ptr[i];
    *out = (struct slice){label, id.len};
    return (slice_starts(*out, SLICE("cld-")) && name_dns1123_label(*out)) ||
           err_set(e, ERR_CONFIG, "--cloud-id: \"%.*s\" is not the id of a cloud: want cld_ and letters and digits", SLICE_ARG(text));
}

static bool add_for_clouds(struct egress_gather *g, struct slice host, const char *setting, struct err *e)
{
    struct cli_items it = {.of = &g->o->cloud_ids};
    struct slice item, id, tail = host, before = slice_cut(&tail, '*');
    while (cli_items_next(&it, &item)) {
        if (!read_cloud_id(g, item, &id, e))
            return false;
        struct slice name = arena_printf(g->arena, "%.*s%.*s%.*s", SLICE_ARG(before), SLICE_ARG(id), SLICE_ARG(tail));
        if (!net_allow_add(g->allow, name, NET_ALLOW_PORT, setting, e))
            return false;
    }
    return true;
}

static bool add_row(struct egress_gather *g, char sign, struct slice host, const char *setting, struct err *e)
{
    if (sign == '@' && g->o->cloud_ids.count)
        return add_for_clouds(g, host, setting, e);
    if (sign == '@' && g->o->strict)
        return err_set(e, ERR_CONFIG, "--strict needs --cloud-id, once for each cloud: it stands in the place of the star in %.*s",
                       SLICE_ARG(host));
    if (sign == '*' && g->o->strict) {
        buf_printf(g->notes, "left out, because --strict takes no wildcard and no cloud id narrows it: %.*s\n", SLICE_ARG(host));
        return true;
    }
    return net_allow_add(g->allow, host, NET_ALLOW_PORT, setting, e);
}

static bool unknown_profile(struct egress_gather *g, struct slice name, struct slice table, struct err *e)
{
    struct slice known = SLICE(""), last = SLICE_NONE;
    while (!slice_empty(table)) {
        struct slice row = slice_cut(&table, '\n'), profile = slice_cut(&row, ' ');
        if (slice_starts(profile, SLICE("#")) || slice_eq(profile, last))
            continue;
        known = arena_printf(g->arena, "%.*s%s%.*s", SLICE_ARG(known), last.ptr ? ", " : "", SLICE_ARG(profile));
        last = profile;
    }
    return err_set(e, ERR_CONFIG, "--profile is \"%.*s\": want one of %.*s", SLICE_ARG(name), SLICE_ARG(known));
}

bool egress_add_profile(struct egress_gather *g, struct slice name, struct err *e)
{
    struct slice all = embed_file(embed_all(g->arena), EMBED_EGRESS), table = all;
    bool known = false;
    while (!slice_empty(table)) {
        struct slice row = slice_cut(&table, '\n'), profile = slice_cut(&row, ' '), sign = slice_cut(&row, ' '),
                     host = slice_cut(&row, ' ');
        if (slice_starts(profile, SLICE("#")) || !slice_eq(profile, name))
            continue;
        known = true;
        const char *setting = arena_printf(g->arena, "--profile %.*s: %.*s", SLICE_ARG(profile), SLICE_ARG(row)).ptr;
        if (!add_row(g, sign.ptr[0], host, setting, e))
            return false;
    }
    return known || unknown_profile(g, name, all, e);
}
