"""A case of the fault matrix, and what it may use: a namespace of its own, an operator behind a proxy of its own, the oracles."""

import collections
import json
import os
import shutil
import signal
import threading
import time
from dataclasses import dataclass, field
from typing import Callable

import oracles
from cluster import Workspace, eventually
from dashboards import Jobs, own_address
from processes import ACCOUNT, Operator, kubeconfig
from proxy import Proxy

QUICK = bool(os.environ.get("QUICK"))
QUIET_SECONDS = 3.0 if QUICK else 10.0
LIMIT = 90.0  # to converge; a loaded machine is slow
CANARY = "canary-5e1f2d7c90ab"  # a value in every pod template that the operator may never tell
SANITIZED = "test/" in os.environ.get("MOBULA", "")
RSS_MAX_KIB = 8 * 1024
FDS_MAX = 20  # five watches, a few kept connections, two listeners, the usual ones


class Unreached(AssertionError):
    """The operator did not come to the place of the fault: what two learning runs wrote in two statuses may be one this time."""


@dataclass
class Case:
    id: str  # "A/W3/07/after"
    run: Callable
    slow: bool = False  # it mostly waits for a time-out: runs beside the others
    limit: float = 300.0  # seconds after which it is ended and has failed


@dataclass
class Learned:
    """What a fault-free run of a workload came to."""

    id: str
    state: dict
    points: list = field(default_factory=list)  # (key, nth) of its effective writes, in their order
    writes: int = 0  # all that the operator wrote between act and the fixed point
    created: dict = field(default_factory=dict)  # pods made for each place, the setup's left out
    strict: dict = field(default_factory=dict)  # the state with the failures that are told
    seconds: float = 0.0


