"""Block G, the Lease: two operators, each behind a proxy of its own, and everything that can happen to the record between them. At most one
acts, whatever happens; in the end one does."""

import functools
import itertools
import json
import signal
import threading
import time

from case import Case
from cluster import V1, Refused, eventually
from rules import ALWAYS, Rule, change, delay, say
from seen import make, settle, v1_spec
from wire import Answer

BLOCK = "G"
TITLE = "the lease"

LEASES = "/apis/coordination.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
CORE = ("--lease-duration=15s", "--renew-deadline=10s", "--retry-period=2s")  # as in Kubernetes' own; a loaded machine keeps them
LONG_S = 240


class Two:
    """Two operators, each behind a proxy of its own."""

    def __init__(self, ctx, identities=("first", "second"), together=False):
        self.ctx, self.proxies, self.ops = ctx, [ctx.proxy, ctx.another_proxy()], []
        for i, (proxy, identity) in enumerate(zip(self.proxies, identities)):
            config = ctx.config(proxy, name=f"operator{i}")
            self.ops.append(ctx.operator("--leader-elect", f"--identity={identity}", *CORE, config=config))
            if not together and i == 0:
                self.ops[0].says("this process leads", seconds=LONG_S)
        self.first, self.second = self.ops

    def lease(self):
        return self.ctx.api.get(self.ctx.space.path("leases", "mobula", LEASES))

    def leaders(self):
        """Who says so of itself. They are asked one after the other: of two, the first may have lost it meanwhile."""
        found = [op for op in self.ops if self.says_so(op)]
        return found if len(found) < 2 else [op for op in found[:-1] if self.says_so(op)] + found[-1:]

    @staticmethod
    def says_so(op):
        return op.process.poll() is None and op.metrics()["mobula_leader"] == 1

    def one_leads(self):
        return eventually(lambda: (found := self.leaders()) and len(found) == 1 and found[0], LONG_S, 0.2)

    def writes(self, i, since=0):
        return self.proxies[i].writes(since)

    def end(self):
        """One of them does the work, and all is made once."""
        works(self.ctx, "z")
        self.ctx.conclude()


def works(ctx, name, workers=2):
    make(ctx.space, V1, name, v1_spec(workers))
    settle(ctx.space, V1, name, LONG_S)


def two_starters(ctx):
    two = Two(ctx, together=True)
    leader = two.one_leads()
    other = two.ops.index(leader) ^ 1
    works(ctx, "a")
    assert not two.writes(other), "both wrote"
    assert two.lease()["spec"]["leaseTransitions"] == 0
    two.end()


class Holder:
    """Somebody else who holds the lease, with a clock that is wrong by so many seconds."""

    def __init__(self, ctx, skew):
        self.ctx, self.skew, self.done = ctx, skew, threading.Event()
        self.path = ctx.space.path("leases", "mobula", LEASES)
        self.body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "mobula"},
                     "spec": {"holderIdentity": "elsewhere", "leaseDurationSeconds": 5, "leaseTransitions": 0, **self._times()}}
        ctx.api.call("POST", ctx.space.path("leases", group=LEASES), self.body)
        self.thread = threading.Thread(target=self._renew, daemon=True)
        self.thread.start()

    def _times(self):
        text = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(time.time() + self.skew))
        return {"renewTime": text, "acquireTime": text}

    def _renew(self):
        api = type(self.ctx.api)()
        while not self.done.wait(1):
            api.patch(self.path, {"spec": self._times()})

    def stop(self):
        self.done.set()
        self.thread.join(10)


def skewed_clocks(ctx):
    """An hour behind: the lease looks long over. An hour ahead: it looks good for ever. Neither time is believed."""
    for skew in (-3600, 3600):
        holder = Holder(ctx, skew)
        op = ctx.operator("--leader-elect", "--identity=first", *CORE)
        time.sleep(9)
        assert not op.lines("this process leads"), f"took the lease from one whose clock is {skew} s off"
        assert not ctx.proxy.writes()
        holder.stop()
        op.says("this process leads", seconds=LONG_S)
        assert op.stop() == 0
        ctx.api.call("DELETE", holder.path)
    ctx.operator("--leader-elect", "--identity=first", *CORE)
    works(ctx, "z")
    ctx.conclude()


