#!/usr/bin/env python3
"""One operator's turn on a control plane that tests/rig/up.sh started, and the table of all turns. Called by peer.sh, which see.

    tests/bench/peer.py measure BINARY|kuberay|floor RAW [PHASE…]     adds one line of JSON for each phase to RAW
    tests/bench/peer.py table RAW 'BINARY…'                           of what RAW holds so far

Created: from the first RayCluster received to the last pod's POST answered, as the audit log has it. Ready: until the clusters' own
status says so, as a watch of them has it. Processor time until ready: of the operator, of the API server, and of all processes of the
control plane with the operator. The last one, divided by the number of cores, is a lower bound of the time; where other work runs on the
machine, it tells more than the times do.
Floor: a client that only POSTs the pods that mobula makes. No operator that makes the same pods can be ready much sooner.
"""

import json
import os
import statistics
import subprocess
import sys
import time

import plane
import quick
from plane import ROOT, RUN, Api, Audit, Ready, cpu, kubectl, load, memory, summary

BEGIN_S = 8  # past the fence of mobula, and the first steps of all who watch
SETTLE_S, LIMIT_S = 2, 600
HUNDREDS, FLOOR_IN_FLIGHT = 5, 64
CLUSTERS = int(os.environ.get("CLUSTERS", "1000"))
KUBERAY = ROOT / "tests" / "rig" / "kuberay.sh"
PHASES = {"hundred": (1, 99), "one": (1, 999), "fleet": (CLUSTERS, 3)}
# Phase, figure, its name, and the ratio to KubeRay that is wanted.
FIGURES = (
    ("one", "created_s", "1 × 1,000: all pods created, s", None),
    ("one", "ready_s", "1 × 1,000: ready, s", 0.75),
    ("one", "all_cpu_s", "1 × 1,000: CPU of all processes until ready, s", None),
    ("one", "server_cpu_s", "1 × 1,000: CPU of the API server until ready, s", None),
    ("one", "cpu_s", "1 × 1,000: CPU of the operator until ready, s", None),
    ("hundred", "created_s", "a cluster of 100: created, p50, s", None),
    ("hundred", "ready_s", "a cluster of 100: ready, p50, s", 0.75),
    ("hundred", "all_cpu_s", "a cluster of 100: CPU of all processes until ready, p50, s", None),
    ("fleet", "created_s", f"{CLUSTERS:,} × 4: all pods created, s", 0.35),
    ("fleet", "ready_s", f"{CLUSTERS:,} × 4: ready, s", 0.65),
    ("fleet", "all_cpu_s", f"{CLUSTERS:,} × 4: CPU of all processes until ready, s", None),
    ("fleet", "cpu_s", f"{CLUSTERS:,} × 4: CPU of the operator until ready, s", 1 / 15),
    ("fleet", "memory_mib", f"{CLUSTERS:,} × 4: memory of the operator, MiB", None),
)


class KubeRay:
    user = "system:serviceaccount:kuberay-system:kuberay-operator"

    def __init__(self):
        for words in (("install",), ("start",)):
            out = subprocess.run([KUBERAY, *words], check=True, capture_output=True, text=True).stdout
        self.pid = int(out)


class Floor:
    """No operator. One of mobula gives the pod and ends."""

    namespace, pid = "b-floor", 0

    def __init__(self, api):
        op = begin("mobula")
        time.sleep(BEGIN_S)
        grow(api, op, op.namespace, 1, 1)
        pod = api.call("GET", f"/api/v1/namespaces/{op.namespace}/pods?labelSelector=ray.io%2Fnode-type%3Dworker")["items"][0]
        clear(api, op.namespace)
        op.stop()
        labels, annotations = pod["metadata"]["labels"], pod["metadata"]["annotations"]
        self.pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "{{i}}", "labels": labels, "annotations": annotations},
                    "spec": {k: v for k, v in pod["spec"].items() if k != "nodeName"}}
        kubectl("create", "namespace", self.namespace)

    def grow(self, api, pods):
        path, before, begun = f"/api/v1/namespaces/{self.namespace}/pods", used(self), time.time()
        created = load(path, self.pod, pods, FLOOR_IN_FLIGHT)["seconds"]
        while api.call("GET", path + "?limit=1&fieldSelector=status.phase%21%3DRunning")["items"]:
            time.sleep(0.05)
        ready, spent = time.time() - begun, {name: t - before[name] for name, t in used(self).items()}
        api.call("DELETE", path)
        return {"created_s": created, "ready_s": ready, "pods": pods, "server_cpu_s": spent["kube-apiserver"],
                "all_cpu_s": sum(spent.values()), "cpu": spent}


