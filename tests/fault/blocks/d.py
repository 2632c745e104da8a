"""D: after work that deleted pods or clusters the operator meets an API server that shows an earlier moment of it."""

import threading
import time

from case import Case
from cluster import Api, Workspace, eventually
from rules import ALWAYS, Rule, call, say
from stale import CHILDREN, EVERYTHING, Past
from workloads import WORKLOADS

BLOCK = "D"
TITLE = "a server that shows the past, after deletes"
WHO = ("W3", "W5", "W8", "W9", "W12", "W24", "W25", "W29")
MOMENTS = ("before", "first write", "half way")
ALSO = {"W30": (2,), "W31": (0, 2)}  # these moments of theirs: what else there is of a job, W24, W25 and W29 have shown
MODES = {  # name: is the operator started anew, faithful, what is the past's
    "restart-lagging": (True, True, EVERYTHING),
    "restart-past": (True, False, CHILDREN),
    "reconnect-lagging": (False, True, EVERYTHING),
    "reconnect-past": (False, False, EVERYTHING),
}
STALE_SECONDS = 4
MADE = ("pods", "rayclusters", "dashboard")


def pasts(ctx, workload, reference):
    """The three moments. The act is done and its end is waited for."""
    found, at, lock = [Past.take(ctx.space)], (1, max(2, reference.writes // 2)), threading.Lock()

    def keep(_x):
        with lock:
            if len(found) < 3 and len(ctx.proxy.writes(ctx.acted)) >= at[len(found) - 1]:
                found.append(Past.take(Workspace(Api(), ctx.space.name)))

    watching = ctx.proxy.add(Rule(call(keep), times=ALWAYS, where=lambda x: x.is_write, helper=True))
    ctx.act(workload)
    ctx.settle(reference)
    ctx.proxy.lift(watching)
    assert len(found) == 3, f"only {len(found)} moments in {len(ctx.proxy.writes(ctx.acted))} writes"
    return found


def truth_is_told(ctx, past, since):
    """Every resource of the past is watched again as it is. What leads there is told step by step, and a step may be answered: an
    annotation that was off for a moment is put back on, a write that changes nothing. The fixed point begins when that is done."""
    def told():
        seen = {(x.group, x.resource) for x in ctx.proxy.log[since:] if x.verb == "watch" and x.status == 200 and not x.fault}
        return seen >= {key for key in past.lists if key[1] in past.resources}

    eventually(told, 60)
    ctx.calm()


def shown_the_past(workload, reference, moment, mode):
    restart, faithful, resources = MODES[mode]

    def run(ctx):
        ctx.begin(workload)
        past = pasts(ctx, workload, reference)[moment]
        before = len(ctx.proxy.log)
        ctx.proxy.stale = past.as_seen(faithful, resources)
        if restart:
            ctx.kill()
        else:
            ctx.proxy.add(Rule(say(410, "Expired"), verb="watch", times=len(past.lists)))
            ctx.proxy.cut()
        eventually(lambda: past.asked, 60)
        time.sleep(STALE_SECONDS)
        since, ctx.proxy.stale = len(ctx.proxy.log), None
        ctx.proxy.lift()
        truth_is_told(ctx, past, since)
        wrong = [x for x in ctx.proxy.writes(before) if x.verb == "create" and x.resource in MADE and x.status in (200, 201)]
        assert not wrong, "what is there was made again:\n  " + "\n  ".join(map(str, wrong))
        ctx.faults += len(past.uids() ^ Past.take(ctx.space).uids())  # each is one thing to be wrong about
        ctx.check(reference)
    return run


def workload_of(who, mode):
    """Pods of an older template that a complete list shows are replaced, and their successors' names are made of their uids: against a
    server that lies in the one list which is consistent by contract no name can help. W10 stands there for W8."""
    return "W10" if (who, mode) == ("W8", "restart-past") else who


def cases(learned):
    rows = [(workload_of(w, mode), n, mode) for w in WHO for n in range(len(MOMENTS)) for mode in MODES]
    rows += [(w, n, mode) for w, moments in ALSO.items() for n in moments for mode in MODES]
    return [Case(f"D/{w}/{MOMENTS[n].replace(' ', '-')}/{mode}", shown_the_past(WORKLOADS[w], learned[w], n, mode)) for w, n, mode in rows]
