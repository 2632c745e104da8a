"""Ingresses of dashboards, and upgrades of RayServices in steps through a Gateway: object by object. The definitions of the Gateway API
come from its Go module; its controller is a thread of this process."""

import contextlib
import json
import threading
import time

import pytest
from cluster import RUN, V1, Api, Refused, Workspace, condition, eventually, kubectl, mobula, raycluster
from services import in_steps, needs_address, spec

NETWORKING, GATEWAY = "/apis/networking.k8s.io/v1", "/apis/gateway.networking.k8s.io/v1"


# ---- Ingress ----


def dashboard(name="c", annotations=None, **head):
    cluster = raycluster(name)
    cluster["spec"]["headGroupSpec"] |= {"enableIngress": True, **head}
    cluster["metadata"]["annotations"] = annotations or {}
    return cluster


class Ingress:
    def __init__(self, space, cluster="c"):
        self.space, self.cluster = space, cluster
        self.path = space.path("ingresses", f"{cluster}-head-ingress", NETWORKING)

    def get(self):
        return self.space.find(self.path)

    def patch(self, **change):
        self.space.api.patch(self.path, change)

    def says(self, word):
        def look():
            told = condition(self.space.cluster(self.cluster), "HeadIngressReady")
            assert told and word in told["message"], told
            return told

        return eventually(look)


def test_ingress_of_a_dashboard(space, operator):
    ingress = Ingress(space)
    space.apply(dashboard(annotations={"kubernetes.io/ingress.class": "nginx", "example.com/team": "a"},
                          ingressOptions={"host": "ray.example.com", "path": "/ray", "pathType": "ImplementationSpecific",
                                          "tls": [{"hosts": ["ray.example.com"], "secretName": "ray-tls"}]}))
    made = eventually(ingress.get)
    uid = space.cluster("c")["metadata"]["uid"]
    assert made["spec"] == {"ingressClassName": "nginx", "tls": [{"hosts": ["ray.example.com"], "secretName": "ray-tls"}], "rules": [
        {"host": "ray.example.com", "http": {"paths": [{"path": "/ray", "pathType": "ImplementationSpecific", "backend": {
            "service": {"name": "c-head-svc", "port": {"number": 8265}}}}]}}]}
    labels, notes = made["metadata"]["labels"], made["metadata"]["annotations"]
    assert labels == {"ray.io/cluster": "c", "ray.io/identifier": "c-head", "app.kubernetes.io/name": "kuberay",
                      "app.kubernetes.io/created-by": "kuberay-operator"}
    assert notes.pop("mobula.dev/template-hash") and notes == {"example.com/team": "a"}
    owner = made["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["uid"], owner["controller"], owner["blockOwnerDeletion"]) == ("RayCluster", uid, True, True)
    told = ingress.says('no ingress controller has given it an address: is "nginx"')
    assert told["status"] == "True" and told["reason"] == "IngressApplied"
    space.api.patch(ingress.path + "/status", {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}})
    ingress.says("reached at 192.0.2.7 as ray.example.com")

    ingress.patch(spec={"rules": [{"host": "elsewhere.example.com"}]}, metadata={"annotations": {"others": "stay"}})
    eventually(lambda: ingress.get()["spec"]["rules"] == made["spec"]["rules"])
    assert ingress.get()["metadata"]["annotations"]["others"] == "stay"
    space.api.call("DELETE", ingress.path)
    eventually(lambda: (ingress.get() or made)["metadata"]["uid"] != made["metadata"]["uid"])
    space.rest(operator)
    operator.stop()
    space.rest(operator.start())

    space.change("c", {"headGroupSpec": {"enableIngress": False}})
    eventually(lambda: ingress.get() is None)
    eventually(lambda: not condition(space.cluster("c"), "HeadIngressReady"))
    space.change("c", {"headGroupSpec": {"enableIngress": True}})
    eventually(ingress.get)
    space.delete("c")
    eventually(lambda: ingress.get() is None)


