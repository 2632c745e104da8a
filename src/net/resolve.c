#include "resolve.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct queue {
    struct lookup *first, *last;
};

struct resolver {
    pthread_mutex_t lock; /* guards what follows, and lookups until they are handed out */
    pthread_cond_t asked;
    struct queue questions, answers;
    bool busy, closing;
    /* the thread's own */
    uint32_t v4_first; /* so many lookups still ask for IPv4 addresses by themselves first */
    /* the loop's own */
    pthread_t thread;
    bool started;
    int fd;
};

static void queue_push(struct queue *q, struct lookup *l)
{
    l->next = NULL;
    if (q->last)
        q->last->next = l;
    else
        q->first = l;
    q->last = l;
}

static struct lookup *queue_pop(struct queue *q)
{
    struct lookup *l = q->first;
    if (l && !(q->first = l->next))
        q->last = NULL;
    return l;
}

static void queue_cut(struct queue *q, struct lookup *l)
{
    struct lookup *before = NULL;
    for (struct lookup *at = q->first; at != l; at = at->next)
        before = at;
    if (before)
        before->next = l->next;
    else
        q->first = l->next;
    if (q->last == l)
        q->last = before;
}

/* ---- on the helper thread ---- */

static void addresses_add(struct addresses *a, struct address one)
{
    if (a->count < LIMIT_NET_ADDRESSES)
        a->at[a->count++] = one;
}

void addresses_of_localhost(uint16_t port, struct addresses *out)
{
    static const struct ip v4 = {{[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}}, v6 = {{[15] = 1}};
    addresses_add(out, address_of(&v4, port));
    addresses_add(out, address_of(&v6, port));
}

static struct slice next_word(struct slice *line)
{
    size_t end = 0;
    *line = slice_trim(*line);
    if (slice_empty(*line))
        return SLICE_NONE;
    while (end < line->len && line->ptr[end] != ' ' && line->ptr[end] != '\t')
        end++;
    struct slice word = slice_head(*line, end);
    *line = slice_skip(*line, end);
    return word;
}

bool hosts_line_has(struct slice line, struct slice name, struct ip *out)
{
    line = slice_cut(&line, '#');
    if (!ip_parse(next_word(&line), out))
        return false;
    for (struct slice word = next_word(&line); !slice_empty(word); word = next_word(&line))
        if (slice_eq_nocase(word, name))
            return true;
    return false;
}

struct slice search_line_domain(struct slice line, struct slice name)
{
    struct slice word = next_word(&line);
    if (!slice_is(word, "search") || !slice_ends(name, SLICE(".svc")))
        return SLICE("");
    while (!slice_empty(word = next_word(&line)))
        if (slice_starts(word, SLICE("svc.")) && host_is_name(word))
            return slice_skip(word, 4);
    return SLICE("");
}

/* Completes NAME.NAMESPACE.svc with the cluster's domain from /etc/resolv.conf. Names are asked with a trailing dot, and with that libc
 * does not apply the search list. */
static void complete_service(const struct lookup *l, char asked[LIMIT_NET_HOST + 2])
{
    struct slice name = {l->name, strlen(l->name) - 1};
    FILE *f = slice_ends(name, SLICE(".svc")) ? fopen("/etc/resolv.conf", "re") : NULL;
    char *line = NULL;
    size_t cap = 0;
    snprintf(asked, LIMIT_NET_HOST + 2, "%s", l->name);
    for (ssize_t n; f && (n = getline(&line, &cap, f)) >= 0;) {
        struct slice domain = search_line_domain(slice_trim((struct slice){line, (size_t)n}), name);
        if (!slice_empty(domain) && name.len + 1 + domain.len <= LIMIT_NET_HOST)
            snprintf(asked, LIMIT_NET_HOST + 2, "%.*s.%.*s.", SLICE_ARG(name), SLICE_ARG(domain));
    }
    free(line);
    if (f)
        fclose(f);
}

static void search_hosts_file(struct lookup *l)
{
    FILE *f = fopen("/etc/hosts", "re");
    if (!f)
        return;
    struct slice name = {l->name, strlen(l->name) - 1};
    struct ip ip;
    char *line = NULL;
    size_t cap = 0;
    for (ssize_t n; (n = getline(&line, &cap, f)) >= 0;)
        if (hosts_line_has((struct slice){line, (size_t)n}, name, &ip))
            addresses_add(&l->found, address_of(&ip, l->port));
    free(line);
    fclose(f);
}

/* libc's words differ, and "Try again" helps nobody. */
static const char *dns_reason(int rc)
{
    switch (rc) {
    case EAI_NONAME:
        return "DNS does not know the name";
    case EAI_AGAIN:
        return "no DNS server answers, or it refuses (is there a DNS policy?)";
    case EAI_SYSTEM:
        return strerror(errno);
    default:
        return "DNS has no address of it, or gives no usable answer";
    }
}

/* NULL, or why there is no address. */
static const char *ask_libc(struct lookup *l, const char *name, int family, int *rc)
{
    struct addrinfo want = {.ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *list = NULL;
    char port[8];
    snprintf(port, sizeof port, "%u", l->port);
    *rc = getaddrinfo(name, port, &want, &list);
    if (*rc != 0)
        return dns_reason(*rc);
    for (const struct addrinfo *at = list; at; at = at->ai_next) {
        struct address one = {.len = at->ai_addrlen};
        if (at->ai_addrlen <= sizeof one.v6) {
            memcpy(&one.any, at->ai_addr, at->ai_addrlen);
            addresses_add(&l->found, one);
        }
    }
    freeaddrinfo(list);
    return NULL;
}

/* There are DNS servers, and firewalls before them, that give a name's IPv4 addresses, and to the question for its IPv6 ones say "no such
 * name", an error, or nothing at all. For libc one bad answer of the two is no address. So IPv4 is asked for by itself then; and at once
 * where libc was kept waiting, because that takes it 5 s each time. Not for good: a server that was only away for a moment looks the same,
 * and what has addresses of both kinds may be reached by its IPv6 ones only. */
static void ask_dns(struct lookup *l, uint32_t *v4_first)
{
    int rc, ignored;
    char name[LIMIT_NET_HOST + 2];
    complete_service(l, name);
    bool v4 = *v4_first > 0;
    *v4_first -= v4;
    const char *why = ask_libc(l, name, v4 ? AF_INET : AF_UNSPEC, &rc);
    if (!why)
        return;
    if (ask_libc(l, name, v4 ? AF_UNSPEC : AF_INET, &ignored))
        err_set(&l->error, ERR_DNS, "no address for %.*s: %s", (int)strlen(name) - 1, name, why);
    else if (!v4 && rc == EAI_AGAIN)
        *v4_first = NET_DNS_V4_FIRST;
}

static void lookup_run(struct lookup *l, uint32_t *v4_first)
{
    search_hosts_file(l);
    if (l->found.count == 0)
        ask_dns(l, v4_first);
    if (l->found.count == 0)
        err_set(&l->error, ERR_DNS, "no address for %.*s", (int)strlen(l->name) - 1, l->name);
}

static void resolver_destroy(struct resolver *r)
{
    for (struct lookup *l; (l = queue_pop(&r->questions)) || (l = queue_pop(&r->answers));)
        mem_free(l);
    pthread_cond_destroy(&r->asked);
    pthread_mutex_destroy(&r->lock);
    close(r->fd);
    mem_free(r);
}

/* Everybody who has asked the same meanwhile gets this answer: with a slow DNS server ten connections to one name would else wait for ten
 * lookups, one after the other, and the last ones give up. */
static void answer_all(struct resolver *r, const struct lookup *l)
{
    for (struct lookup *at = r->questions.first, *next; at; at = next) {
        next = at->next;
        if (at->port != l->port || strcmp(at->name, l->name) != 0)
            continue;
        queue_cut(&r->questions, at);
        at->taken = true;
        at->found = l->found;
        at->error = l->error;
        queue_push(&r->answers, at);
    }
}

static void *resolver_main(void *arg)
{
    struct resolver *r = arg;
    pthread_mutex_lock(&r->lock);
    while (!r->closing) {
        struct lookup *l = queue_pop(&r->questions);
        if (!l) {
            pthread_cond_wait(&r->asked, &r->lock);
            continue;
        }
        l->taken = r->busy = true;
        pthread_mutex_unlock(&r->lock);
        lookup_run(l, &r->v4_first);
        pthread_mutex_lock(&r->lock);
        r->busy = false;
        queue_push(&r->answers, l);
        answer_all(r, l);
        eventfd_write(r->fd, 1);
    }
    pthread_mutex_unlock(&r->lock);
    resolver_destroy(r);
    return NULL;
}

/* ---- on the loop's thread ---- */

struct resolver *resolver_new(struct err *e)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) {
        err_set(e, ERR_IO, "eventfd: %s", strerror(errno));
        return NULL;
    }
    struct resolver *r = mem_alloc(sizeof *r);
    r->fd = fd;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->asked, NULL);
    return r;
}

