"""VersionedServices and RayServices behind a real controller of the Gateway API: Traefik. The Gateway of a VersionedService is in another
namespace, that of a RayService is the operator's."""

import os

import pytest

from authorities import issue, new_key, put_ca
from cluster import V1, condition, eventually
from services import Service, in_steps, needs_address
from stores import free_port
from test_route_tls import data, grant, told
from test_routes import GATEWAY, weights as weights_of_upgrade
from test_versioned import Versioned, route_of, weights
from traefik import HOST, Replica, Traefik

pytestmark = needs_address
CLASS, IP = "traefik", "192.0.2.3"
GRPC_HOST = "grpc.example.org"


class Infra:
    """A namespace with the Gateway "public", to which routes of all namespaces may attach."""

    def __init__(self, space):
        self.space, self.name = space, f"{space.name}-infra"
        self.path = f"{GATEWAY}/namespaces/{self.name}/gateways"
        space.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": self.name}})

    def gateway(self, *listeners):
        of_all = {"namespaces": {"from": "All"}}
        self.space.api.call("POST", self.path, {
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "public"},
            "spec": {"gatewayClassName": CLASS, "listeners": [{"allowedRoutes": of_all, **one} for one in listeners]}})

    def close(self):
        self.space.api.call("DELETE", self.path)
        self.space.api.call("DELETE", f"/api/v1/namespaces/{self.name}")


@pytest.fixture
def infra(gateway_api, space):
    path = f"{GATEWAY}/gatewayclasses"
    space.api.call("POST", path, {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": CLASS},
                                  "spec": {"controllerName": "traefik.io/gateway-controller"}})
    made = Infra(space)
    yield made
    made.close()
    space.api.call("DELETE", f"{path}/{CLASS}")


@pytest.fixture
def traefiks(infra, space, tmp_path):
    """Starts Traefik with these entry points."""
    made, log, flag = [], tmp_path / "traefik.log", "--providers.kubernetesgateway"

    def make(listens):
        made.append(Traefik(log, listens, flag, f"{flag}.namespaces={space.name},{infra.name}", f"{flag}.statusaddress.ip={IP}"))
        return made[0]

    yield make
    for one in made:
        one.close()
    print(log.read_text()[-4000:])


def pinned(traefik, version, *names):
    """Each header and name leads to this version."""
    return all(traefik.shares(20, **{header: name}) == {version: 1} for name in names
               for header in ("X_Mobula_Version", "X_ANYSCALE_VERSION"))


def test_a_gateway_divides_requests_by_weight_and_pins_versions(operators, space, boards, infra, traefiks):
    service, old, new = Versioned(space), boards(), boards()
    one, two, port = Replica("v1"), Replica("v2"), free_port()
    infra.gateway({"name": "web", "protocol": "HTTP", "port": port})
    traefik = traefiks({"web": f"127.0.0.1:{port}"})
    operators()
    service.create(one.version(old, 80), two.version(new, 20), route={
        "gateway": {"name": "public", "namespace": infra.name}, "hostnames": [HOST], "grpc": {"hostnames": [GRPC_HOST]}})
    service.serve("v1", old)
    service.serve("v2", new)
    service.phase("Complete")
    eventually(lambda: condition(service.get(), "RoutesReady")["status"] == "True")
    eventually(lambda: set(traefik.shares(50)) == {"v1", "v2"})
    shares = traefik.shares()
    assert set(shares) == {"v1", "v2"} and 0.1 < shares["v2"] < 0.3, shares
    assert pinned(traefik, "v1", "v1", "primary") and pinned(traefik, "v2", "v2", "canary")
    assert traefik.ask(host="other.example.org") == 404

    # A rollout to the end, and back: each step waits until Traefik has the generation of the route.
    service.change(two.version(new, 100), stepPercent=50)
    service.phase("Complete")
    eventually(lambda: traefik.shares(50) == {"v2": 1})
    assert weights(space) == {"rag-v2": 100}
    parents = route_of(space)["status"]["parents"]
    assert [c["status"] for p in parents for c in p["conditions"] if c["type"] in ("Accepted", "ResolvedRefs")] == ["True", "True"]
    generation = service.get()["metadata"]["generation"]
    space.api.patch(service.path, {"metadata": {"annotations": {"mobula.dev/rollback": str(generation)}}})
    service.phase("RolledBack")
    eventually(lambda: set(traefik.shares(50)) == {"v1", "v2"})

    # What the parents say is in the condition.
    space.api.patch(service.path, {"spec": {"gateway": {"sectionName": "absent"}}})
    said = service.says("RoutesReady", "HTTPRoute rag-httproute is not Accepted: NoMatchingParent")
    assert said["status"] == "False"
    space.api.patch(service.path, {"spec": {"gateway": {"sectionName": "web"}}})
    eventually(lambda: condition(service.get(), "RoutesReady")["status"] == "True")
    one.close()
    two.close()


