#!/usr/bin/env python3
"""Holds the model API server to the real one: the same random requests to both, and every answer and event compared. See run.sh."""

import argparse
import itertools
import json
import os
import signal
import sys
import threading
import time

from differences import LISTED, explained
from normal import Normal, differences
from sequences import NAMESPACE, sequence
from servers import Memory, compact_real, model, real
from vocabulary import KINDS

CANARY = "conform-canary"
PATIENCE_S = 20  # for what takes a moment
LONG_S = 3 * PATIENCE_S  # for what must come to pass before anything can be compared
TRIES_MAX = 200  # re-runs that making one failure smaller may cost
REPAIRED_MAX = 3  # runs of one sequence, when the real server itself wrote into its namespace
KIND = {k.key: k for k in reversed(KINDS)}  # events have one storage: v1 writes, both are watched


class Differs(Exception):
    """The two servers disagree at a step."""

    def __init__(self, at, step, found):
        super().__init__(f"step {at}: {found}")
        self.at, self.step, self.found = at, step, found


class Pair:
    """A connection to each of the two, for one sequence after the other."""

    def __init__(self, model_port, compaction):
        self.model, self.real, self.compaction = model(model_port), real(), compaction
        self.both = (self.model, self.real)
        self.normal, self.watches, self.ending = {}, [], False

    def begin(self, namespace):
        for server in self.both:
            self.normal[server.name] = Normal(namespace)
            made = server.send("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": namespace}}), "application/json")
            assert made.status == 201, made.body
            elsewhere = server.send("GET", f"/api/v1/namespaces/{CANARY}/configmaps/elsewhere").body["metadata"]["uid"]
            server.memory = Memory(namespace, made.body["metadata"]["resourceVersion"], server.token, elsewhere)
        account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"  # without it no pod is admitted
        for server in self.both:
            until(lambda s=server: s.send("GET", account).status == 200, f"{server.name}: no service account in {namespace}")

    def run(self, steps, namespace):
        with self.compaction:
            self.alone(steps, namespace)

    def alone(self, steps, namespace):
        self.begin(namespace)
        self.ending = any(step["method"] == "DELETE" and step["path"] == NAMESPACE for step in steps if step["do"] == "ask")
        try:
            for at, step in enumerate(steps):
                {"ask": self.ask, "watch": self.watch, "settle": self.settle, "compact": self.compact}[step["do"]](at, step)
            self.read_watches(len(steps), namespace)
        finally:
            for _, _, streams in self.watches:
                for s in streams:
                    s.close()
            self.watches = []

    # ---- one step ----

    def compare(self, at, step, model, reality):
        found = [d for d in differences(model, reality) if not explained(step, reality, d)]
        if found:
            raise Differs(at, step, found)

    def ask(self, at, step):
        model = self.normal["model"].answer(self.model.ask(step), dry(step))
        end = time.monotonic() + PATIENCE_S
        while True:
            before = self.normal["real"].copy()
            reality = self.normal["real"].answer(self.real.ask(step), dry(step))
            try:
                return self.compare(at, step, model, reality)
            except Differs:
                if not step.get("stale") or time.monotonic() > end:
                    raise
            self.normal["real"] = before
            time.sleep(0.05)

    def watch(self, at, step):
        streams = [s.watch(step) for s in self.both]
        self.watches.append((at, step, streams))
        model, reality = ({"status": s.status, "type": s.headers.get("Content-Type")} for s in streams)
        self.compare(at, step, model, reality)
        if streams[0].status != 200:
            model, reality = (self.normal[server.name].answer(s.refusal()) for server, s in zip(self.both, streams))
            self.watches.pop()
            self.compare(at, step, model, reality)

    def settle(self, at, step):
        """Until the real server's objects are those of the model. A canary that the garbage collector has to take first shows that it is
        not idle because it is late."""
        self.canary()
        model = self.model_at_rest(step["paths"])
        end = time.monotonic() + PATIENCE_S * (3 if self.ending else 1)  # the real server looks at namespaces every few seconds
        while True:
            reality = self.state(self.real, step["paths"])
            try:
                return self.compare(at, step, model, reality)
            except Differs:
                if time.monotonic() > end:
                    raise
            time.sleep(0.02)

    def model_at_rest(self, paths):
        """Its state once its collectors have done: they look a millisecond after each change, if the machine lets them."""
        before, now = None, self.state(self.model, paths)
        while before != now:
            time.sleep(0.03)
            before, now = now, self.state(self.model, paths)
        return now

    def compact(self, *_):
        self.compaction.meet(self)

    def canary(self):
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "00000000-0000-0000-0000-000000000001"}
        path = f"/api/v1/namespaces/{CANARY}/configmaps"
        body = json.dumps({"metadata": {"generateName": "canary-", "ownerReferences": [owner]}})
        name = self.real.send("POST", path, body, "application/json").body["metadata"]["name"]
        until(lambda: self.real.send("GET", f"{path}/{name}").status == 404, "the garbage collector sleeps")

    def state(self, server, paths):
        """Which objects there are and what holds them."""
        found = {}
        for path in paths:
            for item in server.send("GET", server.memory.fill(path)).body["items"]:
                meta = item["metadata"]
                owners = [o["name"] for o in meta.get("ownerReferences", [])]
                name = self.normal[server.name].text(meta["name"])
                found[f"{path} {name}"] = [meta.get("finalizers"), owners, "deletionTimestamp" in meta]
        return found

    def repaired(self, namespace):
        """Whether the real server has written events of its own there. Its controllers of addresses and ports look at every service, and
        tell of one whose address or port is not in their cache yet: that is a matter of how busy the machine is."""
        events = self.real.send("GET", f"/api/v1/namespaces/{namespace}/events").body.get("items", [])
        writers = [e.get("reportingComponent") or e.get("source", {}).get("component") or "" for e in events]
        return any(w.endswith("-repair-controller") for w in writers)

    # ---- watches ----

    def read_watches(self, at, namespace):
        """A last object of each kind tells a watch that sees it that there is no more to come. In a namespace that ends none can be made:
        there the model's watches say how many events there are."""
        kinds = {} if self.ending else {s["kind"]: KIND[s["kind"]] for _, s, _ in self.watches}
        for kind in kinds.values():
            body = SENTINELS[kind.key]
            for server in self.both:
                made = server.send("POST", server.memory.fill(kind.path()), server.memory.fill(json.dumps(body)), "application/json")
                assert made.status == 201, made.body
        self.model.send("GET", "/version")  # by now all that was written has been sent
        for opened, step, (model, reality) in self.watches:
            if step["sentinel"] and not self.ending:
                model.read(lambda m=model: seen_last(m.events), PATIENCE_S)
                assert seen_last(model.events), f"the model's watch of step {opened} misses its end"
            model.drain()
            reality.read(lambda m=model, r=reality: len(r.events) >= len(m.events), PATIENCE_S)
            reality.drain()
            a, b = self.normal["model"].events(model.events), self.normal["real"].events(reality.events)
            if a != b and in_order(model.events) and in_order(reality.events):  # collectors work at several objects at a time
                a, b = by_object(a), by_object(b)
            self.compare(at, {**step, "opened at": opened}, {"events": a, "ended": model.ended}, {"events": b, "ended": reality.ended})


