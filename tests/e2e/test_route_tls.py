"""Certificates of the host names of routes (--route-ca) on the real API server: made, served, renewed, and the admin's left alone."""

import base64
import contextlib
import datetime
import ssl
import time

import pytest
from authorities import DAY, PEM, issue, new_key, new_rsa_key, put_ca
from cluster import RUN, Audit, condition, eventually, manifests, mobula
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from test_auth import secrets_asked
from test_routes import GATEWAY, NETWORKING, dashboard
from test_versioned import MOBULA, Versioned, needs_address, version

OWN = "mobula-route-ca"
pytestmark = pytest.mark.slow
A_LOOK = 400  # seconds: the operator reads each Secret every minute, and a CA that was refused every five minutes


def grant(space, ca=OWN):
    """The rights of `install --route-ca`."""
    documents = manifests("--no-crds", "--kinds=all", "--leader-elect", "--namespace", space.name, f"--route-ca={ca}").split("\n---\n")
    space.kubectl("apply", "-f", "-", stdin="\n---\n".join(d for d in documents if "\nkind: Role" in d))


def data(space, name):
    secret = space.find(space.path("secrets", name))
    return secret and {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}


def leaf(space, name):
    return x509.load_pem_x509_certificate(data(space, name)["tls.crt"].encode())


def handshake(files, host, tmp_path):
    """A TLS handshake in memory: a server with this Secret, a client that trusts its CA and asks for the host."""
    for key in ("tls.crt", "tls.key"):
        (tmp_path / key).write_text(files[key])
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context(cadata=files["ca.crt"])
    server.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (client.wrap_bio(to_client, to_server, server_hostname=host), server.wrap_bio(to_server, to_client, server_side=True))
    for _ in range(4):
        for end in ends:
            with contextlib.suppress(ssl.SSLWantReadError):
                end.do_handshake()
    return ends[0].version()


def told(space, path, words, status="True"):
    def look():
        found = condition(space.api.get(path), "CertificateReady")
        assert found and words in found["message"] and found["status"] == status, found
        return found

    return eventually(look)


def of_cluster(space, name, words, status="True"):
    return told(space, space.path("rayclusters", name, "/apis/ray.io/v1"), words, status)


def short_leaf(space, host, hours):
    """A certificate by the operator's CA that ends soon, and its key, as PEM."""
    ca = data(space, OWN)
    issuer, key, now = x509.load_pem_x509_certificate(ca["tls.crt"].encode()), new_key(), datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder().subject_name(x509.Name([])).issuer_name(issuer.subject).public_key(key.public_key()).serial_number(9)
    made = made.not_valid_before(now - 9 * DAY).not_valid_after(now + datetime.timedelta(hours=hours))
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=True)
    signer = serialization.load_pem_private_key(ca["tls.key"].encode(), None)
    text = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
    return made.sign(signer, hashes.SHA256()).public_bytes(PEM).decode() + ca["tls.crt"], text


