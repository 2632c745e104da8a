"""Trouble between the operator and the API server: named once, shown by /readyz, and over when it is over."""

import datetime
import itertools
import re
import shutil
import socket
import subprocess
import time

import pytest

from cluster import Audit, Refused, eventually, kubectl, raycluster, what
from processes import Operator, kubeconfig, token

QUIET_S = 65


@pytest.fixture(scope="module")
def lost(tmp_path_factory):
    """An operator whose API server has never been there; it runs while the other tests of this file do."""
    folder = tmp_path_factory.mktemp("lost")
    began = time.monotonic()
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # taken, and nobody listens
        config = kubeconfig(folder / "config", "default", 'token: "t"', port=nobody.getsockname()[1])
        op = Operator(folder, "default", name="lost", config=config)
        yield op, began
        assert op.stop() == 0


def not_ready(op, *words):
    def look():
        status, text = op.get("/readyz")
        assert status == 503 and all(w in text for w in words), (status, text)
        return True

    assert eventually(look)
    assert op.get("/healthz") == (200, "ok\n"), "a server that is down is no reason to restart this process"


def test_a_server_that_was_never_there(lost):
    op, _ = lost
    op.says("level=warn", "refused", "127.0.0.1")
    not_ready(op, "API server", "refused")


def test_a_server_that_goes_and_comes_back(space, operators, door, tmp_path):
    config = kubeconfig(tmp_path / "door", space.name, f'token: "{token(space.name)}"', port=door.port)
    op = operators(config=config).ready()
    space.apply(raycluster("c", workers=2))
    space.ready("c", 3)
    door.shut()
    not_ready(op, "API server")
    space.change("c", {"workerGroupSpecs": raycluster("c", workers=4)["spec"]["workerGroupSpecs"]})
    worker = next(p for p in space.pods("c") if p["metadata"]["labels"]["ray.io/node-type"] == "worker")
    space.api.call("DELETE", space.path("pods", worker["metadata"]["name"]))
    time.sleep(6)
    assert len(op.lines("level=warn")) <= 2, op.log()
    door.open()
    space.ready("c", 5)
    op.ready()
    assert op.lines("answers again")
    assert worker["metadata"]["uid"] not in {p["metadata"]["uid"] for p in space.pods("c")}


def test_a_server_that_is_gone_in_the_middle_of_a_plan(space, operators, door, tmp_path):
    """Answers are lost; no pod is made twice and none is missing."""
    config = kubeconfig(tmp_path / "door", space.name, f'token: "{token(space.name)}"', port=door.port)
    operators(config=config).ready()
    space.apply(raycluster("c", workers=100))
    eventually(lambda: len(space.pods("c")) > 20, step=0.01)
    door.shut()
    time.sleep(1)
    door.open()
    space.ready("c", 101)
    indices = sorted(int(p["metadata"]["labels"].get("ray.io/worker-group-replica-index", -1)) for p in space.pods("c"))
    assert indices == list(range(-1, 100))


def test_a_wrong_ca(space, operators, tmp_path):
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=rig-ca",
            "-keyout", tmp_path / "ca.key", "-out", tmp_path / "ca.crt", "-addext", "basicConstraints=critical,CA:TRUE"]
    subprocess.run(make, check=True, capture_output=True)
    config = kubeconfig(tmp_path / "config", space.name, f'token: "{token(space.name)}"', ca=tmp_path / "ca.crt")
    op = operators(config=config)
    line = op.says("level=warn", "tls")
    assert "certificate" in line or "trust" in line, line
    not_ready(op, "API server")
    time.sleep(3)
    assert len(op.lines("level=warn")) == 1, op.log()
    shutil.copy(kubectl_ca(), tmp_path / "ca.crt")  # re-read when it changes
    op.ready()


def kubectl_ca():
    text = kubectl("config", "view", "--raw").stdout
    return re.search(r"certificate-authority: (\S+)", text).group(1)


def test_a_token_that_is_not_valid(space, operators, tmp_path):
    file = tmp_path / "token"
    file.write_text("not.a.token")
    op = operators(config=kubeconfig(tmp_path / "config", space.name, f'tokenFile: "{file}"'))
    op.says("level=warn", "401")
    not_ready(op, "401")
    time.sleep(3)
    assert len(op.lines("level=warn")) == 1, op.log()
    file.write_text(token(space.name))
    eventually(lambda: op.get("/readyz")[0] == 200)


