"""A2: killed, and killed again during the recovery, at its first, second and third write, or at its end when it has fewer."""

from blocks.a import POSITIONS
from case import Case, Unreached
from rules import Rule, kill
from workloads import JOBS, WORKLOADS

BLOCK = "A2"
TITLE = "killed again at the first, second and third write of the recovery"
POINTS = 40


def killed_twice(workload, reference, point, again):
    key, nth, position = point

    def run(ctx):
        ctx.begin(workload)
        second = Rule(kill(POSITIONS[again % 3], ctx.kill), where=lambda x: x.is_write and x.resource != "events", nth=again)

        def first_kill():
            ctx.proxy.add(second)
            ctx.kill()

        first = ctx.proxy.add(Rule(kill(position, first_kill), where=lambda x: x.is_write and ctx.key(x) == key, nth=nth))
        ctx.act(workload)
        if not first.over.wait(60):
            raise Unreached(f"the operator never came to write {nth} of {key}")
        ctx.settle(reference)
        if not second.over.is_set():  # the recovery had fewer writes: what was in flight at the first kill had been carried out
            ctx.proxy.lift(second)
            ctx.kill()
        ctx.check(reference)
    return run


def cases(learned):
    """Points from all workloads in turn, early ones first; of jobs, whose course is long, every fourth."""
    rows = {}
    for w in filter(lambda w: w.kills, WORKLOADS.values()):
        points = [(n, p) for n, p in enumerate(learned[w.id].points, 1) if "events" not in p[0]]
        rows[w.id] = [(w, n, p) for n, p in points[:max(0, len(points) - 3)]]
    others = [row for w, row in rows.items() if w not in JOBS]
    chosen = [row[i] for i in range(max(map(len, others), default=0)) for row in others if i < len(row)][:POINTS]
    chosen += [point for w, row in rows.items() if w in JOBS for point in row[::4]]
    return [Case(f"A2/{w.id}/{number:02}/{again}",
                 killed_twice(w, learned[w.id], (*point, POSITIONS[(number + again) % 3]), again))
            for w, number, point in chosen for again in (1, 2, 3)]
