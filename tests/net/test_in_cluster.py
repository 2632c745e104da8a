"""Programs as a pod runs them, in a network namespace of their own: what a name of the cluster leads to, and the container of another
operator's chart on the ports that its probes and scrapers know."""

import http.client
import json
import re
import subprocess

import pytest

from lab import API, TOOLS
from operators import MOBULA, Bench, eventually, rig

# As the kubelet gives it to a container.
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
MOUNT = f'mount -t tmpfs none /run && mkdir -p {ACCOUNT} && cp "$1"/token "$1"/ca.crt "$1"/namespace {ACCOUNT}/ && shift && exec "$@"'


@pytest.fixture
def bench(tmp_path, servers, pki, stranger):
    made = Bench(tmp_path / "pod", servers, pki, stranger, real=True)
    yield made
    made.close()


def in_pod(bench, *command):
    """The command with the account's files and variables of a pod."""
    for name, text in ("token", bench.model.token), ("ca.crt", bench.pki.ca.read_text()), ("namespace", bench.model.namespace):
        (bench.folder / name).write_text(text)
    return bench.lab.command("env", f"KUBERNETES_SERVICE_HOST={API}", "KUBERNETES_SERVICE_PORT=6443", "sh", "-c", MOUNT, "sh",
                             bench.folder, *command)


def test_names_of_services(bench):
    """`mobula check` in a pod asks the cluster's DNS for the API server's Service, and opens a connection to what that says."""
    def row():
        command = in_pod(bench, MOBULA, "check", "-o", "json")
        out = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=TOOLS)
        (found,) = [r for r in json.loads(out.stdout)["checks"] if r["check"] == "dns"]
        return found

    found = row()
    assert found["result"] == "fail" and "kubernetes.default.svc.cluster.local" in found["found"], found
    assert "ask the name server" in found["remedy"]
    bench.names.records["kubernetes.default.svc.cluster.local"] = [API]
    bench.door.open(bench.lab, API, 443)
    assert row() == {"check": "dns", "result": "pass", "found": "kubernetes.default.svc.cluster.local has an address, and answers"}


def test_the_container_of_the_anyscale_operators_chart(bench):
    """The arguments of the Deployment that its chart 1.8.0 renders, word for word but for the release's namespace; it gets ready by the
    chart's probe, and what its scrapers ask for answers."""
    text = (rig.ROOT / "tests/data/cli/anyscale-deployment.yaml").read_text()
    args = [a.replace("lease-namespace=anyscale", f"lease-namespace={bench.model.namespace}")
            for a in re.findall(r"^        - (--\S+|start)$", text, re.M)]
    assert len(args) == 22 and "port: 8081" in text
    # The program lies where the chart starts its own.
    program = bench.folder / "app/go/infra/kubernetes_manager/kubernetes_manager"
    program.parent.mkdir(parents=True)
    program.symlink_to(MOBULA)
    with bench.log_path.open("wb") as log:
        bench.process = subprocess.Popen(in_pod(bench, program, *args), stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=TOOLS)

    def ask(port, path):
        """Status and text; nobody listens: 0."""
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            link.sock = bench.lab.near.connect("127.0.0.1", port)
            link.request("GET", path)
            answer = link.getresponse()
            return answer.status, answer.read().decode()
        except ConnectionRefusedError:
            return 0, ""

    assert eventually(lambda: ask(8081, "/readyz")[0] == 200, 60)[0], bench.log()
    assert ask(8081, "/healthz")[0] == 200, bench.log()
    status, text = ask(2112, "/metrics")
    assert status == 200 and "mobula_decisions_total" in text and ask(2112, "/metrics_grpc")[0] == 200
    status, text = ask(2113, "/healthz/run")
    assert status in (200, 503) and "KUBERNETES_VERSION" in text, text
    status, text = ask(2113, "/config")
    assert status == 200 and json.loads(text)["excludeComponentVerification"] == ["CLOUD_RESOURCES", "STORAGE_BUCKET"], text
    told = bench.lines("--vector-enrichment-table-path")
    assert len(told) == 1 and "--log-file" in told[0], bench.log()
