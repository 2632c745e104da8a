"""The four things that the operator watches, a workload that makes events of each, and ways to make it lose its place in a watch."""

from dataclasses import dataclass
from typing import Callable

from cluster import LEGACY, V1, eventually
from rules import Rule, say
from seen import Seen, legacy_spec, make, put_spec, settle, v1_spec


@dataclass(frozen=True)
class Watched:
    id: str
    resource: str
    group: str
    kind: str  # of the clusters of its workload
    edit: Callable = lambda ctx: None  # more of the workload

    def rule(self, action, opening=False, **more):
        """For its watches: opening those that go on from a version, else those that begin with all there is."""
        return Rule(action, verb="watch", resource=self.resource, group=self.group, where=lambda x: resumes(x) is opening, **more)


def resumes(x):
    return "sendInitialEvents" not in x.query and "resourceVersion" in x.query


def spec(kind, workers):
    return v1_spec(workers) if kind == V1 else legacy_spec(workers, 5)


def lose_a_pod(ctx):
    """Somebody deletes a worker."""
    pod = Seen(ctx.space, V1, "a").worker
    ctx.api.call("DELETE", ctx.space.path("pods", pod["metadata"]["name"]), {"gracePeriodSeconds": 0})


def edit_a_service(ctx):
    ctx.api.patch(ctx.space.path("services", "a-head-svc"), {"spec": {"selector": {"ray.io/cluster": "other"}}})


WATCHED = [Watched("v1", "rayclusters", "ray.io", V1), Watched("legacy", "rayclusters", "cluster.ray.io", LEGACY),
           Watched("pods", "pods", "", V1, lose_a_pod), Watched("services", "services", "", V1, edit_a_service)]


def setup(ctx, watched):
    for name in ("a", "x"):
        make(ctx.space, watched.kind, name, spec(watched.kind, 1))
    for name in ("a", "x"):
        settle(ctx.space, watched.kind, name)
    ctx.calm(limit=120)
    ctx.acted = len(ctx.proxy.log)


def act(ctx, watched):
    """Something comes, something changes, something goes: of clusters, and so of pods and services."""
    make(ctx.space, watched.kind, "b", spec(watched.kind, 1))
    put_spec(ctx.space, watched.kind, "a", spec(watched.kind, 2))
    ctx.api.call("DELETE", ctx.space.path("rayclusters", "x", watched.kind))
    watched.edit(ctx)


def end(ctx, watched, seconds):
    """Everything is as the specs say."""

    def look():
        for name, workers in (("a", 2), ("b", 1)):
            s = Seen(ctx.space, watched.kind, name)
            assert s.settled and len(s.heads) == 1 and len(s.workers) == workers, f"{name}: {len(s.pods)} pods, {s.status}"
            assert s.service["spec"]["selector"].get("ray.io/cluster", name) == name, "the service was not set right"
        query = "?labelSelector=ray.io/cluster%3Dx"
        for resource in ("pods", "services"):
            assert not ctx.api.get(ctx.space.path(resource) + query)["items"], f"{resource} of the deleted cluster are there"
        return ctx.quiet_for() > 0.5

    eventually(look, seconds, 0.2)


def all_watch(ctx):
    """All four watches are open: the operator has come to rest after a cut."""
    eventually(lambda: sum(x.verb == "watch" and x.told == 200 and not x.done_at for x in list(ctx.proxy.log)) >= len(WATCHED), 90)


def relist(ctx, *watched):
    """Their next watches are told that their versions are gone, and come now."""
    rules = [ctx.proxy.add(w.rule(say(410, "Expired"), opening=True)) for w in watched]
    ctx.proxy.cut()
    for rule in rules:
        assert rule.hit.wait(60), "a watch was not opened again"
    all_watch(ctx)
