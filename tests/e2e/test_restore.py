"""A fleet with its control plane is lost and restored from a backup: the commands of docs/restore.md, objects as Velero restores them, and
the files of etcd."""

import json
import os
import re
import subprocess

import pytest

from cluster import ROOT, V1, Refused, eventually, raycluster
from dashboards import running, start
from hub import GROUP, PEOPLE, account, definitions, edge, hubs, meet, operator_rule, register  # noqa: F401
from processes import config_of
from rig import KUBECTL

PAGE = ROOT / "docs/restore.md"
VELERO = (("pods", "/api/v1"), ("services", "/api/v1"), ("configmaps", "/api/v1"), ("clouds", GROUP), ("computeconfigs", GROUP),
          ("rayclusters", V1), ("rayjobs", V1), ("workloads", GROUP))  # custom resources by name, after what is built in


def commands(chapter):
    """kubectl's commands of a chapter of the page."""
    text = PAGE.read_text().split(f"\n## {chapter}\n")[1].split("\n## ")[0]
    return [line.strip() for line in text.splitlines() if line.startswith("    kubectl ")]


def type_all(space, folder, chapter):
    found = commands(chapter)
    assert len(found) >= 3
    env = os.environ | {"KUBECONFIG": str(space.api.run / "admin.kubeconfig"), "PATH": f"{os.path.dirname(KUBECTL)}:{os.environ['PATH']}"}
    for command in found:
        subprocess.run(command.replace("team-a", space.name), shell=True, check=True, cwd=folder, env=env, timeout=120)


def items(space, plural, group):
    found = space.api.get(space.path(plural, group=group))["items"]
    return [o for o in found if o["metadata"]["name"] not in ("kubernetes", "kube-root-ca.crt", "mobula-tools")]


def save_as_velero(space, folder):
    """Velero restores no status, no uid and no owner."""
    for plural, group in VELERO:
        kept = items(space, plural, group)
        for o in kept:
            o.pop("status", None)
            o["metadata"] = {k: v for k, v in o["metadata"].items() if k in ("name", "labels", "annotations", "finalizers")}
            spec = o.get("spec", {})
            spec.pop("nodeName", None)
            for field in ("clusterIP", "clusterIPs"):
                if spec.get(field) not in (None, "None", ["None"]):
                    spec.pop(field)
        (folder / plural).write_text(json.dumps(kept))


def restore_as_velero(space, folder):
    for plural, group in VELERO:
        for o in json.loads((folder / plural).read_text()):
            kind = {"pods": "Pod", "services": "Service", "configmaps": "ConfigMap"}.get(plural)
            space.api.call("POST", space.path(plural, group=group), {"apiVersion": "v1", "kind": kind} | o if kind else o)


def lose(space):
    """Everything of the fleet is gone, as if the cluster were a new one."""
    for plural, group in reversed(VELERO):
        for o in items(space, plural, group):
            path = space.path(plural, o["metadata"]["name"], group)
            try:
                if o["metadata"].get("finalizers"):
                    space.api.patch(path, {"metadata": {"finalizers": None}})
                space.api.call("DELETE", path)
            except Refused as e:
                if e.status != 404:  # Kubernetes has deleted it after its owner
                    raise
    eventually(lambda: not any(items(space, plural, group) for plural, group in VELERO))


