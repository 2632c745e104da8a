"""`mobula check` on a real API server with planted faults, and what it leaves out of a support bundle."""

import contextlib
import http.server
import json
import os
import re
import ssl
import subprocess
import tarfile
import threading
import time

import pytest

from cluster import MOBULA, RUN, kubectl, mobula, rayjob
from hub import certificate

ADMIN = ("--kubeconfig", str(RUN / "admin.kubeconfig"))


def check(*flags, status=None):
    """The rows that are not passed, by check, and all of them by check."""
    out = mobula("check", *ADMIN, "-o", "json", *flags)
    assert out.returncode in (0, 3, 4), out.stderr
    said = json.loads(out.stdout)
    worst = 3 if said["fail"] else 4 if said["warn"] else 0
    assert out.returncode == worst and (status is None or status == worst), said
    return said["checks"]


def rows(found, name, result):
    return [r for r in found if r["check"] == name and r["result"] == result]


def test_a_sound_cluster_has_no_failed_check(space):
    found = check("-n", space.name)
    assert not [r for r in found if r["result"] == "fail"], found
    assert rows(found, "server", "pass") and rows(found, "rights", "pass") and len(rows(found, "definitions", "pass")) == 5
    assert rows(found, "clock", "pass") and len(rows(found, "pods", "pass")) == 2 and rows(found, "nodes", "pass")


def test_a_namespace_that_is_not_there():
    """Before an installation it is no failure: install makes it."""
    found = check("-n", "no-such", status=4)
    (row,) = rows(found, "namespace", "warn")
    assert row["found"] == "there is no namespace no-such"
    assert row["remedy"] == "mobula install --apply --namespace no-such --create-namespace makes it"
    assert len(rows(found, "pods", "skip")) == 2 and not rows(found, "pods", "fail")


def test_pods_that_only_restricted_clusters_can_make(space):
    kubectl("label", "namespace", space.name, "pod-security.kubernetes.io/enforce=restricted")
    found = rows(check("-n", space.name), "pods", "warn")
    assert len(found) == 2 and "raycluster-restricted" in found[0]["remedy"]


def test_a_quota_that_is_used_up(space):
    kubectl("-n", space.name, "create", "quota", "none", "--hard=pods=0")
    for _ in range(50):
        found = check("-n", space.name, status=3)
        if rows(found, "quota", "warn"):
            break
        time.sleep(0.1)
    assert "pods is used up: 0 of 0" in rows(found, "quota", "warn")[0]["found"]
    assert "exceeded quota" in rows(found, "pods", "fail")[0]["found"]


def test_a_certificate_that_ends_soon(space, tmp_path):
    for name, days in ("soon", 10), ("late", 100):
        crt, key = certificate(tmp_path, days)
        kubectl("-n", space.name, "create", "secret", "tls", name, f"--key={key}", f"--cert={crt}")
    found = check("-n", space.name)
    assert ["soon" in r["found"] for r in rows(found, "certificates", "warn")] == [True]
    assert ["late" in r["found"] for r in rows(found, "certificates", "pass")] == [True]


def deployed(space, *args, env=(), volumes=()):
    """A Deployment of the operator with these arguments, of which check reads what the operator is told."""
    container = {"name": "operator", "image": "i", "args": ["operator", *args], "env": list(env)}
    labels = {"app.kubernetes.io/name": "mobula"}
    kubectl("-n", space.name, "apply", "-f", "-", stdin=json.dumps({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "mobula"}, "spec": {
            "replicas": 0, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels}, "spec": {"containers": [container], "volumes": list(volumes)}}}}))
    return ("-n", space.name, "--operator-namespace", space.name)


def test_instance_types_that_fit_no_node(space, nodes):
    nodes("check-gpu")  # 256 CPUs, 8 GPUs
    kubectl("wait", "--for=condition=Ready", "node/check-gpu", "--timeout=60s")
    text = "fits: {resources: {CPU: 2, GPU: 8, memory: 1Gi}}\ntoo-many: {resources: {CPU: 2, GPU: 9, memory: 1Gi}}\n"
    kubectl("-n", space.name, "create", "configmap", "instance-types", f"--from-literal=instance_types.yaml={text}")
    where = deployed(space, "--instance-types-configmap=instance-types")
    (row,) = rows(check(*where), "nodes", "warn")
    assert row["found"] == "of 2 instance types these fit no node that is there: too-many" and "instance-types suggest" in row["remedy"]
    kubectl("-n", space.name, "create", "configmap", "broken", "--from-literal=instance_types.yaml=a: {resources: {CPU: x}}")
    deployed(space, "--instance-types-configmap=broken")
    (row,) = rows(check(*where, status=3), "nodes", "fail")
    assert "ConfigMap broken: line 1" in row["found"]
    deployed(space)
    assert not [r for r in check(*where) if "instance types" in r["found"]]


