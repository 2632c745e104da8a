"""Two independent object stores with S3's protocol: moto from the Python index, versitygw from the Go module proxy. Each is built once,
in the rig's folder, and runs on loopback for the tests of one module."""

import contextlib
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path

import pytest

from cluster import eventually
from rig import RIG

MOTO, VERSITYGW = "5.2.5", "1.8.0"
KEYS = {"AWS_ACCESS_KEY_ID": "testkey", "AWS_SECRET_ACCESS_KEY": "hush-hush-secret", "AWS_REGION": "us-east-1"}


def moto():
    folder = RIG / f"moto-{MOTO}"
    program = folder / "bin" / "moto_server"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", f"moto[server,s3]=={MOTO}"], check=True)
    return program


def versitygw():
    program = RIG / "bin" / f"versitygw-{VERSITYGW}" / "versitygw"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=RIG) as folder:
            subprocess.run(["go", "install", f"github.com/versity/versitygw/cmd/versitygw@v{VERSITYGW}"], check=True, timeout=1200,
                           env={**os.environ, "GOBIN": folder, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"})
            os.rename(Path(folder) / "versitygw", program)
    return program


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Store:
    def __init__(self, kind, folder, command, scheme="http", host="127.0.0.1"):
        self.kind, self.folder, self.port = kind, folder, free_port()
        self.url = f"{scheme}://{host}:{self.port}"
        self.log = folder / f"{kind}.log"
        self.command = command(self.port)
        self.start()

    def start(self):
        env = {**os.environ, "ROOT_ACCESS_KEY": KEYS["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY": KEYS["AWS_SECRET_ACCESS_KEY"]}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env)
        eventually(self.answers, 60)

    def answers(self):
        with contextlib.suppress(OSError):
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        return False

    def bucket(self, name):
        if self.kind == "moto":
            urllib.request.urlopen(urllib.request.Request(f"{self.url}/{name}", method="PUT")).close()
        else:
            (self.folder / "root" / name).mkdir()
        return name

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


def run_moto(folder):
    return Store("moto", folder, lambda port: [moto(), "-H", "127.0.0.1", "-p", str(port)])


def run_versitygw(folder, *flags, **more):
    (folder / "root").mkdir(exist_ok=True)
    def command(port):
        return [versitygw(), "--port", f"127.0.0.1:{port}", "--quiet", "--keep-alive", *flags, "posix", folder / "root"]

    return Store("versitygw", folder, command, **more)


class Tunnel:
    """An HTTP proxy for CONNECT that connects every host to one port of this machine. asked: the HOST:PORT of each CONNECT."""

    def __init__(self, port):
        self.to, self.asked, self.listener = port, [], socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()

    def serve(self, near):
        head = b""
        while b"\r\n\r\n" not in head:
            head += near.recv(4096)
        self.asked.append(head.split()[1].decode())
        near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with contextlib.suppress(OSError), near, socket.create_connection(("127.0.0.1", self.to)) as far:
            while True:
                for one in select.select([near, far], [], [])[0]:
                    data = one.recv(65536)
                    if not data:
                        return
                    (far if one is near else near).sendall(data)


@pytest.fixture(scope="module", params=[run_moto, run_versitygw], ids=["moto", "versitygw"])
def store(request, tmp_path_factory):
    made = request.param(tmp_path_factory.mktemp("store"))
    made.bucket("bucket")
    yield made
    made.stop()
