"""Users' certificate authorities in Secrets: valid ones, and ones that cannot sign."""

import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

PEM, DAY = serialization.Encoding.PEM, datetime.timedelta(days=1)


def new_key(curve=None):
    return ec.generate_private_key(curve or ec.SECP256R1())


def new_rsa_key(bits=2048):
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def issue(key, ca=True, starts=-30, ends=30, by=None, hosts=()):
    """A certificate valid from `starts` to `ends` days from now: self-signed, or signed by a root with key `by`."""
    theirs, root = (x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, n)]) for n in ("theirs", "root"))
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder().subject_name(theirs if by else root).issuer_name(root).public_key(key.public_key())
    made = made.serial_number(8 if by else 7).not_valid_before(now + starts * DAY).not_valid_after(now + ends * DAY)
    made = made.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    if hosts:
        made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts]), critical=False)
    return made.sign(by or key, hashes.SHA256()).public_bytes(PEM).decode()


def put_ca(space, name, cert, key, root=None):
    text = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": "kubernetes.io/tls",
            "stringData": {"tls.crt": cert, "tls.key": text} | ({"ca.crt": root} if root else {})}
    if space.find(space.path("secrets", name)):
        space.api.patch(space.path("secrets", name), {"stringData": body["stringData"]})
    else:
        space.api.call("POST", space.path("secrets"), body)
