"""TLS with the API server (Go's crypto/tls), which chooses TLS 1.3 and the hybrid key exchange. tests/unit/tls/t_peers and t_gnutls test
every group, suite, signature and kind of client certificate against OpenSSL and GnuTLS, test_tls_go.py against Go. Every second
part of tests/e2e (run.sh) runs against an API server that accepts only TLS 1.3."""

import json
import os
import re

import pytest

from cluster import RUN, mobula

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
