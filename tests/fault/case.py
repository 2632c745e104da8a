"""A case of the fault matrix, and what it may use: a namespace of its own, an operator behind a proxy of its own, the oracles."""

import collections
import json
import math
import os
import re
import shutil
import signal
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Callable

import oracles
from cluster import Workspace, eventually
from dashboards import Jobs, own_address
from processes import ACCOUNT, Operator, kubeconfig
from proxy import Proxy, call_of
from submitters import Submitters

QUICK = bool(os.environ.get("QUICK"))
QUIET_SECONDS = 3.0 if QUICK else 10.0
SANITIZED_FOLDER = "test"  # build/test/mobula
LIMIT = 30.0  # seconds to converge, beside what the machine needs: SLOWNESS times as long as the same work took without a fault
SLOWNESS = 5
CANARY = "canary-5e1f2d7c90ab"  # a value in every pod template that the operator may never tell
RSS_KIB = 4 * 1024  # at the end of a case; 1,200 to 1,600 are usual
COLLECTED_SECONDS = 60  # what nobody owns any more is the collector's to take and the kubelet's to end: both may be busy
RETRY_SECONDS = 5  # a call that was told nothing is tried again within two
GROWTH_KIB = 192  # at rest; none is usual, 120 of one that has just begun. Of descriptors: one connection that is opened again


def refusals(wrote):
    """Pods that the server itself refused, for a while or for good."""
    return [x for x in wrote if x.resource == "pods" and x.verb == "create" and x.status == 403 and not x.fault]


class Unreached(AssertionError):
    """The operator did not come to the place of the fault: what two learning runs wrote in two statuses may be one this time."""


@dataclass
class Case:
    id: str  # "A/W3/07/after"
    run: Callable
    slow: bool = False  # it mostly waits for a time-out: runs beside the others
    limit: float = 300.0  # seconds after which it is ended and has failed
    plain: bool = False  # not with sanitizers: it limits the memory, or the file's size, that they need


@dataclass
class Learned:
    """What a fault-free run of a workload came to."""

    id: str
    state: dict
    points: list = field(default_factory=list)  # (key, nth) of its effective writes, in their order
    writes: int = 0  # all that the operator wrote between act and the fixed point …
    refused: int = 0  # … and of those, pods that the server refused
    created: dict = field(default_factory=dict)  # pods made for each place, the setup's left out
    strict: dict = field(default_factory=dict)  # the state with the failures that are told
    seconds: float = 0.0
    took: float = 0.0  # seconds from act to the last change of the state


