"""The program and rustls, each as client and as server. Needs cargo, which Debian has too old."""

import json
import os
import shutil
import subprocess

import pytest

from cluster import ROOT, mobula
from processes import kubeconfig
from rig import RIG
from tls_peers import definitions, pki, planes, served  # noqa: F401 (fixtures)

CARGO = shutil.which("cargo", path=f"{os.environ['PATH']}:{os.path.expanduser('~/.cargo/bin')}")
pytestmark = pytest.mark.skipif(not CARGO, reason="there is no cargo to build rustls with")
AES128 = "TLS_AES_128_GCM_SHA256"


@pytest.fixture(scope="module")
def rustls():
    """Built once (half a minute), and kept."""
    folder = RIG / "rustlspeer"
    shutil.copytree(ROOT / "tests/e2e/rustlspeer", folder, dirs_exist_ok=True)
    subprocess.run([CARGO, "build", "--quiet", "--release"], check=True, cwd=folder)
    return folder / "target" / "release" / "rustlspeer"


SERVERS = [  # certificate, settings, client certificate, and what check must say
    ("p256", (), None, f"TLS 1.3, X25519, {AES128}"),
    ("p256", ("group=secp256r1",), None, f"TLS 1.3, secp256r1, {AES128}"),
    ("p256", ("group=secp384r1",), None, f"TLS 1.3, secp384r1, {AES128}"),
    ("p256", ("suite=TLS13_AES_256_GCM_SHA384",), None, "TLS 1.3, X25519, TLS_AES_256_GCM_SHA384"),
    ("p256", ("suite=TLS13_CHACHA20_POLY1305_SHA256",), None, "TLS 1.3, X25519, TLS_CHACHA20_POLY1305_SHA256"),
    ("p384", (), None, f"TLS 1.3, X25519, {AES128}"),
    ("rsa", (), None, f"TLS 1.3, X25519, {AES128}"),
    ("rsa4096", (), None, f"TLS 1.3, X25519, {AES128}"),
    ("pss", (), None, f"TLS 1.3, X25519, {AES128}"),
    *(("p256", (), client, f"TLS 1.3, X25519, {AES128}") for client in ("p256", "p384", "rsa", "rsa4096")),
    ("p256", ("version=1.2", "suite=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"), None, "TLS 1.2, X25519, ECDHE_ECDSA_AES_128_GCM_SHA256"),
    ("rsa", ("version=1.2", "suite=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "group=secp384r1"), "rsa",
     "TLS 1.2, secp384r1, ECDHE_RSA_AES_256_GCM_SHA384"),
]


def test_our_client(rustls, pki, tmp_path):  # noqa: F811
    wrong = []
    for name, settings, client, want in SERVERS:
        flags = (*settings, f"client-ca={pki.cert('ca')}") if client else settings
        user = f'client-certificate: "{pki.cert(client)}", client-key: "{pki.key(client)}"' if client else 'token: "x"'
        with served(rustls, "serve", f"cert={pki.cert(name)}", f"key={pki.key(name)}", *flags) as (port, lines):
            config = kubeconfig(tmp_path / "config", "x", user, port, pki.cert(pki.issuer(name)))
            out = mobula("check", "--kubeconfig", str(config), "-o", "json")
        found = [r["found"] for r in json.loads(out.stdout)["checks"] if "with the API server" in r["found"]]
        if len(found) != 1 or not found[0].startswith(f"{want} with") or f"client={str(bool(client)).lower()}\n" not in lines[1]:
            wrong.append((name, settings, client, found, lines, out.stderr))
    assert not wrong, wrong


CLIENTS = [  # certificate, settings, and what rustls says of it; None: it fails
    *((name, (), "TLSv1_3 X25519 TLS13_AES_128_GCM_SHA256") for name in ("p256", "p384", "rsa", "rsa4096", "pss")),
    *(("p256", (f"group={group}",), f"TLSv1_3 {group} TLS13_AES_128_GCM_SHA256") for group in ("secp256r1", "secp384r1")),
    *(("p256", (f"suite={suite}",), f"TLSv1_3 X25519 {suite}") for suite in ("TLS13_AES_256_GCM_SHA384", "TLS13_CHACHA20_POLY1305_SHA256")),
    ("p256", ("version=1.2", "suite=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
     "TLSv1_2 X25519 TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    ("rsa", ("version=1.2", "suite=TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "group=secp256r1"),
     "TLSv1_2 secp256r1 TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
    ("p256", ("version=1.2", "suite=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"), None),
    ("p256", ("name=another.test",), None),
]


def test_our_server(rustls, pki, planes):  # noqa: F811
    wrong = []
    for name, settings, want in CLIENTS:
        command = [rustls, "dial", f"port={planes[name]}", f"ca={pki.cert(pki.issuer(name))}", *settings]
        said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout
        got = None if said.startswith("error") else said.split(" client=")[0]
        if got != want:
            wrong.append((name, settings, said))
    assert not wrong, wrong
