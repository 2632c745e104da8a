"""The control plane under test: requests as admin, the audit log as witness, operators as processes. Standard library only."""

import calendar
import collections
import http.client
import json
import os
import ssl
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RIG = Path(os.environ.get("RIG_DIR") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mobula-rig")
RUN = RIG / "run" / os.environ.get("NAME", "e2e")
MOBULA = ROOT / os.environ.get("MOBULA", "build/mobula")
KUBECTL = RIG / "bin" / f"kubernetes-{os.environ.get('K8S_VERSION', '1.34.10')}" / "kubectl"

V1 = "/apis/ray.io/v1"
LEGACY = "/apis/cluster.ray.io/v1"


class Refused(Exception):
    """The API server said no."""

    def __init__(self, status, body):
        super().__init__(f"{status}: {body.get('message', body)}")
        self.status, self.body = status, body


class Api:
    """One kept-alive connection as admin."""

    def __init__(self):
        self.tls = ssl.create_default_context(cafile=RUN / "pki" / "ca.crt")
        self.tls.load_cert_chain(RUN / "pki" / "admin.crt", RUN / "pki" / "admin.key")
        self.port = int((RUN / "port").read_text())
        self.link = None

    def call(self, method, path, body=None, content_type="application/json"):
        text = json.dumps(body) if body is not None else None
        for attempt in (0, 1):
            try:
                self.link = self.link or http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=60)
                self.link.request(method, path, text, {"Accept": "application/json", "Content-Type": content_type})
                answer = self.link.getresponse()
                data = json.loads(answer.read() or b"{}")
                break
            except (http.client.HTTPException, OSError):
                self.link = None
                if attempt:
                    raise
        if answer.status >= 300:
            raise Refused(answer.status, data)
        return data

    def get(self, path):
        return self.call("GET", path)

    def patch(self, path, body, kind="merge-patch"):
        return self.call("PATCH", path, body, f"application/{kind}+json")


def kubectl(*args, stdin=None, check=True, kubeconfig=None):
    command = [KUBECTL, "--kubeconfig", kubeconfig or RUN / "admin.kubeconfig", *args]
    out = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120, check=False)
    if check and out.returncode:
        raise AssertionError(f"kubectl {' '.join(map(str, args))}: {out.stderr}")
    return out


def mobula(*args, stdin=None):
    return subprocess.run([MOBULA, *args], input=stdin, capture_output=True, text=True, timeout=60, check=False)


def manifests(*flags):
    """What `mobula install --print` prints."""
    out = mobula("install", "--print", *flags)
    assert out.returncode == 0, out.stderr
    return out.stdout


def eventually(what, seconds=30, step=0.05):
    """Calls what() until it returns something true, and returns that. An AssertionError on the way counts as "not yet"."""
    end = time.monotonic() + seconds
    while True:
        last = None
        try:
            value = what()
        except AssertionError as e:
            value, last = None, e
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {last or what.__doc__ or what}")
        time.sleep(step)


class Audit:
    """The audit log from here on."""

    def __init__(self):
        self.path = RUN / "audit.log"
        self.at = self.path.stat().st_size if self.path.exists() else 0

    def entries(self, user=None, namespace=None):
        time.sleep(0.3)  # the server writes it a moment after its answer
        found = []
        with self.path.open("rb") as f:
            f.seek(self.at)
            for line in f:
                if not line.endswith(b"\n"):
                    break
                e = json.loads(line)
                if e["stage"] not in ("ResponseComplete", "ResponseStarted") or (user and e["user"]["username"] != user):
                    continue
                if namespace and (e.get("objectRef") or {}).get("namespace") != namespace:
                    continue
                found.append(e)
        return found

    def writes(self, user=None, namespace=None):
        """How many of each "verb resource[/subresource]" changed something, leases left out."""
        kinds = ("create", "update", "patch", "delete", "deletecollection")
        found = [e for e in self.entries(user, namespace) if e["verb"] in kinds and e["stage"] == "ResponseComplete"]
        return collections.Counter(what(e) for e in found if e["objectRef"]["resource"] != "leases")


def what(entry):
    o = entry.get("objectRef") or {}
    sub = "/" + o["subresource"] if o.get("subresource") else ""
    return f'{entry["verb"]} {o.get("resource")}{sub}'


def stamp(text):
    main, _, fraction = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(main, "%Y-%m-%dT%H:%M:%S")) + float("0." + (fraction or "0"))


class Workspace:
    """A namespace of its own with an installation in it."""

    def __init__(self, api, name):
        self.api, self.name = api, name

    def path(self, resource, name="", group="/api/v1"):
        return f"{group}/namespaces/{self.name}/{resource}" + (f"/{name}" if name else "")

    def apply(self, obj, group=V1):
        obj["metadata"].setdefault("namespace", self.name)
        try:
            return self.api.call("POST", self.path("rayclusters", group=group), obj)
        except Refused as e:
            if e.status != 409:
                raise
            return self.api.patch(self.path("rayclusters", obj["metadata"]["name"], group), obj)

    def cluster(self, name, group=V1):
        return self.api.get(self.path("rayclusters", name, group))

    def change(self, name, spec, group=V1):
        return self.api.patch(self.path("rayclusters", name, group), {"spec": spec})

    def delete(self, name, group=V1):
        return self.api.call("DELETE", self.path("rayclusters", name, group))

    def find(self, path):
        """The object at this path, or None."""
        try:
            return self.api.get(path)
        except Refused as e:
            if e.status != 404:
                raise
            return None

    def pods(self, cluster=None):
        query = f"?labelSelector=ray.io/cluster%3D{cluster}" if cluster else ""
        items = self.api.get(self.path("pods") + query)["items"]
        return [p for p in items if not p["metadata"].get("deletionTimestamp")]

    def ready(self, name, pods, group=V1, seconds=60):
        """Waits until the cluster is ready with so many pods."""

        def look():
            c = self.cluster(name, group)
            state = c.get("status", {}).get("state" if group == V1 else "phase")
            return len(self.pods(name)) == pods and state == ("ready" if group == V1 else "Running") and c

        return eventually(look, seconds)

    def fail(self, pod, code=1):
        """Makes a pod end as a kubelet would say it."""
        status = {"phase": "Failed", "reason": "Error", "containerStatuses": [container_end(c, code) for c in pod["spec"]["containers"]]}
        return self.api.patch(self.path("pods", pod["metadata"]["name"]) + "/status", {"status": status})


def container_end(container, code):
    ended = {"exitCode": code, "reason": "Error", "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z"}
    return {"name": container["name"], "image": container["image"], "imageID": "", "ready": False, "restartCount": 0,
            "state": {"terminated": ended}}


def condition(obj, kind):
    for c in obj.get("status", {}).get("conditions", []):
        if c["type"] == kind:
            return c
    return {}


def container(name, cpu="1", memory="1Gi"):
    amounts = {"cpu": cpu, "memory": memory}
    return {"name": name, "image": "ray:2", "resources": {"limits": amounts, "requests": amounts}}


def raycluster(name, workers=1, **group):
    """A ray.io/v1 RayCluster with one worker group, "small"; group's words go into it."""
    head = {"rayStartParams": {}, "template": {"spec": {"containers": [container("ray-head")]}}}
    small = {"groupName": "small", "replicas": workers, "minReplicas": 0, "maxReplicas": 1000, "rayStartParams": {},
             "template": {"spec": {"containers": [container("ray-worker")]}}, **group}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name},
            "spec": {"rayVersion": "2.52.0", "headGroupSpec": head, "workerGroupSpecs": [small]}}
