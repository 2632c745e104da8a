"""`mobula install --apply`, `upgrade` and `uninstall --apply` against a real API server, and what they say when they cannot."""

import base64
import itertools
import os
import re
import subprocess
from pathlib import Path

import pytest

from cluster import (MOBULA, ROOT, RUN, V1, Refused, Workspace, eventually, kubeconfig_of, kubectl, manifests, raycluster, rayjob,
                     write_carried)
from processes import Operator

pytestmark = pytest.mark.slow
numbers = itertools.count(1)


def run(*args, kubeconfig=RUN / "admin.kubeconfig", status=0):
    """What it prints on stdout and on stderr."""
    env = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    out = subprocess.run([MOBULA, *args], env=env, capture_output=True, text=True, timeout=180, check=False)
    assert status is None or out.returncode == status, (args, out.returncode, out.stdout, out.stderr)
    return out.stdout, out.stderr


@pytest.fixture
def place(api):
    """The name of a namespace that does not exist yet; gone afterwards."""
    name = f"apply{os.getpid()}-{next(numbers)}"
    yield name
    try:
        api.call("DELETE", f"/api/v1/namespaces/{name}")
    except Refused as e:
        assert e.status == 404


@pytest.fixture
def made(api, place):
    api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place}})
    return place


def left_in(name):
    kinds = "deployments,configmaps,serviceaccounts,roles,rolebindings,leases,pods,networkpolicies,poddisruptionbudgets"
    return set(kubectl("-n", name, "get", kinds, "-o", "name").stdout.split()) - {"configmap/kube-root-ca.crt", "serviceaccount/default"}


def of_the_cluster(name):
    """What an installation in this namespace has made beside namespaces, definitions left out."""
    kinds = "clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings"
    return {o for o in kubectl("get", kinds, "-o", "name").stdout.split() if f"/mobula.{name}" in o}


def test_from_nothing_and_back(place):
    done, _ = run("install", "--apply", "--create-namespace", "--namespace", place, "--replicas=2")
    lines = done.splitlines()
    assert f"Namespace/{place} created" in lines and f"Deployment/mobula in {place} created" in lines
    assert lines[-1] == f"Deployment/mobula in {place} is available"
    again, _ = run("install", "--apply", "--create-namespace", "--namespace", place, "--replicas=2")
    assert all(line.endswith((" unchanged", " is available")) for line in again.splitlines()), again
    assert "applied" not in kubectl("-n", place, "get", "deployment", "mobula", "-o", "yaml").stdout
    gone, _ = run("uninstall", "--apply", "--namespace", place)
    assert f"Deployment/mobula in {place} deleted" in gone.splitlines()
    assert left_in(place) == set() and of_the_cluster(place) == set()
    assert run("uninstall", "--apply", "--namespace", place) == (
        "", f"mobula: no installation in namespace {place}: there was nothing to delete\n")


def test_rights_of_the_cluster_go_as_well(place):
    """Whatever asked for them: all namespaces, nodes, pods that call the control plane, and the policies for maps."""
    flags = ("--all-namespaces", "--shapes", "--control-plane-url=https://hub.example", "--cloud-deployment-id=cldrsrc_" + 24 * "a",
             "--report-nodes", "--agent", "--leader-elect")
    kubectl("create", "namespace", place)
    kubectl("-n", place, "create", "configmap", "mobula-control-plane-ca", "--from-literal=ca.crt=x")
    run("install", "--apply", "--namespace", place, "--replicas=2", *flags)
    assert len([o for o in of_the_cluster(place) if "clusterrole" in o]) == 6
    assert len([o for o in of_the_cluster(place) if "admissionpolicy" in o]) == 8
    # What the operator makes wherever there is a cluster; the command is that of docs/commands.md.
    kubectl("-n", place, "create", "configmap", "mobula-tools")
    find = "get configmaps -A --field-selector metadata.name=mobula-tools"
    kubectl("create", "namespace", f"{place}-other")
    kubectl("-n", f"{place}-other", "create", "configmap", "mobula-tools")
    assert find in (ROOT / "docs/commands.md").read_text() and f"{place}-other" in kubectl(*find.split()).stdout
    _, said = run("uninstall", "--all-namespaces", "--namespace", place, status=2)
    assert "--all-namespaces needs --apply" in said
    done, _ = run("uninstall", "--apply", "--all-namespaces", "--namespace", place)
    assert f"ConfigMap/mobula-tools in {place}-other deleted" in done and place not in kubectl(*find.split()).stdout
    assert left_in(place) == {"configmap/mobula-control-plane-ca"} and of_the_cluster(place) == set()
    kubectl("delete", "namespace", f"{place}-other", "--wait=false")


