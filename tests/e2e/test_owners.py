"""Two installations on one API server: neither changes the other's objects, and no flag or namespace is dropped silently."""

import json

import pytest

from cluster import V1, Refused, eventually, kubectl, raycluster, rayjob
from test_apply import left_in, made, numbers, of_the_cluster, place, run  # noqa: F401 fixtures

RBAC = "/apis/rbac.authorization.k8s.io/v1"
CLUSTERS = f"{V1}/namespaces/{{}}/rayclusters"


@pytest.fixture
def spaces(api, request):
    """Three namespaces: two for installations, one for a team."""
    stem = f"own{next(numbers)}-{request.node.name[5:20].strip('_').replace('_', '-')}"
    names = [f"{stem}-a", f"{stem}-b", f"{stem}-team"]
    for name in names:
        api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield names
    for name in names:
        run("uninstall", "--apply", "--namespace", name, "--leave-work")
        api.call("DELETE", f"/api/v1/namespaces/{name}")


def install(*args, **options):
    return run("install", "--apply", "--no-crds", *args, **options)


def subjects(api, namespace):
    items = api.get(f"{RBAC}/namespaces/{namespace}/rolebindings")["items"]
    return {(b["metadata"]["name"], b["subjects"][0]["namespace"]) for b in items}


def test_a_second_operator_of_a_namespace(api, spaces):
    a, b, team = spaces
    install("--namespace", a, "--watch-namespace", team)
    had = subjects(api, team)
    assert had == {(f"mobula.{a}", a)}
    done, said = install("--namespace", b, "--watch-namespace", team, status=1)
    assert f"namespace {team}: the installation in namespace {a} looks after it already" in said and "nothing was changed" in said
    assert done == "" and left_in(b) == set() and subjects(api, team) == had
    run("uninstall", "--apply", "--namespace", b, "--watch-namespace", team)
    assert subjects(api, team) == had
    install("--namespace", b, "--watch-namespace", team, "--kinds=legacy")  # no other installation is for these kinds
    assert subjects(api, team) == had | {(f"mobula.{b}", b)}
    kubectl("-n", team, "create", "configmap", "mobula-tools")
    done, _ = run("uninstall", "--apply", "--namespace", b)
    assert subjects(api, team) == had and f"ConfigMap/mobula-tools in {team} is left: the operator in namespace {a} uses it" in done
    run("uninstall", "--apply", "--namespace", a)
    assert subjects(api, team) == set() and left_in(team) == set()


def test_the_finalizers_of_all_work_that_is_left(api, made):
    """More of it than a page of the API server's list."""
    jobs = f"{V1}/namespaces/{made}/rayjobs"
    run("install", "--apply", "--no-crds", "--namespace", made)
    for n in range(130):
        job = rayjob(f"j{n}", suspend=True, shutdownAfterJobFinishes=True)
        job["metadata"]["finalizers"] = ["ray.io/rayjob-finalizer"]
        api.call("POST", jobs, job)
    run("uninstall", "--apply", "--namespace", made, "--leave-work")
    left = api.get(jobs)["items"]
    assert len(left) == 130 and not [j["metadata"]["name"] for j in left if j["metadata"].get("finalizers")]
    api.call("DELETE", jobs)


def former(text, ns):
    """Objects as earlier versions wrote them: one name in every watched namespace, cluster-scoped names with dashes, no owner label."""
    objects = [o for o in text if o]
    for o in objects:
        meta = o["metadata"]
        meta.get("labels", {}).pop("mobula.dev/installation", None)
        for where in (meta, o.get("roleRef", {}), o.get("spec", {})):
            key = "policyName" if "policyName" in where else "name"
            if str(where.get(key, "")).startswith(f"mobula.{ns}"):
                rest = where[key][len(f"mobula.{ns}"):]
                where[key] = "mobula" if meta.get("namespace") else f"mobula-{ns}{rest.replace('.', '-')}"
    return {"apiVersion": "v1", "kind": "List", "items": objects}


def test_names_of_earlier_versions(api, spaces):
    """An upgrade migrates them. An object of another installation is refused, and the message names that installation."""
    from cluster import objects
    a, b, team = spaces
    old = former(objects("--namespace", a, "--watch-namespace", f"{team},{b}", "--no-crds"), a)
    policies = former([o for o in objects("--crds-only", "--namespace", a) if o["kind"] != "CustomResourceDefinition"], a)
    for what in (old, policies):
        kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(what))
    assert subjects(api, team) == {("mobula", a)} and any(f"/mobula-{a}-services" in o for o in names_of_policies())
    _, said = install("--namespace", b, status=1)
    assert f"installation in namespace {a}" in said
    run("upgrade", "--namespace", a, "--watch-namespace", f"{team},{b}")
    assert subjects(api, team) == {(f"mobula.{a}", a)} and subjects(api, b) == {(f"mobula.{a}", a)}
    assert "role.rbac.authorization.k8s.io/mobula" not in left_in(team)
    assert not [o for o in names_of_policies() if f"/mobula-{a}" in o] and len(of_the_cluster(a)) == 6
    run("uninstall", "--apply", "--namespace", a)
    assert of_the_cluster(a) == set()


