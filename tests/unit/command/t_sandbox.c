/* The filter by itself, through an interpreter of its instructions; and real processes, which it ends. */
#include "../test.h"

#include <mobula/command.h>

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

/* ---- the filter as a function ---- */

struct data {
    uint32_t number, arch;
    uint64_t at, arguments[6];
};

#if defined __x86_64__
enum { OWN_ARCH = 62, X32 = 0x40000000 };
#else
enum { OWN_ARCH = 183, X32 = 0x40000000 };
#endif
static const uint32_t arch_bits = 0xc0000000U; /* 64 bits, little endian */

static uint32_t verdict(const struct sandbox_op *ops, size_t count, const struct data *d)
{
    uint32_t a = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sandbox_op *op = &ops[i];
        if (op->code == 0x06)
            return op->value;
        if (op->code == 0x20)
            memcpy(&a, (const char *)d + op->value, 4);
        else
            i += (op->code == 0x15 ? a == op->value : (a & op->value) != 0) ? op->then : op->otherwise;
    }
    return 1; /* ran over its end */
}

static const uint32_t lets = 0x7fff0000U, kills = 0x80000000U;

static void numbers(const struct sandbox_op *ops, size_t count)
{
    unsigned let = 0;
    for (uint32_t n = 0; n < 2000; n++) {
        uint32_t v = verdict(ops, count, &(struct data){n, OWN_ARCH | arch_bits, 0, {0}});
        test_case("call %u", n);
        CHECK(v == lets || v == kills);
        let += v == lets;
        CHECK(verdict(ops, count, &(struct data){n, (OWN_ARCH ^ 1) | arch_bits, 0, {0}}) == kills);
        CHECK(verdict(ops, count, &(struct data){n, OWN_ARCH, 0, {0}}) == kills);
        CHECK(verdict(ops, count, &(struct data){n | X32, OWN_ARCH | arch_bits, 0, {0}}) == kills);
    }
    test_case("how many calls are let through");
    CHECK(let >= 25 && let <= 40);
}

static const struct row {
    const char *what;
    uint32_t number;
    uint64_t arguments[6];
    bool let;
} rows[] = {
    {"read", SYS_read, {0}, true},
    {"memory", SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE}, true},
    {"memory that can be run", SYS_mmap, {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE}, false},
    {"memory made one that can be run", SYS_mprotect, {0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC}, false},
    {"a stack's guard page", SYS_mprotect, {0, 4096, PROT_READ | PROT_WRITE}, true},
    {"a file to read", SYS_openat, {0, 0, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY}, true},
    {"a file to write", SYS_openat, {0, 0, O_WRONLY}, false},
    {"a file to read and write", SYS_openat, {0, 0, O_RDWR | O_CLOEXEC}, false},
    {"a new file", SYS_openat, {0, 0, O_RDONLY | O_CREAT}, false},
    {"a file cut to nothing", SYS_openat, {0, 0, O_RDONLY | O_TRUNC}, false},
    {"IPv4", SYS_socket, {AF_INET, SOCK_STREAM}, true},
    {"IPv6", SYS_socket, {AF_INET6, SOCK_DGRAM}, true},
    {"a local socket", SYS_socket, {AF_UNIX, SOCK_STREAM}, false},
    {"netlink", SYS_socket, {AF_NETLINK, SOCK_RAW}, false},
    {"raw packets", SYS_socket, {AF_PACKET, SOCK_RAW}, false},
    {"a family that only its lower half is", SYS_socket, {0x100000000ULL | AF_UNIX, SOCK_STREAM}, false},
    {"another process", SYS_clone, {SIGCHLD}, false},
    {"a new user namespace", SYS_clone, {CLONE_NEWUSER | SIGCHLD}, false},
    {"another program", SYS_execve, {0}, false},
    {"another program by descriptor", SYS_execveat, {0}, false},
    {"ptrace", SYS_ptrace, {0}, false},
    {"memory of another process", SYS_process_vm_readv, {0}, false},
    {"a signal to others", SYS_kill, {1, SIGTERM}, false},
    {"abort", SYS_tkill, {1, SIGABRT}, true},
    {"abort of process 1", SYS_rt_sigaction, {SIGABRT}, true},
    {"a signal that is caught", SYS_rt_sigaction, {SIGSEGV}, false},
    {"a signal to a thread", SYS_tkill, {1, SIGKILL}, false},
    {"a way back", SYS_seccomp, {0}, false},
    {"prctl", SYS_prctl, {0}, false},
    {"unshare", SYS_unshare, {CLONE_NEWUSER}, false},
    {"mount", SYS_mount, {0}, false},
    {"bpf", SYS_bpf, {0}, false},
    {"keys of the kernel", SYS_keyctl, {0}, false},
    {"a listener", SYS_listen, {0}, false},
    {"ioctl", SYS_ioctl, {0}, false},
    {"a file's end", SYS_unlinkat, {0}, false},
    {"a name in memory", SYS_memfd_create, {0}, false},
    {"io_uring, which goes past filters", 425, {0}, false},
    {"clone3, whose flags a filter cannot see", 435, {0}, false},
};

static void arguments(const struct sandbox_op *ops, size_t count)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct data d = {rows[i].number, OWN_ARCH | arch_bits, 0, {0}};
        memcpy(d.arguments, rows[i].arguments, sizeof d.arguments);
        test_case("%s", rows[i].what);
        CHECK_INT(verdict(ops, count, &d) == lets, rows[i].let);
    }
}

