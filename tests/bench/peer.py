#!/usr/bin/env python3
"""One operator's turn on a control plane that tests/rig/up.sh started, and the table of all turns. Called by peer.sh, which see.

    tests/bench/peer.py measure BINARY|kuberay|limit RAW [PHASE…]     adds one line of JSON for each phase to RAW
    tests/bench/peer.py table RAW 'BINARY…'                           of what RAW holds so far

Created: from the first RayCluster received to the last pod's POST answered, as the audit log has it. Ready: until the clusters' own
status says so, as a watch of them has it. Processor time until ready: of each process of the control plane, and of the operator. Their sum,
divided by the number of cores, is a lower bound of the time; where other work runs on the machine, it tells more than the times do.
Limit: no operator. A client POSTs the RayClusters, and the services and pods that mobula makes of them; ready is when all pods run. No
operator that makes the same can be ready much sooner, so a ratio to it says what the operator itself costs. It POSTs all services, then all
heads, then all workers; with LIMIT_ORDER=clusters these side by side, which is nearer to what operators do and costs the controller manager
more: for each head that becomes ready it looks for the service's pods among all pods that there are.
"""

import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import time

import plane
import quick
from plane import ROOT, RUN, Api, Audit, Ready, by_user, cpu, kubectl, load, memory, summary

BEGIN_S = 8  # past the fence of mobula, and the first steps of all who watch
SETTLE_S, LIMIT_S = 2, 600
HUNDREDS, LIMIT_IN_FLIGHT = 5, 8
ORDER = os.environ.get("LIMIT_ORDER", "kinds")
CLUSTERS = int(os.environ.get("CLUSTERS", "1000"))
KUBERAY = ROOT / "tests" / "rig" / "kuberay.sh"
PHASES = {"hundred": (1, 99), "one": (1, 999), "fleet": (CLUSTERS, 3), "many": (2500, 3), "large": (1, 4999)}
USUAL = ("hundred", "one", "fleet")
NAMES = {"hundred": "a cluster of 100", "one": "1 × 1,000", "fleet": f"{CLUSTERS:,} × 4", "many": "2,500 × 4", "large": "1 × 5,000"}
# Figure, its name, the ratio to KubeRay that is wanted of some phases, and that to the limit.
FIGURES = (
    ("created_s", "all pods created, s", {}, {}),
    ("ready_s", "ready, s", {"hundred": 0.75, "one": 0.65, "fleet": 0.65, "many": 0.65}, {"fleet": 1.10}),
    ("cpu.operator", "CPU of the operator, s", {"fleet": 1 / 12}, {}),
    ("cpu.kube-apiserver", "CPU of the API server, s", {"fleet": 0.85}, {}),
    ("cpu.kube-controller-manager", "CPU of the controller manager, s", {"fleet": 0.60}, {}),
    ("cpu.etcd", "CPU of etcd, s", {}, {}),
    ("cpu.kube-scheduler", "CPU of the scheduler, s", {}, {}),
    ("cpu.kwok", "CPU of kwok, s", {}, {}),
    ("all_cpu_s", "CPU of all processes, s", {}, {}),
    ("writes_each", "the operator's writes for each pod", {}, {}),
    ("statuses_each", "its statuses for each cluster", {}, {}),
    ("others_429", "429 to others", {}, {}),
    ("others_watches", "watches that others began", {}, {}),
    ("memory_mib", "memory of the operator, MiB", {}, {}),
)


class KubeRay:
    user = "system:serviceaccount:kuberay-system:kuberay-operator"

    def __init__(self):
        for words in (("install",), ("start",)):
            out = subprocess.run([KUBERAY, *words], check=True, capture_output=True, text=True).stdout
        self.pid = int(out)


