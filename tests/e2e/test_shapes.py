"""Instance types of a ConfigMap in the pods that the operator makes on the real API server, and the rights that this takes."""

import time

import pytest

from cluster import Refused, V1, condition, eventually, kubectl, manifests, raycluster, rayjob
from test_install import grants, objects

SHAPES = "--instance-types-configmap=instance-types"
DOCUMENT = """# A small CPU-only shape.
2CPU-8GB:
  resources:
    CPU: 2
    memory: 8Gi
# A larger shape with both CPU and GPU.
8CPU-32GB-1xT4:
  resources:
    CPU: 8
    GPU: 1
    accelerator_type:T4: 1
    memory: 32Gi
"""


def put(space, text, name="instance-types"):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": space.name},
            "data": {"version": "v1", f"{name.replace('-', '_')}.yaml": text}}
    try:
        return space.api.call("POST", space.path("configmaps"), body)
    except Refused as e:
        if e.status != 409:
            raise
        return space.api.patch(space.path("configmaps", name), {"data": body["data"]})


def typed(name, head=None, worker=None, workers=1, **annotations):
    """A RayCluster whose groups name instance types, and ask for nothing themselves."""
    made = raycluster(name, workers)
    for group, kind in ((made["spec"]["headGroupSpec"], head), (made["spec"]["workerGroupSpecs"][0], worker)):
        del group["template"]["spec"]["containers"][0]["resources"]
        if kind:
            group["template"]["metadata"] = {"annotations": {"anyscale.com/instance-type": kind, **annotations}}
    return made


def requests(space, cluster, node="worker"):
    """What each Ray container asks for, by pod."""
    return {p["metadata"]["name"]: p["spec"]["containers"][0]["resources"].get("requests", {}) for p in space.pods(cluster)
            if p["metadata"]["labels"]["ray.io/node-type"] == node}


def allow_maps(space):
    """The rights of `install --shapes`."""
    printed = manifests("--no-crds", "--kinds=all", "--shapes", "--namespace", space.name).split("\n---\n")
    kubectl("apply", "-f", "-", stdin="\n---\n".join(d for d in printed if "mobula-shapes" in d))


@pytest.fixture
def shaped(space, operators):
    allow_maps(space)
    return operators(SHAPES)


def test_the_documents_own_types_show_in_the_pods(space, shaped, nodes):
    nodes(f"{space.name}-a", {"topology.kubernetes.io/zone": "us-west-2a"})
    put(space, DOCUMENT)
    space.apply(typed("c", "2CPU-8GB", "8CPU-32GB-1xT4", **{"anyscale.com/market-type": "SPOT", "anyscale.com/zone": "us-west-2a"}))
    eventually(lambda: len(space.pods("c")) == 2)
    (head,), (worker,) = requests(space, "c", "head").values(), requests(space, "c").values()
    assert head == {"cpu": "2", "memory": "8Gi"} and worker == {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}
    (pod,) = [p for p in space.pods("c") if p["metadata"]["labels"]["ray.io/node-type"] == "worker"]
    for told in pod["metadata"]["labels"], pod["metadata"]["annotations"]:
        assert {k.removeprefix("anyscale.com/"): v for k, v in told.items() if k.startswith("anyscale.com/")} == {
            "instance-type": "8CPU-32GB-1xT4", "ray-node-type": "worker", "accelerator-type": "T4", "market-type": "SPOT",
            "zone": "us-west-2a"}
    (start,) = [e["value"] for e in pod["spec"]["containers"][0]["env"] if e["name"] == "KUBERAY_GEN_RAY_START_CMD"]
    labels = "--labels=ray.io/accelerator-type=T4,ray.io/availability-zone=us-west-2a,ray.io/market-type=spot"
    assert "--num-cpus=8" in start and "--num-gpus=1" in start and labels in start, start


def test_an_edited_map_is_in_force_for_new_pods(space, shaped):
    put(space, DOCUMENT)
    space.apply(typed("c", worker="2CPU-8GB"))
    old = eventually(lambda: requests(space, "c"))
    put(space, DOCUMENT.replace("CPU: 2\n", "CPU: 3\n"))
    eventually(lambda: "types=2" in shaped.log()[shaped.log().rindex("instance types read"):])
    space.change("c", {"workerGroupSpecs": typed("c", worker="2CPU-8GB", workers=3)["spec"]["workerGroupSpecs"]})
    now = eventually(lambda: len(requests(space, "c")) == 3 and requests(space, "c"))
    assert {k: v for k, v in now.items() if k in old} == old
    assert [v["cpu"] for k, v in now.items() if k not in old] == ["3", "3"]


