#!/usr/bin/env python3
"""What services of many versions cost the operator, on a control plane that tests/rig/up.sh started. Called by quick.sh, which see.

    tests/bench/services.py [SERVICES]

Each VersionedService has two versions that share its requests, and each version a cluster of a head and a worker. All heads have the
address of one fake dashboard of Ray Serve in this process. Measured: time and processor of the operator until every version gets its
requests; then its memory, its writes and its processor while nothing changes; the same after a restart; and the time until all weights
have changed.
"""

import sys
import time
from pathlib import Path

import quick
from plane import Api, Audit, cpu, memory, summary

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from dashboards import Serve, own_address  # noqa: E402

SPACE, GROUP, V1, NETWORKING = "b-services", "/apis/mobula.dev/v1", "/apis/ray.io/v1", "/apis/networking.k8s.io/v1"
PATIENCE_S, QUIET_S, MEMORY_MIB = 1200, 60, 24
CONFIG = "applications:\n- name: hello\n  route_prefix: /\n  import_path: module:hello\n"
api = Api()


def path(resource, group=GROUP):
    return f"{group}/namespaces/{SPACE}/{resource}"


def version(name, weight, port):
    def group(container):
        return {"rayStartParams": {}, "template": {"spec": quick.container(container, "1Gi")}}

    head = group("ray-head")
    head["rayStartParams"]["dashboard-port"] = str(port)
    workers = {"groupName": "small", "replicas": 1, "minReplicas": 1, "maxReplicas": 1, **group("ray-worker")}
    return {"name": name, "weight": weight, "rayServiceConfig": {"serveConfigV2": CONFIG, "rayClusterConfig": {
        "rayVersion": "2.60.0", "headGroupSpec": head, "workerGroupSpecs": [workers]}}}


def service(n, port):
    return {"apiVersion": "mobula.dev/v1", "kind": "VersionedService", "metadata": {"name": f"s{n}"}, "spec": {
        "hostnames": [f"s{n}.example.org"], "ingressClassName": "nginx", "rollout": {"automaticRollback": False},
        "versions": [version("v1", 60, port), version("v2", 40, port)]}}


def lead_heads(address, done):
    """Gives all heads that run the address of the dashboard. done: names of those that have it."""
    for pod in api.call("GET", path("pods?labelSelector=ray.io%2Fnode-type%3Dhead", "/api/v1"))["items"]:
        name = pod["metadata"]["name"]
        if name not in done and pod["status"].get("podIP"):
            api.call("PATCH", path(f"pods/{name}/status", "/api/v1"), {"status": {"podIP": address, "podIPs": [{"ip": address}]}},
                     "application/merge-patch+json")
            done.add(name)


def canary_weights():
    """The weight of each canary Ingress, by name."""
    return {i["metadata"]["name"]: i["metadata"]["annotations"]["nginx.ingress.kubernetes.io/canary-weight"]
            for i in api.call("GET", path("ingresses", NETWORKING))["items"]
            if "nginx.ingress.kubernetes.io/canary-weight" in i["metadata"].get("annotations", {})}


def wait(look, between):
    """Seconds until look() is true."""
    began = time.monotonic()
    while not look():
        if time.monotonic() - began > PATIENCE_S:
            states = [s.get("status", {}) for s in api.call("GET", path("versionedservices"))["items"]]
            raise SystemExit(f"bench: not reached within {PATIENCE_S} s; canary weights: {len(canary_weights())}; a status: {states[0]}")
        time.sleep(between)
    return time.monotonic() - began


def quiet(op, name, board):
    """Writes and processor of a minute in which nothing changes."""
    time.sleep(quick.SETTLE_S)
    audit, before, asked = Audit(), cpu(op.pid), len(board.asked)
    time.sleep(QUIET_S)
    used, writes = cpu(op.pid) - before, summary(audit, op.user)["writes"]
    count = sum(n for kind, n in writes.items() if "leases" not in kind)
    quick.record(name, writes=writes, cpu_s=round(used, 2), memory=memory(op.pid), asked=len(board.asked) - asked)
    quick.row(f"{name}: resident memory, MiB (peak)", f'{memory(op.pid)["VmRSS"]} ({memory(op.pid)["VmHWM"]})', f"≤ {MEMORY_MIB}")
    quick.row(f"{name}: writes in {QUIET_S} s", count, "0")
    quick.row(f"{name}: CPU, millicores (questions to heads in a second)",
              f"{1000 * used / QUIET_S:.0f} ({(len(board.asked) - asked) / QUIET_S:.0f})", "")


def main():
    count = int((sys.argv[1:] or ["200"])[0])
    board = Serve(own_address())
    board.status = "RUNNING"
    definitions = quick.subprocess.run([quick.MOBULA, *quick.INSTALL, "--crds-only"], capture_output=True, text=True, check=True).stdout
    quick.kubectl("apply", "--server-side", "-f", "-", stdin=definitions)
    quick.kubectl("wait", "--for=condition=Established", "crd/versionedservices.mobula.dev", "crd/rayservices.ray.io", "--timeout=30s")
    op, led = quick.Operator(SPACE), set()
    audit, before = Audit(), cpu(op.pid)
    for n in range(count):
        api.call("POST", path("versionedservices"), service(n, board.port))

    def served():
        lead_heads(board.address, led)
        return list(canary_weights().values()).count("40") == count

    seconds = wait(served, 2)
    quick.record("begin", services=count, seconds=round(seconds, 1), cpu_s=round(cpu(op.pid) - before, 2),
                 writes=summary(audit, op.user)["writes"], memory=memory(op.pid))
    quick.row(f"{count} services of 2 versions: all versions get requests, s (operator's CPU, s)",
              f"{seconds:.0f} ({cpu(op.pid) - before:.1f})", "")
    quiet(op, "at rest", board)
    op.stop()
    audit = Audit()
    op = quick.Operator(SPACE)
    quiet(op, "after a restart", board)
    writes = summary(audit, op.user)["writes"]
    quick.record("restart", writes=writes)
    quick.row("writes since the restart, but for the lease", sum(n for kind, n in writes.items() if "leases" not in kind), "0")
    for n in range(count):
        spec = service(n, board.port)["spec"]["versions"]
        spec[0]["weight"], spec[1]["weight"] = 10, 90
        api.call("PATCH", path(f"versionedservices/s{n}"), {"spec": {"versions": spec}}, "application/merge-patch+json")
    seconds = wait(lambda: list(canary_weights().values()).count("10") == count, 1)
    quick.row("all weights changed: Ingresses follow, s", f"{seconds:.1f}", "")
    op.stop()
    board.close()
    print("\n| figure | measured | goal |\n|---|---|---|")
    for figure, value, goal in quick.rows:
        print(f"| {figure} | {value} | {goal} |")
    print(f"\nraw: {quick.raw.name}")


if __name__ == "__main__":
    main()
