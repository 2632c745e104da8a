"""An installation that is killed between any two of its writes: the same command finishes it, with the result of one run."""

import json
import os
import subprocess
import sys

import pytest

from cluster import MOBULA, ROOT, kubectl, manifests, objects
from processes import token
from test_apply import left_in, made, of_the_cluster, place, run  # noqa: F401 fixtures

sys.path.append(str(ROOT / "tests/fault"))
from proxy import Certificates, Proxy

FLAGS = ("--no-crds", "--replicas=2", "--shapes", "--kinds=all")
FEWER = ("--no-crds", "--drop-flags")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FIELDS = {"rayclusters.ray.io": "suspend", "rayjobs.ray.io": "entrypointResources"}


class Killer:
    """Kills the process once the API server has carried out its nth write, before the answer comes."""

    name, lifted = "kill", None

    def __init__(self, nth):
        self.nth, self.seen, self.process = nth, 0, None

    def takes(self, x):
        write = x.is_write and not x.dry_run and x.resource not in ("selfsubjectreviews", "subjectaccessreviews")
        self.seen += write
        return write and self.seen == self.nth

    def carry_out(self, connection, x):
        connection.ask(x)
        self.process.kill()
        connection.reset()

    def finished(self, x):
        pass


@pytest.fixture
def door(made, tmp_path):  # noqa: F811
    """A proxy before the API server, and a kubeconfig of an admin that leads to it."""
    proxy = Proxy(Certificates(tmp_path))
    kubectl("-n", made, "create", "serviceaccount", "root")
    kubectl("create", "clusterrolebinding", f"root-{made}", "--clusterrole=cluster-admin", f"--serviceaccount={made}:root")
    config = tmp_path / "config"
    config.write_text(f"""apiVersion: v1
kind: Config
clusters: [{{name: rig, cluster: {{server: "https://127.0.0.1:{proxy.port}", certificate-authority: "{proxy.certificates.ca}"}}}}]
users: [{{name: root, user: {{token: "{token(made, 'root')}"}}}}]
contexts: [{{name: rig, context: {{cluster: rig, user: root}}}}]
current-context: rig
""")
    yield proxy, config
    proxy.close()
    kubectl("delete", "clusterrolebinding", f"root-{made}")


def killed(door, nth, *command):
    """Runs the command until it is killed. False: it has fewer writes, and ends by itself."""
    proxy, config = door
    killer = Killer(nth)
    killer.process = subprocess.Popen([MOBULA, *command], env={**os.environ, "KUBECONFIG": str(config)}, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True)
    proxy.add(killer)
    said = killer.process.communicate(timeout=180)[1]
    proxy.rules.remove(killer)
    assert killer.process.returncode in (0, -9), said
    return killer.process.returncode == -9


def owned(made):  # noqa: F811
    return left_in(made) - {"serviceaccount/root"}


def names(made, *flags):  # noqa: F811
    """Of the namespaced objects that these flags make, as left_in has them."""
    wanted = objects("--namespace", made, *flags)
    return {(o["kind"].lower(), o["metadata"]["name"]) for o in wanted if o["metadata"].get("namespace") == made}


def found_in(made):  # noqa: F811
    found = {(kind.split(".")[0], name) for kind, _, name in (o.partition("/") for o in owned(made))}
    return {f for f in found if f[0] not in ("pod", "lease")}


def stands(made, *flags):  # noqa: F811
    """Checks that the objects are those of a single run: an upgrade would change nothing, and no other object exists."""
    assert run("upgrade", "--namespace", made, *flags, "--dry-run") == ("", "mobula: 0 objects would change\n")
    found = found_in(made)
    assert found == names(made, *flags), found ^ names(made, *flags)


def test_an_installation(door, made):  # noqa: F811
    install = ("install", "--apply", "--namespace", made, *FLAGS)
    nth = 1
    while killed(door, nth, *install):
        run(*install)
        stands(made, *FLAGS)
        run("uninstall", "--apply", "--namespace", made)
        assert owned(made) == set()
        nth += 1
    assert nth > 6, nth
    stands(made, *FLAGS)