class Context:
    """What a case's run(ctx) gets."""

    def __init__(self, plane, case_id, folder):
        self.plane, self.api, self.id, self.folder = plane, plane.api, case_id, folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.space = Workspace(self.api, plane.namespace())
        self.proxy = Proxy(plane.certificates)
        self.proxies = [self.proxy]  # a case may have more of them
        self.witness = oracles.Witness(self.api, self.space.name)
        self.operators, self.kills, self.faults = [], 0, 0
        self.unheard = 0  # writes in flight when their process was killed: the next one may list before they land, and repeats them
        self.unheard_replicas = collections.Counter()  # of several hosts, by group, of which some were among those writes
        self.token, self.secrets = "", {"canary": CANARY}
        self.acted = 0  # place in the proxy's log at which the workload began
        self.created_before = collections.Counter()
        self.names, self.names_seen = {}, 0
        self.clusters, self.log_seen = {}, 0
        self.ranked = False
        self.more, self.jobs, self.board_port = (), None, None  # what else the state has; a dashboard behind the proxy, and its port
        self.submitters = None  # what runs in submitter pods
        self.data = {}  # goes to the report
        self.restarts = threading.Lock()

    # ---- the operator ----

    def config(self, proxy=None, name="operator", user=None):
        """A kubeconfig that leads through the proxy, as the operator's service account."""
        proxy = proxy or self.proxy
        if not user:
            self.token = self.token or self.new_token()
            user = f'token: "{self.token}"'
        return kubeconfig(self.folder / f"{name}.kubeconfig", self.space.name, user, proxy.port, proxy.certificates.ca)

    def new_token(self, account=ACCOUNT):
        """Of this service account; nobody may ever hear it from the operator."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        token = self.api.call("POST", self.space.path("serviceaccounts", account) + "/token", body)["status"]["token"]
        self.secrets[f"token {len(self.secrets)} of {account}"] = token
        return token

    def another_proxy(self, kind=Proxy, *more):
        """One more, whose log the oracles read too."""
        self.proxies.append(kind(self.plane.certificates, *more))
        return self.proxies[-1]

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
            at = self.proxy.now()
            op.process.send_signal(signal.SIGKILL)
            op.process.wait(10)
            with self.proxy.lock:
                unheard = [x for x in self.proxy.log if x.generation == self.proxy.generation and x.is_write and not x.fault
                           and not 0 < x.done_at < at]
                self.unheard += len(unheard)
                self.unheard_replicas += replicas(x.object for x in unheard if x.resource == "pods" and x.verb == "create")
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

    def play_submitters(self, crashes=0):
        """What runs in submitter pods from here on; the first so many of them submit nothing."""
        self.submitters = Submitters(self.witness, self.jobs, crashes).start()

    def begin(self, workload):
        """The operator runs and the workload's setup is done and quiet."""
        self.ranked, self.more = workload.ranked, workload.more
        self.ready(self.operator(*workload.flags, tools=workload.tools))
        workload.setup(self)
        self.calm()
        self.set_up()

    def set_up(self):
        """What was written and made up to here is the setup's."""
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
        def quiet(proxy):
            return proxy.now() - next((x.at for x in reversed(proxy.log) if x.is_write and x.resource != "leases"), -1000.0)

        return min(map(quiet, self.proxies))

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
                return f"{x.what()} {free_place(oracles.place(x.object))}"
            return f"{x.what()} {self.called(x.name)}"
        if x.resource == "dashboard":
            return x.what()
        if x.sub == "proxy":  # of a service and a port that are others in every run
            return f"{x.what()} {call_of(x.target)}"
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
            state["dashboard"] = sorted((job["entrypoint"], job["status"]) for job in list(self.jobs.jobs.values()))
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
            if time.monotonic() - began > seconds + SLOWNESS * reference.took:
                told = "\n  ".join(lines[:12] or ["it goes on writing"])
                raise AssertionError(f"not converged after {time.monotonic() - began:.0f} s:\n  {told}")
            time.sleep(step)
            step = min(step * 1.3, 0.5)

    def settle_until(self, predicate, seconds):
        """The same for a state that no workload leads to: until predicate() is true and the operator is quiet."""
        began = time.monotonic()
        eventually(lambda: predicate() and self.quiet_for() > 0.5, seconds, 0.2)
        return time.monotonic() - began

    def quiet(self):
        """(g): nothing is written at the fixed point, and memory and descriptors stay as they are."""
        self.watches_return()
        self.nothing_owed()
        marks, began = [len(p.log) for p in self.proxies], datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        before = {op: self.resources(op) for op in self.running()}
        time.sleep(QUIET_SECONDS)
        written = [x for p, since in zip(self.proxies, marks) for x in p.writes(since)
                   if not self.forgets_failure(x) and not is_late(p, x, began)]
        assert not written, "written at the fixed point:\n  " + "\n  ".join(f"{x} {x.body[:400]!r}" for x in written)
        for op, (fds, kib) in before.items():
            now_fds, now_kib = self.resources(op)
            self.data.setdefault("grew", []).append((fds, now_fds, kib, now_kib))
            assert now_fds <= fds + 1, f"{fds} descriptors became {now_fds} while nothing happened"
            assert self.sanitized or now_kib <= kib + GROWTH_KIB, f"{kib} KiB became {now_kib} while nothing happened"

    def nothing_owed(self):
        """Until no write waits to be tried again: who was told nothing asks once more, even where others have brought the end about."""
        def owed(proxy):
            last = {(x.verb, x.target, x.name): x for x in proxy.writes() if x.generation == proxy.generation}
            return any(not x.told and proxy.now() - x.at < RETRY_SECONDS for x in last.values())

        while any(map(owed, self.proxies)):
            time.sleep(0.2)

    def watches_return(self, limit=45):
        """Until every watch that was open once is open again; what is refused by now, or deaf, is waited for so long. Connections are what
        descriptors are for: they are compared when all are there."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            looks = [p.watches() for p in self.proxies]
            if all(now == ever or (len(looks) > 1 and not now) for now, ever in looks):  # of two operators one may have ended
                return
            time.sleep(0.1)

    @staticmethod
    def forgets_failure(x):
        """A minute after a group is well again its failures leave the status: that is due, whenever it comes."""
        return x.resource == "rayclusters" and x.sub == "status" and b"ReplicaFailure" not in x.body and b'"groups"' in x.body

    def running(self):
        return [op for op in self.operators if op.process.poll() is None]

    @property
    def sanitized(self):
        return Operator.program.parent.name == SANITIZED_FOLDER

    @staticmethod
    def resources(op):
        """(descriptors, KiB of its own memory: pages of the program come and go as the kernel likes)."""
        anonymous = re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{op.process.pid}/status").read_text())
        return len(os.listdir(f"/proc/{op.process.pid}/fd")), int(anonymous[1])

    def check(self, reference, limit=LIMIT, strict=False, extra_pods=0):
        """All the oracles against the workload's reference: (h) and (a) converged within the limit, (g) quiet, then what the history
        must not hold, (f) and (d) against the reference, (i), (j)."""
        self.data["settled"], self.data["took"] = self.settle(reference, limit, strict), reference.took
        self.quiet()
        self.check_history()
        self.check_writes(reference, extra_pods)
        self.finish()

    def conclude(self, extra_pods=0, **how):
        """The same for a case without a reference, which has looked at its end itself: (f) and (d) against what was asked for and made.
        how: of finish()."""
        self.calm(limit=120)
        self.quiet()
        self.check_history()
        self.check_measure(extra_pods)
        self.finish(**how)

    def check_history(self):
        """(b), (c), (d), (e): at no moment two of a kind; nobody's objects; no blind deletes."""
        eventually(self.witness.has_all, 60, 0.2)
        breaches = list(self.witness.breaches())
        assert not breaches, "\n  ".join(breaches[:5])
        end = time.monotonic() + COLLECTED_SECONDS
        while (left := oracles.orphans(self.space, self.more)) and time.monotonic() < end:
            time.sleep(0.5)
        assert not left, f"without a live owner: {left}"
        blind = [line for p in self.proxies for line in oracles.unguarded_deletes(p.log) + oracles.unforced_writes(p.log)]
        assert not blind, "without a precondition:\n  " + "\n  ".join(blind[:5])
        early = oracles.untold_submissions(self.proxy.log) + (self.submitters.again if self.submitters else [])
        assert not early, "\n  ".join(early[:5])

    def fault_count(self):
        """Kills, what rules did, and what the case itself counts. One that was lifted has been, too."""
        return self.kills + sum(r.faults for p in self.proxies for r in p.every_rule) + self.faults

    def check_writes(self, reference, extra_pods=0):
        """(f) and (d): not many more writes than without faults, and no place was filled more often. Two of the writes allowed more are for
        a start whose head or service was late: an event and a status more for the workers."""
        faults, wrote = self.fault_count(), self.proxy.writes(self.acted)
        most = 1.25 * reference.writes + 2 * faults + self.unheard + 4
        refused = refusals(wrote)
        if len(refused) > reference.refused:  # how long a namespace takes to go is the server's matter
            self.check_refusals(refused, lambda x: (x.name, x.generation))
            most += len(refused) - reference.refused
        self.data["wrote"] = (len(wrote), reference.writes, faults, most, self.unheard)
        assert len(wrote) <= most, (f"{len(wrote)} writes, {reference.writes} without faults and {faults} faults allow {most:.0f}:\n  "
                                    + "\n  ".join(map(str, wrote[-30:])))
        made = by_place(self.witness.created() - self.created_before)
        allowed = {k: reference.created.get(k, 0) + extra_pods + self.unheard_replicas[k.partition("/*/")[0]] for k in made}
        more = {k: (n, allowed[k]) for k, n in made.items() if n > allowed[k]}
        assert not more, f"pods made more often than without faults (place: made, at most): {more}"

    def check_measure(self, extra_pods=0):
        """(f) and (d) without a reference, in proportion to what there was in this case: pods that were made and that went, what users
        asked for, faults, and refusals by the server, which are repeated ever more slowly."""
        wrote = [x for p in self.proxies for x in p.writes()]
        made, gone, asked = self.witness.created(), self.witness.gone(), self.asked()
        refused = [x for x in wrote if x.resource == "pods" and x.verb == "create" and x.status >= 400 and x.status != 409]
        most = 2 * sum(made.values()) + gone + 4 * asked + 8 * self.api.changes["rayjobs"]
        most += 2 * (self.fault_count() + len(refused)) + self.unheard + 2
        self.data["measure"] = (len(wrote), most, sum(made.values()), gone, asked, self.fault_count(), len(refused))
        lines = "\n  ".join(map(str, wrote[-30:]))
        assert len(wrote) <= most, (f"{len(wrote)} writes for {sum(made.values())} pods made, {gone} gone, {asked} things asked for, "
                                    f"{self.fault_count()} faults and {len(refused)} refusals:\n  {lines}")
        self.check_refusals(refused)
        often = {k: n for k, n in made.items() if n > asked + extra_pods}
        assert not often, f"pods made again without being asked for: {often}"

    @staticmethod
    def check_refusals(refused, of=lambda x: x.name):
        """Of one pod: at once, after a second, after two, four …"""
        by_name = collections.defaultdict(list)
        for x in refused:
            by_name[of(x)].append(x.at)
        for name, at in by_name.items():
            most = 3 + math.log2(1 + at[-1] - at[0])
            assert len(at) <= most, f"{name} was refused {len(at)} times in {at[-1] - at[0]:.1f} s"

    def asked(self):
        """How often somebody changed something that concerns the operator."""
        return sum(n for resource, n in self.api.changes.items() if resource in ("rayjobs", "rayclusters", "pods", "services"))

    def finish(self, rss_kib=RSS_KIB, codes=(0,)):
        """(i) and (j): it ends well, has not grown, and has told no secret. rss_kib: how large it may be; codes: how it may end."""
        texts = {}
        for i, op in enumerate(self.operators):
            if op.process.poll() is None:
                self.data.setdefault("rss", []).append(op.memory_kib())
                assert self.sanitized or op.memory_kib() <= rss_kib, f"{op.memory_kib()} KiB resident"
                texts |= {f"{path} of {i}": op.get(path)[1] for path in ("/metrics", "/readyz") if op.lines("listening", "health-addr")}
            code = op.stop()
            killed = self.kills and code == -signal.SIGKILL
            assert code in codes or killed, f"exit code {code}: {op.log()[-2000:]}"
            said = op.log_path.read_text(errors="replace")
            found = oracles.SANITIZER.search(said)
            assert not found, said[max(0, found.start() - 200):][:4000]
        if self.jobs and self.jobs.token:
            self.secrets["the cluster's token"] = self.jobs.token
        told = oracles.secrets_told(texts | self.texts(), self.secrets)
        assert not told, f"secrets told: {told}"

    def texts(self):
        """Where a secret might have been told: logs, events whole, and of every object all but its spec and data."""
        texts = {op.log_path.name: op.log_path.read_text(errors="replace") for op in self.operators}
        found = self.space.find(self.space.path("events", group="/apis/events.k8s.io/v1")) or {"items": []}
        texts["events"] = json.dumps(found["items"])
        for kind, o in oracles.objects(self.space, self.more):
            texts[f"{kind} {o['metadata']['name']}"] = json.dumps({k: v for k, v in o.items() if k not in ("spec", "data")})
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
        if self.submitters:
            self.submitters.stop()
        for proxy in self.proxies:
            proxy.close()
        self.witness.stop()
        for op in self.operators:
            if op.process.poll() is None:
                op.process.kill()
                op.process.wait(10)
        self.plane.dispose(self.space)


