"""The definitions themselves: small, readable, and refusing what can be refused before anything is stored."""

import http.server
import json
import re
import threading

import pytest

from cluster import LEGACY, ROOT, RUN, V1, Refused, definitions, eventually, kubectl, manifests, mobula, raycluster
from test_legacy import raycluster as legacy

CLIENT_SIDE_LIMIT = 256 * 1024  # kubectl apply keeps the whole object in an annotation


@pytest.fixture(scope="module", autouse=True)
def as_a_user_would():
    """Client-side, whatever other tests have done to the definitions before."""
    kubectl("apply", "-f", "-", stdin=manifests("--crds-only", "--kinds=all"))


def test_all_are_printed():
    printed = manifests("--crds-only", "--kinds=all").split("\nkind: CustomResourceDefinition\nmetadata:\n  name: ")[1:]
    assert sorted(text.split()[0] for text in printed) == definitions()


@pytest.mark.parametrize("name", definitions())
def test_small_and_established(api, name):
    crd = api.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
    conditions = {c["type"]: c["status"] for c in crd["status"]["conditions"]}
    assert conditions["Established"] == conditions["NamesAccepted"] == "True" and "NonStructuralSchema" not in conditions
    applied = crd["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
    assert len(applied) < CLIENT_SIDE_LIMIT / 4
    assert crd["spec"]["versions"][0]["subresources"] == {"status": {}}


@pytest.fixture
def restored():
    """What a test does to the definitions, the next one does not see."""
    yield
    kubectl("apply", "-f", "-", stdin=manifests("--crds-only", "--kinds=all"))


def test_a_cluster_that_once_ran_kuberay_0(api, space, restored):
    """v1alpha1 was stored there, and the server refuses a definition that does not list it; what was stored is there as v1."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rayclusters.ray.io"
    crd = api.get(path)
    for version in crd["spec"]["versions"]:
        old = version["name"] == "v1alpha1"
        version.update(storage=old, served=version["served"] or old)
    api.call("PUT", path, crd)
    alpha = space.path("rayclusters", group="/apis/ray.io/v1alpha1")
    eventually(lambda: made(api, alpha, raycluster("old") | {"apiVersion": "ray.io/v1alpha1"}))
    assert api.get(path)["status"]["storedVersions"] == ["v1", "v1alpha1"]
    out = kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifests("--crds-only", "--kinds=all"))
    assert "rayclusters.ray.io serverside-applied" in out.stdout
    crd = api.get(path)
    assert {v["name"]: (v["served"], v["storage"]) for v in crd["spec"]["versions"]} == {"v1": (True, True), "v1alpha1": (False, False)}
    assert "v1alpha1" in crd["status"]["storedVersions"]
    space.change("old", {"suspend": True})
    assert space.cluster("old")["apiVersion"] == "ray.io/v1" and space.cluster("old")["spec"]["headGroupSpec"]


def test_stored_versions_are_migrated(api, space, restored):
    """Afterwards a definition without the older version is taken, and all objects can be read by it."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rayclusters.ray.io"
    crd = api.get(path)
    for version in crd["spec"]["versions"]:
        old = version["name"] == "v1alpha1"
        version.update(storage=old, served=version["served"] or old)
    api.call("PUT", path, crd)
    alpha = space.path("rayclusters", group="/apis/ray.io/v1alpha1")
    for n in range(130):  # more than a page
        eventually(lambda n=n: made(api, alpha, raycluster(f"old{n}", 0) | {"apiVersion": "ray.io/v1alpha1"}))
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifests("--crds-only", "--kinds=all"))

    def migrate(*flags):
        return mobula("crds", "migrate", "--kubeconfig", str(RUN / "admin.kubeconfig"), *flags)

    dry = migrate("--dry-run")
    assert dry.returncode == 3 and re.search(r"rayclusters\.ray\.io: 1[3-9]\d would be rewritten\n", dry.stdout), dry
    assert "v1alpha1" in api.get(path)["status"]["storedVersions"]
    done = migrate()
    assert done.returncode == 0 and "rewritten, " in done.stdout and "rayclusters.ray.io: stored as v1 alone now" in done.stdout, done
    assert api.get(path)["status"]["storedVersions"] == ["v1"] and migrate("--dry-run").returncode == 0
    crd = api.get(path)
    crd["spec"]["versions"] = [v for v in crd["spec"]["versions"] if v["name"] == "v1"]
    api.call("PUT", path, crd)  # refused while a version that goes is among the stored ones
    def listed():
        try:
            return len(api.get(space.path("rayclusters", group=V1))["items"]) == 130
        except Refused as e:
            raise AssertionError(e) from e  # 429: storage is (re)initializing

    eventually(listed)


