"""The edge, installed from `mobula edge --print`, between nginx with TLS and the dashboard of a real head: Kubernetes RBAC grants access,
and a user logs in with a browser."""

import http.client
import json
import os
import socket
import ssl
import subprocess

import pytest
import real
from browser import Browser
from cluster import MOBULA, RUN, eventually, kubectl, mobula
from hub import account, certificate
from ingress import ADDRESS, NETWORKING, Ingress

HOST = "demo.edge.example.org"  # demo is the RayCluster
IMAGE = "localhost/mobula:edge"


def rule(*verbs):
    return {"apiGroups": ["ray.io"], "resources": ["rayclusters"], "resourceNames": ["demo"], "verbs": list(verbs)}


@pytest.fixture
def edge(space, tmp_path):
    """An edge from its printed manifests, with its image imported into the node and an Ingress to it."""
    archive = tmp_path / "edge.tar"
    arch = "arm64" if os.uname().machine == "aarch64" else "amd64"
    subprocess.run(["scratch-image/build", archive, IMAGE, f"{arch}={MOBULA}"], check=True)
    subprocess.run(["ctr", "--address", RUN / "node/containerd.sock", "-n", "k8s.io", "images", "import", archive], check=True,
                   capture_output=True)
    out = mobula("edge", "--print", "--namespace", space.name, "--image", IMAGE)
    assert out.returncode == 0, out.stderr
    space.kubectl("apply", "-f", "-", stdin=out.stdout)
    crt, key = certificate(tmp_path, name="DNS:*.edge.example.org")
    space.kubectl("create", "secret", "tls", "edge-tls", f"--cert={crt}", f"--key={key}")
    space.api.call("POST", space.path("ingresses", group=NETWORKING), {
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "edge"}, "spec": {
            "ingressClassName": "nginx", "tls": [{"hosts": ["*.edge.example.org"], "secretName": "edge-tls"}],
            "rules": [{"host": "*.edge.example.org", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {
                "service": {"name": "mobula-edge", "port": {"name": "http"}}}}]}}]}})
    made = Ingress(space, tmp_path)
    yield made
    made.close()
    kubectl("delete", "clusterrolebinding", f"mobula-edge.{space.name}")


class Link(http.client.HTTPSConnection):
    """A connection to nginx, for any host name."""

    def connect(self):
        plain = socket.create_connection((ADDRESS, self.port), 60)
        self.sock = self._context.wrap_socket(plain, server_hostname=self.host)


@pytest.fixture
def ask(edge, tmp_path):
    """(status, headers, answer) of a request; the certificate of the Ingress is verified."""
    context = ssl.create_default_context(cafile=tmp_path / "tls.crt")

    def send(method="GET", path="/", body=None, **headers):
        link = Link(HOST, edge.tls_port, context=context)
        link.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        answer = link.getresponse()
        text = answer.read().decode()
        link.close()
        return answer.status, answer.headers, text

    return send


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def test_rbac_decides_access_to_a_real_dashboard(space, operator, edge, ask, tmp_path):
    space.apply(real.raycluster("demo", workers=0, head_cpus=1))
    nobody, reader = account(space, "nobody"), account(space, "reader", rule("get"))
    writer = account(space, "writer", rule("get", "update"))
    eventually(lambda: ask()[0] == 401, real.START_S, 0.5)  # the edge runs: it asks for a token
    status, _, page = ask(Accept="text/html")
    assert status == 401 and "Sign in to demo.edge.example.org" in page, page
    status, _, words = ask(**bearer(nobody))
    assert status == 403 and f"{space.name}:nobody may not get rayclusters/demo" in words, words
    space.ready("demo", 1, seconds=real.START_S)
    eventually(lambda: ask(**bearer(reader))[0] == 200, real.START_S, 0.5)
    status, headers, page = ask(**bearer(reader))
    assert status == 200 and "<title>Ray Dashboard</title>" in page and headers["Content-Type"].startswith("text/html"), page
    assert json.loads(ask(path="/api/version", **bearer(reader))[2])["ray_version"] == real.RAY

    job = json.dumps({"submission_id": "by-edge", "entrypoint": "echo it ran"})
    status, _, words = ask("POST", "/api/jobs/", job, **bearer(reader))
    assert status == 403 and "may not update rayclusters/demo" in words, words
    eventually(lambda: ask("POST", "/api/jobs/", job, Content_Type="application/json", **bearer(writer))[0] == 200, real.START_S, 0.5)

    def ended():
        return json.loads(ask(path="/api/jobs/by-edge", **bearer(reader))[2])["status"] == "SUCCEEDED"

    eventually(ended, real.START_S, 0.5)
    assert "it ran" in json.loads(ask(path="/api/jobs/by-edge/logs", **bearer(reader))[2])["logs"]

    browser = Browser(tmp_path / "profile", f"MAP {HOST}:443 {ADDRESS}:{edge.tls_port}")
    try:
        browser.open(f"https://{HOST}/#/jobs")
        browser.shows("Token", title="Sign in")
        browser.login(nobody)
        browser.shows("nobody may not get rayclusters/demo", "sign in as another user at /.mobula/login")
        browser.open(f"https://{HOST}/.mobula/login")
        browser.shows("Sign out", title="Sign in")
        browser.login(reader)
        browser.shows(title="Ray Dashboard")
        browser.open(f"https://{HOST}/#/jobs")
        text = browser.shows("by-edge", "SUCCEEDED", title="Jobs")
        assert reader not in text and reader not in browser.run("document.cookie"), "only the edge reads the cookie"
    finally:
        browser.close()
