"""The image is taken by tools that know nothing of ours, and a registry gives it back under the digest that it was built with."""

import contextlib
import json
import shutil
import socket
import subprocess
import tarfile
import time
import urllib.request
from pathlib import Path

import pytest

from cluster import MOBULA

ACCEPT = "application/vnd.oci.image.index.v1+json"
MACHINE = {"amd64": b"\x3e\x00", "arm64": b"\xb7\x00"}  # e_machine of ELF


def tool(name):
    return shutil.which(name) or pytest.skip(f"{name} is not installed")


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """For both architectures; the mark of the other one on this program is enough."""
    at = tmp_path_factory.mktemp("image")
    program = Path(MOBULA).read_bytes()
    for arch, mark in MACHINE.items():
        (at / arch).write_bytes(program[:18] + mark + program[20:])
    pairs = [f"{arch}={at / arch}" for arch in MACHINE]
    subprocess.run(["scratch-image/build", at / "both.tar", "registry.example:5000/mobula:1.0", *pairs], check=True)
    return at / "both.tar"


@contextlib.contextmanager
def run_registry(folder, **http):
    """Debian's docker-registry on a free port."""
    folder.mkdir(exist_ok=True)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    (folder / "config.yml").write_text(json.dumps({
        "version": 0.1, "log": {"level": "error"}, "storage": {"filesystem": {"rootdirectory": str(folder / "store")}},
        "http": {"addr": f"127.0.0.1:{port}", **http}}))
    process = subprocess.Popen([tool("docker-registry"), "serve", folder / "config.yml"], stderr=subprocess.DEVNULL)
    for _ in range(100):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield f"127.0.0.1:{port}"
    process.terminate()
    process.wait()


@pytest.fixture
def registry(tmp_path):
    """Over plain HTTP."""
    with run_registry(tmp_path) as place:
        yield place


def skopeo(*args):
    out = subprocess.run([tool("skopeo"), "--insecure-policy", *args], capture_output=True, text=True, timeout=120, check=False)
    assert out.returncode == 0, out.stderr
    return out.stdout


def test_a_private_registry_keeps_the_digest(image, registry):
    skopeo("copy", "--all", "--preserve-digests", "--dest-tls-verify=false", f"oci-archive:{image}", f"docker://{registry}/bank/mobula:1.0")
    with tarfile.open(image) as tar:
        digest = json.load(tar.extractfile("index.json"))["manifests"][0]["digest"]
    request = urllib.request.Request(f"http://{registry}/v2/bank/mobula/manifests/1.0", headers={"Accept": ACCEPT})
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert answer.headers["Docker-Content-Digest"] == digest
        assert {m["platform"]["architecture"] for m in json.load(answer)["manifests"]} == set(MACHINE)


@pytest.mark.parametrize("arch", MACHINE)
def test_each_architecture_is_read_from_the_archive(image, arch):
    config = json.loads(skopeo("inspect", "--config", f"--override-arch={arch}", f"oci-archive:{image}"))
    assert config["architecture"] == arch and config["config"]["User"] == "65532:65532"
    assert config["config"]["Entrypoint"] == ["/mobula"]
