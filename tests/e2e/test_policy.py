"""The policy of the administrator on the real API server, against a control plane that asks for what it must not have."""

import json
import signal
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from cluster import MOBULA, PATIENCE, eventually, kubectl, manifests

CLOUD = "cldrsrc_abcdefghijklmnopqrstuvwx"
POLICY = "images: ['registry.bank/*']\nnamePrefix: ''\nmaxTotalPods: 3\n"
IMAGE = "registry.bank/ray:2.52.0"


def node(**spec):
    """A job whose head has this in its pod."""
    return {"image": IMAGE, "job": {"entrypoint": "true"}, "computeConfig": {"inline": {"head_node": {
        "required_resources": {"CPU": 1, "memory": "1Gi"}, "advanced_instance_config": {"spec": spec}}}}}


HOSTILE = {
    "privileges": node(hostPID=True),
    "volumes": node(volumes=[{"name": "x", "hostPath": {"path": "/"}}]),
    "accounts": node(serviceAccountName="mobula"),
    "secrets": node(volumes=[{"name": "x", "secret": {"secretName": "payroll"}}]),
    "images": {"image": "evil.example/ray", "job": {"entrypoint": "true"}},
    "pull-secrets": {"image": IMAGE, "imagePullSecret": "payroll", "job": {"entrypoint": "true"}},
    "placement": node(priorityClassName="system-node-critical"),
    "resources": {"image": IMAGE, "job": {"entrypoint": "true"}, "computeConfig": {"inline": {"worker_nodes": [
        {"required_resources": {"CPU": 1, "memory": "1Gi"}, "max_nodes": 5000}]}}},
    "templates": node(initContainers=[{"name": "a", "image": IMAGE}]),
    "kinds": {"image": IMAGE, "workspace": {}},
}


class Hostile:
    """Speaks the protocol, and asks for whatever the test puts into `asked`: {name: (generation, spec)}."""

    def __init__(self, project):
        self.asked, self.uids, self.statuses, self.revision, self.lock = {}, {}, {}, 1, threading.Condition()
        self.elsewhere = False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # noqa: N802
                call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, body = outer.answer(call, project)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                if status == 302:
                    self.send_header("Location", "http://evil.example/v1/sync")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, call, project):
        with self.lock:
            for status in call.get("statuses", []):
                self.statuses[status["uid"]] = status
            if self.elsewhere:
                return 302, b""
            if call["revision"] == str(self.revision):
                self.lock.wait(min(call["wait"], 2))
            work = [{"uid": self.uid(name), "project": project, "name": name, "generation": generation, "spec": {"cloud": "c", **spec}}
                    for name, (generation, spec) in self.asked.items()]
            return 200, json.dumps({"protocol": 1, "revision": str(self.revision), "full": True, "more": False, "workloads": work}).encode()

    def uid(self, name):
        return f"{self.uids[name]:08x}-0000-4000-8000-000000000000"

    def ask(self, name, spec):
        with self.lock:
            self.uids.setdefault(name, len(self.uids) + 1)
            self.asked[name] = (self.asked.get(name, (0,))[0] + 1, spec)
            self.revision += 1
            self.lock.notify_all()

    def says(self, name, state, *words, seconds=PATIENCE):
        def said():
            status = self.statuses.get(self.uid(name), {})
            assert status.get("state") == state and all(w in status["message"] for w in words), (name, status)
            return status

        return eventually(said, seconds)


@pytest.fixture
def hostile(space):
    hub = Hostile(space.name)
    yield hub
    hub.server.shutdown()


def start(space, operators, tmp_path, hub, *flags):
    """An operator with the rights of `mobula install --control-plane-url`, and no more."""
    plane = ("--control-plane-url=https://hub.example", f"--cloud-deployment-id={CLOUD}")
    space.grant(*plane)
    printed = manifests("--no-crds", "--kinds=all", "--namespace", space.name, *plane).split("\n---\n")
    kubectl("apply", "-f", "-", stdin="\n---\n".join(d for d in printed if "mobula-policy" in d and "kind: Deployment" not in d))
    token = tmp_path / "token"
    token.write_text("t")
    return operators(f"--control-plane-url=http://127.0.0.1:{hub.server.server_address[1]}", f"--cloud-deployment-id={CLOUD}",
                     f"--control-plane-token-file={token}", "--policy-configmap=mobula-policy", *flags)


def jobs(space):
    return {j["metadata"]["name"] for j in space.api.get(space.path("rayjobs", group="/apis/ray.io/v1"))["items"]}


def set_policy(space, text):
    kubectl("create", "configmap", "mobula-policy", "-n", space.name, f"--from-literal=policy.yaml={text}")