def test_certificates_of_dashboards(space, operators, tmp_path):
    grant(space)
    audit, began = Audit(), time.monotonic()
    operator = operators(f"--route-ca={OWN}")
    space.apply(dashboard("a", ingressOptions={"host": "a.i.example.com"}))
    space.apply(dashboard("b", ingressOptions={"tls": [{"hosts": ["*.b.i.example.com", "b.example.com"]}]}))
    of_cluster(space, "a", "Secret a-head-tls is valid until 20")
    of_cluster(space, "b", "Secret b-head-tls is valid until 20")
    ingress = eventually(lambda: space.find(space.path("ingresses", "a-head-ingress", NETWORKING)))
    assert ingress["spec"]["tls"] == [{"hosts": ["a.i.example.com"], "secretName": "a-head-tls"}]
    secret = space.find(space.path("secrets", "a-head-tls"))
    assert secret["type"] == "kubernetes.io/tls" and secret["metadata"]["ownerReferences"][0]["name"] == "a"
    assert secret["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "mobula"}
    made = leaf(space, "a-head-tls")
    assert isinstance(made.public_key().curve, ec.SECP256R1) and made.not_valid_after_utc - made.not_valid_before_utc <= 90 * DAY
    assert data(space, "a-head-tls")["ca.crt"] == data(space, OWN)["tls.crt"] and "tls.key" in data(space, OWN)
    for name, host in ("a", "a.i.example.com"), ("b", "x.b.i.example.com"), ("b", "b.example.com"):
        assert handshake(data(space, f"{name}-head-tls"), host, tmp_path) == "TLSv1.3"
    with pytest.raises(ssl.SSLCertVerificationError, match="elsewhere"):
        handshake(data(space, "a-head-tls"), "elsewhere.example.com", tmp_path)

    ends = operator.metrics()['mobula_route_certificate_expiry_timestamp_seconds{of="hosts"}']
    assert abs(ends - made.not_valid_after_utc.timestamp()) < 60
    out = mobula("check", "-n", space.name, f"--kubeconfig={RUN / 'admin.kubeconfig'}")
    assert "the certificate in Secret a-head-tls" in out.stdout, out.stdout
    space.rest(operator)
    uid, before = space.find(space.path("secrets", OWN))["metadata"]["uid"], data(space, "b-head-tls")
    operator.stop()
    space.rest(operator.start())
    assert data(space, "b-head-tls") == before, "an operator that starts again renews nothing"

    # two thirds of its life are over; and a client has written nonsense into the other. The process goes on.
    cert, key = short_leaf(space, "a.i.example.com", hours=36)
    space.api.patch(space.path("secrets", "a-head-tls"), {"stringData": {"tls.crt": cert, "tls.key": key}})
    space.api.patch(space.path("secrets", "b-head-tls"), {"stringData": {"tls.key": "nonsense"}})
    eventually(lambda: data(space, "a-head-tls")["tls.crt"] != cert, A_LOOK)
    eventually(lambda: data(space, "b-head-tls")["tls.key"] != "nonsense", A_LOOK)
    for name, host in ("a", "a.i.example.com"), ("b", "b.example.com"):
        assert handshake(data(space, f"{name}-head-tls"), host, tmp_path)
    assert leaf(space, "a-head-tls").not_valid_after_utc > datetime.datetime.now(datetime.UTC) + 80 * DAY
    of_cluster(space, "b", "is valid until")
    assert all(operator.lines("certificate of a route written", f"name={name}-head-tls") for name in "ab")
    assert operator.process.poll() is None
    assert space.find(space.path("secrets", OWN))["metadata"]["uid"] == uid

    space.change("a", {"headGroupSpec": {"ingressOptions": {"host": "other.i.example.com"}}})
    eventually(lambda: handshake_or_none(space, "a-head-tls", "other.i.example.com", tmp_path))
    lines = operator.log_path.read_text()
    assert all(data(space, name)["tls.key"].splitlines()[1] not in lines for name in ("a-head-tls", OWN))
    asked = secrets_asked(audit, operator)
    minutes = (time.monotonic() - began) / 60
    assert {verb for verb, _, _ in asked} == {"create", "get", "update"} and len(asked) < 30 + 5 * minutes, asked
    space.delete("a")
    eventually(lambda: space.find(space.path("secrets", "a-head-tls")) is None)


def handshake_or_none(space, name, host, tmp_path):
    with contextlib.suppress(ssl.SSLError):
        return handshake(data(space, name), host, tmp_path)


def leaf_of(host, key, starts=-30, ends=30):
    now = datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "theirs")])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(5)
    made = made.not_valid_before(now + starts * DAY).not_valid_after(now + ends * DAY)
    return made.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False).sign(key, hashes.SHA256()) \
        .public_bytes(PEM).decode()


def test_secrets_of_others_are_accepted_or_refused_but_never_written(space, operators):
    """Of cert-manager or an admin: named in the spec, or under the operator's own name for it."""
    key, host = new_key(), "r.i.example.com"
    put_ca(space, "right", leaf_of(host, key), key)
    put_ca(space, "wrong-key", leaf_of(host, key), new_key())
    put_ca(space, "elsewhere", leaf_of("elsewhere.example.com", key), key)
    put_ca(space, "expired", leaf_of(host, key, ends=-1), key)
    put_ca(space, "given-head-tls", leaf_of(host, key), key)
    names = ("right", "wrong-key", "elsewhere", "expired", "given-head-tls")
    versions = {name: space.find(space.path("secrets", name))["metadata"]["resourceVersion"] for name in names}
    grant(space)
    operator = operators(f"--route-ca={OWN}")
    for name in ("right", "wrong-key", "elsewhere", "expired", "missing"):
        space.apply(dashboard(name, ingressOptions={"host": host, "tls": [{"hosts": [host], "secretName": name}]}))
    space.apply(dashboard("given", ingressOptions={"host": host}))
    of_cluster(space, "right", "Secret right is valid until")
    of_cluster(space, "given", "Secret given-head-tls is valid until")
    field = "(headGroupSpec.ingressOptions.tls[].secretName)"
    for name, words in (("wrong-key", "key does not belong to"), ("elsewhere", f"is for elsewhere.example.com, not for host {host}"),
                        ("expired", "is valid only until"), ("missing", "it does not exist: create it")):
        said = of_cluster(space, name, words, "False")
        assert said["message"].startswith(f"Secret {name} {field}: "), said
        assert said["message"].endswith("then the operator creates a Secret"), said
    space.rest(operator)
    assert versions == {name: space.find(space.path("secrets", name))["metadata"]["resourceVersion"] for name in names}
    assert space.find(space.path("secrets", "missing")) is None
    ingress = space.find(space.path("ingresses", "right-head-ingress", NETWORKING))
    assert ingress["spec"]["tls"] == [{"hosts": [host], "secretName": "right"}]
    put_ca(space, "expired", leaf_of(host, key), key)
    eventually(lambda: condition(space.cluster("expired"), "CertificateReady")["status"] == "True", A_LOOK)


