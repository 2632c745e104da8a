"""What the commands say offline is what the server says."""

import contextlib
import fcntl
import json
import os
import pty
import struct
import subprocess
import termios

import pytest

from cluster import MOBULA, RUN, Refused, kubectl, mobula, raycluster

EXAMPLES = ["raycluster", "raycluster-autoscaling", "legacy-cluster", "legacy-cluster2"]


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_server_takes_what_explain_prints(space, example):
    out = mobula("explain", "-f", f"airgap/examples/{example}.yaml", "--output", "json")
    assert out.returncode == 0, out.stderr
    listed = json.loads(out.stdout)["items"]
    assert {o["kind"] for o in listed} == {"Pod", "Service"} and len(listed) >= 2  # a head and its service
    for obj in listed:
        obj["metadata"]["namespace"] = space.name
        kubectl("apply", "--server-side", "--validate=strict", "--dry-run=server", "-f", "-", stdin=json.dumps(obj))



def test_the_operator_makes_what_explain_prints(space, operator):
    """The same text: everything in the explained pod stands in the one that was made."""
    out = json.loads(mobula("explain", "-f", "airgap/examples/raycluster.yaml", "--output", "json").stdout)["items"]
    kubectl("-n", space.name, "apply", "-f", "airgap/examples/raycluster.yaml")
    space.ready("example", 3)
    head = next(o for o in out if o["kind"] == "Pod" and o["metadata"]["name"] == "example-head")
    made = space.api.get(space.path("pods", "example-head"))
    assert within(head["spec"], made["spec"]) is None
    worker = next(o for o in out if o["kind"] == "Pod" and o["metadata"]["labels"]["ray.io/node-type"] == "worker")
    one = next(p for p in space.pods("example") if p["metadata"]["labels"].get("ray.io/worker-group-replica-index") == "0")
    text = json.dumps(worker["spec"]).replace(".default.svc", f".{space.name}.svc")
    assert within(json.loads(text), one["spec"]) is None


def within(part, whole, at="spec"):
    """The first place where whole does not hold what part says, or None. Lists may be longer at their end (the server's token volume)."""
    if isinstance(part, dict) and isinstance(whole, dict):
        found = (within(v, whole.get(k), f"{at}.{k}") for k, v in part.items())
    elif isinstance(part, list) and isinstance(whole, list) and len(part) <= len(whole):
        found = (within(p, w, f"{at}[{i}]") for i, (p, w) in enumerate(zip(part, whole)))
    else:
        return None if part == whole or same_amount(part, whole) else f"{at}: {part!r} is {whole!r}"
    return next((f for f in found if f), None)


def same_amount(a, b):
    """The server writes 1000m as 1."""
    return {a, b} == {"1000m", "1"} if isinstance(a, str) and isinstance(b, str) else False


def change(text, old, new):
    assert old in text
    return text.replace(old, new)


BAD = [
    ("containers: [{name: h, image: i}]", "containers: []", "spec.headGroupSpec.template.spec.containers"),
    ("groupName: a", "groupName: a b", "spec.workerGroupSpecs[0].groupName"),
    ("minReplicas: 0", "minReplicas: 3", "spec.workerGroupSpecs[0].minReplicas"),
    ("cpu: 1", "cpu: lots", "resources.limits.cpu"),
    ("name: c}", "name: c.d}", "metadata.name"),
]
GOOD = """apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: c}
spec:
  headGroupSpec:
    rayStartParams: {}
    template: {spec: {containers: [{name: h, image: i}]}}
  workerGroupSpecs:
  - groupName: a
    replicas: 1
    minReplicas: 0
    maxReplicas: 2
    rayStartParams: {}
    template: {spec: {containers: [{name: w, image: i, resources: {limits: {cpu: 1}}}]}}
"""


def test_validate_says_all_errors_with_their_lines(tmp_path):
    file = tmp_path / "all.yaml"
    text = GOOD
    for old, new, _ in BAD:
        text = change(text, old, new)
    file.write_text(text)
    out = mobula("validate", "-f", file)
    assert out.returncode == 1
    lines = (out.stdout + out.stderr).splitlines()
    for _, new, field in BAD:
        number = next(i for i, line in enumerate(text.splitlines(), 1) if new in line)
        assert any(line.startswith(f"{file}:{number}: ") and field in line for line in lines), f"{field} at line {number} in {lines}"