def seen_last(events):
    return any(e["object"].get("metadata", {}).get("name") == "zz-sentinel" for e in events)


def in_order(events):
    """Each event after the first bookmark has a later version than the one before."""
    began = [e["type"] for e in events].index("BOOKMARK") if any(e["type"] == "BOOKMARK" for e in events) else 0
    versions = [int(e["object"]["metadata"].get("resourceVersion") or 0) for e in events[began:] if e["type"] != "ERROR"]
    return versions == sorted(versions)


def by_object(events):
    """What happened to each object, one object after the other."""
    return sorted(events, key=lambda e: (e["object"].get("metadata", {}).get("name", ""), e["object"].get("metadata", {}).get("uid", "")))


def dry(step):
    return "dryRun" in step["path"] or "dryRun" in str(step.get("body"))


def sentinel(kind, body):
    return kind.typed({"metadata": {"name": "zz-sentinel"}, **body})


SENTINELS = {k.key: sentinel(k, {}) for k in KIND.values()}
SENTINELS["Pod"].update(spec={"containers": [{"name": "c", "image": "i"}]})
SENTINELS["Service"].update(spec={"clusterIP": "None"})
SENTINELS["RoleBinding"].update(roleRef={"kind": "Role", "name": "r"})
SENTINELS["Event"] = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "zz-sentinel"}, "involvedObject": {"namespace": "@ns()"}}
SENTINELS["RayCluster.ray.io"].update(spec={"headGroupSpec": {"template": {"spec": {"containers": []}}}})
SENTINELS["RayJob.ray.io"].update(spec={"rayClusterSpec": {"headGroupSpec": {"template": {"spec": {"containers": []}}}}})
SENTINELS["RayCronJob.ray.io"].update(spec={"schedule": "@daily", "jobTemplate": SENTINELS["RayJob.ray.io"]["spec"]})
SENTINELS["RayService.ray.io"].update(spec={"rayClusterConfig": SENTINELS["RayJob.ray.io"]["spec"]["rayClusterSpec"]})
SENTINELS["RayCluster.cluster.ray.io"].update(spec={"headPodType": "h", "podTypes": [{"name": "h", "podConfig": {}}]})


