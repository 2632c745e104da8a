"""The ValidatingAdmissionPolicy of an installation, tried with the operator's own token: what it may make, and what it may not although its
Role lets it create pods and services."""

import json

import pytest

from cluster import Refused, eventually, kubeconfig_of, kubectl, manifests, raycluster
from test_patches import MORE, ON_DEMAND
from test_shapes import DOCUMENT


def pod(**spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"},
            "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def container(**more):
    return pod(containers=[{"name": "c", "image": "i", **more}])


def context(**more):
    return container(securityContext=more)


def service(**spec):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"generateName": "s-"}, "spec": {"ports": [{"port": 1}], **spec}}


def configmap(name):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"policy.yaml": "{}"}}


REFUSED = {
    "privileged": (context(privileged=True), "privileged"),
    "init": (pod(initContainers=[{"name": "i", "image": "i", "securityContext": {"privileged": True}}]), "privileged"),
    "capability": (context(capabilities={"add": ["SYS_ADMIN"]}), "capability"),
    "all-capabilities": (context(capabilities={"add": ["ALL"]}), "capability"),
    "host-network": (pod(hostNetwork=True), "host's namespaces"),
    "host-pid": (pod(hostPID=True), "host's namespaces"),
    "host-ipc": (pod(hostIPC=True), "host's namespaces"),
    "host-port": (container(ports=[{"containerPort": 1, "hostPort": 1}]), "host ports"),
    "host-path": (pod(volumes=[{"name": "v", "hostPath": {"path": "/"}}]), "hostPath"),
    "seccomp": (context(seccompProfile={"type": "Unconfined"}), "seccomp"),
    "pod-seccomp": (pod(securityContext={"seccompProfile": {"type": "Unconfined"}}), "seccomp"),
    "priority": (pod(priorityClassName="system-node-critical"), "priority classes"),
    "external-ip": (service(externalIPs=["10.1.2.3"]), "externalIPs"),
    "external-name": (service(type="ExternalName", externalName="a.example"), "ExternalName"),
    "policy": (configmap("mobula-policy"), "ConfigMaps other than"),
    "another": (configmap("mobula-tools-2"), "ConfigMaps other than"),
}
TAKEN = {
    "plain": pod(),
    "debugger": context(capabilities={"add": ["SYS_PTRACE", "IPC_LOCK"], "drop": ["ALL"]}),
    "unprivileged": context(privileged=False, procMount="Default"),
    "volumes": pod(volumes=[{"name": "v", "emptyDir": {"medium": "Memory"}}], initContainers=[{"name": "i", "image": "i"}]),
    "port": container(ports=[{"containerPort": 1}]),
    "service": service(),
    "node-port": service(type="NodePort"),
    "tools": configmap("mobula-tools"),
    "folder": configmap("mobula-dir-6d8eb8ac-b8d2-45d1-951a-7630c8a30913-1"),
}


SUFFIXES = "", ".services", ".configmaps", ".shapes"


class Account:
    """Requests with the operator's own token."""

    def __init__(self, space, folder):
        self.kubeconfig, self.space = kubeconfig_of("mobula", space.name, folder), space.name

    def refusal(self, obj):
        """Why the API server does not take it; empty: it would."""
        out = kubectl("-n", self.space, "create", "--dry-run=server", "--validate=false", "-f", "-", stdin=json.dumps(obj), check=False,
                      kubeconfig=self.kubeconfig)
        assert out.returncode == 0 or out.stderr
        return out.stderr if out.returncode else ""


@pytest.fixture
def account(space, tmp_path):
    kubectl("apply", "-f", "-", stdin=manifests("--crds-only", "--kinds=all", "--shapes", "--namespace", space.name))
    account = Account(space, tmp_path)
    # As an operator of a control plane has it, for folders.
    space.kubectl("create", "role", "configmaps", "--verb=create", "--resource=configmaps")
    space.kubectl("create", "rolebinding", "configmaps", "--role=configmaps", f"--serviceaccount={space.name}:mobula")
    # The API server takes a moment to compile a policy.
    eventually(lambda: account.refusal(REFUSED["privileged"][0]) and account.refusal(REFUSED["external-ip"][0]) and
               "policy" in account.refusal(REFUSED["policy"][0]), step=0.5)
    yield account
    kinds = "validatingadmissionpolicybindings,validatingadmissionpolicies"
    kubectl("delete", kinds, *(f"mobula.{space.name}{suffix}" for suffix in SUFFIXES))