/* ---- processes ---- */

static int own[2]; /* a pipe that was there before */

static void *little(void *of)
{
    return of;
}

static bool thread(void)
{
    pthread_t t;
    return pthread_create(&t, NULL, little, NULL) == 0 && pthread_join(t, NULL) == 0;
}

static bool name(void)
{
    struct addrinfo *list;
    if (getaddrinfo("localhost", "1", NULL, &list) != 0)
        return false;
    freeaddrinfo(list);
    return true;
}

static bool no_name(void)
{
    struct addrinfo *list;
    return getaddrinfo("no-such-name.invalid.", "1", NULL, &list) != 0;
}

static bool file(void)
{
    char line[80];
    struct stat st;
    FILE *f = fopen("Makefile", "re");
    return f && fstat(fileno(f), &st) == 0 && fgets(line, sizeof line, f) && fseek(f, 0, SEEK_SET) == 0 && fclose(f) == 0;
}

static bool memory(void)
{
    char *p = malloc(1 << 20), *more = p ? realloc(p, 8 << 20) : NULL;
    free(more ? more : p);
    return more != NULL;
}

static bool connection(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = 1};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    return fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) == 0 &&
           (connect(fd, (struct sockaddr *)&to, sizeof to) == 0 || errno == ECONNREFUSED) && close(fd) == 0;
}

static bool words(void)
{
    return write(own[1], "x", 1) == 1;
}

static bool program(void)
{
    char arg[] = "true", *argv[] = {arg, NULL};
    return execv("/bin/true", argv) == 0;
}

static bool process(void)
{
    return fork() >= 0;
}

static bool from_thread_run(void)
{
    return syscall(SYS_execve, "/bin/true", NULL, NULL) == 0;
}

static void *run_program(void *of)
{
    return from_thread_run() ? of : NULL;
}

static bool from_thread(void)
{
    pthread_t t;
    return pthread_create(&t, NULL, run_program, NULL) == 0 && pthread_join(t, NULL) == 0;
}

static bool code(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

static bool turned_code(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0;
}

static bool written(void)
{
    return open("/dev/null", O_WRONLY) >= 0;
}

static bool local(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}

static bool signalled(void)
{
    return kill(getppid(), 0) == 0;
}

static bool gone(void)
{
    return unlink("/no/such/file") == 0;
}

static bool undone(void)
{
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

static const struct deed {
    const char *what;
    bool (*done)(void);
    bool let;
} deeds[] = {
    {"a thread", thread, true},
    {"a name of the hosts file", name, true},
    {"a name that there is not", no_name, true},
    {"reading a file", file, true},
    {"memory that grows", memory, true},
    {"a connection", connection, true},
    {"a line of the log", words, true},
    {"another program", program, false},
    {"another process", process, false},
    {"another program from a thread", from_thread, false},
    {"code in memory", code, false},
    {"memory turned into code", turned_code, false},
    {"a file to write", written, false},
    {"a local socket", local, false},
    {"a signal", signalled, false},
    {"a file's end", gone, false},
    {"prctl", undone, false},
};

/* The status that docs/exit-codes.md has for it. */
static bool aborted(void)
{
    fatal("no memory (a test says so)");
    return true;
}

enum { ENTERED_NOT = 77, FAILED = 78 };

static int end_of(const struct deed *d)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        const char *state;
        if (!sandbox_enter(SLICE("on"), false, &state, NULL))
            _exit(ENTERED_NOT);
        _exit(d->done() ? 0 : FAILED);
    }
    waitpid(child, &status, 0);
    return status;
}

static void processes(void)
{
    static const struct deed nothing = {"", words, true};
    if (pipe(own) != 0)
        fatal("no pipe");
    int status = end_of(&nothing);
    if (WIFEXITED(status) && WEXITSTATUS(status) == ENTERED_NOT)
        return; /* built with sanitizers, or run by an emulator: no filters */
    for (size_t i = 0; i < COUNT_OF(deeds); i++) {
        test_case("%s", deeds[i].what);
        status = end_of(&deeds[i]);
        CHECK_INT(status, deeds[i].let ? 0 : SIGSYS | (WCOREDUMP(status) ? 0x80 : 0));
    }
    test_case("fatal()");
    status = end_of(&(struct deed){"", aborted, true});
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void modes(void)
{
    const char *state = "";
    struct err e = {0};
    test_case("off");
    CHECK(sandbox_enter(SLICE("off"), false, &state, &e));
    CHECK_STR(slice_of(state), "off");
    test_case("no mode");
    CHECK(!sandbox_enter(SLICE("yes"), false, &state, &e));
    CHECK_STR(slice_of(e.text), "--sandbox is \"yes\": want auto, on or off");
    e = (struct err){0};
    test_case("a plugin has other calls");
    log_global.level = LOG_ERROR;
    CHECK(sandbox_enter(SLICE("auto"), true, &state, &e));
    CHECK_STR(slice_of(state), "off");
    CHECK(!sandbox_enter(SLICE("on"), true, &state, &e));
    CHECK(slice_starts(slice_of(e.text), SLICE("--sandbox=on is not possible: ")));
}

int main(void)
{
    struct sandbox_op ops[SANDBOX_OPS_MAX];
    size_t count = sandbox_filter(ops);
    test_case("length");
    CHECK(count > 50 && count <= SANDBOX_OPS_MAX);
    numbers(ops, count);
    arguments(ops, count);
    modes();
    processes();
    return test_done();
}
