/* Answers that `mobula explain cluster`, `explain job` and `explain service` read; their output must be safe for a terminal. Input: parts
 * separated by NUL, each after a letter: c the RayCluster, p a page of pods, h the head's answer; j the RayJob; s an object that serves as
 * the RayService, its Service and the list of its RayClusters. */

#include <mobula/explain.h>
#include <mobula/rayservice.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_words(struct slice words)
{
    if (slice_empty(words) || words.len > EXPLAIN_WORDS_MAX || !utf8_valid(words) || !slice_ends(words, SLICE("\n")))
        abort();
    for (size_t i = 0; i < words.len; i++) {
        unsigned char c = (unsigned char)words.ptr[i], next = i + 1 < words.len ? (unsigned char)words.ptr[i + 1] : 0;
        if ((c < ' ' && c != '\n') || c == 0x7f || (c == 0xc2 && next < 0xa0))
            abort();
    }
}

static void hear(struct explain_facts *f, char what, struct slice text, struct arena *a)
{
    struct slice more = SLICE("");
    struct err e = {0};
    if (what == 'p') {
        bool well = explain_add_pods(f, text, &more, a, &e);
        if (well != (e.code == ERR_NONE))
            abort();
    } else if (what == 'h') {
        struct slice said = SLICE_NONE;
        if (explain_said(text, a, &said))
            f->said = said;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct json doc;
    struct buf out;
    struct explain_facts f = {.silence = SLICE("no head runs"), .now = {.mono_ms = 1, .wall_us = 1800000000LL * 1000000}};
    struct slice rest = {(const char *)data, size}, cluster = slice_cut(&rest, '\0');
    if (slice_starts(cluster, SLICE("c")) && json_parse(&doc, slice_skip(cluster, 1), &a, NULL)) {
        f.object = json_root(&doc);
        while (rest.ptr) {
            struct slice part = slice_cut(&rest, '\0');
            if (part.len)
                hear(&f, part.ptr[0], slice_skip(part, 1), &a);
        }
        buf_init(&out, EXPLAIN_WORDS_MAX);
        explain_words(&f, &a, &out);
        check_words(buf_slice(&out));
        buf_free(&out);
    } else if (slice_starts(cluster, SLICE("s")) && json_parse(&doc, slice_skip(cluster, 1), &a, NULL)) {
        struct jval root = json_root(&doc);
        const struct explain_service s = {.object = root,
                                          .serve_name = rayservice_serve_name(SLICE("s"), json_get(root, "spec.serveService"), &a),
                                          .serve = root,
                                          .clusters = json_get(root, "items"),
                                          .now_us = f.now.wall_us};
        buf_init(&out, EXPLAIN_WORDS_MAX);
        explain_service_words(&s, &a, &out);
        check_words(buf_slice(&out));
        buf_free(&out);
    }
    if (slice_starts(cluster, SLICE("j")) && json_parse(&doc, slice_skip(cluster, 1), &a, NULL)) {
        buf_init(&out, EXPLAIN_WORDS_MAX);
        explain_job_words(&(struct explain_job){.object = json_root(&doc), .now_us = f.now.wall_us}, &a, &out);
        check_words(buf_slice(&out));
        buf_free(&out);
    }
    arena_free(&a);
    return 0;
}
