/* The files of a running edge: routes and certificate, which are read again and again. */
#include "private.h"

/* A file with the one route that flags stand for. */
static struct slice write_route(const struct edge_files *f, struct buf *out)
{
    struct jout w;
    jout_init(&w, out);
    jout_form(&w, "{routes:[{upstream:'%.*s',auth?:'%.*s',cluster?:'%.*s',tokenFile?:'%.*s'}]}", SLICE_ARG(f->upstream), SLICE_ARG(f->auth),
              SLICE_ARG(f->cluster), SLICE_ARG(f->token));
    return buf_slice(out);
}

static uint64_t hash_texts(const struct edge_text *texts, uint32_t count)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < count; i++)
        hash = hash64(texts[i].text, hash64(slice_of(texts[i].file), hash));
    return hash;
}

static bool configure(struct edge_files *f, struct err *e)
{
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    __attribute__((cleanup(buf_free))) struct buf b = {.max = LIMIT_EDGE_CONFIG};
    const struct slice *services = NULL;
    uint32_t count = f->list ? f->list(f->of, &a, &services) : 0;
    struct edge_text *texts = arena_array(&a, count + 1, sizeof *texts);
    bool flags = slice_empty(f->config), well = true;
    texts[0].file = flags ? "--upstream" : f->config.ptr;
    if (flags)
        texts[0].text = write_route(f, &b);
    else
        well = f->edge->o.read(f->config, &a, &texts[0].text, e);
    for (uint32_t i = 0; well && i < count; i++) {
        texts[i + 1].file = services[i].ptr;
        well = f->edge->o.read(services[i], &a, &texts[i + 1].text, e);
    }
    uint64_t hash = well ? hash_texts(texts, count + 1) : f->configured;
    if (!well || hash == f->configured)
        return well;
    if (!edge_configure(f->edge, texts, count + 1, e))
        return false;
    if (f->configured)
        log_info("the routes have changed");
    f->configured = hash;
    return true;
}

static bool certify(struct edge_files *f, struct err *e)
{
    struct arena a = {0};
    struct slice cert, key;
    if (slice_empty(f->cert))
        return true;
    bool well = f->edge->o.read(f->cert, &a, &cert, e) && f->edge->o.read(f->key, &a, &key, e) && edge_certify(f->edge, cert, key, e);
    arena_wipe(&a);
    return well;
}

bool edge_files_read(struct edge_files *f, struct err *e)
{
    return configure(f, e) && certify(f, e);
}

static void warn(struct edge_files *f, const char *what, const struct err *why, struct now now)
{
    if (log_memory_pass(&f->said, hash64(slice_of(why->text), 0), now))
        log_warn(what, LF_CSTR("error", why->text));
}

void edge_files_reload(struct edge_files *f, struct now now)
{
    struct err e = {0};
    if (!configure(f, &e))
        warn(f, "the new routes cannot be used: those before stay", &e, now);
    e = (struct err){0};
    if (!certify(f, &e))
        warn(f, "the new certificate cannot be used: the one before stays", &e, now);
    edge_reload(f->edge);
    f->next_ms = now.mono_ms + EDGE_RELOAD_MS;
}
