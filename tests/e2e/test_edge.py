"""`mobula edge` on the real API server: its users are service accounts, and what they may see is RBAC."""

import http.client
import json
import os
import re
import socket
import ssl
import threading
import time
import urllib.parse

import pytest

from cluster import eventually, mobula
from edge import Edge, Upstream, WebSocket, install
from hub import account, certificate

BROWSER = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def upstreams():
    made = []

    def make(name):
        made.append(Upstream(name))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def edges(space, tmp_path):
    """Makes an edge for this namespace. It must end in order."""
    install(space)
    made = []

    def make(routes, *flags, **options):
        made.append(Edge(tmp_path, space.name, routes, *flags, **options))
        return made[-1]

    yield make
    codes = [edge.stop() for edge in made]
    space.kubectl("delete", "clusterrolebinding", f"mobula-edge.{space.name}")
    assert all(code in (0, -9) for code in codes), [edge.log() for edge in made]


def rule(*verbs, name="rag"):
    return {"apiGroups": ["ray.io"], "resources": ["rayclusters"], "resourceNames": [name], "verbs": list(verbs)}


def bearer(text):
    return {"Authorization": f"Bearer {text}"}


def test_rbac_decides_who_sees_a_dashboard(space, upstreams, edges):
    """401 without a token or with one that is nobody's, 403 without the right, 200 with it; update for what changes something. Neither
    the token nor the cookie reaches the dashboard, which gets the user's name."""
    head = upstreams("head")
    edge = edges([{"auth": "users", "cluster": "rag", "upstream": head.address}])
    nobody, reader = account(space, "nobody"), account(space, "reader", rule("get"))
    writer = account(space, "writer", rule("get", "update"))
    assert edge.ask()[0] == 401
    status, headers, _ = edge.ask(**bearer("not-a-token"))
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
    status, _, words = edge.ask(**bearer(nobody))
    assert status == 403
    assert f"system:serviceaccount:{space.name}:nobody may not get rayclusters/rag in namespace {space.name}" in words
    told = edge.told(path="/api/jobs/?x=1", **bearer(reader))
    assert told["path"] == "/api/jobs/?x=1"
    assert "Authorization" not in told["headers"]
    assert told["headers"]["X-Forwarded-User"] == f"system:serviceaccount:{space.name}:reader"
    assert told["headers"]["Host"] == told["headers"]["X-Forwarded-Host"] == "rag.example.org"
    status, _, words = edge.ask("POST", "/api/jobs/", "{}", **bearer(reader))
    assert status == 403
    assert "may not update rayclusters/rag" in words
    assert edge.told(method="POST", path="/api/jobs/", body="{}", **bearer(writer))["bytes"] == 2
    told = edge.told(path="/", X_Forwarded_User="root", X_Forwarded_For="10.9.9.9", **bearer(writer))
    assert told["headers"]["X-Forwarded-For"] == "127.0.0.1"
    assert head.seen[-1][2]["X-Forwarded-User"] == f"system:serviceaccount:{space.name}:writer"


def test_a_right_that_is_taken_away_ends_within_seconds(space, upstreams, edges):
    edge = edges([{"auth": "users", "cluster": "rag", "upstream": upstreams("head").address}])
    reader = account(space, "reader", rule("get"))
    assert edge.ask(**bearer(reader))[0] == 200
    space.kubectl("delete", "rolebinding", "reader")
    eventually(lambda: edge.ask(**bearer(reader))[0] == 403, step=0.5)
    space.kubectl("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={space.name}:reader")
    eventually(lambda: edge.ask(**bearer(reader))[0] == 200, step=0.5)
    reviews = edge.metrics()["mobula_edge_reviews_total"]
    for _ in range(20):
        assert edge.ask(**bearer(reader))[0] == 200
    assert edge.metrics()["mobula_edge_reviews_total"] <= reviews + 2


def form(**fields):
    return {"body": urllib.parse.urlencode(fields), "Content_Type": "application/x-www-form-urlencoded"}


