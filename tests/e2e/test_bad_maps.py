"""Texts of the two ConfigMaps that nobody should write, on the real API server: each has its message with the line and the limit, none
disturbs what runs, and what was read last stays in force."""


import pytest

from cluster import RUN, eventually, mobula, raycluster
from test_patches import POOL, notes, pools, put_patches, scale
from test_shapes import DOCUMENT, SHAPES, allow_maps, put, requests, typed


def resources(text):
    return f"a:\n  resources: {{{text}}}\n"


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdef", "bcdefg"))
LARGE = 1000 * 1000  # what the API server takes of a ConfigMap is a little more

TYPES = {
    "2,001 types": ("".join(f"t{i}:\n  resources: {{CPU: 1, memory: 1Gi}}\n" for i in range(2001)), "line 1: ", "LIMIT_SHAPE_TYPES"),
    "a megabyte": ("".join(f"t{i}: {{resources: {{CPU: 1, memory: 1Gi}}}}\n" for i in range(LARGE // 50)), "line 1: ", "at most 2000"),
    "a megabyte of one name": ("x" * LARGE + ":\n", "line 1", ""),
    "anchors": ("a: &a {resources: &b {CPU: 1, memory: 1Gi, x: *b}}\n", "line 1: ", ""),
    "a bomb": (BOMB, "line ", "LIMIT_"),
    "a name twice": (resources("CPU: 1, memory: 1Gi") * 2, "line 3: ", "twice"),
    "negative": (resources("CPU: -1, memory: 1Gi"), "line 2: a.resources.CPU: ", "is negative"),
    "huge": (resources("CPU: 1, memory: 9e30"), "line 2: a.resources.memory: ", "too large"),
    "1e3": (resources("CPU: 1e3, memory: 1e3"), "line 2: a.resources.memory: is 1000 bytes: ", "8Gi"),
    "0.5Gi": (resources("CPU: 1, memory: 0.5Gi, GPU: 0.5"), "line 2: a.resources.GPU: is 0.5: ", "whole"),
    "NaN": (resources("CPU: NaN, memory: 1Gi"), "line 2: a.resources.CPU: is no amount", ""),
    ".nan": (resources("CPU: .nan, memory: 1Gi"), "line 2: ", ""),
    "an unknown key": (resources("CPU: 1, memory: 1Gi") + "  sise: 1\n", "line 3: a.sise: ", "is no field"),
}
PATCHES = {
    "10,000 operations": ("- patch:\n" + "  - {op: test, path: /a, value: 1}\n" * 10000, "line 1: [0].patch: ", "LIMIT_PATCHES_OPS"),
    "a megabyte": ("- kind: Pod\n  patch: [{op: add, path: /a, vlaue: %s}]\n" % ("x" * LARGE), "line 2: [0].patch[0].vlaue: ", ""),
    "a bomb": ("- patch: []\n" + BOMB.replace("a: &a", "- &a", 1), "line ", ""),
    "a key twice": ("- kind: Pod\n  kind: Service\n  patch: []\n", "line 2: ", "twice"),
    "an unknown key": ("- kind: Pod\n  selektor: a\n  patch: []\n", "line 2: [0].selektor: ", "is not known here"),
    "~2": ("- patch:\n  - {op: add, path: /a~2b, value: x}\n", "line 2: [0].patch[0]: ", "~0"),
    ".nan": ("- patch:\n  - {op: add, path: /spec/priority, value: .nan}\n", "line 2: ", ""),
}
# What is seen when a pod is made: of which patch, with its line.
OPERATIONS = {
    "- on an object": ("{op: add, path: /metadata/annotations/-, value: x}", "here is an object: write the key"),
    "an index out of range": ("{op: add, path: /spec/containers/7, value: {}}", "index 7 of an array of 1"),
    "~0 and ~1": ("{op: remove, path: /metadata/annotations/a~1b~0c}", 'nothing is at "/metadata/annotations/a~1b~0c"'),
    "copies that double": (", ".join(f"{{op: add, path: /a{i}, value: {{}}}}, {{op: copy, from: '', path: /a{i}/x}}" for i in range(40)),
                           "LIMIT_JSON_"),
}


def broken(space, configmap, seen):
    """What is told of this ConfigMap, but what was told before."""
    return [note for name, note in notes(space, "BrokenSetting") if name == configmap and note not in seen]


def try_all(space, operator, configmap, texts, write):
    seen = []
    for name, (text, place, word) in texts.items():
        write(space, text)
        (told,) = eventually(lambda seen=seen: broken(space, configmap, seen))
        assert f".yaml: {place}" in told and word in told and told.endswith("what was read last stays in force"), (name, told)
        assert operator.metrics()["mobula_settings_broken"] == 1
        seen.append(told)


@pytest.fixture
def both(space, operators):
    allow_maps(space)
    return operators(SHAPES, "--patches-configmap=patches")


def test_bad_types(space, both):
    put(space, DOCUMENT)
    space.apply(typed("c", worker="2CPU-8GB"))
    space.ready("c", 2)
    try_all(space, both, "instance-types", TYPES, put)
    space.change("c", {"workerGroupSpecs": typed("c", worker="2CPU-8GB", workers=2)["spec"]["workerGroupSpecs"]})
    space.ready("c", 3)
    assert [r["cpu"] for r in requests(space, "c").values()] == ["2", "2"]


def test_bad_patches(space, both):
    put_patches(space, POOL % ("a", "a"))
    space.apply(raycluster("c", 1))
    space.ready("c", 2)
    try_all(space, both, "patches", PATCHES, put_patches)
    scale(space, 2)
    space.ready("c", 3)
    assert pools(space) == ["a", "a"]


def test_operations_that_fail_on_a_pod(space, both):
    """These are good texts: only what they are applied to shows it."""
    put_patches(space, "[]")
    space.apply(raycluster("c", 0))
    space.ready("c", 1)
    for name, (operations, word) in OPERATIONS.items():
        put_patches(space, f"- kind: Pod\n  selector: ray.io/node-type=worker\n  patch: [{operations}]\n")
        scale(space, 1)
        (note,) = eventually(lambda word=word: [n for _, n in notes(space, "FailedToCreateWorkerPod") if word in n])
        assert "patch 1 (line 1), operation " in note, (name, note)
        assert len(space.pods("c")) == 1
        scale(space, 0)
    put_patches(space, "[]")
    scale(space, 1)
    space.ready("c", 2)


def test_the_commands_of_types_and_compute_configs(space, both, nodes, tmp_path):
    admin = f"--kubeconfig={RUN / 'admin.kubeconfig'}"
    put(space, DOCUMENT)
    listed = mobula("instance-types", "list", "--namespace", space.name, admin)
    assert listed.returncode == 0 and [line.split()[:3] for line in listed.stdout.splitlines()[1:]] == [
        ["2CPU-8GB", "2", "8Gi"], ["8CPU-32GB-1xT4", "8", "32Gi"]], listed
    nodes(f"{space.name}-a", {"nvidia.com/gpu.product": "Tesla-T4"})  # of 256 CPUs, 1 TiB and 8 GPUs
    suggested = mobula("instance-types", "suggest", "--reserve=cpu=500m,memory=1Gi", admin)
    fits = "255CPU-1023GB-8xGPU:\n  resources:\n    CPU: 255\n    memory: 1023Gi\n    GPU: 8\n"
    assert suggested.returncode == 0 and fits in suggested.stdout and "like Tesla-T4" in suggested.stdout, suggested
    reads = both.log().count("instance types read")
    put(space, suggested.stdout)  # the operator takes it
    eventually(lambda: both.log().count("instance types read") > reads)
    put(space, DOCUMENT)
    config = tmp_path / "config.yaml"
    config.write_text("head_node: {instance_type: 2CPU-8GB}\n"
                      "worker_nodes:\n- {instance_type: 8CPU-32GB-1xT4, min_nodes: 1, max_nodes: 1}\n")
    checked = mobula("compute-config", "check", "-f", config, "--namespace", space.name, admin)
    assert checked.returncode == 0 and not checked.stderr, checked
    config.write_text(config.read_text().replace("8CPU-32GB-1xT4", "8CPU"))
    checked = mobula("compute-config", "check", "-f", config, "--namespace", space.name, admin)
    assert checked.returncode == 1 and "config.yaml:3: worker_nodes[0].instance_type: is 8CPU, which is not" in checked.stderr, checked
    config.write_text(config.read_text().replace("8CPU", "8CPU-32GB-1xT4"))
    rendered = mobula("compute-config", "render", "-f", config, "--name=made", "--image=ray:2.60.0")
    assert rendered.returncode == 0, rendered
    space.kubectl("apply", "-f", "-", stdin=rendered.stdout)
    eventually(lambda: [r["cpu"] for r in requests(space, "made").values()] == ["8"])
