"""VersionedServices: from apply to the last step and back, with routes object by object. Heads are fake dashboards; the controller of
Gateways is a thread of this process."""

import json
import signal
import subprocess
import time

import pytest
from cluster import MOBULA as PROGRAM
from cluster import RUN, V1, Audit, Refused, condition, eventually, kubectl, mobula, workspace
from services import Service, needs_address, spec
from test_routes import GATEWAY, NETWORKING, Controller

MOBULA = "/apis/mobula.dev/v1"
ISTIO = "/apis/networking.istio.io/v1"
pytestmark = needs_address


@pytest.fixture
def controller(gateway_api, space):
    made = Controller(space)
    yield made
    made.close()


def version(name, board, weight=100, app="hello", **more):
    cluster = spec(board, app, **more)
    return {"name": name, "weight": weight, "rayServiceConfig": cluster}


class Versioned:
    """A VersionedService "rag" and its versions."""

    def __init__(self, space):
        self.space, self.path = space, space.path("versionedservices", "rag", MOBULA)

    def create(self, *versions, route=None, **rollout):
        self.space.api.call("POST", self.space.path("versionedservices", group=MOBULA), {
            "apiVersion": "mobula.dev/v1", "kind": "VersionedService", "metadata": {"name": "rag"},
            "spec": {"versions": list(versions), "rollout": {"intervalSeconds": 15, **rollout},
                     **(route or {"gateway": {"name": "public"}, "hostnames": ["rag.example.org"]})}})

    def change(self, *versions, **rollout):
        self.space.api.patch(self.path, {"spec": {"versions": list(versions), **({"rollout": rollout} if rollout else {})}})

    def get(self):
        return self.space.api.get(self.path)

    def status(self):
        return self.get().get("status", {})

    def serve(self, name, board, status="RUNNING"):
        """Waits for the version's head and lets the dashboard stand for it."""
        child = Service(self.space, f"rag-{name}")
        eventually(lambda: self.space.find(self.space.path("rayservices", child.name, V1)))
        child.lead(child.named("pending"), board)
        board.status = status
        return child

    def told(self, name):
        return next((v for v in self.status().get("versions", []) if v["name"] == name), None)

    def has_capacity(self, name):
        """The RayService has the capacity that status says. An apply that comes after a DELETE would make it again."""
        made, told = self.space.find(self.space.path("rayservices", f"rag-{name}", V1)), self.told(name)
        return not made or not told or made["metadata"]["annotations"]["mobula.dev/capacity"] == str(told["capacity"])

    def hurry(self):
        """The last step was long ago."""
        if self.status().get("rollout", {}).get("stepTime"):
            self.space.api.patch(self.path + "/status", {"status": {"rollout": {"stepTime": "2026-01-01T00:00:00Z"}}})

    def phase(self, phase, hurry=True):
        def look():
            if hurry:
                self.hurry()
            status = self.status()
            assert status.get("rollout", {}).get("phase") == phase, status
            return status

        return eventually(look)

    def says(self, kind, words):
        def look():
            told = condition(self.get(), kind)
            assert told and words in told["message"], told
            return told

        return eventually(look)


def route_of(space):
    return space.find(space.path("httproutes", "rag-httproute", GATEWAY))


def weights(space):
    route = route_of(space)
    return {b["name"].removesuffix("-serve-svc"): b["weight"] for b in route["spec"]["rules"][0]["backendRefs"]} if route else {}


def pins(space):
    """Which version each header and value gets."""
    return {(m["headers"][0]["name"], m["headers"][0]["value"]): rule["backendRefs"][0]["name"].removesuffix("-serve-svc")
            for rule in route_of(space)["spec"]["rules"][1:] for m in rule["matches"]}


def pinned(**names):
    return {(header, name): f"rag-{version}" for header in ("X-Mobula-Version", "X-ANYSCALE-VERSION") for name, version in names.items()}


def first(service, board, controller, **rollout):
    service.create(version("v1", board), **rollout)
    service.serve("v1", board)
    service.phase("Complete")
    eventually(lambda: weights(service.space) == {"rag-v1": 100})