def test_ingress_that_cannot_be_made(space, operators, tmp_path):
    """The cluster runs all the same, and says what is missing."""
    theirs = Ingress(space, "theirs")
    space.api.call("POST", space.path("ingresses", group=NETWORKING), {
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "theirs-head-ingress"},
        "spec": {"defaultBackend": {"service": {"name": "x", "port": {"number": 1}}}}})
    operator = operators()
    space.apply(dashboard("theirs"))
    assert theirs.says("belongs to somebody else")["status"] == "False"
    assert "ownerReferences" not in theirs.get()["metadata"]
    eventually(lambda: space.cluster("theirs")["status"]["state"] == "ready")
    operator.stop()

    space.grant("--kinds=ray.io", "--rayservices")
    operator = operators("--kinds=ray.io", "--raycronjobs=false")
    space.apply(raycluster("plain"))
    space.apply(dashboard("c"))
    told = Ingress(space).says("ingresses.networking.k8s.io cannot be listed")
    assert "headGroupSpec.enableIngress" in told["message"] and "mobula install --ingresses" in told["message"]
    for name in ("plain", "c"):
        eventually(lambda name=name: space.cluster(name)["status"]["state"] == "ready")
    space.grant()
    eventually(Ingress(space).get)
    operator.stop()

    space.apply(dashboard("off"))
    operators("--ingresses=false")
    Ingress(space, "off").says("this operator runs with --ingresses=false")
    file = tmp_path / "c.yaml"
    file.write_text(json.dumps(dashboard("c", ingressOptions={"host": "http://x", "path": "y"})))
    out = mobula("validate", "-f", str(file))
    assert out.returncode != 0
    assert 'ingressOptions.host: is "http://x", which is no host' in out.stdout + out.stderr
    assert 'ingressOptions.path: is "y": with pathType Prefix it must begin with /' in out.stdout + out.stderr


# ---- Gateways ----


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def conditions(generation, **each):
    return [{"type": kind, "status": status, "reason": kind if status == "True" else "Invalid", "message": "of the test",
             "observedGeneration": generation, "lastTransitionTime": now()} for kind, status in each.items()]


class Controller:
    """Takes up Gateways of class "good" of one namespace, and what is attached to them."""

    def __init__(self, space):
        self.space, self.over = Workspace(Api(), space.name), threading.Event()  # connections are of one thread
        self.admits = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.over.wait(0.1):
            with contextlib.suppress(Refused, OSError):
                self.look()

    def look(self):
        for gateway in self.space.api.get(self.space.path("gateways", group=GATEWAY))["items"]:
            if gateway["spec"]["gatewayClassName"] == "good" and not gateway["status"].get("addresses"):
                self.tell("gateways", gateway, {"addresses": [{"value": "192.0.2.9"}], "conditions": conditions(
                    gateway["metadata"]["generation"], Accepted="True", Programmed="True")})
        for kind in "httproutes", "grpcroutes":
            self.take_up(kind)

    def take_up(self, kind):
        for route in self.space.api.get(self.space.path(kind, group=GATEWAY))["items"]:
            generation, word = route["metadata"]["generation"], "True" if self.admits else "False"
            parents = route.get("status", {}).get("parents")
            told = parents[0]["conditions"][0] if parents else {"status": None, "observedGeneration": 0}
            if (told["status"], told["observedGeneration"]) != (word, generation):
                self.tell(kind, route, {"parents": [{
                    "parentRef": route["spec"]["parentRefs"][0], "controllerName": "example.com/test",
                    "conditions": conditions(generation, Accepted=word, ResolvedRefs="True")}]})

    def tell(self, resource, obj, status):
        self.space.api.patch(self.space.path(resource, obj["metadata"]["name"], GATEWAY) + "/status", {"status": status})

    def close(self):
        self.over.set()
        self.thread.join()


@pytest.fixture
def controller(gateway_api, space):
    made = Controller(space)
    yield made
    made.close()


def steps(board, app="hello", class_name="good", surge=50, step=25, interval=1, **more):
    return in_steps(spec(board, app, **more), class_name, surge, step, interval)


def start(service, board, **more):
    service.create(**steps(board, **more))
    first = service.named("pending")
    service.lead(first, board)
    board.status = "RUNNING"
    service.is_ready()
    return first


class Seen:
    """The shares of both clusters, as they change: (capacity, traffic of the pending one, capacity, traffic of the active one)."""

    def __init__(self, service):
        self.service, self.shares = service, []

    def look(self):
        status = self.service.status()
        now = tuple((status.get(f"{which}ServiceStatus") or {}).get(key) for which in ("pending", "active")
                    for key in ("targetCapacity", "trafficRoutedPercent"))
        if not self.shares or self.shares[-1] != now:
            self.shares.append(now)
        return status

    def until(self, over):
        return eventually(lambda: over(self.look()), step=0.02)


def route_of(space):
    return space.find(space.path("httproutes", "svc-httproute", GATEWAY))


def weights(space):
    route = route_of(space)
    return {b["name"]: b["weight"] for b in route["spec"]["rules"][0]["backendRefs"]} if route else {}


