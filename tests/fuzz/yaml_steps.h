/* What both yaml targets ask: JSON written as YAML reads as the same JSON. */
#ifndef MOBULA_FUZZ_YAML_STEPS_H
#define MOBULA_FUZZ_YAML_STEPS_H

#include <mobula/json.h>
#include <mobula/yaml.h>

#include <stdlib.h>

/* Whether it holds a number that YAML's readers round, as kubectl does: JSON keeps all digits. */
static inline bool is_rounded(struct jval v)
{
    struct jval k, x;
    struct slice raw = json_raw(v);
    if (json_type(v) == JSON_NUMBER)
        return raw.len > 15 || slice_find(raw, 'e') >= 0 || slice_find(raw, 'E') >= 0;
    for (struct jiter it = json_iter(v); json_next(&it, &k, &x);)
        if (is_rounded(x))
            return true;
    return false;
}

static inline void check_round_trip(struct slice json, struct arena *a)
{
    struct buf text;
    struct yaml_docs docs;
    struct json one, two;
    struct err e = {0};
    buf_init(&text, LIMIT_YAML_INPUT);
    if (!yaml_write(json, &text, &e)) {
        if (e.code != ERR_LIMIT)
            abort();
    } else if (!yaml_parse(buf_slice(&text), a, &docs, &e) || docs.count != 1 || !json_parse(&one, json, a, &e) ||
               !json_parse(&two, docs.docs[0].json, a, &e) ||
               (!is_rounded(json_root(&one)) && !json_equal(json_root(&one), json_root(&two)))) {
        abort();
    }
    buf_free(&text);
}

#endif