def until(what, otherwise):
    end = time.monotonic() + LONG_S
    while not what():
        assert time.monotonic() < end, otherwise
        time.sleep(0.01)


# ---- the past ----


class Compaction:
    """Takes the past of both servers away. They have it in common with all sequences that run: each waits at its own place until the
    others have come to theirs."""

    def __init__(self, model_pid):
        self.model_pid, self.turn = model_pid, threading.Condition()
        self.running = self.waiting = self.times = 0

    def __enter__(self):
        with self.turn:
            self.running += 1

    def __exit__(self, *_):
        with self.turn:
            self.running -= 1
            self.turn.notify_all()

    def meet(self, pair):
        with self.turn:
            self.waiting += 1
            before = self.times
            while self.times == before and self.waiting < self.running:
                self.turn.wait()
            if self.times == before:
                self.compact(pair)
                self.times, self.waiting = before + 1, 0
                self.turn.notify_all()

    def compact(self, pair):
        """From here on no list shows what was before. The watch caches of the real server look every fifteen seconds."""
        path, body = f"/api/v1/namespaces/{CANARY}/configmaps", json.dumps({"metadata": {"generateName": "compacted-"}})
        last = {}
        for server in pair.both:
            for _ in range(2):
                first = last.get(server.name)
                last[server.name] = server.send("POST", path, body, "application/json").body["metadata"]["resourceVersion"]
            if server is pair.real:
                compact_real(last[server.name])
            else:
                os.kill(self.model_pid, signal.SIGUSR1)
            old = f"?resourceVersion={first}&resourceVersionMatch=Exact"
            for kind in KINDS:
                of = kind.path().replace("@ns()", CANARY) + old
                until(lambda s=server, p=of: s.send("GET", p).status == 410, f"{server.name}: {kind.key} is not compacted")


# ---- a failure made small ----