def begin(who):
    """The operator's process, with the definitions that it brings."""
    if who == "kuberay":
        return KubeRay()
    quick.MOBULA = plane.MOBULA
    crds = subprocess.run([plane.MOBULA, *quick.INSTALL, "--crds-only"], capture_output=True, text=True, check=True).stdout
    kubectl("apply", "--server-side", "-f", "-", stdin=crds)
    kubectl("wait", "--for=condition=Established", "crd/rayclusters.ray.io", "--timeout=30s")
    return quick.Operator("b-peer")


def used(op):
    """Processor time so far, of each process."""
    pids = {p.name: int(p.read_text()) for p in (RUN / "pids").iterdir()}
    return {name: cpu(pid) for name, pid in {**pids, "operator": op.pid}.items() if pid}


def grow(api, op, namespace, clusters, workers):
    """From nothing to ready, in a namespace that the operator watches."""
    watch = Ready(namespace)
    audit, before = Audit(), used(op)
    load(f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters", quick.raycluster(workers), clusters, min(50, clusters))
    ready = watch.wait(clusters, LIMIT_S)
    spent = {name: t - before[name] for name, t in used(op).items()}
    time.sleep(SETTLE_S)
    a = summary(audit, op.user)
    return {"created_s": max(end for _, end in a["pods"]) - a["first"], "ready_s": ready - a["first"], "pods": len(a["pods"]),
            "cpu_s": spent["operator"], "server_cpu_s": spent["kube-apiserver"], "all_cpu_s": sum(spent.values()), "cpu": spent,
            "memory_mib": memory(op.pid)["VmRSS"], "refused": a["refused"]}


def measure(who, raw, phases):
    api = Api()
    op = Floor(api) if who == "floor" else begin(who)
    time.sleep(BEGIN_S)
    namespace = getattr(op, "namespace", "b-peer")
    if who == "kuberay":
        kubectl("create", "namespace", namespace)
    phases = [phase for phase in PHASES if phase in (phases or PHASES) and (who, phase) != ("floor", "fleet")]
    turns = [phase for phase in phases for _ in range(HUNDREDS if phase == "hundred" else 1)]
    for number, phase in enumerate(turns):
        if number:
            clear(api, namespace)
        figures = op.grow(api, 1 + PHASES[phase][1]) if who == "floor" else grow(api, op, namespace, *PHASES[phase])
        with open(raw, "a") as f:
            f.write(json.dumps({"who": who, "phase": phase, **figures}) + "\n")
        print(f"  {who}, {phase}: created {figures['created_s']:.2f} s, ready {figures['ready_s']:.2f} s, "
              f"CPU {figures['all_cpu_s']:.1f} s", file=sys.stderr)


def clear(api, namespace):
    """What was measured is gone before the next begins."""
    kubectl("delete", "rayclusters.ray.io", "--all", "-n", namespace, "--wait=false")
    for _ in range(LIMIT_S):
        if api.count(f"/api/v1/namespaces/{namespace}/pods") == 0 and api.count(f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters") == 0:
            time.sleep(SETTLE_S)
            return
        time.sleep(1)
    raise RuntimeError(f"pods are left in {namespace}")


def table(raw, binaries):
    lines = [json.loads(line) for line in open(raw)]
    names = [*(["floor"] if any(x["who"] == "floor" for x in lines) else []), *binaries.split(), "kuberay"]
    print("\n| median | " + " | ".join(map(os.path.basename, names)) + " | ratio | goal |\n|---|" + "---|" * (len(names) + 2))
    for phase, figure, words, goal in FIGURES:
        values = [[x[figure] for x in lines if x["who"] == name and x["phase"] == phase and figure in x] for name in names]
        if not (values[-1] and values[-2]):
            continue
        medians = [statistics.median(v) if v else None for v in values]
        cells = [f"{m:.2f} ({min(v):.2f} to {max(v):.2f})" if v else "" for m, v in zip(medians, values)]
        print(f"| {words} | " + " | ".join(cells) + f" | {medians[-2] / medians[-1]:.2f} | {f'≤ {goal:.2f}' if goal else ''} |")
    print(f"\nraw: {raw}")


def main():
    command, *rest = sys.argv[1:]
    if command == "table":
        table(*rest)
    else:
        if rest[0] not in ("kuberay", "floor"):
            plane.MOBULA = ROOT / rest[0]
        measure(rest[0], rest[1], rest[2:])


if __name__ == "__main__":
    main()