def test_a_token_that_ends(space, operators, tmp_path):
    """The account is deleted under a running operator: its token dies. A new token in the same file is taken."""
    file = tmp_path / "token"
    file.write_text(token(space.name))
    op = operators(config=kubeconfig(tmp_path / "config", space.name, f'tokenFile: "{file}"')).ready()
    account = space.path("serviceaccounts", "mobula")
    space.api.call("DELETE", account)
    space.api.call("POST", space.path("serviceaccounts"), {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "mobula"}})
    file.write_text(token(space.name))
    space.apply(raycluster("c", workers=1))
    time.sleep(11)  # the server remembers a good token for 10 s
    space.change("c", {"workerGroupSpecs": raycluster("c", workers=3)["spec"]["workerGroupSpecs"]})
    space.ready("c", 4)
    op.ready()


FORBIDDEN = [("", "pods", "watch"), ("", "services", "watch"), ("ray.io", "rayclusters", "watch"),
             ("cluster.ray.io", "rayclusters", "watch")]


@pytest.mark.parametrize("grant", FORBIDDEN, ids=lambda g: f"{g[1]}.{g[0]}")
def test_a_missing_right_to_watch(space, operators, grant):
    group, resource, _ = grant
    change_role(space, group, resource, {"list", "watch"})
    op = operators()
    line = op.says("level=warn", resource, "cannot", space.name)
    assert re.search(r"cannot (list|watch)", line) and "403" in line or "forbidden" in line.lower(), line
    not_ready(op, resource, space.name)
    time.sleep(2)
    assert len(op.lines("level=warn", resource)) == 1, op.log()
    space.apply(raycluster("c", workers=1))
    time.sleep(1)
    assert not space.pods("c"), "acted on a cache that is not complete"


@pytest.mark.parametrize("group,resource,verb", [("", "pods", "create"), ("", "pods", "delete"), ("", "services", "patch"),
                                                 ("ray.io", "rayclusters/status", "patch")], ids=lambda x: x)
def test_a_missing_right_to_write(space, operators, group, resource, verb):
    path = change_role(space, group, resource, {verb})
    op = operators()
    space.apply(raycluster("c", workers=1))
    if verb == "delete":
        space.ready("c", 2)
        space.change("c", {"workerGroupSpecs": raycluster("c", workers=0)["spec"]["workerGroupSpecs"]})
    line = op.says("level=warn", f"cannot {verb} resource", resource.split("/")[0], space.name)
    assert "403" in line or "forbidden" in line.lower()
    audit = Audit()
    time.sleep(3)
    tried = [e for e in audit.entries(op.user) if e["verb"] == verb]
    assert len(tried) <= 9, [what(e) for e in tried]
    space.api.call("PUT", path[0], path[1])
    space.ready("c", 1 if verb == "delete" else 2)


def change_role(space, group, resource, verbs):
    """Takes verbs out of the Role. Returns (path, the Role as it was)."""
    path = space.path("roles", "mobula", "/apis/rbac.authorization.k8s.io/v1")
    before = space.api.get(path)
    rules = []
    for rule in before["rules"]:
        if resource in rule["resources"] and group in rule["apiGroups"]:
            others = [g for g in rule["apiGroups"] if g != group]
            rules += [{**rule, "apiGroups": others}] if others else []
            rule = {**rule, "apiGroups": [group], "verbs": [v for v in rule["verbs"] if v not in verbs]}
        rules += [rule] if rule["verbs"] else []
    space.api.call("PUT", path, {**before, "rules": rules})
    del before["metadata"]["resourceVersion"]
    return path, before


def test_definitions_that_come_later(api, space, operators):
    """Without the definition of one kind the other works; it is found when it is installed."""
    name = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rayclusters.cluster.ray.io"
    crd = api.get(name)
    api.call("DELETE", name)
    eventually(lambda: absent(api, name))
    try:
        op = operators()
        space.apply(raycluster("c", workers=1))
        space.ready("c", 2)
        assert op.get("/readyz")[0] == 200
    finally:
        for key in ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields"):
            crd["metadata"].pop(key, None)
        crd.pop("status")
        api.call("POST", name.rpartition("/")[0], crd)
        kubectl("wait", "--for=condition=Established", "crd/rayclusters.cluster.ray.io", "--timeout=120s")


def absent(api, path):
    try:
        api.get(path)
        return False
    except Refused as e:
        return e.status == 404


def test_one_line_a_minute(lost):
    """After the first error the operator that has no server says at most one line a minute, however often it tries."""
    op, began = lost
    time.sleep(max(0, QUIET_S - (time.monotonic() - began)))
    said = [datetime.datetime.fromisoformat(line.split()[0].removeprefix("ts=").rstrip("Z")) for line in op.lines("level=warn")]
    assert said, op.log()
    assert all((b - a).total_seconds() > 59 for a, b in itertools.pairwise(said)), op.log()
