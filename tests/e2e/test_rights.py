"""The rights of an installation from the other side: with the operator's token nothing is allowed that its Roles do not name, and each
right that is taken away is missed by its name. What is granted is read from `mobula install --print`, what there is from the server."""

import http.client
import json
import ssl

import pytest

from cluster import RUN, eventually, kubectl, mobula, objects
from processes import ACCOUNT, kubeconfig, token
from test_install import grants

VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
# What Kubernetes lets every account ask about itself.
SELF = {("authorization.k8s.io", f"selfsubject{what}reviews", "create") for what in ("access", "rules")} | {
    ("authentication.k8s.io", "selfsubjectreviews", "create")}
POWERS = {("rbac.authorization.k8s.io", "roles", verb) for verb in ("escalate", "bind")} | {
    ("", what, "impersonate") for what in ("users", "groups", "serviceaccounts")} | {("", "serviceaccounts/token", "create")}
REMOTE = ("--control-plane-url=https://hub.example", "--cloud-deployment-id=cldrsrc_abcdefghijklmnopqrstuvwx")
FLAGS = {"default": (), "everything": ("--kinds=all", "--leader-elect", "--ray-auth", "--ray-access=proxy", "--shapes"),
         "sidecar": ("--autoscaler=sidecar",), "remote": REMOTE, "control-plane": ("--control-plane",)}


class Account:
    """Asks the API server as the operator of a namespace."""

    def __init__(self, namespace, name=ACCOUNT):
        tls = ssl.create_default_context(cafile=RUN / "pki" / "ca.crt")
        self.link = http.client.HTTPSConnection("127.0.0.1", int((RUN / "port").read_text()), context=tls, timeout=60)
        self.headers = {"Authorization": f"Bearer {token(namespace, name)}", "Content-Type": "application/json"}

    def ask(self, method, path, body=None):
        self.link.request(method, path, json.dumps(body) if body else None, self.headers)
        answer = self.link.getresponse()
        return answer.status, json.loads(answer.read() or "{}")

    def may(self, group, resource, verb, namespace, name=""):
        resource, _, sub = resource.partition("/")
        wanted = {"group": group, "resource": resource, "subresource": sub, "verb": verb, "namespace": namespace, "name": name}
        status, answer = self.ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                                  {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                                   "spec": {"resourceAttributes": {k: v for k, v in wanted.items() if v}}})
        assert status == 201, answer
        return answer["status"]["allowed"]


def universe(api):
    """(group, resource, verb) of all that this server has, in whatever scope."""
    versions = ["/api/v1"] + [f"/apis/{g['preferredVersion']['groupVersion']}" for g in api.get("/apis")["groups"]]
    found = set()
    for path in versions:
        group = path.split("/")[2] if path.startswith("/apis/") else ""
        found |= {(group, r["name"], verb) for r in api.get(path)["resources"] for verb in VERBS}
    return found - SELF | POWERS


@pytest.fixture(params=list(FLAGS))
def installed(request, space):
    """The Roles of an installation with these flags, and no others; what they grant."""
    flags = ("--no-crds", "--namespace", space.name, *FLAGS[request.param])
    kubectl("-n", space.name, "delete", "roles,rolebindings", "--all")
    found = [o for o in objects(*flags) if o["kind"] in ("Role", "RoleBinding", "ServiceAccount")]
    kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": found}))
    return found


def account_of(installed):
    return next(o["metadata"]["name"] for o in installed if o["kind"] == "ServiceAccount")


def test_nothing_else_is_allowed(api, space, installed):
    account, given = Account(space.name, account_of(installed)), grants(installed)
    rules = [rule for o in installed if o["kind"] == "Role" for rule in o["rules"]]
    of_any_name = {(g, r, v) for rule in rules if not rule.get("resourceNames")
                   for g in rule["apiGroups"] for r in rule["resources"] for v in rule["verbs"]}
    g, r, v = sorted(of_any_name)[0]
    eventually(lambda: account.may(g, r, v, space.name))
    asked = universe(api)
    assert len(asked) > 500
    for g, r, v in sorted(asked | given):  # a right to certain names is none to this one
        allowed = account.may(g, r, v, space.name, "of-nobody")
        assert allowed == ((g, r, v) in of_any_name), f"{v} {r} of group \"{g}\": {'allowed' if allowed else 'refused'}"
        assert not account.may(g, r, v, "kube-system"), f"{v} {r} of group \"{g}\" in another namespace"


