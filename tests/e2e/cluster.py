"""The control plane under test: requests as admin, the audit log as witness, operators as processes. Standard library only."""

import collections
import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "rig"))
from rig import KUBECTL, MOBULA, ROOT, RUN, Api, AuditLog, Refused, stamp, what

__all__ = ["MOBULA", "ROOT", "RUN", "Api", "Refused", "stamp", "what"]  # of the rig, for those who import this

V1 = "/apis/ray.io/v1"
LEGACY = "/apis/cluster.ray.io/v1"
PATIENCE = 120  # seconds: no promise of the product, but what a busy machine may need for anything


def kubectl(*args, stdin=None, check=True, kubeconfig=None):
    command = [KUBECTL, "--kubeconfig", kubeconfig or RUN / "admin.kubeconfig", *args]
    out = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
    if check and out.returncode:
        raise AssertionError(f"kubectl {' '.join(map(str, args))}: {out.stderr}")
    return out


def kubeconfig_of(account, space, folder):
    """A kubeconfig with a token of this service account, and nothing of the admin's."""
    file = folder / f"{account}.kubeconfig"
    file.write_text((RUN / "admin.kubeconfig").read_text())
    kubectl("config", "set-credentials", account, f"--token={kubectl('-n', space, 'create', 'token', account).stdout.strip()}",
            kubeconfig=file)
    kubectl("config", "set-context", "--current", f"--user={account}", kubeconfig=file)
    return file


def mobula(*args, stdin=None):
    return subprocess.run([MOBULA, *args], input=stdin, capture_output=True, text=True, timeout=60, check=False)


def write_carried(to):
    """Writes the carried form of the program, as ConfigMaps hold it, to a file and returns its bytes."""
    subprocess.run([ROOT / "tests/tools/carried", MOBULA, MOBULA, to], check=True, timeout=60)
    return to.read_bytes()


def unless(given, *usual):
    """The default flags (--NAME=VALUE each) whose names are not among the given ones."""
    names = {str(flag).partition("=")[0] for flag in given}
    return [flag for flag in usual if flag.partition("=")[0] not in names]


def manifests(*flags):
    """The output of `mobula install --print`. If a flag is given twice, only the last one is passed on."""
    flags = [flag for n, flag in enumerate(flags) if "=" not in flag or unless(flags[n + 1:], flag)]
    out = mobula("install", "--print", *flags)
    assert out.returncode == 0, out.stderr
    return out.stdout


def objects(*flags):
    """The objects of what `mobula install --print` prints."""
    out = kubectl("create", "--dry-run=client", "-o", "json", "-f", "-", stdin=manifests(*flags)).stdout
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(out.rstrip()):
        obj, at = decoder.raw_decode(out, at + (len(out[at:]) - len(out[at:].lstrip())))
        found += obj["items"] if obj["kind"] == "List" else [obj]
    return found


def definitions():
    """Names of the definitions that an installation with all kinds brings."""
    return sorted(path.stem for path in (ROOT / "airgap/crds").glob("*.yaml") if path.stem.endswith("ray.io") or "versioned" in path.stem)


def eventually(what, seconds=PATIENCE, step=None):
    """Calls what() until it returns a true value, and returns that value. An AssertionError or a KeyError (a missing field) counts as a
    false value. step: seconds between two calls; None: 0.05 at first, and more in a long wait, because each look costs the API server and
    the other tests processor time."""
    began = time.monotonic()
    end = began + seconds
    while True:
        last = None
        try:
            value = what()
        except (AssertionError, KeyError) as e:
            value, last = None, e
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {repr(last) if isinstance(last, KeyError) else last or what.__doc__ or what}")
        time.sleep(step or min(0.25, max(0.05, (time.monotonic() - began) / 20)))


class Audit(AuditLog):
    """The audit log from here on."""

    def entries(self, user=None, namespace=None):
        found = []
        for e in self.lines():
            if e["stage"] not in ("ResponseComplete", "ResponseStarted") or (user and e["user"].get("username") != user):
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


@contextlib.contextmanager
def another_rig(word, **more):
    """One more control plane beside the tests' own, without nodes, for as long as the block lasts: its Api."""
    run = RUN.parent / f"{RUN.name}-{word}"
    left_out = ("APISERVER_ARGS", "KUBELET_NODE")
    env = {k: v for k, v in os.environ.items() if k not in left_out}
    env |= {"NAME": run.name, "AUDIT": "0", "NODES": "0", "SCHEDULER": "0", "KEEP": "0", **more}

    def rig(script):
        return subprocess.run([ROOT / "tests/rig" / script], env=env, capture_output=True, text=True, timeout=240, check=False)

    rig("down.sh")  # of a run that was killed
    up = rig("up.sh")
    try:
        assert up.returncode == 0, up.stderr
        yield Api(run)
    finally:
        rig("down.sh")


@contextlib.contextmanager
def workspace(api, name):
    """A namespace with the service account and the Roles of an installation, without its Deployment: the operator under test is a
    process of ours. Gone afterwards."""
    space = Workspace(api, name)
    api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    documents = manifests("--no-crds", "--kinds=all", "--leader-elect", "--namespace", name).split("\n---\n")
    space.kubectl("apply", "-f", "-", stdin="\n---\n".join(d for d in documents if "\nkind: Deployment\n" not in d))
    try:
        yield space
    finally:
        api.call("DELETE", f"/api/v1/namespaces/{name}")


