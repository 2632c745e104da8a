"""`mobula control-plane` on the real API server, for tests: its rights are those that `mobula install --control-plane`
prints, its callers have tokens of service accounts, and what they may do is RBAC."""

import http.client
import json
import re
import signal
import subprocess

import pytest

from cluster import MOBULA, ROOT, eventually, kubectl
from processes import kubeconfig
from test_install import objects

GROUP = "/apis/mobula.dev/v1"


@pytest.fixture(scope="module", autouse=True)
def definitions():
    for kind in ("clouds", "computeconfigs", "workloads"):
        kubectl("apply", "-f", ROOT / f"airgap/crds/{kind}.mobula.dev.yaml")
        kubectl("wait", "--for=condition=Established", f"crd/{kind}.mobula.dev", "--timeout=60s")


def account(space, name, *rules):
    """A service account with these rules; its token."""
    kubectl("create", "serviceaccount", name, "-n", space.name)
    if rules:
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name, "namespace": space.name},
                "rules": list(rules)}
        kubectl("apply", "-f", "-", stdin=json.dumps(role))
        kubectl("create", "rolebinding", name, "-n", space.name, f"--role={name}", f"--serviceaccount={space.name}:{name}")
    return token(space, name)


def token(space, name):
    return kubectl("create", "token", name, "-n", space.name, "--duration=1h").stdout.strip()


class Hub:
    def __init__(self, space, folder, name, *flags):
        self.space, self.log_path = space, folder / f"{name}.log"
        config = kubeconfig(folder / f"{name}.kubeconfig", space.name, f'token: "{token(space, "mobula-control-plane")}"')
        command = [MOBULA, "control-plane", "--kubeconfig", config, "--namespace", space.name, "--http-addr", "127.0.0.1:0",
                   "--metrics-addr", "127.0.0.1:0", "--identity", name, *flags]
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.port = int(eventually(lambda: re.search(r"for=http-addr address=\S+ port=(\d+)", self.log()), 20).group(1))
        eventually(lambda: self.ask("GET", "/readyz")[0] == 200, 20)

    def log(self):
        return self.log_path.read_text()

    def ask(self, method, path, token=None, body=None):
        """(status, answer); JSON is read."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        link.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = link.getresponse()
        text = answer.read().decode()
        link.close()
        return answer.status, json.loads(text) if answer.getheader("Content-Type") == "application/json" else text

    def sync(self, token, cloud, instance="one", revision="", **more):
        return self.ask("POST", "/v1/sync", token,
                        {"protocol": 1, "cloud": cloud, "instance": instance, "version": "0.1.0", "revision": revision, **more})

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(20)
        return self.process.returncode


def grant(space):
    """The account of the control plane with its rights; the process is the test's own."""
    printed = objects("--control-plane", "--namespace", space.name)
    kinds = ("ServiceAccount", "Role", "RoleBinding", "ClusterRoleBinding")
    kubectl("apply", "-f", "-", stdin="\n---\n".join(json.dumps(o) for o in printed if o["kind"] in kinds))


@pytest.fixture
def hubs(space, tmp_path):
    grant(space)
    made = []

    def make(name="hub", *flags):
        made.append(Hub(space, tmp_path, name, *flags))
        return made[-1]

    yield make
    codes = [hub.stop() for hub in made]
    for left in space.api.get(space.path("workloads", group=GROUP))["items"]:  # no operator says that nothing is left of it
        space.api.call("PATCH", space.path("workloads", left["metadata"]["name"], GROUP), {"metadata": {"finalizers": []}},
                       "application/merge-patch+json")
    kubectl("delete", "clusterrolebinding", f"mobula-control-plane.{space.name}")
    assert all(code in (0, -9) for code in codes), [hub.log() for hub in made]


def put(space, kind, plural, name, spec):
    return space.api.call("POST", space.path(plural, group=GROUP),
                          {"apiVersion": "mobula.dev/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})


def cloud(space, name="edge", **more):
    """A cloud; its deployment id."""
    put(space, "Cloud", "clouds", name, {"provider": "generic", **more})

    def look():
        return space.api.get(space.path("clouds", name, GROUP)).get("status", {}).get("deploymentId")

    return eventually(look, 10)


def job(space, name, **more):
    return put(space, "Workload", "workloads", name, {"cloud": "edge", "job": {"entrypoint": "python main.py"}, **more})


def operator_rule(name="edge"):
    return {"apiGroups": ["mobula.dev"], "resources": ["clouds"], "resourceNames": [name], "verbs": ["sync"]}


def status(space, name):
    return space.api.get(space.path("workloads", name, GROUP)).get("status", {})


def certificate(folder, days=1):
    """A self-made one for localhost; its files."""
    cert, key = folder / "tls.crt", folder / "tls.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", str(days),
                    "-subj", "/CN=hub", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert],
                   check=True, capture_output=True)
    return cert, key
