"""RayClusters of real Ray: they come up, work is done in them, and they come back."""

from cluster import LEGACY, eventually, kubectl
from real import RAY, START_S, head, ran, raycluster
from rig import ROOT

WHERE = 'import ray; ray.init(); print(ray.get(ray.remote(resources={"tool": 1})(lambda: ray.util.get_node_ip_address()).remote()))'
SUM = 'import ray; ray.init(); print(sum(ray.get([ray.remote(lambda i: i * i).remote(i) for i in range(10)])))'

# What both workers of the old operator's example bring, when both have joined.
RESOURCES = """import ray, time
ray.init()
r = {}
while r.get("Custom1", 0) < 2:
    time.sleep(0.5)
    r = ray.cluster_resources()
print(r["Custom1"], r["is_spot"])"""


def worker(space, cluster):
    return next(p for p in space.pods(cluster) if p["metadata"]["labels"]["ray.io/node-type"] == "worker")


def test_a_worker_joins_through_the_service(space, operator):
    """The worker waits for the GCS with this binary, finds the head by its service's name, and a task that only it can run does."""
    space.apply(raycluster("c", workers=1, resources={"tool": 2}))
    space.ready("c", 2, seconds=START_S)
    pod = worker(space, "c")
    waited = kubectl("-n", space.name, "logs", pod["metadata"]["name"], "-c", "wait-gcs-ready")
    assert "c-head-svc" in waited.stdout + waited.stderr
    assert ran(space, "c", "where", WHERE) == pod["status"]["podIP"]
    space.change("c", {"workerGroupSpecs": raycluster("c", workers=2, resources={"tool": 2})["spec"]["workerGroupSpecs"]})
    space.ready("c", 3, seconds=START_S)
    space.delete("c")
    eventually(lambda: not space.pods() and not space.api.get(space.path("services"))["items"], 120)


def test_a_head_that_is_killed_comes_back(space, operator):
    """The GCS's end is the head container's end. The pod starts it again; workers leave the lost head after a minute and join anew."""
    space.apply(raycluster("c", workers=1, cpus=1))
    space.ready("c", 2, seconds=START_S)
    before = {p["metadata"]["uid"] for p in space.pods("c")}
    kubectl("-n", space.name, "exec", head(space, "c")["metadata"]["name"], "-c", "ray", "--", "pkill", "-9", "gcs_server")
    eventually(lambda: space.cluster("c")["status"]["state"] != "ready", 60)
    space.ready("c", 2, seconds=START_S)
    assert ran(space, "c", "after", SUM) == "285"
    assert before == {p["metadata"]["uid"] for p in space.pods("c")}


def test_a_head_pod_that_is_deleted_comes_back(space, operator):
    space.apply(raycluster("c", workers=1, cpus=1))
    space.ready("c", 2, seconds=START_S)
    old = head(space, "c")["metadata"]["uid"]
    kubectl("-n", space.name, "delete", "pod", "c-head", "--wait=false")
    eventually(lambda: head(space, "c") and head(space, "c")["metadata"]["uid"] != old, 120)
    space.ready("c", 2, seconds=START_S)
    assert ran(space, "c", "after", SUM) == "285"


def example(name):
    """An example as it is delivered, but for what it asks of the node: this one has two cores for all of them."""
    text = (ROOT / "airgap" / "examples" / name).read_text()
    assert "cpu: 1000m" in text and f"rayproject/ray:{RAY}" in text
    return text.replace("cpu: 1000m", "cpu: 50m")


def test_the_documented_session(space, operator):
    """The old operator's page, with its two clusters, in a namespace of its own."""
    kubectl("-n", space.name, "apply", "-f", "-", stdin=example("legacy-cluster.yaml"))
    space.ready("example-cluster", 3, LEGACY, seconds=START_S)
    assert ran(space, "example-cluster", "resources", RESOURCES) == "2.0 2.0"
    kubectl("-n", space.name, "apply", "-f", "-", stdin=example("legacy-cluster2.yaml"))
    space.ready("example-cluster2", 2, LEGACY, seconds=START_S)
    eventually(lambda: "example-cluster2:Worker node types:" in operator.log().splitlines(), START_S, 0.5)
    kubectl("-n", space.name, "delete", "-f", "-", stdin=example("legacy-cluster2.yaml"))
    eventually(lambda: not space.pods("example-cluster2"), 120)
    assert len(space.pods("example-cluster")) == 3
