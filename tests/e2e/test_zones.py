"""Zones and markets on the real API server, with fake nodes: which nodes pods come to, and what happens where there are none."""

import pytest

from cluster import V1, condition, eventually, raycluster
from test_patches import notes, put_patches
from test_shapes import SHAPES, allow_maps, markets, put, typed


def zoned(name, zones, workers=2, **annotations):
    made = raycluster(name, workers)
    made["spec"]["headGroupSpec"]["template"]["metadata"] = {"annotations": {"anyscale.com/zone": zones, **annotations}}
    return made


@pytest.fixture
def zone(space, nodes):
    """Makes a node in a zone of this test's own: zone("a", pods=1); gives the zone's name."""
    def make(name, **options):
        full = f"{space.name}-{name}"
        nodes(f"{full}-{options.pop('number', 0)}", {"topology.kubernetes.io/zone": full, **options.pop("labels", {})}, **options)
        return full

    return make


def places(space, cluster="c"):
    """The zone of each pod, by its label; no pod has another node selector."""
    pods = space.pods(cluster)
    for p in pods:
        zone = p["metadata"]["labels"].get("anyscale.com/zone")
        assert not zone or p["spec"]["nodeSelector"] == {"topology.kubernetes.io/zone": zone} and p["metadata"]["annotations"][
            "anyscale.com/zone"] == zone, p["spec"]
    return sorted(p["metadata"]["labels"].get("anyscale.com/zone", "") for p in pods)


def test_the_next_zone_is_tried_when_the_minimum_has_no_room(space, operators, zone):
    a, b = zone("a", pods=2), zone("b")
    operator = operators("--zone-starting-timeout=6s")
    space.apply(zoned("c", f"{a},{b}"))
    eventually(lambda: places(space) == [a, a, a])
    space.ready("c", 3)
    assert places(space) == [b, b, b]
    (told,) = [note for name, note in notes(space, "ZoneNotAvailable") if name == "c"]
    assert f"has no node in zone {a}" in told and f"{b} is next" in told
    # More than the minimum finds no room later: the cluster stays. And so it does with a new operator.
    operator.stop()
    operators("--zone-starting-timeout=2s")
    space.change("c", {"workerGroupSpecs": raycluster("c", 40)["spec"]["workerGroupSpecs"]})
    eventually(lambda: len(space.pods("c")) == 41)
    eventually(lambda: [p for p in space.pods("c") if not p["spec"].get("nodeName")])
    assert set(places(space)) == {b} and len(notes(space, "ZoneNotAvailable")) == 1


def test_the_clusters_own_time_and_a_jobs_cluster(space, operators, zone):
    a, b = zone("a", pods=1), zone("b")
    operators()
    spec = zoned("j", f"{a}, {b}", 1, **{"mobula.dev/zone-starting-timeout": "5s"})["spec"]
    space.start({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "j"},
                 "spec": {"entrypoint": "python program.py", "rayClusterSpec": spec, "preRunningDeadlineSeconds": 600}})
    cluster = eventually(lambda: space.job("j").get("status", {}).get("rayClusterName"))
    eventually(lambda: space.find(space.path("rayclusters", cluster, V1)))
    space.ready(cluster, 2)
    assert places(space, cluster) == [b, b]


def test_all_zones_at_once(space, operators, zone):
    a, b = zone("a", pods=2), zone("b", pods=2)
    operators("--zone-starting-timeout=5s")
    space.apply(zoned("c", f"{a},{b}", 3, **{"mobula.dev/allow-cross-zone": "true"}))
    space.ready("c", 4)
    assert places(space) == ["", "", "", ""]
    assert sorted(p["spec"]["nodeName"] for p in space.pods("c")) == [f"{a}-0", f"{a}-0", f"{b}-0", f"{b}-0"]


