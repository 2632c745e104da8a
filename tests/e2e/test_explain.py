"""mobula explain cluster, against a real API server: what it says, whom it asks, and what it says when it may not."""

import json
import re

import pytest

from cluster import LEGACY, RUN, eventually, kubectl, mobula, raycluster
from test_legacy import raycluster as legacy

ADMIN = f"--kubeconfig={RUN / 'admin.kubeconfig'}"


def explain(space, name, *flags, kubeconfig=ADMIN):
    return mobula("explain", "cluster", name, "-n", space.name, kubeconfig, *flags)


def words(space, name, *flags, **options):
    out = explain(space, name, *flags, **options)
    assert out.returncode == 0, out.stderr
    return out.stdout


@pytest.fixture
def member(space, tmp_path):
    """A kubeconfig of somebody with these rules in the namespace and no others."""

    def make(*rules):
        name, meta = f"member{len(list(tmp_path.iterdir()))}", {"namespace": space.name}
        subject = {"kind": "ServiceAccount", "name": name, "namespace": space.name}
        group = "rbac.authorization.k8s.io"
        for obj in ({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, **meta}},
                    {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": {"name": name, **meta}, "rules": list(rules)},
                    {"apiVersion": f"{group}/v1", "kind": "RoleBinding", "metadata": {"name": name, **meta},
                     "roleRef": {"apiGroup": group, "kind": "Role", "name": name}, "subjects": [subject]}):
            kubectl("apply", "-f", "-", stdin=json.dumps(obj))
        token = kubectl("-n", space.name, "create", "token", name).stdout.strip()
        config = json.loads(kubectl("config", "view", "--raw", "-o", "json").stdout)
        config["users"] = [{"name": config["users"][0]["name"], "user": {"token": token}}]
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(config))
        return f"--kubeconfig={file}"

    return make


CLUSTERS = {"apiGroups": ["ray.io", "cluster.ray.io"], "resources": ["rayclusters"], "verbs": ["get"]}
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
PROXY = {"apiGroups": [""], "resources": ["pods/proxy"], "verbs": ["get"]}


def test_a_cluster_that_nobody_looks_at(space):
    space.apply(raycluster("c"))
    text = words(space, "c")
    assert f"RayCluster {space.name}/c (ray.io/v1)" in text and "no operator has looked at it" in text


def test_both_kinds(space, operator):
    space.apply(raycluster("c", workers=2))
    space.apply(legacy("old"), LEGACY)
    space.ready("c", 3)
    space.ready("old", 2, LEGACY)
    text = words(space, "c")
    assert "no operator has" not in text and "no installation has it among" in text  # it runs without an installation
    assert re.search(r"^  small: 2 wanted \(0 to 1000\), 2 ready$", text, re.M), text
    text = words(space, "old")
    assert "(cluster.ray.io/v1)" in text and re.search(r"^  headgroup|^  head", text, re.M), text


def test_what_keeps_a_group(space, operator):
    c = raycluster("c")
    c["spec"]["workerGroupSpecs"][0]["template"]["spec"]["priorityClassName"] = "none-such"
    space.apply(c)
    text = eventually(lambda: "times in a row" in (t := words(space, "c")) and t)
    assert re.search(r"failed \d+ times in a row, the last.* ago(, next try in \d+ s)?: .*none-such", text), text


def move_head(space, ip):
    """The address that the fake node gave the head may be anybody's; from now on it is this one."""
    for pod in space.pods("c"):
        if pod["metadata"]["labels"]["ray.io/node-type"] == "head":
            space.api.patch(space.path("pods", pod["metadata"]["name"]) + "/status", {"status": {"podIP": ip, "podIPs": [{"ip": ip}]}})


def test_who_may_not(space, operator, member):
    """Each right has its part, and what is missing is named."""
    space.apply(raycluster("c"))
    space.ready("c", 2)
    move_head(space, "127.0.0.1")
    out = explain(space, "c", kubeconfig=member())
    assert out.returncode == 1 and "403 Forbidden" in out.stderr and "rayclusters" in out.stderr
    out = explain(space, "c", kubeconfig=member(CLUSTERS))
    assert out.returncode == 1 and "403 Forbidden" in out.stderr and "pods" in out.stderr
    text = words(space, "c", kubeconfig=member(CLUSTERS, PODS))
    assert "1 ready" in text and "was not heard: 403 Forbidden" in text and "pods/proxy" in text
    text = words(space, "c", kubeconfig=member(CLUSTERS, PODS, PROXY))
    assert "was not heard: 400" in text and "address not allowed" in text  # it was asked: no API server connects to its own loopback


def test_which_one(space):
    out = explain(space, "none-such")
    assert out.returncode == 1 and "there is no RayCluster none-such in namespace" in out.stderr
    space.apply(raycluster("c"))
    space.apply(legacy("c"), LEGACY)
    out = explain(space, "c")
    assert out.returncode == 1 and "--group=ray.io" in out.stderr
    assert "(ray.io/v1)" in words(space, "c", "--group=ray.io")
    assert "(cluster.ray.io/v1)" in words(space, "c", "--group=cluster.ray.io")


def test_what_ray_says(space, operator, board):
    """Through the API server, which keeps the caller's credentials to itself; and what it says is made fit for a terminal."""
    c = raycluster("c")
    c["spec"]["headGroupSpec"]["rayStartParams"] = {"dashboard-port": str(board.port)}
    space.apply(c)
    space.ready("c", 2)
    move_head(space, board.address)
    text = words(space, "c")
    assert "  Pending Demands:\n   {'CPU': 1.0}: 4+ pending?[31m\n" in text, text
    assert board.asked == [("GET", "/api/cluster_status?format=1")] and board.shown == [(None, None)]
