"""An installation and the life of a RayCluster where no route leads anywhere but to the API server, and every packet is looked at."""

import contextlib
import json
import socket
import struct
import subprocess
import threading

import pytest

from lab import API, GATE, NEAR, TOOLS
from operators import MOBULA, Bench, Real, eventually, raycluster, rig

ETH_ALL, ARP, IPV4, TCP = 0x0003, 0x0806, 0x0800, 6


class Capture:
    """Every frame that leaves or enters `near`. foreign: those that are no TCP between it and the API server's port."""

    def __init__(self, place):
        self.frames, self.foreign = 0, []
        self.sock = place.call(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_ALL)))
        self.sock.bind(("eth0", 0))
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with contextlib.suppress(OSError):
            while True:
                frame = self.sock.recv(65536)
                self.frames += 1
                if not self.expected(frame):
                    self.foreign.append(frame[:60].hex())

    @staticmethod
    def expected(frame):
        kind = struct.unpack(">H", frame[12:14])[0]
        if kind == ARP:
            ends = {socket.inet_ntoa(frame[28:32]), socket.inet_ntoa(frame[38:42])}
            return ends == {NEAR, GATE}
        if kind != IPV4 or frame[23] != TCP:
            return False
        at = 14 + (frame[14] & 15) * 4
        ports = struct.unpack(">HH", frame[at : at + 4])
        source, target = [(socket.inet_ntoa(frame[26 + 4 * i : 30 + 4 * i]), ports[i]) for i in (0, 1)]
        return (source[0], target) == (NEAR, (API, 6443)) or (target[0], source) == (NEAR, (API, 6443))


@pytest.fixture
def room(tmp_path, servers, pki, stranger):
    """A laboratory whose near side has a route to the API server and to nothing else."""
    bench = Bench(tmp_path / "room", servers, pki, stranger, real=True)
    near = bench.lab.near
    near.run("ip", "route", "del", "default")
    near.run("ip", "route", "add", f"{API}/32", "via", GATE)
    yield bench
    bench.close()


def admin(bench):
    """A kubeconfig whose token may do everything, as the one who installs has it."""
    name = f"admin-{bench.model.namespace}"
    Real.kubectl("create", "serviceaccount", "admin", "-n", bench.model.namespace)
    Real.kubectl("create", "clusterrolebinding", name, "--clusterrole=cluster-admin", f"--serviceaccount={bench.model.namespace}:admin")
    return name, bench.kubeconfig("admin.config", Real.kubectl("create", "token", "admin", "-n", bench.model.namespace).strip())


def test_nothing_else_is_contacted(room):
    ns, near = room.model.namespace, room.lab.near
    capture = Capture(near)
    binding, config = admin(room)

    def inside(*command, stdin=None, statuses=(0,)):
        out = subprocess.run(room.lab.command(*command), input=stdin, capture_output=True, text=True, timeout=300, check=False, env=TOOLS)
        assert out.returncode in statuses, f"{command}: {out.returncode} {out.stderr}{out.stdout}"
        return out.stdout

    def kubectl(*args, stdin=None):
        return inside(rig.KUBECTL, "--kubeconfig", config, "-n", ns, *args, stdin=stdin)

    # The install, as README has it; its Deployment has no image on these nodes, so the operator runs here.
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=inside(MOBULA, "install", "--print", "--namespace", ns))
    inside(MOBULA, "check", "--kubeconfig", config, "-n", ns, "--operator-namespace", ns, statuses=(0, 3, 4))
    assert API in inside(MOBULA, "egress", "--kubeconfig", config)
    room.start()
    # The life of a cluster: made, scaled both ways, explained, deleted.
    text = json.dumps(raycluster(2))
    inside(MOBULA, "validate", "-f", "-", stdin=text)
    kubectl("apply", "-f", "-", stdin=text)
    assert eventually(lambda: room.settled(2), 60)[0], room.log()
    room.scale(4)
    assert eventually(lambda: room.settled(4), 60)[0], room.log()
    assert "small" in inside(MOBULA, "explain", "cluster", "c", "--kubeconfig", config, "-n", ns)
    kubectl("delete", "raycluster.ray.io", "c", "--wait=true", "--timeout=60s")
    assert eventually(lambda: room.pods.alive() == 0, 60)[0], room.log()
    inside("kill", "-TERM", str(room.process.pid))
    assert room.process.wait(60) == 0, room.log()
    kubectl("delete", "--ignore-not-found", "-f", "-", stdin=inside(MOBULA, "uninstall", "--namespace", ns))
    Real.kubectl("delete", "clusterrolebinding", binding)
    assert capture.foreign == [] and capture.frames > 200, (capture.frames, capture.foreign[:5])
    # The capture sees what leaves: a datagram to the gateway does.
    near.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", (GATE, 9)))
    assert eventually(lambda: capture.foreign, 10)[0], "the capture is blind"
