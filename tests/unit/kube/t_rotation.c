/* Credentials that change under a running client: connections made with the old ones are not used again, and what cannot be read is said
 * once. */
#include "watcher.h"

static char dir[] = "/tmp/mobula-t-rotation-XXXXXX";

static void put_file(const char *name, struct slice text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(text.ptr, 1, text.len, f) == text.len);
    if (f)
        fclose(f);
}

static void copy_pair(const char *name)
{
    struct arena a = {0};
    put_file("cert", read_file(arena_printf(&a, "tests/data/kube/certs/%s.pem", name).ptr, &a));
    put_file("key", read_file(arena_printf(&a, "tests/data/kube/certs/%s.key", name).ptr, &a));
    arena_free(&a);
}

/* The files are looked at, whatever the time. */
static void look_again(struct fake *f)
{
    f->config->private_->reload_ms = 0;
    fake_run(f, 0);
}

static void use_files(struct fake *f, struct arena *a)
{
    struct kube_settings *s = &f->config->private_->settings;
    copy_pair("client");
    s->cert.path = arena_printf(a, "%s/cert", dir).ptr;
    s->key.path = arena_printf(a, "%s/key", dir).ptr;
    look_again(f);
}

static void check_calls(void)
{
    struct fake f;
    struct arena memory = {0};
    struct answers a = {0};
    struct lines lines;
    fake_init(&f);
    use_files(&f, &memory);
    test_case("1.7 another client certificate: the connection that rests is closed");
    get(&f, &a);
    fake_answer(f.links[0], 200, "", SLICE("{}"));
    CHECK(a.ok == 1 && f.links[0]->link != NULL);
    log_into(&lines, "opened anew");
    copy_pair("other");
    look_again(&f);
    CHECK(f.links[0]->link == NULL);
    CHECK_INT(lines.count, 1);
    log_quiet();
    test_case("1.7 one that carries a call is closed behind it");
    get(&f, &a);
    CHECK_INT(f.count, 2);
    copy_pair("client");
    look_again(&f);
    CHECK(f.links[1]->link != NULL);
    fake_answer(f.links[1], 200, "", SLICE("{}"));
    CHECK(a.ok == 2 && f.links[1]->link == NULL);
    test_case("1.7 the same certificate again changes nothing");
    get(&f, &a);
    fake_answer(f.links[2], 200, "", SLICE("{}"));
    look_again(&f);
    CHECK(f.links[2]->link != NULL);
    fake_free(&f);
    arena_free(&memory);
}

static void check_watch(void)
{
    struct watcher t;
    struct arena memory = {0};
    watcher_start(&t, false);
    go_live(&t);
    uint32_t before = t.f.count;
    use_files(&t.f, &memory);
    test_case("1.7 a watch goes on to its end, and then on a connection of its own");
    event(&t, "ADDED", "q", 11);
    CHECK_STORY(&t, "+q P11");
    CHECK_INT(t.f.count, before);
    fake_last_chunk(watcher_link(&t));
    CHECK_INT(t.f.count, before + 1);
    CHECK(t.f.links[before - 1]->link == NULL && asks(&t, "resourceVersion=11"));
    watcher_free(&t);
    arena_free(&memory);
}

static void check_missing(void)
{
    struct fake f;
    struct lines lines;
    fake_init(&f);
    log_into(&lines, "the old ones stay");
    test_case("1.7 a token that cannot be read is said once a minute, and the old one stays");
    f.config->private_->settings.token.path = "/nowhere/token";
    look_again(&f);
    look_again(&f);
    CHECK_INT(lines.count, 1);
    CHECK(strstr(lines.last, "/nowhere/token") != NULL);
    CHECK_STR(kube_config_authorization(f.config), "Bearer secret-1");
    log_quiet();
    fake_free(&f);
}

static void check_trust(void)
{
    struct fake f;
    struct arena memory = {0};
    struct answers a = {0};
    fake_init(&f);
    put_file("token", SLICE("two"));
    f.config->private_->settings.token.path = arena_printf(&memory, "%s/token", dir).ptr;
    test_case("1.7 a server whose CA we do not know: everything is read again at once");
    get(&f, &a);
    fake_fail(fake_last(&f), ERR_TLS_TRUST, "signed by an unknown CA");
    CHECK_STR(kube_config_authorization(f.config), "Bearer two");
    test_case("1.7 but once a second, however many find it out");
    put_file("token", SLICE("three"));
    fake_run(&f, 999);
    fake_fail(fake_last(&f), ERR_TLS_TRUST, "signed by an unknown CA");
    CHECK_STR(kube_config_authorization(f.config), "Bearer two");
    fake_run(&f, 30 * 1000);
    fake_fail(fake_last(&f), ERR_TLS_TRUST, "signed by an unknown CA");
    CHECK_STR(kube_config_authorization(f.config), "Bearer three");
    fake_free(&f);
    arena_free(&memory);
}

int main(void)
{
    static const char *const names[] = {"cert", "key", "token"};
    char path[256];
    log_quiet();
    if (!mkdtemp(dir))
        abort();
    check_calls();
    check_watch();
    check_missing();
    check_trust();
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    CHECK(rmdir(dir) == 0);
    return test_done();
}
