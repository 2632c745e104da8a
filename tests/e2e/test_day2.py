"""Changes of an existing installation: upgrades of one that kubectl applied, deletion of surplus objects, --dry-run, --values, check."""

import json
import re
import shlex

import pytest

from cluster import ROOT, RUN, Refused, eventually, kubectl, manifests, raycluster, rayjob
from test_apply import left_in, made, place, run  # noqa: F401 the fixtures

FLAGS = ("--no-crds", "--no-admission-policy")
EXTRA = ("--pull-secret=oldreg", "--proxy=http://proxy.example:3128", "--replicas=2")
LEADER = {"role.rbac.authorization.k8s.io/mobula-leader", "rolebinding.rbac.authorization.k8s.io/mobula-leader",
          "poddisruptionbudget.policy/mobula"}


def deployment(api, name):
    return api.get(f"/apis/apps/v1/namespaces/{name}/deployments/mobula")


@pytest.mark.parametrize("side", [(), ("--server-side",)])
def test_an_upgrade_of_what_kubectl_has_applied(api, made, side):  # noqa: F811
    """An upgrade removes objects and fields that its manifests lack; a rollback restores them."""
    kubectl("apply", *side, "-f", "-", stdin=manifests(*FLAGS, "--namespace", made, "--image=a.example/mobula:0.1.0", *EXTRA))
    new = (*FLAGS, "--namespace", made, "--image=b.example/mobula:0.1.0")
    _, said = run("upgrade", *new, status=1)
    assert "--pull-secret=oldreg, --proxy, --replicas=2. Give again" in said, said
    shown, said = run("upgrade", *new, "--drop-flags", "--dry-run", status=3)
    assert f"--- PodDisruptionBudget mobula in {made}\n+++ deleted\n" in shown and "\n+        image: b.example/mobula:0.1.0\n" in shown
    assert LEADER <= left_in(made) and "last-applied" not in shown and "8 objects would change" in said, (shown, said)
    run("upgrade", *new, "--drop-flags")
    pod = deployment(api, made)["spec"]["template"]["spec"]
    assert "imagePullSecrets" not in pod and "env" not in pod["containers"][0] and not LEADER & left_in(made)
    assert "last-applied" not in kubectl("-n", made, "get", "deployment", "mobula", "-o", "yaml").stdout
    assert run("upgrade", *new, "--dry-run") == ("", "mobula: 0 objects would change\n")
    run("rollback", "--namespace", made, "--more-rights")
    pod = deployment(api, made)["spec"]["template"]["spec"]
    assert pod["imagePullSecrets"] == [{"name": "oldreg"}] and pod["containers"][0]["env"][0]["name"] == "HTTPS_PROXY"
    assert LEADER <= left_in(made) and deployment(api, made)["spec"]["replicas"] == 2


@pytest.mark.parametrize("side", [(), ("--server-side",)])
def test_fewer_replicas_by_kubectl(made, side):  # noqa: F811
    """kubectl apply accepts more and fewer replicas. --dry-run names the objects that it leaves behind; the next upgrade deletes them."""
    for replicas in ("2", "1", "2", "1"):
        kubectl("apply", *side, "-f", "-", stdin=manifests(*FLAGS, "--namespace", made, f"--replicas={replicas}"))
        kubectl("-n", made, "rollout", "status", "deployment/mobula", "--timeout=120s")
    shown, _ = run("upgrade", *FLAGS, "--namespace", made, "--dry-run", status=3)
    assert f"--- Role mobula-leader in {made}\n+++ deleted\n" in shown
    run("upgrade", *FLAGS, "--namespace", made)
    assert not LEADER & left_in(made)


def test_fields_and_objects_of_others_stay(api, made):  # noqa: F811
    run("install", "--apply", *FLAGS, "--namespace", made)
    path = f"/apis/apps/v1/namespaces/{made}/deployments/mobula"
    api.patch(path, {"spec": {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}}})
    kubectl("-n", made, "create", "role", "mobula-leader", "--verb=get", "--resource=pods")  # without our label, under a name of ours
    run("upgrade", *FLAGS, "--namespace", made, "--resources=cpu=300m,memory=80Mi")
    assert deployment(api, made)["spec"]["template"]["spec"]["tolerations"] == [{"operator": "Exists"}]
    assert "role.rbac.authorization.k8s.io/mobula-leader" in left_in(made)