class Fleet:
    """A control plane with two clouds, the operator of one, a cluster, a job that is over, and workloads of both clouds."""

    def __init__(self, space, hubs, operators, board, folder):  # noqa: F811
        self.space, self.hubs, self.operators, self.folder = space, hubs, operators, folder
        self.person = meet(space, hubs, folder)
        self.person.login(account(space, "ann", *PEOPLE))
        self.operator = edge(self.person, space, operators, folder, "edge")
        self.prod, self.prod_token = register(self.person, "prod"), account(space, "prod", operator_rule("prod"))
        space.apply(raycluster("c"))
        space.ready("c", 2)
        start(space, board)
        running(space)
        board.end("SUCCEEDED")
        space.becomes("j", "Complete")
        work = folder / "work"
        work.mkdir()
        (work / "main.py").write_text("print(1)\n")
        for name, cloud, more in (("over", "prod", ("--working-dir", work)), ("runs", "edge", ("--working-dir", work))):
            self.person.type("job", "submit", "--name", name, "--cloud", cloud, "--image-uri", "rayproject/ray:2.52.0", *more, "--", "true")
        eventually(lambda: space.find(space.path("rayjobs", "runs", V1)))
        uid = self.workload("over")["metadata"]["uid"]
        over = {"uid": uid, "generation": 1, "state": "SUCCEEDED"}
        code, answer = self.person.hub.sync(self.prod_token, self.prod, statuses=[over], wait=0)
        assert code == 200, answer
        for path in (space.path("rayjobs", "j", V1), space.path("workloads", "over", GROUP)):
            eventually(lambda p=path: "mobula.dev/ended" in space.api.get(p)["metadata"].get("annotations", {}))
        eventually(lambda: "mobula.dev/deployment-id" in space.api.get(space.path("clouds", "prod", GROUP))["metadata"]["annotations"])
        self.had = self.facts()

    def workload(self, name):
        return self.space.api.get(self.space.path("workloads", name, GROUP))

    def facts(self):
        space = self.space
        return {"clouds": {c["metadata"]["name"]: c["status"]["deploymentId"] for c in items(space, "clouds", GROUP)},
                "job": space.job("j")["status"]["jobStatus"], "workload": self.workload("over")["status"]["state"],
                "folders": sorted(o["metadata"]["name"] for o in items(space, "configmaps", "/api/v1") if "-dir-" in o["metadata"]["name"]),
                "of": space.job("runs")["metadata"]["labels"]["mobula.dev/workload-uid"]}

    def stands_as_before(self):
        """No folder is missing. The operator stores its own copy of a folder again, under the name of another generation."""
        now, had = self.facts(), self.had
        assert {**now, "folders": None} == {**had, "folders": None} and set(had["folders"]) <= set(now["folders"]), (now, had)
        return True

    def stop(self):
        assert self.operator.stop() == 0 and self.person.hub.stop() == 0

    def go_on(self):
        """The same operator and control plane, as processes of the restored cluster."""
        self.person.hub = self.hubs("again", "--https-addr", "127.0.0.1:0", "--tls-cert", self.person.ca, "--tls-key",
                                    self.folder / "tls.key")
        port = re.search(r"for=https-addr address=\S+ port=(\d+)", self.person.hub.log()).group(1)
        flags = [f for f in self.operator.flags if not f.startswith("--control-plane-url")]
        self.operator = self.operators(f"--control-plane-url=https://localhost:{port}", *flags,
                                       config=config_of(self.space, self.folder, name="again"))

    def check(self, board, submitted):
        space = self.space
        space.ready("c", 2)
        eventually(self.stands_as_before)
        assert space.job("j")["status"]["jobDeploymentStatus"] == "Complete" and len(board.submissions) == submitted
        (job,) = [o for o in items(space, "rayjobs", V1) if o["metadata"]["name"] == "runs"]
        assert job["metadata"]["labels"]["mobula.dev/workload-uid"] == self.had["of"]
        eventually(lambda: self.workload("runs").get("status", {}).get("state") == "STARTING")
        code, answer = self.person.hub.sync(self.prod_token, self.prod, wait=0)
        assert code == 200 and [w.get("state") for w in answer["workloads"]] == ["SUCCEEDED"], answer
        assert self.operator.stop() == 0


@pytest.mark.parametrize("how", ["kubectl", "velero"])
def test_a_fleet_is_restored(space, hubs, operators, board, tmp_path, how):  # noqa: F811
    fleet = Fleet(space, hubs, operators, board, tmp_path)
    if how == "velero":
        save_as_velero(space, tmp_path)
    else:
        type_all(space, tmp_path, "Save")
    pods, submitted = {p["metadata"]["name"] for p in space.pods("c")}, len(board.submissions)
    fleet.stop()
    lose(space)
    if how == "velero":
        restore_as_velero(space, tmp_path)
        fleet.go_on()
    else:
        fleet.go_on()
        type_all(space, tmp_path, "Restore")
    fleet.check(board, submitted)
    if how == "velero":
        assert {p["metadata"]["name"] for p in space.pods("c")} == pods
        uid = space.cluster("c")["metadata"]["uid"]
        assert all(p["metadata"]["ownerReferences"][0]["uid"] == uid for p in space.pods("c"))
