"""KubeRay's autoscaler beside the head: what it acts by, what it may, and that what it writes is done."""

import json

from cluster import RUN, Audit, container, eventually, kubectl, mobula, raycluster, what
from test_install import grants, objects, used

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ANNOTATION = "mobula.dev/autoscaler"


def scaled(name, workers=1, **spec):
    c = raycluster(name, workers=workers)
    c["metadata"]["annotations"] = {ANNOTATION: "sidecar"}
    c["spec"] |= {"enableInTreeAutoscaling": True, **spec}
    return c


def allow(space):
    """The rights that an installation for it gives, instead of those that the test's namespace came with."""
    documents = manifests(space).split("\n---\n")
    kubectl("apply", "-f", "-", stdin="\n---\n".join(d for d in documents if "\nkind: Deployment\n" not in d))


def manifests(space):
    out = mobula("install", "--print", "--no-crds", "--kinds=all", "--leader-elect", "--namespace", space.name, "--autoscaler=sidecar")
    assert out.returncode == 0, out.stderr
    return out.stdout


def head_of(space, name):
    return next(p for p in space.pods(name) if p["metadata"]["labels"]["ray.io/node-type"] == "head")


def may(space, account, verb, resource, name=""):
    who = f"--as=system:serviceaccount:{space.name}:{account}"
    target = f"{resource}/{name}" if name else resource
    return kubectl("-n", space.name, "auth", "can-i", verb, target, who, check=False).stdout.strip() == "yes"


def patch_as(space, account, name, replicas, names):
    """What Ray's node provider sends: one JSON patch, by the group's place in the list."""
    patch = [{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": replicas},
             {"op": "add", "path": "/spec/workerGroupSpecs/0/scaleStrategy", "value": {"workersToDelete": names}}]
    return kubectl("-n", space.name, "patch", "rayclusters.ray.io", name, "--type=json", "-p", json.dumps(patch),
                   f"--as=system:serviceaccount:{space.name}:{account}", check=False)


def test_the_head_has_it_and_its_rights(space, operator):
    allow(space)
    space.apply(scaled("c"))
    space.ready("c", 2)
    head = head_of(space, "c")
    one = {k["name"]: k for k in head["spec"]["containers"]}["autoscaler"]
    assert one["image"] == container("x")["image"] and one["resources"]["limits"] == {"cpu": "500m", "memory": "512Mi"}
    assert head["spec"]["serviceAccountName"] == "c"
    for path in (space.path("serviceaccounts", "c"), space.path("roles", "c", RBAC), space.path("rolebindings", "c", RBAC)):
        assert space.api.get(path)["metadata"]["ownerReferences"][0]["uid"] == space.cluster("c")["metadata"]["uid"]
    assert all(may(space, "c", verb, "pods") for verb in ("get", "list", "watch", "patch"))
    assert may(space, "c", "patch", "rayclusters.ray.io", "c") and may(space, "c", "get", "rayclusters.ray.io", "c")
    assert not may(space, "c", "patch", "rayclusters.ray.io", "d") and not may(space, "c", "delete", "pods")
    text = mobula("explain", "cluster", "c", "-n", space.name, f"--kubeconfig={RUN / 'admin.kubeconfig'}").stdout
    assert "by the container autoscaler of the head pod" in text


def test_what_it_writes_is_done(space, operator):
    allow(space)
    space.apply(scaled("c"))
    space.ready("c", 2)
    assert patch_as(space, "c", "c", 3, []).returncode == 0
    space.ready("c", 4)
    workers = sorted(p["metadata"]["name"] for p in space.pods("c") if p["metadata"]["labels"]["ray.io/node-type"] == "worker")
    assert patch_as(space, "c", "c", 2, [workers[1]]).returncode == 0
    space.ready("c", 3)
    assert workers[1] not in [p["metadata"]["name"] for p in space.pods("c")]
    assert patch_as(space, "c", "c", 3, [workers[1]]).returncode == 0  # the name still stands there
    space.ready("c", 4)
    assert workers[1] not in [p["metadata"]["name"] for p in space.pods("c")]


def test_they_go_with_the_cluster_and_come_with_the_next(space, operator):
    allow(space)
    for _ in range(2):
        space.apply(scaled("c"))
        space.ready("c", 2)
        space.delete("c")
    for path in (space.path("serviceaccounts", "c"), space.path("roles", "c", RBAC), space.path("rolebindings", "c", RBAC)):
        eventually(lambda path=path: space.find(path) is None)


def test_without_the_rights_it_says_so(space, operator):
    space.apply(scaled("c", workers=0))
    told = eventually(lambda: "ReplicaFailure" in json.dumps(space.cluster("c").get("status", {})) and json.dumps(space.cluster("c")))
    assert "mobula install --autoscaler=sidecar" in told and not space.pods("c")
    allow(space)
    space.ready("c", 1)


def test_every_further_right_is_used_or_handed_on(space, operators):
    """Of the rights that the sidecar's installation adds, those on accounts and roles are used, and the others are exactly the role's."""
    allow(space)
    audit = Audit()
    operator = operators("--autoscaler=sidecar", "--leader-elect")
    c = scaled("c")
    del c["metadata"]["annotations"]
    space.apply(c)
    space.ready("c", 2)
    space.api.call("DELETE", space.path("pods", "c-head"))  # the next head finds what is there, and asks whose it is
    eventually(lambda: any(what(e) == "get serviceaccounts" for e in audit.entries(operator.user)))
    space.ready("c", 2)
    entries = [e for e in audit.entries(operator.user) if "objectRef" in e]
    refused = [what(e) for e in entries if e["responseStatus"]["code"] == 403]
    assert not refused, refused
    plain = grants(objects("--no-crds", "--namespace", space.name, "--leader-elect"))
    more = grants(objects("--no-crds", "--namespace", space.name, "--leader-elect", "--autoscaler=sidecar")) - plain
    handed = {(g, r, v) for rule in space.api.get(space.path("roles", "c", RBAC))["rules"] for g in rule["apiGroups"]
              for r in rule["resources"] for v in rule["verbs"]}
    own = {(g, r, v) for g, r, v in more if r in ("serviceaccounts", "roles", "rolebindings")}
    assert own <= used(entries), "given and never used"
    assert more - own == handed - plain, "rights that are neither used nor the role's"
