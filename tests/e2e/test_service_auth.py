"""Bearer tokens of services (auth: token) on the real API server: made at the first deploy, checked by an edge, rotated without a gap."""

import base64
import json
import os
import shutil
import threading

import pytest

from cluster import RUN, Api, Audit, Workspace, condition, eventually, kubeconfig_of, manifests, mobula
from edge import Edge, Upstream, install
from services import needs_address, spec
from test_auth import calls_on, secrets_asked
from test_versioned import Versioned, controller, route_of, version

pytestmark = needs_address
ROUTE = {"gateway": {"name": "public"}, "hostnames": ["rag.example.org"], "auth": "token"}
GRACE = 12  # seconds; the next token is in use after half of it
assert controller  # a fixture


def grant(space):
    """The rights of `install --service-auth`."""
    documents = manifests("--no-crds", "--kinds=all", "--leader-elect", "--namespace", space.name, "--service-auth=24h").split("\n---\n")
    space.kubectl("apply", "-f", "-", stdin="\n---\n".join(d for d in documents if "\nkind: Role" in d))


def tokens(space, name="rag-token"):
    secret = space.find(space.path("secrets", name))
    return {key: base64.b64decode(value).decode() for key, value in secret["data"].items()} if secret else {}


class Mount:
    """The ConfigMap mobula-edge-services in a folder, as a kubelet mounts it: files are links, and a change swaps the folder behind them.
    Names of Services, which nothing resolves here, are replaced by addresses."""

    def __init__(self, space, folder, **upstreams):
        self.space, self.folder, self.upstreams, self.turn = Workspace(Api(), space.name), folder, upstreams, 0
        self.over, self.every = threading.Event(), 0.5
        folder.mkdir()
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.thread.start()

    def sync(self):
        found = self.space.find(self.space.path("configmaps", "mobula-edge-services"))
        data = (found or {}).get("data", {})
        self.turn += 1
        fresh, link = self.folder / f"..{self.turn}", self.folder / "..data"
        fresh.mkdir()
        for name, text in data.items():
            for service, address in self.upstreams.items():
                text = text.replace(f"rag-{service}-serve-svc.{self.space.name}.svc:8000", address)
            (fresh / name).write_text(text)
        (self.folder / "..new").symlink_to(fresh.name)
        os.replace(self.folder / "..new", link)
        for name in data:
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")
        for path in self.folder.iterdir():
            if path.is_symlink() and path != link and path.name not in data:
                path.unlink()
        shutil.rmtree(self.folder / f"..{self.turn - 1}", ignore_errors=True)
        return data

    def follow(self):
        while not self.over.wait(self.every):
            self.sync()

    def close(self):
        self.over.set()
        self.thread.join()


@pytest.fixture
def edge(space, tmp_path):
    install(space)
    upstream = Upstream("v1")
    mount = Mount(space, tmp_path / "services", v1=upstream.address)
    made = Edge(tmp_path, space.name, [], f"--services={tmp_path / 'services'}")
    made.upstream, made.mount = upstream, mount
    yield made
    code = made.stop()
    mount.close()
    upstream.close()
    space.kubectl("delete", "clusterrolebinding", f"mobula-edge.{space.name}")
    assert code == 0, made.log()


def asked(edge, token=None):
    status, headers, body = edge.ask(**({"Authorization": f"Bearer {token}"} if token else {}))
    assert status != 401 or (headers["WWW-Authenticate"] == "Bearer" and "Authorization: Bearer" in body), (headers, body)
    return status


def token_events(space):
    """Reasons and notes, in their order."""
    events = space.api.get(space.path("events", group="/apis/events.k8s.io/v1"))["items"]
    ours = [e for e in events if e["regarding"]["name"] == "rag" and "Token" in e["reason"]]
    return [(e["reason"], e["note"]) for e in sorted(ours, key=lambda e: e["eventTime"])]


