"""Block F, the space of specs (Acto's method): 40 fields that the operator carries out, each changed in seven ways, and 30 misoperations in
pod templates. What must hold: the objects say what the spec says; a spec reached by a detour gives what it gives at once (the same
objects and status as a cluster that was made from it); a refused spec is told in a condition and leaves pods that run alone; after a
misoperation the good spec brings all back; nothing is written in a loop."""

import functools
import time

import fields_legacy
import fields_v1
from case import Case
from cluster import Refused, eventually
from fields import ABSENT, BASE, CHANGES, No, named
from misoperations import MISOPERATIONS
from seen import Seen, base_spec, difference, make, put_spec, say_no, settle

BLOCK = "F"
TITLE = "spec space"

WALKED, DIRECT = "walked", "direct"
MOST_TRIES = 3  # dry runs of a refused template
LOOK_S = 2.5


def cases(learned):
    found = [Case(f"F/{f.id}/{change}", functools.partial(run_change, field=f, change=change))
             for f in fields_v1.FIELDS + fields_legacy.FIELDS for change in CHANGES]
    return found + [Case(f"F/template/{m.id}", functools.partial(run_misoperation, mis=m)) for m in MISOPERATIONS]


def same_pods(before, after, steps, what):
    """Pods come and go by number, and none is replaced; on a detour some may have gone and others come."""
    assert before.head["metadata"]["uid"] == after.head["metadata"]["uid"], f"{what}: the head was replaced"
    a, b = before.uids(), after.uids()
    assert steps > 1 or a <= b or b <= a, f"{what}: workers were replaced"


def same_end(ctx, kind, strict=True):
    """Both clusters have settled, and differ in nothing but their names and ages."""

    def look():
        walked, direct = Seen(ctx.space, kind, WALKED), Seen(ctx.space, kind, DIRECT)
        for s in (walked, direct):
            assert s.settled, f"{s.name}: {s.status.get('state', s.status.get('phase'))}, {len(s.pods)} pods, {s.leaving} leaving"
        a, b = walked.plain(), direct.plain()
        if not strict:  # failures are remembered for a while
            del a["status"], b["status"]
        told = difference(a, b)
        assert not told, told
        return walked

    return eventually(look, 180)


def run_change(ctx, field, change):
    ctx.operator().ready()
    make(ctx.space, field.kind, WALKED, field.spec(BASE, WALKED))
    before = settle(ctx.space, field.kind, WALKED)
    *way, last = field.steps(change)
    for value in way:
        put_spec(ctx.space, field.kind, WALKED, field.spec(value, WALKED))
    if isinstance(last, No):
        run_refused(ctx, field, before, last)
        return
    put_spec(ctx.space, field.kind, WALKED, field.spec(last, WALKED))
    make(ctx.space, field.kind, DIRECT, field.spec(last, DIRECT))
    after = same_end(ctx, field.kind)
    if field.keeps:
        same_pods(before, after, len(way) + 1, field.path)
    if last != BASE:
        field.see(after, ABSENT if last is None else named(last, WALKED))
    ctx.conclude()


def run_refused(ctx, field, before, bad):
    """By the server at once, else by the operator in a condition; either way what runs goes on, and the old spec is good again."""
    try:
        put_spec(ctx.space, field.kind, WALKED, field.spec(bad.value, WALKED))
    except Refused as e:
        assert e.status in (400, 422), e
        assert Seen(ctx.space, field.kind, WALKED).settled
    else:
        message = say_no(ctx.space, field.kind, WALKED).refused
        assert (bad.word or field.word) in message, f"{field.path} is not named: {message}"
    ctx.calm(limit=120)
    ctx.quiet()
    put_spec(ctx.space, field.kind, WALKED, field.spec(BASE, WALKED))
    after = settle(ctx.space, field.kind, WALKED)
    assert not after.refused and after.uids() == before.uids(), "pods were touched by a spec that was refused"
    assert not difference(before.plain(), after.plain()), difference(before.plain(), after.plain())
    ctx.conclude()


def run_misoperation(ctx, mis):
    """One cluster gets the bad template while it runs, another is born with it."""
    ctx.operator().ready()
    good = base_spec(mis.kind)
    make(ctx.space, mis.kind, WALKED, good)
    before = settle(ctx.space, mis.kind, WALKED)
    put_spec(ctx.space, mis.kind, WALKED, mis.spec())
    make(ctx.space, mis.kind, DIRECT, mis.spec())
    message = say_no(ctx.space, mis.kind, WALKED).refused
    assert mis.word in message, f"{mis.word} is not named: {message}"
    born_bad(ctx, mis)
    time.sleep(LOOK_S)
    assert Seen(ctx.space, mis.kind, WALKED).uids() == before.uids(), "pods were touched by a template that was refused"
    tries = [x for x in ctx.proxy.log if x.verb == "create" and x.resource == "pods" and x.dry_run]
    assert len(tries) <= MOST_TRIES, f"{len(tries)} dry runs of one template"
    for name in (WALKED, DIRECT):
        put_spec(ctx.space, mis.kind, name, good)
    after = same_end(ctx, mis.kind, strict=False)
    assert not after.refused and after.uids() == before.uids(), "the good template is what the pods were made from: they stay"
    ctx.conclude()


def born_bad(ctx, mis):
    """What cannot work says so, and has none of the pods that cannot be."""

    def told():
        s = Seen(ctx.space, mis.kind, DIRECT)
        if mis.by_operator:
            assert mis.word in s.refused and not s.pods, s.refused
        else:
            assert s.status.get("groups"), "no status yet"
            reasons = [g.get("reason", "") for g in s.status["groups"]]
            assert any(mis.word in r for r in reasons), reasons
            assert not (s.heads if mis.role == "head" else s.workers)
        return True

    eventually(told, 30)
