/* Keepers: which of the owner's functions each event of a watch calls, and how complete the records are then. */
#include "fakenet.h"

#include "src/kube/watch.h"

/* An owner that writes its calls down as one line of text: . begin, +version keep, -version drop, s<version> sweep (s*: of all), L listed
 * (L1: the first), W rewound, A absent, T trouble (T!: keeper.trouble is set). A call has the keeper's state behind it, as
 * `state` writes it. */
struct owner {
    struct fake f;
    struct kube_keeper k;
    struct buf story;
    struct now now;
};

/* S synced, K known, A absent; the round, and the version behind a colon. */
static void put_state(const struct kube_keeper *k, struct buf *out)
{
    buf_printf(out, "%s%s%s%u:%llu", k->synced ? "S" : "", k->known ? "K" : "", k->absent ? "A" : "", k->round,
               (unsigned long long)k->version);
}

PRINTF_LIKE(2, 3) static void put_call(struct owner *o, const char *fmt, ...)
{
    char text[64];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    buf_printf(&o->story, "%s%s(", o->story.len ? " " : "", text);
    put_state(&o->k, &o->story);
    buf_putc(&o->story, ')');
}

static void begin(void *owner, struct now now)
{
    struct owner *o = owner;
    o->now = now;
    buf_printf(&o->story, "%s.", o->story.len ? " " : "");
}

static void keep(void *owner, struct jval object, uint64_t version)
{
    (void)object;
    put_call(owner, "+%llu", (unsigned long long)version);
}

static void drop(void *owner, struct jval object, uint64_t version)
{
    (void)object;
    put_call(owner, "-%llu", (unsigned long long)version);
}

static void sweep(void *owner, uint64_t version)
{
    if (version == UINT64_MAX)
        put_call(owner, "s*");
    else
        put_call(owner, "s%llu", (unsigned long long)version);
}

static void listed(void *owner, bool first)
{
    put_call(owner, first ? "L1" : "L");
}

static void rewound(void *owner)
{
    put_call(owner, "W");
}

static void absent(void *owner)
{
    put_call(owner, "A");
}

static void trouble(void *owner, const struct kube_watch_event *ev)
{
    struct owner *o = owner;
    CHECK(ev->err && ev->err != &o->k.trouble);
    put_call(o, o->k.trouble.code == ERR_NONE ? "T" : "T!");
}

static const struct kube_keeper_user keeps = {begin, keep, drop, sweep, listed, rewound, absent, trouble, false};
static const struct kube_keeper_user empties = {begin, keep, drop, sweep, listed, NULL, absent, trouble, true};
static const struct kube_watch_options pods = {.resource = {{"", 0}, {"v1", 2}, {"pods", 4}}};

static void owner_start(struct owner *o, const struct kube_keeper_user *user)
{
    struct err e = {0};
    struct kube_watch_options of = pods;
    *o = (struct owner){0};
    of.owner = o;
    fake_init(&o->f);
    buf_init(&o->story, 64 * KIB);
    CHECK(kube_keeper_start(&o->k, o->f.client, user, &of, &e));
}

static void owner_free(struct owner *o)
{
    fake_free(&o->f);
    buf_free(&o->story);
}

/* Hands out events, each a letter and its version: R restart, + upsert, - delete, S synced, P progress, A absent, K skipped, T trouble, W
 * rewound. Returns the calls that they cause. */
static struct slice calls_of(struct owner *o, const char *events)
{
    static const char letters[] = "R+-SPAKTW";
    struct slice rest = slice_of(events);
    buf_clear(&o->story);
    while (rest.len) {
        struct slice one = slice_cut(&rest, ' ');
        const struct err why = {.code = ERR_STATUS, .text = "403 Forbidden"};
        int64_t version = 0;
        slice_int(slice_skip(one, 1), &version);
        struct kube_watch_event ev = {
            .what = (enum kube_watch_what)(strchr(letters, one.ptr[0]) - letters), .item = {.at = -1}, .version = (uint64_t)version};
        if (ev.what == KUBE_WATCH_SKIPPED || ev.what == KUBE_WATCH_TROUBLE)
            ev.err = &why;
        o->f.now.mono_ms++;
        o->k.watch->on(o->k.watch->owner, &ev, o->f.now);
        CHECK_INT(o->now.mono_ms, o->f.now.mono_ms);
    }
    return buf_slice(&o->story);
}

