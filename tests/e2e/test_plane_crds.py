"""The definitions of a control plane's own objects. They are no part of an operator's installation, so this test applies them itself."""

import copy

import pytest

from cluster import ROOT, Refused, eventually, kubectl

GROUP = "/apis/mobula.dev/v1"
NAMES = ["clouds", "computeconfigs", "workloads"]
KINDS = {"clouds": "Cloud", "computeconfigs": "ComputeConfig", "workloads": "Workload"}

CLOUD = {"provider": "generic", "region": "cellar-1", "zones": ["a", "b"],
         "objectStorage": {"bucket": "s3://ray", "endpoint": "https://store.example:9000"}, "fileStorage": {"nfs": {"server": "10.0.0.1"}}}
CONFIG = {"cloud": "aws-cloud", "zones": ["us-west-2a", "us-west-2b"], "head_node": {"instance_type": "m5.8xlarge"}, "worker_nodes": [
    {"instance_type": "m5.8xlarge", "min_nodes": 0, "max_nodes": 5, "market_type": "PREFER_SPOT"},
    {"required_resources": {"CPU": 4, "memory": "16Gi"}, "advanced_instance_config": {"spec": {"priorityClassName": "batch"}}}]}
JOB = {"cloud": "cellar", "computeConfig": {"name": "small:2"}, "image": "ray:2.56.0", "env": {"A": "1"}, "tags": {"team": "blue"},
       "workingDir": "https://store.example/main.zip", "job": {"entrypoint": "python main.py"}}
SPECS = {"clouds": CLOUD, "computeconfigs": CONFIG, "workloads": JOB}


@pytest.fixture(scope="module", autouse=True)
def defined(api):
    for name in NAMES:
        kubectl("apply", "-f", ROOT / f"airgap/crds/{name}.mobula.dev.yaml")
    for name in NAMES:
        eventually(lambda name=name: established(api, name))
    yield
    kubectl("delete", "crd", *(f"{name}.mobula.dev" for name in NAMES))


def established(api, name):
    crd = api.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}.mobula.dev")
    conditions = {c["type"]: c["status"] for c in crd.get("status", {}).get("conditions") or []}
    assert "NonStructuralSchema" not in conditions
    return conditions.get("Established") == "True" and crd["spec"]["names"]["shortNames"]


def of_kind(plural, spec, name="one"):
    return {"apiVersion": "mobula.dev/v1", "kind": KINDS[plural], "metadata": {"name": name}, "spec": copy.deepcopy(spec)}


def path(name, suffix=""):
    return f"{GROUP}/namespaces/default/{name}{suffix}"


@pytest.mark.parametrize("name", NAMES)
def test_taken(api, name):
    stored = api.call("POST", path(name, "?dryRun=All&fieldValidation=Strict"), of_kind(name, SPECS[name]))["spec"]
    if name == "computeconfigs":
        assert stored["worker_nodes"][1]["advanced_instance_config"] == {"spec": {"priorityClassName": "batch"}}
    if name == "workloads":
        assert stored["job"]["maxRetries"] == 1 and stored["job"]["startingTimeoutSeconds"] == 1500


