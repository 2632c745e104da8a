"""What all cases share: the control plane with the CRDs, an installation's objects to put into a new namespace, the certificates."""

import collections
import itertools
import json
import os
import time

from cluster import RUN, Api, Refused, eventually, kubectl, manifests
from proxy import Certificates

TEMPLATE = "fault-template"
PATHS = {"ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts", "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
         "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings"}
numbers = itertools.count(1)


class User(Api):
    """Requests as admin. What it changes is counted by resource: each of that is a reason for the operator to act."""

    def __init__(self):
        super().__init__()
        self.changes = collections.Counter()

    def call(self, method, path, *body, **more):
        answer = super().call(method, path, *body, **more)
        if method != "GET":
            parts = path.split("?")[0].split("/")
            at = parts.index("namespaces") + 2 if "namespaces" in parts else 0
            self.changes["/".join(parts[at:at + 1])] += 1
        return answer


class Plane:
    """Made once before the cases are started, in processes of their own; api is opened anew in each (connect)."""

    def __init__(self):
        self.api = Api()
        self.certificates = Certificates(RUN / "pki")
        kubectl("apply", "-f", "-", stdin=manifests("--crds-only", "--kinds=all", "--no-admission-policy"))
        names = [f"crd/{name}" for name in ("rayclusters.ray.io", "rayclusters.cluster.ray.io", "rayjobs.ray.io")]
        kubectl("wait", "--for=condition=Established", *names, "--timeout=60s")
        for kind in ("ray.io/v1/rayclusters", "cluster.ray.io/v1/rayclusters", "ray.io/v1/rayjobs"):
            eventually(lambda kind=kind: self.served(f"/apis/{kind}"), 60)
        self.installation = self._installation()

    def served(self, path):
        """What has just been established may be refused for a moment more: its storage begins."""
        try:
            return self.api.get(path)
        except Refused as e:
            if e.status in (404, 429):
                return None
            raise

    def connect(self):
        self.api = User()
        return self

    @staticmethod
    def _installation():
        """The ServiceAccount, Roles and RoleBindings of an installation for all that the workloads do, as JSON with the template's
        namespace in it."""
        flags = ("--leader-elect", "--ray-auth", "--autoscaler=sidecar", "--ray-access=proxy")
        documents = manifests("--no-crds", "--kinds=all", *flags, "--namespace", TEMPLATE).split("\n---\n")
        text = "\n---\n".join(d for d in documents if "\nkind: Deployment\n" not in d)
        out = kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-", stdin=text).stdout
        objects, at, decoder = [], 0, json.JSONDecoder()
        while at < len(out.rstrip()):
            found, at = decoder.raw_decode(out, at)
            at += len(out[at:]) - len(out[at:].lstrip())
            objects += found["items"] if found["kind"] == "List" else [found]
        return json.dumps([o for o in objects if o["kind"] in PATHS])

    def namespace(self):
        """A new one with an installation's rights in it. Its name."""
        name = f"f{os.getpid()}-{int(time.time() * 1000) % 10_000_000}-{next(numbers)}"
        self.api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for o in json.loads(self.installation.replace(TEMPLATE, name)):
            self.api.call("POST", PATHS[o["kind"]].format(name), o)
        try:  # pods need it; the controller manager makes it a moment later
            body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
            self.api.call("POST", PATHS["ServiceAccount"].format(name), body)
        except Refused as e:
            if e.status != 409:
                raise
        return name

    def dispose(self, space):
        """Nobody waits for its end."""
        try:
            self.api.call("DELETE", f"/api/v1/namespaces/{space.name}")
        except Refused as e:
            if e.status not in (404, 409):
                raise

    def wait_for_collector(self, limit=90):
        """The garbage collector learns of new kinds within half a minute; before that, children of a deleted cluster stay."""
        name = self.namespace()
        owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "probe", "namespace": name},
                 "spec": {"headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}}}
        made = self.api.call("POST", f"/apis/ray.io/v1/namespaces/{name}/rayclusters", owner)
        reference = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "probe", "uid": made["metadata"]["uid"]}
        child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe", "ownerReferences": [reference]}}
        self.api.call("POST", f"/api/v1/namespaces/{name}/configmaps", child)
        self.api.call("DELETE", f"/apis/ray.io/v1/namespaces/{name}/rayclusters/probe")
        end = time.monotonic() + limit
        while time.monotonic() < end:
            try:
                self.api.get(f"/api/v1/namespaces/{name}/configmaps/probe")
            except Refused as e:
                if e.status != 404:
                    raise
                self.api.call("DELETE", f"/api/v1/namespaces/{name}")
                return
            time.sleep(0.2)
        raise RuntimeError(f"the garbage collector does not know RayClusters after {limit} s")