def test_each_hostile_item_is_refused_with_its_rule(space, operators, tmp_path, hostile):
    set_policy(space, POLICY)
    op = start(space, operators, tmp_path, hostile)
    for rule, spec in HOSTILE.items():
        hostile.ask(f"bad-{rule}", spec)
    for rule in HOSTILE:
        hostile.says(f"bad-{rule}", "REFUSED", f"rule {rule}: ")
    assert jobs(space) == set()
    counted = op.metrics()
    assert all(counted[f'mobula_policy_refusals_total{{rule="{rule}"}}'] >= 1 for rule in HOSTILE), counted
    assert op.lines("the policy keeps a workload", "rule=images", "workload=bad-images")

    # a new policy is in force at once: workloads above its limits wait
    kubectl("patch", "configmap", "mobula-policy", "-n", space.name, "--type=merge", "-p",
            json.dumps({"data": {"policy.yaml": "maxTotalPods: 1\nimages: ['evil.example/*', 'registry.bank/*']\n"}}))
    eventually(lambda: jobs(space) == {"bad-images"})
    hostile.ask("second", {"image": IMAGE, "job": {"entrypoint": "true"}})
    hostile.says("second", "PENDING", "rule resources: ", "maxTotalPods")

    # each write has its line in the log
    assert op.metrics()["mobula_remote_writes_total"] == len(op.lines("remote write: ")) == 1

    # a redirect is not followed, and counted
    hostile.elsewhere = True
    eventually(lambda: op.metrics()['mobula_policy_refusals_total{rule="redirects"}'] >= 1, 60)


def test_the_annotation_frozen_stops_remote_writes(space, operators, tmp_path, hostile):
    set_policy(space, "{}")
    op = start(space, operators, tmp_path, hostile, "--default-image", IMAGE)
    hostile.ask("first", {"job": {"entrypoint": "true"}})
    eventually(lambda: jobs(space) == {"first"})
    kubectl("annotate", "configmap", "mobula-policy", "-n", space.name, "mobula.dev/frozen=true")
    op.says("remote writes are off")
    hostile.ask("second", {"job": {"entrypoint": "true"}})
    hostile.says("second", "PENDING", "rule freeze: ")
    with hostile.lock:
        del hostile.asked["first"]
        hostile.revision += 1
        hostile.lock.notify_all()
    time.sleep(2)
    assert jobs(space) == {"first"} and op.metrics()["mobula_policy_frozen"] == 1
    kubectl("annotate", "configmap", "mobula-policy", "-n", space.name, "mobula.dev/frozen-")
    eventually(lambda: "second" in jobs(space))


def test_the_operator_cannot_write_its_own_policy(space, operators, tmp_path, hostile):
    set_policy(space, "imagez: []\n")
    op = start(space, operators, tmp_path, hostile)
    # That a right to create names no names is the admission policy's to mend: test_admission.py.
    for verb in "update", "patch", "delete":
        said = kubectl("auth", "can-i", verb, "configmaps/mobula-policy", "-n", space.name, f"--as={op.user}", check=False).stdout.strip()
        assert said == "no", (verb, said)
    hostile.ask("first", {"image": IMAGE, "job": {"entrypoint": "true"}})
    hostile.says("first", "PENDING", "ConfigMap mobula-policy is broken: line 1: imagez: is no field of a policy")
    assert op.metrics()["mobula_settings_broken"] == 1 and jobs(space) == set()


def test_a_policy_file_that_changes(space, operators, tmp_path, hostile):
    """Read again every minute and at SIGHUP. One that is broken is refused with its line, by an operator that starts for good."""
    file = tmp_path / "policy.yaml"
    file.write_text("images: ['registry.bank/*']\n")
    op = start(space, operators, tmp_path, hostile, f"--policy-file={file}")
    hostile.ask("first", {"image": "evil.example/ray", "job": {"entrypoint": "true"}})
    hostile.says("first", "REFUSED", "rule images: ")
    file.write_text("images: ['*']\nmaxPods: many\n")
    op.process.send_signal(signal.SIGHUP)
    op.says("the policy file is broken", f"--policy-file {file}: line 2: maxPods: ")
    assert op.metrics()["mobula_settings_broken"] == 1
    hostile.ask("first", {"image": "evil.example/again", "job": {"entrypoint": "true"}})
    hostile.says("first", "REFUSED", "rule images: ")
    file.write_text("images: ['evil.example/*']\n")
    eventually(lambda: jobs(space) == {"first"}, 70)
    assert op.metrics()["mobula_settings_broken"] == 0
    op.stop()
    file.write_text("images: ['*']\nmaxPods: many\n")
    command = [MOBULA, "operator", "--kubeconfig", op.config, "--namespace", space.name, *op.flags]
    again = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert again.returncode == 2 and f"--policy-file {file}: line 2: maxPods: " in again.stderr, again
