#!/usr/bin/env python3
"""The fault matrix: all cases of blocks/*.py, several at a time, each in a process and a namespace of its own.

    BLOCK=A[,C]   only these blocks        CASE=id   only this one, with its history        QUICK=1   about 300 cases of all blocks
                                                                                            QUICK=n   about n
    WORKERS=n     how many at a time       SEED=n    which cases the quick form takes, and what random blocks do
    AGAIN=1       a case that failed is run once more, alone, and passes when it does then: for machines that others use too
    LIST=1        prints the ids           KILLS=n   how often block K kills
    DATA=file     gets a line of JSON of each case: what the limits of the oracles were measured from
"""

import collections
import fnmatch
import hashlib
import importlib
import itertools
import json
import os
import pickle
import select
import shutil
import signal
import statistics
import sys
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import kubelet  # noqa: E402
import oracles  # noqa: E402
from case import QUICK, Case, Context, Learned, Unreached, by_place, refusals  # noqa: E402
from cluster import MOBULA, eventually  # noqa: E402
from plane import Plane  # noqa: E402
from processes import Operator  # noqa: E402
from watched import SUBMITTERS, WATCHED  # noqa: E402
from workloads import PATIENT, WORKLOADS  # noqa: E402

ROOT = HERE.parents[1]
TO_LEARN = WORKLOADS | {w.workload.id: w.workload for w in [*WATCHED, SUBMITTERS]}
WORKERS = int(os.environ.get("WORKERS") or 12)
TRIES = 3  # of a case whose fault finds no place
AGAIN_MOST = 5  # cases that may run again
MOVED_ONE_IN = 100  # cases may find no place for their fault: the learning run had a write that this machine's runs have not
STATUSES = 2  # of one kind that are places of faults
SLOW_WORKERS = 16  # of cases that wait for a time-out
SEED = int(os.environ.get("SEED") or 1)
QUICK_CASES = 300 if QUICK and os.environ["QUICK"] == "1" else int(os.environ.get("QUICK") or 0)
MEASURED = os.environ.get("DATA", "")
EXTRA = ("K",)  # blocks that only run when they are asked for
SANITIZED = ROOT / "build" / "test" / "mobula"
PROMPT = ("A", "A2", "D")  # where nothing backs off
PROMPT_S, PROMPT_CASES = 5.0, 20  # half of so many cases or more converge within that, and what the work took without a fault
ONE_IN = 10  # so many cases runs the program with sanitizers, when it is built
OUT = ROOT / "build" / "fault"


class TooLong(Exception):
    pass


# ---- one case, in a process of its own ----

def run_case(plane, case):
    """(error or "", data). A run that never came to the place of its fault says nothing, and another one begins."""
    if with_sanitizers(case):
        Operator.program = SANITIZED
    for attempt in range(1, TRIES + 1):
        error, data, reached = try_case(plane, case)
        if reached:
            break
        error, data["unreached"] = f"{error} ({attempt} runs)", True
    return error, data


def try_case(plane, case):
    """(error or "", data, whether it came to the place of its fault)."""
    ctx, error, reached = None, "?", True
    try:
        ctx = Context(plane.connect(), case.id, OUT / case.id.replace("/", "_"))
        try:
            case.run(ctx)
            error = ""
        except Exception as e:  # an oracle's no, or the case itself is broken: both are failures, and the next case goes on
            reached = not isinstance(e, Unreached)
            error = told(e)
            (ctx.folder / "history.txt").write_text(f"{case.id}: {error}\n\n{ctx.history()}")
        if os.environ.get("CASE") == case.id:
            print(ctx.history())
        return error, ctx.data, reached
    except Exception as e:  # what the case runs in could not be made
        return "".join(traceback.format_exception(e)[-8:]), {}, True
    finally:
        if ctx:
            ctx.close()
            if not error:
                shutil.rmtree(ctx.folder, ignore_errors=True)


def told(e):
    """An oracle's words; without any, or of an error in the case, where it was. Never nothing: that would be a pass."""
    words = str(e) if isinstance(e, AssertionError) else ""
    return words or "".join(traceback.format_exception(e)[-8:])