def test_a_missing_type_is_told_and_a_fixed_map_clears_it(space, shaped):
    put(space, DOCUMENT)
    space.start(rayjob("j", rayClusterSpec=typed("j", worker="2CPU-8G")["spec"], preRunningDeadlineSeconds=600))
    cluster = eventually(lambda: space.job("j").get("status", {}).get("rayClusterName"))
    eventually(lambda: space.find(space.path("rayclusters", cluster, V1)))
    told = eventually(lambda: condition(space.cluster(cluster), "InstanceTypesReady"))
    assert told["status"] == "False" and told["reason"] == "InstanceTypeNotFound", told
    assert "group small names instance type 2CPU-8G, which" in told["message"] and "did you mean 2CPU-8GB (line " in told["message"], told
    eventually(lambda: len(space.pods(cluster)) == 1)
    put(space, "a:\n  resources: {CPU: 1}\n")
    events = space.path("events", group="/apis/events.k8s.io/v1")
    (note,) = eventually(lambda: [e["note"] for e in space.api.get(events)["items"] if e["reason"] == "BrokenSetting"])
    assert "line 2: a.resources: has no memory" in note and "what was read last stays in force" in note
    put(space, DOCUMENT.replace("2CPU-8GB:", "2CPU-8G:"))
    eventually(lambda: [v["cpu"] for v in requests(space, cluster).values()] == ["2"])
    eventually(lambda: condition(space.cluster(cluster), "InstanceTypesReady")["status"] == "True")


def test_what_it_costs_in_rights(space, operators):
    """No more than to watch that one ConfigMap, and to write events about it; without them the cluster says what is missing."""
    given, usual = (grants(objects("--no-crds", "--namespace", space.name, *flags)) for flags in (("--shapes",), ()))
    assert given - usual == {("", "configmaps", "list"), ("", "configmaps", "watch")} and usual - given == set()
    operators(SHAPES)
    put(space, DOCUMENT)
    space.apply(typed("c", worker="2CPU-8GB"))
    told = eventually(lambda: condition(space.cluster("c"), "InstanceTypesReady"))
    assert told["reason"] == "ConfigMapUnreadable" and "no right to" in told["message"], told
    space.apply(raycluster("other"))
    space.ready("other", 2)


def keep_spot_out(space, on):
    """No node takes a pod for spot: a pod on each does not stand its like."""
    nodes = [n["metadata"]["name"] for n in space.api.get("/api/v1/nodes")["items"]]
    for node in nodes:
        name = f"no-spot-{node}"
        if not on:
            space.api.call("DELETE", space.path("pods", name))
            continue
        term = {"labelSelector": {"matchLabels": {"anyscale.com/market-type": "SPOT"}}, "topologyKey": "kubernetes.io/hostname"}
        spec = {"nodeName": node, "containers": [{"name": "c", "image": "c"}], "tolerations": [{"operator": "Exists"}],
                "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
        space.api.call("POST", space.path("pods"), {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def markets(space):
    return sorted(p["metadata"]["labels"]["anyscale.com/market-type"] for p in space.pods("c")
                  if p["metadata"]["labels"]["ray.io/node-type"] == "worker")


def test_a_group_that_prefers_spot_falls_back_and_returns(space, operators):
    allow_maps(space)
    operators(SHAPES, "--spot-fallback=4s", "--spot-retry=8s")
    put(space, "small: {resources: {CPU: 1, memory: 1Gi}}\n")
    keep_spot_out(space, True)
    space.apply(typed("c", worker="small", workers=2, **{"anyscale.com/market-type": "PREFER_SPOT"}))
    eventually(lambda: markets(space) == ["SPOT", "SPOT"])
    eventually(lambda: markets(space) == ["ON_DEMAND", "ON_DEMAND"])
    space.ready("c", 3)
    keep_spot_out(space, False)
    time.sleep(9)  # the retry time
    space.change("c", {"workerGroupSpecs": typed("c", worker="small", workers=3, **{"anyscale.com/market-type": "PREFER_SPOT"})
                       ["spec"]["workerGroupSpecs"]})
    space.ready("c", 4)
    assert markets(space) == ["ON_DEMAND", "ON_DEMAND", "SPOT"]
