/* Command mobula storage: checks a bucket; lists, reads, writes, deletes and signs its objects. */
#include "cli.h"
#include "storage_check.h"

#include <mobula/check.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

struct options {
    struct check_options check; /* only check.output (-o) */
    struct slice url, file;
    int64_t valid_ms;
    bool deep;
    struct storage_options storage;
};

#define AT(field) offsetof(struct options, field)
static const struct flag list[] = {
    {"f", FLAG_TEXT, AT(file), "FILE"},
    {"recursive", FLAG_SWITCH, AT(deep), NULL},
    {"valid", FLAG_DURATION, AT(valid_ms), "TIME"},
    {"o", FLAG_TEXT, AT(check.output), "text|json"},
    {"origin", FLAG_TEXT, AT(check.origin), "URL"},
    STORAGE_FLAGS(AT(storage)),
    TLS_FLAG,
};
static const struct flags flags = {
    .usage = "mobula storage check|ls|get|put|rm|sign URL [-f FILE] [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
    .word = AT(url),
};
#undef AT

struct work {
    struct storage s;
    struct options o;
    struct cloud_place at;
};

static int run_get(struct work *w, struct err *e)
{
    struct slice file = w->o.file;
    bool standard = slice_empty(file) || slice_is(file, "-");
    return standard ? storage_get_to(&w->s, w->at.key, STDOUT_FILENO, "standard output", e) : storage_get_file(&w->s, w->at.key, file, e);
}

static int run_put(struct work *w, struct err *e)
{
    int fd = slice_empty(w->o.file) ? -1 : open(w->o.file.ptr, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return slice_empty(w->o.file) ? err_set(e, ERR_CONFIG, "-f FILE is needed: what is to be stored")
                                      : err_set(e, ERR_IO, "%s: %s", w->o.file.ptr, strerror(errno));
    bool well = storage_put_file(&w->s, w->at.key, fd, e);
    close(fd);
    return well;
}

static int run_rm(struct work *w, struct err *e)
{
    return storage_delete(&w->s, w->at.key, e);
}

static int run_sign(struct work *w, struct err *e)
{
    struct slice url;
    int64_t seconds = w->o.valid_ms / 1000;
    if (seconds < 1 || seconds > CLOUD_URL_S)
        return err_set(e, ERR_CONFIG, "--valid is from 1s to 168h: no store takes a longer one");
    if (!storage_url(&w->s, w->at.key, &seconds, &url, e))
        return false;
    if (seconds < w->o.valid_ms / 1000)
        fprintf(stderr, "mobula: the credentials, and so the URL, end in %lld s\n", (long long)seconds);
    return cli_print(arena_printf(&w->s.a, "%.*s\n", SLICE_ARG(url)));
}

/* Names come from other clients of the bucket: control characters are removed before they are printed. */
static int run_ls(struct work *w, struct err *e)
{
    struct slice more = SLICE("");
    do {
        __attribute__((cleanup(buf_free))) struct buf out = {.max = 64 * MIB};
        struct cloud_list page;
        if (!storage_list(&w->s, w->at.key, w->o.deep, &more, &page, e))
            return false;
        for (uint32_t i = 0; i < page.count; i++) {
            const struct cloud_object *o = &page.objects[i];
            struct slice name = arena_clean(&w->s.last, o->key, 4 * LIMIT_CLOUD_KEY);
            if (slice_empty(o->modified))
                buf_printf(&out, "%-20s %12s %.*s\n", "-", "-", SLICE_ARG(name));
            else
                buf_printf(&out, "%-20.19s %12lld %.*s\n", arena_clean(&w->s.last, o->modified, 32).ptr, (long long)o->size,
                           SLICE_ARG(name));
        }
        if (!cli_print(buf_slice(&out)))
            return false;
    } while (!slice_empty(more));
    return true;
}

static int run_check(struct work *w, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf out = {.max = 4 * MIB};
    struct check *c = arena_new(&w->s.a, struct check);
    (void)e;
    c->o = &w->o.check;
    c->a = &w->s.a;
    storage_probe(c, &w->s, w->at.key);
    check_write(c, &out);
    cli_print(buf_slice(&out));
    return check_status(c) ? -check_status(c) : true;
}

static const struct verb {
    const char *name;
    int (*run)(struct work *w, struct err *e); /* true; false with *e; or the exit status, negated */
    bool object;                               /* the command needs an object's name */
} verbs[] = {{"check", run_check, false}, {"ls", run_ls, false}, {"get", run_get, true},
             {"put", run_put, true},      {"rm", run_rm, true},  {"sign", run_sign, true}};

int cli_storage(int argc, char **argv)
{
    struct work w = {.o = {.check.output = SLICE("text"), .valid_ms = 3600 * 1000}};
    const struct verb *verb = NULL;
    struct err e = {0};
    int status;
    for (size_t i = 0; argc > 1 && i < COUNT_OF(verbs); i++)
        verb = slice_is(slice_of(argv[1]), verbs[i].name) ? &verbs[i] : verb;
    if (!flags_parse(&flags, argc - (verb != NULL), argv + (verb != NULL), &w.o, &status))
        return status;
    if (!verb || slice_empty(w.o.url))
        return flags_wrong(&flags, "want mobula storage check|ls|get|put|rm|sign URL, such as s3://BUCKET/NAME");
    if (!cloud_place(w.o.url, &w.at, &e) || (verb->object && !cloud_key(w.at.key, &e)))
        return flags_wrong(&flags, "%s", e.text);
    int done = storage_open(&w.s, &w.o.storage, &w.at, &e) ? verb->run(&w, &e) : false;
    storage_close(&w.s);
    if (e.code != ERR_NONE)
        return cli_fail(&e);
    return done < 0 ? -done : done ? STATUS_OK : STATUS_ERROR;
}
