#!/usr/bin/env python3
"""Figures of `mobula control-plane` on a control plane that tests/rig/up.sh started: many operators, played here, each with workloads of
its own. Called by quick.sh, which see.

    tests/bench/hub.py [OPERATORS [WORKLOADS]]

Every operator speaks POST /v1/sync as docs/api/openapi.yaml has it: it reports each workload as running, then waits for news. Measured: the
control plane's memory and processor while they begin, while nothing happens, while workloads come, and after a kill and a new start; how
long a new workload takes to its operator; and whether an operator was told something twice, or never.
"""

import asyncio
import concurrent.futures
import itertools
import json
import re
import signal
import subprocess
import sys
import time

from plane import MOBULA, ROOT, RUN, Api, cpu, kubectl, memory

SPACE, GROUP = "bench-hub", "/apis/mobula.dev/v1"
QUIET_S, CHURN_S, CHURN_A_SECOND, PATIENCE_S = 60, 20, 10, 300
BACKOFF_S = 2  # of an operator whose control plane does not answer
rows, missed = [], []


def row(figure, value, most=None):
    """most: of each number in the value, which misses its goal above it."""
    rows.append((figure, value, "" if most is None else f"≤ {most}"))
    if most is not None and any(float(number) > most for number in str(value).split(", ")):
        missed.append(figure)
    print(f"  {figure}: {value}", file=sys.stderr)


def many(work, items, threads=16):
    """work(api, item) for all, each thread with a connection of its own."""
    items = list(items)
    parts = [items[i::threads] for i in range(threads)]

    def part(mine):
        api = Api()
        return [work(api, item) for item in mine]

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return list(itertools.chain.from_iterable(pool.map(part, parts)))


class Hub:
    def __init__(self, port):
        self.port = port
        self.config = RUN / "bench-hub.kubeconfig"
        token = kubectl("create", "token", "mobula-control-plane", "-n", SPACE, "--duration=4h").strip()
        self.config.write_text(f"""apiVersion: v1
kind: Config
clusters: [{{name: rig, cluster: {{server: "https://127.0.0.1:{Api().port}", certificate-authority: "{RUN}/pki/ca.crt"}}}}]
users: [{{name: hub, user: {{token: "{token}"}}}}]
contexts: [{{name: rig, context: {{cluster: rig, user: hub, namespace: "{SPACE}"}}}}]
current-context: rig
""")
        self.log_path = RUN / "logs" / "bench-hub.log"
        self.start()

    def start(self):
        command = [MOBULA, "control-plane", "--kubeconfig", self.config, "--namespace", SPACE, "--http-addr", f"127.0.0.1:{self.port}",
                   "--metrics-addr", "127.0.0.1:0", "--identity", "bench"]
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.pid = self.process.pid
        while not self.port:
            found = re.search(r"for=http-addr address=\S+ port=(\d+)", self.log_path.read_text())
            self.port = int(found.group(1)) if found else 0
            time.sleep(0.05)

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(20)

    def used(self):
        """(CPU seconds so far, MiB now, MiB at most)."""
        m = memory(self.pid)
        return cpu(self.pid), m["VmRSS"], m["VmHWM"]


class Operator:
    """One operator's loop: what it knows by uid, when it was told, and what it still has to report."""

    def __init__(self, hub, cloud, token):
        self.hub, self.cloud, self.token = hub, cloud, token
        self.known, self.told, self.reports, self.repeats, self.refused = {}, {}, [], 0, {}
        self.revision, self.synced = "", 0
        self.link = None

    async def ask(self, body):
        if not self.link:
            self.link = await asyncio.open_connection("127.0.0.1", self.hub.port, limit=4 << 20)
        reader, writer = self.link
        data = json.dumps(body).encode()
        writer.write(b"POST /v1/sync HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\n"
                     b"Content-Length: %d\r\n\r\n" % (self.token.encode(), len(data)) + data)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        size = int(re.search(r"content-length: (\d+)", head).group(1))
        return int(head.split()[1]), json.loads(await reader.readexactly(size))

    def take(self, answer, now):
        whole = answer["full"]
        for item in answer["workloads"]:
            old = self.known.get(item["uid"])
            self.known[item["uid"]] = item.get("generation")
            if old is not None and not whole and old == item.get("generation"):
                self.repeats += 1
            elif old is None:
                self.told[item["name"]] = now
                self.reports.append({"uid": item["uid"], "generation": item["generation"], "state": "RUNNING", "attempts": 1})
        self.revision = answer["revision"]

    async def run(self):
        while True:
            sent, rest = self.reports[:500], self.reports[500:]
            body = {"protocol": 1, "cloud": self.cloud, "instance": f"i-{self.cloud}", "version": "0.1.0", "revision": self.revision,
                    "statuses": sent, "wait": 0 if sent else 25}
            try:
                code, answer = await self.ask(body)
            except (OSError, asyncio.IncompleteReadError):
                self.link = None
                await asyncio.sleep(BACKOFF_S)
                continue
            if code != 200:
                self.refused[code] = self.refused.get(code, 0) + 1
                await asyncio.sleep(BACKOFF_S)
                continue
            self.reports = rest
            self.take(answer, time.monotonic())
            self.synced = time.monotonic()