def smaller(pair, steps, failure, spaces):
    """Leaves out what the difference does not need: everything behind it, then halves, then single steps."""
    tries, wanted = 0, {path for path, _, _ in failure.found}

    def still(candidate):
        nonlocal tries
        tries += 1
        try:
            pair.run(candidate, next(spaces))
        except Differs as e:
            return e if wanted & {path for path, _, _ in e.found} else None
        return None

    if failure.at < len(steps):
        steps = steps[:failure.at + 1]
    size = max(len(steps) // 2, 1)
    while size and tries < TRIES_MAX:
        at = len(steps) - size
        while at >= 0 and tries < TRIES_MAX:
            candidate = steps[:at] + steps[at + size:]
            e = still(candidate) if candidate else None
            if e:
                steps, failure = candidate, e
            at -= size
        size //= 2
    return steps, failure


def show(step):
    if step["do"] in ("settle", "compact"):
        return step["do"]
    words = ["WATCH" if step["do"] == "watch" else step["method"], step["path"].replace("@ns()", "NS")]
    words += [f"{k}={step[k]}" for k in ("type", "accept", "from") if k in step]
    if "body" in step or "raw" in step:
        words.append(json.dumps(step["body"]) if "body" in step else repr(step["raw"]))
    return " ".join(words)


def brief(seed, failure):
    first = sorted(failure.found, key=lambda d: d[0] != "body.message")[:4]
    found = [f"{path}: model {str(model)[:300]!r} real {str(real)[:300]!r}" for path, model, real in first]
    return "\n      ".join([f"seed {seed}: {show(failure.step)[:700]}", *found])


def report(seed, steps, failure):
    lines = [f"seed {seed} FAILED at: {show(failure.step)}"]
    lines += [f"    {path}\n      model {model!r}\n      real  {real!r}" for path, model, real in failure.found[:12]]
    if len(failure.found) > 12:
        lines.append(f"    and {len(failure.found) - 12} more")
    lines += ["  with:"] + [f"    {show(s)}" for s in steps]
    return "\n".join(lines)


# ---- many ----


class Run:
    def __init__(self, options):
        self.options, self.lock = options, threading.Lock()
        self.compaction = Compaction(options.model_pid)
        seeds = range(options.seed, options.seed + options.sequences)
        later = {seed for seed in seeds if any(step["do"] == "compact" for step in sequence(seed))}
        self.phases = [[seed for seed in seeds if seed not in later], sorted(later)]
        self.passed = self.failed = 0
        self.broken, self.began = [], int(time.time())  # a control plane that was kept has older namespaces

    def all(self):
        """The sequences that compact come last, many side by side: each compaction takes until the real server has heard of it."""
        for seeds, workers in zip(self.phases, (self.options.workers, 4 * self.options.workers)):
            left = iter(seeds)
            threads = [threading.Thread(target=self.work, args=(left,)) for _ in range(min(workers, len(seeds)))]
            for t in threads:
                t.start()
            for t in threads:
                t.join()

    def work(self, seeds):
        pair, spaces = Pair(self.options.model, self.compaction), None
        while True:
            with self.lock:
                seed = next(seeds, None)
            if seed is None or self.failed >= self.options.failures or self.broken:
                return
            spaces = (f"conform-{self.began}-{seed}-{n}" for n in itertools.count())
            try:
                self.one(pair, seed, spaces)
            except Exception as e:
                self.broken.append(e)
                raise

    def undisturbed(self, pair, steps, spaces):
        for left in reversed(range(REPAIRED_MAX)):
            space = next(spaces)
            try:
                return pair.run(steps, space)
            except Differs:
                if left == 0 or not pair.repaired(space):
                    raise
            with self.lock:
                print(f"  once more: the real server's repair of services wrote into {space}", flush=True)

    def one(self, pair, seed, spaces):
        steps = sequence(seed)
        try:
            self.undisturbed(pair, steps, spaces)
        except Differs as failure:
            if not self.options.whole and not self.options.brief:
                steps, failure = smaller(pair, steps, failure, spaces)
            with self.lock:
                self.failed += 1
                print(brief(seed, failure) if self.options.brief else report(seed, steps, failure), flush=True)
            return
        with self.lock:
            self.passed += 1
            if self.passed % 100 == 0:
                print(f"  {self.passed} sequences", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=int, required=True, help="port of the model")
    parser.add_argument("--model-pid", type=int, required=True, help="SIGUSR1 makes it forget")
    parser.add_argument("--sequences", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--failures", type=int, default=10, help="stop after so many")
    parser.add_argument("--whole", action="store_true", help="do not make failures smaller")
    parser.add_argument("--brief", action="store_true", help="only where sequences fail first")
    run = Run(parser.parse_args())
    for server in (model(run.options.model), real()):
        server.send("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": CANARY}}), "application/json")
        server.send("POST", f"/api/v1/namespaces/{CANARY}/configmaps", json.dumps({"metadata": {"name": "elsewhere"}}), "application/json")
    began = time.monotonic()
    run.all()
    for d in LISTED:
        if d.used == 0:
            print(f"  not needed: {d.name} ({d.why})")
    print(f"  {time.monotonic() - began:.0f} s")
    print(f"{run.passed} passed, {run.failed + len(run.broken)} failed")
    sys.exit(bool(run.failed or run.broken))


if __name__ == "__main__":
    main()
