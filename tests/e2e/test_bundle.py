"""A bundle that openssl has signed: no changed bit is believed, and the commands of docs/airgap.md carry it to where pods get it from."""

import base64
import collections
import concurrent.futures
import hashlib
import http.client
import http.server
import io
import json
import os
import random
import re
import shutil
import subprocess
import tarfile
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

import pytest

from cluster import MOBULA, ROOT, manifests
from hub import certificate
from test_image import image, registry, run_registry, tool  # noqa: F401 (fixtures)

FLIPS = 10000
VERSION = "0.1.0"
PARTS = ["LICENSE", "bin/amd64/mobula", "bin/arm64/mobula", "image/mobula.tar", "images.txt", "manifests/crds.yaml",
         "manifests/operator.yaml", "sbom.spdx.json", "sbom.cdx.json"]


def archive(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def write_bundle(folder, contents):
    """mobula-VERSION.bundle and mobula.pub, as airgap/bundle makes them."""
    key = folder / "private.pem"
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key], check=True, capture_output=True)
    subprocess.run(["openssl", "ec", "-in", key, "-pubout", "-out", folder / "mobula.pub"], check=True, capture_output=True)
    files = {name: name.encode() for name in PARTS} | contents
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items())
    body = archive({f"mobula-{VERSION}/{name}": data for name, data in {"SHA256SUMS": sums.encode(), **files}.items()})
    (folder / "body").write_bytes(body)
    signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", key, folder / "body"], check=True, capture_output=True).stdout
    bundle = folder / f"mobula-{VERSION}.bundle"
    bundle.write_bytes(archive({"SIGNATURE": signature})[:1024] + body)
    return bundle


def verify(bundle, key):
    return subprocess.run([MOBULA, "bundle", "verify", "-f", bundle, "--key", key], capture_output=True, text=True, timeout=60, check=False)


def test_no_changed_bit_is_believed(tmp_path):
    good = write_bundle(tmp_path, {})
    whole, key = good.read_bytes(), tmp_path / "mobula.pub"
    assert verify(good, key).returncode == 0
    bits = random.Random(FLIPS).sample(range(len(whole) * 8), FLIPS)

    def believed(worker):
        """Those of this worker's bits whose change was not refused."""
        bad, found = tmp_path / f"bad{worker}", []
        for bit in bits[worker::4]:
            changed = bytearray(whole)
            changed[bit // 8] ^= 1 << bit % 8
            bad.write_bytes(changed)
            if verify(bad, key).returncode != 1:
                found.append(bit)
        return found

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert [bit for found in pool.map(believed, range(4)) for bit in found] == []


def create(*flags):
    out = subprocess.run([MOBULA, "bundle", "create", *flags], capture_output=True, text=True, timeout=60, check=False)
    return out.returncode, out.stderr


def test_a_folder_becomes_a_bundle_again(tmp_path):
    """What load has written, with a page more, signed by another key: openssl stands between the two parts of create."""
    first = write_bundle(tmp_path, {})
    folder = tmp_path / "new" / f"mobula-{VERSION}"
    folder.parent.mkdir()
    load = [MOBULA, "bundle", "load", "-f", first, "--key", tmp_path / "mobula.pub", "--to", folder]
    subprocess.run(load, check=True, capture_output=True, timeout=60)
    (folder / "docs").mkdir()
    (folder / "docs/ours.md").write_text("# What our bank adds\n")
    body, signature, key, public, bundle = (tmp_path / n for n in ("unsigned", "signature", "own.pem", "own.pub", "own.bundle"))
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key], check=True, capture_output=True)
    subprocess.run(["openssl", "ec", "-in", key, "-pubout", "-out", public], check=True, capture_output=True)
    assert create("--from", folder, "-f", body) == (0, "")
    subprocess.run(["openssl", "dgst", "-sha256", "-sign", key, "-out", signature, body], check=True)
    signed = ("--from", folder, "--signature", signature, "-f", bundle)
    status, said = create(*signed, "--key", tmp_path / "mobula.pub")
    assert status == 1 and "signature is not by this key" in said and not bundle.exists()
    assert create(*signed, "--key", public) == (0, "")
    assert verify(bundle, public).returncode == 0
    with tarfile.open(bundle) as tar:
        names = tar.getnames()
        assert names[:2] == ["SIGNATURE", f"mobula-{VERSION}/SHA256SUMS"] and f"mobula-{VERSION}/docs/ours.md" in names
        assert {(m.uid, m.gid, m.mtime) for m in tar.getmembers()} == {(0, 0, 0)}
    status, said = create(*signed, "--key", public)
    assert status == 1 and "File exists" in said
    assert create("--from", folder)[0] == 2 and create(*signed)[0] == 2