def test_from_the_first_version_to_the_second(controller, operators, space, boards):
    service, old, new = Versioned(space), boards(), boards()
    operator = operators()
    first(service, old, controller, stepPercent=50)
    route, uid = route_of(space), service.get()["metadata"]["uid"]
    assert route["spec"]["parentRefs"][0]["name"] == "public" and route["spec"]["hostnames"] == ["rag.example.org"]
    assert [(b["name"], b["port"], b["weight"]) for b in route["spec"]["rules"][0]["backendRefs"]] == [("rag-v1-serve-svc", 8000, 100)]
    assert pins(space) == pinned(v1="v1", primary="v1")
    for made in route, space.find(space.path("rayservices", "rag-v1", V1)):
        owner = made["metadata"]["ownerReferences"][0]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("VersionedService", uid, True)
        assert made["metadata"]["labels"]["mobula.dev/versioned-service"] == "rag"
    notes = route["metadata"]["annotations"]
    assert (notes["anyscale.com/primary-svc"], notes["anyscale.com/primary-weight"]) == ("rag-v1-serve-svc", "100")
    assert notes["anyscale.com/ingress-type"] == "gateway" and notes["anyscale.com/canary-exists"] == "false"
    eventually(lambda: condition(service.get(), "RoutesReady")["status"] == "True")
    assert condition(service.get(), "Ready")["status"] == "True" and service.status()["state"] == "Running"
    space.rest(operator)
    operator.stop()
    audit = Audit()
    space.rest(operator.start())
    assert not audit.writes(operator.user, space.name), "a start alone changes nothing"

    service.change(version("v2", new, app="v2"))
    service.serve("v2", new, "DEPLOYING")
    service.says("Progressing", "version v2 is not ready")
    assert weights(space) == {"rag-v1": 100}, "a version that does not run gets nothing"
    service.hurry()
    new.status = "RUNNING"
    eventually(lambda: weights(space) == {"rag-v2": 50, "rag-v1": 50})
    assert pins(space) == pinned(v1="v1", v2="v2", primary="v1", canary="v2")
    service.phase("Complete")
    eventually(lambda: weights(space) == {"rag-v2": 100})
    assert service.status()["primaryVersion"] == "v2"
    columns, row = kubectl("-n", space.name, "get", "vsvc").stdout.split("\n")[:2]
    assert columns.split() == ["NAME", "STATE", "PRIMARY", "CANARY", "WEIGHTS", "AGE"] and row.split()[:3] == ["rag", "Running", "v2"]
    assert space.find(space.path("rayservices", "rag-v1", V1)), "requests that it has may end"
    service.space.api.patch(service.path + "/status", {"status": {"rollout": {"endTime": "2026-01-01T00:00:00Z", "stepTime": None}}})
    try:
        space.api.call("DELETE", space.path("rayservices", "rag-v1", V1))  # as the operator does after the time that it is kept
    except Refused as e:
        assert e.status == 404, "the operator has deleted it already"
    eventually(lambda: space.find(space.path("rayservices", "rag-v1", V1)) is None)
    eventually(lambda: pins(space) == pinned(v2="v2", primary="v2"))
    space.rest(operator)
    operator.stop()
    space.api.patch(space.path("rayservices", "rag-v2", V1), {"metadata": {"ownerReferences": None}})
    space.rest(operator.start())
    child = space.path("rayservices", "rag-v2", V1)
    eventually(lambda: [o["uid"] for o in space.find(child)["metadata"].get("ownerReferences", [])] == [uid])  # as after a restore
    service.space.api.call("DELETE", service.path)
    eventually(lambda: space.find(space.path("rayservices", "rag-v2", V1)) is None and route_of(space) is None)