def test_a_browser_logs_in_and_out(space, upstreams, edges):
    """The page at the address that was asked for, a token in its form, a cookie, the page that was wanted; and out again."""
    head = upstreams("head")
    edge = edges([{"auth": "users", "cluster": "rag", "upstream": head.address}])
    reader = account(space, "reader", rule("get"))
    status, headers, page = edge.ask(path="/jobs?tab=<x>", **BROWSER)
    assert status == 401
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "form-action 'self'" in policy
    assert '<label for="token">' in page and 'type="password"' in page and '<html lang="en">' in page
    assert 'name="to" value="/jobs?tab=&#60;x&#62;"' in page
    assert "http:" not in page and "https:" not in page and "<script" not in page
    # a wrong token, and one that is refused
    status, headers, page = edge.ask("POST", "/.mobula/login", **form(token="wrong", to="/jobs"))
    assert status == 401 and 'role="alert"' in page and "Set-Cookie" not in headers
    # the right one
    status, headers, _ = edge.ask("POST", "/.mobula/login", **form(token=f" {reader}\n", to="/jobs?a=1&b=2"))
    assert (status, headers["Location"]) == (303, "/jobs?a=1&b=2")
    cookie = headers["Set-Cookie"]
    assert cookie.startswith("mobula-edge=") and "; HttpOnly" in cookie and "; SameSite=Lax" in cookie and "Secure" not in cookie
    pair = cookie.partition(";")[0]
    told = edge.told(path="/jobs", Cookie=f"theirs=1; {pair}; more=2", **BROWSER)
    assert told["headers"]["Cookie"] == "theirs=1; more=2"
    assert reader not in json.dumps(told)
    # only to pages of this host, and only from them
    for to in ("//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nX: y", "/.mobula/logout"):
        assert edge.ask("POST", "/.mobula/login", **form(token=reader, to=to))[1]["Location"] == "/"
    foreign = {"Origin": "http://other.example.org", "Cookie": pair}
    assert edge.ask("POST", "/.mobula/login", Origin="http://evil.example", **form(token=reader))[0] == 403
    assert edge.ask("POST", "/api/jobs/", "{}", **foreign)[0] == 403
    assert WebSocket(edge.port, "/ws", **foreign).status == 403
    assert edge.ask(Origin="http://rag.example.org", Cookie=pair)[0] == 200
    # and out
    status, headers, _ = edge.ask("POST", "/.mobula/logout", Cookie=pair)
    assert (status, headers["Location"]) == (303, "/.mobula/login")
    assert "Max-Age=0" in headers["Set-Cookie"]
    assert "Sign out" in edge.ask(path="/.mobula/login", Cookie=pair)[2]


def test_one_edge_leads_to_each_cluster_of_a_namespace(space, upstreams, edges):
    """The name before the domain is the cluster whose rights decide, and whose head is called: a name that no service has is 502."""
    edge = edges([{"host": "*.i.example.org", "auth": "users", "cluster": "*", "upstream": f"*-head-svc.{space.name}.svc:8265"},
                  {"auth": "none", "upstream": upstreams("other").address}])
    reader = account(space, "reader", rule("get"))
    assert edge.ask(Host="rag.i.example.org", **bearer(reader))[0] in (502, 504)
    status, _, words = edge.ask(Host="other.i.example.org", **bearer(reader))
    assert (status, "rayclusters/other" in words) == (403, True)
    assert edge.told(Host="a.rag.i.example.org")["name"] == "other"
    assert edge.told(Host="i.example.org")["name"] == "other"
    assert f'upstream="*-head-svc.{space.name}.svc:8265"' in edge.log() or "an upstream failed" in edge.log()


def test_a_token_for_the_edge_alone_passes(space, upstreams, edges):
    """kubectl create token --audience: a token that is of no use at the API server."""
    edge = edges([{"auth": "users", "cluster": "rag", "upstream": upstreams("head").address}])
    account(space, "reader", rule("get"))
    ours = space.kubectl("create", "token", "reader", "--audience=mobula.dev/edge").stdout.strip()
    theirs = space.kubectl("create", "token", "reader", "--audience=somebody.else").stdout.strip()
    assert edge.ask(**bearer(ours))[0] == 200
    assert edge.ask(**bearer(theirs))[0] == 401


# ---- forwarding without users: the API server is not asked ----


def sse_lines(port, count, **headers):
    """The first events of a stream, each with the time at which it came."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    link.request("GET", "/sse", headers={"Host": "rag.example.org", **headers})
    answer = link.getresponse()
    assert answer.headers["Content-Type"] == "text/event-stream"
    came = []
    while len(came) < count:
        line = answer.readline()
        if line.startswith(b"data:"):
            came.append((time.monotonic(), int(line.split()[1])))
    answer.close()
    link.close()
    return came


def test_streams_pass_as_they_come(upstreams, edges):
    """Events come one by one, a WebSocket carries frames in both directions, bodies of any framing arrive whole; when a client goes, the
    upstream's work ends."""
    up = upstreams("one")
    edge = edges([{"auth": "none", "upstream": up.address}])
    came = sse_lines(edge.port, 5)
    assert [n for _, n in came] == [0, 1, 2, 3, 4]
    assert came[4][0] - came[0][0] > 0.25, "the events came in one piece"
    eventually(lambda: up.open == 0)
    ws = WebSocket(edge.port, "/ws")
    assert (ws.status, ws.headers["Upgrade"]) == (101, "websocket")
    for size in (1, 125, 126, 20000):
        ws.say(os.urandom(size))
    assert edge.metrics()["mobula_edge_requests_open"] == 1
    ws.close()
    body = os.urandom(5 << 20)
    counted = edge.told(method="POST", path="/up", body=body)
    chunked = edge.told(method="PUT", path="/up", body=iter([body[:100], body[100:1 << 20], body[1 << 20:]]))
    assert counted["bytes"] == chunked["bytes"] == len(body)
    assert counted["sha256"] == chunked["sha256"]
    assert edge.ask("HEAD", "/a")[0] == 200
    assert edge.ask(path="/hang-up")[0] == 502
    assert edge.memory_kib() < 4096
    eventually(lambda: edge.metrics()["mobula_edge_requests_open"] == 0)


