"""An API server that lags: it shows its clients a moment of the past, while what they write is carried out today.

Past.take() keeps what the server would list at that moment. Set as proxy.stale it answers lists and watches of those resources:
faithful=True  as a real server whose watch cache lags: what asks for "at least as new as" waits in vain (504), a list without
               resourceVersion is read from etcd and so is today's, resourceVersion=0 gets the past;
faithful=False as no real server may: every list is the past. Who trusts it does no harm, because writes name uids."""

import json

import wire
from cluster import LEGACY, V1
from rules import status

RAY = (("rayclusters", V1), ("rayclusters", LEGACY), ("rayjobs", V1))
TOO_LARGE = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
CHILDREN, EVERYTHING = ("pods", "services"), ("pods", "services", "rayclusters", "rayjobs")


class Past:
    def __init__(self, lists):
        self.lists = lists  # {(group, resource): list object}
        self.faithful, self.resources = True, EVERYTHING
        self.asked = 0

    @classmethod
    def take(cls, space):
        labelled = "?labelSelector=ray.io/cluster"
        paths = {("", r): space.path(r) + labelled for r in CHILDREN}
        paths |= {(g.split("/")[2], r): space.path(r, group=g) for r, g in RAY}
        return cls({key: space.api.get(path) for key, path in paths.items()})

    def uids(self):
        return {o["metadata"]["uid"] for found in self.lists.values() for o in found["items"]}

    def as_seen(self, faithful, resources):
        self.faithful, self.resources = faithful, resources
        return self

    def answers(self, x):
        if x.verb not in ("list", "watch") or x.resource not in self.resources or (x.group, x.resource) not in self.lists:
            return False
        if self.faithful and x.verb == "list" and not x.query.get("resourceVersion") and not x.query.get("continue"):
            return False  # from etcd
        self.asked += 1
        return True

    def serve(self, connection, x):
        past = self.lists[x.group, x.resource]
        version, wanted = int(past["metadata"]["resourceVersion"]), int(x.query.get("resourceVersion") or 0)
        x.fault = "the past" if wanted <= version else "not that new yet"
        fresh = self.faithful and "sendInitialEvents" in x.query and not x.query.get("resourceVersion")
        if wanted > version or fresh:
            connection.tell(x, status(504, "Timeout", "Too large resource version", retry_after=1, causes=TOO_LARGE))
        elif x.verb == "list":
            connection.tell(x, wire.Answer(200, [("Content-Type", "application/json")], json.dumps(past).encode(), "OK"))
        else:
            self._watch(connection, x, past)

    def _watch(self, connection, x, past):
        """The past as a stream in which nothing happens any more."""
        connection.tell_stream(x)
        if "sendInitialEvents" in x.query:
            kind = past["kind"].removesuffix("List")
            for item in past["items"]:
                self._say(connection, x, "ADDED", {"kind": kind, "apiVersion": past["apiVersion"], **item})
            meta = {"resourceVersion": past["metadata"]["resourceVersion"], "annotations": {"k8s.io/initial-events-end": "true"}}
            self._say(connection, x, "BOOKMARK", {"kind": kind, "apiVersion": past["apiVersion"], "metadata": meta})
        while connection.proxy.stale is self:
            if connection.near in wire.wait_readable((connection.near,), 0.2) and not connection.near.fill():
                raise wire.Closed
        connection.near.send(wire.chunk(b""))

    @staticmethod
    def _say(connection, x, kind, obj):
        connection.event(x, json.dumps({"type": kind, "object": obj}).encode() + b"\n")