def test_the_sandbox(space):
    assert "possible" in rows(check(*deployed(space)), "sandbox", "pass")[0]["found"]
    deployed(space, "--sandbox=off")
    (row,) = rows(check("-n", space.name), "sandbox", "warn")  # an operator beside its clusters is found without a flag
    assert "turn its sandbox off" in row["found"] and "--sandbox=off" in row["remedy"]


@pytest.fixture
def plane(tmp_path):
    """A TLS server on loopback, its port, and the CA's file."""
    crt, key = certificate(tmp_path, name="IP:127.0.0.1")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(crt, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port, crt
    server.shutdown()


def service(space):
    """A Service without pods."""
    kubectl("-n", space.name, "apply", "-f", "-", stdin=json.dumps({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "hub"}, "spec": {
            "selector": {"none": "such"}, "ports": [{"port": 443, "targetPort": 8443}]}}))


def test_the_way_to_the_control_plane(space, plane):
    """As the Deployment describes it: URL, the CA in its ConfigMap, proxies of its environment."""
    port, crt = plane
    mounted = [{"name": "control-plane", "projected": {"sources": [
        {"configMap": {"name": "plane-ca", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}]}}]
    url = f"--control-plane-url=https://127.0.0.1:{port}"

    def found(result, *args, status=None, **more):
        return rows(check(*deployed(space, *args, volumes=mounted, **more), status=status), "control-plane", result)[0]

    assert "plane-ca" in found("fail", url, status=3)["found"]
    kubectl("-n", space.name, "create", "configmap", "plane-ca", "--from-literal=ca.crt=garbage")
    assert "the CA of the control plane: " in found("fail", url, status=3)["found"]
    kubectl("-n", space.name, "delete", "configmap", "plane-ca")
    kubectl("-n", space.name, "create", "configmap", "plane-ca", f"--from-file=ca.crt={crt}")
    opens, tls = rows(check(*deployed(space, url, volumes=mounted)), "control-plane", "pass")
    assert "a connection opens with a certificate that is trusted" in opens["found"]
    assert re.fullmatch(r"TLS 1.3, X25519\w*, TLS_\w+ with the control plane [(]certificate: (RSA|ECDSA P-\d+)[)]", tls["found"]), tls
    row = found("fail", f"--control-plane-url=https://localhost:{port}", status=3)
    assert "certificate is for 127.0.0.1, wanted localhost" in row["found"] and "inspects TLS" in row["remedy"]
    assert "remedy" in found("fail", "--control-plane-url=https://127.0.0.1:9", status=3)
    proxied = [{"name": "MOBULA_PROXIES", "value": "plane.example=http://127.0.0.1:9"}]
    assert "127.0.0.1:9" in found("fail", "--control-plane-url=https://plane.example", env=proxied, status=3)["found"]
    assert "Service hub in namespace ns does not exist" in found("fail", "--control-plane-url=https://hub.ns.svc", status=3)["found"]
    service(space)
    row = found("fail", f"--control-plane-url=https://hub.{space.name}.svc.cluster.local", status=3)
    assert f"Service hub in namespace {space.name} does not answer: " in row["found"] and "logs" in row["remedy"], row
    row = found("fail", f"--control-plane-url=https://hub.{space.name}.svc:8443", status=3)
    assert "or has no such port" in row["found"] or "does not answer" in row["found"], row
    proxied = [{"name": "HTTPS_PROXY", "value": "http://$(PROXY_CREDENTIALS)@127.0.0.1:9"}]
    row = found("skip", "--control-plane-url=https://plane.example", env=proxied)
    assert "the user of the proxy to it is in a Secret" in row["found"] and "--reach" in row["remedy"]


def test_a_path_that_keeps_silent_connections(space):
    found = rows(check("-n", space.name, "--idle", "4s"), "idle", "pass")
    assert found[0]["found"] == "connections are kept for 4 s of silence"


def test_an_operator_of_kuberay_beside_ours(space):
    """And what stands in the namespace and the cluster, each with a row."""
    labels = {"app.kubernetes.io/name": "kuberay-operator"}
    kubectl("-n", space.name, "apply", "-f", "-", stdin=json.dumps({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "kuberay", "labels": labels}, "spec": {
            "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
                "containers": [{"name": "c", "image": "i"}]}}}}))
    limits = {"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}
    kubectl("-n", space.name, "apply", "-f", "-", stdin=json.dumps({
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "most"}, "spec": limits}))
    found = check("-n", space.name)
    (row,) = [r for r in rows(found, "operators", "warn") if space.name in r["found"]]
    assert "KubeRay's operator is installed: Deployment kuberay" in row["found"] and "scale it to 0" in row["remedy"]
    assert "LimitRange most: a Pod has at most" in rows(found, "limits", "pass")[0]["found"]
    assert [r["found"].split(":")[0] for r in rows(found, "classes", "pass")] == ["storage classes", "ingress classes"]
    assert "the API server's certificate expires" in rows(found, "tls", "pass")[0]["found"]
    assert "pods only" in rows(found, "dns", "skip")[0]["found"]


