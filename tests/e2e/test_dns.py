"""mobula dns against a real API server: routes that the operator has made, addresses that controllers would give them."""

import json

from cluster import RUN, Api, eventually, kubectl, kubeconfig_of, mobula, raycluster, workspace
from services import needs_address
from test_routes import GATEWAY, NETWORKING, dashboard
from test_versioned import ISTIO, Versioned, version

ADMIN = RUN / "admin.kubeconfig"
HOSTNAME, ADDRESS = "external-dns.alpha.kubernetes.io/hostname", "anyscale.com/ingress-address"
WAITS = 3


def dns(*flags, kubeconfig=ADMIN):
    return mobula("dns", *flags, f"--kubeconfig={kubeconfig}")


def records(*flags):
    """The lines of a zone file, sorted; nothing may be left out."""
    out = dns("--format=zone", *flags)
    assert (out.returncode, out.stderr) == (0, ""), (out.stdout, out.stderr)
    return sorted(out.stdout.splitlines())


def give(space, resource, name, group, **status):
    space.api.patch(space.path(resource, name, group) + "/status", {"status": status})


def listening(space, address):
    """A Gateway "public" with this address."""
    path = space.path("gateways", group=GATEWAY)
    space.api.call("POST", path, {
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "public"},
        "spec": {"gatewayClassName": "good", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]}})
    give(space, "gateways", "public", GATEWAY, addresses=[{"type": "IPAddress", "value": address}])


def test_ingress_and_service(space, operators):
    operators()
    space.apply(dashboard("c", ingressOptions={"host": "ray.example.org"}))
    head = raycluster("h")
    head["spec"]["headGroupSpec"]["headService"] = {
        "metadata": {"annotations": {HOSTNAME: "h.example.org,i.example.org"}}, "spec": {"type": "LoadBalancer"}}
    space.apply(head)
    space.api.call("POST", space.path("ingresses", group=NETWORKING), {
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "others"},
        "spec": {"rules": [{"host": "others.example.org"}]}})
    eventually(lambda: space.find(space.path("ingresses", "c-head-ingress", NETWORKING)))
    eventually(lambda: space.find(space.path("services", "h-head-svc")))
    out = dns("-n", space.name)
    assert out.returncode == WAITS and out.stdout.split() == ["HOST", "TYPE", "VALUE", "OBJECT"], out.stdout
    assert f"mobula: ray.example.org: Ingress {space.name}/c-head-ingress has no address yet" in out.stderr
    assert f"mobula: i.example.org: Service {space.name}/h-head-svc has no address yet" in out.stderr
    assert "others" not in out.stderr

    give(space, "ingresses", "c-head-ingress", NETWORKING, loadBalancer={"ingress": [{"ip": "192.0.2.7"}, {"ip": "192.0.2.8"}]})
    give(space, "services", "h-head-svc", "/api/v1", loadBalancer={"ingress": [{"hostname": "lb.example.net"}]})
    assert records("-n", space.name) == [
        "h.example.org. 300 IN CNAME lb.example.net.", "i.example.org. 300 IN CNAME lb.example.net.",
        "ray.example.org. 300 IN A 192.0.2.7", "ray.example.org. 300 IN A 192.0.2.8"]
    assert set(records("-n", space.name)) <= set(records("-A"))
    table = dns("-n", space.name).stdout.splitlines()
    assert table[1].split() == ["ray.example.org", "A", "192.0.2.7", "Ingress", f"{space.name}/c-head-ingress"]
    change = json.loads(dns("-n", space.name, "--format=aws").stdout)["Changes"][0]
    assert change == {"Action": "UPSERT", "ResourceRecordSet": {
        "Name": "ray.example.org.", "Type": "A", "TTL": 300, "ResourceRecords": [{"Value": "192.0.2.7"}, {"Value": "192.0.2.8"}]}}
    assert [r["type"] for r in json.loads(dns("-n", space.name, "-o", "json").stdout)] == ["A", "CNAME", "CNAME"]
    out = dns("-n", space.name, "--format=azure", "--zone=example.org", "--group=net")
    assert "az network private-dns record-set a add-record -g net -z example.org -n ray -a 192.0.2.8\n" in out.stdout
    assert records("-n", space.name, "--address=10.0.0.1", "--ttl=60", "--zone=example.org")[0] == "h.example.org. 60 IN A 10.0.0.1"
    assert dns("-n", space.name, "--format=gcloud").returncode == 2


@needs_address
def test_gateway_of_another_namespace(gateway_api, space, operators, boards, tmp_path):
    """Its address, the annotations that win over it, and what lacks rights."""
    service, board = Versioned(space), boards()
    operators()
    with workspace(Api(), f"{space.name}-infra") as infra:
        listening(infra, "192.0.2.9")
        service.create(version("v1", board), route={"gateway": {"name": "public", "namespace": infra.name},
                                                    "hostnames": ["rag.example.org", "*.rag.example.org"]})
        service.serve("v1", board)
        route = space.path("httproutes", "rag-httproute", GATEWAY)
        eventually(lambda: space.find(route))
        assert records("-n", space.name) == ["*.rag.example.org. 300 IN A 192.0.2.9", "rag.example.org. 300 IN A 192.0.2.9"]
        out = dns("-n", space.name, "--format=hosts")
        assert (out.returncode, out.stdout) == (0, "192.0.2.9 rag.example.org\n") and "*.rag.example.org" in out.stderr
        note = {"metadata": {"annotations": {ADDRESS: "gw.example.net"}}}
        infra.api.patch(infra.path("gateways", "public", GATEWAY), note)
        assert records("-n", space.name)[1] == "rag.example.org. 300 IN CNAME gw.example.net."
        space.api.patch(route, {"metadata": {"annotations": {ADDRESS: "192.0.2.10"}}})
        assert records("-n", space.name)[1] == "rag.example.org. 300 IN A 192.0.2.10"
        space.api.patch(route, {"metadata": {"annotations": {ADDRESS: None}}})

        kubectl("-n", space.name, "create", "serviceaccount", "reader")
        kubectl("-n", space.name, "create", "role", "reader", "--verb=list", "--resource=httproutes.gateway.networking.k8s.io")
        kubectl("-n", space.name, "create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={space.name}:reader")
        out = dns("-n", space.name, kubeconfig=kubeconfig_of("reader", space.name, tmp_path))
        assert out.returncode == WAITS, out.stderr
        assert f"ingresses.networking.k8s.io of {space.name} is left out: the right to list them is missing" in out.stderr
        assert f"gateways.gateway.networking.k8s.io of {infra.name} is left out: the right to get them is missing" in out.stderr
        assert f"rag.example.org: HTTPRoute {space.name}/rag-httproute has no address yet" in out.stderr


@needs_address
def test_istio(istio_api, space, operators, boards):
    """A VirtualService has an address by its annotation alone."""
    service, board = Versioned(space), boards()
    operators()
    service.create(version("v1", board), route={"istio": {"gateways": ["mesh"]}, "hostnames": ["rag.example.org"]})
    service.serve("v1", board)
    path = space.path("virtualservices", "rag-virtualservice", ISTIO)
    eventually(lambda: space.find(path))
    assert dns("-n", space.name).returncode == WAITS
    assert records("-n", space.name, "--address=fd00::1") == ["rag.example.org. 300 IN AAAA fd00::1"]
    space.api.patch(path, {"metadata": {"annotations": {ADDRESS: "192.0.2.11"}}})
    assert records("-n", space.name) == ["rag.example.org. 300 IN A 192.0.2.11"]