def routed(service, first):
    space = service.space
    eventually(lambda: weights(space) == {f"{first}-serve-svc": 100})
    eventually(lambda: condition(service.get(), "RoutesReady").get("status") == "True")


def explain(space):
    out = mobula("explain", "service", "svc", "-n", space.name, f"--kubeconfig={RUN / 'admin.kubeconfig'}")
    assert out.returncode == 0, out.stderr
    return out.stdout


def check_objects(service, first):
    space, uid = service.space, service.get()["metadata"]["uid"]
    gateway, route = space.find(space.path("gateways", "svc-gateway", GATEWAY)), route_of(space)
    listener = gateway["spec"]["listeners"][0]
    assert gateway["spec"]["gatewayClassName"] == "good"
    assert (listener["name"], listener["protocol"], listener["port"]) == ("http", "HTTP", 80)
    rule = route["spec"]["rules"][0]
    assert rule["matches"] == [{"path": {"type": "PathPrefix", "value": "/"}}]
    assert [(b["name"], b["port"], b["namespace"]) for b in rule["backendRefs"]] == [(f"{first}-serve-svc", 8000, space.name)]
    assert route["spec"]["parentRefs"][0]["name"] == "svc-gateway"
    for made in gateway, route:
        owner = made["metadata"]["ownerReferences"][0]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("RayService", uid, True)
        assert made["metadata"]["labels"] == {"ray.io/originated-from-cr-name": "svc", "ray.io/originated-from-crd": "RayService"}
    notes = route["metadata"]["annotations"]
    assert (notes["anyscale.com/primary-svc"], notes["anyscale.com/primary-weight"]) == (f"{first}-serve-svc", "100")
    assert notes["anyscale.com/canary-exists"] == "false"
    own = space.find(space.path("services", f"{first}-serve-svc"))
    assert own["spec"]["selector"] == {"ray.io/cluster": first, "ray.io/serve": "true"}
    assert own["metadata"]["ownerReferences"][0]["kind"] == "RayCluster"
    assert condition(service.get(), "RoutesReady")["message"] == "requests come through Gateway svc-gateway at 192.0.2.9"


@needs_address
def test_without_the_gateway_api(operators, service, boards):
    board = boards()
    operators()
    first = start(service, board)

    def look():
        told = condition(service.get(), "RoutesReady")
        assert "the API server does not know gateways.gateway.networking.k8s.io" in told["message"], told
        assert "mobula install --gateways --httproutes" in told["message"]
        return True

    eventually(look)
    assert service.selected() == [first, first]


@needs_address
def test_upgrade_in_steps(controller, operators, service, boards):
    space, old, new = service.space, boards(), boards()
    operator = operators()
    first = start(service, old, surge=50, step=50, rayClusterDeletionDelaySeconds=2)
    routed(service, first)
    check_objects(service, first)
    assert old.capacity() == 100
    space.rest(operator)
    service.patch(**steps(new, "v2", surge=50, step=50, interval=2, rayClusterDeletionDelaySeconds=2))
    second = service.named("pending")
    seen = Seen(service)
    service.lead(second, new)
    seen.until(lambda s: new.puts)
    assert (new.puts[0]["target_capacity"], new.puts[0]["applications"][0]["name"]) == (0, "v2")
    new.status = "RUNNING"
    seen.until(lambda s: (s.get("pendingServiceStatus") or {}).get("trafficRoutedPercent") == 50)
    assert weights(space) == {f"{first}-serve-svc": 50, f"{second}-serve-svc": 50}
    assert service.selected() == [first, first], "the services turn when all has moved"
    text = explain(space)
    assert f"the HTTPRoute gives 50 % to RayCluster {second}, which has " in text, text
    assert "to the pending cluster: 50 % of the requests move every 2 s, and 50 % of the capacity at a time; now: RayCluster" in text, text
    seen.until(lambda s: s["activeServiceStatus"]["rayClusterName"] == second)
    # KubeRay's order; its status has each share once the next begins.
    want = [(0, 0, 100, 100), (50, 0, 100, 100), (50, 50, 100, 50), (50, 50, 50, 50), (100, 50, 50, 50), (100, 100, 50, 0),
            (100, 100, 0, 0), (None, None, 100, 100)]
    passed = [want.index(s) for s in seen.shares if s in want]  # a busy machine may miss some
    assert passed == sorted(passed) and len(passed) >= 4 and passed[-1] == len(want) - 1, seen.shares
    assert [p.get("target_capacity") for p in old.puts] == [100, 50, 0]
    assert all(p["applications"][0]["name"] == "hello" for p in old.puts), "the first version keeps its configuration"
    assert [p.get("target_capacity") for p in new.puts] == [0, 50, 100]
    eventually(lambda: weights(space) == {f"{second}-serve-svc": 100})
    eventually(lambda: service.selected() == [second, second])
    eventually(lambda: space.find(space.path("rayclusters", first, V1)) is None)
    service.is_ready()
    space.rest(operator)
    operator.stop()
    space.rest(operator.start())
    columns = kubectl("-n", space.name, "get", "rayservices", "-o", "wide").stdout.split("\n")[0]
    assert "PENDING TRAFFIC" in columns