def test_weights_and_pinned_versions(upstreams, edges):
    """Exact shares, a version by its header, and new weights without a restart or a failed request."""
    one, two = upstreams("one"), upstreams("two")

    def routes(first, second):
        return [{"auth": "none", "versions": [{"name": "v1", "weight": first, "upstream": one.address},
                                              {"name": "v2", "weight": second, "upstream": two.address}]}]

    edge = edges(routes(75, 25))

    def names(count):
        told = [edge.told()["name"] for _ in range(count)]
        return told.count("one"), told.count("two")

    assert names(100) == (75, 25)
    for pin, name in (("v2", "two"), ("canary", "two"), ("primary", "one"), ("V1", "one")):
        assert {edge.told(X_ANYSCALE_VERSION=pin)["name"] for _ in range(4)} == {name}
    assert edge.told(X_Mobula_Version="v2", X_ANYSCALE_VERSION="v1")["name"] == "two"
    assert edge.ask(X_Mobula_Version="v3")[0] == 404
    edge.write(routes(0, 1))
    eventually(lambda: names(5) == (0, 5))
    assert edge.told(X_Mobula_Version="v1")["name"] == "one"
    edge.write("routes: [{auth: none, upstream: nowhere}]")
    eventually(lambda: "the new routes cannot be used" in edge.log())
    assert "routes[0].upstream" in edge.log()
    assert names(5) == (0, 5)


def test_tokens_rotate_without_a_failed_request(tmp_path, upstreams, edges):
    """A client sends requests with the old token until it has the new one; both are valid meanwhile, and the old one ends."""
    file = tmp_path / "token"
    file.write_text("old-token\n")
    edge = edges([{"auth": "token", "tokenFile": str(file), "upstream": upstreams("one").address}])
    assert [edge.ask()[0], edge.ask(**bearer("old-toke"))[0], edge.ask(**bearer("old-token"))[0]] == [401, 401, 200]
    current, statuses, ended = ["old-token"], [], threading.Event()

    def client():
        link = http.client.HTTPConnection("127.0.0.1", edge.port, timeout=20)
        while not ended.is_set():
            link.request("GET", "/", headers=bearer(current[0]))
            answer = link.getresponse()
            answer.read()
            statuses.append(answer.status)
            time.sleep(0.01)

    thread = threading.Thread(target=client)
    thread.start()
    file.write_text("old-token\nnew-token\n")
    eventually(lambda: edge.ask(**bearer("new-token"))[0] == 200)
    current[0] = "new-token"
    time.sleep(0.5)
    file.write_text("new-token\n")
    eventually(lambda: edge.ask(**bearer("old-token"))[0] == 401)
    file.write_text("")  # a file that is being written: the token before it stays
    time.sleep(3)
    ended.set()
    thread.join()
    assert len(statuses) > 100
    assert set(statuses) == {200}
    assert "there is no token in it" in edge.log()
    file.unlink()
    eventually(lambda: edge.ask(**bearer("new-token"))[0] == 401)
    assert "its tokens are not accepted any more" in edge.log()


SMUGGLED = [
    b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
    b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: h\r\nA: b\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"GET / HTTP/1.1\nHost: h\n\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nA: \x00\r\n\r\n",
    b"GET /a/%2e%2e/b HTTP/1.1\r\nHost: h\r\n\r\n",
    b"GET http://other/ HTTP/1.1\r\nHost: h\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nHost: other\r\n\r\n",
]


