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
    log_into(&lines, "opened again");
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

/* The certificate of the files is new, so the watch has another connection than its list had: where the server stands is asked. Returns the
 * watch's. */
static struct fakelink *go_live_anew(struct watcher *t)
{
    go_live(t);
    if (!t->w->probe.under_way)
        return watcher_link(t);
    struct fakelink *watch = t->f.links[t->f.count - 2];
    fake_answer(watcher_link(t), 200, "", SLICE("{\"metadata\":{\"resourceVersion\":\"10\"}}"));
    return watch;
}

/* What the process does on SIGHUP: whatever else is looked at later finds nothing new, so all links must be retired by this one. */
static void check_asked(void)
{
    struct watcher t;
    struct arena memory = {0};
    struct answers a = {0};
    struct lines lines;
    watcher_start(&t, false);
    use_files(&t.f, &memory);
    struct fakelink *watch = go_live_anew(&t);
    call_on(&t.f, &a, KUBE_LANE_LEASE, "GET", NULL, true);
    struct fakelink *lease = fake_last(&t.f);
    fake_answer(lease, 200, "", SLICE("{}"));
    test_case("1.7 credentials are read again because somebody asks: links with the old certificate are not used any more");
    log_into(&lines, "opened again");
    copy_pair("other");
    kube_client_renew(t.f.client, t.f.now);
    fake_run(&t.f, 0);
    CHECK(lease->link == NULL && watch->link != NULL);
    look_again(&t.f);
    CHECK_INT(lines.count, 1);
    uint32_t before = t.f.count;
    fake_run(&t.f, WATCH_SHORT_MS);
    fake_last_chunk(watch);
    CHECK_INT(t.f.count, before + 1);
    CHECK(watch->link == NULL);
    test_case("1.7 whoever asks is told what cannot be read, each time");
    log_into(&lines, "the old ones stay");
    t.f.config->private_->settings.token.path = "/nowhere/token";
    kube_client_renew(t.f.client, t.f.now);
    kube_client_renew(t.f.client, t.f.now);
    CHECK_INT(lines.count, 2);
    log_quiet();
    watcher_free(&t);
    arena_free(&memory);
}

/* One of several servers may not know our CA yet: who stays on its connection is told no for ever. */
static void check_refused(bool certificate)
{
    struct watcher t;
    struct arena memory = {0};
    struct answers a = {0}, proxied = {0};
    watcher_start(&t, false);
    if (certificate)
        use_files(&t.f, &memory);
    struct fakelink *watch = go_live_anew(&t);
    test_case(certificate ? "1.7 401 for a client certificate: its connection is not used again"
                          : "1.7 401 for a token: the connection is as good as before");
    get(&t.f, &a);
    struct fakelink *first = fake_last(&t.f);
    fake_answer(first, 401, "", SLICE("{}"));
    CHECK_INT(first->link == NULL, certificate);
    fake_answer(fake_last(&t.f), 401, "", SLICE("{}"));
    CHECK_INT(a.refused, 1);
    fake_run(&t.f, WATCH_SHORT_MS);
    fake_last_chunk(watch);
    CHECK(watch->link != NULL);
    fake_answer(watch, 401, "", SLICE("{}"));
    CHECK_INT(watch->link == NULL, certificate);
    test_case("1.7 401 that a head may have said: the connection stays");
    call_on(&t.f, &proxied, KUBE_LANE_PROXY, "GET", NULL, true);
    struct fakelink *proxy = fake_last(&t.f);
    for (int tries = 0; tries < 2; tries++)
        fake_answer(proxy, 401, "", SLICE("{}"));
    CHECK(proxied.refused == 1 && proxy->link != NULL);
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
    check_asked();
    check_refused(true);
    check_refused(false);
    check_missing();
    check_trust();
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    CHECK(rmdir(dir) == 0);
    return test_done();
}
