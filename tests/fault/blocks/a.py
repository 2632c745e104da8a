"""A: the operator is killed at every effective write of every workload, at three positions."""

from case import Case, Unreached
from rules import Rule, kill
from workloads import WORKLOADS

BLOCK = "A"
TITLE = "killed at each write: before, committed without an answer, after"
POSITIONS = ("before", "committed", "after")


def killed_at(workload, reference, key, nth, position):
    def run(ctx):
        ctx.begin(workload)
        rule = ctx.proxy.add(Rule(kill(position, ctx.kill), where=lambda x: x.is_write and ctx.key(x) == key, nth=nth))
        ctx.act(workload)
        if not rule.over.wait(60):
            raise Unreached(f"the operator never came to write {nth} of {key}")
        ctx.check(reference)
    return run


def cases(learned):
    found = []
    for w in filter(lambda w: w.kills, WORKLOADS.values()):
        for number, (key, nth) in enumerate(learned[w.id].points, 1):
            for position in POSITIONS:
                found.append(Case(f"A/{w.id}/{number:02}/{position}", killed_at(w, learned[w.id], key, nth, position)))
    return found
