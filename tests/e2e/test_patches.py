"""Patches of a ConfigMap in what the operator writes on the real API server: the document's own, edited, broken, failing and forbidden
ones."""

import json

import pytest

from cluster import V1, condition, eventually, mobula, raycluster
from test_shapes import DOCUMENT, SHAPES, allow_maps, put, typed

# As the document has it, with its comments.
ON_DEMAND = """patches:
- kind: Pod
  # See: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
  selector: "anyscale.com/market-type in (ON_DEMAND)"
  # See: https://jsonpatch.com/
  patch:
  - op: add
    path: /spec/nodeSelector/eks.amazonaws.com~1capacityType # use ~1 to escape the forward-slash
    value: "ON_DEMAND"
"""
# What else the document says that patches are for: a service's annotations, and a zone.
MORE = """- kind: Service
  patch:
  - {op: add, path: /metadata/annotations/service.beta.kubernetes.io~1aws-load-balancer-internal, value: "true"}
- kind: Pod
  selector: "anyscale.com/zone"
  patch:
  - {op: add, path: /spec/nodeSelector/topology.kubernetes.io~1zone}
  - {op: copy, from: /metadata/annotations/anyscale.com~1zone, path: /spec/nodeSelector/topology.kubernetes.io~1zone}
"""
POOL = "- kind: Pod\n  patch: [{op: add, path: /metadata/labels/pool, value: %s}]\n" \
       "- kind: Service\n  patch: [{op: add, path: /metadata/annotations/pool, value: %s}]\n"


def put_patches(space, text):
    put(space, text, "patches")


def pools(space, cluster="c"):
    """The patched label of each worker, sorted."""
    return sorted(p["metadata"]["labels"].get("pool", "") for p in space.pods(cluster)
                  if p["metadata"]["labels"]["ray.io/node-type"] == "worker")


def service(space, cluster="c"):
    return space.find(space.path("services", f"{cluster}-head-svc")) or {"metadata": {}}


def notes(space, reason):
    events = space.api.get(space.path("events", group="/apis/events.k8s.io/v1"))["items"]
    return [(e["regarding"]["name"], e["note"]) for e in events if e["reason"] == reason]


def scale(space, workers, cluster="c", **group):
    space.change(cluster, {"workerGroupSpecs": raycluster(cluster, workers, **group)["spec"]["workerGroupSpecs"]})


@pytest.fixture
def patched(space, operators):
    allow_maps(space)
    return operators(SHAPES, "--patches-configmap=patches")


def test_the_documents_own_examples_show_in_pods_and_services(space, patched, nodes):
    labels = {"eks.amazonaws.com/capacityType": "ON_DEMAND", "topology.kubernetes.io/zone": "us-west-2a"}
    nodes(f"{space.name}-a", labels)
    put(space, DOCUMENT)
    put_patches(space, ON_DEMAND + MORE)
    space.apply(typed("c", "2CPU-8GB", "8CPU-32GB-1xT4", **{"anyscale.com/market-type": "ON_DEMAND", "anyscale.com/zone": "us-west-2a"}))
    space.apply(typed("spot", "2CPU-8GB", "2CPU-8GB", **{"anyscale.com/market-type": "SPOT"}))
    space.ready("c", 2)
    space.ready("spot", 2)
    for pod in space.pods("c"):
        assert pod["spec"]["nodeSelector"] == labels and pod["spec"]["nodeName"] == f"{space.name}-a"
    assert all("nodeSelector" not in pod["spec"] for pod in space.pods("spot"))
    for cluster in "c", "spot":
        note = service(space, cluster)["metadata"]["annotations"]
        assert note["service.beta.kubernetes.io/aws-load-balancer-internal"] == "true"
    space.rest(patched)  # services are not applied over and over


def test_an_edited_map_is_in_force_without_a_restart(space, patched):
    put_patches(space, POOL % ("a", "a"))
    space.apply(raycluster("c", 2))
    space.ready("c", 3)
    assert pools(space) == ["a", "a"] and service(space)["metadata"]["annotations"]["pool"] == "a"
    put_patches(space, POOL % ("b", "b"))
    eventually(lambda: service(space)["metadata"]["annotations"]["pool"] == "b")
    scale(space, 3)
    space.ready("c", 4)
    assert pools(space) == ["a", "a", "b"]
    space.api.call("DELETE", space.path("configmaps", "patches"))
    eventually(lambda: "pool" not in service(space)["metadata"]["annotations"])
    scale(space, 4)
    space.ready("c", 5)
    assert pools(space) == ["", "a", "a", "b"]


