"""A client certificate that is replaced under a running operator. The audit log names each request's certificate by its digest."""

import collections
import hashlib
import signal
import ssl
import subprocess

import pytest

from cluster import RUN, Audit, eventually, raycluster
from processes import kubeconfig

RBAC = "/apis/rbac.authorization.k8s.io/v1"
EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
WATCHED = {"rayclusters.ray.io", "rayclusters.cluster.ray.io", "rayjobs.ray.io", "raycronjobs.ray.io", "rayservices.ray.io",
           "versionedservices.mobula.dev", "pods", "services"}


def openssl(*args):
    out = subprocess.run(["openssl", *map(str, args)], capture_output=True, text=True, timeout=60, check=False)
    assert out.returncode == 0, out.stderr


class Certificate:
    """A client certificate of this user and group, signed by the control plane's CA."""

    def __init__(self, folder, user, group):
        crt, key, request = (folder / f"new.{end}" for end in ("crt", "key", "csr"))
        openssl("req", "-new", *EC, "-subj", f"/O={group}/CN={user}", "-keyout", key, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", RUN / "pki" / "ca.crt", "-CAkey", RUN / "pki" / "ca.key", "-days", 1,
                "-CAserial", folder / "serial", "-CAcreateserial", "-out", crt)
        self.user, self.crt, self.key = user, crt.read_text(), key.read_text()
        self.id = "X509SHA256=" + hashlib.sha256(ssl.PEM_cert_to_DER_cert(self.crt)).hexdigest()


class Files:
    """The certificate and the key to which a kubeconfig points."""

    def __init__(self, space, folder):
        self.space, self.folder, self.group = space, folder, f"{space.name}-operators"
        self.crt, self.key = folder / "client.crt", folder / "client.key"
        self.user_entry = f'client-certificate: "{self.crt}", client-key: "{self.key}"'

    def make(self, user):
        return Certificate(self.folder, user, self.group)

    def put(self, certificate):
        self.key.write_text(certificate.key)
        self.crt.write_text(certificate.crt)
        return certificate

    def config(self, port=None):
        return kubeconfig(self.folder / "by-certificate", self.space.name, self.user_entry, port)


@pytest.fixture
def files(space, tmp_path):
    """Whoever is in this group may do in the test's namespace what an installation's service account may."""
    made = Files(space, tmp_path)
    for role in ("mobula", "mobula-leader"):
        binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": f"{role}-by-certificate"},
                   "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
                   "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": made.group}]}
        space.api.call("POST", space.path("rolebindings", group=RBAC), binding)
    return made


class Witness:
    """What the audit log says of the operators' group from here on, by certificate."""

    def __init__(self, files):
        self.audit, self.namespace, self.group = Audit(), files.space.name, files.group

    def entries(self, *verbs, resource=None):
        found = [e for e in self.audit.entries(namespace=self.namespace) if self.group in e["user"].get("groups", [])]
        return [e for e in found if e["verb"] in verbs and (not resource or e["objectRef"]["resource"] == resource)]

    def certificates(self, *verbs, resource=None):
        return {shown(e) for e in self.entries(*verbs, resource=resource)}

    def watches(self):
        """(certificate, resource) of those that have begun since."""
        began = [e for e in self.entries("watch") if e["stage"] == "ResponseStarted" and e["responseStatus"]["code"] == 200]
        return {(shown(e), ".".join(filter(None, map(e["objectRef"].get, ("resource", "apiGroup"))))) for e in began}

    def unauthorized(self):
        """Who is not known has no user there: the address tells whose requests these are."""
        return [e["requestURI"] for e in self.audit.lines() if e["responseStatus"]["code"] in (401, 403)
                and f"/namespaces/{self.namespace}/" in e["requestURI"]]

    def made(self):
        """How often each pod was asked for."""
        return collections.Counter(e["objectRef"]["name"] for e in self.entries("create", resource="pods")
                                   if "dryRun" not in e["requestURI"])


def shown(entry):
    """The id of the certificate that came with a request."""
    return entry["user"]["extra"]["authentication.kubernetes.io/credential-id"][0]