def test_smuggled_requests_end_at_the_edge(upstreams, edges):
    up = upstreams("one")
    edge = edges([{"auth": "none", "upstream": up.address}])
    for sent in SMUGGLED:
        came = edge.raw(sent + b"GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
        assert came.startswith(b"HTTP/1.1 400 "), (sent, came)
        assert came.count(b"HTTP/1.1 ") == 1 or b"%2e" in sent or b"http://other" in sent, (sent, came)
    bad_chunk = (b"POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n"
                 b"GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
    assert edge.raw(bad_chunk).startswith(b"HTTP/1.1 400 ")
    assert edge.raw(b"GET / HTTP/1.1\r\nHost: h\r\nA: " + b"a" * 20000).startswith(b"HTTP/1.1 431 ")
    assert [path for _, path, _, _ in up.seen if path != "/smuggled"] == []
    assert edge.told(path="/still-there")["name"] == "one"


def test_silent_connections_do_not_keep_clients_out(upstreams, edges):
    """1,500 connections that say nothing, more than there are places, while a client's calls go on."""
    edge = edges([{"auth": "none", "upstream": upstreams("one").address}])
    link = http.client.HTTPConnection("127.0.0.1", edge.port, timeout=20)
    held, slowest = [], 0
    for _ in range(1500):
        held.append(socket.create_connection(("127.0.0.1", edge.port), timeout=20))
        if len(held) % 10 == 0:
            began = time.monotonic()
            link.request("GET", "/", headers={"Host": "h"})
            answer = link.getresponse()
            answer.read()
            assert answer.status == 200
            slowest = max(slowest, time.monotonic() - began)
    assert link.sock is not None, "the client's own connection was closed for a silent one"
    assert edge.ask()[0] == 200
    found = edge.metrics()
    assert found["mobula_edge_connections"] <= 1024
    assert found["mobula_edge_evicted_total"] >= 400
    assert slowest < 5
    assert edge.memory_kib() < 4096
    for s in held:
        s.close()


def test_it_drains_before_it_ends(upstreams, edges):
    """SIGTERM: what is under way is answered, new connections are taken for a while, and then the process ends with 0."""
    edge = edges([{"auth": "none", "upstream": upstreams("one").address}], "--drain=2s")
    slow = []
    thread = threading.Thread(target=lambda: slow.append(edge.ask(path="/slow")))
    thread.start()
    time.sleep(0.3)
    edge.process.terminate()
    eventually(lambda: edge.ask(path="/readyz", port=edge.metrics_port)[0] == 503)
    status, headers, _ = edge.ask(path="/while-it-drains")
    assert (status, headers["Connection"]) == (200, "close")
    thread.join()
    assert slow[0][0] == 200
    assert edge.process.wait(20) == 0
    assert "msg=stopped" in edge.log()


def test_tls_and_a_new_certificate(tmp_path, upstreams, edges):
    """https with the files of a Secret; the cookie is Secure; a new certificate is used without a restart."""
    cert, key = certificate(tmp_path)
    up = upstreams("one")
    edge = edges([{"auth": "none", "upstream": up.address}], "--https-addr=127.0.0.1:0", "--tls-cert", str(cert), "--tls-key", str(key))
    port = int(re.search(r"for=https-addr address=\S+ port=(\d+)", edge.log()).group(1))

    def ask(authority):
        context = ssl.create_default_context(cafile=authority)
        link = http.client.HTTPSConnection("localhost", port, timeout=20, context=context)
        link.request("GET", "/")
        return json.loads(link.getresponse().read())

    assert ask(cert)["headers"]["X-Forwarded-Proto"] == "https"
    (tmp_path / "next").mkdir()
    fresh, fresh_key = certificate(tmp_path / "next")
    os.replace(fresh_key, key)
    os.replace(fresh, cert)
    eventually(lambda: "new connections get the new certificate" in edge.log())
    assert ask(cert)["name"] == "one"


def test_what_is_printed_is_taken_by_the_server(space, tmp_path):
    """Every object, dry; with the flags that the program has."""
    printed = install(space)
    space.kubectl("apply", "--dry-run=server", "-f", "-", stdin=printed)
    space.kubectl("delete", "clusterrolebinding", f"mobula-edge.{space.name}")
    args = re.search(r"args: \[(.*)\]", printed).group(1).split(", ")
    assert mobula(*args, "--help").returncode == 0
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps({
        "tolerations": [{"key": "edge", "operator": "Exists"}], "podLabels": {"team": "1"}, "podAnnotations": {"a": "b"}, "cpu": 2,
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}],
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "preference": {"matchExpressions": [{"key": "edge", "operator": "Exists"}]}}]}},
        "extraEnv": [{"name": "A", "value": "b"}], "serviceAnnotations": {"s": "t"}, "requests": {"cpu": "20m", "memory": 67108864}}))
    flags = ("--pull-secret=mine", "--node-selector=kubernetes.io/os=linux", "--priority-class-name=system-cluster-critical", "--openshift")
    placed = mobula("edge", "--print", "--namespace", space.name, f"--values={file}", *flags)
    assert placed.returncode == 0 and "runAsUser" not in placed.stdout, placed.stderr
    space.kubectl("apply", "--dry-run=server", "-f", "-", stdin=placed.stdout)
    refused = mobula("edge", "--print", "--namespace", "No Name")
    assert refused.returncode != 0
    assert "namespace" in refused.stderr