def test_what_is_refused_is_refused_in_fact(space, installed):
    """Some of it as requests. An operator may list pods, a control plane read a ConfigMap."""
    name = account_of(installed)
    account = Account(space.name, name)
    resource, verb, item = ("pods", "list", "") if name == ACCOUNT else ("configmaps", "get", "/kube-root-ca.crt")
    eventually(lambda: account.may("", resource, verb, space.name))
    for path in ("/api/v1/nodes", "/api/v1/namespaces", f"/api/v1/namespaces/{space.name}/secrets", "/api/v1/pods",
                 "/api/v1/namespaces/kube-system/pods", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{space.name}/roles"):
        status, answer = account.ask("GET", path)
        assert status == 403 and answer["reason"] == "Forbidden", (path, answer)
    status, answer = account.ask("GET", f"/api/v1/namespaces/{space.name}/{resource}{item}")
    assert status == 200, answer


def test_all_namespaces_and_nothing_else(api, space):
    """The ClusterRole of --all-namespaces holds in each namespace, and has neither Secrets nor anything of the cluster's own. (What it is
    needed for: test_install.py.)"""
    kubectl("-n", space.name, "delete", "roles,rolebindings", "--all")
    found = [o for o in objects("--no-crds", "--all-namespaces", "--namespace", space.name) if o["kind"].startswith("Cluster")]
    kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": found}))
    try:
        account = Account(space.name)
        (rules,) = [o["rules"] for o in found if o["kind"] == "ClusterRole"]
        given = {(g, r, v) for rule in rules if not rule.get("resourceNames")
                 for g in rule["apiGroups"] for r in rule["resources"] for v in rule["verbs"]}
        eventually(lambda: account.may("", "pods", "create", "default"))
        for g, r, v in sorted(universe(api) | given):
            allowed = account.may(g, r, v, "default", "of-nobody")
            assert allowed == ((g, r, v) in given), f"{v} {r} of group \"{g}\": {'allowed' if allowed else 'refused'}"
    finally:
        kubectl("delete", "clusterrole,clusterrolebinding", f"mobula.{space.name}")


def without(rules, group, resource, verb):
    """The rules less one grant."""
    left = []
    for rule in rules:
        hit = group in rule["apiGroups"] and resource in rule["resources"] and verb in rule["verbs"]
        parts = [(g, r, [v for v in rule["verbs"] if (g, r, v) != (group, resource, verb)])
                 for g in rule["apiGroups"] for r in rule["resources"]]
        left += [{**rule, "apiGroups": [g], "resources": [r], "verbs": verbs} for g, r, verbs in parts if verbs] if hit else [rule]
    return left


MORE = ("--kinds=all", "--leader-elect", "--ray-access=proxy", "--shapes", "--autoscaler=sidecar", *REMOTE)


@pytest.mark.parametrize("flags", [(), MORE], ids=["default", "everything"])
def test_each_right_that_is_taken_away_is_missed(space, tmp_path, flags):
    """`mobula check` with the operator's own token names it, and names nothing while all are there. Which there must be, the operator's
    arguments say, which the account may read here. (Tokens of clusters: test_auth.py; the sidecar's roles: test_sidecar.py.)"""
    found = objects("--no-crds", "--namespace", space.name, *flags)
    kubectl("-n", space.name, "delete", "roles,rolebindings", "--all")
    kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": found}))
    kubectl("-n", space.name, "create", "role", "reader", "--verb=get", "--resource=deployments.apps")
    kubectl("-n", space.name, "create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={space.name}:mobula")
    config = kubeconfig(tmp_path / "config", space.name, f'token: "{token(space.name)}"')

    def missing():
        out = mobula("check", "--kubeconfig", config, "-o", "json", "-n", space.name, "--operator-namespace", space.name)
        (row,) = [r for r in json.loads(out.stdout)["checks"] if r["check"] == "rights"]
        return set(row["found"].rpartition(": ")[2].split(", ")) if row["result"] == "fail" else set()

    eventually(lambda: missing() == set())
    roles = [o for o in found if o["kind"] == "Role"]
    for grant in sorted(grants(found)):
        group, resource, verb = grant
        touched = [r for r in roles if grant in grants([r])]
        for role in touched:
            path = space.path("roles", role["metadata"]["name"], "/apis/rbac.authorization.k8s.io/v1")
            space.api.call("PATCH", path, {"rules": without(role["rules"], *grant)}, "application/merge-patch+json")
        eventually(lambda w={f"{verb} {resource}{'.' + group if group else ''}"}: missing() == w)
        for role in touched:
            path = space.path("roles", role["metadata"]["name"], "/apis/rbac.authorization.k8s.io/v1")
            space.api.call("PATCH", path, {"rules": role["rules"]}, "application/merge-patch+json")
        eventually(lambda: missing() == set())
