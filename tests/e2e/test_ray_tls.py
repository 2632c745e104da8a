"""Clusters with tlsOptions on the real API server: CAs of the operator and of users, valid and faulty."""

import base64
import json

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from authorities import issue, new_key, new_rsa_key, put_ca
from cluster import Audit, condition, eventually, raycluster
from test_auth import AUTH, everything, secrets_asked


def cluster(name="c", secret=None):
    c = raycluster(name, workers=1)
    c["spec"]["tlsOptions"] = {"enabled": True}
    if secret:
        c["metadata"]["annotations"] = {"mobula.dev/tls-secret": secret}
    return c


def test_the_operator_creates_a_ca(space, operators):
    space.grant(AUTH)
    audit = Audit()
    operator = operators()
    space.apply(cluster())
    space.ready("c", 2)
    secret = space.api.get(space.path("secrets", "c-ray-ca"))
    assert secret["metadata"]["ownerReferences"][0]["name"] == "c" and secret["metadata"]["labels"] == {"ray.io/cluster": "c"}
    ca = x509.load_pem_x509_certificate(base64.b64decode(secret["data"]["tls.crt"]))
    key = base64.b64decode(secret["data"]["tls.key"]).decode()
    assert ca.public_key() == serialization.load_pem_private_key(key.encode(), None).public_key()
    ca.verify_directly_issued_by(ca)
    assert ca.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    for pod in space.pods("c"):
        mounted = {v["name"]: v for v in pod["spec"]["volumes"]}
        assert mounted["ray-ca"]["secret"]["secretName"] == "c-ray-ca" and mounted["ray-tls"]["emptyDir"]["medium"] == "Memory"
        first, ray = pod["spec"]["initContainers"][0], pod["spec"]["containers"][0]
        assert first["name"] == "ray-cert" and "ray-cert" in first["command"]
        assert {m["name"] for m in first["volumeMounts"]} >= {"ray-ca", "ray-tls"}
        assert {e["name"]: e.get("value") for e in ray["env"]}["RAY_USE_TLS"] == "1"
        holders = [k["name"] for k in pod["spec"]["containers"] + pod["spec"]["initContainers"]
                   if "ray-ca" in {m["name"] for m in k.get("volumeMounts", [])}]
        assert holders == ["ray-cert"], "only the container that signs mounts the CA"
    assert secrets_asked(audit, operator)[0] == ("create", "c-ray-ca", 201)
    secret_line = key.splitlines()[1]
    assert secret_line not in operator.log() and secret_line not in everything(space)
    space.api.call("DELETE", space.path("rayclusters", "c", "/apis/ray.io/v1"))
    eventually(lambda: not space.find(space.path("secrets", "c-ray-ca")))


def test_a_ca_of_the_user(space, operators):
    space.grant(AUTH)
    key = new_key()
    put_ca(space, "theirs", issue(key), key)
    audit = Audit()
    operator = operators()
    space.apply(cluster(secret="theirs"))
    space.ready("c", 2)
    assert {v["secret"]["secretName"] for p in space.pods("c") for v in p["spec"]["volumes"] if v["name"] == "ray-ca"} == {"theirs"}
    assert {(verb, name) for verb, name, _ in secrets_asked(audit, operator)} == {("get", "theirs")}


@pytest.mark.parametrize("bad, words", [
    (lambda key: (issue(new_key()), key), "does not belong"),
    (lambda key: (issue(key, starts=-30, ends=-2), key), "certificate 1 of the chain is valid only until"),
    (lambda key: (issue(key, starts=2), key), "certificate 1 of the chain is valid only from"),
    (lambda key: (issue(key, ca=False), key), "certificate 1 of the chain is no CA's"),
    (lambda key: ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", key), "secrets theirs of tlsOptions"),
    (None, "404 NotFound"),
], ids=["another key", "expired", "not yet", "no CA", "nonsense", "missing"])
def test_a_ca_that_cannot_sign_is_reported_until_it_is_fixed(space, operators, bad, words):
    space.grant(AUTH)
    key = new_key()
    if bad:
        put_ca(space, "theirs", *bad(key))
    operator = operators()
    space.apply(cluster(secret="theirs"))
    message = space.head_refused("c")
    assert "secrets theirs of tlsOptions" in message and words in message, message
    assert not space.pods("c")
    put_ca(space, "theirs", issue(key), key)
    space.ready("c", 2)
    assert json.dumps(key.private_numbers().private_value) not in operator.log()


@pytest.mark.parametrize("key", [lambda: new_key(ec.SECP384R1()), lambda: new_rsa_key(3072)], ids=["P-384", "RSA"])
def test_a_ca_with_another_kind_of_key(space, operators, key):
    space.grant(AUTH)
    made = key()
    put_ca(space, "theirs", issue(made), made)
    operators()
    space.apply(cluster(secret="theirs"))
    space.ready("c", 2)


def test_without_the_right_on_secrets_no_head_is_created(space, operators):
    operators()
    space.apply(cluster())
    message = space.head_refused("c")
    assert "secrets c-ray-ca of tlsOptions" in message and AUTH in message and "403" in message, message
    assert not space.pods("c")


def test_tls_variables_in_a_template_are_refused(space, operators):
    operators()
    c = cluster()
    c["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "RAY_TLS_CA_CERT", "value": "/x"}]
    space.apply(c)
    eventually(lambda: "sets RAY_TLS_CA_CERT: with tlsOptions the operator sets it" in
               condition(space.cluster("c"), "Valid").get("message", ""))
    assert not space.pods("c")