def test_a_control_plane(space):
    """Its Deployment is looked at as well; where it is alone, nobody is told that an operator is missing."""
    labels = {"app.kubernetes.io/name": "mobula-control-plane"}
    kubectl("-n", space.name, "apply", "-f", "-", stdin=json.dumps({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "mobula-control-plane"}, "spec": {
            "replicas": 1, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
                "nodeSelector": {"no": "where"}, "containers": [{"name": "c", "image": "i"}]}}}}))
    found = check("-n", space.name, "--operator-namespace", space.name, status=3)
    (row,) = rows(found, "operators", "fail")
    assert row["found"] == f"Deployment mobula-control-plane in namespace {space.name}: 0 of 1 ready"
    assert not rows(found, "operators", "skip")


def test_places_that_the_operator_may_not_contact(space):
    """What --reach asks for is held against the allowlist of the operator that is there. A registry need not be on it."""
    where = deployed(space, "--egress-allow=127.0.0.1:9,a.example.com", "--control-plane-url=https://hub.invalid")
    assert "may contact 2 places" in rows(check(*where, status=3), "operators", "pass")[-1]["found"]
    found = check(*where, "--reach=b.invalid:8443,hub.invalid,127.0.0.1:9", status=3)
    row = rows(found, "operators", "pass")[-1]
    assert "b.invalid:8443 is not on the operator's allowlist" in row["found"] and "--egress-allow=HOST:PORT" in row["remedy"]
    assert not rows(found, "operators", "fail") and sum("allowlist" in r["found"] for r in found) == 1
    (row,) = rows(check(*deployed(space, "--egress-allow=*"), status=3), "operators", "fail")
    assert "the operator's allowlist: --egress-allow" in row["found"]


