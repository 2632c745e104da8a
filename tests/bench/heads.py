#!/usr/bin/env python3
"""What autoscaling costs the operator: CLUSTERS clusters, each with a head that is asked once a second, beside the same clusters without.

    tests/bench/heads.py OPERATOR APISERVER HEADS [CLUSTERS [WORKERS]]

The operator as a process, the model API server, and one program that plays all heads (tests/bench/heads.c), in a network namespace of their
own, where the addresses of pods lead to this machine: the operator asks no head on a loopback address.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

WORK = Path("build/bench/heads")
NET = "10.100"
PATIENCE, SETTLE_S, MEASURE_S = 300, 20, 30
MEMORY_MIB = 24  # of 1,000 clusters
NAMESPACE = "default"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CLUSTERS_PATH = f"/apis/ray.io/v1/namespaces/{NAMESPACE}/rayclusters"
TICK = os.sysconf("SC_CLK_TCK")


def enter_namespace():
    """Begins anew where the net of the pods is local."""
    if os.environ.get("BENCH_HEADS_INSIDE"):
        for command in ("ip link set lo up", f"ip route add local {NET}.0.0/16 dev lo"):
            subprocess.run(command.split(), check=True)
        return
    os.environ["BENCH_HEADS_INSIDE"] = "1"
    flags = ["--net"] if os.geteuid() == 0 else ["--net", "--user", "--map-root-user"]
    os.execvp("unshare", ["unshare", *flags, sys.executable, *sys.argv])


class Process:
    """Speaks to us on its standard output; what is for people is in a file."""

    def __init__(self, name, *command, quiet=False):
        self.log = (WORK / f"{name}.log").open("w+")
        self.process = subprocess.Popen(command, stdout=self.log if quiet else subprocess.PIPE, stderr=self.log)
        self.pid = self.process.pid

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)

    def cpu(self):
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def memory(self):
        """MiB."""
        found = {}
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            key, _, value = line.partition(":")
            if key in ("VmRSS", "VmHWM", "RssAnon"):
                found[key] = round(int(value.split()[0]) / 1024, 2)
        return found


class Model(Process):
    def __init__(self, program):
        super().__init__("apiserver", program, "--ready-after", "100", "--pod-net", NET)
        self.url = self.process.stdout.readline().decode().strip()

    def ask(self, method, path, body=None, kind="application/json"):
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": kind}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def pods(self):
        return self.ask("GET", f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]

    def count(self):
        answer = self.ask("GET", f"/api/v1/namespaces/{NAMESPACE}/pods?limit=1")
        return len(answer["items"]) + answer["metadata"].get("remainingItemCount", 0)


class Heads(Process):
    def __init__(self, program):
        self.nodes, self.wants = WORK / "nodes", WORK / "wants"
        self.nodes.write_text("")
        self.wants.write_text("")
        super().__init__("heads", program, self.nodes, self.wants)
        self.told()

    def told(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, sig=signal.SIGUSR1):
        self.process.send_signal(sig)
        return self.told()

    def know(self, pods, wants=""):
        """Every pod that runs is a node of its cluster's head, and works."""
        label, head_of, lines = "ray.io/cluster", {}, []
        for pod in pods:
            if pod["metadata"]["labels"]["ray.io/node-type"] == "head":
                head_of[pod["metadata"]["labels"][label]] = pod["status"].get("podIP")
        for pod in pods:
            labels, ip = pod["metadata"]["labels"], pod["status"].get("podIP")
            head = head_of.get(labels[label])
            if ip and head:
                lines.append(f'{head} {pod["metadata"]["name"]} {labels["ray.io/group"]} {ip} 0\n')
        self.nodes.write_text("".join(lines))
        self.wants.write_text("".join(f"{ip} 2 {wants}\n" for ip in head_of.values()) if wants else "")
        return self.ask(signal.SIGHUP)


def operator(program, model, name, *more):
    kubeconfig = WORK / "kubeconfig"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: model\n"
        f'clusters: [{{name: model, cluster: {{server: "{model.url}"}}}}]\nusers: [{{name: model, user: {{}}}}]\n'
        f"contexts: [{{name: model, context: {{cluster: model, user: model, namespace: {NAMESPACE}}}}}]\n"
    )
    command = [program, "operator", "--kubeconfig", kubeconfig, "--health-addr", "", "--metrics-addr", "", "--tools", "none"]
    return Process(name, *command, *more, quiet=True)


