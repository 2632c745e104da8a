/* Files of cases: a name after ===, then what the test makes of the rest. */
#ifndef MOBULA_TEST_CASES_H
#define MOBULA_TEST_CASES_H

#include "tests/unit/test.h"

/* Calls run with each case of the file: its name is set, the rest is handed over. */
static inline void run_cases(const char *path, void (*run)(struct slice text))
{
    struct arena a = {0};
    struct slice text = read_file(path, &a);
    static const char mark[] = "\n=== ";
    const char *at = text.ptr ? strstr(text.ptr, mark) : NULL;
    while (at) {
        const char *begin = at + sizeof mark - 1, *end = strstr(begin, mark);
        struct slice one = {begin, end ? (size_t)(end - begin) : strlen(begin)}, name = slice_cut(&one, '\n');
        test_case("%.*s", SLICE_ARG(name));
        run(one);
        at = end;
    }
    arena_free(&a);
}

#endif