class Context:
    """What a case's run(ctx) gets."""

    def __init__(self, plane, case_id, folder):
        self.plane, self.api, self.id, self.folder = plane, plane.api, case_id, folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.space = Workspace(self.api, plane.namespace())
        self.proxy = Proxy(plane.certificates)
        self.witness = oracles.Witness(self.api, self.space.name)
        self.operators, self.kills, self.faults = [], 0, 0
        self.token = ""
        self.acted = 0  # place in the proxy's log at which the workload began
        self.created_before = collections.Counter()
        self.names, self.names_seen = {}, 0
        self.clusters, self.log_seen = {}, 0
        self.ranked = False
        self.more, self.jobs, self.board_port = (), None, None  # what else the state has; a dashboard behind the proxy, and its port
        self.data = {}  # goes to the report
        self.restarts = threading.Lock()

    # ---- the operator ----

    def config(self, proxy=None, name="operator", user=None):
        """A kubeconfig that leads through the proxy, as the operator's service account."""
        proxy = proxy or self.proxy
        if not self.token:
            body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
            self.token = self.api.call("POST", self.space.path("serviceaccounts", ACCOUNT) + "/token", body)["status"]["token"]
        user = user or f'token: "{self.token}"'
        return kubeconfig(self.folder / f"{name}.kubeconfig", self.space.name, user, proxy.port, proxy.certificates.ca)

    def operator(self, *flags, config=None, tools="none"):
        """Starts one through the proxy."""
        name = f"operator{len(self.operators)}"
        op = Operator(self.folder, self.space.name, f"--tools={tools}", *flags, name=name, config=config or self.config(name=name))
        self.operators.append(op)
        return op

    @staticmethod
    def ready(op, seconds=60):
        def answers():
            try:
                return op.get("/readyz") == (200, "ok\n")
            except OSError:  # it has no second to answer in: the machine is busy
                return False

        eventually(answers, seconds)
        return op

    @property
    def op(self):
        return self.operators[0]

    def kill(self, op=None, restart=True):
        """SIGKILL, and the next process of it starts."""
        op = op or self.op
        with self.restarts:
            self.kills += 1
            op.process.send_signal(signal.SIGKILL)
            op.process.wait(10)
            with self.proxy.lock:
                self.proxy.generation += 1
            if restart:
                op.start()

    # ---- workloads ----

    def board(self, **how):
        """Where the heads of this case's jobs answer: {"address", "port"}. how: of dashboards.Jobs."""
        address = own_address()
        assert address, "this machine has no address but loopback, which no head can have: connect it to a network"
        self.jobs = self.jobs or Jobs(**how)
        self.board_port = self.board_port or self.proxy.front(self.jobs, address)
        return {"address": address, "port": self.board_port}

    def begin(self, workload):
        """The operator runs and the workload's setup is done and quiet."""
        self.ranked, self.more = workload.ranked, workload.more
        self.ready(self.operator(*workload.flags, tools=workload.tools))
        workload.setup(self)
        self.calm()
        self.acted = len(self.proxy.log)
        self.created_before = self.witness.created()

    def act(self, workload):
        self.ranked, self.more = workload.ranked, workload.more
        workload.act(self)

    def calm(self, seconds=0.6, limit=30):
        """Waits until the operator has written nothing for so long."""
        eventually(lambda: self.quiet_for() >= seconds, limit)

    def quiet_for(self):
        """Seconds since the last write began."""
        last = next((x.at for x in reversed(self.proxy.log) if x.is_write and x.resource != "leases"), -1000.0)
        return self.proxy.now() - last

    # ---- writes by name ----

    def called(self, name):
        """The place of the pod of this name, as long as anybody has seen it; else the name."""
        while self.names_seen < len(self.witness.events):
            pod = self.witness.events[self.names_seen][1]
            self.names[pod["metadata"]["name"]] = oracles.place(pod)
            self.names_seen += 1
        return self.names.get(name, name)

    def steady(self, name):
        """A name that is made of a job's cluster's, which is another one in every run."""
        for x in self.proxy.log[self.log_seen:]:
            job = x.object.get("metadata", {}).get("labels", {}).get("ray.io/originated-from-cr-name")
            if job and x.resource == "rayclusters" and x.verb == "create":
                self.names[x.name] = self.clusters[x.name] = f"cluster of {job}"
            self.log_seen += 1
        for cluster, called in self.clusters.items():
            name = name.replace(cluster, called)
        return name

    def key(self, x):
        """What a write is, in words that are the same in every run: "create pods c/small/0", "create events CreatedWorkerPod c"."""
        if x.resource == "pods":
            if x.verb == "create" and x.object:
                return f"{x.what()} {oracles.place(x.object)}"
            return f"{x.what()} {self.called(x.name)}"
        if x.resource == "dashboard":
            return x.what()
        if x.resource == "rayjobs" and x.sub:  # how many there are on the way from one step to the next is a matter of timing
            said = x.object.get("status", {})
            return f"{x.what()} {x.name} {said.get('jobDeploymentStatus')} {said.get('jobStatus', '')}"
        if x.resource == "events":
            return f"{x.what()} {x.object.get('reason', '')} {self.steady(x.object.get('regarding', {}).get('name', ''))}"
        return f"{x.what()} {self.steady(x.name)}"

    def effective(self, since):
        """Writes of the log that changed something (Sieve's no-op filter)."""
        versions, found = {}, []
        for i, x in enumerate(self.proxy.log):
            if not x.is_write or x.dry_run or not 200 <= x.status < 300:
                continue
            at = (x.resource, x.group, x.name)
            changed = x.verb == "delete" or x.resource == "dashboard" or versions.get(at) != x.version
            if i >= since and x.resource != "leases" and changed:
                found.append(x)
            versions[at] = x.version
        return found

    # ---- oracles ----

    def state(self, strict=False):
        self.called(self.steady(""))
        state = oracles.snapshot(self.space, strict, self.names, self.ranked, self.more, self.board_port)
        if self.jobs:
            state["dashboard"] = [(job["entrypoint"], job["status"]) for job in list(self.jobs.jobs.values())]
        return state

    def settle(self, reference, seconds=LIMIT, strict=False):
        """Waits until the namespace looks like the reference's and the operator is quiet. Returns the seconds that took."""
        want = reference.strict if strict else reference.state
        began, step = time.monotonic(), 0.1
        while True:
            got = self.state(strict)
            lines = oracles.difference(want, got)
            if not lines and self.quiet_for() > 0.5:
                return time.monotonic() - began
            if time.monotonic() - began > seconds:
                raise AssertionError(f"not converged after {seconds:.0f} s:\n  " + "\n  ".join(lines[:12] or ["it goes on writing"]))
            time.sleep(step)
            step = min(step * 1.3, 0.5)

    def settle_until(self, predicate, seconds=LIMIT):
        """The same for a state that no workload leads to: until predicate() is true and the operator is quiet."""
        began = time.monotonic()
        eventually(lambda: predicate() and self.quiet_for() > 0.5, seconds, 0.2)
        return time.monotonic() - began

    def quiet(self, seconds=None):
        """(g): nothing is written at the fixed point, and memory and descriptors stay as they are."""
        since, before = len(self.proxy.log), [self.resources(op) for op in self.running()]
        time.sleep(QUIET_SECONDS if seconds is None else seconds)
        written = [x for x in self.proxy.writes(since) if not self.forgets_failure(x) and not self.is_late_repeat(x)]
        assert not written, "written at the fixed point:\n  " + "\n  ".join(f"{x} {x.body[:400]!r}" for x in written)
        for op, (fds, rss) in zip(self.running(), before):
            now_fds, now_rss = self.resources(op)
            assert now_fds <= max(fds, FDS_MAX), f"{fds} descriptors became {now_fds} while nothing happened"
            assert SANITIZED or now_rss <= max(rss + 512, RSS_MAX_KIB), f"{rss} KiB became {now_rss} while nothing happened"

    @staticmethod
    def forgets_failure(x):
        """A minute after a group is well again its failures leave the status: that is due, whenever it comes."""
        return x.resource == "rayclusters" and x.sub == "status" and b"ReplicaFailure" not in x.body and b'"groups"' in x.body

    def is_late_repeat(self, x):
        """An Event, or the tools, whose write was told as refused or lost is written again in its own time. Nothing waits for the answer:
        for the tools themselves the workers do, so they are there by now."""
        told = [e for e in self.proxy.log[:x.seq] if e.body == x.body and e.name == x.name]
        return x.resource in ("events", "configmaps") and any(e.told >= 300 or not e.told for e in told)

    def running(self):
        return [op for op in self.operators if op.process.poll() is None]

    @staticmethod
    def resources(op):
        return len(os.listdir(f"/proc/{op.process.pid}/fd")), op.memory_kib()

    def check(self, reference, faults=None, limit=LIMIT, strict=False, extra_pods=0, quiet=None):
        """All the oracles against the workload's reference: (h) and (a) converged within the limit, (g) quiet, then what the history
        must not hold. faults: how many there were; by default kills and rules that hit."""
        self.data["settled"] = self.settle(reference, limit, strict)
        self.quiet(quiet)
        self.check_history()
        self.check_writes(reference, faults, extra_pods)
        self.finish()

    def check_history(self):
        """(b), (c), (d), (e): at no moment two of a kind; nobody's objects; no blind deletes."""
        breaches = list(self.witness.breaches())
        assert not breaches, "\n  ".join(breaches[:5])
        left = oracles.orphans(self.space, self.more)
        assert not left, f"without a live owner: {left}"
        blind = oracles.unguarded_deletes(self.proxy.log) + oracles.unforced_writes(self.proxy.log)
        assert not blind, "without a precondition:\n  " + "\n  ".join(blind[:5])
        early = oracles.untold_submissions(self.proxy.log)
        assert not early, "\n  ".join(early[:5])

    def fault_count(self):
        rules = self.proxy.rules + self.proxy.event_rules
        return self.kills + sum(r.hits for r in rules) + self.faults

    def check_writes(self, reference, faults=None, extra_pods=0):
        """(f) and (d): not many more writes than without faults, and no place was filled more often."""
        faults = self.fault_count() if faults is None else faults
        wrote = self.proxy.writes(self.acted)
        most = 1.25 * reference.writes + 2 * faults + 2
        assert len(wrote) <= most, (f"{len(wrote)} writes, {reference.writes} without faults and {faults} faults allow {most:.0f}:\n  "
                                    + "\n  ".join(map(str, wrote[-30:])))
        made = by_place(self.witness.created() - self.created_before)
        more = {k: (n, reference.created.get(k, 0)) for k, n in made.items() if n > reference.created.get(k, 0) + extra_pods}
        assert not more, f"pods made more often than without faults (place: made, without faults): {more}"

    def finish(self):
        """(i) and (j): it ends well, has not grown, and has told no secret."""
        for op in self.operators:
            if op.process.poll() is None and not SANITIZED:
                assert op.memory_kib() <= RSS_MAX_KIB, f"{op.memory_kib()} KiB resident"
            code = op.stop()
            assert code in (0, -signal.SIGKILL), f"exit code {code}: {op.log()[-2000:]}"
            said = op.log_path.read_text(errors="replace")
            found = oracles.SANITIZER.search(said)
            assert not found, said[max(0, found.start() - 200):][:4000]
        secrets = {"token": self.token, "canary": CANARY, "the cluster's token": self.jobs and self.jobs.token}
        told = oracles.secrets_told(self.texts(), secrets)
        assert not told, f"secrets told: {told}"

    def texts(self):
        """Where a secret might have been told."""
        texts = {op.log_path.name: op.log_path.read_text(errors="replace") for op in self.operators}
        found = self.space.find(self.space.path("events", group="/apis/events.k8s.io/v1")) or {"items": []}
        texts["events"] = "\n".join(e.get("note", "") for e in found["items"])
        clusters = [o for kind, o in oracles.objects(self.space) if kind in ("rayjob", "raycluster", "legacy")]
        texts["status"] = "\n".join(json.dumps(o.get("status")) for o in clusters)
        return texts

    # ---- the end ----

    def history(self):
        """For who replays it: requests, kills, and the operator's log."""
        lines = [f"namespace {self.space.name}, {self.kills} kills", "", "requests:"]
        lines += [f"{x}{'   <' + self.key(x) + '>' if x.is_write else ''}" for x in self.proxy.log]
        lines += ["", "pods as the witness saw them:"]
        for kind, p in self.witness.events:
            going = " going" if p["metadata"].get("deletionTimestamp") else ""
            lines.append(f"  {kind} {p['metadata']['name']} rv={p['metadata']['resourceVersion']} "
                         f"{p.get('status', {}).get('phase', '')}{going}")
        for op in self.operators:
            lines += ["", f"{op.log_path.name}:", op.log_path.read_text(errors="replace")]
        return "\n".join(lines)

    def close(self):
        self.proxy.close()
        self.witness.stop()
        for op in self.operators:
            if op.process.poll() is None:
                op.process.kill()
                op.process.wait(10)
        self.plane.dispose(self.space)


def by_place(created):
    """Without the owner's uid, which differs from run to run: clusters of one name are counted together. And without the index of
    replicas of several hosts: which one is free is a matter of timing."""
    out = collections.Counter()
    for (_, where), n in created.items():
        parts = where.split("/")
        out["/".join([*parts[:2], "*", parts[3]] if len(parts) == 4 else parts)] += n
    return dict(out)
