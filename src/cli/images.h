/* The output of `mobula images`, as a function of manifests. */
#ifndef MOBULA_CLI_IMAGES_H
#define MOBULA_CLI_IMAGES_H

#include <mobula/base.h>

enum { IMAGES_MAX = 4096 };
struct images {
    struct slice list[IMAGES_MAX];
    uint32_t count;
};
/* Adds one, unless it is there already. */
bool images_add(struct images *set, struct slice image, struct err *e);
/* The images of containers and image volumes of all documents, whatever their kind; text and arena must stay. */
bool images_read(struct slice text, struct arena *a, struct images *set, struct err *e);
void images_sort(struct images *set);

#endif