def rotate(service, edge, first):
    """Gives the token after a rotation. A client that reads the Secret for each request, and one that keeps the token that it had, see no
    refusal before the former token ends."""
    space, seen = service.space, set()
    space.api.patch(service.path, {"metadata": {"annotations": {"mobula.dev/rotate-token": "1"}}})

    def rotated():
        now = tokens(space)
        seen.update(now)
        assert asked(edge, now["token"]) == 200 and asked(edge, first) == 200
        return now if now["token"] != first else None

    after = eventually(rotated)
    assert seen == {"token", "next", "former"} or seen == {"token", "next"}
    assert after["former"] == first and "next" not in after
    assert condition(service.get(), "TokenReady")["status"] == "True"

    def over():
        assert asked(edge, after["token"]) == 200
        return asked(edge, first) == 401

    eventually(over)
    assert tokens(space) == {"token": after["token"]}
    eventually(lambda: condition(service.get(), "TokenReady")["reason"] == "TokenValid")
    return after["token"]


def test_a_token_is_made_checked_and_rotated(controller, operators, space, boards, edge):
    service, board = Versioned(space), boards()
    operator = operators()
    service.create(version("v1", board), route=ROUTE)
    assert service.says("TokenReady", "mobula install --service-auth")["status"] == "False"
    assert space.find(space.path("secrets", "rag-token")) is None
    operator.stop()
    grant(space)
    operator = operators(f"--service-auth={GRACE}s")
    service.serve("v1", board)
    service.phase("Complete")

    route = route_of(space)
    assert route["spec"]["rules"] == [route["spec"]["rules"][0]], "no pins: the edge has them"
    assert [(b["name"], b["port"]) for b in route["spec"]["rules"][0]["backendRefs"]] == [("mobula-edge", 80)]
    assert route["metadata"]["annotations"]["anyscale.com/bearer-token"] == "rag-token"
    secret = eventually(lambda: space.find(space.path("secrets", "rag-token")))
    assert secret["metadata"]["ownerReferences"][0]["name"] == "rag"
    first = tokens(space)["token"]
    assert len(first) == 64
    eventually(lambda: condition(service.get(), "TokenReady")["status"] == "True")
    assert service.status()["tokenSecret"] == "rag-token" and service.status()["tokenTime"]
    eventually(lambda: asked(edge, first) == 200)
    assert asked(edge) == 401 and asked(edge, first[:-1] + "!") == 401 and asked(edge, "x") == 401
    heard = edge.told(Authorization=f"Bearer {first}", X_ANYSCALE_VERSION="v1")
    assert heard["name"] == "v1" and "Authorization" not in heard["headers"]
    assert edge.ask(Authorization=f"Bearer {first}", X_Mobula_Version="v9")[0] == 404

    after = rotate(service, edge, first)
    space.rest(operator)
    assert tokens(space) == {"token": after}, "one value asks for one token"

    said = ["TokenCreated", "TokenRotationStarted", "TokenRotated", "FormerTokenEnded"]
    eventually(lambda: [reason for reason, _ in token_events(space)] == said)
    words = operator.log_path.read_text() + edge.log() + str(space.api.get(space.path("events", group="/apis/events.k8s.io/v1")))
    words += str(service.get()) + str(space.find(space.path("configmaps", "mobula-edge-services")))
    assert first not in words and after not in words

    # The edge forgets the service with the service.
    space.kubectl("delete", "versionedservice", "rag")
    eventually(lambda: edge.ask(Authorization=f"Bearer {after}")[0] == 404)
    eventually(lambda: not tokens(space))


def begun(operators, space, boards, edge):
    """A service with a token that the edge knows."""
    service, board = Versioned(space), boards()
    grant(space)
    operator = operators(f"--service-auth={GRACE}s")
    service.create(version("v1", board), route=ROUTE)
    service.serve("v1", board)
    service.phase("Complete")
    eventually(lambda: asked(edge, tokens(space)["token"]) == 200)
    return service, operator, tokens(space)["token"]


