#include <mobula/base.h>

static unsigned word_distance(struct slice a, struct slice b)
{
    if (a.len > NEAREST_MAX || b.len > NEAREST_MAX)
        return NEAREST_MAX;
    /* row[j]: from the first i letters of a to the first j of b */
    unsigned row[NEAREST_MAX + 1];
    for (unsigned j = 0; j <= b.len; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a.len; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b.len; j++) {
            unsigned change = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);
            unsigned step = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
            diagonal = row[j];
            row[j] = change < step ? change : step;
        }
    }
    return row[b.len];
}

void nearest_try(struct nearest *n, struct slice word)
{
    unsigned distance = word_distance(n->typed, word);
    bool near = distance <= NEAREST_LETTERS && distance * 2 <= n->typed.len; /* half of a short word in common says nothing */
    if (near && (!n->best.ptr || distance < n->distance)) {
        n->best = word;
        n->distance = distance;
    }
}