def test_capacity_moves_with_requests(controller, operators, space, boards):
    """maxSurgePercent 50: neither more than 150 % of the capacity at a time, nor more requests than capacity."""
    service, old, new = Versioned(space), boards(), boards()
    operators()
    first(service, old, controller, stepPercent=50, maxSurgePercent=50)
    service.change(version("v2", new, app="v2"))
    service.serve("v2", new)
    seen = []

    def look():
        service.hurry()
        status = service.status()
        share = {v["name"]: (v["capacity"], v["weight"]) for v in status["versions"]}
        now = (*share.get("v2", (0, 0)), *share.get("v1", (0, 0)))
        if not seen or seen[-1] != now:
            seen.append(now)
        return status["rollout"]["phase"] == "Complete"

    eventually(look, step=0.02)
    want = [(0, 0, 100, 100), (50, 0, 100, 100), (50, 50, 100, 50), (50, 50, 50, 50), (100, 50, 50, 50), (100, 100, 50, 0),
            (100, 100, 0, 0)]
    passed = [want.index(s) for s in seen if s in want]  # a busy machine may miss some
    assert passed == sorted(passed) and len(passed) >= 4 and seen[-1] == want[-1], seen
    assert [p.get("target_capacity") for p in new.puts] == [50, None]
    eventually(lambda: [p.get("target_capacity") for p in old.puts] == [None, 50, 0])


def test_a_requested_rollback_waits_for_capacity(controller, operators, space, boards):
    """The version that had given capacity up has it again before it gets the requests; one with weight 0 keeps 1 %."""
    service, old, new = Versioned(space), boards(), boards()
    operators()
    first(service, old, controller, stepPercent=50, maxSurgePercent=50)
    service.change(version("v1", old, 0), version("v2", new, 100, app="v2"))
    service.serve("v2", new)
    service.phase("Complete")
    assert (service.told("v1")["capacity"], service.told("v1")["weight"]) == (1, 0)
    eventually(lambda: old.puts[-1].get("target_capacity") == 1)
    assert pins(space)["X-Mobula-Version", "v1"] == "rag-v1"
    put, seen = len(old.puts), set()
    generation = service.get()["metadata"]["generation"]
    kubectl("-n", space.name, "annotate", "vsvc", "rag", f"mobula.dev/rollback={generation}")

    def look():
        now = service.get()
        share = {v["name"]: (v["capacity"], v["weight"]) for v in now["status"]["versions"]}
        seen.add((condition(now, "Progressing")["reason"], *share["v1"], share["v2"][1]))
        return condition(now, "Progressing")["reason"] == "RolledBack"

    eventually(look, step=0.02)
    assert all(weight <= capacity for _, capacity, weight, _ in seen) and ("RolledBack", 100, 100, 0) in seen, seen
    assert any(reason == "RollingBack" and capacity == 51 for reason, capacity, *_ in seen), seen
    eventually(lambda: weights(space) == {"rag-v1": 100})
    assert [p.get("target_capacity") for p in old.puts[put:]] == [51, None]


def test_a_canary_that_fails_is_rolled_back(controller, operators, space, boards):
    service, old, new, third = Versioned(space), boards(), boards(), boards()
    operator = operators()
    first(service, old, controller, stepPercent=25)
    service.change(version("v2", new, app="v2"))
    service.serve("v2", new)
    eventually(lambda: weights(space).get("rag-v2") == 25)
    new.status = "UNHEALTHY"
    service.phase("RolledBack", hurry=False)
    eventually(lambda: weights(space) == {"rag-v1": 100})
    told = condition(service.get(), "Progressing")
    assert told["reason"] == "RolledBack" and "version v2: application v2 is UNHEALTHY" in told["message"]
    assert service.told("v1")["weight"] == 100 and condition(service.get(), "Ready")["status"] == "True"
    space.rest(operator)
    operator.stop()
    space.rest(operator.start())
    assert weights(space) == {"rag-v1": 100}, "it is not tried again by itself"

    service.change(version("v1", old, 80), version("v3", third, 20, app="v3"), stepPercent=100)
    service.serve("v3", third)
    service.phase("Complete")
    eventually(lambda: weights(space) == {"rag-v1": 80, "rag-v3": 20})
    third.status = "UNHEALTHY"
    eventually(lambda: weights(space) == {"rag-v1": 80}, )
    third.status = "RUNNING"
    eventually(lambda: weights(space) == {"rag-v1": 80, "rag-v3": 20})
    generation = service.get()["metadata"]["generation"]
    kubectl("-n", space.name, "annotate", "vsvc", "rag", f"mobula.dev/rollback={generation}")
    service.phase("RolledBack")
    eventually(lambda: weights(space) == {"rag-v1": 100})
    service.says("Progressing", "because it was requested")
    events = [e["reason"] for e in space.api.get(space.path("events"))["items"] if e["involvedObject"]["name"] == "rag"]
    assert events.count("RolledBack") == 2 and "RolloutComplete" in events