def renew_conflict(ctx):
    """Somebody has written the Lease in between: it is read again and renewed; nobody else gets it."""
    two = Two(ctx)
    rule = ctx.proxy.add(Rule(say(409, "Conflict"), verb="update", resource="leases", times=2))
    assert rule.over.wait(LONG_S)
    eventually(lambda: len(two.leaders()) <= 1, 15)  # the first learns of it when it renews; as long as the lease would have lasted
    two.one_leads()
    two.end()


def renew_refused(ctx, seconds):
    two = Two(ctx)
    renewals = [x for x in ctx.proxy.log if x.resource == "leases"]
    eventually(lambda: [x for x in ctx.proxy.log if x.resource == "leases" and x.verb == "update" and x.status == 200][len(renewals):], 30,
               0.05)
    rule = ctx.proxy.add(Rule(say(500, "InternalError"), resource="leases", times=ALWAYS))
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        assert len(two.leaders()) <= 1, "two leaders"
        time.sleep(0.3)
    if seconds < 10:
        assert not two.second.lines("this process leads"), "took over from one that is in time"
    elif seconds < 15:
        two.first.says("does not lead any more", seconds=30)
    else:
        two.first.says("does not lead any more", seconds=30)
        two.second.says("this process leads", seconds=LONG_S)
    ctx.proxy.lift(rule)
    two.one_leads()
    if seconds > 15:
        since = len(ctx.proxy.log)
        works(ctx, "a")
        assert not two.writes(0, since), "the one that lost it wrote"
    two.end()


def deleted(ctx):
    two = Two(ctx)
    ctx.api.call("DELETE", ctx.space.path("leases", "mobula", LEASES))
    eventually(lambda: ctx.space.find(ctx.space.path("leases", "mobula", LEASES)), 30)
    eventually(lambda: len(two.leaders()) <= 1, 15)  # the first learns of it when it renews; as long as the lease would have lasted
    two.one_leads()
    two.end()


def edited(ctx):
    """To a holder who is not there, for 68 years, renewed in the far future: obeyed as long as a lease of ours lasts."""
    two = Two(ctx)
    spec = {"holderIdentity": "nobody", "leaseDurationSeconds": 2147483647, "renewTime": "2099-01-01T00:00:00.000000Z"}
    for _ in range(20):
        try:
            ctx.api.patch(ctx.space.path("leases", "mobula", LEASES), {"spec": spec})
            break
        except Refused as e:
            assert e.status == 409, e
    two.first.says("does not lead any more", seconds=LONG_S)
    two.one_leads()
    assert two.lease()["spec"]["leaseTransitions"] >= 1
    two.end()


TIMES = ("yesterday", "", "0000-00-00T00:00:00Z", 5, "9999-99-99T99:99:99.999999Z", None, {"seconds": 1}, "0001-01-01T00:00:00.000000Z",
         "99999999999-01-01T00:00:00Z", "2026-01-01 00:00:00", "x" * 4000)


def garbage(values):
    """Answers in which the Lease was renewed at a time that is none."""

    def spoil(answer):
        lease = json.loads(answer.body)
        if "spec" in lease:
            lease["spec"]["renewTime"] = next(values)
        return Answer(answer.status, answer.headers, json.dumps(lease).encode())

    return Rule(change(spoil, "renewed at no time"), resource="leases", times=ALWAYS)


def time_garbage(ctx):
    """Whoever reads the Lease finds a time that is none, each time another. The holder goes on, nobody takes its place while it does, and
    somebody does when it is gone."""
    ctx.proxy.add(garbage(itertools.cycle(TIMES)))
    two = Two(ctx)
    rule = two.proxies[1].add(garbage(itertools.cycle(TIMES)))
    end = time.monotonic() + 30  # two leases
    while time.monotonic() < end:
        assert len(two.leaders()) <= 1 and not two.second.lines("this process leads"), "took over from one that is in time"
        time.sleep(0.3)
    assert two.first.lines("this process leads") and not two.first.lines("does not lead"), two.first.log()
    works(ctx, "a")
    two.proxies[1].lift(rule)
    two.proxies[1].add(garbage(itertools.repeat(TIMES[0])))
    ctx.kill(two.first, restart=False)
    two.second.says("this process leads", seconds=LONG_S)
    two.end()


