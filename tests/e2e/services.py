"""RayServices whose heads are fake dashboards."""

import json

import pytest
from cluster import V1, condition, container, eventually, kubectl
from dashboards import own_address

ADDRESS = own_address()
needs_address = pytest.mark.skipif(not ADDRESS, reason="needs an address of this machine beside loopback")
CONFIG = "applications:\n- name: {app}\n  route_prefix: /\n  import_path: module:{app}\n"


def spec(board, app="hello", replicas=1, **more):
    def group(name):
        return {"rayStartParams": {}, "template": {"spec": {"containers": [container(name)]}}}

    head = group("ray-head")
    head["rayStartParams"]["dashboard-port"] = str(board.port)
    return {"serveConfigV2": CONFIG.format(app=app), "rayClusterConfig": {
        "rayVersion": "2.60.0", "headGroupSpec": head,
        "workerGroupSpecs": [{"groupName": "small", "replicas": replicas, "minReplicas": replicas, "maxReplicas": 4,
                              **group("ray-worker")}]}, **more}


def in_steps(spec, class_name="good", surge=50, step=25, interval=1):
    """The spec of a RayService, with an upgrade in steps."""
    spec["rayClusterConfig"]["enableInTreeAutoscaling"] = True
    return spec | {"upgradeStrategy": {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": {
        "gatewayClassName": class_name, "maxSurgePercent": surge, "stepSizePercent": step, "intervalSeconds": interval}}}


def rolling(spec, **options):
    """The spec, with upgradeStrategy mobula.dev/RollingUpdate."""
    return spec | {"upgradeStrategy": {"type": "mobula.dev/RollingUpdate", "rollingUpdate": options}}


def marked(spec, mark, **pod):
    """The spec with a new template of its worker group: environment variable MARK, and further fields of the pod's spec."""
    template = spec["rayClusterConfig"]["workerGroupSpecs"][0]["template"]["spec"]
    template["containers"][0]["env"] = [{"name": "MARK", "value": mark}]
    template.update(pod)
    return spec


def mark_of(pod):
    return {v["name"]: v.get("value") for v in pod["spec"]["containers"][0].get("env", [])}.get("MARK")


class Service:
    def __init__(self, space, name="svc"):
        self.space, self.name = space, name

    def create(self, **spec):
        self.space.api.call("POST", self.space.path("rayservices", group=V1), {
            "apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": self.name, "namespace": self.space.name}, "spec": spec})

    def patch(self, **spec):
        self.space.api.patch(self.space.path("rayservices", self.name, V1), {"spec": spec})

    def get(self):
        return self.space.api.get(self.space.path("rayservices", self.name, V1))

    def status(self):
        return self.get().get("status", {})

    def named(self, which, other_than=None):
        """Waits for the active or pending cluster and returns its name."""
        def look():
            name = (self.status().get(f"{which}ServiceStatus") or {}).get("rayClusterName")
            return name != other_than and name

        return eventually(look)

    def is_ready(self, reason="NonZeroServeEndpoints"):
        def look():
            ready = condition(self.get(), "Ready")
            assert ready and ready["reason"] == reason, ready
            return ready

        return eventually(look)

    def selected(self):
        """The clusters that the two services select."""
        return [(self.space.find(self.space.path("services", f"{self.name}-{what}-svc")) or {}).get("spec", {}).get("selector", {})
                .get("ray.io/cluster") for what in ("head", "serve")]

    def workers(self, cluster):
        return [p for p in self.space.pods(cluster) if p["metadata"]["labels"]["ray.io/node-type"] == "worker"]

    def events(self):
        return {e["reason"]: e["message"] for e in self.space.api.get(self.space.path("events"))["items"]
                if e["involvedObject"]["name"] == self.name}

    def upgrade(self, reason, text=""):
        """Waits until condition UpgradeInProgress has this reason, and a message with this text."""
        def look():
            found = condition(self.get(), "UpgradeInProgress")
            assert found["reason"] == reason and text in found.get("message", ""), found
            return found

        return eventually(look)

    def lead(self, cluster, board):
        """Sets the IP of the cluster's head pod to the address of the fake dashboard."""
        def look():
            pod = self.space.find(self.space.path("pods", f"{cluster}-head"))
            return pod and pod["status"].get("podIP") and pod

        eventually(look)
        self.space.api.patch(self.space.path("pods", f"{cluster}-head") + "/status",
                             {"status": {"podIP": board.address, "podIPs": [{"ip": board.address}]}})


class Watched:
    """Watches a cluster's workers from here on, so that no change is missed."""

    def __init__(self, space, cluster):
        self.query = f"labelSelector=ray.io/cluster%3D{cluster},ray.io/node-type%3Dworker"
        self.space, self.begin = space, space.api.get(space.path("pods") + "?" + self.query)

    def numbers(self):
        """(ready workers that are not terminating, all workers), after each change."""
        version = self.begin["metadata"]["resourceVersion"]
        query = f"?watch=1&timeoutSeconds=2&resourceVersion={version}&{self.query}"
        lines = kubectl("get", "--raw", self.space.path("pods") + query).stdout
        there, found = {p["metadata"]["name"]: p for p in self.begin["items"]}, []
        for line in lines.splitlines():
            event = json.loads(line)
            assert event["type"] in ("ADDED", "MODIFIED", "DELETED"), event
            there[event["object"]["metadata"]["name"]] = event["object"]
            if event["type"] == "DELETED":
                del there[event["object"]["metadata"]["name"]]
            ready = [p for p in there.values() if not p["metadata"].get("deletionTimestamp") and
                     condition(p, "Ready").get("status") == "True"]
            found.append((len(ready), len(there)))
        return found


def deploy(service, board, **more):
    """Creates a RayService, waits until it serves and returns the name of its cluster."""
    service.create(**spec(board, **more))
    first = service.named("pending")
    service.lead(first, board)
    board.status = "RUNNING"
    service.is_ready()
    return first
