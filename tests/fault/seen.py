"""What there is of a cluster, read from the API server as admin, and the form of it in which two clusters can be compared."""

import json
import re

from case import CANARY
from cluster import LEGACY, V1, condition, container, eventually

TIMES = {"lastTransitionTime", "lastUpdateTime", "stateTransitionTimes", "observedGeneration", "creationTimestamp"}
OURS = re.compile(r"^ray\.io/(worker-group-replica-(index|name)|replica-host-index)$|^mobula\.dev/template-hash$")


def secret_env(*more):
    """Variables with the value that the operator may never tell."""
    return [{"name": "PASSWORD", "value": CANARY}, *more]


def ray(name):
    return {**container(name), "env": secret_env()}


def v1_spec(workers=1, limit=5):
    """A ray.io/v1 spec whose pods follow their template: without that two roads to one spec need not end in the same pods."""
    head = {"rayStartParams": {}, "template": {"spec": {"containers": [ray("ray-head")]}}}
    small = {"groupName": "small", "replicas": workers, "minReplicas": 0, "maxReplicas": limit, "rayStartParams": {},
             "template": {"spec": {"containers": [ray("ray-worker")]}}}
    return {"rayVersion": "2.52.0", "upgradeStrategy": {"type": "Recreate"}, "headGroupSpec": head, "workerGroupSpecs": [small]}


def legacy_spec(workers=1, limit=3):
    def pod(role):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": f"{role}-"},
                "spec": {"restartPolicy": "Never", "containers": [ray("ray-node")]}}

    types = [{"name": "head", "podConfig": pod("ray-head")},
             {"name": "small", "minWorkers": workers, "maxWorkers": limit, "podConfig": pod("ray-worker")}]
    return {"maxWorkers": limit, "headPodType": "head", "podTypes": types}


def base_spec(kind):
    """No part of it is another part too."""
    return json.loads(json.dumps(v1_spec() if kind == V1 else legacy_spec()))


def group_of(kind):
    return kind.split("/")[2]


def make(space, kind, name, spec):
    body = {"apiVersion": f"{group_of(kind)}/v1", "kind": "RayCluster", "metadata": {"name": name, "namespace": space.name}, "spec": spec}
    return space.api.call("POST", space.path("rayclusters", group=kind), body)


def put_spec(space, kind, name, spec):
    """The whole spec anew, as `kubectl replace` writes it; raises Refused when the server says no."""
    return space.api.call("PATCH", space.path("rayclusters", name, kind), [{"op": "replace", "path": "/spec", "value": spec}],
                          "application/json-patch+json")


class Seen:
    """One look at a cluster and everything made for it."""

    def __init__(self, space, kind, name):
        self.space, self.kind, self.name = space, kind, name
        self.cluster = space.cluster(name, kind)
        self.status, self.spec = self.cluster.get("status", {}), self.cluster["spec"]
        self.uid = self.cluster["metadata"]["uid"]
        query = f"?labelSelector=ray.io/cluster%3D{name}"
        everything = space.api.get(space.path("pods") + query)["items"]
        mine = [p for p in everything if self._owns(p)]
        self.pods = sorted((p for p in mine if "deletionTimestamp" not in p["metadata"]), key=lambda p: p["metadata"]["name"])
        self.leaving = len(mine) - len(self.pods)
        self.services = [s for s in space.api.get(space.path("services") + query)["items"] if self._owns(s)]

    def _owns(self, obj):
        return any(r["uid"] == self.uid for r in obj["metadata"].get("ownerReferences", []))

    # ---- parts ----

    @property
    def heads(self):
        return [p for p in self.pods if p["metadata"]["labels"]["ray.io/node-type"] == "head"]

    @property
    def head(self):
        assert len(self.heads) == 1, f"{len(self.heads)} heads of {self.name}"
        return self.heads[0]

    @property
    def workers(self):
        return [p for p in self.pods if p["metadata"]["labels"]["ray.io/node-type"] == "worker"]

    @property
    def worker(self):
        assert self.workers, f"no worker of {self.name}"
        return self.workers[0]

    def group(self, name):
        return [p for p in self.workers if p["metadata"]["labels"]["ray.io/group"] == name]

    @property
    def service(self):
        found = [s for s in self.services if not s["metadata"]["name"].endswith("-headless")]
        assert len(found) == 1, f"head services of {self.name}: {[s['metadata']['name'] for s in found]}"
        return found[0]

    def ports(self):
        return {p["name"]: (p["port"], p["targetPort"]) for p in self.service["spec"]["ports"]}

    def uids(self):
        return {p["metadata"]["uid"] for p in self.pods}

    # ---- states ----

    @property
    def told(self):
        """The status is about the spec that there is."""
        return self.status.get("observedGeneration") == self.cluster["metadata"]["generation"]

    @property
    def settled(self):
        state = self.status.get("state") if self.kind == V1 else self.status.get("phase")
        return self.told and not self.leaving and state in ("ready", "suspended", "Running")

    @property
    def refused(self):
        """The text of Valid=False, "" when the spec is taken."""
        valid = condition(self.cluster, "Valid")
        return valid["message"] if self.told and valid.get("status") == "False" else ""

    # ---- comparing ----

    def plain(self):
        """Everything that two clusters of one spec have in common, whatever they are called and by which road they came here."""
        pods = sorted(json.dumps(self._anonymous(plain_pod(p)), sort_keys=True) for p in self.pods)
        services = sorted(json.dumps(self._anonymous(plain_service(s)), sort_keys=True) for s in self.services)
        return {"status": self._anonymous(plain_status(self.status)), "pods": pods, "services": services}

    def _anonymous(self, value):
        return json.loads(json.dumps(value).replace(self.uid, "UID").replace(self.name, "NAME"))


