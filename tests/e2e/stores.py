"""Object stores that run here: moto from the Python index and versitygw from the Go module proxy speak S3's protocol, Azurite from npm
Azure's, fake-gcs-server from the Go module proxy that of Google Cloud Storage. Each is built once, in the rig's folder, and runs on
loopback for the tests of one module."""

import base64
import contextlib
import email.utils
import hmac
import json
import os
import select
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from cluster import eventually
from rig import RIG

MOTO, VERSITYGW, AZURITE, FAKE_GCS = "5.2.5", "1.8.0", "3.35.0", "1.56.1"
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


def azurite():
    folder = RIG / f"azurite-{AZURITE}"
    program = folder / "node_modules" / ".bin" / "azurite-blob"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, f"azurite@{AZURITE}"], check=True,
                       timeout=1200)
    return program


def fake_gcs():
    program = RIG / "bin" / f"fake-gcs-server-{FAKE_GCS}" / "fake-gcs-server"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=RIG) as folder:
            subprocess.run(["go", "install", f"github.com/fsouza/fake-gcs-server@v{FAKE_GCS}"], check=True, timeout=1200,
                           env={**os.environ, "GOBIN": folder, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"})
            os.rename(Path(folder) / "fake-gcs-server", program)
    return program


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Store:
    scheme = "s3"  # of the URLs of its objects
    env = KEYS     # credentials of a command

    def __init__(self, kind, folder, command, scheme="http", host="127.0.0.1", path=""):
        self.kind, self.folder, self.port = kind, folder, free_port()
        self.path = path
        self.url = f"{scheme}://{host}:{self.port}{path}"
        self.log = folder / f"{kind}.log"
        self.command = command(self.port)
        self.start()

    def start(self):
        env = {**os.environ, "ROOT_ACCESS_KEY": KEYS["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY": KEYS["AWS_SECRET_ACCESS_KEY"],
               "AZURITE_ACCOUNTS": f"{ACCOUNT}:{ACCOUNT_KEY}"}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env)
        eventually(self.answers, 60)

    def answers(self):
        with contextlib.suppress(OSError):
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        return False

    def bucket(self, name):
        if self.kind == "gcs":
            body = json.dumps({"name": name}).encode()
            to = f"{self.url}/storage/v1/b?project=p"
            urllib.request.urlopen(urllib.request.Request(to, body, {"Content-Type": "application/json"})).close()
        elif self.kind == "azurite":
            make_container(self.url, name)
        elif self.kind == "moto":
            urllib.request.urlopen(urllib.request.Request(f"{self.url}/{name}", method="PUT")).close()
        else:
            (self.folder / "root" / name).mkdir()
        return name

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


ACCOUNT = "devstoreaccount1"  # of the emulator; the key is made by the test
ACCOUNT_KEY = base64.b64encode(b"a key of this test, of 32 bytes!").decode()


def make_container(url, name):
    date = email.utils.formatdate(usegmt=True)
    text = f"PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{date}\nx-ms-version:2018-11-09\n/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    sig = base64.b64encode(hmac.new(base64.b64decode(ACCOUNT_KEY), text.encode(), "sha256").digest()).decode()
    headers = {"x-ms-date": date, "x-ms-version": "2018-11-09", "Authorization": f"SharedKey {ACCOUNT}:{sig}", "Content-Length": "0"}
    tls = ssl._create_unverified_context()  # its certificate was made by the test
    urllib.request.urlopen(urllib.request.Request(f"{url}/{name}?restype=container", method="PUT", headers=headers), context=tls).close()


def run_azurite(folder, *flags, **more):
    made = Store("azurite", folder, lambda port: [azurite(), "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location",
                                                  folder / "azurite", "--skipApiVersionCheck", *flags], path=f"/{ACCOUNT}", **more)
    made.scheme, made.env = "azure", {"AZURE_STORAGE_ACCOUNT": ACCOUNT, "AZURE_STORAGE_KEY": ACCOUNT_KEY}
    return made


def run_gcs(folder):
    """The RSA key of the service account is made by the test."""
    made = Store("gcs", folder, lambda port: [fake_gcs(), "-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", str(port),
                                              "-public-host", f"127.0.0.1:{port}"])
    key = folder / "key.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", key], check=True,
                   capture_output=True)
    file = folder / "account.json"
    file.write_text(json.dumps({"type": "service_account", "client_email": "ray@project.iam.gserviceaccount.com",
                                "private_key": key.read_text()}))
    made.scheme, made.env, made.key = "gs", {"GOOGLE_APPLICATION_CREDENTIALS": str(file)}, key
    return made


def run_moto(folder):
    return Store("moto", folder, lambda port: [moto(), "-H", "127.0.0.1", "-p", str(port)])


def run_versitygw(folder, *flags, listen="127.0.0.1", **more):
    (folder / "root").mkdir(exist_ok=True)
    def command(port):
        return [versitygw(), "--port", f"{listen}:{port}", "--quiet", "--keep-alive", *flags, "posix", folder / "root"]

    return Store("versitygw", folder, command, **more)


class Between:
    """A server between client and store: serve(connection) has a thread of its own for each connection."""

    def __init__(self, address="127.0.0.1"):
        self.listener = socket.create_server((address, 0))
        self.url = f"http://{address}:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()


class Lost(Between):
    """The first answer to the call that completes an upload in parts is lost: the store has carried it out."""

    def __init__(self, store):
        self.to, self.lost = store.port, 0
        super().__init__()

    def serve(self, near):
        with contextlib.suppress(OSError), near, socket.create_connection(("127.0.0.1", self.to)) as far:
            ends = False
            while True:
                for one in select.select([near, far], [], [])[0]:
                    data = one.recv(65536)
                    if not data or (one is far and ends):
                        return
                    if one is near and not self.lost and data.startswith(b"POST ") and b"uploadId=" in data.split(b"\r\n")[0]:
                        self.lost, ends = 1, True
                    (far if one is near else near).sendall(data)


class Tunnel(Between):
    """An HTTP proxy for CONNECT that connects every host to one port of this machine. asked: the HOST:PORT of each CONNECT."""

    def __init__(self, port):
        self.to, self.asked = port, []
        super().__init__()

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


class Cut(Between):
    """A connection to a store that breaks, and is refused, after so many bytes to it."""

    def __init__(self, store, most=2**62, **more):
        self.store, self.most, self.sent = store, most, 0
        super().__init__(**more)
        self.url += getattr(store, "path", "")

    def serve(self, near):
        with contextlib.suppress(OSError), near, socket.create_connection(("127.0.0.1", self.store.port)) as far:
            while self.sent < self.most:
                for one in select.select([near, far], [], [])[0]:
                    data = one.recv(65536)
                    if not data:
                        return
                    self.sent += len(data) if one is near else 0
                    (far if one is near else near).sendall(data)


def ended_url(storage, url, folder):
    """Stores an object, reads it by a signed URL, and returns what the store answers when the signed URL has ended. storage: runs
    `mobula storage`."""
    (folder / "file").write_text("read in time")
    storage("put", url, "-f", folder / "file")
    signed = storage("sign", url, "--valid", "3s").decode().strip()
    assert urllib.request.urlopen(signed).read() == b"read in time"
    time.sleep(4)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(signed)
    storage("rm", url)
    return refused.value


@pytest.fixture(scope="module", params=[run_moto, run_versitygw], ids=["moto", "versitygw"])
def store(request, tmp_path_factory):
    made = request.param(tmp_path_factory.mktemp("store"))
    made.bucket("bucket")
    yield made
    made.stop()
