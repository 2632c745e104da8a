"""docs/control-plane.md on a real cluster: the commands of its code blocks, read from the page and typed in their order. What is typed
otherwise than printed stands in STEPS; a command that no step knows fails the test, and so does a step that the page does not have."""

import contextlib
import os
import re
import shutil
import subprocess

import pytest

from cluster import MOBULA, ROOT, RUN, eventually, kubectl
from real import RAY, START_S

PAGE = "docs/control-plane.md"
PATIENCE = 2 * START_S
PROGRAM = "import ray\nray.init()\nprint('sum', sum(ray.get([ray.remote(lambda i: i * i).remote(i) for i in range(10)])))\n"
NO_REGISTRY = {"--registry registry.example:5000": "--registryless"}  # this node reaches none
INSIDE = {"https://hub.example": "https://mobula-control-plane.hub.svc"}  # the operator runs in the control plane's cluster


def commands():
    """Commands of the indented blocks. Lines that end in a backslash are joined."""
    text = re.sub(r" \\\n +", " ", (ROOT / PAGE).read_text())
    return [line.strip() for line in re.findall(r"^ {4}(\S.*)$", text, re.M)]


class Person:
    """Types commands in a folder of its own, where hub.example is the control plane's Service."""

    def __init__(self, home):
        self.home, self.id, self.processes = home, "", []
        (home / "bin").mkdir()
        (home / "bin" / "mobula").symlink_to(MOBULA)
        (home / "kubeconfig").write_text((RUN / "admin.kubeconfig").read_text())
        (home / "work").mkdir()
        self.env = os.environ | {"HOME": str(home), "KUBECONFIG": str(home / "kubeconfig"), "XDG_CONFIG_HOME": str(home / "config"),
                                 "PATH": f"{home / 'bin'}:{shutil.which('kubectl').rpartition('/')[0]}:{os.environ['PATH']}"}
        self.hosts = home / "hosts"
        self.hosts.write_text("127.0.0.1 localhost\n")

    def shell(self, command):
        return ["unshare", "--mount", "bash", "-c", f'mount --bind {self.hosts} /etc/hosts; {command}']

    def type(self, command, code=0):
        out = subprocess.run(self.shell(command), cwd=self.home / "work", env=self.env, capture_output=True, text=True, timeout=PATIENCE,
                             check=False)
        assert out.returncode == code, f"{command}: status {out.returncode}\n{out.stdout}{out.stderr}"
        return out.stdout + out.stderr

    def begin(self, command):
        with self.said(len(self.processes)).open("w") as log:
            self.processes.append(subprocess.Popen(self.shell(f"exec {command}"), cwd=self.home / "work", env=self.env, stdout=log,
                                                   stderr=log))
        return len(self.processes) - 1

    def said(self, number):
        return self.home / f"said{number}"

    def end(self, number):
        self.processes[number].terminate()
        self.processes[number].wait(60)
        return self.said(number).read_text()


# ---- checks after a command of the page ----

def installed(person, _said):
    """From here on hub.example is the Service. The node's network has no default route, so its address gets one: kube-proxy needs it."""
    address = kubectl("-n", "hub", "get", "service", "mobula-control-plane", "-o", "jsonpath={.spec.clusterIP}").stdout
    node = kubectl("get", "nodes", "-o", 'jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}').stdout
    links = subprocess.run(["ip", "-o", "-4", "address"], capture_output=True, text=True, check=True, timeout=60).stdout
    device = re.search(rf"^\d+: (\S+) +inet {re.escape(node)}/", links, re.M)[1]
    subprocess.run(["ip", "route", "replace", f"{address}/32", "dev", device, "src", node], check=True, timeout=60)
    person.hosts.write_text(f"127.0.0.1 localhost\n{address} hub.example\n")


def certified(person, _said):
    assert "BEGIN CERTIFICATE" in (person.home / "work" / "ca.crt").read_text()


def registered(person, said):
    person.id = re.search(r"cldrsrc_\w{24}", said)[0]
    for words in ("kubectl -n team-a create token edge-operator", "kubectl -n ray create configmap mobula-control-plane-ca"):
        assert words in said, said


def verified(person, said):
    assert re.search(r"OPERATOR +PASSED", said) and re.search(r"KUBERNETES_PERMISSIONS +PASSED", said), said
    said = person.type("mobula check -n team-a --operator-namespace ray; true")
    assert "answers through the API server's proxy" in said and "has called at" in said, said


def succeeded(_person, said):
    assert "SUCCEEDED" in said, said


# ---- commands that are not simply run ----

def until_well(person, command):
    """The operator has a moment to call, and to report its first checks."""
    def well():
        said = person.type(command)
        assert "KUBERNETES_PERMISSIONS" in said, said
        return said

    return eventually(well, 120, 2)


