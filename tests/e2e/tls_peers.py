"""Certificates and control planes for tests against programs with other TLS implementations (Go, rustls, OpenSSL)."""

import contextlib
import os
import re
import subprocess

import pytest

from cluster import workspace
from hub import definitions, hubs_in  # noqa: F401 (a fixture)

KEYS = {"p256": ("ec", "ec_paramgen_curve:P-256"), "p384": ("ec", "ec_paramgen_curve:P-384"), "p521": ("ec", "ec_paramgen_curve:P-521"),
        "rsa": ("rsa", "rsa_keygen_bits:2048"), "rsa4096": ("rsa", "rsa_keygen_bits:4096"), "pss": ("rsa", "rsa_keygen_bits:2048")}
PSS = ("-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:-1")


def openssl(*args, stdin=None):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True, input=stdin)


class Pki:
    """A CA on P-256, one on RSA, and a certificate of each kind for localhost."""

    def __init__(self, folder):
        self.folder = folder
        for name, (kind, option) in {**KEYS, "ca": KEYS["p256"], "rsa-ca": KEYS["rsa"]}.items():
            openssl("genpkey", "-algorithm", kind, "-pkeyopt", option, "-out", folder / f"{name}.key")
        for name in ("ca", "rsa-ca"):
            openssl("req", "-x509", "-key", self.key(name), "-subj", f"/CN={name}", "-days", 2, "-out", self.cert(name))
        (folder / "ext").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        for name in KEYS:
            openssl("req", "-new", "-key", self.key(name), "-subj", f"/CN={name}", "-out", folder / "csr")
            ca = self.issuer(name)
            openssl("x509", "-req", "-in", folder / "csr", "-CA", self.cert(ca), "-CAkey", self.key(ca), "-set_serial", 7, "-days", 2,
                    "-extfile", folder / "ext", "-out", self.cert(name), *(PSS if name == "pss" else ()))

    def issuer(self, name):
        return "rsa-ca" if name == "pss" else "ca"

    def cert(self, name):
        return self.folder / f"{name}.pem"

    def key(self, name):
        return self.folder / f"{name}.key"


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return Pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def planes(api, pki, definitions, tmp_path_factory):  # noqa: F811
    """The port of a control plane for each certificate."""
    folder = tmp_path_factory.mktemp("planes")
    with workspace(api, f"go{os.getpid()}") as space, hubs_in(space, folder) as make:
        hubs = {name: make(name, "--https-addr", "127.0.0.1:0", "--tls-cert", pki.cert(name), "--tls-key", pki.key(name)) for name in KEYS}
        yield {name: int(re.search(r"for=https-addr address=\S+ port=(\d+)", hub.log()).group(1)) for name, hub in hubs.items()}


@contextlib.contextmanager
def served(*command):
    """(port, lines of its sessions) of a server that prints its port first."""
    with subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline()]
        yield int(lines[0]), lines
        process.kill()
        lines += process.stdout.readlines()