def test_what_a_stolen_token_cannot_make(account, space, api):
    for name, (obj, word) in REFUSED.items():
        why = account.refusal(obj)
        assert "mobula's admission policy" in why and word in why, (name, why)
    for name, obj in TAKEN.items():
        assert not account.refusal(obj), (name, account.refusal(obj))
    # The policy is the operator's alone.
    assert api.call("POST", space.path("pods") + "?dryRun=All", REFUSED["privileged"][0])


def test_clusters_run_under_the_policy(account, space, operator):
    """And one that wants more is told why not, by its own status."""
    space.apply(raycluster("c", workers=1))
    space.ready("c", 2)
    wants = raycluster("wants", workers=0)
    wants["spec"]["headGroupSpec"]["template"]["spec"]["volumes"] = [{"name": "v", "hostPath": {"path": "/data"}}]
    space.apply(wants)
    eventually(lambda: "hostPath are refused" in str(space.cluster("wants").get("status", {})))


def test_types_are_checked(account, space, api):
    """No expression is wrong about a field: the API server would say so in the policy's status."""
    for suffix in SUFFIXES:
        path = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/mobula.{space.name}{suffix}"
        status = eventually(lambda path=path: api.get(path).get("status"))
        assert not status.get("typeChecking", {}).get("expressionWarnings"), status


def types(count):
    return "".join(f"type-{i}:\n  resources:\n    CPU: {i + 1}\n    memory: 8Gi\n" for i in range(count))


MAPS = [
    ("instance-types", {"version": "v1", "instance_types.yaml": DOCUMENT}, None),
    ("instance-types", {"instance_types.yaml": "---\n'a b': 1\n"}, "the name of an instance type"),
    ("instance-types", {"instance_types.yaml": "# one\n\n\"a.b_c-1\" : {resources: {CPU: 1, memory: 1Gi}}\r\nB:\n"}, None),
    ("instance-types", {"instance_types.yaml": "{a: {resources: {CPU: 1, memory: 1Gi}}}"}, None),
    ("instance-types", {"instance_types.yaml": "-a: 1\n"}, "the name of an instance type"),
    ("instance-types", {"instance_types.yaml": "a:1\n"}, "the name of an instance type"),
    ("instance-types", {"instance-types.yaml": DOCUMENT}, "ConfigMap instance-types has the key instance_types.yaml, perhaps version"),
    ("instance-types", {"instance_types.yaml": DOCUMENT, "patches.yaml": "[]"}, "has the key instance_types.yaml"),
    ("instance-types", {}, "has the key instance_types.yaml"),
    ("instance-types", {"version": "v2", "instance_types.yaml": DOCUMENT}, "version is v1"),
    ("instance-types", {"instance_types.yaml": types(2000)}, None),
    ("instance-types", {"instance_types.yaml": types(2000) + "a b:\n"}, "the name of an instance type"),
    ("instance-types", {"instance_types.yaml": types(14000)}, None),
    ("patches", {"version": "v1", "patches.yaml": ON_DEMAND + MORE}, None),
    ("patches", {"patches.yaml": MORE + "# the end\n"}, None),
    ("patches", {"patches.yaml": "[]"}, None),
    ("patches", {"patches.yaml": "kind: Pod\npatch: []\n"}, "patches are a list"),
    ("patches", {"patch.yaml": "[]"}, "ConfigMap patches has the key patches.yaml"),
    ("patches", {"patches.yaml": "- {kind: Pod, patch: [{op: add, path: /a, value: %s}]}\n" % ("x" * 1000000)}, None),
    ("others", {"anything": "goes"}, None),
]


def test_maps_of_types_and_patches(account, space, api):
    """For whoever writes them, in the operator's namespace alone."""
    def refusal(name, data, namespace=space.name):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
        try:
            api.call("POST", f"/api/v1/namespaces/{namespace}/configmaps?dryRun=All", body)
        except Refused as e:
            return str(e)

    eventually(lambda: refusal("patches", {}), step=0.5)
    for name, data, word in MAPS:
        why = refusal(name, data)
        assert (word in why if word and why else word == why), (name, str(data)[:200], why)
    assert refusal("patches", {}, "default") is None
