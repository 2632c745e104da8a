/* The rights that an installation gives its account. */
#include <mobula/kinds.h>
#include <mobula/release.h>
#include <mobula/yaml.h>

bool install_rights(const struct install_options *o, struct slice ns, struct arena *a, struct slice *rules, struct err *e)
{
    struct yaml_docs docs;
    struct slice all = SLICE("");
    bool found = o->all_namespaces; /* with a ClusterRole in its place; else Roles of further namespaces are the same */
    __attribute__((cleanup(buf_free))) struct buf text;
    buf_init(&text, MIB);
    if (!install_write(o, &text, e) || !yaml_parse(buf_slice(&text), a, &docs, e))
        return false;
    for (uint32_t i = 0; i < docs.count; i++) {
        struct jval doc;
        if (!json_read(&doc, docs.docs[i].json, a, e))
            return false;
        bool role = json_is(json_get(doc, "kind"), "Role");
        bool here = ns.ptr ? json_str_eq(json_get(doc, "metadata.namespace"), ns) : !found;
        if (!json_is(json_get(doc, "kind"), "ClusterRole") && !(role && here))
            continue;
        found |= role;
        struct slice more = json_raw(json_get(doc, "rules"));
        all = arena_printf(a, "%.*s%s%.*s", SLICE_ARG(all), all.len ? "," : "", (int)more.len - 2, more.ptr + 1);
    }
    *rules = arena_printf(a, "[%.*s]", SLICE_ARG(all));
    return true;
}

struct slice install_rights_needed(install_flag *value, const void *of, struct slice ns, struct slice watch, struct arena *keep)
{
    struct install_options i;
    struct slice rules = SLICE_NONE;
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    install_of_operator(&i, value, of);
    for (size_t k = 0; kinds[k]; k++)
        i.optional[k] &= !kinds[k]->on_demand;
    i.ns = ns;
    i.watch = i.all_namespaces ? SLICE_NONE : watch;
    return install_rights(&i, SLICE_NONE, &a, &rules, NULL) ? arena_dup(keep, rules) : SLICE_NONE;
}