def test_an_upgrade(door, made):  # noqa: F811
    """From more objects to fewer: what is surplus is deleted, however often it was begun."""
    upgrade = ("upgrade", "--namespace", made, *FEWER)
    nth, more = 1, manifests("--namespace", made, *FLAGS)
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=more)
    while killed(door, nth, *upgrade):
        run(*upgrade)
        stands(made, "--no-crds")
        kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=more)
        nth += 1
    assert nth > 6, nth
    stands(made, "--no-crds")
    run("uninstall", "--apply", "--namespace", made)
    assert owned(made) == set()


def make_older(api):
    """Removes a field from each definition, as if an older version had applied it."""
    for name, field in FIELDS.items():
        versions = api.get(f"{DEFINITIONS}/{name}")["spec"]["versions"]
        for version in versions:
            version["schema"]["openAPIV3Schema"].get("properties", {}).get("spec", {}).get("properties", {}).pop(field, None)
        api.patch(f"{DEFINITIONS}/{name}", {"spec": {"versions": versions}})


def in_full(api):
    return all(field in json.dumps(api.get(f"{DEFINITIONS}/{name}")["spec"]) for name, field in FIELDS.items())


@pytest.mark.parametrize("more", [("--crds-only",), ()], ids=["definitions-and-policies", "all"])
def test_an_installation_with_definitions(api, door, made, more):  # noqa: F811
    """Before the installation the definitions are older, and the policies do not exist."""
    install = ("install", "--apply", "--namespace", made, *more)
    wanted = {f"{o['kind'].lower()}.admissionregistration.k8s.io/{o['metadata']['name']}"
              for o in objects("--namespace", made, "--crds-only") if o["kind"].startswith("Validating")}
    nth, going = 1, True
    try:
        while going:
            make_older(api)
            going = killed(door, nth, *install)
            if going:
                run(*install)
            assert in_full(api) and of_the_cluster(made) - {f"clusterrolebinding.rbac.authorization.k8s.io/root-{made}"} == wanted, nth
            assert all(line.endswith((" unchanged", " is available")) for line in run(*install)[0].splitlines()), nth
            if not more:
                assert run("upgrade", "--namespace", made, "--dry-run") == ("", "mobula: 0 objects would change\n"), nth
            run("uninstall", "--apply", "--namespace", made)
            assert owned(made) == set() and of_the_cluster(made) == set(), nth
            nth += 1
    finally:
        run("install", "--apply", "--crds-only", "--namespace", made)
        run("uninstall", "--apply", "--namespace", made)
    assert nth > 8, nth


def test_an_uninstallation(door, made):  # noqa: F811
    nth, going = 1, True
    while going:
        kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifests("--namespace", made, *FLAGS))
        going = killed(door, nth, "uninstall", "--apply", "--namespace", made)
        run("uninstall", "--apply", "--namespace", made)
        assert owned(made) == set() and of_the_cluster(made) == set(), nth
        nth += 1
    assert nth > 6, nth


def test_a_rollback(door, made):  # noqa: F811
    """After an interrupted rollback the next one completes or reverts it: all objects are of one revision, none of the other."""
    run("install", "--apply", "--namespace", made, *FLAGS)
    run("upgrade", "--namespace", made, *FEWER)
    nth, ends, going = 1, set(), True
    while going:
        going = killed(door, nth, "rollback", "--namespace", made, "--more-rights")
        if going:
            run("rollback", "--namespace", made, "--more-rights")
        flags = FLAGS if ("poddisruptionbudget", "mobula") in found_in(made) else ("--no-crds",)
        stands(made, *flags)
        ends.add(flags)
        nth += 1
    assert nth > 6 and ends, (nth, ends)
    run("uninstall", "--apply", "--namespace", made)
    assert owned(made) == set()
