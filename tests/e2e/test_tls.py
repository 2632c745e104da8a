"""TLS with the API server (Go's crypto/tls), which chooses TLS 1.3 and the hybrid key exchange. tests/unit/tls/t_peers and t_gnutls test
every group, suite, signature and kind of client certificate against OpenSSL and GnuTLS, test_tls_go.py against Go. Every second
part of tests/e2e (run.sh) runs against an API server that accepts only TLS 1.3."""

import json
import os
import re
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from cluster import RUN, mobula
from processes import kubeconfig

ADMIN = ("--kubeconfig", str(RUN / "admin.kubeconfig"))


@pytest.mark.parametrize("flags", [(), ("--tls-min-version=1.2",), ("--tls-min-version=1.3",)], ids=lambda f: f[-1] if f else "default")
def test_check_names_version_group_and_suite(flags):
    out = mobula("check", *ADMIN, "-o", "json", *flags)
    found = [r["found"] for r in json.loads(out.stdout)["checks"] if "with the API server" in r["found"]]
    group = "" if "curve-preferences" in os.environ.get("APISERVER_ARGS", "") else "X25519MLKEM768, "
    assert len(found) == 1 and found[0].startswith(f"TLS 1.3, {group}"), found
    assert re.search("TLS_AES_128_GCM_SHA256 with the API server [(]certificate: (RSA|ECDSA P-256)[)]$", found[0]), found


def test_a_version_that_is_none():
    out = mobula("check", *ADMIN, "--tls-min-version=1.1")
    assert out.returncode == 2 and '"1.1" is neither 1.2 nor 1.3' in out.stderr


# ---- Ed25519, which is not supported ----

WANTED = "RSA up to 8192 bits or EC on P-256/384/521, not Ed25519"


@pytest.fixture
def ed25519(tmp_path):
    """A self-signed certificate for 127.0.0.1 and its key."""
    cert, key = tmp_path / "ed25519.pem", tmp_path / "ed25519.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "2", "-subj", "/CN=ed25519", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-out", cert, "-keyout", key], check=True, capture_output=True)
    return cert, key


@pytest.fixture
def server(ed25519):
    """The port of a server (OpenSSL) with that certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*ed25519)
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as http:
        http.socket = context.wrap_socket(http.socket, server_side=True)
        http.handle_error = lambda *_: None
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield http.server_port
        http.shutdown()


@pytest.mark.parametrize("least", ["1.2", "1.3"])
def test_a_server_with_an_ed25519_certificate(server, tmp_path, least):
    config = kubeconfig(tmp_path / "config", "x", 'token: "x"', server)
    out = mobula("check", "--kubeconfig", str(config), "-o", "json", f"--tls-min-version={least}")
    row = next(r for r in json.loads(out.stdout)["checks"] if r["result"] == "fail")
    assert "ECDSA or RSA, not Ed25519): alert 40 handshake_failure" in row["found"], row
    assert row["remedy"] == "docs/security.md lists what TLS servers must offer" and out.returncode == 3, row


def test_a_client_with_an_ed25519_certificate(ed25519, tmp_path):
    cert, key = ed25519
    config = kubeconfig(tmp_path / "config", "x", f'client-certificate: "{cert}", client-key: "{key}"')
    out = mobula("check", "--kubeconfig", str(config))
    assert out.returncode == 1 and f"{cert}: key: private key cannot be used: want {WANTED}" in out.stderr + out.stdout, out


def test_a_ca_with_an_ed25519_key(ed25519, tmp_path):
    config = kubeconfig(tmp_path / "config", "x", 'token: "x"', ca=ed25519[0])
    out = mobula("check", "--kubeconfig", str(config))
    assert out.returncode == 1 and f"certificates in the CA bundle can be used: want {WANTED}" in out.stderr + out.stdout, out
