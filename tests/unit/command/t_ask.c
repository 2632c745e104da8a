/* A command whose server does not answer: the reason is printed once, at the first failed attempt, and the question ends. */
#include "../test.h"

#include <mobula/command.h>

#include <unistd.h>

int main(void)
{
    static const char config[] = "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
                                 "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: u, user: {token: t}}]\n";
    char path[] = "/tmp/t_ask-XXXXXX", said[] = "/tmp/t_ask_said-XXXXXX";
    int fd = mkstemp(path), out = mkstemp(said), before = dup(STDERR_FILENO);
    struct ask k = {0};
    struct arena a = {0};
    struct err e = {0};
    struct ask_answer answer;
    CHECK(fd >= 0 && out >= 0 && before >= 0 && write(fd, config, sizeof config - 1) == (ssize_t)(sizeof config - 1));
    test_case("a server that refuses: the reason once, and an end");
    CHECK(ask_open(&k, slice_of(path), SLICE(""), &e));
    k.timeout_ms = 1200;
    CHECK(dup2(out, STDERR_FILENO) >= 0);
    bool asked = ask_get(&k, SLICE("/version"), NULL, &a, &answer, &e);
    CHECK(dup2(before, STDERR_FILENO) >= 0);
    ask_close(&k);
    struct slice text = read_file(said, &a);
    ptrdiff_t at = slice_find_text(text, "127.0.0.1:1: ");
    CHECK(!asked && e.text[0]);
    CHECK(at >= 0 && slice_has(text, "refused") && slice_has(text, "trying for up to"));
    CHECK(at >= 0 && slice_find_text(slice_skip(text, (size_t)at + 1), "trying for up to") >= 0);
    slice_cut(&text, '\n');
    CHECK(slice_empty(text));
    arena_free(&a);
    close(fd);
    close(out);
    close(before);
    unlink(path);
    unlink(said);
    return test_done();
}