class Workspace:
    """A namespace of its own with an installation in it."""

    def __init__(self, api, name):
        self.api, self.name = api, name

    def kubectl(self, *args, **options):
        """kubectl as admin of the namespace's cluster, which need not be the tests' first one."""
        return kubectl("-n", self.name, *args, kubeconfig=self.api.run / "admin.kubeconfig", **options)

    def path(self, resource, name="", group="/api/v1"):
        return f"{group}/namespaces/{self.name}/{resource}" + (f"/{name}" if name else "")

    def grant(self, *flags):
        """The Role of an installation with these flags, in the place of the usual one."""
        documents = manifests("--no-crds", "--kinds=all", "--namespace", self.name, *flags).split("\n---\n")
        self.kubectl("apply", "-f", "-", stdin="\n---\n".join(d for d in documents if "\nkind: Role\n" in d))

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

    def start(self, job):
        job["metadata"]["namespace"] = self.name
        return self.api.call("POST", self.path("rayjobs", group=V1), job)

    def schedule(self, name, schedule):
        """A RayCronJob of a small job."""
        template = rayjob(name, preRunningDeadlineSeconds=2)["spec"]
        return self.api.call("POST", self.path("raycronjobs", group=V1),
                             {"apiVersion": "ray.io/v1", "kind": "RayCronJob", "metadata": {"name": name, "namespace": self.name},
                              "spec": {"schedule": schedule, "jobTemplate": template}})

    def serve(self, name, spec, **metadata):
        """A RayService."""
        return self.api.call("POST", self.path("rayservices", group=V1),
                             {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": name, **metadata}, "spec": spec})

    def job(self, name):
        return self.api.get(self.path("rayjobs", name, V1))

    def becomes(self, job, phase, seconds=PATIENCE):
        """Waits until the RayJob's jobDeploymentStatus is this; gives its status."""
        def look():
            status = self.job(job).get("status", {})
            assert status.get("jobDeploymentStatus") == phase, {k: v for k, v in status.items() if k != "rayClusterStatus"}
            return status

        return eventually(look, seconds, 0.2)

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

    def ready(self, name, pods, group=V1, seconds=PATIENCE):
        """Waits until the cluster is ready with so many pods. A status that names a head of before is not yet the one to wait for."""

        def look():
            c = self.cluster(name, group)
            status, there = c.get("status", {}), {p["metadata"]["name"] for p in self.pods(name)}
            ready = status.get("state") == "ready" if group == V1 else status.get("phase") == "Running"
            return ready and len(there) == pods and status.get("head", {}).get("podName") in there and c

        return eventually(look, seconds)

    def rest(self, operator, seconds=3, limit=PATIENCE):
        """Waits until the operator has written nothing for so long and has nothing left to tell: of how many pods are ready it tells at
        its own pace. Gives the audit log from the beginning of that rest, in which nothing stands yet: who demands that something makes
        it write nothing does it now."""
        def look():
            audit = Audit()
            time.sleep(seconds)
            written = audit.writes(operator.user, self.name)
            assert not written, f"it goes on writing: {written}"
            for group in (V1, LEGACY):
                for cluster in self.api.get(self.path("rayclusters", group=group))["items"]:
                    self.told(cluster)
            return audit

        return eventually(look, limit)

    def head_refused(self, name):
        """Waits until the status says that no head can be made for the cluster; why."""
        def told():
            failed = condition(self.cluster(name), "ReplicaFailure")
            assert failed.get("status") == "True" and failed["reason"] == "FailedCreateHeadPod", failed
            return failed["message"]

        return eventually(told)

    def told(self, cluster):
        """The cluster's status is about the pods that there are. A new head has the name of the one before it, but not its address."""
        status, uid = cluster.get("status", {}), cluster["metadata"]["uid"]
        pods = [p for p in self.pods() if uid in [r["uid"] for r in p["metadata"].get("ownerReferences", [])]]
        told = (status.get("head", {}).get("podIP"), sum(g["ready"] for g in status.get("groups", [])))
        heads = [p["status"].get("podIP", "") for p in pods if p["metadata"]["labels"]["ray.io/node-type"] == "head"]
        ready = sum(c["type"] == "Ready" and c["status"] == "True" for p in pods for c in p["status"].get("conditions", []))
        assert [told] == [(ip, ready) for ip in heads], f"{cluster['metadata']['name']}: told {told}, but {heads} and {ready} are there"
        wanted = status.get("desiredWorkerReplicas") or 0  # the first workers wait for ConfigMap mobula-tools, which may take seconds
        assert len(pods) - len(heads) >= wanted, f"{cluster['metadata']['name']}: {wanted} workers are wanted, of {len(pods)} pods"

    def fail(self, pod, code=1):
        """Makes a pod end as a kubelet would say it."""
        status = {"phase": "Failed", "reason": "Error", "containerStatuses": [container_end(c, code) for c in pod["spec"]["containers"]]}
        return self.api.patch(self.path("pods", pod["metadata"]["name"]) + "/status", {"status": status})


def container_end(container, code):
    ended = {"exitCode": code, "reason": "Error" if code else "Completed",
             "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z"}
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


def rayjob(name, workers=1, **spec):
    """A ray.io/v1 RayJob with a cluster of its own; spec's words go into it, and None takes one away."""
    spec = {"entrypoint": "python program.py", "rayClusterSpec": raycluster(name, workers)["spec"], **spec}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": name},
            "spec": {k: v for k, v in spec.items() if v is not None}}
