"""A running fleet with its control plane is saved and brought to another namespace, and to another cluster, by the commands of
docs/restore.md. The fleet that was saved goes on until its operator ends, and keeps its pods."""

import contextlib
import os
import re
import subprocess

import pytest

from cluster import MOBULA, V1, Workspace, another_rig, definitions, eventually, kubectl, manifests, workspace
from dashboards import running, serve, start
from hub import GROUP, PEOPLE, account, define, edge_operator, hubs, hubs_in, meet, operator_rule  # noqa: F401
from hub import definitions as defined  # noqa: F401
from rig import KUBECTL
from test_restore import PAGE, Fleet, items, type_all
from test_snapshot import operators_in, pods_of

pytestmark = pytest.mark.slow
CHAPTER = {"namespace": "Another namespace", "cluster": "Restore"}
FLAGS = "--kinds=all --control-plane-url=https://hub.example --cloud-deployment-id={} --control-plane-token=edge"


def commands(chapter):
    """All commands of a chapter of the page, in its order."""
    text = PAGE.read_text().split(f"\n## {chapter}\n")[1].split("\n## ")[0]
    return [line.strip() for line in text.splitlines() if re.match(r" {4}(kubectl|mobula) ", line)]


class Moved(Fleet):
    """The fleet in another place."""

    def __init__(self, space, fleet, how):  # pylint: disable=super-init-not-called
        self.space, self.had, self.how = space, fleet.had, how

    def stands_as_before(self):
        """In another namespace clouds and workloads are new ones."""
        if self.how == "cluster":
            return super().stands_as_before()
        now, had = self.facts(), self.had
        assert now["clouds"].keys() == had["clouds"].keys() and not set(now["clouds"].values()) & set(had["clouds"].values()), now
        assert now["of"] != had["of"] and set(had["folders"]) <= set(now["folders"]), (now, had)
        assert all(now[k] == had[k] for k in ("job", "workload")), now
        return True


class Mover:
    """Types the page's commands into the cluster where the fleet goes, with the names of this test."""

    def __init__(self, folder, old, new, deployment):
        self.folder, self.new, self.deployment = folder, new, deployment
        self.names = {"team-a": old.name, "team-b": new.name, "ray-b": f"{new.name}-ray", "ray": f"{new.name}-ray"}
        (folder / "bin").mkdir()
        (folder / "bin/mobula").symlink_to(MOBULA)
        (folder / "bin/kubectl").symlink_to(KUBECTL)

    @property
    def operator_space(self):
        return Workspace(self.new.api, self.names["ray"])

    def type(self, command, codes=(0,)):
        for flag in ("-n", "--namespace", "--watch-namespace", "--operator-namespace"):
            command = re.sub(rf"({flag}) (\S+)", lambda m: f"{m[1]} {self.names[m[2]]}", command)
        command = re.sub(r'"namespace":"([^"]+)"', lambda m: f'"namespace":"{self.names[m[1]]}"', command)
        env = os.environ | {"KUBECONFIG": str(self.new.api.run / "admin.kubeconfig"), "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        out = subprocess.run(command, shell=True, cwd=self.folder, env=env, capture_output=True, text=True, timeout=240, check=False)
        assert out.returncode in codes, (command, out.stdout, out.stderr)
        return out.stdout + out.stderr

    def do(self, chapter, begin):
        """begin: starts the control plane after its objects are there; its cloud's deployment id."""
        for command in commands(chapter):
            if command.startswith("mobula install"):
                self.deployment = self.deployment or begin()
                self.restore_own()
                self.type(f"{command} {FLAGS.format(self.deployment)}")
            else:
                self.type(command, codes=(0, 3, 4) if command.startswith("mobula check") else (0,))

    def restore_own(self):
        """The page leaves to the reader what the reader made: here the token of the operator and the CA of the control plane."""
        space = self.operator_space
        self.new.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": space.name}})
        space.kubectl("create", "configmap", "mobula-control-plane-ca", f"--from-file=ca.crt={self.new.api.run / 'pki/ca.crt'}")
        space.kubectl("create", "secret", "generic", "edge", "--from-literal=token=t")

    def leave(self):
        self.type("mobula uninstall --apply --leave-work --namespace ray")
        self.new.api.call("DELETE", f"/api/v1/namespaces/{self.names['ray']}")


@contextlib.contextmanager
def place(how, space):
    """The namespace where the fleet goes: a Workspace."""
    if how == "namespace":
        with workspace(space.api, f"{space.name}-b") as new:
            yield new
        return
    with another_rig("move", NODES="3", SCHEDULER="1") as api:
        admin = api.run / "admin.kubeconfig"
        kubectl("apply", "--server-side", "-f", "-", stdin=manifests("--crds-only", "--kinds=all", "--no-admission-policy"),
                kubeconfig=admin)
        kubectl("wait", "--for=condition=Established", *(f"crd/{n}" for n in definitions()), "--timeout=120s", kubeconfig=admin)
        define(admin)
        with workspace(api, space.name) as new:
            yield new


@pytest.mark.parametrize("how", ["namespace", "cluster"])
def test_a_running_fleet_is_moved(space, hubs, operators, board, tmp_path, how):  # noqa: F811
    fleet = Fleet(space, hubs, operators, board, tmp_path)
    start(space, board, "busy")  # it runs while the backup is made
    running(space, "busy")
    type_all(space, tmp_path, "Save")
    before, submitted = pods_of(space, "c"), len(board.submissions)
    fleet.stop()
    there = tmp_path / "there"
    there.mkdir()
    with place(how, space) as new, hubs_in(new, there) as hubs_there, operators_in(new, there) as operators_there:
        person = meet(new, hubs_there, there)
        mover = Mover(tmp_path, space, new, fleet.had["clouds"]["edge"] if how == "cluster" else None)

        def new_id():
            found = eventually(lambda: new.api.get(new.path("clouds", "edge", GROUP))["status"]["deploymentId"])
            assert found in person.type("cloud", "list")
            return found

        person.login(account(new, "ann", *PEOPLE))
        mover.do(CHAPTER[how], new_id)
        prod_token = account(new, "prod", operator_rule("prod"))
        operator = edge_operator(person, mover.operator_space, operators_there, there, "edge", mover.deployment)
        moved = Moved(new, fleet, how)
        new.ready("c", 2)
        eventually(lambda: new.find(new.path("rayjobs", "runs", V1)))
        eventually(moved.stands_as_before)
        # The job that was over is not run again; the one that was running is, with a cluster of its own.
        assert new.job("j")["status"]["jobDeploymentStatus"] == "Complete"
        serve(new, board, "busy")
        running(new, "busy")
        assert len(board.submissions) == submitted + 1
        board.end("SUCCEEDED")
        new.becomes("busy", "Complete")
        eventually(lambda: moved.workload("runs").get("status", {}).get("state") == "STARTING")

        def told_to_prod():
            code, answer = person.hub.sync(prod_token, moved.facts()["clouds"]["prod"], wait=0)
            assert code == 200 and [w.get("state") for w in answer["workloads"]] == ["SUCCEEDED"], (code, answer)
            return True

        eventually(told_to_prod, step=1)
        assert pods_of(space, "c") == before and not pods_of(new, "c") & before
        assert operator.stop() == 0
        mover.leave()
