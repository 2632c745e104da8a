"""Leader election: one writes, the other takes over in time."""

import re
import signal
import time

from cluster import Audit, eventually, raycluster, what
from processes import kubeconfig, token

LEASES = "/apis/coordination.k8s.io/v1"


def lease(space):
    return space.api.get(space.path("leases", "mobula", LEASES))["spec"]


def stamp_of(line):
    return re.search(r"ts=(\S+)", line).group(1)


def pair(operators):
    """Two operators; the first leads."""
    first = operators("--leader-elect", "--identity=first")
    first.says("this process leads")
    second = operators("--leader-elect", "--identity=second")
    return first, second.ready()


def test_one_leads_and_only_it_writes(space, operators):
    audit = Audit()
    first, second = pair(operators)
    for name in ("a", "b"):
        space.apply(raycluster(name, workers=3))
    for name in ("a", "b"):
        space.ready(name, 4)
    assert lease(space)["holderIdentity"].startswith("first")
    assert first.metrics()["mobula_leader"] == 1 and second.metrics()["mobula_leader"] == 0
    assert second.metrics()["mobula_pods"] == 8, "the one that waits keeps its caches warm"
    assert sum(v for k, v in second.metrics().items() if k.startswith("mobula_actions_total")) == 0
    assert all(e["userAgent"].startswith("mobula/") for e in audit.entries(first.user))
    assert audit.writes(first.user, space.name)["create pods"] == 8


def test_the_leader_is_killed(space, operators):
    first, second = pair(operators)
    space.apply(raycluster("a", workers=1))
    space.ready("a", 2)
    first.stop(signal.SIGKILL)
    space.apply(raycluster("b", workers=1))
    space.ready("b", 2)
    assert lease(space)["holderIdentity"].startswith("second") and lease(space)["leaseTransitions"] == 1
    assert len(space.pods("a")) == 2 and second.metrics()["mobula_leader"] == 1


def test_the_leader_stops(space, operators):
    """SIGTERM gives the lease up: nobody waits until it runs out."""
    first, second = pair(operators)
    assert first.stop() == 0
    assert not lease(space)["holderIdentity"].startswith("first")
    second.says("this process leads")
    space.apply(raycluster("a", workers=1))
    space.ready("a", 2)


def test_a_leader_that_is_cut_off(space, operators, door, tmp_path):
    """It stops before its lease is over, goes on running, and waits its turn when the server is back."""
    config = kubeconfig(tmp_path / "door", space.name, f'token: "{token(space.name)}"', port=door.port)
    first = operators("--leader-elect", "--identity=first", config=config)
    first.says("this process leads")
    second = operators("--leader-elect", "--identity=second").ready()
    door.shut()
    lost = first.says("does not lead any more")
    assert stamp_of(lost) < stamp_of(second.says("this process leads")), "two leaders"
    door.open()
    space.apply(raycluster("a", workers=1))
    space.ready("a", 2)
    eventually(lambda: first.get("/readyz")[0] == 200)
    assert first.metrics()["mobula_leader"] == 0 and first.metrics()["mobula_pods"] == 2


def test_a_leader_that_is_frozen(space, operators):
    """A process that sleeps through its lease wakes up as a follower: nothing that it had planned is written."""
    first, second = pair(operators)
    audit = Audit()
    first.process.send_signal(signal.SIGSTOP)
    second.says("this process leads")
    space.apply(raycluster("a", workers=10))
    space.ready("a", 11)
    first.process.send_signal(signal.SIGCONT)
    first.says("does not lead any more")
    time.sleep(2)
    assert audit.writes(first.user, space.name)["create pods"] == 11 and len(space.pods("a")) == 11
    assert first.metrics()["mobula_leader"] == 0


def test_nothing_but_the_lease_at_the_fixed_point(space, operators):
    first, _ = pair(operators)
    space.apply(raycluster("a", workers=2))
    space.ready("a", 3)
    space.rest(first)
    audit, began = Audit(), time.monotonic()
    time.sleep(6)
    assert not audit.writes(first.user), "leases are not counted here"
    renewals = [e for e in audit.entries(first.user) if what(e) == "update leases"]
    assert 2 <= len(renewals) <= 2 + time.monotonic() - began, len(renewals)  # one every two seconds