REFUSED = [
    ("clouds", "provider", lambda s: s.update(provider="oracle")),
    ("clouds", "region", lambda s: s.update(region="Europe West")),
    ("clouds", "bucket", lambda s: s["objectStorage"].update(bucket="s3://ray/sub/path")),
    ("clouds", "endpoint", lambda s: s["objectStorage"].update(endpoint="https://user@store")),
    ("clouds", "fileStorage", lambda s: s["fileStorage"].update(id="fs-1")),
    ("clouds", "className and gateway", lambda s: s.update(ingress={"className": "a", "gateway": "b"})),
    ("computeconfigs", "exclude each other", lambda s: s["head_node"].update(required_resources={"CPU": 1})),
    ("computeconfigs", "is needed", lambda s: s["worker_nodes"][0].pop("instance_type")),
    ("computeconfigs", "above max_nodes", lambda s: s["worker_nodes"][0].update(min_nodes=6)),
    ("computeconfigs", "market_type", lambda s: s["worker_nodes"][0].update(market_type="CHEAP")),
    ("computeconfigs", "accelerator-type", lambda s: s["head_node"].update(required_labels={"kubernetes.io/hostname": "n1"})),
    ("computeconfigs", "min_nodes", lambda s: s["worker_nodes"][0].update(min_nodes=-1)),
    ("workloads", "is needed", lambda s: s.pop("job")),
    ("workloads", "is needed", lambda s: s.update(cluster={})),
    ("workloads", "computeConfig", lambda s: s["computeConfig"].update(inline={})),
    ("workloads", "NAME:VERSION", lambda s: s["computeConfig"].update(name="small:0")),
    ("workloads", "names of variables", lambda s: s["env"].update({"1A": "x"})),
    ("workloads", "names of tags", lambda s: s["tags"].update({"a/b": "x"})),
    ("workloads", "with a letter or digit", lambda s: s["tags"].update(team="-x")),
    ("workloads", "entrypoint", lambda s: s["job"].update(entrypoint="")),
    ("workloads", "are for jobs", lambda s: (s.pop("job"), s.update(cluster={}))),
]


@pytest.mark.parametrize("name,word,change", REFUSED, ids=lambda v: v if isinstance(v, str) else "")
def test_refused(api, name, word, change):
    one = of_kind(name, SPECS[name])
    change(one["spec"])
    with pytest.raises(Refused) as refused:
        api.call("POST", path(name, "?dryRun=All"), one)
    assert refused.value.status == 422 and word in str(refused.value)


def test_long_names_of_workloads(api):
    api.call("POST", path("workloads", "?dryRun=All"), of_kind("workloads", JOB, name="n" * 40))
    with pytest.raises(Refused, match="at most 40"):
        api.call("POST", path("workloads", "?dryRun=All"), of_kind("workloads", JOB, name="n" * 41))


CHANGES = [
    ("computeconfigs", "next version", lambda s: s.update(zones=[])),
    ("clouds", "register another", lambda s: s.update(provider="aws")),
    ("workloads", "another cloud", lambda s: s.update(cloud="other")),
    ("workloads", "another kind", lambda s: (s.pop("job"), s.pop("workingDir"), s.update(cluster={}))),
]


@pytest.mark.parametrize("name,word,change", CHANGES, ids=lambda v: v if isinstance(v, str) else "")
def test_what_cannot_change(api, name, word, change):
    stored = api.call("POST", path(name), of_kind(name, SPECS[name]))
    try:
        change(stored["spec"])
        with pytest.raises(Refused, match=word):
            api.call("PUT", path(name, "/one"), stored)
    finally:
        api.call("DELETE", path(name, "/one"))


def test_what_was_ended_stays_so(api):
    stored = api.call("POST", path("workloads"), of_kind("workloads", JOB | {"terminate": True}))
    try:
        stored["spec"]["terminate"] = False
        with pytest.raises(Refused, match="does not begin again"):
            api.call("PUT", path("workloads", "/one"), stored)
    finally:
        api.call("DELETE", path("workloads", "/one"))


def test_the_deployment_id_stays(api):
    api.call("POST", path("clouds"), of_kind("clouds", CLOUD))
    try:
        at = path("clouds", "/one/status")
        stored = api.get(at)
        stored["status"] = {"deploymentId": "cldrsrc_" + "a" * 24}
        stored = api.call("PUT", at, stored)
        for other in ({"deploymentId": "cldrsrc_" + "b" * 24}, {"health": "HEALTHY"}):
            with pytest.raises(Refused, match="never changes"):
                api.call("PUT", at, stored | {"status": other})
    finally:
        api.call("DELETE", path("clouds", "/one"))


def test_explain_is_readable():
    for name in NAMES:
        text = kubectl("explain", f"{name}.spec", "--api-version=mobula.dev/v1").stdout
        blocks = [b for b in text.split("FIELDS:")[1].split("\n\n") if b.strip()]
        assert len(blocks) > 5 and all(len(b.split("\n", 1)[1].strip()) > 20 for b in blocks), text
