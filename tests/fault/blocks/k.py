"""K, only when asked for (BLOCK=K KILLS=10000): killed at random writes, again and again, while clusters are scaled, deleted and made
anew."""

import os
import random

from case import Case
from cluster import LEGACY
from rules import Rule, kill
from workloads import gone, legacy, raycluster

BLOCK = "K"
TITLE = "killed at random writes: no duplicates, no orphans, one head"
KILLS = int(os.environ.get("KILLS") or 400)
EACH = 100  # kills of one case
SEED = int(os.environ.get("SEED") or 1)
MOST = 12
POSITIONS = ("before", "committed", "after")


class Users:
    """They scale, delete and recreate two clusters, one of each kind."""

    def __init__(self, ctx, rng):
        self.ctx, self.rng, self.sizes = ctx, rng, {}
        for name in ("v1", "old"):
            self.apply(name)

    def apply(self, name):
        self.sizes[name] = n = self.rng.randrange(MOST + 1)
        if name == "v1":
            self.ctx.space.apply(raycluster(name, n))
        else:
            self.ctx.space.apply(legacy(name, n, limit=max(n, 1)), LEGACY)

    def act(self):
        name = self.rng.choice(("v1", "old"))
        if self.rng.random() < 0.15:
            group = "/apis/ray.io/v1" if name == "v1" else LEGACY
            self.ctx.space.delete(name, group)
            gone(self.ctx, name, group)
        self.apply(name)

    def content(self):
        """Whether each cluster has its head and its workers and no more."""
        return all(len(self.ctx.space.pods(name)) == n + 1 for name, n in self.sizes.items())


def killed_at_random(number, kills):
    def run(ctx):
        rng = random.Random(f"{SEED} {number}")
        ctx.operator().ready()
        users = Users(ctx, rng)
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