def test_secrets_and_maps_that_are_not_there(made):
    """Each is named before anything is changed, with the command that makes it; each command works as printed."""
    flags = ("--no-crds", "--namespace", made, "--control-plane-url=https://hub.example", "--cloud-deployment-id=cldrsrc_" + 24 * "a",
             "--control-plane-token=edge/ANYSCALE_CLI_TOKEN", "--egress-ca=corp/x.pem", "--pull-secret=regcred",
             "--proxy=http://$(PROXY_CREDENTIALS)@p.example:3128", "--proxy-secret=proxy")
    _, said = run("install", "--apply", *flags, status=1)
    needed = re.findall(rf"Deployment mobula needs (\w+) (\S+) in namespace {made}, which does not exist: (kubectl .+)", said)
    assert {(kind, name) for kind, name, _ in needed} == {
        ("Secret", "edge"), ("ConfigMap", "mobula-control-plane-ca"), ("ConfigMap", "corp"), ("Secret", "proxy"),
        ("Secret", "regcred")}, said
    assert "nothing was changed" in said and left_in(made) == set()
    kubectl("-n", made, "create", "configmap", "corp", "--from-literal=y.pem=x")
    _, said = run("install", "--apply", *flags, status=1)
    assert f"needs ConfigMap corp in namespace {made}, which has no key x.pem" in said, said
    kubectl("-n", made, "delete", "configmap", "corp")
    for _, _, command in needed:
        kubectl(*command.replace("=FILE", "=README.md").split()[1:])
    run("install", "--apply", *flags)
    assert "deployment.apps/mobula" in left_in(made)
    run("uninstall", "--apply", "--namespace", made)


def test_without_a_registry(api, made, tmp_path):
    """The program travels in a ConfigMap, and runs in an image that the nodes say they have. kwok runs nothing: tests/e2e/ray does."""
    for node in api.get("/api/v1/nodes")["items"]:
        path = f"/api/v1/nodes/{node['metadata']['name']}/status"
        info = {**node["status"]["nodeInfo"], "architecture": "amd64"}
        api.patch(path, {"status": {"images": [{"names": ["registry.k8s.io/pause:3.10"], "sizeBytes": 1}], "nodeInfo": info}})
    done, _ = run("install", "--apply", "--no-crds", "--registryless", "--namespace", made)
    assert done.startswith("runs in registry.k8s.io/pause:3.10\n"), done
    (config,) = [c for c in api.get(f"/api/v1/namespaces/{made}/configmaps")["items"] if "binaryData" in c]
    assert base64.b64decode(config["binaryData"]["mobula"]) == write_carried(tmp_path / "mobula")
    pod = api.get(f"/apis/apps/v1/namespaces/{made}/deployments/mobula")["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == "registry.k8s.io/pause:3.10" and pod["containers"][0]["command"] == ["/program/mobula"]
    assert config["metadata"]["name"] in [v.get("configMap", {}).get("name") for v in pod["volumes"]]
    again, _ = run("install", "--apply", "--no-crds", "--registryless", "--namespace", made)
    assert f"ConfigMap/{config['metadata']['name']} in {made} unchanged" in again
    printed = manifests("--no-crds", "--registryless", "--image=registry.k8s.io/pause:3.10", "--namespace", made)
    kubectl("apply", "--server-side", "--validate=strict", "-f", "-", stdin=printed)
    run("uninstall", "--apply", "--namespace", made)
    assert left_in(made) == set()


def test_no_namespace(api, place):
    done, said = run("install", "--apply", "--no-crds", "--namespace", place, status=1)
    assert done == "" and f"namespace {place} does not exist: --create-namespace makes it" in said and "nothing was changed" in said
    assert said.count("does not exist") == 1
    with pytest.raises(Refused):
        api.get(f"/api/v1/namespaces/{place}")


def test_a_namespace_that_is_terminating(api, made):
    """Held by an object with a finalizer, as namespaces that hang are."""
    path = f"/api/v1/namespaces/{made}/configmaps"
    api.call("POST", path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "finalizers": ["example.com/held"]}})
    api.call("DELETE", f"/api/v1/namespaces/{made}")
    eventually(lambda: api.get(f"/api/v1/namespaces/{made}")["status"]["phase"] == "Terminating")
    for flags in (), ("--create-namespace",):
        done, said = run("install", "--apply", "--no-crds", "--namespace", made, *flags, status=1)
        assert done == "" and f"Namespace {made} is being deleted: wait until it is gone, or choose another" in said, said
    api.patch(path + "/held", {"metadata": {"finalizers": None}})


