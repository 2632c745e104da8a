/* An object, and behind a NUL a policy: every refusal has words and a rule. */
#include <mobula/policy.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct spec_errors errors = {0}, refused = {0};
    struct reader r = {.arena = &a, .errors = &errors};
    struct slice rest = {(const char *)data, size}, text = slice_cut(&rest, '\0');
    struct work_policy policy;
    struct json doc, file;
    uint32_t rule;
    work_policy_default(&policy);
    if (rest.ptr && json_parse(&file, rest, &a, NULL)) {
        const struct place *at = place_root(json_root(&file), &a);
        if (work_policy_read(&r, at, &policy) != (errors.count == 0))
            abort();
    }
    if (json_parse(&doc, text, &a, NULL)) {
        bool ok = work_policy_check(&policy, json_root(&doc), &a, &refused, &rule);
        if (ok != (rule == 0) || ok != (refused.count == 0) || rule > WORK_RULES || (policy.frozen && ok))
            abort();
    }
    arena_free(&a);
    return 0;
}
