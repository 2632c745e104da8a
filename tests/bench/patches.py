#!/usr/bin/env python3
"""What instance types and patches cost the operator: 5,000 pods created with 30 types and 40 patches, beside the same pods without.

    tests/bench/patches.py OPERATOR APISERVER COMPILE

The operator and the model API server as processes, in turns; of each kind the run that took least. COMPILE is tests/bench/patches.c.
"""

import subprocess
import sys
import time
from pathlib import Path

import heads

CLUSTERS, WORKERS, TURNS = 250, 19, 3
TYPES, PATCHES, GOAL = 30, 40, 1.25
MAPS = f"/api/v1/namespaces/{heads.NAMESPACE}/configmaps"
MARKETS = ("ON_DEMAND", "SPOT")


def types():
    return "".join(f"t{i}:\n  resources: {{CPU: {2 + i}, memory: {8 + i}Gi}}\n  nodeSelector: {{pool: p{i}}}\n" for i in range(TYPES))


def patches():
    """A provider's defaults, and behind them some for each type, as Anyscale's chart writes them."""
    text = Path("airgap/patches/aws.yaml").read_text()
    for i in range(PATCHES - text.count("\n- kind:")):
        text += f'- kind: Pod\n  selector: "anyscale.com/instance-type in (t{i})"\n  patch:\n' \
                f"  - {{op: add, path: /spec/nodeSelector/example.com~1shape, value: t{i}}}\n" \
                f"  - {{op: add, path: /spec/tolerations/-, value: {{key: example.com/shape, operator: Exists}}}}\n"
    assert text.count("\n- kind:") == PATCHES
    return text


def raycluster(i, shaped):
    """The same requests, written by the user or taken from a type."""
    def template(name, k):
        container = {"name": name, "image": "ray:2"}
        if not shaped:
            amounts = {"cpu": str(2 + k), "memory": f"{8 + k}Gi"}
            return {"spec": {"containers": [{**container, "resources": {"limits": amounts, "requests": amounts}}],
                             "nodeSelector": {"pool": f"p{k}"}}}
        notes = {"anyscale.com/instance-type": f"t{k}", "anyscale.com/market-type": MARKETS[k % len(MARKETS)]}
        return {"metadata": {"annotations": notes}, "spec": {"containers": [container]}}

    group = {"groupName": "workers", "replicas": WORKERS, "minReplicas": 0, "maxReplicas": 100, "rayStartParams": {}}
    group["template"] = template("w", i % TYPES)
    head = {"rayStartParams": {}, "template": template("h", (i + 1) % TYPES)}
    spec = {"rayVersion": "2.52.0", "headGroupSpec": head, "workerGroupSpecs": [group]}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": f"c-{i}"}, "spec": spec}


def turn(program, server, shaped):
    """Seconds of the processor until all pods are there."""
    flags = ["--instance-types-configmap=instance-types", "--patches-configmap=patches"] if shaped else []
    model = heads.Model(server)
    processes = [model]
    try:
        heads.apply_crds(program, model)
        for name, text in (("instance-types", types()), ("patches", patches())) if shaped else ():
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {f"{name.replace('-', '_')}.yaml": text}}
            model.ask("POST", MAPS, body)
        op = heads.operator(program, model, "operator-shaped" if shaped else "operator-plain", "--autoscaler", "off", *flags)
        processes.append(op)
        time.sleep(2)  # past its first second, in which it makes no workers
        used = op.cpu()
        for i in range(CLUSTERS):
            model.ask("POST", heads.CLUSTERS_PATH, raycluster(i, shaped))
        heads.wait("pods", model.count, CLUSTERS * (1 + WORKERS))
        seconds = op.cpu() - used
        pods = model.pods()
        assert all(("example.com/shape" in p["spec"]["nodeSelector"] or not shaped) for p in pods
                   if p["metadata"]["labels"]["ray.io/node-type"] == "worker"
                   and int(p["spec"]["nodeSelector"]["pool"][1:]) < 20), "the patches do not show"
        return seconds
    finally:
        for p in reversed(processes):
            p.process.kill()
            p.process.wait()


def main():
    program, server, compiler = sys.argv[1:4]
    heads.WORK.mkdir(parents=True, exist_ok=True)
    plain = shaped = float("inf")
    for _ in range(TURNS):
        plain = min(plain, turn(program, server, False))
        shaped = min(shaped, turn(program, server, True))
        print(f"  plain {plain:.2f} s, with types and patches {shaped:.2f} s", file=sys.stderr)
    ratio, pods = shaped / plain, CLUSTERS * (1 + WORKERS)
    print(f"{pods:,} pods with {PATCHES} patches and {TYPES} types: the operator's CPU {shaped:.2f} s, without {plain:.2f} s: "
          f"{ratio:.2f} ×, goal ≤ {GOAL}", flush=True)
    compiled = subprocess.run([compiler]).returncode == 0
    met = (ratio <= GOAL) + compiled
    print(f"{met} passed, {2 - met} failed")
    return met < 2


if __name__ == "__main__":
    sys.exit(main())