def test_a_rollout_that_takes_too_long(controller, operators, space, boards):
    service, old, new = Versioned(space), boards(), boards()
    operators()
    first(service, old, controller)
    service.change(version("v2", new, app="v2"))
    service.serve("v2", new, "DEPLOYING")
    service.says("Progressing", "application v2 is DEPLOYING")
    began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 121 * 60))
    space.api.patch(service.path + "/status", {"status": {"rollout": {"startTime": began}}})
    service.says("Progressing", "it was not complete within 120 min")
    assert weights(space) == {"rag-v1": 100}


def test_ingresses(operators, space, boards):
    service, old, new = Versioned(space), boards(), boards()
    operators()

    def ingress(name):
        return space.find(space.path("ingresses", name, NETWORKING))

    def leads(name):
        made = ingress(name)
        return made and made["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"]

    service.create(version("v1", old), route={"ingressClassName": "nginx", "hostnames": ["rag.example.org"]}, stepPercent=30)
    service.serve("v1", old)
    service.phase("Complete")
    eventually(lambda: leads("rag-ingress") == "rag-v1-serve-svc")
    assert ingress("rag-ingress")["spec"]["rules"][0]["host"] == "rag.example.org"
    assert ingress("rag-canary-ingress") is None
    service.change(version("v1", old, 70), version("v2", new, 30, app="v2"))
    service.serve("v2", new)
    service.phase("Complete")
    eventually(lambda: leads("rag-canary-ingress") == "rag-v2-serve-svc")
    notes = ingress("rag-canary-ingress")["metadata"]["annotations"]
    nginx = {k.rpartition("/")[2]: v for k, v in notes.items() if k.startswith("nginx.")}
    assert nginx == {"canary": "true", "canary-weight": "30", "canary-by-header": "X-ANYSCALE-VERSION",
                     "canary-by-header-pattern": "^(canary|v2)$"}
    assert (notes["anyscale.com/ingress-type"], notes["anyscale.com/canary-weight"]) == ("nginx", "30")
    service.change(version("v2", new, app="v2"))
    service.phase("Complete")
    eventually(lambda: leads("rag-ingress") == "rag-v2-serve-svc" and ingress("rag-canary-ingress") is None)


def test_ingresses_of_a_controller_without_weights(operators, space, boards):
    """One Ingress, which leads to the version with the largest share; the condition tells what to do, and the rollout goes on."""
    service, old, new = Versioned(space), boards(), boards()
    operator = operators()

    def leads():
        made = space.find(space.path("ingresses", "rag-ingress", NETWORKING))
        return made and made["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"]

    service.create(version("v1", old), route={"ingressClassName": "traefik", "hostnames": ["rag.example.org"]}, stepPercent=40)
    service.serve("v1", old)
    service.phase("Complete")
    eventually(lambda: leads() == "rag-v1-serve-svc")
    eventually(lambda: condition(service.get(), "RoutesReady")["status"] == "True")
    service.change(version("v2", new, app="v2"))
    service.serve("v2", new)
    eventually(lambda: service.told("v2")["weight"] == 40)
    told = service.says("RoutesReady", "the controller of spec.ingressClassName has no weights, so the heaviest version gets all requests: "
                        "use spec.gateway, spec.istio, auth: token, or ingressController: ingress-nginx")
    assert (told["status"], told["reason"]) == ("False", "RequestsNotDivided") and leads() == "rag-v1-serve-svc"
    service.phase("Complete")
    eventually(lambda: leads() == "rag-v2-serve-svc" and condition(service.get(), "RoutesReady")["status"] == "True")
    assert space.find(space.path("ingresses", "rag-canary-ingress", NETWORKING)) is None

    # The same class, whose controller has the annotations.
    space.api.patch(service.path, {"spec": {"ingressController": "ingress-nginx"}})
    service.change(version("v2", new, 90, app="v2"), version("v3", old, 10))
    service.serve("v3", old)
    service.phase("Complete")
    canary = eventually(lambda: space.find(space.path("ingresses", "rag-canary-ingress", NETWORKING)))
    assert canary["metadata"]["annotations"]["nginx.ingress.kubernetes.io/canary-weight"] == "10"
    space.api.patch(service.path, {"spec": {"ingressController": "other"}})
    eventually(lambda: space.find(space.path("ingresses", "rag-canary-ingress", NETWORKING)) is None)
    service.says("RoutesReady", "has no weights")
    space.rest(operator)


