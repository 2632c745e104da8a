"""The commands of the pages that install: each is one that this program, kubectl, Helm or the API server takes as it stands, or a
cloud's own."""

import re
import shlex
import subprocess

import pytest

from cluster import ROOT, RUN, kubectl, mobula
from test_chart import chart, helm  # noqa: F401 (fixtures)

ELSEWHERE = ("az ", "aws ", "eksctl ", "oc new-project", "oc adm", "skopeo ", "make ", "ctr ")
NAMES = {"REGISTRY": "registry", "ACCOUNT": "1", "REGION": "eu-1", "…": ""}  # the reader's own


PAGES = {"docs/install.md": 15, "docs/airgap.md": 6, "docs/egress.md": 6, "README.md": 6}  # and how many of mobula's each has at least


def lines(page):
    """Indented lines that begin with a command, and commands within the text."""
    text = (ROOT / page).read_text()
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
        elif page == "docs/install.md":
            pytest.fail(f"{page} has a command that nobody tries: {command}")
        else:
            continue  # what a command prints
        run[first] += 1
    assert run["mobula"] >= PAGES[page], run
    if page == "docs/install.md":
        assert run["kubectl"] >= 3 and run["helm"] == 1, run