def test_an_admin_of_one_namespace(made, tmp_path):  # noqa: F811
    """Runs the commands of docs/install.md, "Who applies what", as a user with exactly these rights."""
    page = (ROOT / "docs/install.md").read_text()
    grant = shlex.split(re.search(r"^    (kubectl create clusterrole ray-admin .+)$", page, re.M)[1])[1:]
    kubectl("delete", "clusterrole", "ray-admin", "--ignore-not-found")
    kubectl(*grant)
    for role in ("admin", "ray-admin"):
        kubectl("-n", made, "create", "rolebinding", f"ann-{role}", f"--clusterrole={role}", "--user=ann")
    ann = tmp_path / "ann"
    ann.write_text((RUN / "admin.kubeconfig").read_text().replace("user: {client-certificate", "user: {as: ann, client-certificate"))
    run("install", "--apply", "--crds-only", "--namespace", made)
    for right in ("events.events.k8s.io", "deployments.apps"):  # bindings take effect a moment later
        eventually(lambda: kubectl("-n", made, "auth", "can-i", "create", right, kubeconfig=ann, check=False).stdout == "yes\n")
    run("install", "--apply", "--no-crds", "--namespace", made, kubeconfig=ann)
    kubectl("-n", made, "apply", "-f", "-", stdin=json.dumps(raycluster("c")), kubeconfig=ann)
    kubectl("-n", made, "delete", "rayclusters.ray.io", "c", kubeconfig=ann)
    run("upgrade", "--no-crds", "--namespace", made, "--replicas=2", kubeconfig=ann)
    run("rollback", "--namespace", made, kubeconfig=ann)
    run("uninstall", "--apply", "--namespace", made, kubeconfig=ann)
    kubectl("-n", made, "delete", "rolebinding", "ann-admin", "ann-ray-admin")
    kubectl("delete", "clusterrole", "ray-admin")
    assert left_in(made) == set()


@pytest.mark.parametrize("text,said", [
    ("nonsense: 1", "values:1: nonsense: unknown flag --nonsense"),
    ("replicas: many", 'values:1: replicas: --replicas: "many" is not a whole'),
    ("a: 1\npodLabels: {n: 1}", "unknown flag --a"),
    ("podLabels: {team: 1}", "values:1: podLabels: team: must be a string: put it in quotes"),
    ("tolerations: {}", "tolerations: must be a list"), ("tolerations: [1]", "tolerations: must be a list of objects"),
    ("shapes: 7", 'shapes: --shapes: "7" is neither true nor false'), ("networkPolicy: 'no'", "networkPolicy: must be true or false"),
    ("pullSecrets: [[a]]", "pullSecrets: must be a text, or a list of texts"), ("", "values: is not an object of values"),
    ("- a", "values: is not an object of values"), ("a: b: c", "values: line 1"), ("image: a b", '"a b" has a blank'),
    ("extraEnv", "is not an object of values"), ("---\na: 1\n---\nb: 1", "is not an object of values")])
def test_invalid_values(tmp_path, text, said):
    """The error names file, line and key, and no request is sent."""
    (tmp_path / "values").write_text(text)
    _, words = run("install", "--apply", "--values", str(tmp_path / "values"), kubeconfig=tmp_path / "none", status=2)
    assert said in words, words


