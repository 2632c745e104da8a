"""An installation on a real kubelet without any registry: the operator's program in a ConfigMap, run in the node's pause image, in a
namespace that enforces Pod Security `restricted`. It takes care of a cluster, is replaced and goes, and no pod of Ray is touched."""

import os
import subprocess
import time

import pytest

from cluster import MOBULA, RUN, V1, eventually, kubectl
from real import START_S, raycluster


def run(*args, status=0):
    env = {**os.environ, "KUBECONFIG": str(RUN / "admin.kubeconfig")}
    out = subprocess.run([MOBULA, *args], env=env, capture_output=True, text=True, timeout=180, check=False)
    assert out.returncode == status, (args, out.returncode, out.stdout, out.stderr)
    return out.stdout


@pytest.fixture
def place(api):
    name = "without-registry"
    yield name
    kubectl("delete", "namespace", name, "--ignore-not-found")


def pods_of(api, place, label):
    return api.get(f"/api/v1/namespaces/{place}/pods?labelSelector={label}")["items"]


def installed(api, place):
    """The operator's pod, and the flags for its namespace."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place, "labels": labels}})
    api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{place}-work"}})
    where = ("--namespace", place, "--watch-namespace", f"{place}-work")
    began = time.monotonic()
    done = run("install", "--apply", "--registryless", *where)
    print(f"figure: install to ready without a registry: {time.monotonic() - began:.1f} s (goal on a quiet machine: 10 s)")
    assert done.startswith("runs in localhost/pause:1\n"), done
    (pod,) = pods_of(api, place, "app.kubernetes.io/name=mobula")
    assert pod["spec"]["containers"][0]["image"] == "localhost/pause:1"
    return pod, where


def test_ready_without_a_registry(api, place):
    """The installation becomes ready on a real kubelet, and its removal leaves nothing. Needs no image of Ray, so make e2e can run it."""
    pod, where = installed(api, place)
    log = kubectl("-n", place, "logs", pod["metadata"]["name"]).stdout
    assert "msg=started" in log and "sandbox=on" in log, log
    run("uninstall", "--apply", *where)
    assert not pods_of(api, place, "app.kubernetes.io/name=mobula")
    kubectl("delete", "namespace", place, f"{place}-work")


def test_without_a_registry(api, place):
    pod, where = installed(api, place)
    work = f"{place}-work"
    api.call("POST", f"{V1}/namespaces/{work}/rayclusters", raycluster("c", workers=0))
    eventually(lambda: api.get(f"{V1}/namespaces/{work}/rayclusters/c").get("status", {}).get("state") == "ready", START_S)

    def heads():
        return [(p["metadata"]["uid"], [c["restartCount"] for c in p["status"]["containerStatuses"]])
                for p in pods_of(api, work, "ray.io%2Fcluster%3Dc")]

    before = heads()
    run("upgrade", "--registryless", "--resources=cpu=300m,memory=64Mi", *where)
    (after,) = [p for p in pods_of(api, place, "app.kubernetes.io/name=mobula") if not p["metadata"].get("deletionTimestamp")]
    assert after["metadata"]["uid"] != pod["metadata"]["uid"] and heads() == before
    run("rollback", "--namespace", place)
    assert heads() == before
    run("uninstall", "--apply", "--leave-work", *where)
    assert not pods_of(api, place, "app.kubernetes.io/name=mobula") and heads() == before
    kubectl("delete", "namespace", work)


def test_the_kubelets_reason(api, place):
    """A Secret without the key that is mounted: install shows the kubelet's event while the pod stays in ContainerCreating."""
    kubectl("create", "namespace", place)
    kubectl("-n", place, "create", "secret", "generic", "edge", "--from-literal=other=x")
    kubectl("-n", place, "create", "configmap", "mobula-control-plane-ca", "--from-literal=ca.crt=x")
    env = {**os.environ, "KUBECONFIG": str(RUN / "admin.kubeconfig")}
    command = [MOBULA, "install", "--apply", "--registryless", "--no-crds", "--namespace", place, "--control-plane-url=https://hub.example",
               f"--cloud-deployment-id=cldrsrc_{24 * 'a'}", "--control-plane-token=edge", "--timeout=60s"]
    out = subprocess.run(command, env=env, capture_output=True, text=True, timeout=180, check=False)
    assert out.returncode == 1 and "ContainerCreating" in out.stdout + out.stderr, out.stdout + out.stderr
    assert "FailedMount: " in out.stderr and "non-existent secret key: token" in out.stderr, out.stderr