class Running:
    """A case that runs."""

    def __init__(self, plane, case):
        self.case, self.began = case, time.monotonic()
        self.pipe, to = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.close(self.pipe)
                os.setpgid(0, 0)
                for s in (signal.SIGINT, signal.SIGTERM):
                    signal.signal(s, signal.SIG_DFL)
                data = pickle.dumps(run_case(plane, case))
                with os.fdopen(to, "wb") as f:
                    f.write(data)
                status = 0
            finally:
                sys.stdout.flush()
                os._exit(status)
        os.close(to)
        self.said = b""

    def read(self):
        """True when it has ended."""
        data = os.read(self.pipe, 1 << 20)
        self.said += data
        return not data

    def end(self, why=""):
        """(error, data, seconds)."""
        if why:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        os.close(self.pipe)
        os.waitpid(self.pid, 0)
        try:
            error, data = pickle.loads(self.said)
        except (pickle.UnpicklingError, EOFError):
            error, data = why or "its process ended without a word", {}
        return error, data, time.monotonic() - self.began


def run_all(plane, cases, tell):
    """Runs them; tell(case, error, data, seconds) as each ends."""
    waiting = {False: collections.deque(c for c in cases if not c.slow), True: collections.deque(c for c in cases if c.slow)}
    room = {False: WORKERS, True: SLOW_WORKERS}
    running = []
    try:
        while running or any(waiting.values()):
            for slow, queue in waiting.items():
                while queue and sum(r.case.slow == slow for r in running) < room[slow]:
                    running.append(Running(plane, queue.popleft()))
            ready = select.select([r.pipe for r in running], [], [], 1.0)[0]
            for r in list(running):
                late = time.monotonic() - r.began > r.case.limit
                if (r.pipe in ready and r.read()) or late:
                    running.remove(r)
                    tell(r.case, *r.end(f"not over after {r.case.limit:.0f} s" if late else ""))
    finally:
        for r in running:
            r.end("interrupted")


# ---- learning: the workloads without faults ----

def learn(workload):
    def run(ctx):
        began = time.monotonic()
        ctx.begin(workload)
        acted = changed = time.monotonic()
        ctx.act(workload)
        eventually(lambda: workload.over(ctx), PATIENT)
        time.sleep(1)
        last, same = None, 0
        while same < 4:  # the fixed point: it is over, nothing is written, nothing changes and nothing is on its way
            state = ctx.state()
            changed = changed if state == last else time.monotonic()
            same = same + 1 if state == last and ctx.quiet_for() > 1.5 and at_end(ctx, workload, state) else 0
            last = state
            time.sleep(0.5)
            assert time.monotonic() - began < 200, "no fixed point without any fault"
        ctx.check_history()
        keys = [ctx.key(x) for x in ctx.effective(ctx.acted)]
        created = by_place(ctx.witness.created() - ctx.created_before)
        wrote = ctx.proxy.writes(ctx.acted)
        ctx.data["learned"] = (Learned(workload.id, last, [], len(wrote), len(refusals(wrote)), created, ctx.state(True),
                                       time.monotonic() - began, changed - acted), keys)
        ctx.finish()
    return run


def at_end(ctx, workload, state):
    """Quiet is not the end: an operator may be waiting its time to set something right. The workload says what its end is."""
    if any(key.startswith("pod ") and o["status"]["phase"] == "Pending" for key, o in state.items()):
        return False
    try:
        return bool(workload.over(ctx)) and not oracles.orphans(ctx.space, ctx.more)
    except AssertionError:
        return False


def agreed(runs):
    """The first two that came to the same end; [] when there are none."""
    pairs = itertools.combinations(runs, 2)
    return next((pair for pair in pairs if not oracles.difference(pair[0][0].state, pair[1][0].state)), [])


def ends_of(runs):
    """In what the first of them and another differ."""
    return next((lines[:5] for r, _ in runs[1:] if (lines := oracles.difference(runs[0][0].state, r.state))), [])


def numbered(keys):
    """The same key twice is two points."""
    seen = collections.Counter()
    out = []
    for k in keys:
        seen[k] += 1
        out.append((k, seen[k]))
    return out


def merge(runs, begin=""):
    """What two runs agree on, from the write `begin` on: writes that came in one of them only are matters of timing, and no points. Nor are
    statuses that tell of progress for the third time: how many there are of those is timing too, even when two runs agree."""
    first, keys = runs[0]
    other = set(numbered(runs[1][1]))
    first.points = [(k, n) for k, n in numbered(keys) if (k, n) in other and not ("/status " in k and n > STATUSES)]
    first.points = first.points[first.points.index((begin, 1)):] if begin else first.points
    first.writes, first.refused = max(r.writes for r, _ in runs), max(r.refused for r, _ in runs)
    first.took = max(r.took for r, _ in runs)
    first.created = {k: max(r.created.get(k, 0) for r, _ in runs) for k in {k for r, _ in runs for k in r.created}}
    return first