def test_a_host_of_another_namespace(api, operators, space, boards):
    """The service that was there first keeps the host."""
    with workspace(api, f"{space.name}-b") as other:
        operators(f"--namespace={space.name},{other.name}", config=RUN / "admin.kubeconfig")
        services, route = (Versioned(space), Versioned(other)), {"ingressClassName": "nginx", "hostnames": ["rag.example.org"]}
        for service, shares in zip(services, ({"v1": 100}, {"v1": 40, "v2": 60})):
            made = {name: boards() for name in shares}
            service.create(*(version(name, made[name], share) for name, share in shares.items()), route=route)
            for name, board in made.items():
                service.serve(name, board)
            if service.space is space:
                service.phase("Complete")
                route = {**route, "hostnames": ["*.example.org"]}
        told = services[1].says("RoutesReady", f'"*.example.org" belongs to Ingress rag-ingress of namespace {space.name}')
        assert told["status"] == "False" and told["message"].startswith("spec.hostnames: ")
        names = "rag-ingress", "rag-canary-ingress"  # a canary is one of all Ingresses of the host, whatever their namespaces
        assert not any(other.find(other.path("ingresses", name, NETWORKING)) for name in names)
        assert condition(services[0].get(), "RoutesReady")["status"] == "True"
        space.api.call("DELETE", services[0].path)
        services[1].phase("Complete")
        assert all(other.find(other.path("ingresses", name, NETWORKING)) for name in names)


def verbs_used(audit, operator, plural):
    """Requests of the operator, which has the rights of its Role and no others."""
    return {e["verb"] for e in audit.entries(operator.user) if (e.get("objectRef") or {}).get("resource") == plural}


def test_grpc(controller, operators, space, boards):
    """A GRPCRoute beside the HTTPRoute, with the same weights and pins, to the gRPC port of the same Services."""
    service, old, new, audit = Versioned(space), boards(), boards(), Audit()
    operator = operators()
    route = {"gateway": {"name": "public"}, "hostnames": ["rag.example.org"], "grpc": {"hostnames": ["grpc.example.org"]}}
    service.create(version("v1", old, 80), version("v2", new, 20, app="v2"), route=route)
    for name, board in ("v1", old), ("v2", new):
        service.serve(name, board)
    service.phase("Complete")
    ports = space.find(space.path("services", "rag-v2-serve-svc"))["spec"]["ports"]
    assert [(p["name"], p["port"], p.get("appProtocol")) for p in ports] == [("serve", 8000, None), ("grpc", 9000, "kubernetes.io/h2c")]

    def rules():
        made = space.find(space.path("grpcroutes", "rag-grpcroute", GATEWAY))
        return made and made["spec"]["rules"]

    def shares():
        return {b["name"]: (b["port"], b["weight"]) for b in rules()[0]["backendRefs"]}

    eventually(lambda: rules() and shares() == {"rag-v1-serve-svc": (9000, 80), "rag-v2-serve-svc": (9000, 20)})
    made = space.find(space.path("grpcroutes", "rag-grpcroute", GATEWAY))
    assert made["spec"]["hostnames"] == ["grpc.example.org"] and made["spec"]["parentRefs"][0]["name"] == "public"
    assert "matches" not in rules()[0] and made["metadata"]["ownerReferences"][0]["uid"] == service.get()["metadata"]["uid"]
    assert {(m["headers"][0]["name"], m["headers"][0]["value"]): rule["backendRefs"][0]["name"].removesuffix("-serve-svc")
            for rule in rules()[1:] for m in rule["matches"]} == pinned(v1="v1", v2="v2", primary="v1", canary="v2") == pins(space)
    eventually(lambda: condition(service.get(), "RoutesReady")["status"] == "True")
    assert service.status()["routeKind"] == "HTTPRoute,GRPCRoute"
    space.rest(operator)
    controller.admits = False
    service.change(version("v1", old, 60), version("v2", new, 40, app="v2"))
    service.says("RoutesReady", "is not Accepted: Invalid: of the test")
    controller.admits = True
    eventually(lambda: service.phase("Complete") and shares()["rag-v2-serve-svc"] == (9000, 40) and weights(space)["rag-v2"] == 40)
    space.api.patch(service.path, {"spec": {"grpc": None}})
    eventually(lambda: rules() is None)
    eventually(lambda: [p["name"] for p in space.find(space.path("services", "rag-v2-serve-svc"))["spec"]["ports"]] == ["serve"])
    eventually(lambda: service.status()["routeKind"] == "HTTPRoute")
    space.rest(operator)
    assert {"delete", "patch", "watch"} <= verbs_used(audit, operator, "grpcroutes")


