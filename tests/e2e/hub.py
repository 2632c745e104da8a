"""`mobula control-plane` on the real API server, for tests: its rights are those that `mobula install --control-plane`
prints, its callers have tokens of service accounts, and what they may do is RBAC."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import threading

import pytest

from cluster import MOBULA, ROOT, eventually, kubectl, objects, unless
from processes import config_of

GROUP = "/apis/mobula.dev/v1"


def define(config=None):
    """The kinds of a control plane, in the cluster of this kubeconfig."""
    for kind in ("clouds", "computeconfigs", "workloads"):
        kubectl("apply", "-f", ROOT / f"airgap/crds/{kind}.mobula.dev.yaml", kubeconfig=config)
        kubectl("wait", "--for=condition=Established", f"crd/{kind}.mobula.dev", "--timeout=60s", kubeconfig=config)


@pytest.fixture(scope="module", autouse=True)
def definitions():
    define()


def account(space, name, *rules):
    """A service account with these rules; its token."""
    space.kubectl("create", "serviceaccount", name)
    if rules:
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name, "namespace": space.name},
                "rules": list(rules)}
        space.kubectl("apply", "-f", "-", stdin=json.dumps(role))
        space.kubectl("create", "rolebinding", name, f"--role={name}", f"--serviceaccount={space.name}:{name}")
    return token(space, name)


def token(space, name):
    return space.kubectl("create", "token", name, "--duration=1h").stdout.strip()


class Hub:
    def __init__(self, space, folder, name, *flags):
        self.space, self.log_path = space, folder / f"{name}.log"
        config = config_of(space, folder, "mobula-control-plane", name)
        usual = (f"--namespace={space.name}", "--http-addr=127.0.0.1:0", "--metrics-addr=127.0.0.1:0", f"--identity={name}")
        command = [MOBULA, "control-plane", "--kubeconfig", config, *unless(flags, *usual), *flags]
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.port = int(eventually(lambda: re.search(r"for=http-addr address=\S+ port=(\d+)", self.log()), 20).group(1))
        eventually(lambda: self.ask("GET", "/readyz")[0] == 200)

    def log(self):
        return self.log_path.read_text()

    def ask(self, method, path, token=None, body=None):
        """(status, answer); JSON is read."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        link.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = link.getresponse()
        text = answer.read().decode()
        link.close()
        return answer.status, json.loads(text) if answer.getheader("Content-Type") == "application/json" else text

    def sync(self, token, cloud, instance="one", revision="", **more):
        return self.ask("POST", "/v1/sync", token,
                        {"protocol": 1, "cloud": cloud, "instance": instance, "version": "0.1.0", "revision": revision, **more})

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(20)
        return self.process.returncode


def grant(space):
    """The account of the control plane with its rights; the process is the test's own."""
    printed = objects("--control-plane", "--namespace", space.name)
    kinds = ("ServiceAccount", "Role", "RoleBinding", "ClusterRoleBinding")
    space.kubectl("apply", "-f", "-", stdin="\n---\n".join(json.dumps(o) for o in printed if o["kind"] in kinds))


@contextlib.contextmanager
def ended(made):
    """What was made does not go on after a test that has failed."""
    try:
        yield
    except BaseException:
        for one in made:
            one.process.kill()
        raise


@contextlib.contextmanager
def hubs_in(space, folder):
    """Makes control planes for this namespace, with the rights of their installation: make("hub", "--flag")."""
    grant(space)
    made = []

    def make(name="hub", *flags):
        made.append(Hub(space, folder, name, *flags))
        return made[-1]

    with ended(made):
        yield make
    codes = [hub.stop() for hub in made]
    for left in space.api.get(space.path("workloads", group=GROUP))["items"]:  # no operator says that nothing is left of it
        space.api.call("PATCH", space.path("workloads", left["metadata"]["name"], GROUP), {"metadata": {"finalizers": []}},
                       "application/merge-patch+json")
    space.kubectl("delete", "clusterrolebinding", f"mobula-control-plane.{space.name}")
    assert all(code in (0, -9) for code in codes), [hub.log() for hub in made]


@pytest.fixture
def hubs(space, tmp_path):
    with hubs_in(space, tmp_path) as make:
        yield make