@pytest.mark.parametrize("variables, result, words", [
    ({}, "pass", "HTTPS_PROXY is not set"),
    ({"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": ".corp"}, "pass", "used for other names than those of NO_PROXY"),
    ({"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "*"}, "pass", "overruled by NO_PROXY"),
    ({"HTTPS_PROXY": "socks5://127.0.0.1:9"}, "fail", "only http:// proxies are supported"),
], ids=["none", "used", "overruled", "no proxy"])
def test_proxies_of_the_environment(space, variables, result, words):
    env = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")} | variables
    out = subprocess.run([MOBULA, "check", *ADMIN, "-n", space.name, "-o", "json"], env=env, capture_output=True, text=True, timeout=60,
                         check=False)
    (row,) = rows(json.loads(out.stdout)["checks"], "proxy", result)
    assert words in row["found"] and ("remedy" in row) == (result == "fail"), row


class Strange(http.server.BaseHTTPRequestHandler):
    """In the place of an API server: a version, a time, one pod of an operator with its log, and nothing else."""

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, text = 404, "{}"
        if self.path == "/version":
            status, text = self.server.version
        elif self.path.endswith("/selfsubjectreviews"):
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + self.server.skew))
            status, text = 201, json.dumps({"metadata": {"creationTimestamp": at}, "status": {"userInfo": {"username": "me"}}})
        elif "/pods?labelSelector=app.kubernetes.io" in self.path:
            pod = {"metadata": {"name": "mobula-1", "namespace": "mobula"}, "spec": {"containers": [{"name": "operator"}]}}
            status, text = 200, json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [pod]})
        elif self.path.startswith("/api/v1/namespaces/mobula/pods/mobula-1/log?"):
            secrets = "msg=refused Authorization: Bearer S3CR3T-1\npassword=S3CR3T-2 url=http://u:S3CR3T-3@p\n"
            status, text = 200, f"msg=started version=0.1.0\n{secrets}"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_POST = answer

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def strange(said, skew, folder):
    """One of these, and a kubeconfig for it."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Strange)
    server.version, server.skew = said, skew
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = folder / "config"
    config.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {"token": "t"}}],
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "n"}}]}))
    yield str(config)
    server.shutdown()


def version(minor):
    return 200, json.dumps({"major": "1", "minor": str(minor), "gitVersion": f"v1.{minor}.0"})


@pytest.mark.parametrize("said, skew, name, result, words, remedy", [
    (version(23), 0, "server", "fail", "v1.23.0 at 127.0.0.1", "1.24 or later"),
    (version(24), 0, "server", "pass", "v1.24.0 at 127.0.0.1", ""),
    ((401, "{}"), 0, "server", "fail", "401", "get a new one"),
    ((200, "<html>login</html>"), 0, "server", "fail", "/version: 200", "answers in its place"),
    (version(30), 0, "tls", "warn", "without TLS", "https://"),
    (version(30), 1, "clock", "pass", "\"me\"", ""),
    (version(30), 30, "clock", "warn", "s behind the API server's", "NTP"),
    (version(30), -3600, "clock", "fail", "s ahead of the API server's", "NTP"),
], ids=["too old", "old", "unknown", "a page", "no TLS", "in time", "slow", "fast"])
def test_a_server_that_is_not_right(tmp_path, said, skew, name, result, words, remedy):
    with strange(said, skew, tmp_path) as config:
        out = mobula("check", "--kubeconfig", config, "-o", "json")
    (row,) = [r for r in json.loads(out.stdout)["checks"] if r["check"] == name]
    assert row["result"] == result and words in row["found"] and remedy in row.get("remedy", ""), row


def test_what_keeps_it_from_looking_at_all(tmp_path):
    config = json.loads(kubectl("config", "view", "--raw", "-o", "json").stdout)
    config["clusters"][0]["cluster"] = {"server": "https://127.0.0.1:9", "certificate-authority-data": "Z2FyYmFnZQo="}
    (tmp_path / "config").write_text(json.dumps(config))
    for file, words in (tmp_path / "none", "No such file"), (tmp_path / "config", "no certificate found"):
        out = mobula("check", "--kubeconfig", str(file))
        assert out.returncode == 1 and out.stdout == "" and words in out.stderr, out.stderr


def test_a_pull_secret_that_is_not_there(space):
    kubectl("-n", space.name, "patch", "serviceaccount", "default", "-p", '{"imagePullSecrets":[{"name":"registry"}]}')
    assert "registry" in rows(check("-n", space.name, status=3), "pull-secrets", "fail")[0]["found"]


def test_places_that_cannot_be_reached(space):
    found = rows(check("-n", space.name, "--reach", "127.0.0.1:9,no-such.invalid:443,127.0.0.1:x", status=3), "reach", "fail")
    assert len(found) == 3 and all("remedy" in r for r in found[:2])


def test_rights_that_are_missing(space, tmp_path):
    """As a service account with no rights at all."""
    kubectl("-n", space.name, "create", "serviceaccount", "nobody")
    token = kubectl("-n", space.name, "create", "token", "nobody").stdout.strip()
    config = kubectl("config", "view", "--raw", "-o", "json").stdout
    config = json.loads(config)
    config["users"] = [{"name": config["contexts"][0]["context"]["user"], "user": {"token": token}}]
    (tmp_path / "config").write_text(json.dumps(config))
    out = mobula("check", "--kubeconfig", str(tmp_path / "config"), "-o", "json", "-n", space.name)
    found = json.loads(out.stdout)["checks"]
    assert out.returncode == 3 and "create pods" in rows(found, "rights", "fail")[0]["found"]
    assert len(rows(found, "pods", "skip")) == 2 and rows(found, "nodes", "skip"), found


def test_no_server_is_one_failed_check(tmp_path):
    text = kubectl("config", "view", "--raw", "-o", "json").stdout
    config = json.loads(text)
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:9"
    (tmp_path / "config").write_text(json.dumps(config))
    out = mobula("check", "--kubeconfig", str(tmp_path / "config"))
    assert out.returncode == 3 and out.stdout.count("\nfail") + out.stdout.startswith("fail") == 1, out.stdout


@pytest.mark.parametrize("flags", [("--output", "xml"), ("-n", "A B"), ("--no-such",)], ids=str)
def test_wrong_usage(flags):
    assert mobula("check", *flags).returncode == 2


def test_the_support_bundle_holds_no_secret(space, tmp_path):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": {"note": "token=S3CR3T-1"}}, "spec": {
        "containers": [{"name": "c", "image": "i", "args": ["--password", "S3CR3T-2", "https://u:S3CR3T-3@h/"],
                        "env": [{"name": f"V{n}", "value": f"S3CR3T-{n}"} for n in range(4, 50)]}]}}
    kubectl("-n", space.name, "apply", "-f", "-", stdin=json.dumps(pod))
    kubectl("-n", space.name, "create", "secret", "generic", "s", "--from-literal=a=S3CR3T-50")
    job = rayjob("j", runtimeEnvYAML="env_vars: {A: S3CR3T-51}", entrypoint="python main.py --api-key S3CR3T-52")
    job["spec"]["rayClusterSpec"]["headGroupSpec"]["rayStartParams"] = {"redis-password": "S3CR3T-53"}
    job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "S3CR3T-54"}]
    space.start(job)
    space.api.call("POST", space.path("events", group="/apis/events.k8s.io/v1"), {
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "type": "Warning", "reason": "Refused",
        "action": "Ask", "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "test", "reportingInstance": "test",
        "regarding": {"kind": "Pod", "namespace": space.name, "name": "p"}, "note": "Authorization: Bearer S3CR3T-55 was refused"})
    deployed(space, "--egress-allow=a.example", env=[{"name": "HTTPS_PROXY", "value": "http://user:S3CR3T-56@p.example:3128"}])
    check("-n", space.name, "--operator-namespace", space.name, "--support-bundle", str(tmp_path / "s.tar"))
    with tarfile.open(tmp_path / "s.tar") as tar:
        files = {m.name: tar.extractfile(m).read() for m in tar.getmembers()}
    names = ("check.txt", "version.txt", "pods.json", "events.json", "services.json", "quotas.json", "deployments.json",
             "rayclusters.ray.io.json", "rayjobs.ray.io.json")
    assert {f"mobula-support/{name}" for name in names} <= set(files)
    assert b"was refused" in files["mobula-support/events.json"] and b"python main.py" in files["mobula-support/rayjobs.ray.io.json"]
    assert b"--egress-allow=a.example" in files["mobula-support/deployments.json"]
    assert b'"name":"V49"' in files["mobula-support/pods.json"]
    assert not [name for name, text in files.items() if b"S3CR3T" in text]
    assert (tmp_path / "s.tar").stat().st_mode & 0o077 == 0


def test_the_support_bundle_has_the_operators_log(tmp_path):
    """Fake kubelets have none, so an API server that is none gives it."""
    with strange(version(30), 0, tmp_path) as config:
        mobula("check", "--kubeconfig", config, "--support-bundle", str(tmp_path / "s.tar"))
    with tarfile.open(tmp_path / "s.tar") as tar:
        log = tar.extractfile("mobula-support/logs/mobula-1_operator.log").read().decode()
        assert "mobula 0" in tar.extractfile("mobula-support/version.txt").read().decode()
    assert "msg=started version=0.1.0" in log and "msg=refused Authorization: Bearer" in log and "@p" in log and "S3CR3T" not in log


def test_images_of_the_examples():
    out = mobula("images", "-f", "airgap/examples")
    listed = out.stdout.split()
    assert out.returncode == 0 and listed == sorted(set(listed)) and any(i.startswith("localhost/mobula:") for i in listed), out.stderr
    assert any(i.startswith("rayproject/ray:") for i in listed)