def test_a_rotation_that_is_refused_is_reported_once(controller, operators, space, boards, edge):
    """Each attempt follows a read of the Secret, which succeeds: that ends neither the back-off nor the condition."""
    service, operator, first = begun(operators, space, boards, edge)
    secret = space.path("secrets", "rag-token")
    space.api.patch(secret, {"immutable": True})
    audit = Audit()
    space.api.patch(service.path, {"metadata": {"annotations": {"mobula.dev/rotate-token": "1"}}})
    told = []

    def attempts():
        told.append(condition(service.get(), "TokenReady")["status"])
        return [one for one in secrets_asked(audit, operator) if one == ("patch", "rag-token", 422)]

    eventually(lambda: len(attempts()) >= 5)
    assert "True" not in told[told.index("False"):], told
    events = space.api.get(space.path("events", group="/apis/events.k8s.io/v1"))["items"]
    assert [e.get("series") for e in events if e["reason"] == "TokenNotUsable"] == [None]
    kept = space.api.get(secret)
    space.kubectl("delete", "secret", "rag-token")
    del kept["immutable"], kept["metadata"]["uid"], kept["metadata"]["resourceVersion"]
    space.api.call("POST", space.path("secrets"), kept)
    eventually(lambda: tokens(space).get("former") == first)


def test_a_next_token_that_the_edge_cannot_get(controller, operators, space, boards, edge):
    """While the edge's ConfigMap cannot be written the token stays, and the Secret is read as seldom as ever."""
    service, operator, first = begun(operators, space, boards, edge)
    space.api.patch(space.path("configmaps", "mobula-edge-services"), {"immutable": True})
    audit = Audit()
    space.api.patch(service.path, {"metadata": {"annotations": {"mobula.dev/rotate-token": "1"}}})
    maps = ("patch", "mobula-edge-services", 422)
    eventually(lambda: calls_on("configmaps", audit, operator).count(maps) >= 5)
    eventually(lambda: secrets_asked(audit, operator).count(("get", "rag-token", 200)) >= 3)
    assert tokens(space)["token"] == first and "next" in tokens(space)
    assert secrets_asked(audit, operator).count(("get", "rag-token", 200)) < 20
    space.kubectl("delete", "configmap", "mobula-edge-services")
    eventually(lambda: tokens(space).get("former") == first)
    assert asked(edge, tokens(space)["token"]) == 200


class Traffic:
    """A client of a service that sends a request every 20 ms to where the route leads at that moment."""

    def __init__(self, space, edge, version):
        self.space, self.edge, self.version = Workspace(Api(), space.name), edge, version
        self.over, self.answers, self.token, self.backends = threading.Event(), [], None, set()
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.thread.start()

    def follow(self):
        while not self.over.wait(0.02):
            (backend,) = {b["name"] for b in route_of(self.space)["spec"]["rules"][0]["backendRefs"]}
            port = None if backend == "mobula-edge" else int(self.version.address.rpartition(":")[2])
            self.backends.add(backend)
            headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
            self.answers.append((backend, self.edge.ask(port=port, **headers)[0]))

    def close(self):
        self.over.set()
        self.thread.join()


def test_auth_that_is_added_to_a_service_with_traffic_refuses_no_request(controller, operators, space, boards, edge):
    service, board = Versioned(space), boards()
    grant(space)
    operator = operators(f"--service-auth={GRACE}s")
    service.create(version("v1", board), route={**ROUTE, "auth": "none"})
    service.serve("v1", board)
    service.phase("Complete")
    eventually(lambda: route_of(space))
    edge.mount.every = GRACE / 4  # a kubelet that is late
    traffic = Traffic(space, edge, edge.upstream)
    space.api.patch(service.path, {"spec": {"auth": "token"}})
    traffic.token = eventually(lambda: tokens(space))["token"]
    told = service.says("TokenReady", f"requests are served without a token until the edge knows it, within {GRACE // 2} s")
    assert told["status"] == "False" and told["reason"] == "TokenNotRequiredYet"

    # An operator that starts meanwhile waits again.
    operator.stop()
    operators(f"--service-auth={GRACE}s")
    eventually(lambda: condition(service.get(), "TokenReady")["status"] == "True")
    eventually(lambda: ("mobula-edge", 200) in traffic.answers)
    traffic.close()
    assert traffic.backends == {"rag-v1-serve-svc", "mobula-edge"}
    assert {status for _, status in traffic.answers} == {200}, traffic.answers
    assert asked(edge) == 401 and condition(service.get(), "TokenReady")["reason"] == "TokenValid"


