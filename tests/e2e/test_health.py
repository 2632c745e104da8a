"""What an operator checks of itself and its cluster, on its way to a control plane and to whoever asks there."""

import http.client
import json
import re
import time

import pytest

from cluster import eventually, kubectl, objects
from hub import GROUP, PEOPLE, account, definitions, edge_operator, hubs, meet, register  # noqa: F401
from test_shapes import SHAPES, put

TYPES = "4CPU:\n  resources: {CPU: 4, memory: 16Gi}\n"


def apply(these):
    kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(these)}))


def figures(hub):
    link = http.client.HTTPConnection("127.0.0.1", int(re.search(r"for=metrics-addr address=\S+ port=(\d+)", hub.log()).group(1)))
    link.request("GET", "/metrics")
    return {name: float(value) for name, value in re.findall(r"^mobula_hub_(\w+) (\d+)$", link.getresponse().read().decode(), re.M)}


class Edge:
    """A cloud, and its operator with the rights of its installation."""

    def __init__(self, person, operators, folder):
        self.person, self.space = person, person.space
        person.login(account(self.space, "ann", *PEOPLE))
        self.where = register(person, "edge")
        self.manifests = objects("--no-crds", "--namespace", self.space.name, "--control-plane-url=https://hub.example",
                                 f"--cloud-deployment-id={self.where}", "--shapes", "--report-nodes")
        apply(o for o in self.manifests if o["kind"] in ("Role", "RoleBinding"))
        put(self.space, TYPES)
        self.operator = edge_operator(person, self.space, operators, folder, "edge", self.where, "--kinds=ray.io", SHAPES,
                                      "--raycronjobs=false",
                                      "--versionedservices=false", "--rayservices=false", "--status-addr=127.0.0.1:0",
                                      "--exclude-component-verification=CLOUD_RESOURCES")

    def verify(self, *rows, code=0):
        said = self.person.type("cloud", "verify", "--name", "edge", code=code)
        assert all(re.search(row, said) for row in rows), said
        return said

    def status(self):
        return self.space.api.get(self.space.path("clouds", "edge", GROUP))["status"]


@pytest.fixture
def edge(space, hubs, operators, tmp_path):  # noqa: F811
    return Edge(meet(space, hubs, tmp_path), operators, tmp_path)


def test_health_from_the_operator_to_the_people(edge):
    """It appears, changes within 30 s and back, and costs three calls a minute at most."""
    person, operator = edge.person, edge.operator
    user = f"system:serviceaccount:{edge.space.name}:edge"
    eventually(lambda: edge.verify(
        r"OPERATOR +PASSED", r"CLOUD_RESOURCES +SKIPPED +excluded", r"GATEWAY_RESOURCES +SKIPPED +no gateway",
        rf"IAM_IDENTITY +PASSED +.*as {user}\n", r"INSTANCE_TYPES +PASSED +1 instance types", r"KUBERNETES_PERMISSIONS +PASSED",
        r"KUBERNETES_VERSION +PASSED +v1\.", r"STORAGE_BUCKET +SKIPPED +.*no bucket"), 20)
    assert re.search(r"edge +generic +hall-2 +HEALTHY +20\d\d-", person.type("cloud", "list"))
    status, text = operator.get("/healthz/run")
    assert status == 200 and re.search(r"KUBERNETES_VERSION +OK +Supported: v1", text), text
    status, text = operator.get("/config")
    shown = json.loads(text)
    assert status == 200 and shown["iamIdentity"] == user and shown["cloudDeploymentId"] == edge.where
    assert shown["excludeComponentVerification"] == ["CLOUD_RESOURCES"] and "eyJ" not in text
    # Nodes are looked at after the components, and told with the next call.
    eventually(lambda: "may not list nodes: mobula install --report-nodes" in person.type("node", "list", "--cloud", "edge", code=1))

    put(edge.space, TYPES + "8CPU: {resources: {CPU: x}}\n")
    eventually(lambda: edge.verify(r"INSTANCE_TYPES +FAILED +ConfigMap instance-types is broken.*line 3", code=3))
    assert operator.get("/healthz/run")[0] == 503 and re.search(r"edge .*UNHEALTHY", person.type("cloud", "get", "--name", "edge"))
    put(edge.space, TYPES + "8CPU: {resources: {CPU: 8, memory: 32Gi}}\n")
    eventually(lambda: edge.verify(r"INSTANCE_TYPES +PASSED +2 instance types"))
    eventually(lambda: [t["name"] for t in edge.status()["instanceTypes"]["items"]] == ["4CPU", "8CPU"])

    time.sleep(5)  # of pushes nothing is left
    before = figures(person.hub)["syncs_total"]
    time.sleep(60)
    assert figures(person.hub)["syncs_total"] - before <= 3


def test_nodes_and_a_silent_operator(edge):
    """With the right to list nodes they are reported; without an operator nothing is known any more."""
    person, operator, ns = edge.person, edge.operator, edge.space.name
    apply(o for o in edge.manifests if o["kind"].startswith("ClusterRole"))
    try:
        as_operator = f"--as=system:serviceaccount:{ns}:mobula"
        eventually(lambda: kubectl("auth", "can-i", "list", "nodes", as_operator, check=False).stdout.strip() == "yes")
        operator.stop()
        operator.start()
        # The one before holds the cloud for 60 s after its last call.
        said = eventually(lambda: person.type("node", "list", "--cloud", "edge"), 100)
        assert re.search(r"^fake-0 +- +100k +100Ti +- +-$", said, re.M), said
    finally:
        kubectl("delete", "clusterrole,clusterrolebinding", f"mobula.{ns}.nodes")
    # an end of the session that has passed by this machine's clock: the control plane knows better
    past = '{"status": {"session": {"expiryTime": "2020-01-01T00:00:00Z"}}}'
    kubectl("patch", "cloud", "edge", "-n", ns, "--subresource=status", "--type=merge", "-p", past)
    assert not re.search(r"edge .*UNKNOWN +20\d\d-", person.type("cloud", "list"))
    operator.stop()
    eventually(lambda: edge.verify(r"OPERATOR +FAILED +does not call", r"KUBERNETES_VERSION +UNKNOWN +was PASSED at 20", code=3), 90)
    assert re.search(r"edge .*UNKNOWN +20\d\d-", person.type("cloud", "list"))
    eventually(lambda: edge.status()["health"] == "UNKNOWN")
    assert "its last call came at" in edge.status()["conditions"][0]["message"]
