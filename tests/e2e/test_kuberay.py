"""From KubeRay's own operator to mobula and back, by the two chapters of docs/kuberay.md, with objects that each of them has made."""

import os
import re
import subprocess

import pytest
from cluster import MOBULA, ROOT, V1, another_rig, condition, eventually, kubectl, raycluster, workspace
from dashboards import running, start
from processes import Operator, config_of
from services import Service, deploy, needs_address

VERSIONS = (os.environ.get("KUBERAY_VERSION", "1.7.0"), "1.5.0")  # the second: the newest in the Go module proxy
PAGE = ROOT / "docs/kuberay.md"
pytestmark = pytest.mark.slow


class KubeRay:
    def __init__(self, run, version):
        self.env = os.environ | {"NAME": run.name, "KUBERAY_VERSION": version}

    def do(self, *words):
        command = [ROOT / "tests/rig/kuberay.sh", *words]
        out = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=900, check=False)
        assert out.returncode == 0, (words, out.stderr)


@pytest.fixture(scope="module")
def version():
    for wanted in VERSIONS:
        out = subprocess.run([ROOT / "tests/rig/kuberay.sh", "build"], env=os.environ | {"KUBERAY_VERSION": wanted}, capture_output=True,
                             text=True, check=False)
        if out.returncode == 0:
            return wanted
    raise AssertionError(f"none of KubeRay {VERSIONS} can be built: {out.stderr}; KUBERAY_GIT=DIR builds it from a git directory")


def replace_definitions(admin):
    """By the command of the page."""
    ((make, put),) = re.findall(r"`(mobula install --print --crds-only) \| (kubectl apply [^`]*)`", PAGE.read_text())
    printed = subprocess.run([MOBULA, *make.split()[1:]], capture_output=True, text=True, check=True, timeout=60).stdout
    kubectl(*put.split()[1:], stdin=printed, kubeconfig=admin)


def uids(space, *resources):
    found = {}
    for resource in resources:
        for o in space.api.get(space.path(resource))["items"]:
            if "ray.io/cluster" in o["metadata"].get("labels", {}) and not o["metadata"].get("deletionTimestamp"):
                found[f"{resource}/{o['metadata']['name']}"] = o["metadata"]["uid"]
    return found


def replicas(space, name, number):
    space.change(name, {"workerGroupSpecs": raycluster(name, workers=number)["spec"]["workerGroupSpecs"]})


def is_gone(space, cluster):
    """Nothing of the cluster is left."""
    assert not [o for o in uids(space, "pods", "services") if o.partition("/")[2].startswith(cluster)]
    return not space.find(space.path("rayclusters", cluster, V1))


@needs_address
def test_over_and_back(version, boards, tmp_path):
    with another_rig("kuberay", NODES="3", SCHEDULER="1") as api:
        peer = KubeRay(api.run, version)
        peer.do("install")
        peer.do("start")
        with workspace(api, "team") as space:
            # KubeRay's own objects: a cluster that runs, one with an autoscaler, a suspended one, and a suspended job.
            space.apply(raycluster("c", workers=2))
            scaled, asleep = raycluster("scaled", workers=1), raycluster("asleep", workers=1)
            scaled["spec"]["enableInTreeAutoscaling"], asleep["spec"]["suspend"] = True, True
            space.apply(scaled)
            space.apply(asleep)
            board = boards()
            for name, pods in (("c", 3), ("scaled", 2)):
                space.ready(name, pods)
            eventually(lambda: space.cluster("asleep").get("status", {}).get("state") == "suspended")
            made = uids(space, "pods", "services")
            peer.do("stop")

            # The way over.
            replace_definitions(api.run / "admin.kubeconfig")
            operator = Operator(tmp_path, space.name, config=config_of(space, tmp_path))
            eventually(lambda: condition(space.cluster("c"), "Valid") or space.cluster("c")["status"].get("groups"))
            for name, pods in (("c", 3), ("scaled", 2)):
                space.ready(name, pods)
            assert uids(space, "pods", "services").items() >= made.items(), "pods and services are kept"
            replicas(space, "c", 3)
            space.ready("c", 4)
            replicas(space, "c", 1)
            space.ready("c", 2)
            space.change("asleep", {"suspend": False})
            space.ready("asleep", 2)
            start(space, board, shutdownAfterJobFinishes=True)
            running(space)
            board.end("SUCCEEDED")
            ended = space.becomes("j", "Complete")
            service = Service(space)
            active = deploy(service, boards())
            kept = {k: v for k, v in uids(space, "pods").items() if ended["rayClusterName"] not in k}
            assert operator.stop() == 0

            # The way back.
            peer.do("start")
            replicas(space, "c", 2)
            space.ready("c", 3)
            assert uids(space, "pods").items() >= kept.items(), "KubeRay keeps the pods"
            assert space.job("j")["status"]["jobDeploymentStatus"] == "Complete" and space.job("j")["status"]["jobId"] == ended["jobId"]
            assert len(board.submissions) == 1, "a job that has ended does not run again"
            assert [c["metadata"]["name"] for c in space.api.get(space.path("rayclusters", group=V1))["items"]
                    if c["metadata"]["name"].startswith("svc")] == [active], "the service keeps its cluster"
            for kind, name in (("rayclusters", "c"), ("rayclusters", "asleep"), ("rayjobs", "j"), ("rayservices", "svc")):
                api.call("DELETE", space.path(kind, name, V1))
            for cluster in ("c", "asleep", ended["rayClusterName"], active):
                eventually(lambda name=cluster: is_gone(space, name))
            for kind, name in (("rayjobs", "j"), ("rayservices", "svc")):
                eventually(lambda path=space.path(kind, name, V1): not space.find(path))
            peer.do("stop")