def scale(space, workers):
    space.change("c", {"workerGroupSpecs": raycluster("c", workers)["spec"]["workerGroupSpecs"]})
    space.ready("c", workers + 1)


def renewed(op, times):
    """SIGHUP, and what it says of that for the so-manieth time."""
    op.process.send_signal(signal.SIGHUP)
    eventually(lambda: len(op.lines("level=info", "certificates have changed", str(op.config))) == times)


@pytest.mark.parametrize("second", ["operator-2", "operator-1"], ids=["another name", "the same name"])
def test_another_certificate(space, operators, files, door, second):
    """From the signal on requests carry the new one, the Lease's too; watches go on, and carry it from their next beginning on."""
    old = files.put(files.make("operator-1"))
    op = operators("--leader-elect", config=files.config(door.port)).ready()
    space.apply(raycluster("c", workers=2))
    space.ready("c", 3)
    op.user = old.user
    space.rest(op)  # what is on its way when the signal comes still carries the old one
    everything, new = Witness(files), files.put(files.make(second))
    renewed(op, 1)
    after = Witness(files)
    scale(space, 4)
    eventually(lambda: new.id in after.certificates("update", resource="leases"))
    assert after.certificates("create", "patch", "delete") == {new.id} and len(after.made()) == 2
    assert not everything.watches() and not everything.entries("list"), "watches were begun anew for a certificate"
    cut = Witness(files)
    door.shut()
    door.open()
    eventually(lambda: {resource for _, resource in cut.watches()} >= WATCHED)
    assert {certificate for certificate, _ in cut.watches()} == {new.id} != {old.id}
    scale(space, 5)
    scale(space, 3)
    assert list(everything.made().values()) == [1, 1, 1]
    assert not everything.unauthorized() and not op.lines("level=error") and len(op.lines("this process")) == 1, op.log()
    op.user = new.user
    space.rest(op)


@pytest.mark.parametrize("spoil, words", [
    (lambda files, new: files.crt.write_text("-----BEGIN CERTIFICATE-----\nnot yet\n"), "BEGIN CERTIFICATE without END"),
    (lambda files, new: files.crt.write_text(""), "no certificate found"),
    (lambda files, new: files.key.write_text(new.key), "does not belong"),
    (lambda files, new: files.crt.unlink(), "client.crt"),
], ids=["half a file", "an empty file", "half a pair", "no file"])
def test_a_certificate_that_is_no_use(space, operators, files, spoil, words):
    """The one before it stays, is said to stay, and works; the next good one is taken."""
    old = files.put(files.make("operator-1"))
    op = operators(config=files.config()).ready()
    space.apply(raycluster("c", workers=1))
    space.ready("c", 2)
    everything, new = Witness(files), files.make("operator-2")
    spoil(files, new)
    op.process.send_signal(signal.SIGHUP)
    op.says("level=warn", "the old ones stay", words, str(op.config))
    scale(space, 2)
    assert everything.certificates("create", resource="pods") == {old.id} and op.process.poll() is None
    assert not op.lines("certificates have changed")
    files.put(new)
    renewed(op, 1)
    after = Witness(files)
    scale(space, 3)
    assert after.certificates("create", resource="pods") == {new.id}
    assert list(everything.made().values()) == [1, 1] and not everything.unauthorized()


def test_a_certificate_of_a_stranger(space, operators, files):
    """It can be read, so it is used: the API server says no, and so does /readyz. What is put in its place is found without a signal."""
    files.put(files.make("operator-1"))
    op = operators(config=files.config()).ready()
    space.apply(raycluster("c", workers=1))
    space.ready("c", 2)
    openssl("req", "-x509", *EC, "-days", 1, "-subj", f"/O={files.group}/CN=operator-1", "-keyout", files.key, "-out", files.crt)
    renewed(op, 1)
    space.change("c", {"workerGroupSpecs": raycluster("c", 2)["spec"]["workerGroupSpecs"]})
    op.says("level=warn", "401 Unauthorized", str(op.config))
    good = files.put(files.make("operator-1"))
    after = Witness(files)
    space.ready("c", 3)
    assert after.certificates("create", resource="pods") == {good.id} and len(op.lines("certificates have changed")) == 2
    op.ready()
