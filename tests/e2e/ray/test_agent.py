"""The agent in the head of a workload, beside real Ray: what it reports reaches the control plane through the operator."""

import json

import pytest

from cluster import eventually, kubectl, objects
from hub import edge_operator, register
from real import RAY, START_S, head
from test_control_plane import at_work, far, submit, wait  # noqa: F401 (far is a fixture)
from test_hub import free_port

NODE = "10.77.0.1"  # as pods reach this process
PROGRAM = "import time; time.sleep(45)"


@pytest.fixture
def ann(far, space, operators, tmp_path):  # noqa: F811
    """Logged in, with a cloud whose operator gives heads an agent and takes its reports."""
    flags = ("--namespace", space.name, "--control-plane-url=https://hub.example", "--cloud-deployment-id=cldrsrc_" + 24 * "a", "--agent")
    documents = "\n---\n".join(json.dumps(o) for o in objects(*flags) if o["kind"].startswith("ClusterRole"))

    def operate(person):
        where, port = register(person, "edge"), free_port()
        space.grant(*flags)
        kubectl("apply", "-f", "-", stdin=documents)
        edge_operator(person, space, operators, tmp_path, "edge", where, "--agent=operator", f"--agent-addr=0.0.0.0:{port}",
                      f"--agent-url=http://{NODE}:{port}")

    with at_work(far, space, tmp_path, operate) as person:
        yield person
    kubectl("delete", "-f", "-", "--ignore-not-found", stdin=documents)


def test_a_head_reports_that_its_ray_is_well(ann, space):
    submit(ann, "watched", "--", "python", "-c", PROGRAM)

    def well():
        ray = json.loads(ann.type("job", "status", "--name", "watched", "-o", "json")).get("status", {}).get("ray", {})
        assert ray.get("health") == "HEALTHY" and ray.get("dashboard") == "HEALTHY", ray
        return ray

    ray = eventually(well, START_S, 0.5)
    assert ray["version"] == RAY and ray["nodesAlive"] >= 1 and ray["nodesDead"] == 0 and ray["message"] == "", ray
    assert "CPU" in [r["name"] for r in ray["resources"]], ray
    words = ann.type("job", "status", "--name", "watched").splitlines()
    assert words[0].split()[4] == "RAY" and " HEALTHY " in words[1], words
    cluster = space.api.get(space.path("rayjobs", "watched", "/apis/ray.io/v1"))["status"]["rayClusterName"]
    pod = head(space, cluster)
    states = {c["name"]: c for c in pod["status"]["containerStatuses"]}
    assert states["mobula-agent"]["ready"] and states["mobula-agent"]["restartCount"] == 0, states
    log = kubectl("-n", space.name, "logs", pod["metadata"]["name"], "-c", "mobula-agent").stdout
    assert "sandbox=on" in log and "eyJ" not in log, log
    assert "SUCCEEDED" in wait(ann, "watched")
