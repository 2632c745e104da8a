"""The commands of the pages that install: each is one that this program, kubectl, Helm or the API server takes as it stands, or a
cloud's own."""

import os
import re
import shlex
import subprocess

import pytest

from cluster import MOBULA, ROOT, RUN, eventually, kubectl, mobula
from rig import KUBECTL
from test_chart import chart, helm  # noqa: F401 (fixtures)

ELSEWHERE = ("az ", "aws ", "eksctl ", "oc new-project", "oc adm", "skopeo ", "make ", "ctr ")
NAMES = {"REGISTRY": "registry", "ACCOUNT": "1", "REGION": "eu-1", "…": ""}  # the reader's own


PAGES = {"docs/install.md": 11, "docs/platforms.md": 3, "docs/airgap.md": 6, "docs/egress.md": 6, "README.md": 6}  # minimum of commands


def lines(page):
    return lines_of((ROOT / page).read_text())


def lines_of(text):
    """Indented lines that begin with a command, and commands within the text."""
    found = [line.strip().replace("build/mobula ", "mobula ") for line in text.splitlines() if re.match(r" {4}[a-z]", line)]
    found += [c.replace("\n", " ") for c in re.findall(r"`((?:mobula|kubectl) [a-z][^`]+)`", text)]
    return [c for c in dict.fromkeys(found) if not re.match(r"[a-z]\S*:( |$)", c)]  # YAML


def words(command):
    """Of its first part: what pipes and files get of it is not looked at."""
    for name, value in NAMES.items():
        command = command.replace(name, value)
    return shlex.split(re.split(r" >| \| | && ", command)[0], comments=True)


def run_mobula(command):
    what, *flags = words(command)[1:]
    if what in ("install", "upgrade"):
        flags = ["--print", *(f for f in flags if f not in ("--apply", "--print"))]
        if "--registryless" in flags and "--image" not in flags:  # only a cluster says which image its nodes have
            flags += ["--image", "registry.k8s.io/pause:3.10"]
    if what == "uninstall":
        flags = [f for f in flags if f not in ("--apply", "--purge")]
    if what == "check":
        flags += ["--kubeconfig", str(RUN / "admin.kubeconfig")]
    if what == "egress" and "--api-server" not in flags:
        flags += ["--kubeconfig", str(RUN / "admin.kubeconfig")]
    helped = what not in ("install", "upgrade", "uninstall", "check", "egress", "bundle", "images", "completion") or not flags
    out = mobula(what, "--help") if helped else mobula(what, *flags)
    # What asks for a file of the reader's own fails for lack of it, and not because it is no such command.
    assert out.returncode in {"check": (0, 3, 4), "bundle": (1,), "images": (0, 1)}.get(what, (0,)), (command, out.stderr)
    if what == "rollback":
        assert all(f.split("=")[0] in out.stdout for f in flags if f.startswith("--"))


def run_kubectl(command, space):
    flags = [f for f in words(command)[1:] if f not in ("-n", "ray")]
    if "mobula.yaml" in flags or flags[0] in ("wait", "get"):
        return
    how = "--dry-run=client" if flags[0] == "create" else "--dry-run=server"
    kubectl("-n", space.name, *flags, how)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_the_page(page, space, helm, chart):  # noqa: F811
    run = {"mobula": 0, "kubectl": 0, "helm": 0}
    for command in lines(page):
        first = command.split()[0]
        if command.startswith(ELSEWHERE) or command.startswith("airgap/make-chart "):  # the chart is the fixture's
            continue
        if first == "mobula":
            run_mobula(command)
        elif first in ("kubectl", "oc"):
            run_kubectl(command, space)
            first = "kubectl"
        elif first == "helm":
            flags = ["--namespace=ray" if f == "ray" else f for f in words(command)[4:] if f not in ("--namespace", "--create-namespace")]
            subprocess.run([helm, "template", "mobula", chart, *flags], check=True, capture_output=True, timeout=120)
        elif page in ("docs/install.md", "docs/platforms.md"):
            pytest.fail(f"{page} has a command that nobody tries: {command}")
        else:
            continue  # what a command prints
        run[first] += 1
    assert run["mobula"] >= PAGES[page], run
    if page == "docs/install.md":
        assert run["kubectl"] >= 3 and run["helm"] == 1, run


# ---- commands of docs/install.md, run as their readers ----

PAGE = "docs/install.md"


