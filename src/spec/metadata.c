/* What every custom resource says of itself. */
#include <mobula/spec.h>

/* The API server puts five letters behind a generateName. A name with five others stands for the one that it will choose. */
static bool read_generated(struct reader *r, const struct place *meta, const struct place **at, struct slice *out)
{
    struct slice prefix;
    *at = place_key(meta, "generateName");
    if (place_given(*at) && read_text(r, *at, REQUIRED, &prefix) && !slice_empty(prefix))
        *out = arena_printf(r->arena, "%.*sxxxxx", SLICE_ARG(prefix));
    return !slice_empty(*out);
}

void read_name(struct reader *r, const struct place *meta, int max, const char *why, struct slice *out)
{
    const struct place *name = place_key(meta, "name"), *at = name;
    if (!read_text(r, name, OPTIONAL, out) && place_given(name))
        return;
    bool given = !slice_empty(*out);
    if (!given && !read_generated(r, meta, &at, out)) {
        place_bad(r, name, "is missing: must be a string, unless there is a generateName");
        return;
    }
    if (out->len > (size_t)max)
        place_bad(r, at, "has %zu bytes%s: at most %d, so that %s", out->len, given ? "" : " with the five that are added", max, why);
    else if (!name_dns1035_label(*out))
        place_bad(r, at, "is \"%.*s\": must be lower case letters, digits and dashes, with a letter first and no dash last",
                  SLICE_ARG(slice_head(given ? *out : json_str(at->value, r->arena), 60)));
}