def raycluster(i, workers):
    def template(name):
        return {"spec": {"containers": [{"name": name, "image": "ray:2", "resources": {"limits": {"cpu": "2", "memory": "4Gi"}}}]}}

    group = {"groupName": "workers", "replicas": workers, "minReplicas": 0, "maxReplicas": 100, "rayStartParams": {}}
    group["template"] = template("w")
    spec = {"enableInTreeAutoscaling": True, "headGroupSpec": {"rayStartParams": {"num-cpus": "0"}, "template": template("h")},
            "workerGroupSpecs": [group]}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": f"c-{i}"}, "spec": spec}


def wait(what, look, want):
    for _ in range(PATIENCE * 4):
        if look() == want:
            return
        time.sleep(0.25)
    raise RuntimeError(f"{what}: not {want} within {PATIENCE} s but {look()}")


def apply_crds(program, model):
    command = [program, "install", "--print", "--crds-only", "--kinds=all", "--no-admission-policy"]
    printed = subprocess.run(command, check=True, capture_output=True).stdout
    for document in printed.split(b"\n---"):
        if b"kind: CustomResourceDefinition" in document:
            model.ask("POST", CRDS, document, "application/yaml")


def measure(op, heads):
    time.sleep(SETTLE_S)
    before, used, began = heads.ask(), op.cpu(), time.monotonic()
    time.sleep(MEASURE_S)
    seconds = time.monotonic() - began
    after = heads.ask()

    def rate(what):
        return round((after[what] - before[what]) / seconds, 1)

    return {"millicores": round(1000 * (op.cpu() - used) / seconds, 1), "polls_per_s": rate("states"),
            "connections_per_s": rate("connections"), "live": after["live"], **op.memory()}


def main():
    enter_namespace()
    program, server, player = sys.argv[1:4]
    clusters, workers = [int(n) for n in (sys.argv[4:] + ["1000", "3"][len(sys.argv) - 4:])]
    WORK.mkdir(parents=True, exist_ok=True)
    model, heads = Model(server), Heads(player)
    processes = [model, heads]
    try:
        apply_crds(program, model)
        plain = operator(program, model, "operator-off", "--autoscaler", "off")
        processes.append(plain)
        for i in range(clusters):
            model.ask("POST", CLUSTERS_PATH, raycluster(i, workers))
        wait("pods", model.count, clusters * (1 + workers))
        time.sleep(2)
        heads.know(model.pods())
        off = measure(plain, heads)
        print("off:", json.dumps(off), flush=True)
        plain.stop()
        scaling = operator(program, model, "operator")
        processes.append(scaling)
        wait("heads that are asked", lambda: heads.ask()["live"], clusters)
        on = measure(scaling, heads)
        print("on:", json.dumps(on), flush=True)
        pods = model.count()
        heads.know(model.pods(), wants="2")
        wait("pods for demand", model.count, pods + 2 * clusters)
        heads.know(model.pods())
        grown = measure(scaling, heads)
        print("grown:", json.dumps(grown), flush=True)
        scaling.stop()
    finally:
        for p in processes:
            if p.process.poll() is None:
                p.process.kill()
    rows = [("resident memory, MiB", off["VmRSS"], on["VmRSS"], grown["VmRSS"], ""),
            ("its highest, MiB", off["VmHWM"], on["VmHWM"], grown["VmHWM"], f"≤ {MEMORY_MIB}"),
            ("CPU at rest, millicores", off["millicores"], on["millicores"], grown["millicores"], ""),
            ("polls of heads a second", off["polls_per_s"], on["polls_per_s"], grown["polls_per_s"], f"{clusters}"),
            ("new connections a second", off["connections_per_s"], on["connections_per_s"], grown["connections_per_s"], "0")]
    print(f"\n| {clusters} clusters of 1 + {workers} pods | not scaled | scaled | and 2 more workers each | goal |\n|---|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    missed = clusters <= 1000 and grown["VmHWM"] > MEMORY_MIB
    print(f"{int(not missed)} passed, {int(missed)} failed")
    return missed


if __name__ == "__main__":
    sys.exit(main())
