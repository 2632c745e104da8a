"""Ray's own autoscaler in the head's pod, as KubeRay has it: it decides, and the operator does what it writes into the spec."""

import pytest

from cluster import Audit, eventually, what
from real import START_S, TASKS, ended, explained, scaled, submit, workers
from test_sidecar import ANNOTATION, allow


def beside(name, version):
    c = scaled(name, most=2)
    c["metadata"]["annotations"] = {ANNOTATION: "sidecar"}
    c["spec"]["autoscalerOptions"] |= {"version": version, "imagePullPolicy": "Never"}
    return c


def group(space, cluster):
    return space.cluster(cluster)["spec"]["workerGroupSpecs"][0]


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_it_scales_by_the_spec(space, operator, version):
    """Demand raises replicas, idleness names the workers that go; the operator makes and deletes the pods, and decides nothing."""
    allow(space)
    audit = Audit()
    space.apply(beside("c", version))
    space.ready("c", 1, seconds=START_S)
    assert [k["name"] for k in space.pods("c")[0]["spec"]["containers"]] == ["ray", "autoscaler"]
    submit(space, "c", "tasks", TASKS.format(count=2, seconds=30))
    eventually(lambda: group(space, "c")["replicas"] == 2 and len(workers(space, "c")) == 2, START_S, 0.5)
    names = {p["metadata"]["name"] for p in workers(space, "c")}
    job = ended(space, "c", "tasks")
    assert job["status"] == "SUCCEEDED", job["logs"][-2000:]
    named = set()

    def gone():
        named.update(group(space, "c").get("scaleStrategy", {}).get("workersToDelete") or [])
        return not workers(space, "c")

    eventually(gone, START_S, 0.1)
    assert group(space, "c")["replicas"] == 0 and named <= names and named, (named, names)
    scaler = f"system:serviceaccount:{space.name}:c"
    assert audit.writes(scaler, space.name).keys() == {"patch rayclusters"}, "it patches the cluster, and touches no pod"
    deletes = [e for e in audit.entries(operator.user, space.name) if what(e) == "delete pods"]
    assert {e["objectRef"]["name"] for e in deletes} == names
    assert "by the container autoscaler of the head pod" in explained(space, "c")
    space.ready("c", 1, seconds=START_S)