def test_a_ca_of_the_admin(space, operators, tmp_path):
    """It is never made, and what is wrong with it is said where a certificate waits for it."""
    grant(space, "corp")
    operator = operators("--route-ca=corp")
    space.apply(dashboard("c", ingressOptions={"host": "c.i.example.com"}))
    said = of_cluster(space, "c", "it does not exist: create it with tls.crt and tls.key", "False")
    assert said["message"].startswith(f"the CA in Secret corp of namespace {space.name} (--route-ca): ")
    key, root = new_rsa_key(), new_rsa_key(4096)
    put_ca(space, "corp", issue(key, ca=False), key)
    eventually(lambda: of_cluster(space, "c", "certificate 1 of the chain is no CA's", "False"), A_LOOK)
    put_ca(space, "corp", issue(key, by=root, ends=9), key, issue(root))
    eventually(lambda: data(space, "c-head-tls"), A_LOOK)
    of_cluster(space, "c", "is valid until")
    assert handshake(data(space, "c-head-tls"), "c.i.example.com", tmp_path)
    end = datetime.datetime.now(datetime.UTC) + 9 * DAY
    assert abs(leaf(space, "c-head-tls").not_valid_after_utc - end) < DAY, "not longer than its CA"
    space.rest(operator)


def test_hosts_that_the_ca_signs_for(space, operators):
    """--route-hosts: one host by name, and all below another. A route with a host outside runs without a certificate."""
    grant(space)
    operator = operators(f"--route-ca={OWN}", "--route-hosts=a.example.com,*.i.example.com")
    for name, host in ("a", "a.example.com"), ("b", "x.y.i.example.com"), ("c", "bank.example.net"), ("d", "i.example.com"):
        space.apply(dashboard(name, ingressOptions={"host": host}))
    for name in "ab":
        of_cluster(space, name, f"Secret {name}-head-tls is valid until")
    for name, host in ("c", "bank.example.net"), ("d", "i.example.com"):
        words = f'no certificate is made for host "{host}": the operator\'s --route-hosts has a.example.com'
        told = of_cluster(space, name, words, "False")
        assert "have the host added" in told["message"] and space.find(space.path("secrets", f"{name}-head-tls")) is None
        eventually(lambda: space.find(space.path("ingresses", f"{name}-head-ingress", NETWORKING)))
    space.rest(operator)


def test_without_the_right(space, operators):
    """The cluster runs, and the condition names the flag of the installation. Without the flag nothing is asked."""
    audit = Audit()
    off = operators()
    space.apply(dashboard("c", ingressOptions={"host": "c.i.example.com"}))
    eventually(lambda: space.cluster("c")["status"]["state"] == "ready")
    assert not condition(space.cluster("c"), "CertificateReady")
    assert not secrets_asked(audit, off)
    assert "tls" not in eventually(lambda: space.find(space.path("ingresses", "c-head-ingress", NETWORKING)))["spec"]
    off.stop()
    operators(f"--route-ca={OWN}")
    of_cluster(space, "c", "mobula install --route-ca prints the right", "False")
    grant(space)
    eventually(lambda: data(space, "c-head-tls"), A_LOOK)


@needs_address
def test_a_gateway_of_another_namespace(gateway_api, space, operators, boards, tmp_path):
    service, board = Versioned(space), boards()
    grant(space)
    operator = operators(f"--route-ca={OWN}")
    hosts = ["rag.s.example.com", "*.rag.s.example.com"]
    service.create(version("v1", board), route={"gateway": {"name": "public", "namespace": "infra"}, "hostnames": hosts})
    told(space, service.path, "Secret rag-tls is valid until")
    for host in "rag.s.example.com", "x.rag.s.example.com":
        assert handshake(data(space, "rag-tls"), host, tmp_path)
    path = space.path("referencegrants", "rag-tls", GATEWAY.replace("/v1", "/v1beta1"))
    made = eventually(lambda: space.find(path))
    assert made["spec"]["from"] == [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": "infra"}]
    assert made["spec"]["to"] == [{"group": "", "kind": "Secret", "name": "rag-tls"}]
    owner = made["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("VersionedService", "rag", True)
    space.rest(operator)
    space.api.call("DELETE", path)
    eventually(lambda: space.find(path), A_LOOK)

    space.api.patch(service.path, {"spec": {"gateway": None, "ingressClassName": "nginx"},
                                   "metadata": {"annotations": {"mobula.dev/tls-secret": "corp"}}})
    said = told(space, service.path, "Secret corp (annotation mobula.dev/tls-secret): it does not exist", "False")
    assert said["reason"] == "CertificateNotUsable"
    service.serve("v1", board)
    ingress = eventually(lambda: space.find(space.path("ingresses", "rag-ingress", NETWORKING)))
    assert ingress["spec"]["tls"] == [{"hosts": hosts, "secretName": "corp"}]
    space.api.call("DELETE", space.path("versionedservices", "rag", MOBULA))
    eventually(lambda: space.find(space.path("secrets", "rag-tls")) is None)