def prepare(operators, workloads):
    """Clouds, tokens and workloads; deployment ids come with the control plane."""
    kubectl("delete", "namespace", SPACE, "--ignore-not-found", "--wait=true")
    kubectl("create", "namespace", SPACE)
    for kind in ("clouds", "computeconfigs", "workloads"):
        kubectl("apply", "-f", str(ROOT / f"airgap/crds/{kind}.mobula.dev.yaml"))
        kubectl("wait", "--for=condition=Established", f"crd/{kind}.mobula.dev", "--timeout=60s")
    printed = subprocess.run([MOBULA, "install", "--print", "--control-plane", "--namespace", SPACE], check=True, capture_output=True,
                             text=True).stdout.split("\n---\n")
    rights = [d for d in printed if re.search(r"^kind: (ServiceAccount|\w*Role\w*)$", d, re.M)]
    kubectl("apply", "-f", "-", stdin="\n---\n".join(rights))
    kubectl("create", "serviceaccount", "operator", "-n", SPACE)
    kubectl("create", "role", "operator", "-n", SPACE, "--verb=sync", "--resource=clouds.mobula.dev")
    kubectl("create", "rolebinding", "operator", "-n", SPACE, "--role=operator", f"--serviceaccount={SPACE}:operator")
    base = f"{GROUP}/namespaces/{SPACE}"
    many(lambda api, n: api.call("POST", f"{base}/clouds", {
        "apiVersion": "mobula.dev/v1", "kind": "Cloud", "metadata": {"name": f"c{n}"}, "spec": {"provider": "generic"}}), range(operators))
    many(lambda api, n: put_workload(api, n, n % operators), range(workloads))
    path = f"/api/v1/namespaces/{SPACE}/serviceaccounts/operator/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 14400}}
    return many(lambda api, n: api.call("POST", path, asked)["status"]["token"], range(operators))


def put_workload(api, n, cloud):
    api.call("POST", f"{GROUP}/namespaces/{SPACE}/workloads", {
        "apiVersion": "mobula.dev/v1", "kind": "Workload", "metadata": {"name": f"w{n}"},
        "spec": {"cloud": f"c{cloud}", "job": {"entrypoint": "python main.py --rate 0.1"}}})


def deployment_ids(operators):
    api, end = Api(), time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        items = api.call("GET", f"{GROUP}/namespaces/{SPACE}/clouds")["items"]
        found = {c["metadata"]["name"]: c.get("status", {}).get("deploymentId") for c in items}
        if len(found) == operators and all(found.values()):
            return found
        time.sleep(0.5)
    raise SystemExit("bench: clouds without a deployment id")


async def until(what, seconds=PATIENCE_S):
    begin = time.monotonic()
    while not what():
        if time.monotonic() - begin > seconds:
            raise SystemExit(f"bench: not within {seconds} s")
        await asyncio.sleep(0.05)
    return time.monotonic() - begin


async def during(hub, seconds, what=None):
    """CPU per second of the control plane, while what() runs once a second."""
    before, begin = hub.used()[0], time.monotonic()
    for n in range(seconds):
        if what:
            await asyncio.to_thread(what, n)
        await asyncio.sleep(max(0, begin + n + 1 - time.monotonic()))
    return (hub.used()[0] - before) / (time.monotonic() - begin)


async def measure(hub, ops, workloads):
    loops = [asyncio.create_task(op.run()) for op in ops]
    known = lambda: sum(len(op.known) for op in ops)  # noqa: E731
    took = await until(lambda: known() >= workloads)
    row(f"{len(ops)} operators know {workloads} workloads, s", f"{took:.1f}")
    took += await until(lambda: not any(op.reports for op in ops))
    row("and have reported each as running, s", f"{took:.1f}")
    row("memory then, MiB (now, most)", "{1:.1f}, {2:.1f}".format(*hub.used()), 64)
    await asyncio.sleep(5)
    row("processor while nothing happens, cores", f"{await during(hub, QUIET_S):.4f}")

    api, made = Api(), {}

    def churn(second):
        for n in range(CHURN_A_SECOND):
            name = workloads + second * CHURN_A_SECOND + n
            made[f"w{name}"] = time.monotonic()
            put_workload(api, name, name % len(ops))

    row(f"processor while {CHURN_A_SECOND} workloads a second come, cores", f"{await during(hub, CHURN_S, churn):.3f}", 0.5)
    await until(lambda: known() >= workloads + len(made))
    told = {name: at for op in ops for name, at in op.told.items()}
    delays = sorted(told[name] - made[name] for name in made)
    row("POST of a workload to its operator, ms (p50, p99)",
        f"{1000 * delays[len(delays) // 2]:.0f}, {1000 * delays[int(len(delays) * 0.99)]:.0f}")

    await until(lambda: not any(op.reports for op in ops))
    hub.end(signal.SIGKILL)
    hub.start()
    again = time.monotonic()
    took = await until(lambda: all(op.synced > again for op in ops))
    row("killed and started: all operators in sync again, s", f"{took:.1f}", 30)
    row("workloads lost, told twice", f"{workloads + len(made) - known()}, {sum(op.repeats for op in ops)}", 0)
    row("memory at the end, MiB (now, most)", "{1:.1f}, {2:.1f}".format(*hub.used()), 64)
    refused = {}
    for op in ops:
        for code, count in op.refused.items():
            refused[code] = refused.get(code, 0) + count
    row("calls refused, by status", refused or "none")
    for loop in loops:
        loop.cancel()


def main():
    operators, workloads = (int(a) for a in [*sys.argv[1:], "200", "10000"][:2])
    tokens = prepare(operators, workloads)
    hub = Hub(0)
    ids = deployment_ids(operators)
    ops = [Operator(hub, ids[f"c{n}"], tokens[n]) for n in range(operators)]
    try:
        asyncio.run(measure(hub, ops, workloads))
    finally:
        hub.end()
    width = max(len(r[0]) for r in rows)
    for figure, value, goal in rows:
        print(f"{figure:<{width}}  {value}{f'   (goal {goal})' if goal else ''}")
    if missed:
        raise SystemExit(f"bench: missed: {'; '.join(missed)}")


if __name__ == "__main__":
    main()