def test_a_broken_text_keeps_the_last_good_one(space, patched):
    put_patches(space, POOL % ("a", "a"))
    space.apply(raycluster("c", 1))
    space.ready("c", 2)
    put_patches(space, POOL.replace("op: add", "op: ad") % ("b", "b"))
    told = eventually(lambda: notes(space, "BrokenSetting"))
    assert [name for name, _ in told] == ["patches"]
    assert "patches.yaml: line 2: " in told[0][1] and "what was read last stays in force" in told[0][1], told
    assert patched.metrics()["mobula_settings_broken"] == 1
    scale(space, 2)
    space.ready("c", 3)
    assert pools(space) == ["a", "a"]
    put_patches(space, POOL % ("c", "c"))
    scale(space, 3)
    eventually(lambda: pools(space) == ["a", "a", "c"])
    assert patched.metrics()["mobula_settings_broken"] == 0


def test_nothing_is_written_before_the_first_good_text(space, patched):
    put_patches(space, "- kind: Pod\n  patch: [{op: add}]\n")
    space.apply(raycluster("c", 1))
    told = eventually(lambda: condition(space.cluster("c"), "ReplicaFailure"))
    assert "ConfigMap patches is broken, and nothing is written without its patches: line 2: " in told["message"], told
    assert space.pods("c") == []
    put_patches(space, "[]")
    space.ready("c", 2)


def test_a_patch_that_does_not_apply_stops_that_object_only(space, patched):
    worker = "- kind: Pod\n  selector: ray.io/node-type=worker,lab\n  patch:\n  - {op: test, path: /kind, value: Pod}\n" \
             "  - {op: remove, path: /spec/runtimeClassName}\n"
    put_patches(space, POOL % ("a", "a") + worker)
    bad = raycluster("c", 1)
    bad["spec"]["workerGroupSpecs"][0]["template"]["metadata"] = {"labels": {"lab": "1"}}
    space.apply(bad)
    space.apply(raycluster("other", 1))
    told = eventually(lambda: condition(space.cluster("c"), "ReplicaFailure"))
    assert told["status"] == "True" and "patch 3 (line 5), operation 2 (remove /spec/runtimeClassName)" in told["message"], told
    assert "c" in [name for name, note in notes(space, "FailedToCreateWorkerPod") if "patch 3 (line 5), operation 2" in note]
    space.ready("other", 2)  # neither another cluster nor the head is stopped
    assert len(space.pods("c")) == 1 and pools(space, "other") == ["a"]
    put_patches(space, POOL % ("b", "b"))
    space.ready("c", 2)
    assert pools(space) == ["b"]


@pytest.mark.parametrize(("operation", "what"), [
    ("{op: replace, path: /metadata/name, value: x}", "/metadata/name"),
    ("{op: remove, path: /metadata/ownerReferences}", "/metadata/ownerReferences"),
    ("{op: add, path: /metadata/labels/ray.io~1cluster, value: x}", "/metadata/labels/ray.io~1cluster"),
    ("{op: move, from: /metadata/labels/ray.io~1group, path: /metadata/labels/group}", "/metadata/labels/ray.io~1group"),
    ("{op: replace, path: /metadata/labels, value: {}}", "/metadata/labels"),
])
def test_what_the_operator_recognises_its_objects_by_is_refused_by_name(space, patched, operation, what):
    put_patches(space, POOL % ("a", "a"))
    space.apply(raycluster("c", 1))
    space.ready("c", 2)
    put_patches(space, f"- kind: Pod\n  patch:\n  - {operation}\n")
    (told,) = eventually(lambda: notes(space, "BrokenSetting"))
    assert f'line 3: [0].patch[0]: changes "{what}", by which the operator recognises its objects' in told[1], told
    scale(space, 2)
    space.ready("c", 3)
    assert pools(space) == ["a", "a"]
    # The same text is refused beforehand by those who look.
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: patches}\ndata:\n  patches.yaml: |\n"
    out = mobula("validate", "-f", "-", stdin=f"{head}    - kind: Pod\n      patch:\n      - {operation}\n")
    assert out.returncode and what in out.stdout + out.stderr, out


def test_a_jobs_objects_are_patched_too(space, patched):
    put_patches(space, "- kind: RayCluster\n  patch: [{op: add, path: /metadata/labels/team, value: blue}]\n" + POOL % ("a", "a"))
    job = {"entrypoint": "python program.py", "rayClusterSpec": raycluster("j", 1)["spec"], "preRunningDeadlineSeconds": 600}
    space.start({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "j"}, "spec": job})
    name = eventually(lambda: space.job("j").get("status", {}).get("rayClusterName"))
    made = eventually(lambda: space.find(space.path("rayclusters", name, V1)))
    assert made["metadata"]["labels"]["team"] == "blue"
    eventually(lambda: pools(space, name) == ["a"])