def take_back(service):
    service.space.api.patch(service.path, {"spec": {"auth": "none"}})
    eventually(lambda: route_of(service.space)["spec"]["rules"][0]["backendRefs"][0]["name"] == "rag-v1-serve-svc")
    assert service.says("TokenReady", "the edge forgets the service 60 s after")["reason"] == "TokenNotRequiredAnyMore"


def forgotten(service, edge):
    """The edge forgets the service when its last requests are long over."""
    past = "2026-01-01T00:00:00Z"
    service.space.api.patch(service.path + "/status", {"status": {"rollout": {"endTime": past, "stepTime": past}}})
    eventually(lambda: edge.ask()[0] == 404)

    def look():
        status = service.status()
        assert "TokenReady" not in [c["type"] for c in status["conditions"]] and "tokenSecret" not in status, status
        return True

    eventually(look)


def test_auth_that_is_taken_back_refuses_no_request(controller, operators, space, boards, edge):
    """Routes change first. Whatever still comes to the edge is served, also by an edge that knows nothing but its ConfigMap."""
    service, operator, token = begun(operators, space, boards, edge)
    edge.mount.every = 0.05
    traffic = Traffic(space, edge, edge.upstream)
    traffic.token = token
    eventually(lambda: ("mobula-edge", 200) in traffic.answers)
    controller.admits = False  # the Gateway is late
    take_back(service)
    eventually(lambda: ("rag-v1-serve-svc", 200) in traffic.answers)
    service.says("RoutesReady", "is not Accepted")
    operator.stop()
    operator = operators(f"--service-auth={GRACE}s")
    controller.admits = True
    service.phase("Complete")
    space.rest(operator)
    assert asked(edge, token) == 200, "requests under way may end"
    traffic.close()
    assert {status for _, status in traffic.answers} == {200}, traffic.answers
    forgotten(service, edge)
    space.rest(operator)


def test_a_secret_of_another_client_is_only_read(controller, operators, space, boards, edge):
    service, board = Versioned(space), boards()
    grant(space)
    operators(f"--service-auth={GRACE}s")
    space.api.call("POST", space.path("secrets"), {"metadata": {"name": "rag-token"}, "stringData": {"token": "short"}})
    service.create(version("v1", board), route=ROUTE)
    assert service.says("TokenReady", "rag-token: this Secret has no key token of 16 bytes")["status"] == "False"
    refused = ("TokenNotUsable", "rag-token: this Secret has no key token of 16 bytes or more: replace or delete it")
    eventually(lambda: token_events(space) == [refused])
    mine = {"token": "a-token-of-mine-123", "former": "one-of-yesterday-12"}
    space.api.patch(space.path("secrets", "rag-token"), {"stringData": mine})
    service.serve("v1", board)
    service.phase("Complete")
    space.api.patch(service.path, {"metadata": {"annotations": {"mobula.dev/rotate-token": "1"}}})
    eventually(lambda: all(asked(edge, token) == 200 for token in mine.values()), 120)
    assert asked(edge, "short") == 401 and tokens(space) == mine

    take_back(service)
    service.phase("Complete")
    forgotten(service, edge)
    assert tokens(space) == mine


