"""What `mobula install --print` emits: enough for everything the operator does, and nothing more."""

import json

import pytest

from cluster import LEGACY, ROOT, V1, Audit, Refused, eventually, kubeconfig_of, kubectl, manifests
from cluster import definitions, mobula, objects, raycluster, rayjob, what
from services import in_steps
from test_legacy import raycluster as legacy

pytestmark = pytest.mark.slow
MAX_RESOURCES, MAX_GRANTS, PLAIN_GRANTS = 26, 78, 28


def grants(found):
    """(group, resource, verb) of all Roles."""
    rules = [r for o in found if o["kind"] == "Role" for r in o["rules"]]
    return {(g, r, v) for rule in rules for g in rule["apiGroups"] for r in rule["resources"] for v in rule["verbs"]}


def test_small_rights():
    found = objects("--no-crds", "--kinds=all", "--namespace", "default", "--leader-elect")
    kinds = {"ServiceAccount", "Role", "RoleBinding", "Deployment", "NetworkPolicy"}
    assert {o["kind"] for o in found} == kinds, "something of the whole cluster"
    assert len(grants(objects("--no-crds"))) <= PLAIN_GRANTS, sorted(grants(objects("--no-crds")))
    given = grants(found)
    resources = {r for _, r, _ in given}
    assert len(resources) <= MAX_RESOURCES and len(given) <= MAX_GRANTS, sorted(given)
    assert "secrets" not in resources and not any("*" in g for g in given)
    assert all(v not in ("deletecollection", "impersonate", "escalate", "bind") for _, _, v in given)
    without = grants(objects("--no-crds", "--namespace", "default", "--tools=none"))
    assert not {r for _, r, _ in without} & {"configmaps", "leases"}, "rights for what is switched off"


def exercise(space, operator):
    """Everything that an operator does, once."""
    space.apply(raycluster("c", workers=2, numOfHosts=2))
    space.apply(legacy("old"), LEGACY)
    space.ready("c", 5)
    space.ready("old", 2, LEGACY)
    space.change("c", {"workerGroupSpecs": raycluster("c", workers=1, numOfHosts=2)["spec"]["workerGroupSpecs"]})
    space.ready("c", 3)
    service = space.path("services", space.cluster("c")["status"]["head"]["serviceName"])
    space.api.patch(service, {"spec": {"selector": {"a": "b"}}})
    space.change("c", {"headGroupSpec": {"serviceType": "NodePort"}})  # a service without an address is made anew to get one
    eventually(lambda: (space.find(service) or {"spec": {}})["spec"].get("type") == "NodePort")
    # A pod with a name that the operator is about to use and that it does not own is looked up, by a list of that name.
    space.api.call("POST", space.path("pods"), {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "taken-head"},
                                                "spec": {"containers": [{"name": "c", "image": "i"}]}})
    space.apply(raycluster("taken"))
    operator.says("taken-head", "has the head's name, but not its labels or its owner")
    exercise_jobs(space)
    exercise_service(space)
    exercise_routes(space)
    space.schedule("each-minute", "* * * * *")
    eventually(lambda: space.api.get(space.path("raycronjobs", "each-minute", V1)).get("status", {}).get("lastScheduleTime"), 90)
    path = space.path("leases", "mobula", "/apis/coordination.k8s.io/v1")
    lease = space.api.get(path)["metadata"]["resourceVersion"]
    eventually(lambda: space.api.get(path)["metadata"]["resourceVersion"] != lease)


def exercise_jobs(space):
    """Nobody answers at the heads' addresses here, so each job ends at a deadline; what a job's end deletes is deleted all the same."""
    def after(policy):
        return {"deletionRules": [{"policy": policy, "condition": {"jobDeploymentStatus": "Failed"}}]}

    space.start(rayjob("shrinks", preRunningDeadlineSeconds=8, deletionStrategy=after("DeleteWorkers")))
    space.start(rayjob("vanishes", preRunningDeadlineSeconds=2, deletionStrategy=after("DeleteSelf")))
    space.start(rayjob("elsewhere", preRunningDeadlineSeconds=2, clusterSelector={"ray.io/cluster": "c"}, rayClusterSpec=None))
    eventually(lambda: space.find(space.path("rayjobs", "vanishes", V1)) is None)
    space.becomes("elsewhere", "Failed")
    shrunk = space.becomes("shrinks", "Failed")["rayClusterName"]
    eventually(lambda: space.cluster(shrunk)["spec"]["workerGroupSpecs"][0].get("suspend"))
    space.api.patch(space.path("rayjobs", "shrinks", V1), {"spec": {"deletionStrategy": after("DeleteCluster")}})
    eventually(lambda: space.find(space.path("rayclusters", shrunk, V1)) is None)