def test_a_providers_defaults_lie_below_the_users(space, operators, nodes, tmp_path):
    labels = {"karpenter.sh/capacity-type": "spot", "topology.kubernetes.io/zone": "z1", "nvidia.com/gpu.product": "Tesla-T4"}
    taints = [{"key": "node.anyscale.com/capacity-type", "value": "SPOT", "effect": "NoSchedule"},
              {"key": "node.anyscale.com/accelerator-type", "value": "GPU", "effect": "NoSchedule"}]
    nodes(f"{space.name}-t4", labels, taints)
    allow_maps(space)
    flags = ("--cloud-provider=aws", "--karpenter", "--workload-service-account=ray", "--workload-pull-secrets=a,b", "--process-tracing")
    space.api.call("POST", space.path("serviceaccounts"), {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "ray"}})
    operator = operators(SHAPES, "--patches-configmap=patches", *flags)
    put(space, DOCUMENT)
    mine = "- kind: Pod\n  patch: [{op: test, path: /spec/serviceAccountName, value: ray}, " \
           "{op: add, path: /metadata/labels/pool, value: a}]\n"
    put_patches(space, mine)
    made = typed("c", worker="8CPU-32GB-1xT4", **{"anyscale.com/market-type": "SPOT", "anyscale.com/zone": "z1"})
    space.apply(made)
    space.ready("c", 2)
    for pod in space.pods("c"):
        spec = pod["spec"]
        assert spec["serviceAccountName"] == "ray" and pod["metadata"]["labels"]["pool"] == "a"
        assert [s["name"] for s in spec["imagePullSecrets"]] == ["a", "b"]
        assert spec["containers"][0]["securityContext"]["capabilities"]["add"] == ["SYS_PTRACE"]
        worker = pod["metadata"]["labels"]["ray.io/node-type"] == "worker"
        assert (spec["nodeName"] == f"{space.name}-t4" and spec["nodeSelector"] == labels) if worker else "nodeSelector" not in spec
    space.rest(operator)
    # The same before anything is made.
    files = {"c.yaml": json.dumps(made), "types.yaml": DOCUMENT, "mine.yaml": mine}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    out = mobula("explain", "--patches", "-f", tmp_path / "c.yaml", "--instance-types", tmp_path / "types.yaml",
                 "--patches-file", tmp_path / "mine.yaml", *flags)
    assert out.returncode == 0, out.stderr
    for title in ("patches of the flags: patch 1 (line 1), operation 1: add /spec/serviceAccountName", "airgap/patches/aws.yaml: patch ",
                  "airgap/patches/karpenter.yaml: patch 4 ", "+++ patch 1 (line 1), operation 2: add /metadata/labels/pool"):
        assert title in out.stdout, out.stdout


def test_every_pod_gets_the_way_out(space, operators, tmp_path):
    """Proxy and CAs of --workload-…, in heads, workers, and pods that submit: before the variables that a template sets itself."""
    flags = ("--workload-proxy=http://proxy.corp:3128", "--workload-no-proxy=.corp", "--workload-ca=corp-ca")
    operator = operators("--submitter=pod", *flags)
    made = raycluster("c", 1)
    container = made["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "HTTPS_PROXY", "value": "http://mine:1"}]
    space.apply(made)
    space.ready("c", 2)
    spec = {"entrypoint": "python program.py", "rayClusterSpec": raycluster("j", 1)["spec"], "submissionMode": "K8sJobMode"}
    space.start({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "j"}, "spec": spec})
    name = eventually(lambda: space.job("j").get("status", {}).get("rayClusterName"))
    eventually(lambda: space.find(space.path("rayclusters", name, V1)))
    space.ready(name, 2)
    pods = space.api.get(space.path("pods"))["items"]
    assert len(pods) >= 4
    for pod in pods:
        assert {"name": "mobula-ca", "configMap": {"name": "corp-ca", "defaultMode": 420}} in pod["spec"]["volumes"]
        for c in pod["spec"]["containers"] + pod["spec"].get("initContainers", []):
            first, last = {}, {}
            for e in c["env"]:
                first.setdefault(e["name"], e.get("value"))
                last[e["name"]] = e.get("value")
            for n in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
                assert first[n] == "http://proxy.corp:3128", (c["name"], c["env"])
            assert first["no_proxy"] == first["NO_PROXY"] and first["NO_PROXY"].endswith(",$(KUBERNETES_SERVICE_HOST),.corp")
            assert first["SSL_CERT_FILE"] == first["REQUESTS_CA_BUNDLE"] == "/etc/mobula-ca/ca.crt"
            assert {"name": "mobula-ca", "mountPath": "/etc/mobula-ca", "readOnly": True} in c["volumeMounts"]
            own = pod["metadata"]["labels"].get("ray.io/cluster") == "c" and c["name"] == container["name"] and "worker" in c["name"]
            assert last["HTTPS_PROXY"] == ("http://mine:1" if own else "http://proxy.corp:3128")
    space.rest(operator)
