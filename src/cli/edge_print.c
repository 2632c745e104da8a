/* The manifests of an edge: those of edge_manifest.txt, with the namespace and the image in their places. */
#include "edge.h"

#include "cli.h"

#include <mobula/release.h>
#include <mobula/schema.h>

bool edge_print(const struct edge_command *o, struct err *e)
{
    struct slice ns = slice_empty(o->ns) ? SLICE("default") : o->ns, image = slice_empty(o->image) ? SLICE(INSTALL_IMAGE) : o->image;
    const struct {
        const char *name;
        struct slice value;
    } places[] = {{"NAMESPACE", ns}, {"IMAGE", image}, {"VERSION", SLICE(MOBULA_VERSION)}};
    struct arena a = {0};
    struct buf out = {.max = INSTALL_TEXT_MAX};
    bool well = cli_namespace(ns, "namespace", e);
    struct slice rest = embed_file(embed_all(&a), "src/cli/edge_manifest.txt");
    while (rest.ptr) {
        buf_put(&out, slice_cut(&rest, '@'));
        struct slice name = rest.ptr ? slice_cut(&rest, '@') : SLICE_NONE;
        for (size_t i = 0; i < COUNT_OF(places); i++)
            if (slice_is(name, places[i].name))
                buf_put(&out, places[i].value);
    }
    well = well && !slice_has(image, "\"") && !slice_has(image, "\n")
               ? cli_print(buf_slice(&out))
               : err_set(e, ERR_CONFIG, "--image: \"%.*s\" is no image", SLICE_ARG(image));
    buf_free(&out);
    arena_free(&a);
    return well;
}