def frozen(ctx):
    two = Two(ctx)
    works(ctx, "a")
    two.first.process.send_signal(signal.SIGSTOP)
    try:
        two.second.says("this process leads", seconds=LONG_S)
        works(ctx, "b", 4)
        time.sleep(5)
    finally:
        since = len(ctx.proxy.log)
        two.first.process.send_signal(signal.SIGCONT)
    two.first.says("does not lead any more", seconds=LONG_S)
    time.sleep(2)
    assert not [str(x) for x in two.writes(0, since) if x.resource != "events"], "wrote after it had slept through its lease"
    two.end()


def released(ctx):
    """On SIGTERM the lease is given back: nobody waits for it to run out."""
    two = Two(ctx)
    two.second.ready()
    assert two.first.stop() == 0
    last = [x for x in ctx.proxy.log if x.resource == "leases" and x.verb == "update"][-1]
    assert last.object["spec"]["holderIdentity"] == "" and last.status == 200
    two.second.says("this process leads", seconds=LONG_S)
    two.end()


def same_identity(ctx):
    two = Two(ctx, identities=("twin", "twin"))
    works(ctx, "a")
    time.sleep(8)
    assert len(two.leaders()) == 1, "two of one name both lead"
    assert not two.writes(1)
    two.end()


def no_rights(ctx):
    path = ctx.space.path("rolebindings", "mobula-leader", RBAC)
    binding = ctx.api.get(path)
    ctx.api.call("DELETE", path)
    op = ctx.operator("--leader-elect", "--identity=first", *CORE)
    op.says("level=warn", "leader election", seconds=LONG_S)
    make(ctx.space, V1, "a", v1_spec(1))
    eventually(lambda: "lease" in op.get("/readyz")[1], LONG_S)
    time.sleep(4)
    assert not ctx.proxy.writes() and len(op.lines("level=warn", "leader election")) <= 2
    for key in ("resourceVersion", "uid", "creationTimestamp", "managedFields"):
        binding["metadata"].pop(key, None)
    ctx.api.call("POST", ctx.space.path("rolebindings", group=RBAC), binding)
    op.says("this process leads", seconds=LONG_S)
    settle(ctx.space, V1, "a", LONG_S)
    ctx.conclude()


def away_at_start(ctx):
    ctx.proxy.shut()
    op = ctx.operator("--leader-elect", "--identity=first", *CORE)
    make(ctx.space, V1, "a", v1_spec(1))
    time.sleep(6)
    assert not op.lines("this process leads")
    ctx.proxy.open()
    op.says("this process leads", seconds=LONG_S)
    settle(ctx.space, V1, "a", LONG_S)
    ctx.conclude()


def slow_server(ctx):
    """Each answer about the Lease comes 8 s late: renewed too late to be held, so somebody else leads, and never both."""
    two = Two(ctx)
    rule = ctx.proxy.add(Rule(delay(8), resource="leases", times=ALWAYS))
    two.first.says("does not lead any more", seconds=LONG_S)
    end = time.monotonic() + 12
    while time.monotonic() < end:
        assert len(two.leaders()) <= 1, "two leaders"
        time.sleep(0.3)
    two.second.says("this process leads", seconds=LONG_S)
    ctx.proxy.lift(rule)
    two.one_leads()
    two.end()


CASES = {"two-starters": two_starters, "skewed-clocks": skewed_clocks, "renew-409": renew_conflict, "deleted": deleted, "edited": edited,
         "frozen": frozen, "released": released, "same-identity": same_identity, "no-rights": no_rights, "away-at-start": away_at_start,
         "slow-server": slow_server, "time-garbage": time_garbage}


def cases(_learned):
    found = [Case(f"G/{name}", run, slow=True, limit=600) for name, run in CASES.items()]
    return found + [Case(f"G/renew-500-for-{s}-s", functools.partial(renew_refused, seconds=s), slow=True, limit=600) for s in (9, 11, 16)]