def fingerprint():
    h = hashlib.sha256(MOBULA.read_bytes())
    names = [f"fault/{name}" for name in ("case", "workloads", "watched", "seen", "oracles", "matrix", "submitters")]
    for name in names + [f"e2e/{name}" for name in ("cluster", "dashboards", "test_legacy")]:
        h.update((HERE.parent / f"{name}.py").read_bytes())
    return h.hexdigest()[:16]


def learn_all(plane):
    """{workload id: Learned}. Kept for the same program and the same tests."""
    kept = OUT / f"learned-{fingerprint()}.pickle"
    if kept.exists():
        return pickle.loads(kept.read_bytes())
    print(f"  LEARN   {len(TO_LEARN)} workloads without faults, twice")
    plane.connect().wait_for_collector()
    runs, failed = collections.defaultdict(list), []

    def tell(case, error, data, _seconds):
        if error:
            failed.append(f"{case.id}: {error}")
        else:
            runs[case.id.split("/")[1]].append(data["learned"])

    run_all(plane, [Case(f"learn/{w.id}/{n}", learn(w)) for n in (1, 2) for w in TO_LEARN.values()], tell)
    odd = [w for w, r in runs.items() if not agreed(r)] if not failed else []
    for w in odd:
        print(f"  LEARN   {w} came to two ends, and runs a third time:" + "".join(f"\n          {line}" for line in ends_of(runs[w])))
    run_all(plane, [Case(f"learn/{w}/3", learn(TO_LEARN[w])) for w in odd], tell)
    failed += [f"{w}: each run came to another end:\n  " + "\n  ".join(ends_of(runs[w])) for w in odd if not agreed(runs[w])]
    if failed:
        sys.exit("a workload fails without any fault:\n" + "\n".join(failed) + "\n0 passed, 1 failed")
    learned = {w: merge(agreed(r), TO_LEARN[w].first) for w, r in runs.items()}
    for old in OUT.glob("learned-*.pickle"):
        old.unlink()
    kept.write_bytes(pickle.dumps(learned))
    return learned


# ---- choosing and telling ----

def modules():
    names = sorted(p.stem for p in (HERE / "blocks").glob("*.py") if p.stem != "__init__")
    return sorted((importlib.import_module(f"blocks.{n}") for n in names), key=lambda m: m.BLOCK)


def rank(case):
    return hashlib.sha256(f"{SEED} {case.id}".encode()).digest()


def with_sanitizers(case):
    chosen = MOBULA == SANITIZED or rank(case)[-1] % ONE_IN == 0
    return chosen and SANITIZED.exists() and not case.plain and not case.id.startswith("learn/")


def sample(blocks):
    """About QUICK_CASES over all blocks, each with its share, always the same for one SEED."""
    total = sum(map(len, blocks.values()))
    share = {b: min(len(c), max(4, round(QUICK_CASES * len(c) / total))) for b, c in blocks.items()}
    return {b: sorted(sorted(c, key=rank)[:share[b]], key=lambda case: case.id) for b, c in blocks.items()}


def choose(learned):
    """{block: cases}, {block: title}."""
    wanted = [b for b in os.environ.get("BLOCK", "").split(",") if b]
    one = os.environ.get("CASE")
    if one:
        wanted = [one.split("/")[0]]
    found = [m for m in modules() if (m.BLOCK in wanted if wanted else m.BLOCK not in EXTRA)]
    blocks = {m.BLOCK: m.cases(learned) for m in found}
    ids = [c.id for cases in blocks.values() for c in cases]
    doubled = [i for i, n in collections.Counter(ids).items() if n > 1]
    assert not doubled, f"ids that occur twice: {doubled[:5]}"
    if QUICK and not one:
        blocks = sample(blocks)
    if one:
        blocks = {b: [c for c in cases if fnmatch.fnmatchcase(c.id, one)] for b, cases in blocks.items()}
    return blocks, {m.BLOCK: m.TITLE for m in found}


