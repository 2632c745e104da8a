"""The five things that the operator watches, workloads that make events of each, and ways to make it lose its place in a watch."""

from dataclasses import dataclass
from typing import Callable

from cluster import LEGACY, V1, eventually
from oracles import submits
from rules import Rule, say
from seen import Seen, legacy_spec, make, put_spec, settle, v1_spec
from workloads import Workload, own_submitter, rayjob


@dataclass(frozen=True)
class Watched:
    """One of them. In its workload something comes ("b"), something changes ("a"), something goes ("x"): clusters, and so pods and
    services."""

    id: str
    resource: str
    group: str
    kind: str = V1  # of the clusters of its workload
    edit: Callable = lambda ctx: None  # more of the workload
    about: Callable = lambda obj: True  # whether an event about this is one that faults are to meet

    @property
    def workload(self):
        """To learn from: what its end is, and how many writes it takes."""
        return Workload(f"watch-{self.id}", "things come, change and go", lambda ctx: setup(ctx, self), self.act, self.look, kills=False,
                        ranked=True)

    def rule(self, action, opening=False, **more):
        """For its watches: opening those that go on from a version, else those that begin with all there is."""
        return Rule(action, verb="watch", resource=self.resource, group=self.group, where=lambda x: resumes(x) is opening, **more)

    def spec(self, workers):
        return v1_spec(workers) if self.kind == V1 else legacy_spec(workers, 5)

    def setup(self, ctx):
        for name in ("a", "x"):
            make(ctx.space, self.kind, name, self.spec(1))
        for name in ("a", "x"):
            settle(ctx.space, self.kind, name)

    def act(self, ctx):
        make(ctx.space, self.kind, "b", self.spec(1))
        put_spec(ctx.space, self.kind, "a", self.spec(2))
        ctx.api.call("DELETE", ctx.space.path("rayclusters", "x", self.kind))
        self.edit(ctx)

    def look(self, ctx):
        """Everything is as the specs say."""
        for name, workers in (("a", 2), ("b", 1)):
            s = Seen(ctx.space, self.kind, name)
            assert s.settled and len(s.heads) == 1 and len(s.workers) == workers, f"{name}: {len(s.pods)} pods, {s.status}"
            assert s.service["spec"]["selector"].get("ray.io/cluster", name) == name, "the service was not set right"
        query = "?labelSelector=ray.io/cluster%3Dx"
        for resource in ("pods", "services"):
            assert not ctx.api.get(ctx.space.path(resource) + query)["items"], f"{resource} of the deleted cluster are there"
        return True


class WatchedJobs(Watched):
    """A job begins, one is suspended, one is deleted while it runs."""

    def start(self, ctx, name):
        start_job(ctx, name)

    def setup(self, ctx):
        for name in ("a", "x"):
            self.start(ctx, name)
        for name in ("a", "x"):
            runs(ctx, name)

    def act(self, ctx):
        self.start(ctx, "b")
        ctx.api.patch(ctx.space.path("rayjobs", "a", V1), {"spec": {"suspend": True}})
        ctx.api.call("DELETE", ctx.space.path("rayjobs", "x", V1))

    def look(self, ctx):
        a, b = job_status(ctx, "a"), job_status(ctx, "b")
        assert a["jobDeploymentStatus"] == "Suspended" and b.get("jobStatus") == "RUNNING", f"a: {a}, b: {b}"
        s = Seen(ctx.space, V1, b["rayClusterName"])
        assert s.settled and len(s.heads) == 1 and len(s.workers) == 1, f"{len(s.pods)} pods, {s.status}"
        left = [o["metadata"]["name"] for o in ctx.api.get(ctx.space.path("rayclusters", group=V1))["items"]]
        assert left == [b["rayClusterName"]], f"clusters {left}"
        assert len(ctx.jobs.submissions) == 3, ctx.jobs.submissions
        return True


class WatchedSubmitters(WatchedJobs):
    """The same of jobs that pods submit, whose pods they are about."""

    def start(self, ctx, name):
        start_job(ctx, name, submitterPodTemplate=own_submitter())

    def setup(self, ctx):
        ctx.board(ends=())
        ctx.play_submitters()
        super().setup(ctx)

    def look(self, ctx):
        pods = [p["metadata"]["labels"]["ray.io/originated-from-cr-name"] for p in ctx.space.pods() if submits(p)]
        assert super().look(ctx) and pods == ["b"], f"submitters of {pods}"
        return True


def start_job(ctx, name, **spec):
    """One that runs until somebody says that it ends."""
    return ctx.space.start(rayjob(ctx, name=name, ends=(), shutdownAfterJobFinishes=True, **spec))


def job_status(ctx, name):
    return ctx.space.job(name).get("status", {})


def runs(ctx, name, uid=""):
    """Waits until it does; gives the RayJob. uid: not this one, which has its name."""
    def look():
        job = ctx.space.job(name)
        return job["metadata"]["uid"] != uid and job.get("status", {}).get("jobStatus") == "RUNNING" and job

    return eventually(look, 120)


def resumes(x):
    return "sendInitialEvents" not in x.query and "resourceVersion" in x.query


def lose_a_pod(ctx):
    """Somebody deletes a worker."""
    pod = Seen(ctx.space, V1, "a").worker
    ctx.api.call("DELETE", ctx.space.path("pods", pod["metadata"]["name"]), {"gracePeriodSeconds": 0})


def edit_a_service(ctx):
    ctx.api.patch(ctx.space.path("services", "a-head-svc"), {"spec": {"selector": {"ray.io/cluster": "other"}}})


WATCHED = [Watched("v1", "rayclusters", "ray.io"), Watched("legacy", "rayclusters", "cluster.ray.io", LEGACY),
           Watched("pods", "pods", "", edit=lose_a_pod), Watched("services", "services", "", edit=edit_a_service),
           WatchedJobs("jobs", "rayjobs", "ray.io")]
SUBMITTERS = WatchedSubmitters("submitters", "pods", "", about=submits)


def setup(ctx, watched):
    watched.setup(ctx)
    ctx.calm(limit=120)


def all_watch(ctx):
    """All five watches are open: the operator has come to rest after a cut."""

    def look():
        there = {(x.resource, x.group) for x in list(ctx.proxy.log) if x.verb == "watch" and x.told == 200 and not x.done_at}
        missing = [w.id for w in WATCHED if (w.resource, w.group) not in there]
        assert not missing, f"not watched: {missing}"
        return True

    eventually(look, 90)


def relist(ctx, *watched):
    """Their next watches are told that their versions are gone, and come now."""
    since = len(ctx.proxy.log)
    rules = [(w, ctx.proxy.add(w.rule(say(410, "Expired"), opening=True))) for w in watched]

    def listed(w, rule):
        """Or it begins anew of itself: an operator that has found it deaf does."""
        begun = [x for x in list(ctx.proxy.log)[since:] if x.verb == "watch" and "sendInitialEvents" in x.query]
        return rule.hit.is_set() or (w.resource, w.group) in {(x.resource, x.group) for x in begun}

    ctx.proxy.cut()
    for w, rule in rules:
        eventually(lambda w=w, rule=rule: listed(w, rule), 60)
    all_watch(ctx)