void resolver_free(struct resolver *r)
{
    if (!r)
        return;
    if (!r->started) {
        resolver_destroy(r);
        return;
    }
    pthread_t thread = r->thread;
    pthread_mutex_lock(&r->lock);
    bool busy = r->busy;
    r->closing = true;
    pthread_cond_signal(&r->asked);
    pthread_mutex_unlock(&r->lock); /* r is the thread's from here on */
    if (busy)
        pthread_detach(thread);
    else
        pthread_join(thread, NULL);
}

int resolver_fd(const struct resolver *r)
{
    return r->fd;
}

struct lookup *resolver_ask(struct resolver *r, struct slice host, uint16_t port, void *asker, struct err *e)
{
    if (!r->started) {
        int rc = pthread_create(&r->thread, NULL, resolver_main, r);
        if (rc != 0) {
            err_set(e, ERR_DNS, "no thread to look up %.*s: %s", SLICE_ARG(host), strerror(rc));
            return NULL;
        }
        r->started = true;
    }
    struct lookup *l = mem_alloc(sizeof *l);
    l->asker = asker;
    l->port = port;
    snprintf(l->name, sizeof l->name, "%.*s.", SLICE_ARG(host));
    pthread_mutex_lock(&r->lock);
    queue_push(&r->questions, l);
    pthread_cond_signal(&r->asked);
    pthread_mutex_unlock(&r->lock);
    return l;
}

void resolver_drop(struct resolver *r, struct lookup *l)
{
    pthread_mutex_lock(&r->lock);
    l->asker = NULL;
    bool taken = l->taken;
    if (!taken)
        queue_cut(&r->questions, l);
    pthread_mutex_unlock(&r->lock);
    if (!taken)
        mem_free(l);
}

struct lookup *resolver_next(struct resolver *r)
{
    for (;;) {
        pthread_mutex_lock(&r->lock);
        struct lookup *l = queue_pop(&r->answers);
        if (!l) {
            eventfd_t ignored;
            eventfd_read(r->fd, &ignored);
        }
        pthread_mutex_unlock(&r->lock);
        if (!l || l->asker)
            return l;
        mem_free(l);
    }
}