def test_without_rights(made, tmp_path):
    weak = kubeconfig_of("default", made, tmp_path)
    done, said = run("install", "--apply", "--namespace", made, kubeconfig=weak, status=1)
    assert done == "" and "nothing was changed" in said
    assert "let an admin of the cluster apply --crds-only, then go on with --no-crds" in said
    assert "Deployment mobula: 403 Forbidden" in said and "let an admin of the namespace apply it" in said
    assert left_in(made) == set()
    # Nothing is asked for after a token that the API server does not know.
    unknown = tmp_path / "unknown"
    unknown.write_text(re.sub(r"token: .*", "token: none", weak.read_text()))
    done, said = run("install", "--apply", "--namespace", made, kubeconfig=unknown, status=1)
    assert done == "" and said.count("401") == 1 and "token or certificate of the kubeconfig: get a new one" in said, said
    # An admin of the namespace may make no Role with rights that he does not have.
    kubectl("-n", made, "create", "rolebinding", "weak", "--clusterrole=admin", f"--serviceaccount={made}:default")
    done, said = run("install", "--apply", "--no-crds", "--namespace", made, kubeconfig=weak, status=1)
    assert "whoever makes a Role must have every right in it" in said and "Deployment" not in said
    assert '{APIGroups:["events.k8s.io"], Resources:["events"], Verbs:["create" "patch"]}' in said, said  # every missing right is named
    kubectl("-n", made, "delete", "rolebinding", "weak")
    assert left_in(made) == set()


def test_definitions_of_kuberay(made):
    """They were applied by another tool, and differ."""
    try:
        kubectl("label", "crd", "rayjobs.ray.io", "app.kubernetes.io/name-")
        text = [d for d in manifests("--crds-only").split("\n---\n") if "name: rayjobs.ray.io\n" in d][0]
        text = text.replace("    app.kubernetes.io/name: mobula", "    app: kuberay").replace("categories: [all]", "categories: [kuberay]")
        kubectl("apply", "--server-side", "--force-conflicts", "--field-manager=helm", "-f", "-", stdin=text)
        done, said = run("install", "--apply", "--namespace", made, status=1)
        assert done == "" and 'conflict with "helm"' in said and "keep it with --no-crds" in said, said
        assert "rayjobs.ray.io" in said and "nothing was changed" in said
        run("install", "--apply", "--no-crds", "--namespace", made)
    finally:
        kubectl("apply", "--server-side", "--force-conflicts", "--field-manager=helm", "-f", "-", stdin=manifests("--crds-only"))
    run("install", "--apply", "--namespace", made)


