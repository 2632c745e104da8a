#!/usr/bin/env python3
"""How long a job takes from the control plane to the first pod of its cluster, on a control plane that tests/rig/up.sh started: with
`mobula control-plane`, one real operator that calls it, and one job after the other. Called by quick.sh, which see.

    tests/bench/item.py [JOBS]

All times are the audit log's, so they are the API server's: from the Workload received to the POST of its head pod received.
"""

import statistics
import subprocess
import sys
import time

import hub
import quick
from plane import MOBULA, RUN, Api, Audit, kubectl
from rig import stamp, what

SPACE, PATIENCE_S = "bench-item", 60
# What happens on the way, as the audit log calls it.
GOAL_MS = 50
STEPS = (("create workloads", "the Workload"), ("patch rayjobs", "the RayJob"), ("create rayclusters", "its RayCluster"),
         ("create pods", "its head pod"))


def begin():
    token = hub.prepare(1, 0)[0]
    plane = hub.Hub(0)
    cloud = hub.deployment_ids(1)["c0"]
    file = RUN / "bench-item.token"
    file.write_text(token)
    file.chmod(0o600)
    definitions = subprocess.run([MOBULA, *quick.INSTALL, "--crds-only"], capture_output=True, text=True, check=True).stdout
    kubectl("apply", "--server-side", "-f", "-", stdin=definitions)
    kubectl("wait", "--for=condition=Established", "crd/rayjobs.ray.io", "crd/rayclusters.ray.io", "--timeout=30s")
    install = ("--watch-namespace", hub.SPACE, "--control-plane-url", "https://hub.example", "--cloud-deployment-id", cloud)
    flags = ("--namespace", hub.SPACE, "--lease-namespace", SPACE, "--cloud-deployment-id", cloud,
             "--control-plane-url", f"http://127.0.0.1:{plane.port}", "--control-plane-token-file", file)
    return plane, quick.Operator(SPACE, install, flags)


def run_one(api, n):
    """When each step began, in seconds since 1970."""
    audit = Audit()
    api.call("POST", f"{hub.GROUP}/namespaces/{hub.SPACE}/workloads", {
        "apiVersion": "mobula.dev/v1", "kind": "Workload", "metadata": {"name": f"j{n}"},
        "spec": {"cloud": "c0", "image": "ray:2.52.0", "job": {"entrypoint": "python main.py"}}})
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        seen = {}
        for e in audit.lines():
            if e["stage"] == "ResponseComplete":
                seen.setdefault(what(e), stamp(e["requestReceivedTimestamp"]))
        if all(step in seen for step, _ in STEPS):
            return [seen[step] for step, _ in STEPS]
    status = api.call("GET", f"{hub.GROUP}/namespaces/{hub.SPACE}/workloads/j{n}").get("status")
    raise SystemExit(f"bench: job {n} has no pod within {PATIENCE_S} s; it has {sorted(seen)}; its status: {status}")


def main():
    jobs = int((sys.argv[1:] or ["30"])[0])
    plane, op = begin()
    api = Api()
    try:
        time.sleep(quick.SETTLE_S / 3)
        times = [run_one(api, n) for n in range(jobs + 1)][1:]  # the first one makes what all have in common
    finally:
        op.stop()
        plane.end()
    print(f"{jobs} jobs, one after the other, ms from the Workload (p50, most)")
    for k, (_, name) in enumerate(STEPS[1:], 1):
        ms = [1000 * (t[k] - t[0]) for t in times]
        p50 = statistics.median(ms)
        print(f"  {name:<16} {p50:6.0f} {max(ms):6.0f}{f'   (goal: p50 ≤ {GOAL_MS})' if k == len(STEPS) - 1 else ''}")
    if p50 > GOAL_MS:
        raise SystemExit(f"bench: missed: {p50:.0f} ms from the Workload to {name}")


if __name__ == "__main__":
    main()
