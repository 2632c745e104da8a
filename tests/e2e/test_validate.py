"""`mobula validate` and the API server say the same: what one passes the other takes, and what one refuses the other refuses."""

import collections
import copy
import json
import os
import random
import re

import pytest

from cluster import ROOT, V1, Refused, mobula
from manifests import change, samples

MUTATIONS, SEED = int(os.environ.get("MUTATIONS", "200")), int(os.environ.get("SEED", "1"))

# ---- the table of fields in pod templates ----

# In newer releases of Kubernetes than the one here.
NEWER = {("Pod", "schedulingGroup")}
# What stands for a type that is looked at only as a whole, and kinds that are two here and one in the table.
SCALARS = {"bool": "boolean", "int": "integer", "long": "integer", "port": "integer or string", "amount": "Quantity"}


def table():
    """{type: {field: (type, must be there)}}"""
    types = {}
    for line in (ROOT / "src/schema/pod_fields.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        name, *fields = line.split(" ")
        types[name.rstrip("|")] = {}
        for field in fields:
            key, _, kind = field.lstrip("|").partition("=")
            types[name.rstrip("|")][key.rstrip("!")] = (kind or "text", key.endswith("!"))
    return types


def ref(schema):
    return (schema.get("$ref") or next((a["$ref"] for a in schema.get("allOf", []) if "$ref" in a), "")).rpartition("/")[2]


def compare(types, definitions, ours, schema, at, found, seen):
    """Walks both from one type on, and notes where they differ."""
    name = ref(schema).rpartition(".")[2]
    kind = ours.split(":")[0]
    if ours == "any" or ours == "never":
        return
    if name in ("Quantity", "IntOrString", "Time"):
        right = {"Quantity": "amount", "IntOrString": "port", "Time": "text"}[name]
        if kind != right:
            found.append(f"{at}: {ours} in the table, {name} in the server")
    elif name:
        if ours not in types:
            found.append(f"{at}: {ours} in the table, {name} in the server")
        elif (ours, name) not in seen:
            seen.add((ours, name))
            compare_type(types, definitions, ours, definitions[ref(schema)], at, found, seen)
    elif schema.get("type") == "array" and ours[0] == "[":
        inner = ours[1:-1] if ours[1] == "(" else ours[1:-1].split("/")[0]
        compare(types, definitions, inner, schema["items"], f"{at}[]", found, seen)
    elif schema.get("type") == "object" and ours[0] == "{":
        values = schema["additionalProperties"]
        inner = {"label": "text", "note": "text", "resource": "amount"}.get(ours[1:-1], ours[1:-1])
        compare(types, definitions, inner, values, f"{at}{{}}", found, seen)
    else:
        right = SCALARS.get(kind, "string" if ours[0] == "(" or ours[0].islower() else "?")
        if schema.get("type") != right or (kind == "long") != (schema.get("format") == "int64"):
            found.append(f"{at}: {ours} in the table, {schema.get('type')} {schema.get('format', '')} in the server")


def compare_type(types, definitions, ours, definition, at, found, seen):
    fields, theirs = types[ours], definition.get("properties", {})
    for key in sorted(fields.keys() | theirs.keys()):
        if key not in fields:
            found.append(f"{at}.{key}: not in the table")
        elif key not in theirs:
            if (ours, key) not in NEWER and ours not in MERGED:
                found.append(f"{at}.{key}: not in the server")
        else:
            compare(types, definitions, fields[key][0], theirs[key], f"{at}.{key}", found, seen)


# Types of the table that stand for several, whose fields are those of all of them.
MERGED = {"ClaimSource"}
# The head service's status is nobody's to write.
ROOTS = {"Template": "PodTemplateSpec", "Service": "Service"}


def test_the_table_of_fields_is_the_servers(api):
    definitions = api.get("/openapi/v2")["definitions"]
    found, seen = [], set()
    for ours, theirs in ROOTS.items():
        compare_type(table(), definitions, ours, definitions[f"io.k8s.api.core.v1.{theirs}"], ours, found, seen)
    assert not found, "\n".join(found)
    assert {ours for ours, _ in seen} | ROOTS.keys() | {"Config", "StartParams"} == table().keys()


# ---- samples and changes of them ----

# Where the two differ, and why. Each is a pattern of "what was changed | who refuses | what it says".
EXPLAINED = [
    (r"\| validate \|.*\b(template|submitterPodTemplate|headService)(\[\"[^ ]+|\.(?!spec\.|metadata\.|spec\[)[^ :]+): is no field here",
     "of a template the operator hands on metadata and spec: the server never sees what else is in it"),
    (r"^RayJob .*\| validate \| stdin:1: (metadata\.name|spec\.(?!rayClusterSpec|submitterPodTemplate))",
     "the operator refuses it in the condition Valid, which explain does not show for RayJobs"),
    (r"\| server \|.*(aggregate container requests|less than or equal to pod limits)",
     "sums over the containers of a pod that has resources of its own, which are new in Kubernetes, are not made"),
]
# What only this cluster does not have: no verdict on the manifest.
OF_THE_CLUSTER = re.compile(r"serviceaccount .* not found|no PriorityClass with name|RuntimeClass .* not found|pod rejected: RuntimeClass|"
                            r"namespaces? .* not found|does not match the namespace")


def dry_run(api, path, obj):
    """The server's refusal, or None."""
    try:
        api.call("POST", f"{path}?dryRun=All&fieldValidation=Strict", obj)
    except Refused as e:
        return None if e.status == 409 else f"{e.status} {e.body.get('message', '')}"
    return None


def cluster_of(obj):
    """The RayCluster that a RayJob would make."""
    if obj["kind"] == "RayCluster":
        return obj
    spec = obj.get("spec")
    if not isinstance(spec, dict) or not isinstance(spec.get("rayClusterSpec"), dict):
        return None
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "of-a-job"}, "spec": spec["rayClusterSpec"]}