def exercise_service(space):
    """The operator resets label ray.io/serve of a head that takes no requests to false. KubeRay's finalizer is removed."""
    cluster = raycluster("c", workers=0)["spec"]
    space.serve("served", {"excludeHeadPodFromServeSvc": True, "rayClusterConfig": cluster}, finalizers=["ray.io/rayservice-finalizer"])
    service = space.path("rayservices", "served", V1)
    name = eventually(lambda: space.api.get(service).get("status", {}).get("pendingServiceStatus", {}).get("rayClusterName"))
    space.ready(name, 1)
    head = space.path("pods", f"{name}-head")
    space.api.patch(head, {"metadata": {"labels": {"ray.io/serve": "true"}}})
    eventually(lambda: space.api.get(head)["metadata"]["labels"]["ray.io/serve"] == "false")
    space.kubectl("delete", "rayservice", "served", "--timeout=60s")


def serve_in_steps(space, name="stepped"):
    """A RayService that has an active cluster, as far as its status says: no head answers here."""
    space.serve(name, in_steps({"rayClusterConfig": raycluster("c", workers=0)["spec"]}))
    path = space.path("rayservices", name, V1)
    cluster = eventually(lambda: space.api.get(path).get("status", {}).get("pendingServiceStatus", {}).get("rayClusterName"))
    space.api.patch(path + "/status", {"status": {"pendingServiceStatus": None, "activeServiceStatus": {"rayClusterName": cluster}}})
    return path


def exercise_routes(space):
    """They are made, and go."""
    ingress = space.path("ingresses", "c-head-ingress", "/apis/networking.k8s.io/v1")
    route = space.path("httproutes", "stepped-httproute", "/apis/gateway.networking.k8s.io/v1")
    for on in True, False:
        space.change("c", {"headGroupSpec": {"enableIngress": on}})
        eventually(lambda on=on: bool(space.find(ingress)) == on)
    service = serve_in_steps(space)
    eventually(lambda: space.find(route))
    space.api.patch(service, {"spec": {"suspend": True}})
    eventually(lambda: space.find(route) is None)


def used(entries):
    found = set()
    for e in entries:
        o = e["objectRef"]
        sub = "/" + o["subresource"] if o.get("subresource") else ""
        found.add((o.get("apiGroup", ""), o["resource"] + sub, e["verb"]))
    return found


def change_versions(space, *names):
    """A VersionedService with one of these versions after the other."""
    path = space.path("versionedservices", group="/apis/mobula.dev/v1")
    for i, name in enumerate(names):
        spec = {"ingressClassName": "none", "versions": [{"name": name, "rayServiceConfig": {
            "rayClusterConfig": raycluster("c", workers=0)["spec"]}}]}
        if i:
            eventually(lambda: space.find(space.path("rayservices", f"versioned-{names[0]}", V1)))
            space.api.patch(f"{path}/versioned", {"spec": spec})
        else:
            space.api.call("POST", path, {"apiVersion": "mobula.dev/v1", "kind": "VersionedService", "metadata": {"name": "versioned"},
                                          "spec": spec})


# What the server asks about by itself while it answers another request; the audit log does not show it.
SILENT = {("", "services", "create"), ("", "configmaps", "create"), ("networking.k8s.io", "ingresses", "create"),
          ("ray.io", "rayservices", "create"),
          *(("gateway.networking.k8s.io", plural, "create") for plural in ("gateways", "httproutes")),
          *((group, f"{plural}/finalizers", "update") for plural, _, group in (name.partition(".") for name in definitions()))}


def test_every_grant_is_used_and_none_is_missing(space, operators, gateway_api):
    audit = Audit()
    operator = operators("--leader-elect")
    change_versions(space, "v1", "v2")
    exercise(space, operator)
    entries = [e for e in audit.entries(operator.user) if "objectRef" in e]
    refused = [what(e) for e in entries if e["responseStatus"]["code"] == 403]
    assert not refused, refused
    asked = used(entries)
    given = grants(objects("--no-crds", "--kinds=all", "--namespace", space.name, "--leader-elect"))
    assert asked - given == set(), "asked for what is not given"
    assert given - asked - SILENT - seldom(given) == set(), "given and never used"
    assert all(e["objectRef"].get("namespace") == space.name for e in entries), "a look beyond the namespace"