def names_of_policies():
    return kubectl("get", "validatingadmissionpolicies,validatingadmissionpolicybindings", "-o", "name").stdout.split()


def test_a_namespace_and_one_that_ends_as_a_policy_does(api, spaces):
    a = spaces[0]
    longer = f"{a}-services"
    run("install", "--apply", "--namespace", a)
    mine = of_the_cluster(a)
    run("install", "--apply", "--create-namespace", "--namespace", longer)
    run("uninstall", "--apply", "--namespace", longer)
    assert of_the_cluster(a) == mine and len(mine) == 6
    api.call("DELETE", f"/api/v1/namespaces/{longer}")


def test_a_namespace_is_given_up(api, spaces):
    a, _, team = spaces
    install("--namespace", a)
    api.call("POST", CLUSTERS.format(a), raycluster("c"))
    _, said = install("--namespace", a, "--watch-namespace", team, status=1)
    assert f"namespace {a} would no longer be watched, and 1 RayCluster in it would have no operator" in said, said
    assert "--drop-flags" in said and "nothing was changed" in said
    assert left_in(team) == set() and "role.rbac.authorization.k8s.io/mobula" in left_in(a)
    install("--namespace", a, "--watch-namespace", team, "--watch-namespace", a)  # a list flag given twice has the entries of both
    assert subjects(api, team) == {(f"mobula.{a}", a)} and ("mobula", a) in subjects(api, a)
    done, _ = install("--namespace", a, "--watch-namespace", team, "--drop-flags")
    assert f"Role/mobula in {a} deleted" in done and ("mobula", a) not in subjects(api, a)
    said, _ = run("explain", "cluster", "c", "-n", a)
    assert f"no operator watches namespace {a}: no installation has it" in said and f"--namespace {a}, or" in said
    service = {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "s"}, "spec": {
        "rayClusterConfig": raycluster("x")["spec"]}}
    for word, plural, body in ("job", "rayjobs", rayjob("j")), ("service", "rayservices", service):
        api.call("POST", f"{V1}/namespaces/{a}/{plural}", body)
        said, _ = run("explain", word, body["metadata"]["name"], "-n", a)
        assert f"no operator watches namespace {a}: " in said and "no operator has looked at it" in said, said
    api.call("POST", CLUSTERS.format(team), raycluster("d"))
    assert "no operator watches" not in run("explain", "cluster", "d", "-n", team)[0]
    api.call("DELETE", CLUSTERS.format(team) + "/d")


def test_no_flag_of_install_goes_without_a_word(api, spaces):
    a = spaces[0]
    flags = ("--namespace", a, "--image=registry.k8s.io/mobula:0.1.0")
    kubectl("-n", a, "create", "secret", "generic", "oldreg")
    install(*flags, "--pull-secret=oldreg", "--proxy=http://proxy.example:3128", "--resources=cpu=500m,memory=128Mi", "--no-network-policy")
    path = f"/apis/apps/v1/namespaces/{a}/deployments/mobula"
    before = api.get(path)["metadata"]["generation"]
    _, said = run("upgrade", "--no-crds", *flags, status=1)
    for flag in "--pull-secret=oldreg", "--proxy", "--resources=cpu=500m,memory=128Mi":
        assert flag in said, said
    _, more = run("upgrade", "--no-crds", *flags, "--pull-secret=oldreg", "--proxy=http://proxy.example:3128",
                  "--resources=cpu=500m,memory=128Mi", status=1)
    assert "has the flag --no-network-policy, which would go" in more and api.get(path)["metadata"]["generation"] == before
    run("upgrade", "--no-crds", *flags, "--drop-flags")
    pod = api.get(path)["spec"]["template"]["spec"]
    assert "imagePullSecrets" not in pod and "networkpolicy.networking.k8s.io/mobula" in left_in(a)


def test_purge_without_an_operator(api, spaces):
    """Finalizers of the operator are removed within the timeout although it does not run."""
    a = spaces[0]
    install("--namespace", a)
    kubectl("-n", a, "scale", "deployment", "mobula", "--replicas=0")
    eventually(lambda: not api.get(f"/apis/apps/v1/namespaces/{a}/deployments/mobula")["status"].get("readyReplicas"))
    held = raycluster("held")
    held["metadata"]["finalizers"] = ["ray.io/gcs-ft-redis-cleanup-finalizer", "ray.io/rayservice-finalizer"]
    api.call("POST", CLUSTERS.format(a), held)
    _, said = run("uninstall", "--apply", "--namespace", a, status=1)
    assert f"namespace {a}: 1 RayCluster left" in said and "--purge deletes that first" in said
    done, _ = run("uninstall", "--apply", "--purge", "--namespace", a)
    assert f"RayCluster/held in {a} deleted" in done and "taken off" in done
    assert done.index("RayCluster/held") < done.index("Deployment/mobula") and left_in(a) == set()
    with pytest.raises(Refused):
        api.get(CLUSTERS.format(a) + "/held")
