"""A bucket in a real object store: it carries a job's working directory to Ray, and keeps the logs of pods after their deletion. A claim
on a volume of the node, as one of a shared file system: pods of a cluster share its files."""

import gzip
import json
import urllib.request

import pytest

from browser import shown
from cluster import V1, eventually
from hub import edge_operator, register
from real import START_S
from stores import KEYS, run_versitygw
from test_control_plane import at_work, far, submit, wait  # noqa: F401 (far is a fixture)

NODE = "10.77.0.1"  # the address of this process for pods
BUCKET = "s3://bucket/team"
MAIN = """
import os
import time
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

@ray.remote(num_cpus=0)
def work(name):
    with open(f"/mnt/cluster_storage/{name}", "w") as file:
        file.write("here")
    print(f"{name} has read {open('recipe.txt').read()}", flush=True)

ray.init(log_to_driver=False)
while len(nodes := [n for n in ray.nodes() if n["Alive"]]) < 2:
    time.sleep(0.5)
ray.get([work.options(scheduling_strategy=On(n["NodeID"], soft=False)).remote(n["NodeName"]) for n in nodes])
print("the driver has read", open("recipe.txt").read())
print("shared:", *sorted(os.listdir("/mnt/cluster_storage")))
for n in range(3000):
    print("line", n)
"""


@pytest.fixture
def gate(tmp_path):
    made = run_versitygw(tmp_path, listen="0.0.0.0", host=NODE)
    made.bucket("bucket")
    yield made
    made.stop()


@pytest.fixture
def files(space, tmp_path):
    """A folder of the node, to which the claim "files" is bound."""
    folder, name, amount = tmp_path / "files", f"{space.name}-files", {"storage": "1Gi"}
    folder.mkdir()
    folder.chmod(0o777)
    modes = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
              "spec": {**modes, "capacity": amount, "hostPath": {"path": str(folder)},
                       "claimRef": {"namespace": space.name, "name": "files"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "files"},
             "spec": {**modes, "volumeName": name, "resources": {"requests": amount}}}
    for one in (volume, claim):
        space.kubectl("apply", "-f", "-", stdin=json.dumps(one))
    yield folder
    space.kubectl("delete", "pv", name, "--wait=false")


@pytest.fixture
def ann(far, space, operators, tmp_path, gate, files, monkeypatch):  # noqa: F811
    """Ann is logged in, has the store's keys, and uses a cloud with an operator that stores logs in the bucket."""
    secret = tmp_path / "secret"
    secret.mkdir()
    for name, value in KEYS.items():
        (secret / name).write_text(value)
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", gate.url)
    space.kubectl("create", "secret", "generic", "keys", f"--from-file={secret}")
    policy = tmp_path / "policy.yaml"
    policy.write_text(json.dumps({"sources": [f"{gate.url}/bucket/team/working-dirs/*"]}))  # required for a store without TLS
    flags = (f"--bucket={BUCKET}", f"--bucket-endpoint={gate.url}", "--bucket-secret=keys", "--shared-storage=pvc:files")

    def operate(person):
        space.grant("--control-plane-url=https://hub.example", "--cloud-deployment-id=cldrsrc_" + 24 * "a", *flags)
        edge_operator(person, space, operators, tmp_path, "edge", register(person, "edge"), f"--policy-file={policy}",
                      f"--bucket-credentials-dir={secret}", *flags)

    with at_work(far, space, tmp_path, operate) as person:
        yield person


def test_a_folder_and_the_logs_go_through_a_bucket(ann, space, tmp_path, gate, files):
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "main.py").write_text(MAIN)
    (folder / "recipe.txt").write_text("flour and water")
    submit(ann, "packed", "--bucket", BUCKET, "--working-dir", folder, "--", "python", "main.py")
    cluster = eventually(lambda: (space.find(space.path("rayjobs", "packed", V1)) or {}).get("status", {}).get("rayClusterName"), 60)
    job = space.job("packed")["spec"]
    assert f"{gate.url}/bucket/team/working-dirs/" in json.dumps(job) and KEYS["AWS_SECRET_ACCESS_KEY"] not in json.dumps(job)
    assert "SUCCEEDED" in wait(ann, "packed")
    eventually(lambda: not space.find(space.path("rayclusters", cluster, V1)) and not space.pods(), START_S)

    lines = ann.type("job", "logs", "--name", "packed", "--tail", "10000", "--bucket", BUCKET).splitlines()
    assert "the driver has read flour and water" in lines and "line 2999" in lines, lines[-5:]
    (shared,) = [line.split()[1:] for line in lines if line.startswith("shared: ")]
    assert len(shared) == 2 and sorted(one.name for one in (files / "clusters" / space.name / cluster).iterdir()) == shared

    def logs(*words):
        return ann.type("logs", *words, "-n", space.name, "--bucket", BUCKET)

    files = [line[34:] for line in logs("cluster", cluster).splitlines()]
    pods = {file.split("/")[1] for file in files if file.endswith("raylet.out")}
    assert len(pods) == 2 and [f for f in files if f.endswith("gcs_server.out")], files
    for pod in pods:
        said = logs("cluster", cluster, "--node", pod, "--file", "worker-*")
        assert said.count("has read flour and water") == 1, said
    eventually(lambda: '"jobDeploymentStatus":"Complete"' in logs("job", "packed", "--file", "history.jsonl"), 60, 0.5)

    (driver,) = [f for f in files if "job-driver-packed" in f]
    names = ann.type("storage", "ls", f"{BUCKET}/logs/{space.name}/{driver}/", "--recursive").splitlines()
    url = ann.type("storage", "sign", "s3://bucket/" + names[0][34:]).strip()
    with urllib.request.urlopen(url) as answer:
        text = gzip.decompress(answer.read()).decode()
    assert "the driver has read flour and water" in text.splitlines(), text
    assert "the driver has read flour and water" in shown(url, tmp_path / "profile", NODE)