def seldom(given):
    """Grants that this session need not use: test_repeated_events_are_patched uses the one; servers without streaming lists the others:
    run.sh with APISERVER_ARGS=--feature-gates=WatchList=false. A busy server that keeps back the end of one is asked for a list, too. The
    finalizer of a RayJob on a selected cluster is written when its program is about to be submitted: test_rayjob does that. Routes for gRPC
    and of Istio need versions that run: test_versioned uses these grants, and looks at each."""
    of_versions = {g for g in given if g[1] in ("grpcroutes", "virtualservices")}
    lists = {(g, r, "list") for g, r, verb in given if verb == "watch"}
    return lists | of_versions | {("events.k8s.io", "events", "patch"), ("ray.io", "rayjobs", "patch")}


def strip(space, group, resource, verb):
    """Takes one grant out of the Roles."""
    for name in ("mobula", "mobula-leader"):
        path = space.path("roles", name, "/apis/rbac.authorization.k8s.io/v1")
        role = space.api.get(path)
        rules = []
        for rule in role["rules"]:
            if resource in rule["resources"] and group in rule["apiGroups"] and verb in rule["verbs"]:
                others = [g for g in rule["apiGroups"] if g != group]
                rules += [{**rule, "apiGroups": others}] if others else []
                rest = [v for v in rule["verbs"] if v != verb]
                rules += [{**rule, "apiGroups": [group], "verbs": rest}] if rest else []
            else:
                rules.append(rule)
        space.api.call("PUT", path, {**role, "rules": rules})


@pytest.mark.parametrize("grant", sorted(SILENT), ids=lambda g: f"{g[2]} {g[1]} {g[0]}")
def test_a_silent_grant_is_needed(space, operators, gateway_api, grant):
    group, resource, verb = grant
    strip(space, *grant)
    operator = operators()
    if group == "cluster.ray.io":
        space.apply(legacy("c"), LEGACY)
    elif resource.startswith("rayjobs"):
        space.start(rayjob("j"))
    elif resource.startswith("raycronjobs"):
        space.schedule("j", "* * * * *")
    elif resource == "ingresses":
        cluster = raycluster("c")
        cluster["spec"]["headGroupSpec"]["enableIngress"] = True
        space.apply(cluster)
    elif group.startswith("gateway."):
        serve_in_steps(space)
    elif resource.startswith("versionedservices") or grant == ("ray.io", "rayservices", "create"):
        change_versions(space, "v1")
    elif resource.startswith("rayservices"):
        space.serve("j", {"rayClusterConfig": raycluster("c", workers=0)["spec"]})
    else:
        space.apply(raycluster("c", workers=1))
    word = "blockOwnerDeletion" if resource.endswith("finalizers") else resource
    operator.says("level=warn", word, seconds=120)


def test_no_right_more(space, tmp_path):
    """What the API server says that the operator's account may do is what the Roles say, and what every user may."""
    file = kubeconfig_of("mobula", space.name, tmp_path)
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": space.name}}
    out = kubectl("create", "--validate=false", "-o", "json", "-f", "-", stdin=json.dumps(review), kubeconfig=file).stdout
    rules = json.loads(out)["status"]["resourceRules"]
    held = {(g, r, v) for rule in rules for g in rule["apiGroups"] for r in rule["resources"] for v in rule["verbs"]}
    anybody = {(g, r, v) for g, r, v in held if g in ("authorization.k8s.io", "authentication.k8s.io")}
    assert held - anybody == grants(objects("--no-crds", "--kinds=all", "--namespace", space.name, "--leader-elect"))
    named = {(r, n) for rule in rules for r in rule["resources"] for n in rule.get("resourceNames", [])}
    assert named == {("configmaps", "mobula-tools"), ("leases", "mobula")}


def is_running(pod):
    return pod["status"].get("phase") == "Running"


def test_repeated_events_are_patched(space, operator):
    """The one grant that a short session does not use: the second of two equal events is counted, not made again. What is said of a head
    that ended is the same each time, because its name is."""
    space.apply(raycluster("c", workers=0))
    space.ready("c", 1)
    audit = Audit()
    for _ in range(2):
        (head,) = space.pods("c")
        space.fail(head, 9)
        eventually(lambda uid=head["metadata"]["uid"]: [p for p in space.pods("c") if p["metadata"]["uid"] != uid and is_running(p)])
    eventually(lambda: audit.writes(operator.user, space.name)["patch events"] >= 1, step=0.5)