def groups_with_pods(cluster):
    """Groups that begin without a pod have one: its template is to be judged, too."""
    cluster = copy.deepcopy(cluster)
    groups = cluster["spec"].get("workerGroupSpecs") if isinstance(cluster.get("spec"), dict) else None
    for group in groups if isinstance(groups, list) else []:
        if isinstance(group, dict) and group.get("replicas", 0) == 0 and group.get("maxReplicas", 1) != 0:
            group["replicas"] = 1
    return cluster


def made(space, obj):
    """What the operator would make of it, one pod for each group, or its refusal. With the autoscaler beside the head, whose options are
    to be judged, too."""
    out = mobula("explain", "--autoscaler", "sidecar", "--output", "json", "-f", "-", stdin=json.dumps(groups_with_pods(obj)))
    if out.returncode:
        return [], f"operator: {out.stderr}"
    found = {}
    for one in json.loads(out.stdout)["items"]:
        if one["kind"] in ("Pod", "Service"):
            one["metadata"]["namespace"] = space.name
            one["metadata"].pop("ownerReferences", None)
            if one["spec"].get("serviceAccountName") == obj["metadata"].get("name"):
                one["spec"].pop("serviceAccountName")  # which the operator makes before
            found.setdefault((one["kind"], one["metadata"].get("labels", {}).get("ray.io/group", one["metadata"]["name"])), one)
    return found.values(), None


def submitter_of(space, obj):
    """The submitter pod of a RayJob's template, as far as the template goes."""
    spec = obj.get("spec")
    template = spec.get("submitterPodTemplate") if isinstance(spec, dict) and obj["kind"] == "RayJob" else None
    if not isinstance(template, dict):
        return []
    meta = template.get("metadata") or {}
    meta = {**meta, "name": "submitter", "namespace": space.name}
    return [{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template.get("spec")}]


def server_says(space, obj):
    said = dry_run(space.api, space.path(f"{obj['kind'].lower()}s", group=V1), obj)
    cluster = cluster_of(obj)
    if said or cluster is None:
        return said
    objects, refused = made(space, cluster)
    for one in [*objects, *submitter_of(space, obj)]:
        refused = refused or dry_run(space.api, space.path(f"{one['kind'].lower()}s"), one)
    return refused


def validate_says(obj):
    out = mobula("validate", "-f", "-", stdin=json.dumps(obj))
    assert out.returncode in (0, 1), out.stderr
    return " ".join(line for line in out.stdout.splitlines() if ": warning: " not in line) if out.returncode else None


def difference(space, what, obj, verdicts):
    """A line where the two differ, or None."""
    obj["metadata"] = {**obj["metadata"], "namespace": space.name} if isinstance(obj.get("metadata"), dict) else obj.get("metadata")
    ours, theirs = validate_says(obj), server_says(space, obj)
    if OF_THE_CLUSTER.search(theirs or ""):
        return None
    if (ours is None) == (theirs is None):
        verdicts["refused" if ours else "passed"] += 1
        return None
    line = f"{what} | {'validate' if ours else 'server'} | {ours or theirs}"
    return None if any(re.search(pattern, line) for pattern, _ in EXPLAINED) else line[:600]


@pytest.fixture
def given(space):
    found = samples()
    if not found:
        pytest.skip("no module of KubeRay can be had here")
    for account in set(re.findall(r'"serviceAccountName": "([^"]*)"', json.dumps(found))):
        space.api.call("POST", space.path("serviceaccounts"), {"metadata": {"name": account}})
    return found


def test_kuberays_samples(space, given):
    verdicts = collections.Counter()
    assert len(given) > 40
    differences = [difference(space, name, obj, verdicts) for name, obj in given]
    assert not any(differences), "\n".join(d for d in differences if d)
    assert verdicts["passed"] > 40, verdicts


def test_changes_of_kuberays_samples(space, given):
    good = [(name, obj) for name, obj in given if validate_says(obj) is None]
    chance, differences, verdicts = random.Random(SEED), [], collections.Counter()
    while len(differences) < MUTATIONS:
        name, sample = chance.choice(good)
        changed = change(chance, sample)
        if changed:
            differences.append(difference(space, f"{name}: {changed[0]}", changed[1], verdicts))
    assert not any(differences), "\n".join(d for d in differences if d)
    assert verdicts["passed"] > MUTATIONS / 20 and verdicts["refused"] > MUTATIONS / 2, verdicts