/* Each row goes on from the state of the one before, unless it begins with a new keeper. */
static const struct {
    const char *name;
    const struct kube_keeper_user *begins;
    const char *events, *calls;
} cases[] = {
    {"the first list: records are swept before the list counts as complete", &keeps, "R +7 +9 S10",
     ". . +7(1:0) . +9(1:0) . s10(1:0) L1(SK1:10)"},
    {"a live event moves the version before the owner sees it", NULL, "+12 P12 -13", ". +12(SK1:12) . . -13(SK1:13)"},
    {"… and never back", NULL, "+11 P11", ". +11(SK1:13) ."},
    {"a bookmark moves it too", NULL, "P20", "."},
    {"the next list: what was known stays known while it is read, and its items do not move the version", NULL, "R +30 S25",
     ". . +30(K2:20) . s25(K2:20) L(SK2:25)"},
    {"a list that begins again has a round of its own", NULL, "R +26 R", ". . +26(K3:25) ."},
    {"trouble leaves the state as it is", NULL, "T K", ". T(K4:25) . T!(K4:25)"},
    {"an older version after a restore: all is swept, and the next list is a first one", NULL, "W3 +2 S3",
     ". W(K4:25) s*(5:25) . +2(5:25) . s3(5:25) L1(SK5:3)"},
    {"a resource that is not known leaves the records, and is no complete list", NULL, "A", ". A(A5:3)"},
    {"… until it comes", NULL, "R S40", ". . s40(6:3) L1(SK6:40)"},
    {"absent is empty: all is swept, and the list is complete", &empties, "R +7 S10 A",
     ". . +7(1:0) . s10(1:0) L1(SK1:10) . s*(SKA2:10) A(SKA2:10)"},
    {"… from the start too", &empties, "A", ". s*(A1:0) A(SKA1:0)"},
    {"… until the resource comes", NULL, "R S40", ". . s40(K2:0) L(SK2:40)"},
    {"an owner without a function for a restored store", NULL, "R W3", ". . s*(4:40)"},
};

static void check_events(void)
{
    struct owner o;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (cases[i].begins && i > 0)
            owner_free(&o);
        if (cases[i].begins)
            owner_start(&o, cases[i].begins);
        test_case("%s", cases[i].name);
        CHECK_STR(calls_of(&o, cases[i].events), cases[i].calls);
    }
    owner_free(&o);
}

static void check_trouble(void)
{
    struct owner o;
    struct buf why;
    owner_start(&o, &keeps);
    buf_init(&why, KIB);
    test_case("a list that is under way");
    calls_of(&o, "R");
    kube_keeper_explain(&o.k, SLICE("pods"), SLICE("n"), &why);
    CHECK_STR(buf_slice(&why), "pods in n: the list is not complete yet\n");
    buf_clear(&why);
    test_case("the owner sees the trouble before, and then it is kept until something comes");
    calls_of(&o, "T");
    CHECK_INT(o.k.trouble.code, ERR_STATUS);
    kube_keeper_explain(&o.k, SLICE("pods"), SLICE(""), &why);
    CHECK_STR(buf_slice(&why), "pods in all namespaces: 403 Forbidden\n");
    CHECK_STR(calls_of(&o, "K"), ". T!(1:0)");
    static const char *const ends[] = {"R", "+1", "-1", "S1", "P1", "A", "W1"};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        calls_of(&o, "T");
        calls_of(&o, ends[i]);
        CHECK_INT(o.k.trouble.code, ERR_NONE);
    }
    buf_free(&why);
    owner_free(&o);
}

static void check_refresh(void)
{
    struct owner o;
    struct kube_keeper none = {0};
    owner_start(&o, &keeps);
    calls_of(&o, "R S10");
    test_case("a list that is requested has the round of its RESTART");
    kube_keeper_refresh(&o.k, o.f.now);
    CHECK(!o.k.synced && o.k.known);
    CHECK_INT(o.k.round, 2);
    CHECK_INT(o.k.asked, 2);
    test_case("one that is not started has nothing to ask");
    kube_keeper_refresh(&none, o.f.now);
    CHECK_INT(none.round, 0);
    test_case("more watches than there may be");
    struct kube_keeper more[LIMIT_KUBE_WATCHES] = {{0}};
    struct err e = {0};
    for (size_t i = 1; i < LIMIT_KUBE_WATCHES; i++)
        CHECK(kube_keeper_start(&more[i], o.f.client, &keeps, &pods, &e));
    CHECK(!kube_keeper_start(&none, o.f.client, &keeps, &pods, &e) && e.code == ERR_LIMIT && !none.watch && !none.synced);
    owner_free(&o);
}

int main(void)
{
    check_events();
    check_trouble();
    check_refresh();
    return test_done();
}
