"""`mobula edge` on the real API server: its users are service accounts, and what they may see is RBAC."""

import http.client
import json
import os
import socket
import threading
import time
import urllib.parse

import pytest

from cluster import eventually, mobula
from edge import Edge, Upstream, WebSocket, install
from hub import account
from processes import token

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
    eventually(lambda: edge.ask(**bearer(reader))[0] == 403, 15, 0.5)
    space.kubectl("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={space.name}:reader")
    eventually(lambda: edge.ask(**bearer(reader))[0] == 200, 10, 0.5)
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
