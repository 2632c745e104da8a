/* The stub that begins the carried form (src/artifact/carry.c): without a libc, it unpacks the program behind it into memory
 * (memfd_create), or into the folder MOBULA_UNPACK if the node forbids that, and executes it. The kernel maps the whole file, so neither
 * /proc nor the path of the file is needed. */
#include <mobula/carried.h>

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define FOLDER "MOBULA_UNPACK"
enum { IN_MEMORY_CLOSED = 1, IN_MEMORY_RUN = 16, PATH_ROOM = 4096, TRIES = 100, SIZE_BYTES = 4, STATUS_ERROR = 1 };

extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

/* ---- system calls, and the functions that the compiler calls ---- */

#if defined __x86_64__
__asm__(".globl _start\n_start: xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call begin\n");

static long call(long number, long a, long b, long c, long d, long e)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = 0;
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return number;
}
#elif defined __aarch64__
__asm__(".globl _start\n_start: mov x29, #0\n mov x30, #0\n mov x0, sp\n b begin\n");

static long call(long number, long a, long b, long c, long d, long e)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = 0;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}
#endif

void *memcpy(void *to, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((char *)to)[i] = ((const char *)from)[i];
    return to;
}

void *memset(void *to, int c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((char *)to)[i] = (char)c;
    return to;
}

/* ---- error messages ---- */

static void say(const char *words)
{
    size_t n = 0;
    while (words[n])
        n++;
    call(SYS_write, 2, (long)words, (long)n, 0, 0);
}

static void say_error(long code)
{
    char text[] = "0000", *at = text + sizeof text - 1;
    for (; code < 0 && at > text; code /= 10)
        *--at = (char)('0' - code % 10);
    say(" (error ");
    say(at);
    say(")");
}

static _Noreturn void leave(void)
{
    for (;;)
        call(SYS_exit_group, STATUS_ERROR, 0, 0, 0, 0);
}

/* ---- unpacking ---- */

static struct slice packed_program(uint32_t *size)
{
    uint32_t at = 0;
    const Elf64_Phdr *load = (const void *)((const char *)&__ehdr_start + __ehdr_start.e_phoff);
    while (load->p_type != PT_LOAD)
        load++;
    memcpy(&at, &__ehdr_start.e_ident[EI_PAD], sizeof at);
    const char *packed = (const char *)&__ehdr_start + at;
    memcpy(size, packed, SIZE_BYTES);
    return (struct slice){packed + SIZE_BYTES, load->p_filesz - at - SIZE_BYTES};
}

/* Unpacks the program into the file. Returns 0, or a negative errno. */
static long unpack(long fd)
{
    uint32_t size;
    struct slice packed = packed_program(&size);
    long done = call(SYS_ftruncate, fd, size, 0, 0, 0);
    if (done < 0)
        return done;
    long at = call(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    if (at < 0 && at > -PATH_ROOM)
        return at;
    if (!carried_unpack(packed, __ehdr_start.e_machine, (char *)at, size)) {
        say("mobula: the file is damaged: the program in it cannot be unpacked; copy it again and compare its checksum\n");
        leave();
    }
    branches_turn((char *)at, size, __ehdr_start.e_machine, true);
    return call(SYS_munmap, at, size, 0, 0, 0);
}

static long become(long fd, char **argv, char **env)
{
    return call(SYS_execveat, fd, (long)"", (long)argv, (long)env, AT_EMPTY_PATH);
}

static long run_in_memory(char **argv, char **env)
{
    long fd = call(SYS_memfd_create, (long)"mobula", IN_MEMORY_CLOSED | IN_MEMORY_RUN, 0, 0, 0);
    if (fd == -22) /* EINVAL: before Linux 6.3 there is no MFD_EXEC, and every memfd can be executed */
        fd = call(SYS_memfd_create, (long)"mobula", IN_MEMORY_CLOSED, 0, 0, 0);
    if (fd < 0)
        return fd;
    long done = unpack(fd);
    done = done < 0 ? done : become(fd, argv, env);
    call(SYS_close, fd, 0, 0, 0, 0);
    return done;
}

/* A file that is open for writing cannot be executed (ETXTBSY), so it is opened again for reading. It is unlinked before it runs. */
static long run_file(const char *path, long fd, char **argv, char **env)
{
    long done = unpack(fd), again = call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0);
    call(SYS_close, fd, 0, 0, 0, 0);
    call(SYS_unlinkat, AT_FDCWD, (long)path, 0, 0, 0);
    if (done < 0 || again < 0)
        return done < 0 ? done : again;
    return become(again, argv, env);
}

static long run_in_folder(const char *folder, char **argv, char **env)
{
    static const char name[] = "/mobula-00";
    char path[PATH_ROOM];
    size_t n = 0;
    while (n < sizeof path - sizeof name && folder[n]) {
        path[n] = folder[n];
        n++;
    }
    memcpy(path + n, name, sizeof name);
    long fd = -1;
    for (int i = 0; i < TRIES && fd < 0; i++) { /* other processes may be unpacking into this folder */
        path[n + 8] = (char)('0' + i / 10);
        path[n + 9] = (char)('0' + i % 10);
        fd = call(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700, 0);
    }
    return fd < 0 ? fd : run_file(path, fd, argv, env);
}

static const char *folder_of(char **env)
{
    static const char name[] = FOLDER "=";
    for (; *env; env++) {
        size_t n = 0;
        while (name[n] && (*env)[n] == name[n])
            n++;
        if (!name[n] && (*env)[n])
            return *env + n;
    }
    return NULL;
}

_Noreturn __attribute__((used)) void begin(long *stack);
_Noreturn void begin(long *stack)
{
    char **argv = (char **)(stack + 1), **env = argv + stack[0] + 1;
    const char *folder = folder_of(env);
    long memory = run_in_memory(argv, env), file = folder ? run_in_folder(folder, argv, env) : 0;
    say("mobula: cannot run the program from memory (memfd_create and execveat)");
    say_error(memory);
    if (folder) {
        say(", nor from the folder of " FOLDER ", ");
        say(folder);
        say_error(file);
        say(": that folder must be writable and not mounted noexec\n");
    } else {
        say(": set " FOLDER " to a folder in which programs can be written and run, such as an emptyDir\n");
    }
    leave();
}
