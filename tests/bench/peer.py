#!/usr/bin/env python3
"""One operator's turn on a control plane that tests/rig/up.sh started, and the table of all turns. Called by peer.sh, which see.

    tests/bench/peer.py measure BINARY|kuberay RAW [PHASE…]     adds one line of JSON for each phase to RAW
    tests/bench/peer.py table RAW 'BINARY…'

Created: from the first RayCluster received to the last pod's POST answered, as the audit log has it. Ready: until the clusters' own status
says so, as a user's table shows it. Processor time: of the operator, and of the API server, until ready.
"""

import json
import os
import statistics
import subprocess
import sys
import time

import plane
import quick
from plane import ROOT, RUN, Api, Audit, cpu, kubectl, load, memory, summary

SETTLE_S, LIMIT_S, HUNDREDS = 8, 600, 5
KUBERAY = ROOT / "tests" / "rig" / "kuberay.sh"
PHASES = {"one": (1, 999), "hundred": (1, 99), "fleet": (1000, 3)}
# Phase, figure, its name, and the ratio to KubeRay that is wanted.
FIGURES = (
    ("one", "created_s", "1 × 1,000: all pods created", None),
    ("one", "ready_s", "1 × 1,000: ready", 0.75),
    ("one", "server_cpu_s", "1 × 1,000: CPU of the API server until ready", None),
    ("hundred", "created_s", "a cluster of 100: created, p50", None),
    ("hundred", "ready_s", "a cluster of 100: ready, p50", 0.75),
    ("fleet", "created_s", "1,000 × 4: all pods created", 0.35),
    ("fleet", "ready_s", "1,000 × 4: ready", 0.65),
    ("fleet", "cpu_s", "1,000 × 4: CPU of the operator until ready", 1 / 15),
    ("fleet", "memory_mib", "1,000 × 4: memory of the operator", None),
)


class KubeRay:
    user = "system:serviceaccount:kuberay-system:kuberay-operator"

    def __init__(self):
        for words in (("install",), ("start",)):
            out = subprocess.run([KUBERAY, *words], check=True, capture_output=True, text=True).stdout
        self.pid = int(out)


def begin(who):
    """The operator's process, with the definitions that it brings."""
    if who == "kuberay":
        return KubeRay()
    quick.MOBULA = plane.MOBULA
    crds = subprocess.run([plane.MOBULA, *quick.INSTALL, "--crds-only"], capture_output=True, text=True, check=True).stdout
    kubectl("apply", "--server-side", "-f", "-", stdin=crds)
    kubectl("wait", "--for=condition=Established", "crd/rayclusters.ray.io", "--timeout=30s")
    return quick.Operator("b-peer")


def grow(api, op, namespace, clusters, workers):
    """From nothing to ready, in a namespace that the operator watches."""
    server = int((RUN / "pids" / "kube-apiserver").read_text())
    audit, before, server_before, begun = Audit(), cpu(op.pid), cpu(server), time.time()
    load(f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters", quick.raycluster(workers), clusters, min(50, clusters))
    while api.ready(namespace) != clusters:
        if time.time() - begun > LIMIT_S:
            raise RuntimeError(f"not {clusters} ready within {LIMIT_S} s")
        time.sleep(0.05 if clusters == 1 else 0.5)
    ready, used, server_used = time.time(), cpu(op.pid) - before, cpu(server) - server_before
    time.sleep(SETTLE_S)
    a = summary(audit, op.user)
    return {"created_s": max(end for _, end in a["pods"]) - a["first"], "ready_s": ready - a["first"], "pods": len(a["pods"]),
            "cpu_s": used, "server_cpu_s": server_used, "memory_mib": memory(op.pid)["VmRSS"], "refused": a["refused"]}


def measure(who, raw, phases):
    api, op = Api(), begin(who)
    time.sleep(SETTLE_S)
    namespace = getattr(op, "namespace", "b-peer")
    if who == "kuberay":
        kubectl("create", "namespace", namespace)
    for phase in phases or PHASES:
        turns = HUNDREDS if phase == "hundred" else 1
        for turn in range(turns):
            figures = grow(api, op, namespace, *PHASES[phase])
            with open(raw, "a") as f:
                f.write(json.dumps({"who": who, "phase": phase, **figures}) + "\n")
            print(f"  {who}, {phase}: created {figures['created_s']:.2f} s, ready {figures['ready_s']:.2f} s", file=sys.stderr)
            clear(api, namespace)


def clear(api, namespace):
    """What was measured is gone before the next begins."""
    kubectl("delete", "rayclusters.ray.io", "--all", "-n", namespace, "--wait=false")
    for _ in range(LIMIT_S):
        if api.count(f"/api/v1/namespaces/{namespace}/pods") == 0 and api.count(f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters") == 0:
            return
        time.sleep(1)
    raise RuntimeError(f"pods are left in {namespace}")


def table(raw, binaries):
    lines = [json.loads(line) for line in open(raw)]
    names = [*binaries.split(), "kuberay"]
    print("\n| median | " + " | ".join(map(os.path.basename, names)) + " | ratio | goal |\n|---|" + "---|" * (len(names) + 2))
    for phase, figure, words, goal in FIGURES:
        values = [[x[figure] for x in lines if x["who"] == name and x["phase"] == phase] for name in names]
        if not all(values):
            continue
        medians = [statistics.median(v) for v in values]
        cells = [f"{m:.2f} ({min(v):.2f} to {max(v):.2f})" for m, v in zip(medians, values)]
        print(f"| {words} | " + " | ".join(cells) + f" | {medians[-2] / medians[-1]:.2f} | {f'≤ {goal:.2f}' if goal else ''} |")
    print(f"\nraw: {raw}")


def main():
    command, *rest = sys.argv[1:]
    if command == "table":
        table(*rest)
    else:
        if rest[0] != "kuberay":
            plane.MOBULA = ROOT / rest[0]
        measure(rest[0], rest[1], rest[2:])


if __name__ == "__main__":
    main()
