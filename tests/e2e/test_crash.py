"""SIGKILL at any moment: the next process finds what there is and makes the rest, nothing twice."""

import collections
import signal
import time

import pytest

from cluster import LEGACY, Audit, eventually, raycluster, what
from test_legacy import raycluster as legacy

WORKERS = 100


def indices(space):
    return sorted(int(p["metadata"]["labels"].get("ray.io/worker-group-replica-index", -1)) for p in space.pods("c"))


def made_twice(audit, op, space):
    """Names under which more than one pod was made."""
    created = [e for e in audit.entries(op.user, space.name) if what(e) == "create pods" and e["responseStatus"]["code"] == 201]
    names = collections.Counter(e["objectRef"]["name"] for e in created)
    assert WORKERS / 2 < len(names) <= WORKERS + 1  # fewer: the answer found nobody any more
    return [name for name, times in names.items() if times > 1]


@pytest.mark.parametrize("moment", [1, 30, 70, WORKERS], ids=lambda n: f"at {n} pods")
def test_killed_while_it_creates(space, operators, moment):
    audit = Audit()
    op = operators().ready()
    space.apply(raycluster("c", workers=WORKERS))
    count = space.path("pods") + "?limit=1"

    def pods():
        d = space.api.get(count)
        return len(d["items"]) + d["metadata"].get("remainingItemCount", 0) >= moment

    eventually(pods, step=0.001)
    op.stop(signal.SIGKILL)
    op.start()
    space.ready("c", WORKERS + 1)
    assert indices(space) == list(range(-1, WORKERS))
    assert not made_twice(audit, op, space)


def test_killed_again_and_again(space, operators):
    audit = Audit()
    op = operators()
    space.apply(raycluster("c", workers=WORKERS))
    for pause in (0.05, 0.1, 0.15, 0.2, 0.1, 0.05):
        time.sleep(pause)
        op.stop(signal.SIGKILL)
        op.start()
    space.ready("c", WORKERS + 1)
    assert indices(space) == list(range(-1, WORKERS))
    assert not made_twice(audit, op, space)


def test_killed_while_it_deletes(space, operators):
    op = operators()
    space.apply(raycluster("c", workers=WORKERS))
    space.ready("c", WORKERS + 1)
    kept = {p["metadata"]["uid"] for p in space.pods("c") if p["metadata"]["labels"]["ray.io/node-type"] == "head"}
    space.change("c", {"workerGroupSpecs": raycluster("c", workers=10)["spec"]["workerGroupSpecs"]})
    eventually(lambda: len(space.pods("c")) < WORKERS - 10, step=0.001)
    op.stop(signal.SIGKILL)
    op.start()
    space.ready("c", 11)
    assert kept < {p["metadata"]["uid"] for p in space.pods("c")}


def test_killed_with_both_kinds(space, operators):
    op = operators().ready()
    for i in range(5):
        space.apply(raycluster(f"a{i}", workers=10))
        space.apply(legacy(f"b{i}", workers=10, limit=10), LEGACY)
    op.stop(signal.SIGKILL)
    time.sleep(0.2)
    op.start()
    time.sleep(0.3)
    op.stop(signal.SIGKILL)
    op.start()
    for i in range(5):
        space.ready(f"a{i}", 11)
        space.ready(f"b{i}", 11, LEGACY)
    assert len(space.pods()) == 110


def test_deleted_while_nobody_looked(space, operators):
    """The cluster goes and comes back under the same name while the operator is dead: the old pods are never taken for the new one's."""
    op = operators()
    space.apply(raycluster("c", workers=3))
    space.ready("c", 4)
    old = {p["metadata"]["uid"] for p in space.pods("c")}
    service = space.path("services", "c-head-svc")
    space.api.patch(service, {"metadata": {"finalizers": ["example.com/slow"]}})
    op.stop(signal.SIGKILL)
    space.delete("c")
    new = eventually(lambda: make_again(space))["metadata"]["uid"]
    op.start()
    time.sleep(5)
    space.api.patch(service, {"metadata": {"finalizers": None}})
    space.ready("c", 4)  # the garbage collector may look for new kinds first, every 30 s
    eventually(lambda: (space.find(service) or {"metadata": {}})["metadata"].get("ownerReferences", [{}])[0].get("uid") == new)
    assert not op.lines("backing off"), op.log()
    assert not old & {p["metadata"]["uid"] for p in space.pods("c")}
    assert {p["metadata"]["ownerReferences"][0]["uid"] for p in space.pods("c")} == {new}


def make_again(space):
    cluster = space.apply(raycluster("c", workers=3))
    return cluster if "deletionTimestamp" not in cluster["metadata"] else None


def test_stopped_in_the_middle(space, operators):
    """SIGTERM waits for what is in flight and for nothing else: what was planned is left to the next."""
    op = operators().ready()
    space.apply(raycluster("c", workers=WORKERS))
    eventually(lambda: len(space.pods("c")) > 5, step=0.001)
    assert op.stop() == 0
    op.start()
    space.ready("c", WORKERS + 1)
    assert indices(space) == list(range(-1, WORKERS))
