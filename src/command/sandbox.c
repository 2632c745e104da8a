#include <mobula/command.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of linux/audit.h, linux/filter.h and linux/seccomp.h, which musl does not bring. */
#if defined __x86_64__
#define ARCH 0xc000003eU /* AUDIT_ARCH_X86_64 */
#elif defined __aarch64__
#define ARCH 0xc00000b7U /* AUDIT_ARCH_AARCH64 */
#endif
enum { LOAD = 0x20, IF_EQUAL = 0x15, IF_ANY = 0x45, RETURN = 0x06 };
enum { NUMBER = 0, ARCHITECTURE = 4, ARGUMENTS = 16 }; /* where they stand in struct seccomp_data */
#define ALLOW 0x7fff0000U
#define KILL 0x80000000U
enum { MODE_FILTER = 1, ALL_THREADS = 1, ACTION_AVAILABLE = 2 };

/* How musl makes a thread. Whatever makes a process has other flags. */
#define THREAD                                                                                                                             \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |               \
     CLONE_CHILD_CLEARTID | CLONE_DETACHED)
#define WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)

enum rule { ANY, EQUAL, WITHOUT }; /* the argument's lower 32 bits: do not matter, are these, have none of these */

/* The most frequent calls come first. Signals, events and listening sockets are made before the filter is. */
static const struct call {
    uint16_t number;
    uint8_t argument, rule;
    uint32_t bits;
} calls[] = {
    {SYS_epoll_pwait, 0, ANY, 0},
    {SYS_read, 0, ANY, 0},
    {SYS_write, 0, ANY, 0},
    {SYS_recvfrom, 0, ANY, 0},
    {SYS_sendto, 0, ANY, 0},
    {SYS_epoll_ctl, 0, ANY, 0},
    {SYS_futex, 0, ANY, 0},
    {SYS_clock_gettime, 0, ANY, 0},
    {SYS_getrandom, 0, ANY, 0},
    /* memory: nothing that can be run */
    {SYS_brk, 0, ANY, 0},
    {SYS_mmap, 2, WITHOUT, PROT_EXEC},
    {SYS_mprotect, 2, WITHOUT, PROT_EXEC},
    {SYS_mremap, 0, ANY, 0},
    {SYS_munmap, 0, ANY, 0},
    {SYS_madvise, 0, ANY, 0},
    /* files: only to read them */
    {SYS_openat, 2, WITHOUT, WRITES},
#ifdef SYS_open
    {SYS_open, 1, WITHOUT, WRITES},
#endif
    {SYS_fstat, 0, ANY, 0},
    {SYS_statx, 0, ANY, 0},
    {SYS_getdents64, 0, ANY, 0},
    {SYS_close, 0, ANY, 0},
    {SYS_fcntl, 0, ANY, 0},
    {SYS_lseek, 0, ANY, 0},
    {SYS_readv, 0, ANY, 0},
    {SYS_writev, 0, ANY, 0},
    /* connections; bind, poll, sendmsg and recvmsg are for questions to DNS */
    {SYS_socket, 0, EQUAL, AF_INET},
    {SYS_socket, 0, EQUAL, AF_INET6},
    {SYS_connect, 0, ANY, 0},
    {SYS_accept4, 0, ANY, 0},
    {SYS_shutdown, 0, ANY, 0},
    {SYS_setsockopt, 0, ANY, 0},
    {SYS_getsockopt, 0, ANY, 0},
    {SYS_getsockname, 0, ANY, 0},
    {SYS_bind, 0, ANY, 0},
    {SYS_sendmsg, 0, ANY, 0},
    {SYS_recvmsg, 0, ANY, 0},
#ifdef SYS_poll
    {SYS_poll, 0, ANY, 0},
#else
    {SYS_ppoll, 0, ANY, 0},
#endif
    /* the thread that asks DNS */
    {SYS_clone, 0, EQUAL, THREAD},
    {SYS_rt_sigprocmask, 0, ANY, 0},
    {SYS_exit, 0, ANY, 0},
    /* the end, also by abort(); a call that a stopped process was in is begun again */
    {SYS_rt_sigaction, 0, EQUAL, SIGABRT},
    {SYS_tkill, 1, EQUAL, SIGABRT},
    {SYS_exit_group, 0, ANY, 0},
    {SYS_restart_syscall, 0, ANY, 0},
};
_Static_assert(5 + 5 * COUNT_OF(calls) <= SANDBOX_OPS_MAX, "each row takes 5 instructions at most");

size_t sandbox_filter(struct sandbox_op out[SANDBOX_OPS_MAX])
{
    size_t n = 0;
    out[n++] = (struct sandbox_op){LOAD, 0, 0, ARCHITECTURE};
    out[n++] = (struct sandbox_op){IF_EQUAL, 1, 0, ARCH};
    out[n++] = (struct sandbox_op){RETURN, 0, 0, KILL};
    out[n++] = (struct sandbox_op){LOAD, 0, 0, NUMBER};
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        const struct call *c = &calls[i];
        out[n++] = (struct sandbox_op){IF_EQUAL, 0, c->rule == ANY ? 1 : 4, c->number};
        if (c->rule != ANY) {
            bool equal = c->rule == EQUAL;
            out[n++] = (struct sandbox_op){LOAD, 0, 0, ARGUMENTS + 8U * c->argument};
            out[n++] = (struct sandbox_op){equal ? IF_EQUAL : IF_ANY, !equal, equal, c->bits};
        }
        out[n++] = (struct sandbox_op){RETURN, 0, 0, ALLOW};
        if (c->rule != ANY)
            out[n++] = (struct sandbox_op){LOAD, 0, 0, NUMBER}; /* the next row may be of the same call */
    }
    out[n++] = (struct sandbox_op){RETURN, 0, 0, KILL};
    return n;
}

/* NULL, or why not. glibc, sanitizers and valgrind make other calls than musl, and a program with them is for tests. */
static const char *forbid(bool plugin)
{
#ifdef __GLIBC__
    (void)plugin;
    return "this program was built for tests";
#else
    struct sandbox_op ops[SANDBOX_OPS_MAX];
    struct {
        unsigned short count;
        const struct sandbox_op *ops;
    } filter = {(unsigned short)sandbox_filter(ops), ops};
    if (plugin)
        return "the kubeconfig's exec plugin is another program";
    bool done = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_seccomp, MODE_FILTER, ALL_THREADS, &filter) == 0;
    return done ? NULL : strerror(errno);
#endif
}

const char *sandbox_impossible(void)
{
    static const uint32_t kill = KILL;
    return syscall(SYS_seccomp, ACTION_AVAILABLE, 0, &kill) == 0 ? NULL : strerror(errno);
}

bool sandbox_enter(struct slice mode, bool plugin, const char **state, struct err *e)
{
    bool must = slice_eq(mode, SLICE("on"));
    *state = "off";
    if (slice_eq(mode, SLICE("off")))
        return true;
    if (!must && !slice_eq(mode, SLICE("auto")))
        return err_set(e, ERR_CONFIG, "--sandbox is \"%.*s\": want auto, on or off", SLICE_ARG(mode));
    const char *why = forbid(plugin);
    if (!why)
        *state = "on";
    else if (must)
        return err_set(e, ERR_CONFIG, "--sandbox=on is not possible: %s", why);
    else
        log_warn("no sandbox: system calls are not restricted", LF_CSTR("why", why));
    return true;
}