def first(pod):
    """The container that runs Ray."""
    return pod["spec"]["containers"][0]


def env(pod, name):
    return next((e.get("value") for e in first(pod).get("env", []) if e["name"] == name), None)


def command(pod):
    """The text that the shell of the Ray container gets."""
    return first(pod)["args"][0]


def without(mapping, gone):
    return {k: v for k, v in (mapping or {}).items() if not gone(k)}


def plain_metadata(meta):
    kept = {"labels": without(meta.get("labels"), OURS.search), "annotations": without(meta.get("annotations"), OURS.search)}
    kept["owners"] = [without(r, lambda k: k == "uid") for r in meta.get("ownerReferences", [])]
    return kept


def plain_pod(pod):
    spec = json.dumps(without(pod["spec"], lambda k: k in ("nodeName", "hostname")))
    spec = re.sub(r"kube-api-access-\w{5}", "kube-api-access", spec)
    return {**plain_metadata(pod["metadata"]), "spec": json.loads(spec)}


def plain_service(service):
    spec = without(service["spec"], lambda k: k in ("clusterIP", "clusterIPs", "healthCheckNodePort"))
    spec["ports"] = [without(p, lambda k: k == "nodePort") for p in spec.get("ports", [])]
    spec["headless"] = service["spec"].get("clusterIP") == "None"
    return {"name": service["metadata"]["name"], **plain_metadata(service["metadata"]), "spec": spec}


def plain_status(value):
    """Without times, addresses and pod names, and without what a suspension that is over leaves behind."""
    if isinstance(value, dict):
        return {k: plain_status(v) for k, v in value.items() if k not in TIMES | {"podIP", "serviceIP", "podName"}}
    if isinstance(value, list):
        over = [v for v in value if isinstance(v, dict) and v.get("type", "").startswith("RayClusterSuspend") and v["status"] == "False"]
        return sorted((plain_status(v) for v in value if v not in over), key=lambda v: json.dumps(v, sort_keys=True))
    return value


def difference(a, b):
    """Where two plain forms differ, in a line or two; "" when they do not."""
    for part in a:
        if a[part] == b[part]:
            continue
        left, right = a[part], b[part]
        if isinstance(left, list):
            only = [x for x in left if x not in right], [x for x in right if x not in left]
            return f"{part}: {len(left)} and {len(right)}; only left: {only[0][:1]}; only right: {only[1][:1]}"
        keys = [k for k in {**left, **right} if left.get(k) != right.get(k)]
        return f"{part}: " + "; ".join(f"{k}: {left.get(k)} and {right.get(k)}" for k in keys)
    return ""


def settle(space, kind, name, seconds=180):
    """Waits until the cluster is what its spec says, and returns what is seen then."""

    def look():
        s = Seen(space, kind, name)
        assert s.settled, f"{name}: {s.status.get('state', s.status.get('phase'))}, {len(s.pods)} pods, {s.leaving} leaving, {s.refused}"
        return s

    return eventually(look, seconds)


def say_no(space, kind, name, seconds=120):
    """Waits until the operator has refused the spec, and returns what is seen then."""

    def look():
        s = Seen(space, kind, name)
        assert s.refused, f"{name}: not refused: {s.status.get('conditions')}"
        return s

    return eventually(look, seconds)


__all__ = ["LEGACY", "V1", "Seen", "base_spec", "command", "difference", "env", "first", "make", "put_spec", "say_no", "settle"]