class Reader:
    """Runs the page's commands in a folder with the files that they name. Each installation is removed before the next one."""

    def __init__(self, folder, helm, kubeconfig):  # noqa: F811
        self.folder, self.kubeconfig, self.flags, self.stands = folder, kubeconfig, "", None
        (folder / "bin").mkdir(exist_ok=True)
        (folder / "build").mkdir(exist_ok=True)
        for name, there in (("bin/mobula", MOBULA), ("bin/kubectl", KUBECTL), ("bin/helm", helm), ("airgap", ROOT / "airgap")):
            if not (folder / name).exists():
                (folder / name).symlink_to(there)

    def shell(self, command, codes=(0,)):
        env = os.environ | {"KUBECONFIG": str(self.kubeconfig), "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        out = subprocess.run(command, shell=True, cwd=self.folder, env=env, capture_output=True, text=True, timeout=240, check=False)
        assert out.returncode in codes, (command, out.stdout, out.stderr)

    def leave(self):
        if self.stands == "helm":
            self.shell("kubectl -n ray delete rayclusters.ray.io --all && helm uninstall mobula --namespace ray --wait")
        elif self.stands:
            self.shell("mobula uninstall --apply --purge --namespace ray")
        self.stands = None

    def type(self, command):
        first, what = command.split()[:2]
        if "…" not in command and what == "install":
            self.leave()
            self.stands, self.flags = first, re.sub(r"mobula install|--apply|--create-namespace|#.*", "", command)
        self.shell(command.replace("…", self.flags), codes=(0, 3, 4) if what == "check" else (0,))
        if what == "uninstall":
            self.stands = None


def chapters():
    text = (ROOT / PAGE).read_text()
    return {part.split("\n", 1)[0]: [c for c in lines_of(part) if not c.startswith(ELSEWHERE) and " " in c.partition(" ")[2]]
            for part in re.split(r"^## ", text, flags=re.M)[1:]}


@pytest.fixture
def readers(api, helm, tmp_path):  # noqa: F811
    """The cluster's admin, and Ann, an admin of three namespaces."""
    for name in ("ray", "team-a", "team-b"):
        kubectl("create", "namespace", name)
        kubectl("-n", name, "create", "rolebinding", "ann-admin", "--clusterrole=admin", "--user=ann")
        kubectl("-n", name, "create", "rolebinding", "ann-ray", "--clusterrole=ray-admin", "--user=ann")
    info = {"architecture": "amd64"}
    for node in api.get("/api/v1/nodes")["items"]:
        path, info = f"/api/v1/nodes/{node['metadata']['name']}/status", node["status"]["nodeInfo"] | info
        api.patch(path, {"status": {"images": [{"names": ["registry.k8s.io/pause:3.10"], "sizeBytes": 1}], "nodeInfo": info}})
    admin = RUN / "admin.kubeconfig"
    (tmp_path / "ann").write_text(admin.read_text().replace("user: {client-certificate", "user: {as: ann, client-certificate"))
    yield Reader(tmp_path, helm, admin), Reader(tmp_path, helm, tmp_path / "ann")
    kubectl("delete", "clusterrole", "ray-admin", "--ignore-not-found")
    kubectl("delete", "namespace", "ray", "team-a", "team-b")


def test_commands_of_the_install_page(readers):
    admin, ann = readers
    found = chapters()
    for chapter in ("From a registry, as manifests", "From a registry, as a Helm chart", "Without a registry", "Proxies and CAs"):
        assert len(found[chapter]) >= 3
        for command in found.pop(chapter):
            admin.type(command)
        admin.leave()
    # The upgrade starts from an older version.
    admin.type("mobula install --apply --namespace ray --image registry.example:5000/mobula:0.0.9")
    admin.flags = "--image registry.example:5000/mobula:0.1.0"
    upgrade = found.pop("Upgrade, roll back, uninstall")
    assert [c.split()[1] for c in upgrade] == ["upgrade", "rollback", "uninstall"]
    for command in upgrade:
        admin.type(command)
    role, crds, ours = sorted(found.pop("Who applies what"), key=lambda c: (c.startswith("mobula"), "--no-crds" in c))
    for command in role, crds:
        admin.type(command)
    for namespace in ("ray", "team-a", "team-b"):  # bindings take effect a moment later
        may = ("-n", namespace, "auth", "can-i", "create", "events.events.k8s.io")
        eventually(lambda may=may: kubectl(*may, kubeconfig=ann.kubeconfig, check=False).stdout == "yes\n")
    ann.type(ours)
    ann.leave()
    admin.leave()
    assert not any(found.values()), found
