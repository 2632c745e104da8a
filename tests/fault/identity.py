"""Certificates, kubeconfigs, a CONNECT proxy and an operator at a terminal: what block H puts between the operator and the API server."""

import base64
import os
import select
import socket
import ssl
import subprocess
import threading

from cluster import RUN
from processes import Operator
from proxy import Proxy

EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def openssl(*args):
    out = subprocess.run(["openssl", *map(str, args)], capture_output=True, text=True, timeout=60, check=False)
    assert out.returncode == 0, out.stderr


class Authority:
    """A CA of a case's own."""

    def __init__(self, folder, name="own"):
        self.folder, self.name = folder, name
        self.crt, self.key = folder / f"{name}-ca.crt", folder / f"{name}-ca.key"
        openssl("req", "-x509", *EC, "-days", 30, "-subj", f"/CN={name}-ca", "-keyout", self.key, "-out", self.crt,
                "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    def server(self, san="IP:127.0.0.1", signed=True):
        """A server's TLS context with a certificate of ours. signed False: nobody vouches for it."""
        crt, key = self.folder / f"{self.name}.crt", self.folder / f"{self.name}.key"
        ca = ("-CA", self.crt, "-CAkey", self.key) if signed else ()
        openssl("req", "-x509", *EC, "-days", 30, "-subj", "/CN=server", "-keyout", key, "-out", crt, *ca,
                "-addext", "basicConstraints=critical,CA:FALSE", "-addext", "extendedKeyUsage=serverAuth",
                "-addext", f"subjectAltName={san}")
        return serving(crt, key)

    def expired(self):
        """The same with a certificate of last year: only `openssl ca` gives dates."""
        crt, key, request, config = (self.folder / f"expired.{end}" for end in ("crt", "key", "csr", "cnf"))
        for name, text in (("index", ""), ("serial", "01\n")):
            (self.folder / name).write_text(text)
        config.write_text("[ca]\ndefault_ca=c\n[c]\n"
                          f"database={self.folder}/index\nserial={self.folder}/serial\nnew_certs_dir={self.folder}\n"
                          "default_md=sha256\npolicy=p\nx509_extensions=e\n[p]\ncommonName=supplied\n"
                          "[e]\nsubjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")
        openssl("req", "-new", *EC, "-subj", "/CN=server", "-keyout", key, "-out", request)
        openssl("ca", "-batch", "-notext", "-config", config, "-cert", self.crt, "-keyfile", self.key, "-in", request, "-out", crt,
                "-startdate", "20240101000000Z", "-enddate", "20250101000000Z")
        return serving(crt, key)


def serving(crt, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(crt, key)
    return context


def only_tls_1_1(context):
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


class ProxyOnV6(Proxy):
    """The fault proxy on [::1]."""

    def __init__(self, certificates, context):
        super().__init__(certificates, context)
        self.shut()
        self.listener.close()
        self.listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()


class ConnectProxy:
    """An HTTP proxy that knows CONNECT and nothing else."""

    def __init__(self):
        self.listener, self.asked = socket.create_server(("127.0.0.1", 0)), []
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near):
        head = b""
        while b"\r\n\r\n" not in head:
            data = near.recv(4096)
            if not data:
                return
            head += data
        method, target, _ = head.split(b"\r\n")[0].decode().split(" ", 2)
        self.asked.append((method, target))
        host, _, port = target.rpartition(":")
        far = socket.create_connection((host, int(port)))
        near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        self._pump(near, far)

    @staticmethod
    def _pump(a, b):
        other = {a: b, b: a}
        try:
            while True:
                for one in select.select([a, b], [], [])[0]:
                    data = one.recv(65536)
                    if not data:
                        return
                    other[one].sendall(data)
        except OSError:
            pass  # one of them has ended
        finally:
            a.close()
            b.close()

    def close(self):
        self.listener.close()


class AtTerminal(Operator):
    """An operator whose stderr is a terminal: only then may a kubeconfig's plugins run."""

    def start(self):
        near, far = os.openpty()
        command = [self.program, "operator", "--kubeconfig", self.config, "--namespace", self.namespace]
        command += ["--health-addr", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0", *self.flags]
        self.began = self.log_path.stat().st_size if self.log_path.exists() else 0
        self.log_path.touch()
        self.process = subprocess.Popen(command, stdout=far, stderr=far, stdin=subprocess.DEVNULL)
        os.close(far)
        threading.Thread(target=self._copy, args=(near,), daemon=True).start()
        return self

    def _copy(self, near):
        with self.log_path.open("ab", buffering=0) as log, os.fdopen(near, "rb", buffering=0) as terminal:
            try:
                while data := terminal.read(4096):
                    log.write(data)
            except OSError:
                pass  # the other end is closed: the process has ended


def encoded(path):
    return base64.b64encode(path.read_bytes()).decode()


def write_config(path, cluster, user, namespace, more_contexts="", current="rig"):
    path.write_text(f"""apiVersion: v1
kind: Config
clusters: [{{name: rig, cluster: {{{cluster}}}}}, {{name: nowhere, cluster: {{server: "https://127.0.0.1:9"}}}}]
users: [{{name: operator, user: {{{user}}}}}]
contexts: [{{name: rig, context: {{cluster: rig, user: operator, namespace: "{namespace}"}}}}{more_contexts}]
current-context: {current}
""")
    path.chmod(0o600)
    return path


__all__ = ["RUN", "AtTerminal", "Authority", "ConnectProxy", "ProxyOnV6", "encoded", "only_tls_1_1", "write_config"]
