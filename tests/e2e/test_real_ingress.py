"""VersionedServices behind a real ingress controller: Traefik, which takes Ingresses of its own class, without weights, and those of
ingress-nginx, with their canary annotations."""

import pytest

from cluster import Refused, condition, eventually
from services import needs_address
from stores import free_port
from test_versioned import Versioned
from traefik import HOST, Replica, Traefik

pytestmark = needs_address
CLASSES = {"traefik": "traefik.io/ingress-controller", "nginx": "k8s.io/ingress-nginx"}


@pytest.fixture
def traefik(space, tmp_path):
    path = "/apis/networking.k8s.io/v1/ingressclasses"
    for name, controller in CLASSES.items():
        try:
            space.api.call("POST", path, {"metadata": {"name": name}, "spec": {"controller": controller}})
        except Refused as e:
            assert e.status == 409
    own, nginx = "--providers.kubernetesingress", "--providers.kubernetesingressnginx"
    made = Traefik(tmp_path / "traefik.log", {"web": f"127.0.0.1:{free_port()}"}, own, f"{own}.ingressclass=traefik",
                   f"{own}.namespaces={space.name}", f"{own}.ingressendpoint.ip=192.0.2.1", nginx,
                   f"{nginx}.watchnamespace={space.name}", f"{nginx}.publishstatusaddress=192.0.2.2")
    yield made
    made.close()
    for name in CLASSES:
        space.api.call("DELETE", f"{path}/{name}")
    print((tmp_path / "traefik.log").read_text()[-4000:])


def test_traefik_divides_requests_by_canary_annotations_and_not_between_ingresses_of_its_own(operators, space, boards, traefik):
    service, old, new = Versioned(space), boards(), boards()
    one, two = Replica("v1"), Replica("v2")
    operators()
    service.create(one.version(old, 80), two.version(new, 20), route={"ingressClassName": "nginx", "hostnames": [HOST]})
    service.serve("v1", old)
    service.serve("v2", new)
    service.phase("Complete")
    eventually(lambda: set(traefik.shares(50)) == {"v1", "v2"})
    shares = traefik.shares()
    assert set(shares) == {"v1", "v2"} and 0.1 < shares["v2"] < 0.3, shares
    assert traefik.shares(50, X_ANYSCALE_VERSION="v2") == traefik.shares(50, X_ANYSCALE_VERSION="canary") == {"v2": 1}
    service.says("RoutesReady", "requests come in at 192.0.2.2")

    # The class of Traefik's own Ingresses: all requests go to the version with the largest share, and they change over.
    space.api.patch(service.path, {"spec": {"ingressClassName": "traefik"}})
    assert service.says("RoutesReady", "has no weights, so the heaviest version gets all")["reason"] == "RequestsNotDivided"
    eventually(lambda: traefik.shares(50) == {"v1": 1})
    service.phase("Complete")
    service.change(one.version(old, 20), two.version(new, 80))
    service.phase("Complete")
    eventually(lambda: traefik.shares(50) == {"v2": 1})
    assert traefik.shares() == {"v2": 1}
    service.change(two.version(new, 100))
    service.phase("Complete")
    eventually(lambda: condition(service.get(), "RoutesReady")["status"] == "True")
    service.says("RoutesReady", "requests come in at 192.0.2.1")
    one.close()
    two.close()