def test_placed_by_values(api, made, tmp_path):  # noqa: F811
    """The Deployment has the values, an upgrade without them names each, and a flag overrides the file."""
    values = {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"kubernetes.io/os": "linux"}, "podLabels": {"team": "7"},
              "podAnnotations": {"a": "b"}, "extraEnv": [{"name": "A", "value": "1"}], "replicas": 2, "memory": 67108864, "cpu": 1,
              "requests": {"cpu": "50m", "memory": "32Mi"}, "admissionPolicy": False}
    (tmp_path / "values").write_text(json.dumps(values))
    for node in api.get("/api/v1/nodes")["items"]:
        api.patch(f"/api/v1/nodes/{node['metadata']['name']}", {"metadata": {"labels": {"kubernetes.io/os": "linux"}}})
    run("install", "--apply", "--no-crds", "--namespace", made, "--values", str(tmp_path / "values"), "--replicas=1")
    there = deployment(api, made)["spec"]
    pod = there["template"]["spec"]
    assert pod["tolerations"] == [{"operator": "Exists"}] and pod["nodeSelector"] == {"kubernetes.io/os": "linux"}
    assert pod["containers"][0]["env"] == [{"name": "A", "value": "1"}] and there["replicas"] == 1
    assert pod["containers"][0]["resources"] == {"limits": {"cpu": "1", "memory": "67108864"}, "requests": {"cpu": "50m", "memory": "32Mi"}}
    assert there["template"]["metadata"]["labels"]["team"] == "7" and there["template"]["metadata"]["annotations"]["a"] == "b"
    _, said = run("upgrade", *FLAGS, "--namespace", made, status=1)
    for flag in ("--values: extraEnv=A", "--toleration", "--node-selector", "--resources=cpu=1", "--requests=cpu=50m"):
        assert flag in said, said


def test_a_namespace_goes_with_its_jobs(api, space, operator):
    """kubectl delete namespace, while a job waits for a shared cluster, deletes the namespace."""
    operator.ready()
    space.apply(raycluster("shared"))
    job = rayjob("nightly")
    job["spec"].pop("rayClusterSpec", None)
    job["spec"]["clusterSelector"] = {"ray.io/cluster": "shared"}
    space.start(job)
    eventually(lambda: space.job("nightly").get("status", {}).get("jobDeploymentStatus") == "Initializing")
    kubectl("delete", "namespace", space.name, "--wait=false")

    def gone():
        try:
            api.get(f"/api/v1/namespaces/{space.name}")
        except Refused as e:
            return e.status == 404
        return False

    eventually(gone)
    api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space.name}})


