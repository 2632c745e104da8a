#include <mobula/net.h>

/* Shared by every kind of link, whatever carries its bytes. Nothing here asks the system for anything. */

struct link *net_open(struct net *n, const struct endpoint *to, struct link_owner *owner, int64_t deadline_ms, struct err *e)
{
    return n->ops->open(n, to, owner, deadline_ms, e);
}

bool link_put(struct link *l, struct slice *s)
{
    while (!slice_empty(*s)) {
        size_t n;
        char *room = link_room(l, &n);
        if (n == 0)
            return false;
        n = n < s->len ? n : s->len;
        memcpy(room, s->ptr, n);
        *s = slice_skip(*s, n);
        link_wrote(l, n);
    }
    return true;
}

void net_wake(struct link *l)
{
    struct net *n = l->net;
    if (l->ready)
        return;
    l->ready = true;
    l->ready_next = NULL;
    if (n->ready_last)
        n->ready_last->ready_next = l;
    else
        n->ready_first = l;
    n->ready_last = l;
}

/* Takes l out of a list and returns the link that was before it; NULL when it was the first, or not there. */
static struct link *unlink_from(struct link **first, struct link *l)
{
    struct link *before = NULL;
    for (struct link **at = first; *at; before = *at, at = &(*at)->ready_next) {
        if (*at == l) {
            *at = l->ready_next;
            return before;
        }
    }
    return NULL;
}

void net_forget(struct link *l)
{
    struct net *n = l->net;
    if (!l->ready)
        return;
    l->ready = false;
    unlink_from(&n->turn_first, l);
    struct link *before = unlink_from(&n->ready_first, l);
    if (n->ready_last == l)
        n->ready_last = before;
    l->ready_next = NULL;
}

bool net_dispatch(struct net *n, struct now now)
{
    /* A link that is woken from inside a step joins the list of the next turn, so a turn ends however eager its owners are. */
    n->turn_first = n->ready_first;
    n->ready_first = n->ready_last = NULL;
    bool any = false;
    for (struct link *l = n->turn_first; l; l = n->turn_first) {
        n->turn_first = l->ready_next;
        l->ready_next = NULL;
        l->ready = false;
        if (l->owner) {
            l->owner->step(l->owner, l, now);
            any = true;
        }
    }
    return any;
}
