"""One laboratory with an API server, the operator behind its NAT, and witnesses that count what is made."""

import http.client
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from lab import API, DNS, PROXY, Lab
from servers import HOST, Door, NameServer, Proxy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "rig"))
import rig

MOBULA = rig.MOBULA
MODEL = rig.ROOT / "build/apiserver"
numbers = itertools.count(1)


def eventually(what, seconds, step=0.05):
    """Calls what() until it is true or the time is over; returns that, and how long it took."""
    begun = time.monotonic()
    while True:
        value = what()
        if value or time.monotonic() - begun > seconds:
            return value, time.monotonic() - begun
        time.sleep(step)


def install(*flags):
    return subprocess.run([MOBULA, "install", "--print", *flags], capture_output=True, text=True, timeout=60, check=True).stdout


class Model:
    """The model API server, in `far`."""

    namespace, token, tls = "default", "the-token-of-this-laboratory", None

    def __init__(self, lab):
        self.lab = lab
        self.process = subprocess.Popen(lab.far.inside(MODEL, "--listen", 0), stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().strip().rsplit(":", 1)[1].strip("/"))
        definitions = [d for d in install("--crds-only", "--kinds=all").split("\n---\n") if "\nkind: CustomResourceDefinition\n" in d]
        for document in definitions:  # and not the admission policies beside them, which the model does not know
            self.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", document, "application/yaml")

    def backend(self):
        """A new connection to it, as the door needs one for each of its own."""
        return self.lab.far.connect("127.0.0.1", self.port)

    def link(self):
        link = http.client.HTTPConnection("127.0.0.1", self.port)
        link.sock = self.backend()
        return link

    def call(self, method, path, body=None, kind="application/json"):
        text = None if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
        link = self.link()
        link.request(method, path, text, {"Content-Type": kind, "Connection": "close"})
        answer = link.getresponse()
        data = answer.read()
        link.close()
        assert answer.status < 300, f"{method} {path}: {answer.status} {data[:300]}"
        return json.loads(data)

    def close(self):
        self.process.kill()
        self.process.wait(60)


class Real(Model):
    """The control plane of tests/rig, which listens in the namespace that this process is in."""

    def __init__(self, lab):
        self.lab, self.port, self.tls = lab, rig.port(), rig.admin_tls()
        self.namespace = f"net{os.getpid()}-{next(numbers)}"
        self.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        documents = install("--namespace", self.namespace).split("\n---\n")
        self.kubectl("apply", "-f", "-", stdin="\n---\n".join(d for d in documents if "\nkind: Deployment\n" not in d))
        self.kubectl("wait", "--for=condition=Established", "crd/rayclusters.ray.io", "--timeout=60s")
        self.token = self.kubectl("create", "token", "mobula", "-n", self.namespace, "--duration=1h").strip()

    @staticmethod
    def kubectl(*args, stdin=None):
        command = [rig.KUBECTL, "--kubeconfig", rig.RUN / "admin.kubeconfig", *args]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120, check=True).stdout

    def backend(self):
        return socket.create_connection(("127.0.0.1", self.port), 60)

    def link(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls)

    def close(self):
        self.call("DELETE", f"/api/v1/namespaces/{self.namespace}")


class Witness:
    """Watches a kind from beside the API server: every object of a RayCluster that was ever made."""

    def __init__(self, model, plural):
        self.made, self.gone = {}, set()
        path = f"/api/v1/namespaces/{model.namespace}/{plural}"
        self.link = model.link()
        now = model.call("GET", path)["metadata"]["resourceVersion"]
        self.link.request("GET", f"{path}?watch=1&labelSelector=ray.io/cluster&resourceVersion={now}")
        self.link.sock.settimeout(None)
        threading.Thread(target=self._listen, args=(self.link.getresponse(),), daemon=True).start()

    def _listen(self, answer):
        try:
            while line := answer.readline():
                event = json.loads(line)
                meta = event["object"]["metadata"]
                if event["type"] == "ADDED":
                    self.made[meta["uid"]] = meta["name"]
                if event["type"] == "DELETED":
                    self.gone.add(meta["uid"])
        except (OSError, ValueError, KeyError, http.client.HTTPException):
            pass  # the server has ended

    def alive(self):
        return len(self.made) - len(self.gone)


def raycluster(workers):
    def template(name):
        amounts = {"cpu": "1", "memory": "1Gi"}
        return {"spec": {"containers": [{"name": name, "image": "ray:2", "resources": {"limits": amounts, "requests": amounts}}]}}

    spec = {"rayVersion": "2.52.0", "headGroupSpec": {"rayStartParams": {}, "template": template("ray-head")},
            "workerGroupSpecs": [{"groupName": "small", "replicas": workers, "minReplicas": 0, "maxReplicas": 100, "rayStartParams": {},
                                  "template": template("ray-worker")}]}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "c"}, "spec": spec}


class Bench:
    """Everything that one case needs: the operator asks `host` for the API server, through the proxy of that URL."""

    def __init__(self, folder, servers, pki, stranger, host=API, proxy="", table="", real=False):
        folder.mkdir(parents=True)
        self.folder, self.host, self.pki, self.other, self.through, self.table = folder, host, pki, stranger, proxy, table
        self.lab = Lab(folder)
        self.model = Real(self.lab) if real else Model(self.lab)
        self.path = f"/apis/ray.io/v1/namespaces/{self.model.namespace}/rayclusters"
        self.pods, self.services = Witness(self.model, "pods"), Witness(self.model, "services")
        self.door = Door(servers, pki.server(), self.model).open(self.lab, API)
        self.names = NameServer(servers, self.lab, DNS, {HOST: [API]})
        self.proxy, self.second = Proxy(servers, self.lab, PROXY), Proxy(servers, self.lab, PROXY, 3129)
        self.opened, self.process, self.log_path = 0, None, folder / "operator.log"

    def kubeconfig(self, name, token):
        path = self.folder / name
        path.write_text(f"""apiVersion: v1
kind: Config
clusters: [{{name: lab, cluster: {{server: "https://{self.host}:6443", certificate-authority: "{self.pki.ca}"}}}}]
users: [{{name: user, user: {{token: "{token}"}}}}]
contexts: [{{name: lab, context: {{cluster: lab, user: user, namespace: "{self.model.namespace}"}}}}]
current-context: lab
""")
        path.chmod(0o600)
        return path

    def start(self):
        env = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        if self.through:
            env["HTTPS_PROXY"] = self.through
        if self.table:
            env["MOBULA_PROXIES"] = self.table
        config = self.kubeconfig("operator.config", self.model.token)
        command = self.lab.command(MOBULA, "operator", "--kubeconfig", config, "--kinds", "ray.io", "--autoscaler", "off",
                                   "--tools", "none", "--health-addr", "", "--metrics-addr", "")
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env)

    def log(self):
        return self.log_path.read_text()

    def lines(self, *words, skip=0):
        return [line for line in self.log()[skip:].splitlines() if all(w in line for w in words)]

    def cluster(self, workers):
        self.model.call("POST", self.path, raycluster(workers))

    def scale(self, workers):
        patch = [{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": workers}]
        self.model.call("PATCH", f"{self.path}/c", patch, "application/json-patch+json")

    def settled(self, workers):
        """All pods are there, and status tells of them."""
        if self.pods.alive() != workers + 1:
            return False
        return self.model.call("GET", f"{self.path}/c").get("status", {}).get("readyWorkerReplicas") == workers

    def close(self):
        if self.process:
            self.process.terminate()
            self.process.wait(60)
        self.model.close()
        self.lab.close()
