#!/usr/bin/env python3
"""Figures of mobula on a control plane that tests/rig/up.sh started. Called by quick.sh, which see."""

import atexit
import http.client
import json
import re
import signal
import subprocess
import sys
import time

from plane import MOBULA, ROOT, RUN, Api, Audit, cpu, kubectl, load, memory, most_at_once, summary

SETTLE_S, QUIET_S, LIMIT_S = 30, 60, 600  # 30 s as the peer's figures were taken
FENCE_S = 2  # past OPERATOR_FENCE_MS: that who begins makes no workers for a second is no part of how fast it makes them
CLUSTERS, WORKERS = 1000, 1000
FLOOR_IN_FLIGHT = 64

api = Api()
raw = (ROOT / "build" / "bench" / time.strftime("%Y%m%d-%H%M%S.jsonl")).open("a")
rows = []

INSTALL = ("install", "--print", "--kinds=all")


def record(phase, **figures):
    raw.write(json.dumps({"phase": phase, **figures}) + "\n")
    raw.flush()
    print(f"  {phase}: {json.dumps(figures)}", file=sys.stderr)


def row(figure, value, goal):
    rows.append((figure, value, goal))


class Operator:
    """The operator as a process, under its service account and Roles, in a namespace of its own."""

    def __init__(self, namespace, install=(), flags=()):
        self.namespace = namespace
        self.user = f"system:serviceaccount:{namespace}:mobula"
        if not api.call("GET", f"/api/v1/namespaces/{namespace}").get("metadata", {}).get("uid"):
            kubectl("create", "namespace", namespace)
            manifests = subprocess.run([MOBULA, *INSTALL, "--no-crds", "--namespace", namespace, *install], capture_output=True,
                                       text=True, check=True).stdout
            kubectl("apply", "-f", "-", stdin=manifests)
            kubectl("scale", "deployment", "--all", "--replicas=0", "-n", namespace)
        token = kubectl("create", "token", "mobula", "-n", namespace, "--duration=4h").strip()
        config = RUN / f"{namespace}.kubeconfig"
        config.write_text(f"""apiVersion: v1
kind: Config
clusters: [{{name: rig, cluster: {{server: "https://127.0.0.1:{api.port}", certificate-authority: "{RUN}/pki/ca.crt"}}}}]
users: [{{name: operator, user: {{token: "{token}"}}}}]
contexts: [{{name: rig, context: {{cluster: rig, user: operator, namespace: "{namespace}"}}}}]
current-context: rig
""")
        self.log = (RUN / "logs" / f"{namespace}.log").open("a+")
        self.from_here = (RUN / "logs" / f"{namespace}.log").stat().st_size
        self.began = time.monotonic()
        command = [MOBULA, "operator", "--kubeconfig", config, "--autoscaler", "off", "--health-addr", "127.0.0.1:0", "--metrics-addr", "",
                   *flags]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)
        self.pid = self.process.pid
        atexit.register(self.process.kill)  # harmless once it has been waited for
        self.ready_s = self.wait_ready()

    def health_port(self):
        found = re.search(r"for=health-addr .*port=(\d+)", (RUN / "logs" / f"{self.namespace}.log").read_text()[self.from_here:])
        return found and int(found.group(1))

    def wait_ready(self):
        """Seconds from the start until /readyz says that all caches are complete."""
        for _ in range(3000):
            try:
                link = http.client.HTTPConnection("127.0.0.1", self.health_port() or 1, timeout=1)
                link.request("GET", "/readyz")
                if link.getresponse().status == 200:
                    return time.monotonic() - self.began
            except OSError:
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise RuntimeError(f"the operator does not become ready: {self.log.name}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(15)


def container(name, memory_text):
    amounts = {"cpu": "1", "memory": memory_text}
    return {"containers": [{"name": name, "image": "ray:2", "resources": {"limits": amounts, "requests": amounts}}]}


def raycluster(workers):
    spec = {"rayVersion": "2.52.0", "headGroupSpec": {"rayStartParams": {}, "template": {"spec": container("ray-head", "5Gi")}}}
    spec["workerGroupSpecs"] = [{"groupName": "workergroup", "replicas": workers, "minReplicas": 0, "maxReplicas": max(workers, 1),
                                 "rayStartParams": {}, "template": {"spec": container("ray-worker", "1Gi")}}]
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "c-{{i}}"}, "spec": spec}


def wait(look, want, step):
    for _ in range(int(LIMIT_S / step)):
        if look() == want:
            return
        time.sleep(step)
    raise RuntimeError(f"not {want} within {LIMIT_S} s")


def grow(op, clusters, workers):
    """clusters × (1 head + workers) from nothing to ready; leaves them there."""
    time.sleep(FENCE_S)
    audit, before = Audit(), cpu(op.pid)
    pods = clusters * (1 + workers)
    load(f"/apis/ray.io/v1/namespaces/{op.namespace}/rayclusters", raycluster(workers), clusters, min(50, clusters))
    wait(lambda: api.count(f"/api/v1/namespaces/{op.namespace}/pods"), pods, 0.25)
    cpu_pods = cpu(op.pid) - before
    wait(lambda: api.ready(op.namespace), clusters, 0.5)
    cpu_ready = cpu(op.pid) - before
    time.sleep(SETTLE_S)
    a = summary(audit, op.user)
    writes = sum(n for kind, n in a["writes"].items() if "leases" not in kind)
    seconds = max(end for _, end in a["pods"]) - a["first"]
    return {"clusters": clusters, "pods": len(a["pods"]), "pods_created_s": round(seconds, 3),
            "pods_per_s": round(len(a["pods"]) / seconds, 1),
            "writes": a["writes"], "refused": a["refused"], "writes_per_pod": round(writes / len(a["pods"]), 4),
            "posts_in_flight": most_at_once(a["pods"]), "first_post_ms": round(1000 * (a["pods"][0][0] - a["first"]), 1),
            "cpu_until_pods_s": round(cpu_pods, 2), "cpu_until_ready_s": round(cpu_ready, 2), "memory": memory(op.pid)}


