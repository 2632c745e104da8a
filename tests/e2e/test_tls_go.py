"""The program and Go's crypto/tls, each as client and as server: groups, suites, kinds of certificates and of client certificates.
tests/unit/tls/t_peers and t_gnutls have the same with OpenSSL and GnuTLS."""

import json
import os
import subprocess

import pytest

from cluster import ROOT, mobula
from processes import kubeconfig
from rig import RIG
from tls_peers import definitions, pki, planes, served  # noqa: F401 (fixtures)

AES128 = "TLS_AES_128_GCM_SHA256"


@pytest.fixture(scope="module")
def go():
    """The program on crypto/tls; Go builds it once and keeps it."""
    program = RIG / "gopeer"
    subprocess.run(["go", "build", "-o", program, "."], check=True, cwd=ROOT / "tests/e2e/gopeer",
                   env={**os.environ, "PATH": f"{os.environ['PATH']}:/usr/local/go/bin"})
    return program


SERVERS = [  # certificate, flags, client certificate, and what check must say
    ("p256", (), None, f"TLS 1.3, X25519MLKEM768, {AES128}"),
    ("p256", ("-groups", "X25519MLKEM768"), None, f"TLS 1.3, X25519MLKEM768, {AES128}"),
    ("p256", ("-groups", "X25519"), None, f"TLS 1.3, X25519, {AES128}"),
    ("p256", ("-groups", "P-256"), None, f"TLS 1.3, secp256r1, {AES128}"),
    ("p256", ("-groups", "P-384"), None, f"TLS 1.3, secp384r1, {AES128}"),
    ("p256", ("-groups", "P-521"), None, f"TLS 1.3, secp521r1, {AES128}"),
    ("p384", (), None, f"TLS 1.3, X25519MLKEM768, {AES128}"),
    ("p521", (), None, f"TLS 1.3, X25519MLKEM768, {AES128}"),
    ("rsa", (), None, f"TLS 1.3, X25519MLKEM768, {AES128}"),
    ("rsa4096", (), None, f"TLS 1.3, X25519MLKEM768, {AES128}"),
    ("pss", (), None, f"TLS 1.3, X25519MLKEM768, {AES128}"),
    *(("p256", ("-min", "1.3"), client, f"TLS 1.3, X25519MLKEM768, {AES128}") for client in ("p256", "p384", "p521", "rsa", "rsa4096")),
    ("p256", ("-max", "1.2", "-groups", "X25519"), None, "TLS 1.2, X25519, ECDHE_ECDSA_AES_128_GCM_SHA256"),
    ("p256", ("-max", "1.2", "-groups", "P-384"), "rsa", "TLS 1.2, secp384r1, ECDHE_ECDSA_AES_128_GCM_SHA256"),
    ("rsa", ("-max", "1.2", "-groups", "P-256", "-suite", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"), "p256",
     "TLS 1.2, secp256r1, ECDHE_RSA_AES_256_GCM_SHA384"),
    ("rsa", ("-max", "1.2", "-groups", "P-521", "-suite", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"), None,
     "TLS 1.2, secp521r1, ECDHE_RSA_CHACHA20_POLY1305_SHA256"),
]


@pytest.mark.parametrize(("name", "flags", "client", "want"), SERVERS, ids=lambda v: "-".join(v) if isinstance(v, tuple) else v)
def test_our_client(go, pki, tmp_path, name, flags, client, want):  # noqa: F811
    flags = (*flags, "-ca", pki.cert("ca")) if client else flags
    user = f'client-certificate: "{pki.cert(client)}", client-key: "{pki.key(client)}"' if client else 'token: "x"'
    with served(go, "serve", "-cert", pki.cert(name), "-key", pki.key(name), *flags) as (port, lines):
        config = kubeconfig(tmp_path / "config", "x", user, port, pki.cert(pki.issuer(name)))
        out = mobula("check", "--kubeconfig", str(config), "-o", "json")
    found = [r["found"] for r in json.loads(out.stdout)["checks"] if "with the API server" in r["found"]]
    assert len(found) == 1 and found[0].startswith(f"{want} with the API server"), (found, out.stderr)
    sessions = [json.loads(line) for line in lines[1:] if line.startswith("{")]
    assert sessions and all(s["protocol"] == "http/1.1" and bool(s["certificate"]) == bool(client) for s in sessions), lines


CLIENTS = [  # certificate, flags, and what Go says of it; None: it fails
    *((name, (), ("TLS 1.3", "X25519MLKEM768", AES128)) for name in ("p256", "p384", "p521", "rsa", "rsa4096", "pss")),
    *(("p256", ("-groups", group), ("TLS 1.3", said, AES128))
      for group, said in (("X25519MLKEM768", "X25519MLKEM768"), ("X25519", "X25519"), ("P-256", "CurveP256"), ("P-384", "CurveP384"),
                          ("P-521", "CurveP521"), ("P-384,P-521", "CurveP384"), ("P-521,X25519MLKEM768,X25519", "X25519MLKEM768"))),
    ("p256", ("-max", "1.2", "-groups", "X25519"), ("TLS 1.2", "X25519", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")),
    ("rsa", ("-max", "1.2", "-groups", "P-384", "-suite", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
     ("TLS 1.2", "CurveP384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384")),
    ("rsa", ("-max", "1.2", "-groups", "P-256", "-suite", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
     ("TLS 1.2", "CurveP256", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256")),
    ("p256", ("-max", "1.2", "-suite", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"), None),
    ("p256", ("-name", "another.test"), None),
]


def test_our_server(go, pki, planes):  # noqa: F811
    wrong = []
    for name, flags, want in CLIENTS:
        command = [go, "dial", f"127.0.0.1:{planes[name]}", "-ca", pki.cert(pki.issuer(name)), *flags]
        said = json.loads(subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout)
        got = None if "error" in said else (said["version"], said["group"], said["suite"])
        if got != want or (got and said["protocol"] != "http/1.1"):
            wrong.append((name, flags, said))
    assert not wrong, wrong
