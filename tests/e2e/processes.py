"""Processes around the cluster: the operator under test, and a door before the API server that a test can shut."""

import http.client
import os
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

from cluster import MOBULA, PATIENCE, RUN, eventually, kubectl, unless

ACCOUNT = "mobula"


def config_of(space, folder, account=ACCOUNT, name="operator"):
    """A kubeconfig for the cluster of this namespace, with a token of this account in it."""
    bearer = space.kubectl("create", "token", account, "--duration=1h").stdout.strip()
    port, ca = int((space.api.run / "port").read_text()), space.api.run / "pki" / "ca.crt"
    return kubeconfig(folder / f"{name}.kubeconfig", space.name, f'token: "{bearer}"', port, ca)


def token(namespace, account=ACCOUNT):
    return kubectl("create", "token", account, "-n", namespace, "--duration=1h").stdout.strip()


def kubeconfig(path, namespace, user, port=None, ca=None):
    """A kubeconfig for the rig; user is the text of its user entry, such as `token: "…"`."""
    port = port or int((RUN / "port").read_text())
    path.write_text(f"""apiVersion: v1
kind: Config
clusters: [{{name: rig, cluster: {{server: "https://127.0.0.1:{port}", certificate-authority: "{ca or RUN / 'pki' / 'ca.crt'}"}}}}]
users: [{{name: operator, user: {{{user}}}}}]
contexts: [{{name: rig, context: {{cluster: rig, user: operator, namespace: "{namespace}"}}}}]
current-context: rig
""")
    path.chmod(0o600)
    return path


class Operator:
    """`mobula operator` as a process, under the service account that `mobula install --print` made, and nothing more."""

    program = MOBULA

    def __init__(self, folder, namespace, *flags, name="operator", config=None, program=None):
        self.namespace, self.flags, self.name, self.program = namespace, flags, name, program or type(self).program
        self.user = f"system:serviceaccount:{namespace}:{ACCOUNT}"
        self.log_path = folder / f"{name}.log"
        self.config = config or kubeconfig(folder / f"{name}.kubeconfig", namespace, f'token: "{token(namespace)}"')
        self.process, self.began = None, 0
        self.start()

    def start(self):
        # Fake nodes give their pods addresses that are nobody's: no head is asked there.
        usual = (f"--namespace={self.namespace}", f"--autoscaler={os.environ.get('E2E_AUTOSCALER', 'off')}",
                 "--health-addr=127.0.0.1:0", "--metrics-addr=127.0.0.1:0")
        if "--all-namespaces" in self.flags:
            usual = usual[1:]
        command = [self.program, "operator", "--kubeconfig", self.config, *unless(self.flags, *usual), *self.flags]
        self.began = self.log_path.stat().st_size if self.log_path.exists() else 0
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        return self

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            if how == signal.SIGTERM:
                eventually(lambda: self.process.poll() is not None or self.takes_sigterm(), step=0.02)
            self.process.send_signal(how)
            self.process.wait(60)
        return self.process.returncode

    def takes_sigterm(self):
        """Whether the process blocks SIGTERM, because it reads it from a signalfd. Before that the signal would kill the process."""
        blocked = re.search(r"^SigBlk:\s*(\w+)$", Path(f"/proc/{self.process.pid}/status").read_text(), re.MULTILINE)
        return blocked is not None and int(blocked[1], 16) >> (signal.SIGTERM - 1) & 1

    def log(self):
        """What this process has said, without those before it."""
        return self.log_path.read_bytes()[self.began:].decode()

    def lines(self, *words):
        """Lines of the log in which all the words occur."""
        return [line for line in self.log().splitlines() if all(w in line for w in words)]

    def says(self, *words, seconds=PATIENCE):
        def said():
            found = self.lines(*words)
            assert found, f"no line with {words} in:\n{self.log()}"
            return found[0]

        return eventually(said, seconds)

    def get(self, path):
        """(status, text) of the operator's own endpoints; the log tells the ports."""
        flag = {"/metrics": "metrics-addr", "/config": "status-addr", "/healthz/run": "status-addr"}.get(path, "health-addr")
        port = int(re.search(r'port"?[=:](\d+)', self.says("listening", flag)).group(1))
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        link.request("GET", path)
        answer = link.getresponse()
        return answer.status, answer.read().decode()

    def metrics(self):
        text = self.get("/metrics")[1]
        return {k: float(v) for k, v in (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))}

    def ready(self):
        eventually(lambda: self.get("/readyz") == (200, "ok\n"))
        return self

    def memory_kib(self):
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1])
        raise AssertionError("the operator has ended: " + self.log())


class Door:
    """A TCP forwarder before the API server. shut() ends all connections and refuses new ones; open() lets them through again."""

    def __init__(self):
        self.to = int((RUN / "port").read_text())
        self.listener, self.pairs = None, []
        self.port = 0
        self.open()

    def open(self):
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()
        return self

    def shut(self):
        if self.listener.fileno() < 0:
            return
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for s in self.pairs:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended by itself
        self.pairs = []

    def _accept(self, listener):
        while True:
            try:
                near = listener.accept()[0]
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.to))
            self.pairs += [near, far]
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(a, b), daemon=True).start()

    @staticmethod
    def _pump(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
