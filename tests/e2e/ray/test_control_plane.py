"""A control plane and an operator that calls it, in clusters of their own: jobs that people submit there run on real Ray here."""

import contextlib
import subprocess
import sys

import pytest

import archives
from cluster import another_rig, eventually, workspace
from hub import PEOPLE, account, define, edge, hubs_in, meet
from real import IMAGE, PATIENT, START_S

# A head and a worker that two cores can carry.
SMALL = """
head_node: {required_resources: {CPU: 500m, memory: 2Gi}}
worker_nodes: [{name: w, required_resources: {CPU: 500m, memory: 1500Mi}, min_nodes: 1, max_nodes: 1}]
"""
# It prints where it runs and what a task on the worker says.
PROGRAM = "import ray; ray.init(); print('sum', sum(ray.get([ray.remote(lambda i: i * i).remote(i) for i in range(10)])))"

MAIN = """
import os
import ray
from own.squares import square

ray.init()
print("files", sorted(f for f in os.listdir() if f != "__pycache__"))
print("sum", sum(ray.get([ray.remote(square).remote(i) for i in range(10)])))
"""


@pytest.fixture(scope="module")
def far():
    """The API server of the control plane: no pod runs there."""
    with another_rig("hub", KCM="0") as api:
        define(api.run / "admin.kubeconfig")
        yield api


@contextlib.contextmanager
def at_work(far, space, tmp_path, operate):
    """Somebody who is logged in and has a compute config, at a cloud of this cluster, which operate(person) registers; what is left of
    jobs goes at the end."""
    with workspace(far, space.name) as project, hubs_in(project, tmp_path) as make:
        person = meet(project, make, tmp_path)
        person.login(account(project, "ann", *PEOPLE))
        operate(person)
        config = tmp_path / "small.yaml"
        config.write_text(SMALL)
        person.type("compute-config", "create", "--name", "small", "-f", config)
        yield person
        for job in person.type("job", "list", "-o", "name").split():
            person.type("job", "delete", "--name", job)
        eventually(lambda: not space.pods() and not person.type("job", "list", "-o", "name"), START_S)


@pytest.fixture
def ann(far, space, operators, tmp_path):
    with at_work(far, space, tmp_path, lambda person: edge(person, space, operators, tmp_path, "edge")) as person:
        yield person


def submit(ann, name, *words):
    patient = f"{PATIENT[0]['name']}={PATIENT[0]['value']}"
    ann.type("job", "submit", "--name", name, "--cloud", "edge", "--compute-config", "small:1", "--image-uri", IMAGE, "--env", patient,
             "--max-retries", "0", *words)


def wait(ann, name, code=0):
    return ann.type("job", "wait", "--name", name, "--timeout", f"{2 * START_S}s", code=code, seconds=3 * START_S)


def test_a_job_comes_through_the_control_plane(ann):
    """Submitted there, run here: its state and what it prints go back, and whoever waits for it is told how it ended."""
    submit(ann, "well", "--", "python", "-c", PROGRAM)
    assert "SUCCEEDED" in wait(ann, "well")
    assert "sum 285" in ann.type("job", "logs", "--name", "well").splitlines()


def test_a_job_that_fails_says_why(ann):
    submit(ann, "badly", "--", "python", "-c", "print('what is wrong here'); raise SystemExit(7)")
    said = wait(ann, "badly", code=1)
    assert "ended: FAILED" in said and "exit code 7" in said and "what is wrong here" in said, said


def test_a_folder_goes_along(ann, space, tmp_path):
    """Packed at home, stored by the control plane, mounted into head and worker, unpacked by Ray: the program finds its module in both."""
    folder = tmp_path / "work"
    (folder / "own").mkdir(parents=True)
    (folder / "main.py").write_text(MAIN)
    (folder / "own" / "squares.py").write_text("def square(i):\n    return i * i\n")
    (folder / "secret.txt").write_text("password")
    (folder / ".gitignore").write_text("secret.txt\n")
    submit(ann, "packed", "--working-dir", folder, "--", "python", "main.py")
    assert "SUCCEEDED" in wait(ann, "packed")
    lines = ann.type("job", "logs", "--name", "packed").splitlines()
    assert "sum 285" in lines and "files ['.gitignore', 'main.py', 'own']" in lines, lines
    maps = [m for m in space.api.get(space.path("configmaps"))["items"] if m["metadata"]["name"].startswith("mobula-dir-")]
    assert [m["metadata"]["ownerReferences"][0]["name"] for m in maps] == ["packed"]


def test_ray_unpacks_every_kind_of_entry(ann, tmp_path):
    """The program finds the entries that job submit packed, after Ray's own unpacker."""
    folder = archives.fill(tmp_path / "entries")  # the operator's log is in tmp_path, and grows
    (folder / "main.py").write_text(archives.DIGEST)
    here = subprocess.run([sys.executable, "main.py"], cwd=folder, capture_output=True, text=True, check=True, timeout=60).stdout
    submit(ann, "entries", "--working-dir", folder, "--", "python", "main.py")
    assert "SUCCEEDED" in wait(ann, "entries")
    there = [line for line in ann.type("job", "logs", "--name", "entries").splitlines() if line.startswith(("entry ", "folder "))]
    assert sorted(there) == sorted(here.splitlines())