def test_what_is_not_ours(made):
    kubectl("-n", made, "create", "serviceaccount", "mobula")
    done, said = run("install", "--apply", "--no-crds", "--namespace", made, status=1)
    assert done == "" and f"ServiceAccount mobula exists in namespace {made} and is not of mobula" in said
    assert left_in(made) == {"serviceaccount/mobula"}
    done, _ = run("uninstall", "--apply", "--namespace", made)
    assert f"ServiceAccount/mobula in {made} is left: it is not of mobula" in done and left_in(made) == {"serviceaccount/mobula"}


def test_uninstall_of_what_helm_has_installed(made):
    """It is Helm that knows what there is to delete."""
    kubectl("apply", "-f", "-", stdin=manifests("--no-crds", "--namespace", made))
    kubectl("-n", made, "annotate", "deployment", "mobula", "meta.helm.sh/release-name=ray")
    before = left_in(made)
    done, said = run("uninstall", "--apply", "--namespace", made, status=1)
    assert done == "" and "Deployment mobula belongs to the Helm release ray: helm uninstall ray deletes it" in said
    assert {o for o in before if not o.startswith("pod/")} <= left_in(made)


def test_uninstall_without_a_right_to_secrets(made, tmp_path):
    """All but the Secret of revisions goes, and that is said."""
    run("install", "--apply", "--no-crds", "--namespace", made)
    weak = kubeconfig_of("default", made, tmp_path)
    rights = ("configmaps,serviceaccounts,services,deployments.apps,roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io,"
              "leases.coordination.k8s.io,networkpolicies.networking.k8s.io,poddisruptionbudgets.policy")
    kubectl("-n", made, "create", "role", "weak", "--verb=get,list,delete", f"--resource={rights}")
    kubectl("-n", made, "create", "rolebinding", "weak", "--role=weak", f"--serviceaccount={made}:default")
    done, said = run("uninstall", "--apply", "--namespace", made, kubeconfig=weak, status=1)
    assert done == "" and "nothing was uninstalled: the work could not be counted (--leave-work does not count it)" in said, said
    assert "of ray.io/v1 in namespace" in said, said
    assert "the right to list them is missing: 403 Forbidden" in said and "deployment.apps/mobula" in left_in(made)
    _, said = run("install", "--apply", "--no-crds", "--namespace", made, "--watch-namespace=default", kubeconfig=weak, status=1)
    assert f"namespace {made} would no longer be watched, and the work in it could not be counted" in said and "403 Forbidden" in said
    done, said = run("uninstall", "--apply", "--namespace", made, "--leave-work", kubeconfig=weak)
    assert f"finalizers may be left in namespace {made}" in said and "403 Forbidden" in said
    assert f"Secret/mobula-revisions in {made} is left, if it is there: who may read Secrets may delete it" in done
    assert left_in(made) == {f"{kind}.rbac.authorization.k8s.io/weak" for kind in ("role", "rolebinding")}


def test_another_version(api, made):
    run("install", "--apply", "--no-crds", "--namespace", made)
    path = f"/apis/apps/v1/namespaces/{made}/deployments/mobula"
    api.patch(path, {"metadata": {"labels": {"app.kubernetes.io/version": "0.0.1"}}})
    done, said = run("install", "--apply", "--no-crds", "--namespace", made, status=1)
    assert done == "" and f"mobula 0.0.1 is installed in namespace {made}: mobula upgrade" in said
    done, _ = run("upgrade", "--no-crds", "--namespace", made)
    assert f"Deployment/mobula in {made} changed" in done


def test_flags_that_would_go(api, made):
    run("install", "--apply", "--no-crds", "--namespace", made, "--replicas=2", "--shapes")
    for command in (("upgrade",), ("install", "--apply")):
        done, said = run(*command, "--no-crds", "--namespace", made, "--replicas=2", status=1)
        gone = "--instance-types-configmap=instance-types, --patches-configmap=patches"
        assert done == "" and f"Deployment mobula in namespace {made} runs with flags that would go: {gone}. Give again" in said
    done, _ = run("upgrade", "--no-crds", "--namespace", made, "--drop-flags")
    assert f"Deployment/mobula in {made} changed" in done
    args = api.get(f"/apis/apps/v1/namespaces/{made}/deployments/mobula")["spec"]["template"]["spec"]["containers"][0]["args"]
    assert not [a for a in args if "-configmap=" in a or a == "--leader-elect"]