@pytest.mark.parametrize("case", BAD, ids=lambda c: c[2])
def test_what_validate_refuses_the_operator_refuses(space, operator, tmp_path, case):
    """In the cluster it is the server, or the condition Valid, that says the same."""
    old, new, field = case
    file = tmp_path / "c.yaml"
    file.write_text(change(GOOD, old, new))
    assert mobula("validate", "-f", file).returncode == 1
    out = kubectl("-n", space.name, "apply", "-f", file, check=False)
    if out.returncode:
        operator.says("msg=listening")  # a signal before that kills the process without a shutdown
        return
    told = kubectl("-n", space.name, "wait", "--for=condition=Valid=false", "--timeout=120s", "rayclusters.ray.io", "--all", "-o",
                   "jsonpath={.status.conditions[?(@.type=='Valid')].message}").stdout
    assert field in told and not space.pods()


def test_good_manifests_pass_everywhere(space, tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(GOOD)
    assert mobula("validate", "-f", file).returncode == 0
    kubectl("-n", space.name, "apply", "--dry-run=server", "--validate=strict", "-f", file)
    for example in EXAMPLES:
        out = mobula("validate", "-f", f"airgap/examples/{example}.yaml")
        assert out.returncode == 0 and "errors: 0, warnings: 0" in out.stdout + out.stderr


WRONG = ["frob", "", "operator --nonsense", "operator --namespace", "operator --log-level loud", "operator --tools magic", "operator extra",
         "install", "validate", "explain -x", "wait-gcs", "wait-gcs --address h:p", "agent",
         "operator --lease-duration 1s --renew-deadline 2s"]


@pytest.mark.parametrize("words", [w.split() for w in WRONG], ids=[w or "nothing" for w in WRONG])
def test_wrong_usage_is_status_2(words):
    out = mobula(*words)
    assert out.returncode == 2 and out.stdout == "" and out.stderr, (out.returncode, out.stderr)


def test_help_fits_a_terminal():
    """Its flags do, with a word on one line or the other; what is no terminal gets a line for each flag."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen([MOBULA, "help", "install"], stdin=theirs, stdout=theirs)
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # the end of it
        while part := os.read(ours, 65536):
            said += part
    os.close(ours)
    assert process.wait(10) == 0
    said, plain = said.decode(), mobula("help", "install").stdout
    assert said.split() == plain.split()
    flags = said.partition("\nusage: ")[2].partition("\nexamples:")[0].splitlines()[1:]
    assert len(flags) > 80 and max(map(len, flags)) <= 80
    assert max(map(len, plain.splitlines())) > 120


def test_a_full_disk_is_told():
    for what in ("help", "version", "completion bash", "install --print"):
        with open("/dev/full", "w") as full:
            out = subprocess.run([MOBULA, *what.split()], stdout=full, stderr=subprocess.PIPE, text=True)
        assert (out.returncode, out.stderr) == (1, "mobula: standard output: No space left on device\n"), what


def test_a_kubeconfig_that_is_not_there():
    out = mobula("operator", "--kubeconfig", "/nonexistent", "--namespace", "default", "--health-addr", "", "--metrics-addr", "")
    assert out.returncode == 1 and "/nonexistent" in out.stderr


def test_instance_types_that_are_not_there(space):
    out = mobula("instance-types", "list", "--namespace", space.name, "--kubeconfig", RUN / "admin.kubeconfig")
    assert out.returncode == 1 and "--namespace and --configmap say where it is" in out.stderr


def test_the_names_of_explain_are_those_of_the_server(space, operator):
    """A name that another pod has already is refused by the server itself: one head at most."""
    space.apply(raycluster("c", workers=0))
    space.ready("c", 1)
    head = space.api.get(space.path("pods", "c-head"))
    for key in ("resourceVersion", "uid", "creationTimestamp", "managedFields"):
        del head["metadata"][key]
    with pytest.raises(Refused) as refused:
        space.api.call("POST", space.path("pods"), head)
    assert refused.value.status == 409
