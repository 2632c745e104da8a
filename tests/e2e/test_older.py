"""The programs of earlier commits, built from the history: each installs itself and runs work, is upgraded to this tree's program while the
work runs, and is rolled back. No pod is deleted or created, and each operator carries out changes of what the other one made."""

import json
import subprocess

import pytest

from cluster import ROOT, Workspace, eventually, kubectl, raycluster
from dashboards import running, serve, start
from processes import Operator
from test_apply import made, place, run  # noqa: F401 fixtures
from test_matrix import BEFORE_PLACEMENT, FIRST

pytestmark = [pytest.mark.slow, pytest.mark.tls12]
FLAGS = ("--no-crds", "--registry=localhost")


@pytest.fixture
def older(request):
    """The program of an earlier commit. older.sh limits the build, not the wait for the same build of another part."""
    out = subprocess.run([ROOT / "tests/rig/older.sh", request.param], capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    return out.stdout.strip()


class Place:
    """An installation, and its operator as a process with the installation's account."""

    def __init__(self, api, name, folder):
        self.space, self.folder, self.operator = Workspace(api, name), folder, None
        self.counted = 0

    def pods(self):
        return {p["metadata"]["name"]: p["metadata"]["uid"] for p in self.space.pods() if "ray.io/cluster" in p["metadata"]["labels"]}

    def run(self, program=None):
        """Ends the operator and starts this one, with the arguments of the Deployment, and waits until it has seen all clusters."""
        self.stop()
        self.counted += 1
        deployment = json.loads(self.space.kubectl("get", "deployment", "mobula", "-o", "json").stdout)
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert container["args"][:2] == ["operator", f"--namespace={self.space.name}"], container
        self.operator = Operator(self.folder, self.space.name, *container["args"][2:], program=program, name=f"operator{self.counted}")
        self.operator.ready()

    def stop(self):
        assert self.operator is None or self.operator.stop() == 0, self.operator.log()

    def scale(self, workers):
        """Changes cluster c, and waits until it has so many workers."""
        self.space.change("c", {"workerGroupSpecs": raycluster("c", workers=workers)["spec"]["workerGroupSpecs"]})
        self.space.ready("c", workers + 1)


@pytest.fixture
def at(api, made, tmp_path):  # noqa: F811
    found = Place(api, made, tmp_path)
    yield found
    found.stop()


def kept(at, before):
    """All pods of before still run."""
    now = at.pods()
    assert before.items() <= now.items(), (before, now)
    return now


@pytest.mark.parametrize("older,of_that_version", [(FIRST, ["--raycronjobs", "--no-network-policy"]), (BEFORE_PLACEMENT, [])],
                         indirect=["older"])
def test_upgrade_and_rollback_with_running_work(at, older, of_that_version, board):
    """The documented order: definitions first, then the objects, and the Deployment's new pod ends the old one's. of_that_version: flags
    for what the older version does without a flag. Without them the upgrade is refused, and names no function that the version lacks."""
    space, flags = at.space, ("--namespace", at.space.name, *FLAGS, *of_that_version)
    old_flags = ("--namespace", space.name, "--no-crds", "--image=localhost/mobula:0.0.9")
    printed = subprocess.run([older, "install", "--print", *old_flags], capture_output=True, text=True, check=True, timeout=60).stdout
    space.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=printed)
    at.run(older)
    space.apply(raycluster("c"))
    space.ready("c", 2)
    start(space, board)
    running(space)
    work, submitted = at.pods(), len(board.submissions)

    if of_that_version:
        _, said = run("upgrade", "--namespace", space.name, *FLAGS, status=1)
        assert "runs with flags that would go: --raycronjobs. Give again" in said, said
    run("upgrade", *flags)
    at.run()
    at.scale(2)
    before = kept(at, work)
    assert len(before) == len(work) + 1, (work, before)

    run("rollback", "--namespace", space.name, "--more-rights")
    at.run(older)
    at.scale(3)
    before = kept(at, before)
    at.scale(2)
    assert work.items() <= at.pods().items() and len(at.pods()) == len(work) + 1, (work, at.pods())

    run("upgrade", *flags)
    at.run()
    running(space)
    board.end("SUCCEEDED")
    space.becomes("j", "Complete")
    assert len(board.submissions) == submitted
    of_c = {name: uid for name, uid in work.items() if name.startswith("c-")}
    assert of_c.items() <= at.pods().items() and len(of_c) == 2, (of_c, at.pods())
    run("uninstall", "--apply", "--purge", "--namespace", space.name)
    eventually(lambda: not at.pods())
