#include <mobula/command.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void close_file(const int *fd)
{
    if (*fd > STDERR_FILENO) /* not what was given to us */
        close(*fd);
}

bool cli_hold_standard(struct err *e)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        /* The other way round, as glibc does it: output that goes nowhere is not to look well. */
        int flags = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags) != fd) /* the lowest that is free */
            return err_set(e, ERR_IO, "file descriptor %d is closed, and /dev/null cannot be opened: %s", fd, strerror(errno));
    }
    return true;
}

/* Adds what there is to read: the number of bytes, 0 at the end or when the buffer is full, -1 with errno. */
static ssize_t read_more(int fd, struct buf *text)
{
    char *to = buf_room(text, 1);
    ssize_t n = to ? read(fd, to, text->cap - text->len) : 0;
    text->len += n > 0 ? (size_t)n : 0;
    return n;
}

bool cli_read_file(struct slice path, struct arena *a, struct slice *out, struct err *e)
{
    return cli_read_most(path, LIMIT_YAML_INPUT, "LIMIT_YAML_INPUT", a, out, e);
}

bool cli_read_most(struct slice path, size_t max, const char *limit, struct arena *a, struct slice *out, struct err *e)
{
    bool standard = slice_eq(path, SLICE("-"));
    const char *name = standard ? "standard input" : path.ptr;
    __attribute__((cleanup(close_file))) int fd = standard ? STDIN_FILENO : open(path.ptr, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(e, ERR_IO, "%s: %s", name, strerror(errno));
    __attribute__((cleanup(buf_free))) struct buf text;
    buf_init(&text, max + 1); /* one more, to see whether the input is longer */
    ssize_t n;
    while ((n = read_more(fd, &text)) > 0)
        ;
    if (n < 0)
        return err_set(e, ERR_IO, "%s: %s", name, strerror(errno));
    if (text.len > max)
        return err_set(e, ERR_LIMIT, "%s: more than %zu bytes (%s)", name, max, limit);
    *out = arena_dup(a, buf_slice(&text));
    return true;
}

void cli_say_silent(struct slice place, struct slice why, int64_t timeout_ms)
{
    fprintf(stderr, "mobula: %.*s%.*s: trying for up to %d s\n", SLICE_ARG(place), SLICE_ARG(why), (int)(timeout_ms / 1000));
}

bool cli_print(struct slice text)
{
    while (!slice_empty(text)) {
        ssize_t n = write(STDOUT_FILENO, text.ptr, text.len);
        if (n < 0) {
            fprintf(stderr, "mobula: standard output: %s\n", strerror(errno));
            return false;
        }
        text = slice_skip(text, (size_t)n);
    }
    return true;
}

void cli_say(struct slice line)
{
    printf("%.*s\n", SLICE_ARG(line));
    fflush(stdout);
}

int cli_fail(const struct err *e)
{
    char line[ERR_TEXT_MAX]; /* of what servers say, too: nothing in it for a terminal to act on */
    utf8_clean(slice_of(e->text), line, sizeof line);
    fprintf(stderr, "mobula: %s\n", line);
    return STATUS_ERROR;
}
