"""KubeRay's own samples, and deterministic changes of them. Standard library only: kubectl reads YAML."""

import copy
import json
import subprocess

from cluster import kubectl

MODULE = "github.com/ray-project/kuberay/ray-operator"
VERSIONS = ("v1.6.2", "v1.7.0")  # the first that the module proxy has


def samples():
    """(name, object) of each RayCluster and RayJob in KubeRay's repository; none where no module can be had."""
    for version in VERSIONS:
        out = subprocess.run(["go", "mod", "download", "-json", f"{MODULE}@{version}"], capture_output=True, text=True, check=False)
        if out.returncode == 0:
            folder = json.loads(out.stdout)["Dir"] + "/config/samples"
            break
    else:
        return []
    # Kinds that the server does not know are told on stderr, and the others are printed.
    out = kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", folder, check=False).stdout
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(out):
        value, at = decoder.raw_decode(out, at)
        at += len(out[at:]) - len(out[at:].lstrip())
        for one in value["items"] if value["kind"] == "List" else [value]:
            if one["apiVersion"] == "ray.io/v1" and one["kind"] in ("RayCluster", "RayJob"):
                found.append((f"{one['kind']} {one['metadata'].get('name') or one['metadata'].get('generateName')}", one))
    return found


def places(value, path=()):
    """The path of every member and item below a value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in pairs:
        yield (*path, key)
        yield from places(one, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def misspelt(random, key):
    i = random.randrange(len(key))
    return random.choice([key[:i] + key[i + 1:], key[:i] + key[i].swapcase() + key[i + 1:], key[:i] + key[i] + key[i:], key + "s"])


def other_type(random, value):
    if isinstance(value, bool):
        return random.choice([str(value).lower(), int(value), [value]])
    if isinstance(value, int):
        return random.choice([str(value), value + 0.5, {"value": value}])
    if isinstance(value, str):
        return random.choice([7, True, [value], {"value": value}])
    return random.choice([json.dumps(value), [value] if isinstance(value, dict) else {"item": value}, True])


def out_of_range(random, value):
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return type(value)()
    if isinstance(value, int):
        return random.choice([-1, 0, 70000, 2**31, 2**53])
    return random.choice(["", "Upper_Case", "a b", "x" * 64, "x" * 300, "-1", "../" + value])


def change(random, sample):
    """A copy with one change, and what was changed; None where the change changes nothing."""
    changed = copy.deepcopy(sample)
    paths = [p for p in places(changed) if p[0] in ("metadata", "spec")]
    path = random.choice(paths)
    kind = random.choice(["misspelt", "type", "range", "moved"])
    parent, key = at(changed, path[:-1]), path[-1]
    if kind in ("type", "range"):
        parent[key] = (other_type if kind == "type" else out_of_range)(random, parent[key])
        told = json.dumps(parent[key])[:40]
    elif isinstance(key, int):
        return None
    elif kind == "misspelt":
        told = misspelt(random, key)
        parent[told] = parent.pop(key)
    else:
        value = parent.pop(key)
        others = [p for p in paths if isinstance(at(sample, p), dict) and p[:len(path)] != path and p != path[:-1] and
                  key not in at(sample, p)]
        to = random.choice(others)
        told = "to " + ".".join(map(str, to))
        at(changed, to)[key] = value
    return None if changed == sample else (f"{'.'.join(map(str, path))} {kind}: {told}", changed)