def with_an_empty_namespace(person, command):
    return person.type(command.partition("#")[0])


def beside_the_other(person, command):
    """A second operator of the same cloud: it reaches the control plane, and is told who holds the cloud."""
    number = person.begin(command)

    def refused():
        said = person.said(number).read_text()
        assert "CloudInUse" in said or "another operator" in said or "held by" in said, said
        return True

    eventually(refused)
    return person.end(number)


def both_parts(person, command):
    """`first & second`, with the moment between them that a person's typing takes."""
    first, _, second = command.partition(" & ")
    number = person.begin(first)
    try:
        said = eventually(lambda: person.type(f"{second.replace('curl ', 'curl --fail --silent --show-error ')}"), 60, 1)
    finally:
        person.end(number)
    assert "KUBERNETES_PERMISSIONS" in said and '"cloudDeploymentId"' in said, said
    return said


# The beginning of each command, what is typed in place of parts of it, what is looked at behind it, how it is run.
def on_aws(_person, _command):
    """Needs an identity of AWS: tests/e2e/test_caller.py has one."""
    return ""


STEPS = [
    ("mobula install --apply --control-plane --namespace hub", NO_REGISTRY, installed, None),
    ("kubectl -n hub get configmap mobula-control-plane-ca", {}, certified, None),
    ("kubectl -n team-a create serviceaccount ann", {}, None, None),
    ("kubectl -n team-a create role people", {}, None, None),
    ("kubectl -n team-a create rolebinding ann", {}, None, None),
    ("kubectl -n team-a create token ann", {}, None, None),
    ("mobula cloud register --name edge", {}, registered, None),
    ("kubectl -n team-a create serviceaccount edge-operator", {}, None, None),
    ("kubectl -n team-a create role edge-operator", {}, None, None),
    ("kubectl -n team-a create rolebinding edge-operator", {}, None, None),
    ("kubectl -n team-a create token edge-operator", {}, None, None),
    ("kubectl create namespace ray", {}, None, with_an_empty_namespace),
    ("kubectl -n ray create secret generic edge", {}, None, None),
    ("kubectl -n ray create configmap mobula-control-plane-ca", {}, None, None),
    ("mobula install --apply --namespace ray", NO_REGISTRY | INSIDE | {"cldrsrc_…": "ID"}, None, None),
    ("mobula cloud verify edge", {}, verified, until_well),
    ("mobula compute-config create small", {}, None, None),
    ("mobula job submit --name train", {"ray:2.52.0": f"ray:{RAY}"}, None, None),
    ("mobula job wait train", {}, succeeded, None),
    ("kubectl -n hub create role read-tls", {}, None, None),
    ("kubectl -n hub create rolebinding read-tls", {}, None, None),
    ("mobula control-plane … --sts-url", {}, None, on_aws),
    ("mobula cloud register --name edge --operator-identity", {}, None, on_aws),
    ("mobula operator … --sts-url", {}, None, on_aws),
    ("mobula operator --namespace team-a", {"https://hub.example:8443": "https://hub.example", "cldrsrc_…": "ID",
                                            "FILE": "token --control-plane-ca-file ca.crt"}, None, beside_the_other),
    ("kubectl -n ray port-forward deploy/mobula", {}, None, both_parts),
]


@pytest.fixture
def person(tmp_path):
    made = Person(tmp_path)
    page = (ROOT / PAGE).read_text()
    (made.home / "work" / "main.py").write_text(PROGRAM)
    (made.home / "work" / "small.yaml").write_text(re.search(r"in `small.yaml`, such as `(.+?)`", page)[1])
    yield made
    for process in made.processes:
        if process.poll() is None:
            made.end(process)
    with contextlib.suppress(AssertionError):
        made.type("mobula job delete train")
    for flags in (("--namespace", "ray", "--watch-namespace", "team-a"),
                  ("--control-plane", "--namespace", "hub", "--watch-namespace", "team-a")):
        made.type(f"mobula uninstall --apply --purge --timeout 120s {' '.join(flags)}; true")
    kubectl("delete", "namespace", "ray", "team-a", "hub", "--ignore-not-found")


def test_the_commands_of_the_page(person):
    typed = commands()
    assert len(typed) == len(STEPS), (len(typed), len(STEPS), typed)
    for printed, (begins, replaced, look, run) in zip(typed, STEPS, strict=True):
        assert printed.startswith(begins), f"{PAGE} has a command that no step knows, or in another order: {printed}"
        command = printed
        for part, by in replaced.items():
            assert part in command, (part, printed)
            command = command.replace(part, by.replace("ID", person.id))
        said = run(person, command) if run else person.type(command)
        if look:
            look(person, said)
    assert "sum 285" in person.type("mobula job logs train")