def test_a_start_that_takes_too_long_is_told(space, operators):
    operators("--workload-starting-timeout=5s")
    made = raycluster("c", 1)
    made["spec"]["workerGroupSpecs"][0]["template"]["spec"]["nodeSelector"] = {"no": "such-node"}
    space.apply(made)
    told = eventually(lambda: condition(space.cluster("c"), "StartingTimedOut"))
    assert told["reason"] == "WorkloadStartingTimeout" and "0 of 1 worker pods and 1 of 1 head pod are ready" in told["message"], told
    (note,) = eventually(lambda: [n for name, n in notes(space, "WorkloadStartingTimeout") if name == "c"])
    assert "not ready within 5 s" in note and len(space.pods("c")) == 2
    space.change("c", {"workerGroupSpecs": raycluster("c", 1)["spec"]["workerGroupSpecs"]})
    for pod in space.pods("c"):
        if pod["metadata"]["labels"]["ray.io/node-type"] == "worker":
            space.api.call("DELETE", space.path("pods", pod["metadata"]["name"]))
    space.ready("c", 2)
    eventually(lambda: not condition(space.cluster("c"), "StartingTimedOut"))


def test_a_worker_that_no_node_takes_is_made_anew(space, operators):
    """With what its template is by then; the head, and a cluster without instance types, wait on."""
    allow_maps(space)
    put(space, "small: {resources: {CPU: 1, memory: 1Gi}}\n")
    put_patches(space, "- kind: Pod\n  selector: ray.io/node-type=worker\n"
                       "  patch: [{op: add, path: /spec/nodeSelector/no, value: such-node}]\n")
    operators(SHAPES, "--patches-configmap=patches", "--unscheduled-timeout=4s")
    space.apply(typed("c", worker="small"))
    space.apply(raycluster("plain", 1))

    def uids(cluster, kind):
        return [p["metadata"]["uid"] for p in space.pods(cluster) if p["metadata"]["labels"]["ray.io/node-type"] == kind]

    first = eventually(lambda: len(space.pods("c")) == len(space.pods("plain")) == 2 and uids("c", "worker"))
    stays = uids("c", "head") + uids("plain", "worker")
    put_patches(space, "[]")
    space.ready("c", 2)
    assert uids("c", "worker") != first and uids("c", "head") + uids("plain", "worker") == stays


def test_spot_nodes_come_and_go(space, operators, nodes):
    """With the patches of the documents, and nodes with and without the taint of spot."""
    allow_maps(space)
    put(space, "small: {resources: {CPU: 1, memory: 1Gi}}\n")
    taint = [{"key": "node.anyscale.com/capacity-type", "value": "SPOT", "effect": "NoSchedule"}]
    group = f"{space.name}-market"  # nodes of this test only
    put_patches(space, "- kind: Pod\n  selector: anyscale.com/market-type in (SPOT, ON_DEMAND)\n  patch:\n"
                       f"  - {{op: add, path: /spec/nodeSelector/{group}}}\n"
                       f"  - {{op: copy, from: /metadata/labels/anyscale.com~1market-type, path: /spec/nodeSelector/{group}}}\n")
    nodes(f"{space.name}-demand", {group: "ON_DEMAND"})
    operators(SHAPES, "--patches-configmap=patches", "--cloud-provider=generic", "--spot-fallback=4s", "--spot-retry=6s")
    made = typed("c", worker="small", workers=2, **{"anyscale.com/market-type": "PREFER_SPOT"})
    space.apply(made)
    eventually(lambda: markets(space) == ["SPOT", "SPOT"])
    eventually(lambda: markets(space) == ["ON_DEMAND", "ON_DEMAND"])
    space.ready("c", 3)
    assert [name for name, _ in notes(space, "SpotNotScheduled")] == ["c"]
    nodes(f"{space.name}-spot", {group: "SPOT"}, taint)
    # On-demand pods that run stay. Behind the retry time one that is made is for spot, and comes to the tainted node.

    def renew():
        for pod in space.pods("c"):
            if pod["metadata"]["labels"].get("anyscale.com/market-type") == "ON_DEMAND" and pod["status"].get("phase") == "Running":
                space.api.call("DELETE", space.path("pods", pod["metadata"]["name"]))
        return markets(space) == ["SPOT", "SPOT"]

    eventually(renew, step=1)
    space.ready("c", 3)
    workers = [p for p in space.pods("c") if p["metadata"]["labels"]["ray.io/node-type"] == "worker"]
    assert [p["spec"]["nodeName"] for p in workers] == [f"{space.name}-spot"] * 2