def test_what_does_not_become_available(api, made):
    """A quota without pods: the words of the API server are told, what was done stays, and can be taken back."""
    api.call("POST", f"/api/v1/namespaces/{made}/resourcequotas",
             {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}})
    done, said = run("install", "--apply", "--no-crds", "--namespace", made, "--timeout=4s", status=1)
    assert "exceeded quota: none" in done and "exceeded quota: none" in said and "not available in time (--timeout)" in said
    undo = [line.strip() for line in said.splitlines() if line.startswith("  mobula uninstall")]
    assert undo == [f"mobula uninstall --apply --namespace={made} --watch-namespace={made}"] and "mobula rollback" in said
    run(*undo[0].split()[1:])
    assert left_in(made) == set()


def test_upgrade_and_rollback(api, made):
    """What the other revision has and this one has not goes; pods of Ray are not touched."""
    run("install", "--apply", "--no-crds", "--namespace", made)
    first = left_in(made)
    api.call("POST", f"{V1}/namespaces/{made}/rayclusters", raycluster("c"))
    done, _ = run("upgrade", "--no-crds", "--namespace", made, "--replicas=2", "--raycronjobs")
    more = {"role.rbac.authorization.k8s.io/mobula-leader", "rolebinding.rbac.authorization.k8s.io/mobula-leader",
            "poddisruptionbudget.policy/mobula"}
    without_pods = lambda names: {n for n in names if not n.startswith("pod/")}  # noqa: E731
    assert without_pods(left_in(made)) == without_pods(first) | more
    run("upgrade", "--no-crds", "--namespace", made, "--replicas=2", "--raycronjobs")  # the same again is no revision
    done, _ = run("rollback", "--namespace", made)
    assert f"Deployment/mobula in {made} changed" in done and f"PodDisruptionBudget/mobula in {made} deleted" in done
    assert without_pods(left_in(made)) == without_pods(first)
    pod = api.get(f"/apis/apps/v1/namespaces/{made}/deployments/mobula")["spec"]
    assert pod["replicas"] == 1 and "--raycronjobs=false" in pod["template"]["spec"]["containers"][0]["args"]
    done, said = run("rollback", "--namespace", made, status=1)  # rights come back only when that is said
    more_rights = f"RoleBinding mobula-leader in {made} would give more than now: what mobula-leader holds"
    assert done == "" and more_rights in said and "--more-rights gives them" in said, said
    run("rollback", "--namespace", made, "--more-rights")
    assert without_pods(left_in(made)) == without_pods(first) | more
    assert api.get(f"{V1}/namespaces/{made}/rayclusters/c")
    run("uninstall", "--apply", "--namespace", made, "--leave-work")
    assert left_in(made) == set() and not [s for s in api.get(f"/api/v1/namespaces/{made}/secrets")["items"]]


