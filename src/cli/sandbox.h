/* The sandbox of commands that run until a signal comes: from its start on the process may make only the system calls of a table, some
 * with certain arguments only. Any other one ends it (SIGSYS). There is no way out of it, for threads and children neither. */
#ifndef MOBULA_CLI_SANDBOX_H
#define MOBULA_CLI_SANDBOX_H

#include <mobula/base.h>

/* One instruction of a filter, as the kernel has it: struct sock_filter of linux/filter.h. */
struct sandbox_op {
    uint16_t code;
    uint8_t then, otherwise; /* instructions to leave out when a comparison holds, and when not */
    uint32_t value;
};
enum { SANDBOX_OPS_MAX = 256 };
size_t sandbox_filter(struct sandbox_op out[SANDBOX_OPS_MAX]);

/* --sandbox=auto|on|off. plugin: the process runs other programs, which a filter would end. *state says in words what is the case now. With
 * auto a kernel that has no filters, and a plugin, are warned of; with on they are an error. */
bool sandbox_enter(struct slice mode, bool plugin, const char **state, struct err *e);

/* NULL, or why this kernel has no such filter. */
const char *sandbox_impossible(void);

#define SANDBOX_FLAG(at)                                                                                                                   \
    {                                                                                                                                      \
        "sandbox", FLAG_TEXT, at, "auto|on|off", "give up all system calls that are not needed (seccomp); on: or do not start"             \
    }

#endif