class Limit:
    """No operator. One of mobula makes a cluster of one worker, which is the pattern, and ends."""

    namespace, pid, user = "b-limit", 0, "admin"

    def __init__(self, api):
        op = begin("mobula")
        time.sleep(BEGIN_S)
        grow(api, op, op.namespace, 1, 1)
        core = f"/api/v1/namespaces/{op.namespace}"
        pods = api.call("GET", f"{core}/pods")["items"]
        head, worker = (next(p for p in pods if p["metadata"]["labels"]["ray.io/node-type"] == t) for t in ("head", "worker"))
        services = api.call("GET", f"{core}/services")["items"]
        self.parts = [("services", self.bare(s, s["metadata"]["name"])) for s in services]
        self.parts.append(("pods", self.bare(head, "c-0-head")))
        self.worker = self.bare(worker, "c-0-worker")
        clear(api, op.namespace)
        op.stop()
        kubectl("create", "namespace", self.namespace)

    @staticmethod
    def bare(o, name):
        """As it was sent: without what the server, the scheduler and the kubelet have added."""
        added = ("nodeName", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
        metadata = {"name": name, **{k: o["metadata"].get(k, {}) for k in ("labels", "annotations")}}
        return {"apiVersion": "v1", "kind": "Service" if "ports" in o["spec"] else "Pod", "metadata": metadata,
                "spec": {k: v for k, v in o["spec"].items() if k not in added}}

    def grow(self, api, clusters, workers):
        core, audit, before, begun = f"/api/v1/namespaces/{self.namespace}", Audit(), used(self), time.time()
        load(f"/apis/ray.io/v1/namespaces/{self.namespace}/rayclusters", quick.raycluster(workers), clusters, min(50, clusters))
        many = clusters > 1  # then {{i}} is the number of the cluster, else of the worker
        parts = [(f"{core}/{where}", numbered(body) if many else body, clusters) for where, body in self.parts]
        for i in range(workers if many else 1):
            body = json.loads(json.dumps(self.worker))
            body["metadata"]["name"] += f"-{i}" if many else "-{{i}}"
            parts.append((f"{core}/pods", numbered(body) if many else body, clusters if many else workers))
        if ORDER == "clusters" and many:
            with concurrent.futures.ThreadPoolExecutor(len(parts)) as side_by_side:
                list(side_by_side.map(lambda part: load(*part, LIMIT_IN_FLIGHT // 4), parts))
        else:
            for part in parts:
                load(*part, LIMIT_IN_FLIGHT)
        created = time.time()
        while api.call("GET", f"{core}/pods?limit=1&fieldSelector=status.phase%21%3DRunning")["items"]:
            time.sleep(0.05)
        figures = seen(self, audit, before, clusters, time.time() - begun)
        api.call("DELETE", f"{core}/services")
        api.call("DELETE", f"{core}/pods")
        return {**figures, "created_s": created - begun}


def numbered(body):
    return json.loads(json.dumps(body).replace("c-0", "c-{{i}}"))


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


def seen(op, audit, before, clusters, ready_s):
    """What was used until now, and who has sent what."""
    spent = {name: t - before[name] for name, t in used(op).items()}
    time.sleep(SETTLE_S)
    entries = list(audit.entries())
    a, users = summary(entries, op.user), by_user(entries)
    ours = op.user.rsplit(":", 1)[-1]
    others = [v for user, v in users.items() if user not in (ours, "admin")]
    pods = max(1, len(a["pods"]))
    return {"ready_s": ready_s, "pods": len(a["pods"]), "cpu": spent, "all_cpu_s": sum(spent.values()), "refused": a["refused"],
            "writes_each": sum(a["writes"].values()) / pods, "statuses_each": a["writes"].get("patch rayclusters/status", 0) / clusters
            + a["writes"].get("update rayclusters/status", 0) / clusters, "users": users,
            "others_429": sum(v.get("429", 0) for v in others), "others_watches": sum(v.get("watches", 0) for v in others),
            "first": a["first"], "last": max((end for _, end in a["pods"]), default=0)}


def grow(api, op, namespace, clusters, workers):
    """From nothing to ready, in a namespace that the operator watches."""
    watch = Ready(namespace)
    audit, before = Audit(), used(op)
    load(f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters", quick.raycluster(workers), clusters, min(50, clusters))
    ready = watch.wait(clusters, LIMIT_S)
    figures = seen(op, audit, before, clusters, 0)
    return {**figures, "created_s": figures["last"] - figures["first"], "ready_s": ready - figures["first"],
            "memory_mib": memory(op.pid)["VmRSS"]}


def measure(who, raw, phases):
    api = Api()
    op = Limit(api) if who == "limit" else begin(who)
    time.sleep(BEGIN_S)
    namespace = getattr(op, "namespace", "b-peer")
    if who == "kuberay":
        kubectl("create", "namespace", namespace)
    phases = [phase for phase in PHASES if phase in (phases or USUAL)]
    turns = [phase for phase in phases for _ in range(HUNDREDS if phase == "hundred" else 1)]
    for number, phase in enumerate(turns):
        if number:
            clear(api, namespace)
        figures = op.grow(api, *PHASES[phase]) if who == "limit" else grow(api, op, namespace, *PHASES[phase])
        with open(raw, "a") as f:
            f.write(json.dumps({"who": who, "phase": phase, **figures}) + "\n")
        print(f"  {who}, {phase}: created {figures['created_s']:.2f} s, ready {figures['ready_s']:.2f} s, "
              f"CPU {figures['all_cpu_s']:.1f} s, others' 429 {figures['others_429']}", file=sys.stderr)


def clear(api, namespace):
    """What was measured is gone before the next begins."""
    kubectl("delete", "rayclusters.ray.io", "--all", "-n", namespace, "--wait=false")
    for _ in range(LIMIT_S):
        if api.count(f"/api/v1/namespaces/{namespace}/pods") == 0 and api.count(f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters") == 0:
            time.sleep(SETTLE_S)
            return
        time.sleep(1)
    raise RuntimeError(f"pods are left in {namespace}")


def value(line, figure):
    """None: it has none, as the limit has no operator."""
    for part in figure.split("."):
        line = line.get(part) if line else None
    return line


def table(raw, binaries):
    lines = [json.loads(line) for line in open(raw)]
    names = [*(["limit"] if any(x["who"] == "limit" for x in lines) else []), *binaries.split(), "kuberay"]
    print("\n| median (all values) | " + " | ".join(map(os.path.basename, names)) + " | × limit (goal) | × KubeRay (goal) |")
    print("|---|" + "---|" * (len(names) + 2))
    for phase, title in NAMES.items():
        for figure, words, goals, limits in FIGURES:
            turns = [[x for x in lines if (x["who"], x["phase"]) == (name, phase)] for name in names]
            values = [[v for x in xs if (v := value(x, figure)) is not None] for xs in turns]
            if any(values):
                medians = [statistics.median(v) if v else None for v in values]
                cells = [f"{m:.2f} ({', '.join(f'{x:.2f}' for x in v)})" if v else "" for m, v in zip(medians, values)]
                ratios = [ratio(medians[-2], medians[0] if names[0] == "limit" else None, limits.get(phase)),
                          ratio(medians[-2], medians[-1], goals.get(phase))]
                print(f"| {title}: {words} | " + " | ".join(cells + ratios) + " |")
    print("\n| user, in all turns | operator | requests | 429 | watches begun |\n|---|---|---|---|---|")
    for who in names:
        sums = {}
        for x in lines:
            for user, counts in x["users"].items() if x["who"] == who else ():
                for key, count in counts.items():
                    sums.setdefault(user, {}).setdefault(key, 0)
                    sums[user][key] += count
        for user, counts in sorted(sums.items(), key=lambda i: -i[1].get("requests", 0)):
            cells = " | ".join(str(counts.get(key, 0)) for key in ("requests", "429", "watches"))
            print(f"| {user} | {os.path.basename(who)} | {cells} |")
    print(f"\nraw: {raw}")


def ratio(a, b, goal):
    return (f"{a / b:.2f}" if a is not None and b else "") + (f" (≤ {goal:.2f})" if goal else "")


def main():
    command, *rest = sys.argv[1:]
    if command == "table":
        table(*rest)
    else:
        if rest[0] not in ("kuberay", "limit"):
            plane.MOBULA = ROOT / rest[0]
        measure(rest[0], rest[1], rest[2:])


if __name__ == "__main__":
    main()
