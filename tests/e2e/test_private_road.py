"""The private road of docs/platforms.md, steps 3 to 7: an internal load balancer, an ingress controller that ends TLS, names in a private
zone. Traefik is real, and so is each handshake; the load balancer is an address that Traefik writes into the status of Ingresses."""

import json
import re

import pytest
from cluster import RUN, Refused, eventually, mobula, raycluster
from dashboards import Serve
from services import ADDRESS, Service, needs_address
from stores import free_port
from test_real_ingress import CLASSES
from test_route_tls import OWN, data, grant
from test_routes import NETWORKING
from test_versioned import Versioned
from traefik import Replica, Traefik

pytestmark = needs_address
INTERNAL, DOMAIN = "10.224.0.9", "ray.example"
PRIVATE = "service.beta.kubernetes.io/azure-load-balancer-internal"


@pytest.fixture
def traefik(space, tmp_path):
    path, own = "/apis/networking.k8s.io/v1/ingressclasses", "--providers.kubernetesingress"
    try:
        space.api.call("POST", path, {"metadata": {"name": "traefik"}, "spec": {"controller": CLASSES["traefik"]}})
    except Refused as e:
        assert e.status == 409
    made = Traefik(tmp_path / "traefik.log", {"web": f"127.0.0.1:{free_port()}", "tls": f"127.0.0.1:{free_port()}"},
                   "--entrypoints.tls.http.tls=true", own, f"{own}.ingressclass=traefik", f"{own}.namespaces={space.name}",
                   f"{own}.ingressendpoint.ip={INTERNAL}")
    yield made
    made.close()
    space.api.call("DELETE", f"{path}/traefik")
    print((tmp_path / "traefik.log").read_text()[-4000:])


class Head:
    """A fake dashboard that stands for the head of a cluster."""

    def __init__(self, space, name, board):
        self.space, self.name, self.board = space, name, board

    def is_asked(self, traefik, ca, host):
        """The dashboard answers at this host. The node may set the pod's address once more, when it runs."""
        Service(self.space).lead(self.name, self.board)
        return traefik.ask_tls(ca, host) not in (404, 502, 503, 504)

    def close(self):
        self.board.close()


def lead_dashboard(space, name):
    """The fake dashboard stands for the head of this cluster, at the port that its head service has."""
    board = Serve(ADDRESS)
    cluster = raycluster(name, replicas=0)
    cluster["metadata"]["annotations"] = {"kubernetes.io/ingress.class": "traefik", "mobula.dev/ingress-ports": "notebook"}
    head = cluster["spec"]["headGroupSpec"]
    head |= {"enableIngress": True, "rayStartParams": {"dashboard-port": str(board.port)}}
    head["template"]["spec"]["containers"][0]["ports"] = [{"name": "dashboard", "containerPort": board.port},
                                                          {"name": "notebook", "containerPort": board.port + 1}]
    space.apply(cluster)
    return Head(space, name, board)


def records(*flags):
    """Host and address of each record in the commands that mobula dns prints."""
    out = mobula("dns", *flags, "--format", "azure", "--zone", DOMAIN, "--group", "ours")
    assert out.returncode == 0, out.stderr
    added = re.findall(r"^az network private-dns record-set a add-record -g ours -z (\S+) -n '?([^ ']+)'? -a (\S+)$",
                       out.stdout, re.MULTILINE)
    return {f"{name}.{zone}": address for zone, name, address in added}


def test_private_cluster(space, operators, boards, traefik, tmp_path):
    grant(space)
    operators("--cloud-provider=azure", "--internal-load-balancers", f"--domain={DOMAIN}", f"--route-ca={OWN}")
    board, replica, service = boards(), Replica("v1"), Versioned(space)
    file = tmp_path / "service.json"
    file.write_text(json.dumps({"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "rag"},
                                "spec": replica.version(board, 100)["rayServiceConfig"]}))
    flags = ("-n", space.name, "--kubeconfig", RUN / "admin.kubeconfig")
    assert mobula("service", "deploy", "rag", *flags, "-f", file, "--ingress-class", "traefik").returncode == 0
    service.serve(service.get()["spec"]["versions"][0]["name"], board)
    service.phase("Complete")
    head = lead_dashboard(space, "lab")
    served, shown = f"rag.{space.name}.s.{DOMAIN}", f"lab.{space.name}.i.{DOMAIN}"

    # Each host has a certificate by the operator's CA, which is all that a client trusts.
    service.says("RoutesReady", f"requests come in at {INTERNAL}")
    ca = eventually(lambda: data(space, OWN))["tls.crt"]
    eventually(lambda: traefik.ask_tls(ca, served) == "v1")
    eventually(lambda: head.is_asked(traefik, ca, shown))
    assert "CERTIFICATE_VERIFY_FAILED" in traefik.ask_tls(ca, "other.example.org")
    ingress = space.find(space.path("ingresses", "lab-head-ingress", NETWORKING))
    assert [rule["host"] for rule in ingress["spec"]["rules"]] == [shown, f"notebook-{shown}"]
    assert ingress["spec"]["tls"] == [{"hosts": [shown, f"notebook-{shown}"], "secretName": "lab-head-tls"}]

    # A head with a load balancer of its own: internal, and known to external-dns.
    cluster = raycluster("direct", replicas=0)
    cluster["spec"]["headGroupSpec"]["serviceType"] = "LoadBalancer"
    space.apply(cluster)
    made = eventually(lambda: space.find(space.path("services", "direct-head-svc")))["metadata"]["annotations"]
    assert made[PRIVATE] == "true" and made["external-dns.alpha.kubernetes.io/hostname"] == f"direct.{space.name}.i.{DOMAIN}"
    assert PRIVATE not in space.find(space.path("services", "lab-head-svc"))["metadata"].get("annotations", {})

    # The records of the private zone, as commands.
    space.api.patch(space.path("services", "direct-head-svc") + "/status",
                    {"status": {"loadBalancer": {"ingress": [{"ip": "10.224.0.10"}]}}})
    expected = {served: INTERNAL, shown: INTERNAL, f"notebook-{shown}": INTERNAL, f"direct.{space.name}.i.{DOMAIN}": "10.224.0.10"}
    eventually(lambda: records(*flags) == expected)
    head.close()