class Expiring(http.server.BaseHTTPRequestHandler):
    """An API server with two pages of RayClusters, of which the second has expired when it is asked for."""
    changed = []

    def say(self, status, doc):
        text = json.dumps(doc).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        crd = {"metadata": {"resourceVersion": "1"}, "spec": {"group": "ray.io", "names": {"plural": "rayclusters"}, "versions": [
            {"name": "v1", "storage": True}]}, "status": {"storedVersions": ["v1alpha1", "v1"]}}
        if self.path.endswith("/customresourcedefinitions/rayclusters.ray.io"):
            self.say(200, crd)
        elif "/rayclusters?" not in self.path:
            self.say(404, {"kind": "Status", "code": 404, "reason": "NotFound"})
        elif "continue=old" in self.path:
            self.say(410, {"kind": "Status", "code": 410, "reason": "Expired", "metadata": {"continue": "new"}})
        else:
            name, more = ("b", "") if "continue=new" in self.path else ("a", "old")
            self.say(200, {"metadata": {"continue": more}, "items": [{"metadata": {"name": name, "namespace": "n"}}]})

    def do_PATCH(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.changed.append(self.path.partition("?")[0].rpartition("/")[2])
        self.say(200, {})

    def log_message(self, *_):
        pass


def test_a_migration_that_takes_longer_than_a_list_holds(tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Expiring)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    file = tmp_path / "config"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [],
                                "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
                                "contexts": [{"name": "c", "context": {"cluster": "c"}}]}))
    try:
        done = mobula("crds", "migrate", "--kubeconfig", str(file))
    finally:
        server.shutdown()
    assert done.returncode == 0 and "rayclusters.ray.io: stored as v1 alone now" in done.stdout, done
    assert Expiring.changed == ["a", "b", "status"]


def made(api, path, obj):
    """A version that is served since a moment ago."""
    try:
        return api.call("POST", path, obj)
    except Refused as e:
        raise AssertionError(e) from e


def test_applied_again_changes_nothing():
    text = manifests("--crds-only", "--kinds=all")
    out = kubectl("apply", "-f", "-", stdin=text).stdout.splitlines()
    assert len(out) == text.count("\nkind: ") >= 4 and all(line.endswith("unchanged") for line in out), out


@pytest.mark.parametrize("group,fields", [
    ("ray.io/v1", ["headGroupSpec", "workerGroupSpecs", "enableInTreeAutoscaling", "rayVersion", "suspend", "managedBy"]),
    ("cluster.ray.io/v1", ["podTypes", "headPodType", "maxWorkers", "upscalingSpeed", "idleTimeoutMinutes", "headServicePorts",
                           "headStartRayCommands", "workerStartRayCommands"])])
def test_explain_is_readable(group, fields):
    text = kubectl("explain", "rayclusters.spec", f"--api-version={group}").stdout
    blocks = {b.split()[0]: b for b in text.split("FIELDS:")[1].split("\n\n") if b.strip()}
    for field in fields:
        description = blocks[field].split("\n", 1)[1].strip()
        assert len(description) > 20, f"{field} is not described"
    assert "<empty>" not in text


def changed(cluster, change):
    change(cluster["spec"])
    return cluster


V1_REFUSED = [
    ("two groups of one name", "groupName", lambda s: s["workerGroupSpecs"].append(dict(s["workerGroupSpecs"][0]))),
    ("labels in rayStartParams", "labels", lambda s: s["headGroupSpec"]["rayStartParams"].update(labels="a=b")),
    ("resources twice", "rayStartParams",
     lambda s: s["workerGroupSpecs"][0].update(resources={"CPU": "1"}, rayStartParams={"num-cpus": "2"})),
    ("no head", "headGroupSpec", lambda s: s.pop("headGroupSpec")),
    ("replicas are a number", "replicas", lambda s: s["workerGroupSpecs"][0].update(replicas="many")),
    ("managed by a stranger", "managedBy", lambda s: s.update(managedBy="me")),
    ("storage without rocksdb", "storage", lambda s: s.update(gcsFaultToleranceOptions={"storage": {"claimName": "c"}})),
    ("an unknown backend", "backend", lambda s: s.update(gcsFaultToleranceOptions={"backend": "tape"})),
]
LEGACY_REFUSED = [
    ("no such head type", "headPodType", lambda s: s.update(headPodType="none")),
    ("two types of one name", "podTypes", lambda s: s["podTypes"].append(dict(s["podTypes"][1]))),
    ("minWorkers above maxWorkers", "minWorkers", lambda s: s["podTypes"][1].update(minWorkers=4, maxWorkers=3)),
    ("negative maxWorkers", "maxWorkers", lambda s: s.update(maxWorkers=-1)),
    ("no podTypes", "podTypes", lambda s: s.pop("podTypes")),
]


@pytest.mark.parametrize("group,make,case", [pytest.param(V1, raycluster, c, id="v1: " + c[0]) for c in V1_REFUSED] +
                         [pytest.param(LEGACY, legacy, c, id="legacy: " + c[0]) for c in LEGACY_REFUSED])
def test_refused_by_the_server(api, group, make, case):
    _, word, change = case
    with pytest.raises(Refused) as refused:
        api.call("POST", f"{group}/namespaces/default/rayclusters?dryRun=All", changed(make("c"), change))
    assert refused.value.status == 422 and word in str(refused.value)


def rayjob(**spec):
    cluster = raycluster("c")["spec"]
    return {"apiVersion": V1.removeprefix("/apis/"), "kind": "RayJob", "metadata": {"name": "j"},
            "spec": {"entrypoint": "x", "rayClusterSpec": cluster, **spec}}


