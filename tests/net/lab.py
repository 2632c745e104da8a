"""A NAT laboratory: three network namespaces in a row, as many laboratories side by side as one likes.

    near (10.0.0.2) ---- nat (10.0.0.1 | 198.51.100.1) ---- far (198.51.100.2 …)

The program under test runs in `near`, servers listen in `far`, and `nat` masquerades, counts, and does what a test's nftables rules say.
Namespaces live as long as the processes that hold them, and those end with this one: nothing is left behind, whatever happens. Root, or a
kernel that gives users namespaces of their own. Standard library, iproute2, nftables, util-linux.
"""

import ctypes
import json
import os
import socket
import subprocess
import threading

NEAR, GATE, PUBLIC = "10.0.0.2", "10.0.0.1", "198.51.100.1"
API, API2, DNS, PROXY = "198.51.100.2", "198.51.100.3", "198.51.100.53", "198.51.100.80"
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
TOOLS = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}  # where Debian keeps some
libc = ctypes.CDLL(None, use_errno=True)

# Who may pass, what is counted, and `fault`, which the cases fill. Nothing that comes for the NAT itself is answered: one that has
# forgotten a connection is silent unless a case says otherwise.
RULES = """
table ip lab {
    counter sent { }
    counter opened { }
    chain post { type nat hook postrouting priority srcnat; oifname "out" jump masked; }
    chain masked { masquerade; }
    chain own { type filter hook input priority 0; iifname "out" meta l4proto tcp drop; }
    chain pass { type filter hook forward priority 0; iifname "in" jump count; jump fault; }
    chain count {
        counter name sent
        tcp flags & (syn|ack) == syn counter name opened
    }
    chain fault { }
}
"""


def become_root():
    """In a user namespace of our own, for those who are not. Only possible while there is one thread."""
    if os.geteuid() == 0:
        return
    uid, gid = os.geteuid(), os.getegid()
    if libc.unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "no user namespace for the NAT laboratory: run it as root")
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as f:
            f.write(text)


class Place:
    """One network namespace."""

    def __init__(self, name):
        self.name = name
        self.holder = subprocess.Popen(["unshare", "-n", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=TOOLS)
        self.holder.stdin.write(b"\n")
        self.holder.stdin.flush()
        self.holder.stdout.read(1)  # from here on it is in its namespace
        for which in ("all", "default"):  # or its kernel would speak of itself
            self.run("sh", "-c", f"! [ -d /proc/sys/net/ipv6 ] || echo 1 >/proc/sys/net/ipv6/conf/{which}/disable_ipv6")
        self.run("ip", "link", "set", "lo", "up")

    def inside(self, *command):
        return ["nsenter", "-t", str(self.holder.pid), "-n", "--", *map(str, command)]

    def run(self, *command, stdin=None, check=True):
        out = subprocess.run(self.inside(*command), input=stdin, capture_output=True, text=True, timeout=120, check=False, env=TOOLS)
        if check and out.returncode:
            raise RuntimeError(f"{self.name}: {' '.join(map(str, command))}: {out.stderr}")
        return out.stdout

    def call(self, what):
        """what() on a thread that is in the namespace: sockets that it makes belong there, and may be used from anywhere."""
        result = []

        def work():
            fd = os.open(f"/proc/{self.holder.pid}/ns/net", os.O_RDONLY)
            try:
                if libc.setns(fd, CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
                result.append((what(), None))
            except OSError as e:
                result.append((None, e))
            finally:
                os.close(fd)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        value, error = result[0]
        if error:
            raise error
        return value

    def listen(self, host, port):
        return self.call(lambda: socket.create_server((host, port), backlog=128))

    def connect(self, host, port, timeout=60):
        return self.call(lambda: socket.create_connection((host, port), timeout))

    def close(self):
        self.holder.stdin.close()
        self.holder.wait(60)


class Lab:
    def __init__(self, folder):
        self.folder = folder
        self.near, self.nat, self.far = Place("near"), Place("nat"), Place("far")
        self._wire("in", self.near, "eth0")
        self._wire("out", self.far, "eth0")
        self.nat.run("ip", "addr", "add", f"{GATE}/24", "dev", "in")
        self.nat.run("ip", "addr", "add", f"{PUBLIC}/24", "dev", "out")
        self.near.run("ip", "addr", "add", f"{NEAR}/24", "dev", "eth0")
        for address in (API, API2, DNS, PROXY):
            self.far.run("ip", "addr", "add", f"{address}/24", "dev", "eth0")
        self.near.run("ip", "route", "add", "default", "via", GATE)
        self.sysctl(self.nat, "net.ipv4.ip_forward", 1)
        self.nat.run("nft", "-f", "-", stdin=RULES)

    def _wire(self, end, place, other):
        self.nat.run("ip", "link", "add", end, "type", "veth", "peer", "name", other, "netns", place.holder.pid)
        self.nat.run("ip", "link", "set", end, "up")
        place.run("ip", "link", "set", other, "up")

    @staticmethod
    def sysctl(place, name, value):
        """Written by a process that has entered the namespace: /proc/sys shows each its own."""
        place.run("sh", "-c", f"echo {value} >/proc/sys/{name.replace('.', '/')}")

    def nft(self, *lines):
        self.nat.run("nft", "-f", "-", stdin="\n".join(lines) + "\n")

    def fault(self, *rules):
        """These rules, and no others, stand between both sides from now on."""
        self.nft("flush chain ip lab fault", *(f"add rule ip lab fault {r}" for r in rules))

    def forget_idle(self, seconds):
        """A NAT that forgets who was silent for so long, and takes no packet from the middle of a connection it does not know."""
        self.sysctl(self.nat, "net.netfilter.nf_conntrack_tcp_loose", 0)
        self.sysctl(self.nat, "net.netfilter.nf_conntrack_tcp_timeout_established", seconds)

    def forget_all(self):
        self.nat.run("conntrack", "-F")

    def counted(self):
        """What came from `near` so far: {"sent": packets, "opened": connections}."""
        found = json.loads(self.nat.run("nft", "-j", "list", "counters"))["nftables"]
        return {c["counter"]["name"]: c["counter"]["packets"] for c in found if "counter" in c}

    def command(self, *command, resolver=DNS, hosts=""):
        """A command line that runs in `near` with a resolv.conf and a hosts file of its own."""
        resolv, own = self.folder / "resolv.conf", self.folder / "hosts"
        resolv.write_text(f"nameserver {resolver}\n")
        own.write_text(f"127.0.0.1 localhost\n{hosts}\n")
        mount = f'mount --bind {resolv} "$(readlink -f /etc/resolv.conf)" && mount --bind {own} /etc/hosts && exec "$@"'
        return self.near.inside("unshare", "-m", "sh", "-c", mount, "sh", *command)

    def close(self):
        for place in (self.near, self.nat, self.far):
            place.close()
