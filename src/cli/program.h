/* The program that `mobula install --registryless` puts into a ConfigMap, and an image that it can run in. */
#ifndef MOBULA_CLI_PROGRAM_H
#define MOBULA_CLI_PROGRAM_H

#include <mobula/command.h>

/* Writes the carried form (carry.c) of a program. A program without a stub in it, such as a carried form, is copied as it is. False: out is
 * full. */
bool program_carry(struct slice program, struct buf *out);
/* Reads the file (empty: this program) and makes its carried form; *arch is its architecture, as Kubernetes calls it. */
bool program_read(struct slice path, struct arena *a, struct slice *bytes, struct slice *arch, struct err *e);
bool program_arch(struct slice bytes, struct slice *arch, struct err *e);
/* A pause image that every node of this architecture has, by what the nodes say. False with *e: none is on all of them. */
bool program_image(struct ask *k, struct slice arch, struct arena *a, struct slice *image, struct err *e);
/* The same of a list of nodes. */
bool program_choose(struct jval nodes, struct slice arch, struct arena *a, struct slice *image, struct err *e);

#endif
