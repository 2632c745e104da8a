/* The end of a configuration: with the last call that uses it. */
#include "private.h"

void config_drop(struct config *c)
{
    if (!c || --c->users)
        return;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->routes[i].upstream)
            mem_wipe(c->routes[i].upstream, sizeof *c->routes[i].upstream);
    arena_free(&c->arena);
    mem_free(c);
}
