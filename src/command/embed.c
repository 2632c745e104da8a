#include <mobula/command.h>

#include <stdio.h>

/* The assembler reads what the build has compressed: a gzip file behind the 10 bytes of its header, a deflate stream and 8 bytes. The path
 * is relative to the repository's root, where the build runs. */
__asm__(".pushsection .packed,\"a\"\n"
        "embed_begin: .incbin \"build/embed.gz\", 10\n"
        "embed_end:\n"
        ".popsection\n"
        ".pushsection .data.rel.ro.embed,\"aw\"\n"
        ".balign 8\n"
        "embed_packed: .quad embed_begin, embed_end - embed_begin\n"
        ".popsection\n");
extern const struct slice embed_packed __attribute__((visibility("hidden")));

struct slice embed_all(struct arena *a)
{
    struct err e = {0};
    __attribute__((cleanup(buf_free))) struct buf files;
    buf_init(&files, MIB);
    if (!inflate(embed_packed, &files, &e))
        fatal("the embedded files cannot be read: %s", e.text);
    return arena_dup(a, buf_slice(&files));
}

struct slice embed_optional(struct slice all, const char *path)
{
    while (!slice_empty(all)) {
        struct slice name = slice_cut(&all, '\0'), text = slice_cut(&all, '\0');
        if (slice_eq(name, slice_of(path)))
            return text;
    }
    return SLICE_NONE;
}

struct slice embed_file(struct slice all, const char *path)
{
    struct slice text = embed_optional(all, path);
    if (slice_empty(text))
        fatal("there is no embedded file %s", path);
    return text;
}

struct slice embed_definition(struct slice all, const char *plural)
{
    char path[128];
    snprintf(path, sizeof path, "airgap/crds/%s.yaml", plural);
    return embed_file(all, path);
}