def test_a_gateway_of_another_namespace_reads_the_certificate_of_a_service(operators, space, boards, infra, traefiks):
    service, board, one = Versioned(space), boards(), Replica("v1")
    port, tls = free_port(), free_port()
    infra.gateway({"name": "web", "protocol": "HTTP", "port": port},
                  {"name": "tls", "protocol": "HTTPS", "port": tls,
                   "tls": {"certificateRefs": [{"name": "rag-tls", "namespace": space.name}]}})
    traefik = traefiks({"web": f"127.0.0.1:{port}", "tls": f"127.0.0.1:{tls}"})
    grant(space)
    operators("--route-ca=mobula-route-ca")
    service.create(one.version(board, 100), route={"gateway": {"name": "public", "namespace": infra.name}, "hostnames": [HOST]})
    told(space, service.path, "Secret rag-tls is valid until")
    service.serve("v1", board)
    service.phase("Complete")
    eventually(lambda: traefik.ask_tls(data(space, "rag-tls")["ca.crt"]) == "v1")
    assert traefik.ask() == "v1"
    one.close()


def test_an_upgrade_in_steps_behind_a_gateway_of_the_operator(operators, space, boards, infra, traefiks):
    """KubeRay's Gateway listens at port 80; with the annotation at port 443, too."""
    service, old, new, one, two = Service(space), boards(), boards(), Replica("v1"), Replica("v2")
    pid = os.getpid()
    own = f"127.77.{pid // 256 % 256}.{pid % 256}"  # tests of other control planes use these ports at the same time
    traefik = traefiks({"web": f"{own}:80", "tls": f"{own}:443"})
    operators()

    def steps(replica, board):
        return in_steps(replica.version(board, 100)["rayServiceConfig"], CLASS, 50, 50, 1)

    service.create(**steps(one, old))
    service.lead(service.named("pending"), old)
    old.status = "RUNNING"
    first = service.named("active")
    eventually(lambda: traefik.ask() == "v1")
    assert condition(service.get(), "RoutesReady")["message"] == f"requests come through Gateway svc-gateway at {IP}"

    # HTTPS with a certificate of the user's, by the annotation alone.
    key, path = new_key(), space.path("rayservices", "svc", V1)
    cert = issue(key, hosts=[HOST])
    put_ca(space, "public-tls", cert, key)
    space.api.patch(path, {"metadata": {"annotations": {"mobula.dev/gateway-tls-secret": "public-tls"}}})
    eventually(lambda: traefik.ask_tls(cert) == "v1")
    gateway = space.api.get(space.path("gateways", "svc-gateway", GATEWAY))
    assert [(one["name"], one["port"]) for one in gateway["spec"]["listeners"]] == [("http", 80), ("https", 443)]
    assert service.named("active") == first and not service.status().get("pendingServiceStatus")

    service.patch(**steps(two, new))
    second = service.named("pending")
    service.lead(second, new)
    new.status = "RUNNING"
    eventually(lambda: service.named("active", other_than=first) == second)
    eventually(lambda: traefik.shares(50) == {"v2": 1})
    assert weights_of_upgrade(space) == {f"{second}-serve-svc": 100} and traefik.ask_tls(cert) == "v2"
    space.api.patch(path, {"metadata": {"annotations": {"mobula.dev/gateway-tls-secret": None}}})
    eventually(lambda: "v2" != traefik.ask_tls(cert) and traefik.ask() == "v2")
    one.close()
    two.close()