def test_no_pod_of_ray_starts_again(api, made, tmp_path):
    """Through an upgrade, a rollback, the rollback of that and an uninstall, with an operator that goes and comes with each: the same pods,
    no container of which was started again. (Fake kubelets run them; tests/e2e/ray has a real one.)"""
    run("install", "--apply", "--no-crds", "--namespace", made)
    space, operator = Workspace(api, made), Operator(tmp_path, made, "--kinds=ray.io", "--raycronjobs=false",
                                                             "--versionedservices=false", "--rayservices=false")
    try:
        space.apply(raycluster("c", workers=3))
        space.ready("c", 4)

        def pods():
            return {p["metadata"]["name"]: (p["metadata"]["uid"], sum(c["restartCount"] for c in p["status"]["containerStatuses"]))
                    for p in space.pods("c")}

        before = eventually(lambda: len(pods()) == 4 and pods())
        assert all(restarts == 0 for _, restarts in before.values())
        for command in (("upgrade", "--no-crds", "--resources=cpu=300m,memory=80Mi"), ("rollback",), ("rollback",)):
            operator.stop()
            done, _ = run(*command, "--namespace", made)
            assert f"Deployment/mobula in {made} changed" in done
            operator.start().ready()
            space.change("c", {"headGroupSpec": {**raycluster("c")["spec"]["headGroupSpec"], "headService": {
                "metadata": {"annotations": {"after": command[0]}}}}})  # it is looked after, and not made anew
            eventually(lambda: space.cluster("c")["status"]["observedGeneration"] == space.cluster("c")["metadata"]["generation"])
            assert pods() == before, command
        run("uninstall", "--apply", "--namespace", made, "--leave-work")
        assert pods() == before
    finally:
        operator.stop()


def test_nothing_to_go_back_to(api, made):
    _, said = run("rollback", "--namespace", made, status=1)
    assert f"namespace {made} has no previous revision" in said
    # Who may write Secrets does not decide what an admin applies.
    foreign = "---\n" + '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"mobula","namespace":"kube-system"}}' + "\n"
    data = {key: base64.b64encode(foreign.encode()).decode() for key in ("current", "previous")}
    api.call("POST", f"/api/v1/namespaces/{made}/secrets",
             {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mobula-revisions"}, "data": data})
    done, said = run("rollback", "--namespace", made, status=1)
    assert done == "" and "holds Pod mobula, which no installation has: somebody has changed it" in said


def test_programs_of_two_revisions(made, tmp_path):
    """A ConfigMap for this revision's program and one for the one before, so that it can come back; no more."""
    for n in range(3):
        program = tmp_path / f"program{n}"
        program.write_bytes(Path(MOBULA).read_bytes() + bytes([n]))
        run("upgrade", "--no-crds", "--registryless", f"--program={program}", "--image=registry.k8s.io/pause:3.10", "--namespace", made)
        assert len([c for c in left_in(made) if "mobula-program" in c]) == min(n + 1, 2)
    run("rollback", "--namespace", made)
    run("uninstall", "--apply", "--namespace", made)
    assert left_in(made) == set()


def test_purge(api, space, operators):
    """Clusters and jobs first, while the operator takes finalizers off; then the rest."""
    operator = operators("--leader-elect")
    space.apply(raycluster("c"))
    space.start(rayjob("j", clusterSelector={"ray.io/cluster": "c"}, rayClusterSpec=None))
    space.start(rayjob("k"))
    space.ready("c", 2)
    space.kubectl("patch", "rayjob", "j", "--type=merge", "-p", '{"metadata":{"finalizers":["ray.io/rayjob-finalizer"]}}')
    _, said = run("uninstall", "--purge", "--namespace", space.name, status=2)
    assert "--purge needs --apply" in said
    done, _ = run("uninstall", "--apply", "--purge", "--namespace", space.name)
    assert f"RayJob/j in {space.name} deleted" in done and f"RayCluster/c in {space.name} deleted" in done
    assert done.index("RayCluster/c") < done.index("Role/mobula")
    for plural in "rayclusters", "rayjobs":
        assert api.get(f"{V1}/namespaces/{space.name}/{plural}")["items"] == []
    operator.stop()


def test_clusters_stay(api, made):
    """An upgrade and an uninstall touch no pod of Ray."""
    run("install", "--apply", "--no-crds", "--namespace", made)
    api.call("POST", f"{V1}/namespaces/{made}/rayclusters", raycluster("c"))
    _, said = run("uninstall", "--apply", "--namespace", made, status=1)
    assert f"namespace {made}: 1 RayCluster left" in said and "nothing was deleted" in said and "--leave-work" in said
    run("uninstall", "--apply", "--namespace", made, "--leave-work")
    assert [c["metadata"]["name"] for c in api.get(f"{V1}/namespaces/{made}/rayclusters")["items"]] == ["c"]
