"""kubectl delete namespace, where the operator or the control plane runs in that namespace: Kubernetes ends its pod first, and nothing
removes finalizers afterwards. The pod is a fake one with a finalizer of the test's, which plays the kubelet: it tells the process to end,
and lets the pod go when it has ended."""

import threading
import time

import pytest

from cluster import Api, Refused, eventually, raycluster, rayjob
from hub import GROUP, cloud, definitions, hubs, job  # noqa: F401 fixtures

SECONDS = 60  # a namespace with running work is gone after this time at the latest


class Pod:
    """The pod of a process."""

    def __init__(self, space, process):
        self.process, self.api = process, Api()  # of its own: the test's is not for two threads
        self.path = space.path("pods", "mobula-1")
        space.api.call("POST", space.path("pods"), {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mobula-1", "finalizers": ["example.com/kubelet"]},
            "spec": {"containers": [{"name": "m", "image": "m"}]}})
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        eventually(lambda: self.api.get(self.path)["metadata"].get("deletionTimestamp"))
        self.code = self.process.stop()
        self.api.patch(self.path, {"metadata": {"finalizers": None}})


def delete(space, pod):
    began = time.monotonic()
    space.api.call("DELETE", f"/api/v1/namespaces/{space.name}")

    def gone():
        try:
            space.api.get(f"/api/v1/namespaces/{space.name}")
        except Refused as e:
            return e.status == 404
        return False

    eventually(gone)
    pod.thread.join()
    took = time.monotonic() - began
    space.api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space.name}})
    assert pod.code == 0 and took < SECONDS, took


def test_the_operators_own_namespace(space, operator):
    space.apply(raycluster("shared"))
    guest = rayjob("guest")
    guest["spec"].pop("rayClusterSpec")
    guest["spec"]["clusterSelector"] = {"ray.io/cluster": "shared"}
    guest["metadata"]["finalizers"] = ["ray.io/rayjob-finalizer"]
    space.start(guest)
    space.ready("shared", 2)
    eventually(lambda: space.job("guest").get("status", {}).get("rayClusterName") == "shared")
    delete(space, Pod(space, operator))


def test_the_control_planes_own_namespace(space, hubs):  # noqa: F811
    hub = hubs()
    cloud(space)
    job(space, "train")
    eventually(lambda: space.api.get(space.path("workloads", "train", GROUP))["metadata"].get("finalizers"))
    delete(space, Pod(space, hub))


@pytest.mark.parametrize("plane", [False, True])
def test_a_stop_alone_keeps_finalizers(space, operators, hubs, plane):  # noqa: F811
    """The next process goes on with what runs."""
    if plane:
        process = hubs()
        cloud(space)
        job(space, "train")
        path = space.path("workloads", "train", GROUP)
    else:
        process = operators()
        guest = rayjob("guest", clusterSelector={"ray.io/cluster": "c"}, rayClusterSpec=None)
        guest["metadata"]["finalizers"] = ["ray.io/rayjob-finalizer"]
        space.apply(raycluster("c"))
        space.start(guest)
        space.ready("c", 2)
        path = space.path("rayjobs", "guest", "/apis/ray.io/v1")
    eventually(lambda: space.api.get(path)["metadata"].get("finalizers"))
    assert process.stop() == 0
    assert space.api.get(path)["metadata"]["finalizers"]
    space.api.patch(path, {"metadata": {"finalizers": None}})