class Report:
    def __init__(self, blocks, titles):
        self.blocks, self.titles, self.results = blocks, titles, {b: [] for b in blocks}
        self.total, self.done, self.began, self.said = sum(map(len, blocks.values())), 0, time.monotonic(), 0.0

    def tell(self, case, error, data, seconds):
        self.done += 1
        self.results[case.id.split("/")[0]].append((case, error, data, seconds))
        if MEASURED:
            with open(MEASURED, "a", encoding="utf-8") as f:
                f.write(json.dumps([case.id, error, data, seconds, with_sanitizers(case)]) + "\n")
        if error:
            print(f"  FAILED  {case.id}: {error.rstrip()}\n          again: make fault CASE={case.id}\n"
                  f"          history: {(OUT / case.id.replace('/', '_') / 'history.txt').relative_to(ROOT)}", flush=True)
        if error or time.monotonic() - self.said > 10 or self.done == self.total:
            self.said = time.monotonic()
            failed = sum(bool(r[1]) for rows in self.results.values() for r in rows)
            print(f"  FAULT   {self.done} of {self.total} after {self.said - self.began:.0f} s, {failed} failed", flush=True)

    def moved(self):
        """Those that found no place for their fault, when they are few: nothing was tried, so they have neither passed nor failed."""
        rows = [r for rows in self.results.values() for r in rows if r[1] and r[2].get("unreached")]
        return rows if len(rows) <= self.total // MOVED_ONE_IN else []

    def failed(self, rows):
        moved = {r[0].id for r in self.moved()}
        return sum(bool(r[1]) and r[0].id not in moved for r in rows)

    def take_back(self, row):
        self.done -= 1
        self.results[row[0].id.split("/")[0]].remove(row)

    def table(self):
        print(f"\n  {'block':8} {'cases':>6} {'passed':>7} {'failed':>7} {'time':>8}  {'converged p50, max':20} what")
        for b, rows in self.results.items():
            failed = self.failed(rows)
            settled = [r[2]["settled"] for r in rows if "settled" in r[2]]
            took = f"{statistics.median(settled):.1f} s, {max(settled):.1f} s" if settled else "-"
            passed, seconds = sum(not r[1] for r in rows), sum(r[3] for r in rows)
            print(f"  {b:8} {len(rows):6} {passed:7} {failed:7} {seconds:6.0f} s  {took:20} {self.titles[b]}")
            for line in sorted({line for r in rows for line in r[2].get("notes", [])}):
                print(f"           {line}")
        rows = [r for rows in self.results.values() for r in rows]
        failed, slow, moved = self.failed(rows), self.slow_blocks(), self.moved()
        print(f"\n  {sum(with_sanitizers(r[0]) for r in rows)} of them with sanitizers"
              + ("" if SANITIZED.exists() else ": build/test/mobula is not built"))
        print(f"  {len(rows)} cases in {time.monotonic() - self.began:.0f} s, {WORKERS} at a time")
        if moved:
            print(f"  {len(moved)} found no place for their fault, and count as neither: " + " ".join(r[0].id for r in moved))
        print(f"{len(rows) - failed - len(moved)} passed, {failed + slow} failed")
        return failed + slow

    def slow_blocks(self):
        """(h) for blocks rather than cases: one case may have met a busy machine, half of them have not."""
        slow = 0
        for b in PROMPT:
            late = [r[2]["settled"] - r[2]["took"] for r in self.results.get(b, ()) if "settled" in r[2]]
            if len(late) >= PROMPT_CASES and statistics.median(late) > PROMPT_S:
                print(f"  FAILED  {b}: half of its cases converged later than {statistics.median(late):.1f} s after what their work takes")
                slow += 1
        return slow


def run_again(plane, report):
    """One at a time: with AGAIN those that failed, because what a limit by the clock said of a busy machine is not said twice; and those
    that found no place for their fault, when they are many, for a machine that does little else writes what the learning run wrote. What
    was said stays in the log, and the first history beside the case's folder."""
    rows = [r for rows in report.results.values() for r in rows if r[1]]
    unreached = [r for r in rows if r[2].get("unreached")]
    failed = [r for r in rows if r not in unreached] if os.environ.get("AGAIN") else []
    if len(failed) > AGAIN_MOST:
        print(f"  FAULT   {len(failed)} have failed: more than a busy machine explains, and none is run again", flush=True)
        failed = []
    if report.moved():
        unreached = []
    for row in unreached + failed:
        case = row[0]
        folder = OUT / case.id.replace("/", "_")
        if (folder / "history.txt").exists():
            shutil.copy(folder / "history.txt", folder.with_name(folder.name + ".first.txt"))
        report.take_back(row)
        print(f"  FAULT   {case.id} runs again, alone", flush=True)
        run_all(plane, [case], report.tell)


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    plane = Plane()
    plane.api = None
    kubelet.start()
    blocks, titles = choose(learn_all(plane))
    cases = [c for block in blocks.values() for c in block]
    if os.environ.get("LIST"):
        print("\n".join(c.id for c in cases))
        return 0
    if not cases:
        print("no case is called so\n0 passed, 1 failed")
        return 1
    report = Report(blocks, titles)
    run_all(plane, sorted(cases, key=rank), report.tell)
    run_again(plane, report)
    return 1 if report.table() else 0


if __name__ == "__main__":
    sys.exit(main())
