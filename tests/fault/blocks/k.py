"""K, only when asked for (BLOCK=K KILLS=10000): killed at random writes, again and again, while clusters are scaled, deleted and made
anew; in two cases of three while jobs are started, suspended, resumed and deleted, and end, which in one of them pods submit."""

import os
import random

from case import Case
from cluster import LEGACY, V1
from rules import Rule, kill
from workloads import gone, legacy, own_submitter, raycluster, rayjob, whole

BLOCK = "K"
TITLE = "killed at random writes: no duplicates, no orphans, one head, one submission"
KILLS = int(os.environ.get("KILLS") or 400)
EACH = 100  # kills of one case
SEED = int(os.environ.get("SEED") or 1)
MOST = 12
CRASHES = 5
POSITIONS = ("before", "committed", "after")
KINDS = {"v1": V1, "old": LEGACY}  # of the users' clusters


class Users:
    """They scale, delete and recreate two clusters, one of each kind."""

    def __init__(self, ctx, rng):
        self.ctx, self.rng, self.sizes = ctx, rng, {}
        for name in KINDS:
            self.apply(name)

    def apply(self, name):
        self.sizes[name] = n = self.rng.randrange(MOST + 1)
        if name == "v1":
            self.ctx.space.apply(raycluster(name, n))
        else:
            self.ctx.space.apply(legacy(name, n, limit=max(n, 1)), LEGACY)

    def act(self):
        name = self.rng.choice(list(KINDS))
        if self.rng.random() < 0.15:
            self.ctx.space.delete(name, KINDS[name])
            gone(self.ctx, name, KINDS[name])
        self.apply(name)

    def content(self):
        """Whether each cluster has its head and its workers and no more; a number of pods alone may be made up of others."""
        return all(whole(n, name, KINDS[name])(self.ctx) for name, n in self.sizes.items())


class Submitters:
    """They start jobs under three names, suspend, resume and delete them; and what runs at the moment ends now and then."""

    how = {}  # more of the jobs

    def __init__(self, ctx, rng):
        self.ctx, self.rng, self.suspended = ctx, rng, {}
        self.start("j0")

    def start(self, name):
        self.ctx.space.start(rayjob(self.ctx, name, ends=(), shutdownAfterJobFinishes=True, backoffLimit=1, **self.how))
        self.suspended[name] = False

    def path(self, name):
        return self.ctx.space.path("rayjobs", name, V1)

    def suspend(self, name, yes):
        self.ctx.api.patch(self.path(name), {"spec": {"suspend": yes}})
        self.suspended[name] = yes

    def delete(self, name):
        """The operator takes part in it: nobody waits while the next kill is to come."""
        self.ctx.api.call("DELETE", self.path(name))
        del self.suspended[name]

    def act(self):
        name, die = self.rng.choice(("j0", "j1", "j2")), self.rng.random()
        if name in self.suspended and die < 0.3:
            self.delete(name)
        elif name in self.suspended and die < 0.8:
            self.suspend(name, not self.suspended[name])
        elif name in self.suspended:
            self.ctx.jobs.end(self.rng.choice(("SUCCEEDED", "FAILED")))
        elif not self.ctx.space.find(self.path(name)):
            self.start(name)

    def content(self):
        """Whether every job that is wanted is over, with nothing left of its cluster, and no other is there."""
        for name in [n for n, yes in self.suspended.items() if yes]:
            self.suspend(name, False)
        self.ctx.jobs.end("SUCCEEDED")
        there = {o["metadata"]["name"]: o.get("status", {}) for o in self.ctx.api.get(self.path(""))["items"]}
        over = all(status.get("jobDeploymentStatus") in ("Complete", "Failed") for status in there.values())
        return there.keys() == self.suspended.keys() and over and not self.ctx.space.pods()


class PodSubmitters(Submitters):
    """Pods submit them, and the first few of those crash."""

    how = {"submitterPodTemplate": own_submitter()}

    def __init__(self, ctx, rng):
        ctx.board(ends=())
        ctx.play_submitters(CRASHES)
        super().__init__(ctx, rng)


def killed_at_random(number, kills):
    def run(ctx):
        rng = random.Random(f"{SEED} {number}")
        ctx.operator().ready()
        users = (PodSubmitters, Users, Submitters)[number % 3](ctx, rng)
        while ctx.kills < kills:
            rule = ctx.proxy.add(Rule(kill(rng.choice(POSITIONS), ctx.kill), where=lambda x: x.is_write and not x.dry_run
                                      and x.resource != "events", nth=rng.randint(1, 4)))
            users.act()
            for _ in range(3):
                if rule.over.wait(1):
                    break
                users.act()
            ctx.proxy.lift(rule)
        ctx.settle_until(users.content, 150)
        ctx.conclude()
        ctx.data["kills"] = ctx.kills
    return run


def cases(_learned):
    count = -(-KILLS // EACH)
    return [Case(f"K/{n:03}", killed_at_random(n, min(EACH, KILLS)), limit=1800) for n in range(1, count + 1)]