@needs_address
def test_back_and_a_canary_that_falls_ill(controller, operators, service, boards):
    space, old, new = service.space, boards(), boards()
    operators()
    before = steps(old, surge=50, step=25, rayClusterDeletionDelaySeconds=2)
    service.create(**before)
    first = service.named("pending")
    service.lead(first, old)
    old.status = "RUNNING"
    service.is_ready()
    routed(service, first)
    service.patch(**steps(new, "v2", surge=50, step=25, rayClusterDeletionDelaySeconds=2))
    second = service.named("pending")
    service.lead(second, new)
    new.status = "RUNNING"
    eventually(lambda: weights(space).get(f"{second}-serve-svc") == 25)
    new.status = "UNHEALTHY"
    time.sleep(3)
    share = weights(space)[f"{second}-serve-svc"]
    assert share < 100
    time.sleep(6)
    assert weights(space)[f"{second}-serve-svc"] == share, "it gets no more"
    assert "application v2 is UNHEALTHY" in condition(service.get(), "UpgradeInProgress")["message"]
    space.api.patch(space.path("httproutes", "svc-httproute", GATEWAY), {"spec": {"hostnames": ["others.example.com"]}})

    service.patch(**before)
    eventually(lambda: condition(service.get(), "RollbackInProgress").get("reason") == "DesiredClusterSpecChanged")
    eventually(lambda: weights(space) == {f"{first}-serve-svc": 100})
    eventually(lambda: not service.status().get("pendingServiceStatus"))
    assert not condition(service.get(), "RollbackInProgress") and old.capacity() == 100
    assert all(p["applications"][0]["name"] == "hello" for p in old.puts)
    eventually(lambda: space.find(space.path("rayclusters", second, V1)) is None)
    assert service.named("active") == first
    assert route_of(space)["spec"]["hostnames"] == ["others.example.com"], "what others add stays"


@needs_address
def test_routes_that_are_not_taken_up(controller, operators, service, boards):
    """The old version serves behind its Service, and conditions say what is missing."""
    space, old, new = service.space, boards(), boards()
    operators()

    def says(word):
        def look():
            told = condition(service.get(), "RoutesReady")
            assert told and word in told["message"], told
            return told

        return eventually(look)

    first = start(service, old, class_name="bad")
    told = says("Gateway svc-gateway is not Accepted")
    assert told["status"] == "False" and 'clusterUpgradeOptions.gatewayClassName is "bad"' in told["message"]
    listener = {"name": "http", "attachedRoutes": 0, "supportedKinds": [], "conditions": conditions(1, ResolvedRefs="False")}
    space.api.patch(space.path("gateways", "svc-gateway", GATEWAY) + "/status", {"status": {"listeners": [listener]}})
    assert "gatewayclasses" not in says("; listener http is not ResolvedRefs: Invalid: of the test")["message"]
    service.patch(**steps(new, "v2", class_name="bad"))
    second = service.named("pending")
    service.lead(second, new)
    new.status = "RUNNING"
    eventually(lambda: weights(space) == {f"{first}-serve-svc": 100, f"{second}-serve-svc": 0})
    time.sleep(3)
    assert weights(space)[f"{second}-serve-svc"] == 0 and new.capacity() == 0 and old.capacity() == 100
    assert service.selected() == [first, first]
    controller.admits = False
    service.patch(**steps(new, "v2"))
    told = says("HTTPRoute svc-httproute is not Accepted: Invalid: of the test")
    controller.admits = True
    assert service.named("active", other_than=first) == second

    service.patch(suspend=True)
    eventually(lambda: (condition(service.get(), "Suspended") or {}).get("status") == "True")
    assert route_of(space) is None and space.find(space.path("gateways", "svc-gateway", GATEWAY)) is None