RULES = [{"policy": "DeleteSelf", "condition": {"jobStatus": "SUCCEEDED"}}]
SELECTED = {"rayClusterSpec": None, "clusterSelector": {"ray.io/cluster": "c"}}
JOB_REFUSED = [
    ("no cluster", "rayClusterSpec", {"rayClusterSpec": None}),
    ("a selector that names none", "ray.io/cluster", {"clusterSelector": {"a": "b"}}),
    ("suspend without shutdown", "suspend", {"suspend": True}),
    ("ttl without shutdown", "ttlSecondsAfterFinished", {"ttlSecondsAfterFinished": 1}),
    ("a selector and retries", "clusterSelector", {**SELECTED, "backoffLimit": 1}),
    ("interactive retries", "backoffLimit", {"submissionMode": "InteractiveMode", "backoffLimit": 1}),
    ("a submitter for the sidecar", "submissionMode", {"submissionMode": "SidecarMode", "submitterConfig": {}}),
    ("an unknown mode", "submissionMode", {"submissionMode": "Batch"}),
    ("half a strategy", "deletionStrategy", {"deletionStrategy": {"onSuccess": {"policy": "DeleteSelf"}}}),
    ("rules and shutdown", "deletionStrategy", {"shutdownAfterJobFinishes": True, "deletionStrategy": {"deletionRules": RULES}}),
    ("two conditions", "condition", {"deletionStrategy": {"deletionRules": [
        {"policy": "DeleteSelf", "condition": {"jobStatus": "FAILED", "jobDeploymentStatus": "Failed"}}]}}),
    ("the cluster's own rules", "groupName",
     {"rayClusterSpec": {**raycluster("c")["spec"], "workerGroupSpecs": raycluster("c", workers=1)["spec"]["workerGroupSpecs"] * 2}}),
]


@pytest.mark.parametrize("case", JOB_REFUSED, ids=lambda c: c[0])
def test_jobs_refused_by_the_server(api, case):
    _, word, spec = case
    with pytest.raises(Refused) as refused:
        api.call("POST", f"{V1}/namespaces/default/rayjobs?dryRun=All", rayjob(**spec))
    assert refused.value.status == 422 and word in str(refused.value)


@pytest.mark.parametrize("spec", [{}, SELECTED, {"deletionStrategy": {"deletionRules": RULES}}], ids=["plain", "selected", "rules"])
def test_jobs_taken_by_the_server(api, spec):
    stored = api.call("POST", f"{V1}/namespaces/default/rayjobs?dryRun=All", rayjob(**spec))["spec"]
    assert stored["submissionMode"] == "K8sJobMode" and stored["backoffLimit"] == 0


def test_managed_by_cannot_change(space):
    cluster = raycluster("c")
    cluster["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    space.apply(cluster)
    with pytest.raises(Refused, match="immutable"):
        space.change("c", {"managedBy": "ray.io/kuberay-operator"})


@pytest.mark.parametrize("group,make,path", [
    (V1, raycluster, ("headGroupSpec", "template")), (V1, raycluster, ("workerGroupSpecs", 0, "template")),
    (LEGACY, legacy, ("podTypes", 1, "podConfig"))])
def test_pod_templates_are_kept_as_they_are(api, group, make, path):
    """Fields of pods that no schema of today knows survive: templates are opaque."""
    cluster = make("c")
    at = cluster["spec"]
    for key in path:
        at = at[key]
    at["spec"]["fieldOfTomorrow"] = {"deep": [1, {"er": True}]}
    stored = api.call("POST", f"{group}/namespaces/default/rayclusters?dryRun=All", cluster)["spec"]
    for key in path:
        stored = stored[key]
    assert stored["spec"]["fieldOfTomorrow"] == {"deep": [1, {"er": True}]}


def test_a_typo_is_named_in_strict_mode(api):
    cluster = raycluster("c")
    cluster["spec"]["workerGroupSpecs"][0]["replica"] = 3
    with pytest.raises(Refused, match="replica"):
        api.call("POST", f"{V1}/namespaces/default/rayclusters?dryRun=All&fieldValidation=Strict", cluster)


def test_printer_columns(api):
    def columns(name):
        crd = api.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
        return [c["name"].lower() for c in crd["spec"]["versions"][0]["additionalPrinterColumns"] if not c.get("priority")]

    assert columns("rayclusters.ray.io") == ["desired workers", "available workers", "cpus", "memory", "gpus", "status", "age"]
    assert columns("rayclusters.cluster.ray.io") == ["status", "restarts", "age"]


def test_the_examples_are_valid():
    shown = set()
    for file in sorted((ROOT / "airgap/examples").iterdir()):
        out = kubectl("create", "--dry-run=server", "--validate=strict", "-o", "json", "-f", file)
        kind = json.loads(out.stdout)["kind"].lower()
        assert file.stem.split("-")[0] in (kind, "legacy")
        shown.add(kind + "s")
    assert shown == {name.split(".")[0] for name in definitions()}, "each kind has an example"