def test_a_throwaway_key_is_called_one():
    def says(*flags):
        return subprocess.run(["make", "-s", "bundle-key", *flags], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT).stdout

    assert "throwaway key" in says() and "throwaway key" not in says("KEY=mine.pem")


@pytest.fixture
def short():
    """A folder with a short name: podman wants one."""
    folder = tempfile.mkdtemp(prefix="m", dir="/tmp")
    yield Path(folder)
    shutil.rmtree(folder, ignore_errors=True)


def test_podman_loads_the_image(image, short):  # noqa: F811
    if os.geteuid() != 0:
        pytest.skip("podman's storage is made as root here")
    podman = [tool("podman"), "--root", short / "root", "--runroot", short / "run", "--storage-driver", "vfs"]
    out = subprocess.run([*podman, "load", "-q", "-i", image], capture_output=True, text=True, timeout=120, check=False)
    assert out.returncode == 0, out.stderr
    names = subprocess.run([*podman, "images", "--format", "{{.Repository}}:{{.Tag}}"], capture_output=True, text=True, check=True).stdout
    assert "registry.example:5000/mobula:1.0" in names


def test_docker_loads_the_image(image):  # noqa: F811
    """Where there is one whose daemon runs."""
    docker = tool("docker")
    if subprocess.run([docker, "info"], capture_output=True, timeout=60, check=False).returncode != 0:
        pytest.skip("docker has no daemon here")
    subprocess.run([docker, "load", "-q", "-i", image], capture_output=True, timeout=120, check=True)
    names = ["registry.example:5000/mobula:1.0-amd64", "registry.example:5000/mobula:1.0-arm64"]
    listed = subprocess.run([docker, "images", "--format", "{{.Repository}}:{{.Tag}}"], capture_output=True, text=True, check=True).stdout
    subprocess.run([docker, "rmi", *names], capture_output=True, timeout=120, check=False)
    assert set(names) <= set(listed.split())


