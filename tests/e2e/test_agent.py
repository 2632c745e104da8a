"""`mobula agent` in heads of workloads reports to the operator of its cluster, which reviews the pod's token itself and carries the report
to the control plane. What others show or send is refused with the reason, and counted."""

import http.client
import json
import subprocess
import time

import pytest

from cluster import MOBULA, PATIENCE, eventually, kubectl, objects
from hub import account, certificate, cloud, definitions, hubs, operator_rule, put, status  # noqa: F401 (definitions and hubs are fixtures)
from processes import config_of
from test_hub import agent_reports, free_port

REPORT = {"ray": {"health": "HEALTHY", "version": "2.60.0", "dashboard": "HEALTHY", "nodesAlive": 2, "nodesDead": 0}}


def send(port, token, body, method="POST", path="/v1/report"):
    """(status, message) of the operator's answer."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    link.request(method, path, body if isinstance(body, str) else json.dumps(body), {"Authorization": f"Bearer {token}"} if token else {})
    answer = link.getresponse()
    text = answer.read().decode()
    link.close()
    return answer.status, json.loads(text).get("message")


def bound(space, pod=None, audience="mobula.dev/bootstrap"):
    about = ("--bound-object-kind=Pod", f"--bound-object-name={pod}") if pod else ()
    return kubectl("create", "token", "default", "-n", space.name, f"--audience={audience}", *about).stdout.strip()


def refuses(space, port, pod):
    """Hostile callers; the last ones are the pod itself with what is no report."""
    space.kubectl("run", "other", "--image=busybox", "--restart=Never")
    for token, words in ((bound(space, pod, "https://kubernetes.default.svc"), "for the audience mobula.dev/bootstrap"),
                         (bound(space), "bound to no pod"), (bound(space, "other"), "belongs to no workload"),
                         ("eyJ.no.token", "does not accept"), (None, "carries no bearer token")):
        code, said = send(port, token, REPORT)
        assert code == 401 and words in said, (code, said)
    good = bound(space, pod)
    for body in ("", "{", "[]", '{"ray": 1}', '{"ray": {}, "ray": {}}', "x" * 1000, "[" * 1000):
        assert send(port, good, body)[0] == 400, body
    assert send(port, good, {"ray": {"health": "x" * 20000}})[0] == 413
    assert send(port, good, REPORT, "GET")[0] == 404 and send(port, good, REPORT, path="/v1/bootstrap")[0] == 404
    assert "ray" not in status(space, "stays")


def test_reports_go_through_the_operator(space, hubs, operators, tmp_path):
    hub, port = hubs(), free_port()
    where = cloud(space)
    flags = ("--kinds=ray.io", "--namespace", space.name, "--control-plane-url=https://hub.example", f"--cloud-deployment-id={where}",
             "--agent")
    space.grant(*flags)
    documents = "\n---\n".join(json.dumps(o) for o in objects(*flags) if o["kind"].startswith("ClusterRole"))
    kubectl("apply", "-f", "-", stdin=documents)
    token_file = tmp_path / "token"
    token_file.write_text(account(space, "edge-operator", operator_rule()))
    try:
        operator = operators(f"--control-plane-url=http://127.0.0.1:{hub.port}", f"--cloud-deployment-id={where}",
                             f"--control-plane-token-file={token_file}", "--kinds=ray.io", "--raycronjobs=false",
                             "--rayservices=false", "--versionedservices=false", "--tools=configmap",
                             "--agent=operator", f"--agent-addr=127.0.0.1:{port}", f"--agent-url=http://127.0.0.1:{port}")
        put(space, "Workload", "workloads", "stays", {"cloud": "edge", "cluster": {}, "image": "rayproject/ray:2.52.0"})
        (pod,) = eventually(lambda: space.pods("stays"))
        name = pod["metadata"]["name"]
        eventually(lambda: send(port, None, REPORT)[0] == 401)
        refuses(space, port, name)
        shown = bound(space, name)
        assert send(port, shown, REPORT) == (200, None)
        said = eventually(lambda: status(space, "stays").get("ray"))
        assert {k: said[k] for k in REPORT["ray"]} == REPORT["ray"] and said["reportTime"], said
        assert send(port, shown, REPORT)[0] == 429
        metrics = operator.metrics()
        assert metrics['mobula_agent_reports_total{result="taken"}'] == 1 and metrics['mobula_agent_reports_total{result="refused"}'] > 12
        agent_reports(space, pod, shown, tmp_path)
        space.kubectl("delete", "pod", name, "--grace-period=0", "--force")
        eventually(lambda: any(p["metadata"]["uid"] != pod["metadata"]["uid"] for p in space.pods("stays")))
        code, said = eventually(lambda: (got := send(port, shown, REPORT))[0] != 429 and got)
        assert code == 401 and "belongs to no workload" in said, said  # the review was remembered; the pod is not there any more
        assert "eyJ" not in operator.log()
    finally:
        kubectl("delete", "-f", "-", "--ignore-not-found", stdin=documents)


CA_MOST = 64 * 1024  # LIMIT_REMOTE_AGENT_CA


@pytest.mark.parametrize("flags, words", [
    (("--agent=maybe",), "want off, operator or direct"),
    (("--agent=operator", "--tools=none"), "--tools=configmap or image:REF"),
    (("--agent=direct",), f"more than {CA_MOST} bytes (LIMIT_REMOTE_AGENT_CA)"),
])
def test_what_cannot_be_is_refused_at_the_start(space, tmp_path, flags, words):
    space.grant()
    ca, _ = certificate(tmp_path)
    ca.write_text(ca.read_text().ljust(CA_MOST + 1, "\n"))
    token = tmp_path / "token"
    token.write_text("x")
    command = [MOBULA, "operator", "--kubeconfig", config_of(space, tmp_path), "--namespace", space.name, "--health-addr=",
               "--metrics-addr=", "--control-plane-url=https://hub.example", f"--cloud-deployment-id=cldrsrc_{24 * 'a'}",
               f"--control-plane-token-file={token}", f"--control-plane-ca-file={ca}", *flags]
    said = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert said.returncode != 0 and words in said.stderr, said


def test_a_ca_as_large_as_it_may_be(space, operators, tmp_path):
    ca, _ = certificate(tmp_path)
    ca.write_text(ca.read_text().ljust(CA_MOST, "\n"))
    token = tmp_path / "token"
    token.write_text("x")
    operators("--control-plane-url=https://hub.example", f"--cloud-deployment-id=cldrsrc_{24 * 'a'}",
              f"--control-plane-token-file={token}", f"--control-plane-ca-file={ca}", "--agent=direct").says("msg=started")


def test_a_control_plane_without_an_address(space, operators, tmp_path):
    """Its name does not resolve, however slowly that is found out: one line within 15 s, with the step, and no second one in a minute."""
    token = tmp_path / "token"
    token.write_text("x")
    op = operators("--control-plane-url=https://hub.invalid", f"--cloud-deployment-id=cldrsrc_{24 * 'a'}",
                   f"--control-plane-token-file={token}")
    op.says("caches are complete")
    line = op.says("the control plane cannot be used", "step=dns", seconds=16)
    assert "hub.invalid" in line, line
    time.sleep(30)
    assert len(op.lines("the control plane cannot be used")) == 1