def test_istio(istio_api, operators, space, boards):
    """A VirtualService: pins first, then the weights. Then the service changes to Ingresses, and it is deleted."""
    service, old, new, audit = Versioned(space), boards(), boards(), Audit()
    operator = operators()

    def http():
        made = space.find(space.path("virtualservices", "rag-virtualservice", ISTIO))
        return made and made["spec"]["http"]

    def shares():
        return {r["destination"]["host"].removesuffix("-serve-svc"): r["weight"] for r in http()[-1]["route"]} if http() else {}

    service.create(version("v1", old), route={"istio": {"gateways": ["infra/public", "mesh"]}, "hostnames": ["rag.example.org"]},
                   stepPercent=50)
    service.serve("v1", old)
    service.phase("Complete")
    eventually(lambda: shares() == {"rag-v1": 100})
    made = space.find(space.path("virtualservices", "rag-virtualservice", ISTIO))
    assert made["spec"]["gateways"] == ["infra/public", "mesh"] and made["spec"]["hosts"] == ["rag.example.org"]
    assert made["metadata"]["annotations"]["anyscale.com/ingress-type"] == "istio"
    assert http()[-1]["route"][0]["destination"] == {"host": "rag-v1-serve-svc", "port": {"number": 8000}}
    service.change(version("v2", new, app="v2"))
    service.serve("v2", new)
    service.hurry()
    eventually(lambda: shares() == {"rag-v1": 50, "rag-v2": 50})
    assert {(header, match["exact"]): rule["route"][0]["destination"]["host"].removesuffix("-serve-svc")
            for rule in http()[:-1] for m in rule["match"] for header, match in m["headers"].items()} == {
                (header.lower(), name): to for (header, name), to in pinned(v1="v1", v2="v2", primary="v1", canary="v2").items()}
    service.phase("Complete")
    eventually(lambda: shares() == {"rag-v2": 100})
    space.api.patch(space.path("virtualservices", "rag-virtualservice", ISTIO), {"spec": {"http": None}})
    eventually(lambda: shares() == {"rag-v2": 100})  # set right
    eventually(lambda: condition(service.get(), "RoutesReady")["status"] == "True")
    space.rest(operator)
    space.api.patch(service.path, {"spec": {"istio": None, "ingressClassName": "nginx"}})
    eventually(lambda: http() is None and space.find(space.path("ingresses", "rag-ingress", NETWORKING)))
    eventually(lambda: service.status()["routeKind"] == "Ingress")
    assert {"delete", "patch", "watch"} <= verbs_used(audit, operator, "virtualservices")


def test_without_istio(operators, space, boards):
    """Neither definition nor right: the condition names the flag, and the versions run."""
    service, old = Versioned(space), boards()
    operators("--virtualservices=false")
    service.create(version("v1", old), route={"istio": {"gateways": ["public"]}})
    service.serve("v1", old)
    service.says("RoutesReady", "see `mobula install --virtualservices`")


