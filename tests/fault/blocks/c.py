"""Block C, watches: 30 faults in each of the five watches while jobs, clusters, pods and services come, change and go; those of single
events once more in those about pods that submit jobs."""

import functools
import gzip
import json
import re

from case import LIMIT, SLOWNESS, Case
from cluster import eventually
from rules import (ALWAYS, EventRule, Rule, black_hole, cut, drop, edit, error_event, inject, late, named, say, say_bytes, split,
                   stream, twice)
from watched import SUBMITTERS, WATCHED, all_watch, relist

BLOCK = "C"
TITLE = "watch faults"

NO_BOOKMARKS = "no bookmarks"
DEAF_S = 210  # a watch is asked after 150 s without a byte, and the answer waited for
SHORT_S = 6  # a watch that is to end so soon is sent a bookmark two seconds before
LATE_S = 1.5
BIG = "x" * (3 << 19)  # 1.5 MiB: as much as etcd stores
FORBIDDEN = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
NO_MATCH = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]


def bookmark(event):
    """The same progress without its news."""
    obj = event["object"]
    return {"type": "BOOKMARK", "object": {"kind": obj["kind"], "apiVersion": obj["apiVersion"],
                                           "metadata": {"resourceVersion": obj["metadata"]["resourceVersion"]}}}


def enlarge(event):
    event["object"]["metadata"].setdefault("annotations", {})["example.com/big"] = BIG
    return event


def turn_back(event):
    event["object"]["metadata"]["resourceVersion"] = "5"
    return event


def stranger():
    """Before an event comes one about an object of a kind that was not asked for."""

    @named("another kind")
    def do(c, x, line, _rule):
        version = json.loads(line)["object"]["metadata"]["resourceVersion"]
        meta = {"name": "s", "namespace": x.namespace, "uid": "00000000-0000-4000-8000-000000000000", "resourceVersion": version}
        c.event(x, json.dumps({"type": "MODIFIED", "object": {"kind": "Secret", "apiVersion": "v1", "metadata": meta}}).encode() + b"\n")
        c.event(x, line)
    return do


def is_initial_end(event):
    return "k8s.io/initial-events-end" in event["object"]["metadata"].get("annotations", {})


def news(event):
    return event["type"] != "BOOKMARK"


@named("short watch")
def shorten(c, x, _rule):
    """Else bookmarks come once a minute, and the case is over."""
    x.target = re.sub(r"timeoutSeconds=\d+", f"timeoutSeconds={SHORT_S}", x.target)
    c.plain(x)


class Fault:
    """events: what is done to which events; resume, begin: what a watch that goes on, or one that starts, is answered."""

    def __init__(self, name, action, events=None, resume=False, begin=False, times=1, lost=False, slow=False, where=None):
        self.name, self.action, self.events, self.resume, self.begin = name, action, events, resume, begin
        self.times, self.lost, self.slow, self.where = times, lost, slow, where

    def arm(self, ctx, watched):
        if self.resume or self.begin:
            return ctx.proxy.add(watched.rule(self.action, opening=self.resume, times=self.times))
        if self.name == NO_BOOKMARKS:
            ctx.proxy.add(Rule(shorten, verb="watch", resource=watched.resource, group=watched.group, times=ALWAYS, helper=True))
        kind = None if self.events == "any" else self.events

        def meant(event):
            return (not self.where or self.where(event)) and watched.about(event["object"])

        return ctx.proxy.add(EventRule(self.action, watched.resource, kind, watched.group, times=self.times, where=meant))


EVENTS = [Fault(f"{what} {kind.lower()}", make, kind, lost=what == "drop")
          for what, make in (("drop", drop()), ("delay", late(LATE_S)), ("twice", twice())) for kind in ("ADDED", "MODIFIED", "DELETED")]
FAULTS = EVENTS + [
    Fault(NO_BOOKMARKS, drop(), "BOOKMARK", times=ALWAYS, where=lambda e: not is_initial_end(e), begin=False),
    Fault("only bookmarks", edit(bookmark), "any", times=6, lost=True, where=news),
    Fault("410 on open", say(410, "Expired"), resume=True, times=2),
    Fault("410 as an event", inject(error_event(410, "Expired")), "any", where=news),
    Fault("500 as an event", inject(error_event(500, "InternalError")), "any", where=news, times=2),
    Fault("an error that is no status", inject({"type": "ERROR", "object": {}}), "any", where=news),
    Fault("429 on open", say(429, "TooManyRequests", retry_after=1), resume=True, times=2),
    Fault("403 on open", say(403, "Forbidden"), resume=True),
    Fault("504 too large version", say(504, "Timeout", retry_after=1, causes=NO_MATCH), resume=True),
    Fault("html on open", say_bytes(200, b"<html>", (("Content-Type", "text/html"),)), resume=True),
    Fault("gzip on open", say_bytes(200, gzip.compress(b"{}"), (("Content-Type", "application/json"), ("Content-Encoding", "gzip"))),
          resume=True),
    Fault("closed without an event", stream(), resume=True, times=3),
    Fault("cut in an event", cut(), "any", where=news, times=2),
    Fault("black hole", black_hole(), "any", where=news, slow=True),
    Fault("split at every 7th byte", split(7), "any", times=ALWAYS),
    Fault("1.5 MiB", edit(enlarge), "any", where=news, times=2),
    Fault("unknown type", inject({"type": "SYNC", "object": {"kind": "Nothing"}}), "any", where=news, times=3),
    Fault("another kind", stranger(), "any", where=news),
    Fault("version going down", edit(turn_back), "any", where=news),
    Fault("streaming lists refused", say(422, "Invalid", FORBIDDEN), begin=True, times=ALWAYS),
    Fault("end of the list withheld", drop(), "BOOKMARK", where=is_initial_end, times=ALWAYS, slow=True, begin=False),
]
OF_SUBMITTERS = EVENTS + [f for f in FAULTS if f.name in ("only bookmarks", "410 as an event", "cut in an event")]
AT_START = (NO_BOOKMARKS, "split at every 7th byte", "streaming lists refused", "end of the list withheld")


def run(ctx, watched, fault, reference):
    """Faults of what is asked at the start are there from the start; those of a watch that goes on meet it when it was cut."""
    limit = LIMIT + (DEAF_S if fault.slow else 0)
    workload, start = watched.workload, fault.name in AT_START
    rule = fault.arm(ctx, watched) if start else None
    op = ctx.operator()
    ctx.ready(op, 2 * limit)
    workload.setup(ctx)
    ctx.set_up()
    if not start:
        rule = fault.arm(ctx, watched)
    if fault.resume:
        ctx.proxy.cut()
        assert rule.hit.wait(30), "the watch was not opened again"
    ctx.act(workload)
    assert rule.hit.wait(60), f"the fault met nothing: {fault.name}"
    if fault.lost:
        rule.over.wait(10)
        ctx.proxy.lift(rule)
        relist(ctx, watched)
    all_watch(ctx)
    eventually(lambda: watched.look(ctx), limit + SLOWNESS * reference.took, 0.2)
    ctx.check(reference, limit=limit)


ROWS = [(w, FAULTS) for w in WATCHED] + [(SUBMITTERS, OF_SUBMITTERS)]


def cases(learned):
    return [Case(f"C/{w.id}/{f.name.replace(' ', '-')}", functools.partial(run, watched=w, fault=f, reference=learned[w.workload.id]),
                 slow=f.slow, limit=600) for w, faults in ROWS for f in faults]