def test_the_command_line_deploys_a_service_with_a_token_prints_and_rotates_it(controller, operators, space, boards, edge, tmp_path):
    service, board, file = Versioned(space), boards(), tmp_path / "rag.yaml"
    file.write_text(json.dumps({"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "rag"},
                                "spec": spec(board, "hello")}))

    def command(verb, *args, fails="", config=RUN / "admin.kubeconfig"):
        out = mobula("service", verb, "rag", *args, "-n", space.name, f"--kubeconfig={config}")
        assert (out.returncode != 0) == bool(fails) and fails in out.stderr, out.stdout + out.stderr
        return out.stdout.strip()

    command("deploy", "--auth=basic", fails="--auth is token or none")
    command("deploy", f"-f={file}", "--version-name=v1", "--gateway=public", "--hostname=rag.example.org")
    command("token", fails="requests to rag need no token: mobula service deploy rag --auth token")
    before = service.get()["spec"]
    command("deploy", "--auth=token")
    assert service.get()["spec"] == {**before, "auth": "token"}
    command("token", fails='secrets "rag-token" not found')
    grant(space)
    operators(f"--service-auth={GRACE}s")
    service.serve("v1", board)
    service.phase("Complete")
    first = eventually(lambda: tokens(space))["token"]
    assert command("token") == first
    eventually(lambda: asked(edge, command("token")) == 200)

    space.kubectl("create", "serviceaccount", "reader")
    space.kubectl("create", "role", "reader", "--verb=get", "--resource=versionedservices.mobula.dev")
    space.kubectl("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={space.name}:reader")
    command("token", config=kubeconfig_of("reader", space.name, tmp_path), fails='cannot get resource "secrets" in API group ""')

    after = command("token", "--rotate", "--wait")
    assert after != first and tokens(space)["token"] == after and asked(edge, after) == 200
    command("token", "--rotate", "--wait", "--wait-timeout=1s", fails="the rotation of rag has not ended within --wait-timeout")
    assert "the next token is in use within 3 min" in command("token", "--rotate")
    space.kubectl("delete", "secret", "rag-token")
    space.api.call("POST", space.path("secrets"), {"metadata": {"name": "rag-token"}, "stringData": {"token": "a-token-of-mine-123"}})
    command("token", "--rotate", "--wait", fails="Secret rag-token is another client's: replace its key token there")
    assert command("token") == "a-token-of-mine-123"
    command("deploy", "--auth=none")
    assert service.get()["spec"]["auth"] == "none" and service.get()["spec"]["versions"] == before["versions"]


def test_what_ends_while_no_operator_runs_ends_when_one_starts(controller, operators, space, boards, edge):
    service, board = Versioned(space), boards()
    grant(space)
    operator = operators("--service-auth=24h")
    service.create(version("v1", board), route=ROUTE)
    service.serve("v1", board)
    first = eventually(lambda: tokens(space))["token"]
    eventually(lambda: asked(edge, first) == 200)
    operator.stop()

    # A rotation whose former token is over, and a service whose entry was left behind.
    entry = space.find(space.path("configmaps", "mobula-edge-services"))["data"]["rag.json"]
    for key, manager in (("old.json", "mobula.old"), ("mine.json", "me"), ("old.txt", "mobula.old.txt")):
        text = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mobula-edge-services"}, "data": {key: '{"routes": []}'}}
        space.kubectl("apply", "--server-side", f"--field-manager={manager}", "-f", "-", stdin=json.dumps(text))
    note = {"mobula.dev/token-step": "0000000000000000 2026-01-01T00:00:00Z"}
    change = {"metadata": {"annotations": note}, "stringData": {"former": "one-of-yesterday-12"}}
    space.api.patch(space.path("secrets", "rag-token"), change)
    operators("--service-auth=24h")
    eventually(lambda: tokens(space) == {"token": first})
    eventually(lambda: set(space.find(space.path("configmaps", "mobula-edge-services"))["data"]) == {"rag.json", "mine.json", "old.txt"})
    assert space.find(space.path("configmaps", "mobula-edge-services"))["data"]["rag.json"] == entry
    eventually(lambda: token_events(space)[-1] == ("FormerTokenEnded", "Secret rag-token"))


def test_the_last_service_that_is_deleted_while_no_operator_runs_is_forgotten(controller, operators, space, boards, edge):
    _, operator, first = begun(operators, space, boards, edge)
    operator.stop()
    space.kubectl("delete", "versionedservice", "rag")
    eventually(lambda: space.find(space.path("configmaps", "mobula-edge-services")) is None)
    eventually(lambda: asked(edge, first) == 404)