def is_late(proxy, x, began):
    """An Event about what was before that time, or a series of them, that has not been told yet; or the tools, whose write was refused or
    lost before. They are written again in their own time. Nothing waits for the answer: for the tools themselves the workers do, so they
    are there by now."""
    same = [e for e in proxy.log[:x.seq] if e.body == x.body and e.name == x.name]
    refused = any(e.told >= 300 or not e.told for e in same)
    when = x.object.get("eventTime") or x.object.get("series", {}).get("lastObservedTime", began)
    untold = when < began and not any(e.told in (200, 201) for e in same)
    return refused or untold if x.resource == "events" else refused and x.resource == "configmaps"


def replicas(pods):
    """How many replicas of several hosts these belong to, by group ("c/small"). One that is made while its predecessor goes has another
    index than one that is made later, so who has not heard of it makes one more; one of the two goes again."""
    places = {tuple(oracles.place(p).split("/")[:3]) for p in pods if "ray.io/replica-host-index" in oracles.labels(p)}
    return collections.Counter("/".join(where[:2]) for where in places)


def by_place(created):
    """Without the owner's uid, which differs from run to run: clusters of one name are counted together."""
    out = collections.Counter()
    for (_, where), n in created.items():
        out[free_place(where)] += n
    return dict(out)


def free_place(where):
    """Without the index of replicas of several hosts: which one is free is a matter of how soon the pods of another are gone."""
    parts = where.split("/")
    return "/".join([*parts[:2], "*", parts[3]]) if len(parts) == 4 else where