def phase_idle():
    op = Operator("b-idle")
    time.sleep(SETTLE_S)
    figures = {"memory": memory(op.pid), "cpu_s": cpu(op.pid), "ready_s": round(op.ready_s, 3), "bytes": MOBULA.stat().st_size}
    record("idle", **figures)
    row("binary, bytes", figures["bytes"], "≤ 1572864")
    row("resident memory idle, MiB", figures["memory"]["VmRSS"], "≤ 2")
    op.stop()


def phase_30x5():
    op = Operator("b-small")
    figures = grow(op, 30, 4)
    record("30x5", **figures)
    row("resident memory, 150 pods, MiB", figures["memory"]["VmRSS"], "≤ 3")
    op.stop()


def phase_fleet():
    op = Operator("b-fleet")
    figures = grow(op, CLUSTERS, 3)
    record("fleet", **figures)
    row("1,000 × 4: all pods created, s (pods/s)", f'{figures["pods_created_s"]} ({figures["pods_per_s"]})', "≤ 1.5 × the floor")
    row("1,000 × 4: API writes per pod", figures["writes_per_pod"], "≤ 2.00")
    row("1,000 × 4: operator CPU until ready, s", figures["cpu_until_ready_s"], "≤ 2.1")
    row("resident memory, 4,000 pods, MiB", figures["memory"]["VmRSS"], "≤ 8")
    op.stop()


def phase_restart():
    """On what fleet left there."""
    op = Operator("b-fleet")
    used = cpu(op.pid)
    time.sleep(SETTLE_S)
    record("restart", pods=api.count("/api/v1/namespaces/b-fleet/pods"), ready_s=round(op.ready_s, 3), cpu_s=used, memory=memory(op.pid))
    row("start on 4,000 pods: caches complete, s / CPU s", f"{op.ready_s:.2f} / {used:.2f}", "≤ 0.5 / ≤ 0.4")
    op.stop()


def phase_quiet():
    op = Operator("b-fleet")
    time.sleep(SETTLE_S)
    audit = Audit()
    time.sleep(QUIET_S)
    writes = summary(audit, op.user)["writes"]
    record("quiet", seconds=QUIET_S, writes=writes)
    row("writes in 60 s at the fixed point", sum(writes.values()), "0")
    op.stop()


def phase_one():
    op = Operator("b-one")
    figures = grow(op, 1, WORKERS)
    record("one", **figures)
    row("1 × 1,000: last pod created, s (pods/s)", f'{figures["pods_created_s"]} ({figures["pods_per_s"]})', "≤ 1.25 × the floor")
    row("1 × 1,000: API writes per pod", figures["writes_per_pod"], "≤ 1.01")
    row("1 × 1,000: POSTs in flight", figures["posts_in_flight"], "≥ 16")
    row("create → first pod POST received, ms", figures["first_post_ms"], "≤ 5 (p50)")
    op.stop()


def phase_floor():
    """The API server's own: the same worker pods as phase one's, sent directly."""
    pods = api.call("GET", "/api/v1/namespaces/b-one/pods?labelSelector=ray.io%2Fnode-type%3Dworker&limit=1")["items"]
    if not pods:
        sys.exit('phase "floor" sends what phase "one" has made: name "one" before it')
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "floor-{{i}}"}, "spec": pods[0]["spec"]}
    pod["metadata"]["labels"] = pods[0]["metadata"]["labels"]
    pod["spec"].pop("nodeName", None)
    kubectl("create", "namespace", "b-floor")
    figures = load("/api/v1/namespaces/b-floor/pods", pod, WORKERS, FLOOR_IN_FLIGHT)
    record("floor", **figures)
    row(f"floor: direct POSTs, {FLOOR_IN_FLIGHT} in flight, s (pods/s)", f'{figures["seconds"]:.3f} ({figures["per_second"]:.1f})', "")


PHASES = {"idle": phase_idle, "30x5": phase_30x5, "one": phase_one, "floor": phase_floor, "fleet": phase_fleet, "restart": phase_restart,
          "quiet": phase_quiet}


def main():
    kubectl("apply", "-f", "-", stdin=subprocess.run([MOBULA, *INSTALL, "--crds-only"], capture_output=True, text=True,
                                                     check=True).stdout)
    kubectl("wait", "--for=condition=Established", "crd/rayclusters.ray.io", "crd/rayclusters.cluster.ray.io", "--timeout=30s")
    for name in sys.argv[1:] or PHASES:
        PHASES[name]()
    print("\n| figure | measured | goal |\n|---|---|---|")
    for figure, value, goal in rows:
        print(f"| {figure} | {value} | {goal} |")
    print(f"\nraw: {raw.name}")


if __name__ == "__main__":
    main()