def test_containerd_imports_the_image(image, tmp_path):  # noqa: F811
    if os.geteuid() != 0:
        pytest.skip("containerd needs root")
    config, sock = tmp_path / "config.toml", tmp_path / "containerd.sock"
    config.write_text(f'version = 2\nroot = "{tmp_path}/root"\nstate = "{tmp_path}/state"\n'
                      'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n'
                      f'[grpc]\naddress = "{sock}"\n[ttrpc]\naddress = "{sock}.ttrpc"\n')
    daemon = subprocess.Popen([tool("containerd"), "--config", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        ctr = [tool("ctr"), "--address", sock, "--timeout", "20s", "-n", "k8s.io", "images"]
        importing = [*ctr, "import", "--all-platforms", "--no-unpack", "--snapshotter", "native", image]
        out = subprocess.run(importing, capture_output=True, text=True, timeout=120, check=False)
        assert out.returncode == 0, out.stderr
        listed = subprocess.run([*ctr, "list"], capture_output=True, text=True, timeout=60, check=True).stdout
        assert "registry.example:5000/mobula:1.0" in listed and "linux/amd64" in listed and "linux/arm64" in listed
    finally:
        daemon.terminate()
        daemon.wait(60)


def commands():
    """The indented lines of docs/airgap.md."""
    return [line.strip() for line in (ROOT / "docs/airgap.md").read_text().splitlines() if re.match(r" {4}\S", line)]


def test_the_commands_of_the_page(image, registry, tmp_path):  # noqa: F811
    """Those up to the cluster, word for word: programs by their names, and the page's registry is the one of this test."""
    write_bundle(tmp_path, {"image/mobula.tar": image.read_bytes(), "bin/amd64/mobula": MOBULA.read_bytes(),
                            "manifests/crds.yaml": manifests("--crds-only").encode(), "LICENSE": (ROOT / "LICENSE").read_bytes(),
                            **{f"examples/{f.name}": f.read_bytes() for f in (ROOT / "airgap/examples").glob("*.yaml")}})
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mobula").symlink_to(MOBULA)
    skopeo = tmp_path / "bin/skopeo"
    skopeo.write_text(f'#!/bin/sh\nwhat=$1\nshift\nexec {tool("skopeo")} --insecure-policy "$what" --dest-tls-verify=false "$@"\n')
    skopeo.chmod(0o755)
    kubectl = tmp_path / "bin/kubectl"
    kubectl.write_text("#!/bin/sh\ncat >applied\n")
    kubectl.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    lines = [line for line in commands() if not re.match(r"make |ctr |mobula check", line)]
    script = "set -e\n" + "\n".join(lines).replace("registry.bank.example:5000", registry)
    out = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path, env=env)
    assert out.returncode == 0, out.stderr
    assert f'image: "{registry}/ray/mobula:{VERSION}"' in (tmp_path / "applied").read_text()
    assert len(lines) >= 5


def load(folder, *flags):
    command = [MOBULA, "bundle", "load", "-f", folder / f"mobula-{VERSION}.bundle", "--key", folder / "mobula.pub", *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def digests(archive_path):
    """NAME:TAG and the digest of each image of an OCI archive."""
    with tarfile.open(archive_path) as tar:
        index = json.load(tar.extractfile("index.json"))
    return {m["annotations"]["io.containerd.image.name"].rsplit("/", 1)[1]: m["digest"] for m in index["manifests"]}


def test_load_pushes_to_a_registry(image, registry, tmp_path):  # noqa: F811
    """Under the prefix, with the same digests, a further image as well, and again without sending what is there."""
    write_bundle(tmp_path, {"image/mobula.tar": image.read_bytes()})
    layer = tmp_path / "amd64"
    layer.write_bytes(b"\x7fELF" + bytes(14) + b"\x3e\x00" + random.Random(1).randbytes(9 << 20))  # more than two pieces
    subprocess.run(["scratch-image/build", tmp_path / "other.tar", "docker.io/some/ray:2.52", f"amd64={layer}"], check=True)
    wanted = {**digests(image), **digests(tmp_path / "other.tar")}
    for _ in range(2):
        out = load(tmp_path, "--to", f"http://{registry}/bank/ray/", "--image", tmp_path / "other.tar")
        assert out.returncode == 0, out.stderr
        assert out.stdout.splitlines()[:2] == [f"{registry}/bank/ray/{name}@{digest}" for name, digest in wanted.items()]
    for name, digest in wanted.items():
        raw = subprocess.run([tool("skopeo"), "inspect", "--raw", "--tls-verify=false", f"docker://{registry}/bank/ray/{name}"],
                             capture_output=True, timeout=60, check=True).stdout
        assert f"sha256:{hashlib.sha256(raw).hexdigest()}" == digest
    pulled = [tool("skopeo"), "--insecure-policy", "copy", "--src-tls-verify=false", f"docker://{registry}/bank/ray/ray:2.52"]
    subprocess.run([*pulled, f"oci-archive:{tmp_path}/back.tar:ray:2.52"], check=True, capture_output=True, timeout=120)


@pytest.fixture
def https(tmp_path):
    """Debian's docker-registry with a certificate of its own: its place, and the file that signs it."""
    crt, key = certificate(tmp_path)
    with run_registry(tmp_path / "https", tls={"certificate": str(crt), "key": str(key)}) as place:
        yield place.replace("127.0.0.1", "localhost"), crt


def test_load_pushes_over_https(image, https, tmp_path):  # noqa: F811
    """To who shows a certificate of --registry-ca, and to nobody else; a CA that is none is refused before anything is sent."""
    place, crt = https
    write_bundle(tmp_path, {"image/mobula.tar": image.read_bytes()})
    name, digest = next(iter(digests(image).items()))
    out = load(tmp_path, "--to", f"https://{place}/bank", "--registry-ca", crt)
    assert out.returncode == 0 and out.stdout.splitlines()[0] == f"{place}/bank/{name}@{digest}", out.stderr
    (tmp_path / "garbage").write_text("<html>403</html>\n")
    (tmp_path / "stranger").mkdir()
    stranger, _ = certificate(tmp_path / "stranger")
    cases = (tmp_path / "garbage", "no certificate found"), (stranger, "certificate is signed"), (tmp_path / "none", "No such file")
    for ca, words in cases:
        out = load(tmp_path, "--to", f"https://{place}/bank", "--registry-ca", ca)
        assert out.returncode == 1 and out.stdout == "" and words in out.stderr, (ca, out.stderr)


@pytest.mark.parametrize("spoil, words", [
    (lambda data: data.replace(b"\x7fELF", b"\x7fELG", 1), "the archive is damaged"),
    (lambda data: data.replace(b"blobs/sha256/", b"blobs/sha999/"), "it has no blob"),
    (lambda data: data[: len(data) // 2], "no index.json"),
    (lambda data: b"hello", "no index.json"),
], ids=["a byte", "a blob less", "half", "no archive"])
def test_a_further_image_that_is_damaged(image, registry, tmp_path, spoil, words):  # noqa: F811
    write_bundle(tmp_path, {"image/mobula.tar": image.read_bytes()})
    (tmp_path / "ray.tar").write_bytes(spoil(image.read_bytes()))
    out = load(tmp_path, "--to", f"http://{registry}/damaged", "--image", tmp_path / "ray.tar")
    assert out.returncode == 1 and words in out.stderr and "ray.tar" in out.stderr, out.stderr


class Refusing(http.server.BaseHTTPRequestHandler):
    """A registry that says no: to everything, or to what the case names."""

    def answer(self):
        method, status, delay, headers = self.server.case
        size = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(size)
        time.sleep(delay)
        no = method in ("", self.command)
        self.send_response(status if no else {"HEAD": 404, "POST": 202}[self.command])
        for key, value in {"Location": "/v2/upload", "Content-Length": "0", **headers}.items():
            self.send_header(key, value)
        self.end_headers()

    do_HEAD = do_POST = do_PATCH = do_PUT = answer

    def log_message(self, *args):
        pass


@pytest.mark.parametrize("case, words", [
    (("", 401, 0, {}), "--registry-user"),
    (("PATCH", 413, 0, {}), "client_max_body_size"),
    (("POST", 500, 0, {}), "what was sent is not sent again"),
    (("", 404, 3, {}), "--timeout gives it longer"),
    (("", 202, 0, {"Location": "http://elsewhere.example/v2/upload"}), "202"),
    (("POST", 202, 0, {"Location": "http://elsewhere.example/v2/upload"}), "another host"),
], ids=["401", "413", "500", "slow", "no status of a registry", "another host"])
def test_a_registry_that_says_no(image, tmp_path, case, words):  # noqa: F811
    write_bundle(tmp_path, {"image/mobula.tar": image.read_bytes()})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    server.case = case
    threading.Thread(target=server.serve_forever, daemon=True).start()
    out = load(tmp_path, "--to", f"http://127.0.0.1:{server.server_port}/p", "--timeout", "1s")
    server.shutdown()
    assert out.returncode == 1 and out.stdout == "" and words in out.stderr, out.stderr


class TokenServer(http.server.BaseHTTPRequestHandler):
    """Gives whoever has the password a token for the scope that is asked for."""

    def do_GET(self):
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        self.server.asked.append((self.headers.get("Authorization"), asked))
        good = self.headers.get("Authorization") == "Basic " + base64.b64encode(b"robot:secret").decode()
        text = json.dumps({self.server.key: f"{len(self.server.asked)} {asked['scope'][0]}".encode().hex()} if good else {}).encode()
        self.send_response(200 if good else 401)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        pass


class Guarded(http.server.BaseHTTPRequestHandler):
    """A registry before which tokens are asked for: one is good for a repository, and for three requests."""

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        scope = f"repository:{re.match('/v2/(.+?)/(?:blobs|manifests)/', self.path)[1]}:pull,push"
        given = self.headers.get("Authorization") or ""
        token = bytes.fromhex(given.removeprefix("Bearer ")).decode() if given.startswith("Bearer ") else ""
        self.server.used[token] += 1
        if token.partition(" ")[2] != scope or self.server.used[token] > 3:
            self.send_response(401)
            self.send_header("WWW-Authenticate", f'Bearer realm="{self.server.realm}",service="the registry",scope="{scope}"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        link = http.client.HTTPConnection(self.server.behind, timeout=60)
        link.request(self.command, self.path, body, {k: self.headers[k] for k in ("Content-Type",) if k in self.headers})
        answer = link.getresponse()
        text = answer.read()
        self.send_response(answer.status)
        for key in ("Location", "Content-Type"):
            if answer.getheader(key):
                self.send_header(key, answer.getheader(key).replace(f"http://{self.server.behind}", ""))
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_HEAD = do_GET = do_POST = do_PATCH = do_PUT = answer

    def log_message(self, *args):
        pass


@pytest.fixture
def guarded(registry):  # noqa: F811
    """(registry, token server)"""
    tokens = http.server.ThreadingHTTPServer(("127.0.0.1", 0), TokenServer)
    tokens.asked, tokens.key = [], "token"
    front = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Guarded)
    front.behind, front.used = registry, collections.Counter()
    front.realm = f"http://127.0.0.1:{tokens.server_port}/auth/token?account=robot"
    for server in (tokens, front):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield front, tokens
    for server in (tokens, front):
        server.shutdown()


@pytest.mark.parametrize("key", ["token", "access_token"])
def test_a_registry_that_wants_tokens(image, guarded, tmp_path, key):  # noqa: F811
    front, tokens = guarded
    tokens.key = key
    write_bundle(tmp_path, {"image/mobula.tar": image.read_bytes()})
    (tmp_path / "password").write_text("secret\n")
    out = load(tmp_path, "--to", f"http://127.0.0.1:{front.server_port}/tokens-{key.replace('_', '-')}", "--registry-user", "robot",
               "--registry-password-file", tmp_path / "password")
    assert out.returncode == 0, out.stderr
    name, digest = next(iter(digests(image).items()))
    assert f"/tokens-{key.replace('_', '-')}/{name}@{digest}" in out.stdout
    assert len(tokens.asked) > 1, "a token that is used up was not replaced"
    assert all(a["account"] == ["robot"] and a["service"] == ["the registry"] for _, a in tokens.asked)


@pytest.mark.parametrize("spoil, words", [
    (lambda front, tokens: setattr(front, "realm", "http:/nowhere"), "it wants a token of a server that is not one"),
    (lambda front, tokens: setattr(front, "realm", front.realm.split("/auth")[0].rsplit(":", 1)[0] + ":9/token"), "its token server"),
    (lambda front, tokens: setattr(tokens, "key", "none"), "gave no token"),
    (None, "401"),
], ids=["no realm", "nobody there", "no token", "another password"])
def test_a_token_server_that_says_no(image, guarded, tmp_path, spoil, words):  # noqa: F811
    front, tokens = guarded
    write_bundle(tmp_path, {"image/mobula.tar": image.read_bytes()})
    (tmp_path / "password").write_text("secret" if spoil else "another")
    if spoil:
        spoil(front, tokens)
    out = load(tmp_path, "--to", f"http://127.0.0.1:{front.server_port}/p", "--registry-user", "robot",
               "--registry-password-file", tmp_path / "password", "--timeout", "10s")
    assert out.returncode == 1 and out.stdout == "" and words in out.stderr, out.stderr
    assert "secret" not in out.stderr and "another" not in out.stderr.replace("another host", "")