def put(space, kind, plural, name, spec):
    return space.api.call("POST", space.path(plural, group=GROUP),
                          {"apiVersion": "mobula.dev/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})


def cloud(space, name="edge", **more):
    """A cloud; its deployment id."""
    put(space, "Cloud", "clouds", name, {"provider": "generic", **more})

    def look():
        return space.api.get(space.path("clouds", name, GROUP)).get("status", {}).get("deploymentId")

    return eventually(look)


def job(space, name, **more):
    return put(space, "Workload", "workloads", name, {"cloud": "edge", "job": {"entrypoint": "python main.py"}, **more})


def operator_rule(name="edge"):
    return {"apiGroups": ["mobula.dev"], "resources": ["clouds"], "resourceNames": [name], "verbs": ["sync"]}


def status(space, name):
    return space.api.get(space.path("workloads", name, GROUP)).get("status", {})


def certificate(folder, days=1, name="DNS:localhost"):
    """A self-made one for this name; its files."""
    cert, key = folder / "tls.crt", folder / "tls.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", str(days),
                    "-subj", "/CN=hub", "-addext", f"subjectAltName={name}", "-keyout", key, "-out", cert],
                   check=True, capture_output=True)
    return cert, key


PEOPLE = [{"apiGroups": ["mobula.dev"], "resources": ["clouds", "computeconfigs", "workloads"],
           "verbs": ["get", "list", "create", "update", "delete"]}]


class Person:
    """At a terminal, with a folder for settings."""

    def __init__(self, space, folder):
        self.space, self.home = space, folder
        self.hub = self.port = self.ca = None

    def type(self, *words, code=0, stdin="", after=None, seconds=90):
        """Types a command. after: something to do to the process while it runs, which may wait for its words: so it is killed when its
        time is over."""
        env = {**{k: v for k, v in os.environ.items() if k != "KUBECONFIG"}, "XDG_CONFIG_HOME": str(self.home)}
        process = subprocess.Popen([MOBULA, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env=env)
        watchdog = threading.Timer(seconds, process.kill)
        watchdog.start()
        try:
            if after:
                after(process)
            process.stdout_text, process.stderr_text = process.communicate(stdin)
        finally:
            watchdog.cancel()
        assert process.returncode == code, (words, process.returncode, process.stdout_text, process.stderr_text)
        return process.stdout_text + process.stderr_text

    def login(self, bearer, *more, code=0):
        return self.type("login", "--server", f"https://localhost:{self.port}", "--ca-file", self.ca, "-n", self.space.name, *more,
                         stdin=bearer, code=code)


def meet(space, make_hub, folder):
    """Ann, before she has logged in to a control plane that speaks https."""
    ann = Person(space, folder / "settings")
    ann.ca, key = certificate(folder)
    ann.hub = make_hub("hub", "--https-addr", "127.0.0.1:0", "--tls-cert", ann.ca, "--tls-key", key)
    ann.port = int(re.search(r"for=https-addr address=\S+ port=(\d+)", ann.hub.log()).group(1))
    return ann


def register(person, name):
    """Registers a cloud; its deployment id."""
    return deployment_id(person.type("cloud", "register", "--name", name, "--provider", "generic", "--region", "hall-2"))


def edge_operator(person, space, operators, folder, name, where, *flags):
    """Starts the operator of this cloud, whose cluster is the one of this namespace; its rights are the caller's to give."""
    bearer = folder / f"{name}.token"
    bearer.write_text(account(person.space, name, operator_rule(name)))
    return operators(f"--cloud-deployment-id={where}", f"--control-plane-url=https://localhost:{person.port}",
                     f"--control-plane-token-file={bearer}", f"--control-plane-ca-file={person.ca}", *flags,
                     config=config_of(space, folder, name=name))


def edge(person, space, operators, folder, name):
    """Registers a cloud and starts its operator with the Role of its installation."""
    where = register(person, name)
    space.grant("--control-plane-url=https://hub.example", f"--cloud-deployment-id={where}")
    return edge_operator(person, space, operators, folder, name, where)


def deployment_id(said):
    return re.search(r"cloud deployment id: (cldrsrc_\w{24})", said).group(1)
