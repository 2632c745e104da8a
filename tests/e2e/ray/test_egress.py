"""Captures what leaves the pods of Ray: packets and DNS questions of a cluster and a job, with an image that switches nothing off."""

import ipaddress
import socket
import struct
import threading
import time

import real
from cluster import eventually, kubectl, rayjob

ETH_P_ALL = 3
POD_NETWORK = "10.77.128.0/17"  # set in tests/rig/node-up.sh
START_UP_S = 20  # the dashboard's modules look for cloud metadata within seconds of its start


class Capture:
    """Captures every frame of the node's network namespace. It is started before the first pod."""

    def __init__(self, inside):
        self.inside = [ipaddress.ip_network(n) for n in inside]
        self.outside, self.questions, self.stopped = set(), set(), False
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.settimeout(0.5)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stopped:
            try:
                self.frame(self.socket.recv(65536))
            except TimeoutError:
                continue

    def frame(self, data):
        if len(data) < 34 or data[12:14] != b"\x08\x00":
            return
        size, protocol, to = (data[14] & 15) * 4, data[23], ipaddress.ip_address(data[30:34])
        body = data[14 + size:]
        if protocol == socket.IPPROTO_UDP and len(body) > 20 and struct.unpack("!H", body[2:4])[0] == 53:
            self.questions.add(self.name(body[20:]))
        if not (to.is_multicast or to.is_loopback or any(to in n for n in self.inside)):
            self.outside.add(str(to))

    @staticmethod
    def name(question):
        labels, at = [], 0
        while at < len(question) and question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode(errors="replace"))
            at += 1 + question[at]
        return ".".join(labels)

    def foreign(self):
        """The names asked for that are not in the cluster's domain, or are external ones with the cluster's search list appended."""
        return {q for q in self.questions if not q.endswith("cluster.local")
                or any(word in q for word in ("usage-stats", "metadata", "example"))}

    def stop(self):
        self.stopped = True
        self.thread.join(10)
        self.socket.close()


def bare(spec):
    """Removes the parameter disable-usage-stats, which the other tests set."""
    for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
        del group["rayStartParams"]["disable-usage-stats"]
    return spec


def test_nothing_leaves(space, operators):
    """During the life of a cluster, a job, and a step of the autoscaler: the job's task needs a worker, and the cluster has none."""
    (node,) = space.api.get("/api/v1/nodes")["items"]
    service = space.api.get("/api/v1/namespaces/default/services/kubernetes")["spec"]["clusterIP"]
    addresses = [a["address"] + "/32" for a in node["status"]["addresses"] if a["type"] == "InternalIP"]
    services = ipaddress.ip_network(service + "/16", strict=False)
    inside = [POD_NETWORK, str(services), *addresses]
    capture = Capture(inside)
    try:
        operators()
        job = rayjob("j", entrypoint="python -c 'import ray; ray.init(); print(ray.get(ray.remote(num_cpus=1)(lambda: 7).remote()))'")
        job["spec"]["rayClusterSpec"] = bare(real.scaled("c", most=1)["spec"])
        space.start(job)
        name = eventually(lambda: space.job("j").get("status", {}).get("rayClusterName"))
        eventually(lambda: real.workers(space, name), real.START_S)
        space.becomes("j", "Complete", seconds=real.START_S)
        head = real.head(space, name)["metadata"]["name"]
        env = kubectl("-n", space.name, "exec", head, "-c", "ray", "--", "env").stdout
        assert "RAY_USAGE_STATS_ENABLED=0" in env
        time.sleep(START_UP_S)
        assert capture.outside == set() and capture.foreign() == set()
        # To show that the capture works: it sees a packet and a DNS question that do leave.
        kubectl("-n", space.name, "exec", head, "-c", "ray", "--", "python3", "-c",
                "import socket\ntry: socket.getaddrinfo('probe.example', 80)\nexcept OSError: pass\n"
                "s = socket.socket(); s.settimeout(2)\ntry: s.connect(('192.0.2.1', 80))\nexcept OSError: pass\n")
        eventually(lambda: "192.0.2.1" in capture.outside and any(q.startswith("probe.example") for q in capture.questions))
    finally:
        capture.stop()
