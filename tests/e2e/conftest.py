import contextlib
import itertools
import json
import os
import subprocess
from pathlib import Path

import pytest

from cluster import ROOT, Api, definitions, kubectl, manifests, workspace
from dashboards import Dashboard, Serve, own_address
from processes import Door, Operator
from services import Service

numbers = itertools.count(1)
GATEWAY_API = "v1.5.1"
ISTIO_API = "v1.28.0"


@pytest.fixture(scope="session")
def api():
    return Api()


@pytest.fixture(scope="session", autouse=True)
def crds():
    """The CRDs, applied as a user would: client-side."""
    kubectl("apply", "-f", "-", stdin=manifests("--crds-only", "--kinds=all"))
    kubectl("wait", "--for=condition=Established", *(f"crd/{name}" for name in definitions()), "--timeout=120s")


@pytest.fixture
def space(api, request):
    """A namespace of the test's own, with what an installation needs. A test that needs a certain name gives it as the parameter."""
    name = getattr(request, "param", f"t{os.getpid()}-{next(numbers)}")  # a control plane that was kept has the old ones still
    with workspace(api, name) as made:
        yield made


@pytest.fixture
def nodes(api):
    """Makes fake nodes beside those of the rig: nodes("n", {"zone": "a"}, [{"key": …}]). Gone afterwards."""
    made = []

    def make(name, labels=None, taints=(), pods=32):
        room = {"cpu": "256", "memory": "1Ti", "pods": str(pods), "nvidia.com/gpu": "8"}
        api.call("POST", "/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node", "spec": {"taints": list(taints)}, "status": {"allocatable": room, "capacity": room},
            "metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"}, "labels": {"kubernetes.io/hostname": name,
                         **(labels or {})}}})
        made.append(name)

    yield make
    for name in made:
        api.call("DELETE", f"/api/v1/nodes/{name}")


@pytest.fixture
def operators(space, tmp_path):
    """Makes operators for the test's namespace: operators("--leader-elect"). All are stopped at the end, and none may have crashed."""
    made = []

    def make(*flags, **options):
        op = Operator(tmp_path, space.name, *flags, name=f"operator{len(made)}", **options)
        made.append(op)
        return op

    yield make
    codes = [op.stop() for op in made]
    assert all(code in (0, -9) for code in codes), [(code, op.log()) for code, op in zip(codes, made)]


@pytest.fixture
def operator(operators):
    return operators()


@pytest.fixture
def door():
    d = Door()
    yield d
    d.shut()


@pytest.fixture
def board():
    address = own_address()
    if not address:
        pytest.fail("this machine has no address but loopback, which no head can have: connect it to a network")
    made = Dashboard(address)
    yield made
    made.close()


@pytest.fixture
def boards():
    """Makes dashboards with Ray Serve."""
    made = []

    def make():
        made.append(Serve(own_address()))
        return made[-1]

    yield make
    for one in made:
        with contextlib.suppress(OSError):
            one.close()


@pytest.fixture
def service(space):
    return Service(space)


def definitions_of(module, files):
    """Applies definitions of a Go module, and deletes them afterwards."""
    out = subprocess.run(["go", "mod", "download", "-json", module], capture_output=True, text=True, cwd=ROOT / "tests", check=False)
    assert out.returncode == 0, out.stdout + out.stderr
    files = [Path(json.loads(out.stdout)["Dir"]) / file for file in files]
    for file in files:
        kubectl("apply", "--server-side", "-f", file)
    kubectl("wait", "--for=condition=Established", *(arg for file in files for arg in ("-f", file)), "--timeout=120s")
    yield
    for file in files:
        kubectl("delete", "-f", file, "--timeout=60s")


@pytest.fixture(scope="module")
def gateway_api():
    """The definitions of the Gateway API."""
    names = "gatewayclasses", "gateways", "httproutes", "grpcroutes", "referencegrants", "backendtlspolicies", "tlsroutes"
    yield from definitions_of(f"sigs.k8s.io/gateway-api@{GATEWAY_API}",
                              [f"config/crd/standard/gateway.networking.k8s.io_{name}.yaml" for name in names])


@pytest.fixture(scope="module")
def istio_api():
    """The definitions of Istio."""
    yield from definitions_of(f"istio.io/api@{ISTIO_API}", ["kubernetes/customresourcedefinitions.gen.yaml"])
