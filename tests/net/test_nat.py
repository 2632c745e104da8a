"""The NAT laboratory: each case has namespaces of its own, and all run side by side, because what most of them do is wait."""

import collections
import concurrent.futures
import datetime
import re
import time

import pytest

from cases import CASES
from operators import Bench, eventually

pytestmark = pytest.mark.slow
STAGGER = 0.3  # seconds between the starts of two laboratories
WORKERS = 2
# Seconds that a machine which others use, too, may add to any wait: that something happens is tested, and that it does before TCP itself or
# a person would notice (minutes); how fast it was is told with what failed.
LATE = 90
BUSY = 5  # the same for the operator itself, whose log says when it noticed


def when(line):
    """The time of a line of the log, in seconds since 1970."""
    return datetime.datetime.fromisoformat(line.split()[0].removeprefix("ts=").replace("Z", "+00:00")).timestamp()


def play(case, bench):
    """Breaks the path, changes the cluster, and looks at how the operator lives through both. Returns what is wrong."""
    wrong = []

    def check(holds, what):
        if not holds:
            wrong.append(what)

    if case.before:
        case.before(bench)
    bench.cluster(WORKERS)
    begun, fault_at, said = time.monotonic(), time.time(), 0
    bench.start()
    if case.fault:
        ready, _ = eventually(lambda: bench.settled(WORKERS), LATE)
        check(ready, "not ready before the fault")
        time.sleep(1)
    first, bench.opened = bench.lab.counted(), bench.door.opened
    if case.fault:
        begun, fault_at, said = time.monotonic(), time.time(), len(bench.log())
        case.fault(bench)
    time.sleep(case.quiet)
    bench.scale(WORKERS + 1)
    if case.words:
        until = case.quiet + case.noticed + LATE - (time.monotonic() - begun)
        line, _ = eventually(lambda: bench.lines(*case.words, skip=said), until)
        check(line, f"no line with {case.words} within {case.noticed} + {LATE} s")
    noticed = time.monotonic() - begun
    if case.heal:
        case.heal(bench)
    there, took = eventually(lambda: bench.settled(WORKERS + 1), case.recover + LATE)
    check(there, f"not all pods within {case.recover} + {LATE} s")
    now = bench.lab.counted()
    opened, sent = now["opened"] - first["opened"], now["sent"] - first["sent"]
    check(opened <= case.connections, f"{opened} SYN packets, at most {case.connections}")
    check(sent <= case.packets, f"{sent} packets, at most {case.packets}")
    warned = len(bench.lines("level=warn")) + len(bench.lines("level=error"))
    check(warned <= case.warnings, f"{warned} warnings, at most {case.warnings}")
    check(len(bench.pods.made) == WORKERS + 2, f"pods made: {sorted(bench.pods.made.values())}")
    check(len(bench.services.made) == 1, f"services made: {sorted(bench.services.made.values())}")
    if case.after:
        try:
            case.after(bench)
        except AssertionError as e:
            wrong.append(str(e))
    if case.words:
        lines = bench.lines(*case.words, skip=said)
        told = [when(line) - fault_at for line in lines]
        limit = case.quiet + case.noticed + BUSY
        check(told and told[0] <= limit, f"noticed {told[:1]} s after the fault by the operator's clock, at most {limit}")
        minutes = 1 + int(time.time() - fault_at) // 60  # each message comes once a minute at most
        counts = collections.Counter(re.search(r' msg=("[^"]*"|\S+)', line)[1] for line in lines)
        check(all(times <= minutes for times in counts.values()), f"told {counts}, each at most {minutes} times")
    facts = f"{opened} SYN, {sent} packets, {warned} warnings, noticed after {noticed:.1f} s, all there {took:.1f} s after"
    return wrong and f"{wrong}\n{facts}\n{bench.log()}"


def whole(case, delay, folder, *world):
    time.sleep(delay)
    bench = Bench(folder, *world, **case.bench)
    try:
        return play(case, bench)
    finally:
        bench.close()


@pytest.fixture(scope="module")
def results(tmp_path_factory, request, servers, pki, stranger):
    wanted = [c for c in CASES if any(c.name in item.name for item in request.session.items)]
    pool = concurrent.futures.ThreadPoolExecutor(len(wanted))
    folder = tmp_path_factory.mktemp("nat")
    yield {c.name: pool.submit(whole, c, i * STAGGER, folder / str(i), servers, pki, stranger) for i, c in enumerate(wanted)}
    pool.shutdown()


@pytest.mark.parametrize("name", [c.name for c in CASES])
def test_the_operator_lives_behind_a_nat(results, name):
    wrong = results[name].result()
    assert not wrong, wrong
