/* CEL, as far as the rules of our CustomResourceDefinitions go: ? : && || ! == != < <= > >= in +, members, indexes, lists, texts, whole
 * numbers, has(), size(), matches(), and the macros all, exists and exists_one over lists and over the keys of maps. */
#ifndef APISERVER_CEL_H
#define APISERVER_CEL_H

#include "dom.h"

enum cel_result {
    CEL_FALSE,
    CEL_TRUE,
    CEL_ERROR, /* the rule cannot be decided: a member that is not there, or text that is no rule we know */
};

/* old: the value before, or NULL. *why is set when the answer is CEL_ERROR. */
enum cel_result cel_decide(struct slice rule, const struct node *self, const struct node *old, struct arena *a, struct slice *why);
/* Does the rule compare with the value before? Then it is only for updates. */
bool cel_wants_old(struct slice rule);

#endif