def test_the_deployment_is_restricted(space):
    """Admitted where Pod Security enforces `restricted`, its account's token asked for by itself."""
    space.api.patch(f"/api/v1/namespaces/{space.name}", {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    kubectl("apply", "-f", "-", stdin=manifests("--no-crds", "--namespace", space.name, "--replicas=2"))

    def running():
        pods = [p for p in space.pods() if p["metadata"]["labels"].get("app.kubernetes.io/name") == "mobula"]
        return len(pods) == 2 and all(p["status"]["phase"] == "Running" for p in pods) and pods[0]

    pod = eventually(running)
    mounts = {m["mountPath"] for m in pod["spec"]["containers"][0]["volumeMounts"]}
    assert mounts == {"/var/run/secrets/kubernetes.io/serviceaccount"}
    assert "--leader-elect" in pod["spec"]["containers"][0]["args"]
    account = space.api.get(space.path("serviceaccounts", "mobula"))
    assert account["automountServiceAccountToken"] is False


@pytest.mark.parametrize("flags", [("--control-plane",), ("--registryless", "--image=registry.k8s.io/pause:3.10"), ("--openshift",),
                                   ("--control-plane-url=https://hub.example", "--cloud-deployment-id=cldrsrc_" + 24 * "a",
                                    "--egress-ca=corp", "--proxy=http://p.example:3128", "--shapes")], ids=lambda f: f[0])
def test_every_deployment_is_restricted(space, flags):
    """The API server says so of the Deployment itself, as a warning if it were not; OpenShift sets the user."""
    space.api.patch(f"/api/v1/namespaces/{space.name}", {"metadata": {"labels": {"pod-security.kubernetes.io/warn": "restricted"}}})
    printed = [d for d in manifests("--no-crds", "--namespace", space.name, *flags).split("\n---\n") if "\nkind: Deployment\n" in d]
    out = kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", stdin="\n---\n".join(printed))
    assert out.stdout and "Warning" not in out.stderr, out.stderr
    bad = printed[0].replace("allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true")
    out = kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=bad)
    assert "would violate PodSecurity" in out.stderr, out.stderr


def test_a_cluster_that_is_restricted(space, operator):
    """The example passes Pod Security `restricted`, its injected init container too; what explain prints does as well."""
    space.api.patch(f"/api/v1/namespaces/{space.name}", {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    example = ROOT / "airgap/examples/raycluster-restricted.yaml"
    objects_of = mobula("explain", "-f", example).stdout.replace("namespace: default", f"namespace: {space.name}")
    out = kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=objects_of)
    assert "Warning" not in out.stderr and out.stdout.count("created (server dry run)") == 4, (out.stdout, out.stderr)
    kubectl("-n", space.name, "apply", "-f", example)
    space.ready("restricted", 3)


def test_uninstall_leaves_nothing_but_clusters(space, operator):
    flags = ("--namespace", space.name)
    kubectl("apply", "-f", "-", stdin=manifests("--no-crds", "--kinds=all", "--leader-elect", *flags))
    space.apply(raycluster("c", workers=1))
    space.ready("c", 2)
    space.api.get(space.path("configmaps", "mobula-tools"))
    operator.stop()
    kubectl("delete", "--ignore-not-found", "--wait=false", "-f", "-", stdin=mobula("uninstall", *flags).stdout)
    kinds = "deployments,configmaps,serviceaccounts,roles,rolebindings,leases,networkpolicies"
    left = kubectl("-n", space.name, "get", kinds, "-o", "name").stdout.split()
    assert set(left) == {"configmap/kube-root-ca.crt", "serviceaccount/default"}, left
    assert space.cluster("c") and len(space.pods("c")) == 2
    names = mobula("uninstall", "--crds", "--kinds=all", *flags).stdout
    assert all(f"  name: {name}\n" in names for name in ("rayclusters.ray.io", "rayjobs.ray.io", "rayclusters.cluster.ray.io"))
    kubectl("apply", "-f", "-", stdin=manifests("--no-crds", "--kinds=all", *flags))  # upgrade and install are the same


def test_the_file_is_applied_and_deleted(api):
    """airgap/operator.yaml, as it is."""
    file = ROOT / "airgap/operator.yaml"
    api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ray"}})
    for verb in ("apply", "delete"):
        assert kubectl(verb, "-f", file).stdout.count("\n") == 5
    api.call("DELETE", "/api/v1/namespaces/ray")


def test_applied_again_and_strictly(space):
    text = manifests("--no-crds", "--namespace", space.name, "--leader-elect")
    kubectl("apply", "--validate=strict", "-f", "-", stdin=text)
    assert kubectl("diff", "-f", "-", stdin=text).stdout == ""  # its exit status is 1 when there is a difference


@pytest.mark.parametrize("kinds,other", [("ray.io", "cluster.ray.io"), ("legacy", "ray.io")])
def test_one_kind_alone(api, space, operators, kinds, other):
    """Its rights are enough, and it asks for nothing of the other kind, installed or not."""
    kubectl("-n", space.name, "delete", "role", "mobula")
    kubectl("apply", "-f", "-", stdin=manifests("--no-crds", f"--kinds={kinds}", "--namespace", space.name))
    audit = Audit()
    operator = operators(f"--kinds={kinds}", "--raycronjobs=false", "--rayservices=false", "--versionedservices=false")
    operator.ready()
    space.apply(raycluster("c", workers=1))
    space.apply(legacy("old"), LEGACY)
    space.ready(*(("c", 2, V1) if kinds == "ray.io" else ("old", 2, LEGACY)))
    entries = [e for e in audit.entries(operator.user) if "objectRef" in e]
    assert entries and all(e["objectRef"].get("apiGroup") != other for e in entries)
    operator.says("caches are complete", "pods=")
    assert not [what(e) for e in entries if e["responseStatus"]["code"] == 403]


def test_namespaces_apart(api, space, operators):
    """The operator in one namespace, clusters in another, with a Role only there."""
    other = f"{space.name}-work"
    api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    kubectl("apply", "-f", "-", stdin=manifests("--no-crds", "--kinds=all", "--namespace", space.name, "--watch-namespace", other))
    operator = operators("--namespace", other)
    operator.ready()
    path = f"/apis/ray.io/v1/namespaces/{other}/rayclusters"
    api.call("POST", path, raycluster("c", workers=1))
    eventually(lambda: api.get(path + "/c").get("status", {}).get("state") == "ready")
    with pytest.raises(Refused):
        api.get(space.path("configmaps", "mobula-tools"))
    api.call("DELETE", f"/api/v1/namespaces/{other}")


def test_all_namespaces(api, space, operators):
    """By a ClusterRole: clusters of two namespaces that no flag names, nothing asked for that is not given, and none of it afterwards."""
    kubectl("-n", space.name, "delete", "roles,rolebindings", "--all")
    flags = ("--all-namespaces", "--leader-elect", "--namespace", space.name)
    printed = [o for o in objects("--no-crds", *flags) if o["kind"] != "Deployment"]
    assert {o["kind"] for o in printed} >= {"ClusterRole", "ClusterRoleBinding"}
    kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": printed}))
    others = [f"{space.name}-{n}" for n in ("a", "b")]
    audit = Audit()
    account = f"--as=system:serviceaccount:{space.name}:mobula"
    try:
        for name in others:  # pods are refused until their namespace has its account, and everything until the API server knows the rights
            api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            eventually(lambda name=name: kubectl("-n", name, "get", "serviceaccount", "default", check=False).returncode == 0)
            eventually(lambda name=name: kubectl("-n", name, "auth", "can-i", "create", "pods", account, check=False).returncode == 0)
        operator = operators("--all-namespaces", "--leader-elect", "--lease-namespace", space.name, "--kinds=ray.io", "--raycronjobs=false",
                             "--rayservices=false", "--versionedservices=false")
        for name in others:
            api.call("POST", f"{V1}/namespaces/{name}/rayclusters", raycluster("c", workers=1))
        for name in others:
            eventually(lambda path=f"{V1}/namespaces/{name}/rayclusters/c": api.get(path).get("status", {}).get("state") == "ready")
        ours = (None, space.name, *others)  # namespaces of other tests may be going
        entries = [e for e in audit.entries(operator.user) if "objectRef" in e and e["objectRef"].get("namespace") in ours]
        assert not [(what(e), e["responseStatus"].get("message")) for e in entries if e["responseStatus"]["code"] == 403]
        rules = [r for o in printed if o["kind"] == "ClusterRole" for r in o["rules"]]
        given = {(g, r, v) for rule in rules for g in rule["apiGroups"] for r in rule["resources"] for v in rule["verbs"]}
        assert "secrets" not in {r for _, r, _ in given} and len(given) <= PLAIN_GRANTS
        assert used(entries) - given <= {("coordination.k8s.io", "leases", v) for v in ("get", "create", "update")}
        operator.stop()
    finally:
        for name in others:
            api.call("DELETE", f"/api/v1/namespaces/{name}")
        kubectl("delete", "clusterrole,clusterrolebinding", f"mobula.{space.name}", "--ignore-not-found")