def test_definitions_of_another_content(api, made):  # noqa: F811
    """check names the first field that differs, and --crds-only applies our definitions, even if a Helm release owns the policy."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rayclusters.ray.io"
    older = api.get(path)["spec"]["versions"]
    for version in older:
        schema = version["schema"]["openAPIV3Schema"].get("properties", {})
        schema.get("spec", {}).get("properties", {}).pop("suspend", None)
    try:
        run("install", "--apply", "--crds-only", "--namespace", made)
        kubectl("annotate", "validatingadmissionpolicy", f"mobula.{made}", "meta.helm.sh/release-name=m")
        api.patch(path, {"spec": {"versions": older}})
        said, _ = run("check", "-n", made, "--operator-namespace", made, status=4)
        assert "it differs at spec.properties.suspend, and" in said and f"--crds-only --namespace={made} brings ours" in said, said
        done, _ = run("install", "--apply", "--crds-only", "--namespace", made)
        assert f"ValidatingAdmissionPolicy/mobula.{made} passed over: it belongs to a Helm release" in done
        assert "suspend" in json.dumps(api.get(path))
        assert "it differs at" not in run("check", "-n", made, "--operator-namespace", made)[0]
    finally:
        run("install", "--apply", "--crds-only", "--namespace", made)
        kubectl("annotate", "validatingadmissionpolicy", f"mobula.{made}", "meta.helm.sh/release-name-")
        run("uninstall", "--apply", "--namespace", made)


@pytest.mark.parametrize("limits", [{"min": {"cpu": "50m", "memory": "32Mi"}}, {"maxLimitRequestRatio": {"cpu": "4", "memory": "2"}}])
def test_a_limit_range_that_refuses_the_operator(made, limits):  # noqa: F811
    """check reports the refusal before the installation, and the flags that it names make the installation succeed."""
    kubectl("-n", made, "apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"},
                                                              "spec": {"limits": [{"type": "Container", **limits}]}}))
    check = ("check", "-n", made, "--operator-namespace", made)
    said = eventually(lambda: [text for text in run(*check, status=3) if "operator's pod would be" in text])
    assert "mobula install --requests and --resources fit it" in said[0]
    fits = ("--requests=cpu=100m,memory=64Mi", "--resources=cpu=200m,memory=64Mi")
    run("install", "--apply", *FLAGS, "--namespace", made, *fits)
    assert "operator's pod would be" not in run(*check, status=None)[0]


def test_nodes_with_taints_alone(api, made):  # noqa: F811
    nodes = [n["metadata"]["name"] for n in api.get("/api/v1/nodes")["items"]]
    kubectl("taint", "nodes", *nodes, "dedicated=gpu:NoSchedule", "--overwrite")
    try:
        said, _ = run("check", "-n", made, "--operator-namespace", made, status=4)
        assert "every node has a taint, such as dedicated=gpu:NoSchedule" in said
        flag = re.search(r"mobula install (--toleration=\S+);", said)[1].replace("'", "")
        run("install", "--apply", *FLAGS, "--namespace", made, flag)
    finally:
        kubectl("taint", "nodes", *nodes, "dedicated-")


def test_a_kubeconfig_that_is_empty_beside_another(tmp_path):
    (tmp_path / "empty").write_text("# nothing yet\n")
    for files in (f"{RUN / 'admin.kubeconfig'}:{tmp_path / 'empty'}", f"{tmp_path / 'empty'}:{RUN / 'admin.kubeconfig'}"):
        assert "there is no namespace none-such" in run("check", "-n", "none-such", kubeconfig=files, status=4)[0]


def test_check_looks_beside_the_deployment(api, made):  # noqa: F811
    """Admission policies of another content, an old Lease, a NetworkPolicy without the API server's port: the remedies work as typed."""
    run("install", "--apply", "--namespace", made)
    kubectl("apply", "-f", "-", stdin=json.dumps({  # the rig's API server, on loopback, makes none
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": "kubernetes-of-a-test", "namespace": "default", "labels": {"kubernetes.io/service-name": "kubernetes"}},
        "endpoints": [{"addresses": ["10.9.9.9"]}], "ports": [{"name": "https", "port": 7443}]}))
    check = ("check", "-n", made, "--operator-namespace", made)
    path = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/mobula.{made}.services"
    try:
        assert "policies of the operator's account are those of this version" in run(*check, status=None)[0]
        validations = api.get(path)["spec"]["validations"]
        api.patch(path, {"spec": {"validations": [{**validations[0], "expression": "true"}]}})
        kubectl("-n", made, "apply", "-f", "-", stdin=json.dumps({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "mobula"},
            "spec": {"holderIdentity": "old-1", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}}))
        said, _ = run(*check, status=4)
        assert f"ValidatingAdmissionPolicy mobula.{made}.services is not the one of this version" in said, said
        assert f"Lease mobula in namespace {made} is an old one: old-1 held it until 2026-01-01T00:00:15Z" in said, said
        kubectl(*shlex.split(re.search(r"kubectl (-n \S+ delete lease mobula)", said)[1]))
        run(*shlex.split(re.search(r"mobula (install --apply --crds-only --namespace=\S+) writes them", said)[1]))
        allow = re.search(r"does not let out port 7443.*?(--egress-allow=\S+)", said, re.S)[1]
        warned = f"NetworkPolicy/mobula does not let out port 7443, where the API server listens: add {allow}, or leave it out"
        assert warned in run("upgrade", "--no-crds", "--namespace", made)[0]
        assert "does not let out" not in run("upgrade", "--no-crds", "--namespace", made, allow)[0]
        said, _ = run(*check, status=None)
        assert "is not the one of" not in said and "is an old one" not in said and "does not let out" not in said, said
        assert "lets out port 7443" in said
    finally:
        kubectl("-n", "default", "delete", "endpointslice", "kubernetes-of-a-test")
        run("uninstall", "--apply", "--namespace", made)
