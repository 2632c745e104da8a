"""cluster.ray.io/v1, the kind of Ray's own operator: what its documentation shows is what happens."""

import re
import time

from cluster import LEGACY, V1, condition, container, eventually, kubectl
from cluster import raycluster as raycluster_v1

EXAMPLES = "airgap/examples"
SUFFIX = "[a-z0-9]{5}"


def raycluster(name, workers=1, limit=3, **spec):
    """A legacy RayCluster with the pod types "head" and "small"."""

    def pod(role):
        spec = {"restartPolicy": "Never", "containers": [container("ray-node")]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": f"{role}-"}, "spec": spec}

    types = [{"name": "head", "podConfig": pod("ray-head")},
             {"name": "small", "minWorkers": workers, "maxWorkers": limit, "podConfig": pod("ray-worker")}]
    return {"apiVersion": "cluster.ray.io/v1", "kind": "RayCluster", "metadata": {"name": name},
            "spec": {"maxWorkers": limit, "headPodType": "head", "podTypes": types, **spec}}


def uids(space, name):
    return {p["metadata"]["uid"] for p in space.pods(name)}


def heads(space, name):
    return [p for p in space.pods(name) if p["metadata"]["labels"]["ray-node-type"] == "head"]


def test_the_documented_session(space, operator):
    """The commands of the old operator's page, in its order."""
    kubectl("-n", space.name, "apply", "-f", f"{EXAMPLES}/legacy-cluster.yaml")
    space.ready("example-cluster", 3, LEGACY)
    kubectl("-n", space.name, "apply", "-f", f"{EXAMPLES}/legacy-cluster2.yaml")
    space.ready("example-cluster2", 2, LEGACY)

    rows = [line.split() for line in kubectl("-n", space.name, "get", "pods").stdout.splitlines()]
    assert rows[0] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"] and all(r[1:3] == ["1/1", "Running"] for r in rows[1:])
    names = sorted(re.sub(f"(-[0-9]+)?-{SUFFIX}$", "", r[0]) for r in rows[1:])
    assert names == ["example-cluster-ray-head", "example-cluster-ray-worker", "example-cluster-ray-worker",
                     "example-cluster2-ray-head", "example-cluster2-ray-worker"]

    table = kubectl("-n", space.name, "get", "rayclusters.cluster.ray.io").stdout.splitlines()
    assert table[0].split() == ["NAME", "STATUS", "RESTARTS", "AGE"]
    assert [line.split()[:3] for line in table[1:]] == [["example-cluster", "Running", "0"], ["example-cluster2", "Running", "0"]]

    second = [line for line in operator.log().splitlines() if re.match("^example-cluster2:", line)]  # grep ^example-cluster2:
    assert any(re.match(r"example-cluster2:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\tDEBUG -- Cluster status: 1 nodes$", s) for s in second)
    assert "example-cluster2:Worker node types:" in second and "example-cluster2: - worker-node: 1" in second

    kubectl("-n", space.name, "delete", "-f", f"{EXAMPLES}/legacy-cluster2.yaml")
    eventually(lambda: not space.pods("example-cluster2"))  # the garbage collector finds new kinds every half minute
    assert len(space.pods("example-cluster")) == 3
    kubectl("-n", space.name, "delete", "rayclusters.cluster.ray.io", "example-cluster")
    eventually(lambda: not space.pods() and not space.api.get(space.path("services"))["items"])


def test_labels_owner_and_service(space, operator):
    space.apply(raycluster("c", workers=1, headServicePorts=[{"name": "client", "port": 12345, "targetPort": 10001}]), LEGACY)
    cluster = space.ready("c", 2, LEGACY)
    head = heads(space, "c")[0]
    labels = head["metadata"]["labels"]
    assert labels["ray-cluster-name"] == "c" and labels["ray-user-node-type"] == "head"
    assert labels["cluster.ray.io/component"] == "c-ray-head"
    for pod in space.pods("c"):
        (ref,) = pod["metadata"]["ownerReferences"]
        assert (ref["apiVersion"], ref["uid"], ref["controller"]) == ("cluster.ray.io/v1", cluster["metadata"]["uid"], True)
    service = space.api.get(space.path("services", "c-ray-head"))["spec"]
    ports = {p["name"]: (p["port"], p["targetPort"]) for p in service["ports"]}
    assert ports["client"] == (12345, 10001) and ports["dashboard"] == (8265, 8265) and ports["ray-serve"] == (8000, 8000)
    worker = next(p for p in space.pods("c") if p not in heads(space, "c"))
    env = {e["name"]: e.get("value") for e in worker["spec"]["containers"][0]["env"]}
    assert env["RAY_HEAD_IP"].startswith("c-ray-head.") and '"CPU":1' in env["RAY_OVERRIDE_RESOURCES"]


def test_scale_by_min_workers(space, operator):
    space.apply(raycluster("c", workers=1, limit=5), LEGACY)
    space.ready("c", 2, LEGACY)
    head = heads(space, "c")[0]["metadata"]["uid"]
    space.apply(raycluster("c", workers=4, limit=5), LEGACY)
    space.ready("c", 5, LEGACY)
    assert heads(space, "c")[0]["metadata"]["uid"] == head, "the head was made anew"
    space.apply(raycluster("c", workers=2, limit=2), LEGACY)
    space.ready("c", 3, LEGACY)


def test_a_changed_label_forces_a_restart(space, operator):
    space.apply(raycluster("c", workers=2), LEGACY)
    space.ready("c", 3, LEGACY)
    before = uids(space, "c")
    space.api.patch(space.path("rayclusters", "c", LEGACY), {"metadata": {"labels": {"try": "again"}}})
    eventually(lambda: len(space.pods("c")) == 3 and not before & uids(space, "c"))
    audit = space.rest(operator)
    space.api.patch(space.path("rayclusters", "c", LEGACY), {"metadata": {"annotations": {"note": "no restart"}}})
    time.sleep(1)
    assert not audit.writes(operator.user, space.name)


def test_a_failed_worker_and_a_failed_head(space, operator):
    space.apply(raycluster("c", workers=1), LEGACY)
    space.ready("c", 2, LEGACY)
    worker = next(p for p in space.pods("c") if p not in heads(space, "c"))
    space.fail(worker, 3)
    eventually(lambda: worker["metadata"]["uid"] not in uids(space, "c") and len(uids(space, "c")) == 2)
    space.ready("c", 2, LEGACY)
    head = heads(space, "c")[0]
    space.fail(head)
    eventually(lambda: head["metadata"]["uid"] not in uids(space, "c") and len(heads(space, "c")) == 1)
    cluster = space.ready("c", 2, LEGACY)
    assert cluster["status"]["autoscalerRetries"] == 1
    assert operator.lines("c:", "WARNING", "exit code 3"), operator.log()


def test_an_operator_restart_leaves_ray_alone(space, operator):
    space.apply(raycluster("c", workers=2), LEGACY)
    space.ready("c", 3, LEGACY)
    eventually(lambda: space.find(space.path("configmaps", "mobula-tools")))  # kwok's pods start without it
    before, audit = uids(space, "c"), space.rest(operator)
    operator.stop()
    operator.start().ready()
    operator.says("c:", "Cluster status: 2 nodes")
    assert uids(space, "c") == before and not audit.writes(operator.user, space.name)


def test_what_cannot_work_is_told(space, operator):
    bad = raycluster("c")
    bad["spec"]["podTypes"][1]["podConfig"]["spec"]["containers"][0]["resources"]["limits"]["memory"] = "much"
    space.apply(bad, LEGACY)
    cluster = eventually(lambda: (c := space.cluster("c", LEGACY)).get("status", {}).get("phase") == "Error" and c)
    valid = condition(cluster, "Valid")
    assert valid["status"] == "False" and "podTypes[1].podConfig" in valid["message"] and not space.pods("c")
    space.change("c", raycluster("c")["spec"], LEGACY)
    space.ready("c", 2, LEGACY)


def test_both_kinds_of_one_name(space, operator):
    """Objects of one kind are never taken for the other's, even with one name: their pods and services have names of their own."""
    space.apply(raycluster_v1("c", workers=1))
    space.apply(raycluster("c", workers=1), LEGACY)
    eventually(lambda: space.cluster("c", V1).get("status", {}).get("state") == "ready")
    eventually(lambda: space.cluster("c", LEGACY).get("status", {}).get("phase") == "Running")
    owners = [p["metadata"]["ownerReferences"][0]["apiVersion"] for p in space.pods("c")]
    assert sorted(owners) == ["cluster.ray.io/v1"] * 2 + ["ray.io/v1"] * 2
    space.delete("c", LEGACY)
    eventually(lambda: len(space.pods("c")) == 2)
    space.ready("c", 2)