def test_what_is_wrong(operators, space, boards, tmp_path):
    """The versions that there are serve on, and a condition names field and remedy."""
    service, old = Versioned(space), boards()
    operators()
    service.create(version("v1", old), route={"ingressClassName": "nginx"})
    service.serve("v1", old)
    service.phase("Complete")
    service.change(version("v1", old, 60), version("v2", old, 30))
    told = service.says("Valid", "spec.versions: has weights of 90 in all: must be 100")
    assert told["status"] == "False" and condition(service.get(), "Ready")["status"] == "True"
    broken = version("v2", old, 100)
    broken["rayServiceConfig"]["serveConfigV2"] = "applications: ["
    service.change(broken)
    service.says("Valid", "spec.versions[0].rayServiceConfig.serveConfigV2: cannot be read")
    assert space.find(space.path("rayservices", "rag-v2", V1)) is None
    space.api.call("POST", space.path("rayservices", group=V1), {
        "apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "rag-v3"}, "spec": spec(old)})
    service.change(version("v3", old))
    service.says("Progressing", "RayService rag-v3 exists and belongs to somebody else")
    file = tmp_path / "v.yaml"
    file.write_text(json.dumps({"apiVersion": "mobula.dev/v1", "kind": "VersionedService", "metadata": {"name": "rag"},
                                "spec": {"versions": [version("v1", old), version("v1", old)], "step": 1}}))
    out = mobula("validate", "-f", str(file))
    words = out.stdout + out.stderr
    assert out.returncode != 0 and "as another version's: each needs its own" in words and "has weights of 200 in all" in words
    assert "spec.gateway: or spec.ingressClassName or spec.istio must be given" in words and RUN


def test_commands(operators, space, boards, tmp_path):
    service, old, new = Versioned(space), boards(), boards()
    operators()

    def command(verb, *args, fails=""):
        out = mobula("service", verb, *args, "-n", space.name, f"--kubeconfig={RUN / 'admin.kubeconfig'}")
        assert (out.returncode != 0) == bool(fails) and fails in out.stderr, out.stdout + out.stderr
        return out.stdout

    def file(name, board, app):
        path = tmp_path / name
        path.write_text(json.dumps({"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "rag"},
                                    "spec": spec(board, app)}))
        return f"-f={path}"

    one, two = file("one.yaml", old, "hello"), file("two.yaml", new, "v2")
    command("deploy", one, fails="--gateway [NS/]NAME, --ingress-class NAME or --istio-gateway [NS/]NAME is needed: rag does not exist yet")
    command("status", "rag", fails="there is no VersionedService rag")
    command("deploy", one, "--working-dir=.", fails="without one the file is a RayService, whose serveConfigV2 names the code")
    command("deploy", one, "--ingress-class=nginx", "--hostname=rag.example.org", "--version-name=v1")
    service.serve("v1", old)
    command("wait", "rag", "--wait-timeout=60s")
    command("rollback", "rag", fails="there is nothing to go back to")
    command("deploy", "rag", "--ingress-controller=nginx", fails='Unsupported value: "nginx"')
    command("deploy", "rag", "--ingress-controller=ingress-nginx")
    changed = service.get()["spec"]
    assert changed["ingressController"] == "ingress-nginx" and [v["name"] for v in changed["versions"]] == ["v1"]
    command("deploy", two, "--version-name=v2", "--canary-percent=10")
    assert [(v["name"], v["weight"]) for v in service.get()["spec"]["versions"]] == [("v1", 90), ("v2", 10)]
    assert service.get()["spec"]["rollout"]["automaticRollback"] is False
    service.serve("v2", new)
    command("wait", "rag", "--wait-timeout=60s")
    text = command("status", "rag")
    assert "v1 (primary): Running, weight 90" in text and "v2 (canary): Running, weight 10" in text, text
    assert command("list").split("\n")[1].split() == ["rag", "Running", "v1", "v2", "v1=90,v2=10"]
    out = mobula("explain", "service", "rag", "-n", space.name, f"--kubeconfig={RUN / 'admin.kubeconfig'}")
    assert out.returncode == 0 and out.stdout.split("\n")[0] == f"VersionedService {space.name}/rag: Running"
    command("rollback", "rag", "--wait")
    assert service.told("v1")["weight"] == 100 and "because it was requested" in command("status", "rag")
    command("wait", "rag", fails="because it was requested")
    command("deploy", "rag", '--versions=[{"name": "v1", "traffic_percent": 40}, {"name": "v3", "traffic_percent": 60}]',
            fails="version v3 is not there any more")
    command("deploy", two, "--in-place", "--version-name=v1", "--max-surge-percent=50")
    changed = service.get()["spec"]
    assert [v["name"] for v in changed["versions"]] == ["v1", "v2"] and "v2" in changed["versions"][0]["rayServiceConfig"]["serveConfigV2"]
    assert changed["rollout"]["maxSurgePercent"] == 50
    command("deploy", "rag", one, "--version-name=v1")
    assert [(v["name"], v["weight"]) for v in service.get()["spec"]["versions"]] == [("v1", 100)]
    command("deploy", two, "--version-name=v3")
    service.serve("v3", new)
    eventually(lambda: {v["name"]: v.get("weight") for v in service.phase("Complete").get("versions", [])}.get("v3") == 100)
    eventually(lambda: service.has_capacity("v1"))
    try:
        space.api.call("DELETE", space.path("rayservices", "rag-v1", V1))  # as the operator does after the time that it is kept
    except Refused as e:
        assert e.status == 404, "the operator has deleted it already"
    eventually(lambda: space.find(space.path("rayservices", "rag-v1", V1)) is None)
    command("rollback", "rag", fails="version v1 was deleted after the rollout")
    command("terminate", "rag")
    eventually(lambda: space.find(service.path) is None)


def test_logs_of_replicas_come_from_the_head_of_a_version(controller, operators, space, boards, tmp_path):
    service, old, new = Versioned(space), boards(), boards()
    operators()
    place = ("-n", space.name, f"--kubeconfig={RUN / 'admin.kubeconfig'}")
    first(service, old, controller)
    service.change(version("v1", old), version("v2", new, 0, app="v2"))
    service.serve("v2", new)
    eventually(lambda: service.told("v2")["state"] == "Running")
    out = mobula("service", "logs", "rag", *place)
    assert out.returncode == 1 and 'version "v1" has no replicas: mobula service status rag' in out.stderr
    old.logs = {("n1", "serve/replica_hello_D_a.log"): "one\n", ("n2", "serve/replica_hello_D_b c.log"): "two\n"}
    new.logs = {("n1", "serve/replica_v2_D_a.log"): "three\n"}
    out = mobula("service", "logs", "rag", *place)
    assert out.returncode == 0
    assert out.stdout == "==> /serve/replica_hello_D_a.log <==\none\n==> /serve/replica_hello_D_b c.log <==\ntwo\n"
    out = mobula("service", "logs", "rag", "--version=v2", *place)
    assert (out.returncode, out.stdout) == (0, "==> /serve/replica_v2_D_a.log <==\nthree\n")
    out = mobula("service", "logs", "rag", "--version=v3", *place)
    assert out.returncode == 1 and 'version "v3" has no replicas: mobula service status rag' in out.stderr
    new.logs["n1", "serve/replica_v2_D_a.log"] = None
    out = mobula("service", "logs", "rag", "--version=v2", *place)
    assert out.returncode == 1 and "log /serve/replica_v2_D_a.log cannot be read: " in out.stderr, out.stderr

    # What was shown is not shown again; a replica that comes is, and one that goes is missed by nobody.
    command = [PROGRAM, "service", "logs", "rag", "--follow", *place]
    with (tmp_path / "out").open("wb") as to, subprocess.Popen(command, stdout=to) as follows:
        def shows(*lines):
            return eventually(lambda: (tmp_path / "out").read_text().split("\n")[:-1] == list(lines))

        shows("==> /serve/replica_hello_D_a.log <==", "one", "==> /serve/replica_hello_D_b c.log <==", "two")
        old.logs = {("n3", "serve/x.log"): "new\n", ("n2", "serve/replica_hello_D_b c.log"): "two\nmore\n"}
        shows("==> /serve/replica_hello_D_a.log <==", "one", "==> /serve/replica_hello_D_b c.log <==", "two",
              "==> /serve/x.log <==", "new", "==> /serve/replica_hello_D_b c.log <==", "more")
        follows.send_signal(signal.SIGTERM)
        assert follows.wait(30) == 1
